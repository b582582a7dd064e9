//! A state that is kept and read again goes on as if it had been folded all along.

use std::collections::BTreeMap;

use placet_ledger::run::{Snapshot, evolve};
use placet_replay::world::{World, ledger_id};
use proptest::prelude::*;
use tokio::runtime::Builder;

use super::cases;
use super::runs::{stories, tell_in};

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn a_kept_state_and_the_tail_are_the_fold_of_everything(
        story in stories(),
        cut in any::<prop::sample::Index>(),
    ) {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new().await.unwrap();
            let run = tell_in(&mut world, story).await;
            let records = world.records(run).await.unwrap();
            let cut = cut.index(records.len());
            let (mut kept, mut blobs) = (None, BTreeMap::new());
            let mut whole = None;
            for (number, record) in records.iter().enumerate() {
                whole = Some(evolve(whole.take(), record).unwrap());
                if number > cut {
                    kept = Some(evolve(kept.take(), record).unwrap());
                } else {
                    let named = record.blobs().values();
                    blobs.extend(named.map(|blob| (blob.commitment, *blob)));
                }
                if number == cut {
                    let state = whole.as_ref().unwrap();
                    let bytes = Snapshot::write(state, blobs.values().copied());
                    let read = Snapshot::read(&bytes, (ledger_id(), run)).unwrap();
                    assert_eq!(&read.state, state);
                    assert_eq!(read.blobs, blobs);
                    kept = Some(read.state);
                }
                if number >= cut {
                    assert_eq!(kept, whole);
                }
            }
        });
    }
}
