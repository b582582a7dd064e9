//! Clauses about what an append answers.

use super::chain::{self, Chain, commitments, extend};
use super::{Fixture, World, append, append_one, check_log, ok, read_log};
use crate::content::{Content, Salt};
use crate::digest::Digest;
use crate::id::{LedgerId, Position, StreamId, Version};
use crate::limits::{APPEND_BYTES_MAX, APPEND_RECORDS_MAX, CONTENT_BYTES_MAX};
use crate::store::{AppendError, Appended, Batch, Expected, Unless};

fn conflict<T>(actual: Option<u32>) -> Result<T, AppendError> {
    Err(AppendError::Conflict {
        actual: actual.map(Version::new),
    })
}

fn assert_invalid(answer: &Result<Appended, AppendError>, why: &str) {
    assert!(
        matches!(answer, Err(AppendError::Invalid(_))),
        "{why}: {answer:?}"
    );
}

/// Records come back byte for byte, with dense versions and positions.
pub async fn appends_are_read_back_as_they_were(fixture: &dyn Fixture) {
    let world = World::new(fixture).await;
    let store = &*world.store;
    let mut runs = [world.run(1), world.run(2), world.run(3)];
    let mut written: Vec<_> = read_log(store, 256)
        .await
        .into_iter()
        .map(|s| s.bytes)
        .collect();
    assert_eq!(written.len(), 2);
    for count in 1..=5 {
        for run in &mut runs {
            let mut next = run.clone();
            let batch = next.records(count);
            written.extend(batch.records.iter().map(|record| record.bytes().clone()));
            let (stream, expected) = (run.stream(), run.expected());
            let appended = ok(store.append(stream, expected, batch, &[]).await);
            let first = Position::new((written.len() - count) as u64);
            let replayed = false;
            assert_eq!(
                appended,
                Appended {
                    first,
                    count,
                    replayed
                }
            );
            *run = next;
        }
    }
    let log = check_log(store).await;
    assert_eq!(
        log.into_iter().map(|s| s.bytes).collect::<Vec<_>>(),
        written
    );
}

/// A stream starts once, from its genesis, in a ledger that was created.
pub async fn start_wants_no_stream(fixture: &dyn Fixture) {
    let world = World::new(fixture).await;
    let store = &*world.store;
    let mut run = world.run(1);
    let mut early = run.tagged(9);
    let answer = append(store, &mut early, &[], |chain| {
        chain.records(1);
        chain.records(1)
    });
    assert_invalid(&answer.await, "the second record came first");
    let foreign = run.with_prev(Digest::from_bytes([9; 32]));
    let answer = append(store, &mut foreign.clone(), &[], |chain| chain.records(1)).await;
    assert_eq!(answer, Err(AppendError::Mismatch));

    let fresh = run.clone();
    append_one(store, &mut run).await;
    append_one(store, &mut run).await;
    let mut other = fresh.tagged(1);
    let answer = append(store, &mut other, &[], |chain| chain.records(1)).await;
    assert_eq!(answer, conflict(Some(1)));
    let answer = append(store, &mut foreign.clone(), &[], |chain| chain.records(1)).await;
    assert_eq!(answer, Err(AppendError::Mismatch));

    let ledger = LedgerId::new(uuid::Uuid::from_u64_pair(7, 7));
    let empty = fixture.fresh(ledger);
    let mut homeless = Chain::run(ledger, &Digest::from_bytes([1; 32]), 1);
    let answer = append(&*empty, &mut homeless, &[], |chain| chain.records(1)).await;
    assert_eq!(answer, Err(AppendError::Mismatch));
    assert_eq!(check_log(store).await.len(), 4);
    assert!(check_log(&*empty).await.is_empty());
}

/// The head is a version and a digest: one without the other is another history.
pub async fn heads_are_compared_by_version_and_digest(fixture: &dyn Fixture) {
    let world = World::new(fixture).await;
    let store = &*world.store;
    let mut run = world.run(1);
    let at = |version: u32, digest: Digest| Expected::Head {
        version: Version::new(version),
        digest,
    };
    let mut unborn = run.clone();
    unborn.records(1);
    let answer = append(store, &mut unborn, &[], |chain| chain.records(1)).await;
    assert_eq!(answer, conflict(None));

    let mut heads = Vec::new();
    for _ in 0..3 {
        append_one(store, &mut run).await;
        heads.push(run.clone());
    }
    // Too low, with other records after it.
    let mut behind = heads[1].tagged(5);
    let answer = append(store, &mut behind, &[], |chain| chain.records(1)).await;
    assert_eq!(answer, conflict(Some(2)));
    // The true version, with a digest that is not its own: at the head, below it, beyond it.
    let wrong = Digest::from_bytes([8; 32]);
    for head in &heads {
        let false_head = head.with_prev(wrong);
        let answer = append(store, &mut false_head.clone(), &[], |chain| {
            chain.records(1)
        })
        .await;
        assert_eq!(answer, Err(AppendError::Mismatch));
    }
    let mut beyond = run.clone();
    beyond.records(2);
    let answer = append(store, &mut beyond, &[], |chain| chain.records(1)).await;
    assert_eq!(answer, Err(AppendError::Mismatch));
    // A true head, but a first record that follows another.
    let batch = run.with_prev(wrong).records(1);
    let answer = store.append(run.stream(), run.expected(), batch, &[]).await;
    assert_eq!(answer, Err(AppendError::Mismatch));
    // A false head, but a first record that follows the true one.
    let batch = run.clone().records(1);
    let answer = store.append(run.stream(), at(2, wrong), batch, &[]).await;
    assert_eq!(answer, Err(AppendError::Mismatch));
    assert_eq!(check_log(store).await.len(), 5);
}

