//! The bounds of the formats and of one run's work, each at its very edge.

use std::sync::Arc;

use placet_ledger::approval::Answer;
use placet_ledger::audit::verify;
use placet_ledger::content::Text;
use placet_ledger::event::{Event, Outcome, RefusalKind};
use placet_ledger::id::RunId;
use placet_ledger::limits::{CONTENT_BYTES_MAX, PENDING_CALLS_MAX};
use placet_ledger::run::{Close, Phase};
use placet_ledger::store::ReadStore;
use placet_ledger::store::sled::SledStore;
use placet_replay::facts::call;
use placet_replay::script::{self, Script};
use placet_replay::tools::Behaviour;
use placet_replay::world::{Drove, Options, World, ledger_id};
use serde_json::json;

/// A reply with so many calls.
fn calls(count: usize) -> Script {
    let set = |number| script::call("set", &json!({"key": format!("k{number}"), "value": "1"}));
    Script::new().calls((0..count).map(set)).says("Done.")
}

#[tokio::test]
async fn sixty_four_calls_wait_at_once_and_run_when_they_are_approved() {
    let mut world = World::new().await.unwrap();
    let script = calls(PENDING_CALLS_MAX);
    let (run, drove) = world.run(script, Options::default()).await.unwrap();
    assert_eq!(drove, Drove::Waits);
    assert_eq!(world.pending(run).await.unwrap().len(), PENDING_CALLS_MAX);
    world.approve(run).await.unwrap();
    assert_eq!(
        world.resume(run).await.unwrap(),
        Drove::Ended(Outcome::Completed)
    );
    assert_eq!(world.tools.executed(), PENDING_CALLS_MAX);
}

#[tokio::test]
async fn of_a_reply_with_a_hundred_calls_one_refusal_stands_for_all_that_are_too_many() {
    for count in [PENDING_CALLS_MAX + 1, 100] {
        let mut world = World::new().await.unwrap();
        let (run, drove) = world.run(calls(count), Options::default()).await.unwrap();
        assert_eq!(drove, Drove::Waits);
        let records = world.records(run).await.unwrap();
        let refused: Vec<_> = records
            .iter()
            .filter_map(|record| match record.event() {
                Event::CallRefused(event) => Some((event.call, event.kind)),
                _ => None,
            })
            .collect();
        let last = call(u32::try_from(PENDING_CALLS_MAX).unwrap());
        assert_eq!(refused, [(last, RefusalKind::OverLimit)], "{count}");
        assert_eq!(
            world.pending(run).await.unwrap().len(),
            PENDING_CALLS_MAX - 1
        );
        world.deny(run, "too much").await.unwrap();
        world.resume(run).await.unwrap();
        assert_eq!(world.tools.executed(), 0);
        let told = world.told(run);
        let left = count - PENDING_CALLS_MAX;
        let says = told
            .iter()
            .any(|text| text.contains(&format!("and {left} after it")));
        assert!(says, "{told:?}");
    }
}

/// A run of which a call has this result.
async fn with_result(world: &mut World, bytes: usize) -> (RunId, Drove) {
    world
        .tools
        .behave(call(1), Behaviour::Says("x".repeat(bytes)));
    let options = Options {
        policy: placet_ledger::policy::ApprovalPolicy::HighRisk,
        ..Options::default()
    };
    world.run(calls(1), options).await.unwrap()
}

#[tokio::test]
async fn a_content_of_sixteen_mebibytes_is_kept_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let (home, head) = (folder.path().join("home"), folder.path().join("head"));
    let store = Arc::new(SledStore::create(&home, ledger_id(), &head).unwrap());
    let mut world = World::over(store.clone()).await.unwrap();
    let (run, drove) = with_result(&mut world, CONTENT_BYTES_MAX).await;
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let state = world.state(run).await.unwrap();
    let result = state.call(call(1)).unwrap().result().unwrap().commitment;
    let read = store.content(run.stream(), &[result]).await.unwrap();
    assert_eq!(read.bytes(&result).unwrap().len(), CONTENT_BYTES_MAX);
    assert!(verify(&*store, None, None).await.ok);
}

#[tokio::test]
async fn a_result_that_is_larger_than_a_content_may_be_ends_no_run_in_the_middle() {
    let mut world = World::new().await.unwrap();
    world
        .tools
        .behave(call(1), Behaviour::Says("x".repeat(CONTENT_BYTES_MAX + 1)));
    let run = world.start(calls(1), Options::default()).await.unwrap();
    world.drive(run).await.unwrap();
    world.approve(run).await.unwrap();
    let drove = world.drive(run).await;
    assert!(drove.is_ok(), "{drove:?}");
    let state = world.state(run).await.unwrap();
    let phase = state.call(call(1)).unwrap().phase();
    assert_eq!(phase, Phase::Closed(Close::Succeeded));
    assert_eq!(world.tools.executed(), 1);
    let told = world.told(run);
    assert!(told[0].ends_with("(cut: the result was larger than 16 MiB)"));
}

#[tokio::test]
async fn a_reply_that_is_larger_than_a_content_may_be_is_a_failure_of_the_model() {
    let mut world = World::new().await.unwrap();
    let large = "x".repeat(CONTENT_BYTES_MAX + 1);
    let calls = [script::raw_call("set", &large)];
    for script in [Script::new().calls(calls), Script::new().says(&large)] {
        let (run, drove) = world.run(script, Options::default()).await.unwrap();
        assert_eq!(drove, Drove::Ended(Outcome::Failed));
        let names = world.names(run).await.unwrap();
        assert!(names.contains(&"model.failed"), "{names:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_larger_than_a_content_with_all_that_it_shows_is_refused() {
    let mut world = World::new().await.unwrap();
    // In JSON it fits; the preview has both values, and so does not.
    world.tools.put("a", &"x".repeat(CONTENT_BYTES_MAX / 2));
    let value = "y".repeat(CONTENT_BYTES_MAX / 2 + 1);
    let set = script::call("set", &json!({"key": "a", "value": value}));
    let script = Script::new().calls([set]).says("Done.");
    let (run, drove) = world.run(script, Options::default()).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let phase = world
        .state(run)
        .await
        .unwrap()
        .call(call(1))
        .unwrap()
        .phase();
    assert_eq!(
        phase,
        Phase::Closed(Close::Refused(RefusalKind::BadArguments))
    );
}

#[tokio::test]
async fn a_note_of_any_length_that_a_content_may_have_is_kept() {
    let mut world = World::new().await.unwrap();
    let (run, _) = world.run(calls(2), Options::default()).await.unwrap();
    let note = "n".repeat(1_000_000);
    let said = note.clone();
    world
        .answer(run, |_| (Answer::Deny, Some(said.clone())))
        .await
        .unwrap();
    let state = world.state(run).await.unwrap();
    let kept = state.call(call(2)).unwrap().note().unwrap().commitment;
    let read = world.store().content(run.stream(), &[kept]).await.unwrap();
    assert_eq!(read.bytes(&kept), Some(Text::plain(note).bytes.as_slice()));
}
