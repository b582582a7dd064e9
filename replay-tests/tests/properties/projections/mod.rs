//! Projections are what a fold of the whole log says, wherever they were when they were asked.

mod kept;
mod slow;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use placet_ledger::envelope::Envelope;
use placet_ledger::id::Position;
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::projection::{
    Answer, Cursor, Decision, DecisionFilter, Page, PendingRow, Projector, Query, RunFilter,
    RunRow, RunStatus, Verdict, Waits,
};
use placet_ledger::store::projections::{Changes, ProjectionStore};
use placet_ledger::view::{CardKind, RunEntry};
use placet_replay::cut;
use placet_replay::history;
use placet_replay::world::World;
use proptest::prelude::*;

use self::kept::{Counted, Log};
use self::slow::Slow;
use super::cases;
use super::runs::{Story, stories, tell_in};

fn projector(log: &Arc<Log>, rows: &Arc<Counted>) -> Projector {
    Projector::new(log.clone(), rows.clone())
}

fn page(after: Option<Cursor>, limit: usize) -> Page {
    Page { after, limit }
}

async fn every<T>(
    projector: &Projector,
    limit: usize,
    query: impl Fn(Page) -> Query,
    part: impl Fn(Answer) -> (Vec<T>, Option<Cursor>),
) -> Vec<T> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let answer = projector.query(&query(page(after, limit))).await.unwrap();
        let (rows, next) = part(answer);
        assert!(rows.len() <= limit);
        all.extend(rows);
        let Some(next) = next else { return all };
        // It travels as text.
        after = Some(next.to_string().parse().unwrap());
    }
}

async fn runs(projector: &Projector, filter: &RunFilter, limit: usize) -> Vec<RunRow> {
    let query = |page| Query::Runs {
        filter: filter.clone(),
        page,
    };
    every(projector, limit, query, |answer| match answer {
        Answer::Runs { runs, next, .. } => (runs, next),
        other => panic!("{other:?}"),
    })
    .await
}

async fn pending(projector: &Projector, limit: usize) -> Vec<PendingRow> {
    let query = |page| Query::Pending { page };
    every(projector, limit, query, |answer| match answer {
        Answer::Pending { pending, next } => (pending, next),
        other => panic!("{other:?}"),
    })
    .await
}

async fn decisions(projector: &Projector, filter: &DecisionFilter, limit: usize) -> Vec<Decision> {
    let query = |page| Query::Decisions {
        filter: filter.clone(),
        page,
    };
    every(projector, limit, query, |answer| match answer {
        Answer::Decisions { decisions, next } => (decisions, next),
        other => panic!("{other:?}"),
    })
    .await
}

const ALL: RunFilter = RunFilter {
    state: None,
    finished: true,
    agent: None,
    since: None,
};

fn check_run(row: &RunRow, entry: &RunEntry) {
    let state = entry.state().unwrap();
    let begun = row.begun.as_ref().unwrap();
    assert_eq!(
        (row.run, row.start, row.last),
        (entry.run(), entry.start(), entry.last())
    );
    assert_eq!(row.state, RunStatus::from(state.status()));
    assert_eq!(row.outcome, state.outcome());
    assert_eq!(begun.policy, state.policy());
    assert_eq!(
        (&begun.agent, &begun.model),
        (&state.started().agent, &state.started().model)
    );
    assert_eq!(begun.by.as_ref(), state.starter());
    assert_eq!(
        (begun.at, row.updated_at),
        (state.started_at(), state.head().at)
    );
    assert_eq!(
        begun.prompt,
        state.texts().get("prompt").map(|blob| blob.commitment)
    );
    assert_eq!(row.expires_at, state.expires_at());
}

