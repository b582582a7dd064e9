//! Rows that were changed, dropped, swapped, spliced or cut off: verification finds them all, and
//! names the first bad position and why.

use std::collections::BTreeSet;
use std::sync::Arc;

use placet_engine::policy::Gate;
use placet_ledger::audit::{FindingKind, HeadPosition, Report, verify};
use placet_ledger::content::{Content, Salt};
use placet_ledger::event::Event;
use placet_ledger::id::Position;
use placet_ledger::judge::Judge;
use placet_replay::corpus;
use placet_replay::cut;
use placet_replay::history;
use placet_replay::mutate::mutants;
use placet_replay::play::plays;
use placet_replay::tampering_store::{Row, TamperingStore};
use placet_replay::world::World;

/// A ledger with two runs, the second one begun before the first one ended, and its head.
struct Whole {
    store: Arc<TamperingStore>,
    rows: Vec<Row>,
    head: HeadPosition,
}

async fn whole() -> Whole {
    let mut world = World::new().await.unwrap();
    let plays = plays();
    let first = plays[0].start(&mut world).await.unwrap();
    world.drive(first).await.unwrap();
    let second = plays[2].start(&mut world).await.unwrap();
    plays[2].on(&mut world, second).await.unwrap();
    plays[0].on(&mut world, first).await.unwrap();
    let store = TamperingStore::new(world.store().clone());
    let rows = store.rows().await.unwrap();
    let tail = world.store().tail().await.unwrap();
    let head = HeadPosition {
        size: tail.size,
        root: tail.root,
    };
    Whole { store, rows, head }
}

impl Whole {
    /// What verification says of these rows, the store's own size and root adapted to them.
    async fn verify(&self, rows: Vec<Row>) -> Report {
        self.store.serve(rows);
        self.store.cover_up();
        verify(&*self.store, Some(self.head), Some(&Gate)).await
    }

    /// The next row of the same stream.
    fn next(&self, at: usize) -> Option<usize> {
        let stream = self.rows[at].stream;
        let later = self.rows.iter().enumerate().skip(at + 1);
        later
            .filter(|(_, row)| row.stream == stream)
            .map(|(at, _)| at)
            .next()
    }
}

fn first(report: &Report) -> (Option<usize>, FindingKind) {
    let finding = &report.findings[0];
    let position = finding.place.position.map(Position::get);
    (
        position.map(|at| usize::try_from(at).unwrap()),
        finding.kind,
    )
}

#[tokio::test]
async fn what_nobody_changed_verifies() {
    let whole = whole().await;
    let report = whole.verify(whole.rows.clone()).await;
    assert!(report.ok, "{:?}", report.findings);
    assert!(report.decisions.judged > 5, "{:?}", report.decisions);
    assert_eq!(report.content.unreadable, 0);
}

#[tokio::test]
async fn a_changed_row_is_named_at_its_position() {
    let whole = whole().await;
    let mut tried = 0_usize;
    for at in 0..whole.rows.len() {
        let record = whole.rows[at].record().unwrap();
        // One in five is enough: every kind of record and field still has its turn.
        for mutant in mutants(&record, &[]).into_iter().skip(at % 5).step_by(5) {
            let mut rows = whole.rows.clone();
            rows[at].bytes = mutant.bytes;
            let report = whole.verify(rows).await;
            let case = format!("{at} {}, {}", record.event().name(), mutant.what);
            assert!(!report.ok, "{case} was not found");
            let (position, kind) = first(&report);
            if whole.next(at).is_some() {
                assert_eq!(position, Some(at), "{case}: {:?}", report.findings[0]);
            } else if position.is_none() {
                // Nothing follows it in its stream: the head alone can tell.
                assert_eq!(kind, FindingKind::HeadDiffers, "{case}");
            }
            tried += 1;
        }
    }
    assert!(tried > 200, "only {tried}");
}

#[tokio::test]
async fn what_people_said_cannot_be_changed_unseen() {
    let words = [
        "approval.revoked",
        "execution.settled",
        "policy.changed",
        "prompt.added",
        "question.answered",
        "question.asked",
        "run.cancel_requested",
        "tool.allowed",
    ];
    let is_a_word = |event: &Event| match event {
        Event::CallProposed(proposed) => proposed.supersedes.is_some(),
        other => words.contains(&other.name()),
    };
    let mut found = BTreeSet::new();
    for made in history::all().await.unwrap() {
        let judge: &dyn Judge = &**made.world.judge();
        let store = TamperingStore::new(made.world.store().clone());
        let rows = store.rows().await.unwrap();
        let tail = made.world.store().tail().await.unwrap();
        let head = HeadPosition {
            size: tail.size,
            root: tail.root,
        };
        for at in 0..rows.len() {
            let record = rows[at].record().unwrap();
            if !is_a_word(record.event()) {
                continue;
            }
            for mutant in mutants(&record, &[]).into_iter().step_by(3) {
                let mut rows = rows.clone();
                rows[at].bytes = mutant.bytes;
                store.serve(rows);
                store.cover_up();
                let report = verify(&*store, Some(head), Some(judge)).await;
                let case = format!("{} {}", record.event().name(), mutant.what);
                assert!(!report.ok, "{}: {case} was not found", made.name);
                assert_eq!(first(&report).0, Some(at), "{}: {case}", made.name);
            }
            found.insert(record.event().name());
        }
    }
    assert_eq!(found.len(), words.len() + 1, "{found:?}");
}

