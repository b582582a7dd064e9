//! A model that could not answer is asked again only where nothing came, and not for ever.

use placet_engine::model::Again;
use placet_ledger::budget::Tokens;
use placet_ledger::clock::Clock;
use placet_ledger::event::{Event, ModelFailure, Outcome};
use placet_replay::recording;
use placet_replay::script::Script;
use placet_replay::world::{Drove, World};

use super::{events, failure, note, options, reply, terms};

const NONE: Tokens = Tokens::new(0, 0);

/// Of each attempt: its number, and after how long there was another.
fn attempts(events: &[Event]) -> Vec<(u32, Option<u64>)> {
    let failed = events.iter().filter_map(|event| match event {
        Event::ModelFailed(failed) => Some((failed.attempt, failed.retry_ms)),
        _ => None,
    });
    failed.collect()
}

#[tokio::test]
async fn every_attempt_is_recorded_and_waited_for_and_the_run_goes_on() {
    let mut world = World::new().await.unwrap();
    let again = |after_ms| Some(Again { after_ms });
    let script = Script::new()
        .error(failure(ModelFailure::Network, Some(NONE), again(None)))
        .error(failure(
            ModelFailure::Provider,
            Some(NONE),
            again(Some(90_000)),
        ))
        .reply(reply(vec![note("n")], Tokens::new(10, 5)))
        .says("Done.");
    let before = world.clock.monotonic_ms();
    let (run, drove) = world.run(script, options(terms())).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let events = events(&world, run).await;
    let attempts = attempts(&events);
    let [(1, Some(first)), (2, Some(90_000))] = attempts[..] else {
        panic!("{attempts:?}");
    };
    assert!((1_000..=1_500).contains(&first), "{first}");
    let waited = world.clock.monotonic_ms() - before;
    assert_eq!(waited, first + 90_000);
    // Nothing was received, so nothing but the replies was paid for; each attempt is an iteration.
    let state = world.state(run).await.unwrap();
    assert_eq!(state.usage().tokens, 15 + 15);
    assert_eq!(state.usage().iterations, 4);
    let recording = world.recording(run).await.unwrap();
    recording::replay(&recording).await.unwrap();
}

#[tokio::test]
async fn the_fifth_attempt_is_the_last() {
    let mut world = World::new().await.unwrap();
    let mut script = Script::new();
    for _ in 0..9 {
        let again = Some(Again::default());
        script = script.error(failure(ModelFailure::Network, Some(NONE), again));
    }
    let (run, drove) = world.run(script, options(terms())).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Failed));
    let attempts = attempts(&events(&world, run).await);
    assert_eq!(attempts.len(), 5);
    assert_eq!(attempts.last(), Some(&(5, None)));
    assert_eq!(world.model(run).unwrap().requests().len(), 5);
}

#[tokio::test]
async fn what_broke_off_is_not_asked_again_and_its_reservation_stays_spent() {
    let mut world = World::new().await.unwrap();
    let script = Script::new().error(failure(ModelFailure::Cut, None, None));
    let (run, drove) = world.run(script, options(terms())).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Failed));
    assert_eq!(world.model(run).unwrap().requests().len(), 1);
    let events = events(&world, run).await;
    let reserved = events.iter().find_map(|event| match event {
        Event::ModelCalled(called) => Some((called.reserved.total(), called.reserved_usd)),
        _ => None,
    });
    let usage = *world.state(run).await.unwrap().usage();
    assert_eq!(Some((usage.tokens, usage.cost_usd)), reserved);
    assert!(usage.tokens > 1_000 && usage.cost_usd.micros() > 5_000);
}

#[tokio::test]
async fn a_driver_that_dies_while_it_waits_leaves_the_next_attempt_to_the_next_one() {
    let mut world = World::new().await.unwrap();
    let script = Script::new()
        .error(failure(
            ModelFailure::Network,
            Some(NONE),
            Some(Again::default()),
        ))
        .vanishes()
        .says("Done.");
    let (run, drove) = world.run(script, options(terms())).await.unwrap();
    assert_eq!(drove, Drove::Vanished);
    assert_eq!(
        world.drive(run).await.unwrap(),
        Drove::Ended(Outcome::Completed)
    );
    let called = events(&world, run).await;
    let called: Vec<_> = called
        .iter()
        .filter_map(|event| match event {
            Event::ModelCalled(called) => Some(called.attempt),
            _ => None,
        })
        .collect();
    assert_eq!(called, [1, 2, 3]);
}

#[tokio::test]
async fn nothing_is_waited_for_longer_than_the_run_may_be_active() {
    let mut world = World::new().await.unwrap();
    let again = Some(Again {
        after_ms: Some(299_000),
    });
    let script = Script::new()
        .error(failure(ModelFailure::Provider, Some(NONE), again))
        .says("Never said.");
    let options = placet_replay::world::Options {
        limits: placet_ledger::budget::Limits {
            duration_ms: Some(2_000),
            ..placet_ledger::budget::Limits::default()
        },
        ..options(terms())
    };
    let before = world.clock.monotonic_ms();
    let (run, drove) = world.run(script, options).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Budget));
    assert!(world.clock.monotonic_ms() - before <= 2_001);
    let state = world.state(run).await.unwrap();
    assert_eq!(state.cap(), Some(placet_ledger::budget::Cap::Duration));
}

#[tokio::test]
async fn nothing_is_waited_for_where_a_cap_ends_the_run() {
    let mut world = World::new().await.unwrap();
    let again = || failure(ModelFailure::Network, Some(NONE), Some(Again::default()));
    let script = Script::new()
        .error(again())
        .error(again())
        .says("Never said.");
    let options = placet_replay::world::Options {
        limits: placet_ledger::budget::Limits {
            iterations: Some(1),
            ..placet_ledger::budget::Limits::default()
        },
        ..options(terms())
    };
    let before = world.clock.monotonic_ms();
    let (_, drove) = world.run(script, options).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Budget));
    assert_eq!(world.clock.monotonic_ms(), before);
}
