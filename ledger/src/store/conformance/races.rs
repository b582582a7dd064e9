//! Clauses about writers and readers at the same time, and about answers that nobody waits for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Waker};
use std::thread;

use super::chain::Chain;
use super::{Fixture, World, append, append_one, block_on, check_log, ok};
use crate::id::{Position, StreamId, Version};
use crate::store::{AppendError, Appended, EventStore};

/// Who of several appends at the same place was first is the only one.
pub async fn one_of_six_racing_writers_wins(fixture: &dyn Fixture) {
    const WRITERS: u64 = 6;
    let world = World::new(fixture).await;
    let mut run = world.run(1);
    for round in 0..40 {
        let barrier = Barrier::new(WRITERS as usize);
        let race = |writer: u64| {
            let mut chain = run.tagged(round * WRITERS + writer);
            barrier.wait();
            let answer = block_on(append(&*world.store, &mut chain, &[], |chain| {
                chain.records(2)
            }));
            (answer, chain)
        };
        let answers: Vec<_> = thread::scope(|scope| {
            let race = &race;
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| scope.spawn(move || race(writer)))
                .collect();
            writers
                .into_iter()
                .filter_map(|writer| writer.join().ok())
                .collect()
        });
        assert_eq!(answers.len() as u64, WRITERS);
        let mut winners = 0;
        for (answer, chain) in answers {
            match answer {
                Ok(appended) => {
                    assert!(!appended.replayed);
                    winners += 1;
                    run = chain;
                }
                Err(error) => {
                    let version = Version::new(round as u32 * 2 + 1);
                    let actual = Some(version);
                    assert_eq!(error, AppendError::Conflict { actual });
                }
            }
        }
        assert_eq!(winners, 1, "round {round}");
    }
    assert_eq!(check_log(&*world.store).await.len(), 82);
}

/// Whoever reads while others append sees whole appends without a gap, and what was acknowledged.
pub async fn readers_see_whole_appends(fixture: &dyn Fixture) {
    const ROUNDS: usize = 12;
    let world = World::new(fixture).await;
    let store = &*world.store;
    let done = AtomicBool::new(false);
    let runs: Vec<_> = (1..=8).map(|number| world.run(number)).collect();
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                block_on(check_ends(store));
            }
        });
        let writers: Vec<_> = runs
            .iter()
            .map(|run| scope.spawn(|| block_on(write_rounds(store, run.clone(), ROUNDS))))
            .collect();
        let failed = writers
            .into_iter()
            .filter_map(|writer| writer.join().err())
            .count();
        done.store(true, Ordering::Release);
        assert_eq!(failed, 0, "a writer failed");
        assert!(reader.join().is_ok(), "the reader failed");
    });
    assert_eq!(check_log(store).await.len(), 2 + 8 * ROUNDS * 3);
}

/// Appends three records at a time, and reads each back at once.
async fn write_rounds(store: &dyn EventStore, mut run: Chain, rounds: usize) {
    for round in 0..rounds {
        let appended = ok(append(store, &mut run, &[], |chain| chain.records(3)).await);
        let from = Version::new(round as u32 * 3);
        let own = ok(store.read_run(run.stream(), from, 9).await);
        assert_eq!(own.len(), 3, "a writer does not see its own append");
        assert_eq!(own[0].position, appended.first);
        assert!(ok(store.tail().await).size >= appended.first.get() + 3);
    }
}

/// Reads the log to its end: after the first two, records come in threes of one stream.
async fn check_ends(store: &dyn EventStore) {
    let mut from = 2;
    let size = ok(store.tail().await).size;
    loop {
        let page = ok(store.read_all(Position::new(from), 48).await);
        assert_eq!(page.len() % 3, 0, "a part of an append was read");
        for three in page.chunks(3) {
            let streams: std::collections::BTreeSet<StreamId> = three
                .iter()
                .map(|stored| ok(stored.clone().parse()).envelope.stream())
                .collect();
            assert_eq!(streams.len(), 1, "appends are mixed");
            for stored in three {
                assert_eq!(stored.position, Position::new(from));
                from += 1;
            }
        }
        if page.len() < 48 {
            break;
        }
    }
    assert!(from >= size, "the log was shorter than its tail");
}

/// An append whose future was dropped is there whole or not at all, and can be tried again.
pub async fn a_dropped_future_leaves_all_or_nothing(fixture: &dyn Fixture) {
    let world = World::new(fixture).await;
    let store: Arc<dyn EventStore> = world.store.clone();
    let mut run = world.run(1);
    append_one(&*store, &mut run).await;
    for polls in [0, 1, 1, 1] {
        let before = ok(store.tail().await).size;
        let mut next = run.clone();
        let batch = next.records(3);
        {
            let mut append = store.append(run.stream(), run.expected(), batch.clone(), &[]);
            let mut context = Context::from_waker(Waker::noop());
            for _ in 0..polls {
                if let Poll::Ready(answer) = append.as_mut().poll(&mut context) {
                    ok(answer);
                    break;
                }
            }
        }
        let again = ok(store.append(run.stream(), run.expected(), batch, &[]).await);
        let expected = Appended {
            first: Position::new(before),
            count: 3,
            replayed: again.replayed,
        };
        assert_eq!(again, expected);
        assert!(
            polls > 0 || !again.replayed,
            "an append that was never polled ran"
        );
        assert_eq!(ok(store.tail().await).size, before + 3);
        run = next;
    }
    check_log(&*store).await;
}