/// Holds every answer against the slow way, in parts of this length.
async fn check(projector: &Projector, slow: &Slow, limit: usize) {
    let found = runs(projector, &ALL, limit).await;
    assert_eq!(found.len(), slow.runs.len());
    let cards = slow.pending();
    for (row, entry) in found.iter().zip(slow.runs.iter().rev()) {
        check_run(row, entry);
        let of_run = cards.iter().filter(|card| card.0 == row.run).count();
        assert_eq!(row.pending as usize, of_run);
        let id = row.run.to_string();
        for (query, answer) in [
            (
                Query::Find {
                    prefix: id[..8].to_owned(),
                },
                Answer::Find(slow.runs.find(&id[..8]).map(RunEntry::run)),
            ),
            (
                Query::Prefixes {
                    runs: vec![row.run],
                },
                Answer::Prefixes {
                    prefixes: vec![slow.runs.shortest_prefix(row.run)],
                },
            ),
        ] {
            assert_eq!(projector.query(&query).await.unwrap(), answer);
        }
    }
    let unfinished = RunFilter {
        finished: false,
        ..ALL
    };
    let open: Vec<_> = found
        .iter()
        .filter(|run| run.state != RunStatus::Finished)
        .cloned()
        .collect();
    assert_eq!(runs(projector, &unfinished, limit).await, open);
    let waiting = pending(projector, limit).await;
    let kind = |row: &PendingRow| match row.waits {
        Waits::Approval => CardKind::Approval,
        Waits::Question => CardKind::Question,
        Waits::InDoubt => CardKind::InDoubt,
    };
    let waiting: Vec<_> = waiting
        .iter()
        .map(|row| (row.run, row.call, Some(kind(row))))
        .collect();
    let cards: Vec<_> = cards.iter().map(|card| (card.0, card.1, card.2)).collect();
    assert_eq!(waiting, cards);
    let all = decisions(projector, &DecisionFilter::default(), limit).await;
    assert_eq!(all, slow.decisions);
    check_allowed(projector, slow, limit).await;
}

/// Holds what was allowed of each tool, by agent and starter, against the slow way.
async fn check_allowed(projector: &Projector, slow: &Slow, limit: usize) {
    let of = |run| slow.runs.get(run).and_then(RunEntry::state);
    let owner =
        |run| of(run).map(|state| (state.started().agent.clone(), state.starter().cloned()));
    let granted = |decision: &&Decision| decision.verdict == Verdict::Granted;
    let mut expected: BTreeMap<_, Vec<Decision>> = BTreeMap::new();
    for decision in slow.decisions.iter().filter(granted).rev() {
        let key = (decision.tool.clone().unwrap(), owner(decision.run).unwrap());
        expected.entry(key).or_default().push(decision.clone());
    }
    let nobody = ("look".parse().unwrap(), ("nobody".parse().unwrap(), None));
    expected.entry(nobody).or_default();
    for ((tool, (agent, by)), expected) in expected {
        let query = |page| Query::Allowed {
            tool: tool.clone(),
            agent: agent.clone(),
            by: by.clone(),
            page,
        };
        let found = every(projector, limit, query, |answer| match answer {
            Answer::Decisions { decisions, next } => (decisions, next),
            other => panic!("{other:?}"),
        });
        assert_eq!(found.await, expected, "{tool} {agent}");
    }
}

async fn told(stories: Vec<Story>) -> Vec<Envelope> {
    let mut world = World::new().await.unwrap();
    for story in stories {
        tell_in(&mut world, story).await;
        world.clock.advance_ms(11);
    }
    cut::log(&**world.store()).await.unwrap()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work)
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn they_are_what_the_whole_log_says(
        stories in prop::collection::vec(stories(), 1..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        page in 1_usize..40,
        limit in 1_usize..5,
    ) {
        block_on(async {
            let records = told(stories).await;
            let mut sizes: Vec<_> = cuts.iter().map(|cut| cut.index(records.len() + 1)).collect();
            sizes.sort_unstable();
            sizes.push(records.len());
            let log = Log::new(records.clone(), page);
            let rows = Arc::new(Counted::default());
            for size in sizes {
                log.size.store(size, Ordering::SeqCst);
                // Another process each time, which finds the mark of the one before.
                check(&projector(&log, &rows), &Slow::of(&records[..size]), limit).await;
            }
            // However it came there, the rows are those that are built at once.
            let built = projector(&log, &rows).query(&Query::Rebuild {}).await.unwrap();
            prop_assert!(matches!(built, Answer::Rebuilt(built) if !built.differed));
            let at_once = Arc::new(Counted::default());
            let whole = Log::new(records.clone(), 256);
            check(&projector(&whole, &at_once), &Slow::of(&records), 256).await;
            prop_assert_eq!(at_once.all(), rows.all());
            Ok(())
        })?;
    }
}