/// The same bytes again are the first answer again; other bytes are a conflict.
pub async fn retries_are_harmless(fixture: &dyn Fixture) {
    let world = World::new(fixture).await;
    let store = &*world.store;
    let run = world.run(1);
    let mut states = vec![run.clone()];
    let mut batches = Vec::new();
    for count in [2, 3] {
        let mut next = states[states.len() - 1].clone();
        batches.push(next.records(count));
        states.push(next);
    }
    let mut firsts = Vec::new();
    for (state, batch) in states.iter().zip(&batches) {
        let append = store.append(state.stream(), state.expected(), batch.clone(), &[]);
        firsts.push(ok(append.await));
        append_one(store, &mut world.run(10 + firsts.len() as u64)).await;
    }
    for _ in 0..2 {
        for ((state, batch), first) in states.iter().zip(&batches).zip(&firsts) {
            let append = store.append(state.stream(), state.expected(), batch.clone(), &[]);
            let replayed = true;
            assert_eq!(append.await, Ok(Appended { replayed, ..*first }));
        }
    }
    // Other bytes at the start, at the end, and where only the beginning is there.
    let answer = append(store, &mut run.tagged(3), &[], |chain| chain.records(2)).await;
    assert_eq!(answer, conflict(Some(4)));
    let mut mixed = states[1].clone();
    let answer = append(store, &mut mixed, &[], |chain| {
        let mut batch = chain.records(2);
        *chain = chain.tagged(4);
        extend(&mut batch, chain.records(1));
        batch
    });
    assert_eq!(answer.await, conflict(Some(4)));
    let mut longer = states[1].clone();
    let answer = append(store, &mut longer, &[], |chain| chain.records(4)).await;
    assert_eq!(answer, conflict(Some(4)));
    // What was judged when it came is not judged again.
    let unless = [Unless {
        stream: world.authority.stream(),
        version: Version::ZERO,
    }];
    let append = store.append(
        states[1].stream(),
        states[1].expected(),
        batches[1].clone(),
        &unless,
    );
    assert!(ok(append.await).replayed);
    assert_eq!(check_log(store).await.len(), 9);
}

/// Nothing is written once authority has moved on from what was read.
pub async fn unless_is_compared(fixture: &dyn Fixture) {
    let mut world = World::new(fixture).await;
    let store = &*world.store;
    let (mut parent, mut child) = (world.run(1), world.run(2));
    let after = |stream: StreamId, version: u32| Unless {
        stream,
        version: Version::new(version),
    };
    let moved = |stream: StreamId, version: u32| {
        Err(AppendError::Moved {
            stream,
            version: Version::new(version),
        })
    };
    let authority = world.authority.stream();
    append_one(store, &mut parent).await;
    ok(append(
        store,
        &mut child,
        &[after(authority, 1), after(parent.stream(), 0)],
        |c| c.records(1),
    )
    .await);
    // Records that change nothing do not move a run.
    append_one(store, &mut parent).await;
    ok(
        append(store, &mut child, &[after(parent.stream(), 0)], |c| {
            c.records(1)
        })
        .await,
    );
    // One that does, does, even with others after it.
    ok(append(store, &mut parent, &[], |c| {
        c.record(chain::tightened(), &[])
    })
    .await);
    append_one(store, &mut parent).await;
    for read in [0, 1] {
        let unless = [after(parent.stream(), read)];
        let answer = append(store, &mut child, &unless, |c| c.records(1));
        assert_eq!(answer.await, moved(parent.stream(), 2));
    }
    for read in [2, 3] {
        ok(
            append(store, &mut child, &[after(parent.stream(), read)], |c| {
                c.records(1)
            })
            .await,
        );
    }
    // Any record moves the authority stream.
    let mut rules = world.authority.clone();
    ok(append(store, &mut rules, &[], |c| c.record(chain::parked(), &[])).await);
    world.authority = rules;
    let unless = [after(parent.stream(), 3), after(authority, 1)];
    let answer = append(store, &mut child, &unless, |c| c.records(1)).await;
    assert_eq!(answer, moved(authority, 2));
    ok(append(store, &mut child, &[after(authority, 2)], |c| c.records(1)).await);
    // What is not here was not read here.
    for unless in [after(world.run(77).stream(), 0), after(authority, 3)] {
        let answer = append(store, &mut child, &[unless], |c| c.records(1)).await;
        assert_eq!(answer, Err(AppendError::Mismatch));
    }
    // Who comes too late hears that first.
    let (mut late, unless) = (world.run(2).tagged(8), [after(authority, 1)]);
    let answer = append(store, &mut late, &unless, |c| c.records(1));
    assert_eq!(answer.await, conflict(Some(4)));
    assert_eq!(check_log(store).await.len(), 12);
}