#[tokio::test]
async fn bytes_that_are_no_record_are_named_at_their_position() {
    let whole = whole().await;
    for at in 0..whole.rows.len() {
        for change in [
            |bytes: &mut Vec<u8>| bytes.push(b' '),
            |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 1),
            |bytes: &mut Vec<u8>| bytes.clear(),
            |bytes: &mut Vec<u8>| bytes[1] ^= 1,
        ] {
            let mut rows = whole.rows.clone();
            let mut bytes = rows[at].bytes.to_vec();
            change(&mut bytes);
            rows[at].bytes = bytes.into();
            let report = whole.verify(rows).await;
            assert_eq!(first(&report), (Some(at), FindingKind::RecordMalformed));
        }
    }
}

#[tokio::test]
async fn a_dropped_row_is_named_where_its_stream_goes_on() {
    let whole = whole().await;
    for at in 0..whole.rows.len() {
        let mut rows = whole.rows.clone();
        rows.remove(at);
        let report = whole.verify(rows).await;
        let name = whole.rows[at].record().unwrap().event().name();
        match whole.next(at) {
            // Every row behind the gap is one position further down.
            Some(next) => {
                let (position, _) = first(&report);
                assert!(
                    position.is_some_and(|found| found < next),
                    "{at} {name}: {report:?}"
                );
                let links = report.findings.iter().any(|finding| {
                    finding.kind == FindingKind::LinkBroken
                        && finding.place.position == Some(Position::new(next as u64 - 1))
                });
                assert!(links, "{at} {name}: {:?}", report.findings);
            }
            // Nothing follows it in its stream: there is one record less than the head says.
            None => assert!(
                report
                    .findings
                    .iter()
                    .any(|f| f.kind == FindingKind::HeadAhead),
                "{at} {name}: {:?}",
                report.findings
            ),
        }
    }
}

#[tokio::test]
async fn swapped_rows_are_named_at_the_first_of_them() {
    let whole = whole().await;
    for at in 0..whole.rows.len() - 1 {
        let (one, other) = (at, at + 1);
        let mut rows = whole.rows.clone();
        rows.swap(one, other);
        let report = whole.verify(rows).await;
        assert!(!report.ok, "{one} and {other} were swapped and not found");
        let (position, kind) = first(&report);
        if whole.rows[one].stream == whole.rows[other].stream {
            assert_eq!(position, Some(one), "{:?}", report.findings);
        } else if position.is_none() {
            assert_eq!(kind, FindingKind::HeadDiffers);
        }
    }
}

#[tokio::test]
async fn rows_that_lie_under_the_keys_of_others_are_named_with_their_stream() {
    let whole = whole().await;
    for at in 0..whole.rows.len() {
        let Some(next) = whole.next(at) else { continue };
        let mut rows = whole.rows.clone();
        (rows[at].version, rows[next].version) = (rows[next].version, rows[at].version);
        let report = whole.verify(rows).await;
        assert_eq!(first(&report), (None, FindingKind::StreamDiffers), "{at}");
        assert_eq!(
            report.findings[0].place.run,
            Some(whole.rows[at].stream),
            "{at}"
        );
    }
}

#[tokio::test]
async fn a_row_of_another_run_or_another_ledger_is_named_where_it_was_put() {
    let whole = whole().await;
    let runs: Vec<usize> = (2..whole.rows.len()).collect();
    let foreign = corpus::WORKED_EXAMPLE_RECORDS.lines().nth(3).unwrap();
    for &at in &runs {
        let stranger = runs.iter().copied().find(|other| {
            whole.rows[*other].stream != whole.rows[at].stream
                && whole.rows[*other].version == whole.rows[at].version
        });
        if let Some(stranger) = stranger {
            let mut rows = whole.rows.clone();
            rows[at].bytes = rows[stranger].bytes.clone();
            let report = whole.verify(rows).await;
            // The stream that lost its row shows it where it goes on, the other one where it has
            // a version twice.
            let named = [Some(at), whole.next(at), Some(at.max(stranger))];
            let (position, _) = first(&report);
            assert!(
                position.is_some() && named.contains(&position),
                "{at} became {stranger}: {:?}",
                report.findings
            );
        }
        let mut rows = whole.rows.clone();
        rows[at].bytes = foreign.as_bytes().into();
        let report = whole.verify(rows).await;
        assert_eq!(first(&report), (Some(at), FindingKind::RecordForeign));
    }
}

#[tokio::test]
async fn a_cut_of_any_length_is_told_by_the_head_even_where_the_store_tells_nothing() {
    let whole = whole().await;
    for size in 1..whole.rows.len() {
        let report = whole.verify(whole.rows[..size].to_vec()).await;
        let named = report.findings.iter().any(|finding| {
            finding.kind == FindingKind::HeadAhead
                && finding.place.position == Some(Position::new(size as u64))
        });
        assert!(named, "{size}: {:?}", report.findings);
        assert_eq!(
            report.findings.len(),
            1,
            "a prefix is whole in itself: {report:?}"
        );
    }
}

#[tokio::test]
async fn a_changed_or_missing_content_is_named_with_the_record_that_names_it_first() {
    let whole = whole().await;
    let log = cut::log(&*whole.store).await.unwrap();
    let mut seen = BTreeSet::new();
    for (at, record) in log.iter().enumerate() {
        for blob in record.blobs().values() {
            if !seen.insert((record.stream(), blob.commitment)) {
                continue;
            }
            for served in [None, Some(Content::new(Salt([9; 32]), b"other".to_vec()))] {
                let kind = match served {
                    None => FindingKind::ContentMissing,
                    Some(_) => FindingKind::ContentDiffers,
                };
                let genuine = whole.store.clone();
                genuine.serve_content(blob.commitment, served);
                let report = verify(&*genuine, Some(whole.head), Some(&Gate)).await;
                assert_eq!(first(&report), (Some(at), kind), "{:?}", report.findings);
                genuine.serve_genuine(&blob.commitment);
            }
        }
    }
    assert!(seen.len() > 20);
}