#[test]
fn every_canned_history_is_what_the_whole_log_says() {
    block_on(async {
        for history in history::all().await.unwrap() {
            let records = cut::log(&**history.world.store()).await.unwrap();
            let log = Log::new(records.clone(), 256);
            let rows = Arc::new(Counted::default());
            // After each record, each time by a process that was there before.
            let projector = projector(&log, &rows);
            for size in 0..=records.len() {
                log.size.store(size, Ordering::SeqCst);
                check(&projector, &Slow::of(&records[..size]), 3).await;
            }
        }
    });
}

async fn some_log() -> Vec<Envelope> {
    let history = history::mixed_batch_parked().await.unwrap();
    cut::log(&**history.world.store()).await.unwrap()
}

#[test]
fn rows_that_are_lost_or_old_are_noticed() {
    block_on(async {
        let records = some_log().await;
        let slow = Slow::of(&records);
        let log = Log::new(records.clone(), 256);
        let rows = Arc::new(Counted::default());
        log.size.store(records.len() - 3, Ordering::SeqCst);
        let first = projector(&log, &rows);
        first
            .query(&Query::Pending {
                page: page(None, 9),
            })
            .await
            .unwrap();
        let old = rows.all();
        log.size.store(records.len(), Ordering::SeqCst);
        check(&projector(&log, &rows), &slow, 9).await;
        let whole = rows.all();
        for (key, value) in &whole {
            let before = old.iter().find(|row| row.0 == *key);
            let before = before.map(|row| row.1.clone()).filter(|old| old != value);
            for put in [None, before, Some(b"{}".to_vec())] {
                rows.clear().unwrap();
                let mut changes: Changes = whole
                    .iter()
                    .cloned()
                    .map(|(key, value)| (key, Some(value)))
                    .collect();
                changes.insert(key.clone(), put);
                rows.apply(&changes).unwrap();
                let built = projector(&log, &rows).query(&Query::Rebuild {}).await;
                assert!(
                    matches!(built, Ok(Answer::Rebuilt(built)) if built.differed),
                    "{key:?}"
                );
                assert_eq!(rows.all(), whole);
            }
        }
        // All of an older copy: it only comes less far.
        rows.clear().unwrap();
        rows.apply(
            &old.into_iter()
                .map(|(key, value)| (key, Some(value)))
                .collect(),
        )
        .unwrap();
        check(&projector(&log, &rows), &slow, 9).await;
        assert_eq!(rows.all(), whole);
    });
}

#[test]
fn a_mark_that_is_not_of_this_log_has_them_built_anew() {
    block_on(async {
        let records = some_log().await;
        let rows = Arc::new(Counted::default());
        let log = Log::new(records.clone(), 256);
        let query = Query::Pending {
            page: page(None, 9),
        };
        projector(&log, &rows).query(&query).await.unwrap();
        let mark = rows.get(b"m").unwrap().unwrap();
        let read = |log: &Log| log.read.swap(0, Ordering::SeqCst);
        let count = records.len() as u64;
        read(&log);
        // Nothing is amiss: the last record alone is looked at.
        projector(&log, &rows).query(&query).await.unwrap();
        assert_eq!(read(&log), 1);
        // Another format.
        let other = String::from_utf8(mark)
            .unwrap()
            .replace("\"format\":2", "\"format\":3");
        rows.apply(&Changes::from([(b"m".to_vec(), Some(other.into_bytes()))]))
            .unwrap();
        projector(&log, &rows).query(&query).await.unwrap();
        assert_eq!(read(&log), count);
        // A log that is shorter.
        log.size.store(records.len() - 1, Ordering::SeqCst);
        let slow = Slow::of(&records[..records.len() - 1]);
        check(&projector(&log, &rows), &slow, 9).await;
        assert_eq!(read(&log), count - 1);
        // A log that has another record there.
        let other = history::denied().await.unwrap();
        let other = cut::log(&**other.world.store()).await.unwrap();
        let slow = Slow::of(&other);
        log.size.store(other.len(), Ordering::SeqCst);
        *log.records.lock().unwrap() = other;
        check(&projector(&log, &rows), &slow, 9).await;
    });
}