/// Batches are neither empty nor endless, and are of one stream.
pub async fn bounds_of_a_batch_hold(fixture: &dyn Fixture) {
    let world = World::new(fixture).await;
    let store = &*world.store;
    let mut run = world.run(1);
    let answer = append(store, &mut run, &[], |_| Batch::default()).await;
    assert_invalid(&answer, "empty");
    let answer = append(store, &mut run, &[], |c| c.records(APPEND_RECORDS_MAX + 1)).await;
    assert_invalid(&answer, "too many records");
    let large = |count: usize| {
        move |chain: &mut Chain| {
            let mut batch = Batch::default();
            for _ in 0..count {
                extend(&mut batch, chain.record(chain::parked_with(60_000), &[]));
            }
            batch
        }
    };
    let answer = append(store, &mut run, &[], large(APPEND_BYTES_MAX / 60_000 + 1)).await;
    assert_invalid(&answer, "too many bytes");
    let text = vec![b'a'; CONTENT_BYTES_MAX + 1];
    let answer = append(store, &mut run, &[], |c| {
        c.record(chain::parked(), &[("text", &text)])
    });
    assert_invalid(&answer.await, "a content too large");
    let answer = append(store, &mut run, &[], |c| {
        let mut batch = c.records(3);
        batch.records.remove(1);
        batch
    });
    assert_invalid(&answer.await, "a gap");
    let batch = world.run(2).records(1);
    let answer = store.append(run.stream(), run.expected(), batch, &[]).await;
    assert_invalid(&answer, "another stream");
    let ledger = LedgerId::new(uuid::Uuid::from_u64_pair(6, 6));
    let batch = Chain::run(ledger, &world.authority.digest(), 1).records(1);
    let answer = store.append(run.stream(), run.expected(), batch, &[]).await;
    assert_invalid(&answer, "another ledger");

    ok(append(store, &mut run, &[], |c| c.records(APPEND_RECORDS_MAX)).await);
    ok(append(store, &mut run, &[], large(APPEND_BYTES_MAX / 61_000)).await);
    let text = &text[..CONTENT_BYTES_MAX];
    ok(append(store, &mut run, &[], |c| {
        c.record(chain::parked(), &[("text", text), ("note", b"")])
    })
    .await);
    check_log(store).await;
}

/// What a batch brings is named in it, whole and true; what it names is there.
pub async fn contents_must_fit_their_records(fixture: &dyn Fixture) {
    let world = World::new(fixture).await;
    let store = &*world.store;
    let mut run = world.run(1);
    let content = Content::new(Salt([5; 32]), *b"a text");
    let other = Content::new(Salt([6; 32]), *b"a text");
    let answer = append(store, &mut run, &[], |chain| {
        let mut batch = chain.records(2);
        batch.contents.pop_first();
        batch
    });
    assert_invalid(&answer.await, "a content that is not brought");
    let answer = append(store, &mut run, &[], |chain| {
        let mut batch = chain.records(1);
        batch.contents.insert(content.commitment(), content.clone());
        batch
    });
    assert_invalid(&answer.await, "a content that no record names");
    let answer = append(store, &mut run, &[], |chain| {
        let mut batch = chain.records(1);
        for commitment in commitments(&batch) {
            batch.contents.insert(commitment, other.clone());
        }
        batch
    });
    assert_invalid(&answer.await, "a content of another commitment");
    let answer = append(store, &mut run, &[], |chain| {
        let mut blob = chain::blob(&content);
        blob.size += 8;
        Batch {
            records: vec![chain.naming(chain::parked(), [("text".to_owned(), blob)].into())],
            contents: [(content.commitment(), content.clone())].into(),
        }
    });
    assert_invalid(&answer.await, "another size class");
    assert_eq!(check_log(store).await.len(), 2);
    append_one(store, &mut run).await;
    check_log(store).await;
}
