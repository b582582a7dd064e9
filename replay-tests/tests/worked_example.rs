//! The worked example of the event format: every vector, and the whole run driven again.

use std::sync::Arc;

use placet_engine::policy::Gate;
use placet_engine::replay::{Replayed, replay};
use placet_ledger::event::Outcome;
use placet_replay::corpus;

#[tokio::test]
async fn drives_again_to_the_same_bytes() {
    let recording = corpus::worked_example().unwrap();
    let replayed = replay(&recording, Arc::new(Gate)).await.unwrap();
    assert_eq!(
        replayed,
        Replayed {
            records: 23,
            outcome: Some(Outcome::Completed)
        }
    );
}