#[test]
fn a_cursor_of_another_list_is_refused() {
    block_on(async {
        let log = Log::new(some_log().await, 256);
        let projector = projector(&log, &Arc::new(Counted::default()));
        let part = page(Some(Cursor::at_record(Position::new(3))), 1);
        for query in [
            Query::Pending { page: part.clone() },
            Query::Runs {
                filter: ALL,
                page: part,
            },
        ] {
            let error = projector.query(&query).await.unwrap_err();
            assert!(
                error.to_string().starts_with("expected the cursor"),
                "{error}"
            );
        }
    });
}

#[test]
fn a_part_of_a_long_list_reads_a_part_of_the_rows() {
    block_on(async {
        let mut world = World::new().await.unwrap();
        let mut read = Vec::new();
        for _ in 0..2 {
            for _ in 0..40 {
                let script =
                    placet_replay::script::Script::new().calls([placet_replay::script::call(
                        "act",
                        &serde_json::json!({"what": "it"}),
                    )]);
                let options = placet_replay::world::Options::default();
                world.run(script.says("Done."), options).await.unwrap();
                world.clock.advance_ms(3);
            }
            let log = Log::new(cut::log(&**world.store()).await.unwrap(), 256);
            let rows = Arc::new(Counted::default());
            let projector = projector(&log, &rows);
            let run = runs(&projector, &ALL, 256).await.remove(20).run;
            for query in [
                Query::Runs {
                    filter: ALL,
                    page: page(None, 5),
                },
                Query::Pending {
                    page: page(None, 5),
                },
                Query::Decisions {
                    filter: DecisionFilter::default(),
                    page: page(None, 5),
                },
                Query::Find {
                    prefix: run.to_string(),
                },
                Query::Prefixes { runs: vec![run] },
            ] {
                rows.read.store(0, Ordering::SeqCst);
                log.read.store(0, Ordering::SeqCst);
                projector.query(&query).await.unwrap();
                assert_eq!(
                    log.read.load(Ordering::SeqCst),
                    0,
                    "{query:?} reads the log"
                );
                read.push(rows.read.load(Ordering::SeqCst));
            }
        }
        let (small, large) = read.split_at(5);
        assert!(
            small.iter().chain(large).all(|rows| *rows <= 14),
            "{read:?}"
        );
    });
}

#[test]
fn what_was_allowed_of_a_rare_tool_is_found_among_many_decisions() {
    block_on(async {
        let mut world = World::new().await.unwrap();
        let options = placet_replay::world::Options {
            policy: ApprovalPolicy::LowRisk,
            ..Default::default()
        };
        let note = placet_replay::script::call("note", &serde_json::json!({"text": "it"}));
        let look = placet_replay::script::call("look", &serde_json::json!({"key": "it"}));
        let mut calls = vec![note];
        calls.extend((0..60).map(|_| look.clone()));
        let (mut by, mut read) = (None, Vec::new());
        for _ in 0..2 {
            for _ in 0..4 {
                let calls = std::mem::replace(&mut calls, vec![look.clone(); 60]);
                let script = placet_replay::script::Script::new().calls(calls);
                let run = world.run(script.says("Done."), options.clone());
                let (run, _) = run.await.unwrap();
                let state = world.state(run).await.unwrap();
                by = state.starter().cloned();
            }
            let records = cut::log(&**world.store()).await.unwrap();
            let rows = Arc::new(Counted::default());
            let projector = projector(&Log::new(records, 256), &rows);
            let query = Query::Allowed {
                tool: "note".parse().unwrap(),
                agent: "default".parse().unwrap(),
                by: by.clone(),
                page: page(None, 5),
            };
            projector.query(&query).await.unwrap();
            rows.read.store(0, Ordering::SeqCst);
            let Answer::Decisions { decisions, next } = projector.query(&query).await.unwrap()
            else {
                panic!("no decisions");
            };
            assert_eq!((decisions.len(), next), (1, None));
            read.push(rows.read.load(Ordering::SeqCst));
        }
        // The row that names it, its decisions, and its run.
        assert_eq!(read, [3, 3]);
    });
}
