//! The views of the worked example, whole.

mod stories;

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::audit::tests::example::{RECORDS, RUN, contents, envelopes, run};
use crate::authority::{AuthorityState, Standing, fold_authority};
use crate::content::Contents;
use crate::envelope::Envelope;
use crate::gate_input::{Bench, gate_input};
use crate::id::{CallId, Position, RunId};
use crate::run::RunState;

fn recorded(size: usize) -> Vec<Recorded> {
    let all = envelopes().into_iter().zip(0..).take(size);
    all.map(|(envelope, position)| Recorded {
        position: Position::new(position),
        envelope,
    })
    .collect()
}

/// Who and what is trusted in the example.
fn authority() -> AuthorityState {
    let first = recorded(2);
    fold_authority(first.iter().map(|recorded| &recorded.envelope)).unwrap()
}

/// By what the example is judged at the moment of a state.
fn bench<'a>(authority: &'a AuthorityState, contents: &'a Contents, state: &RunState) -> Bench<'a> {
    Bench {
        standing: Standing {
            state: authority,
            contents,
        },
        at: state.head().at,
        weaker: None,
    }
}

fn runs(size: usize) -> RunList {
    let mut runs = RunList::new();
    for recorded in &recorded(size) {
        runs.apply(recorded);
    }
    runs
}

fn state(size: usize) -> RunState {
    runs(size).get(run()).unwrap().state().unwrap().clone()
}

fn call(text: &str) -> CallId {
    text.parse().unwrap()
}

fn card_of_c1() -> serde_json::Value {
    json!({
        "run": RUN,
        "call": "c1",
        "kind": "approval",
        "tool": "write_file",
        "tier": "high-risk",
        "rule": "policy:false",
        "proposal": "1bac31b678669c9a296c734fe59ddfbaa615e49ff7f66295860562b15cba008c",
        "request": "3245624082186184998a50848fe1e4b8a26bf4c7874df7150dc455753e996018",
        "set": "e003d1c414",
        "arguments": {"content": "milk\neggs\n", "path": "notes.txt"},
        "preview": "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1,2 @@\n milk\n+eggs\n",
        "message": "Write notes.txt: 1 line added.",
        "requested_at": "2026-12-01T09:00:01.244000Z",
        "expires_at": "2026-12-02T09:00:01.242000Z",
        "quorum": {"need": 1, "have": 0},
        "containment": "in-process",
    })
}

fn card_of_c2() -> serde_json::Value {
    json!({
        "run": RUN,
        "call": "c2",
        "kind": "approval",
        "tool": "rm",
        "tier": "high-risk",
        "rule": "policy:false",
        "proposal": "dc73296bcddf4b86de3f5308caf87d0d15ee8a5a7614dc68bb9a7b81d7665d36",
        "request": "b4b7ca6a10156afa3d64ac9fa0076abbe39ca7c42c100c150c5aeecb6092b831",
        "set": "e003d1c414",
        "arguments": {"path": "old.log"},
        "preview": "--- a/old.log\n+++ /dev/null\n@@ -1 +0,0 @@\n-debug 1\n",
        "message": "Remove old.log (8 bytes).",
        "requested_at": "2026-12-01T09:00:01.246000Z",
        "expires_at": "2026-12-02T09:00:01.242000Z",
        "quorum": {"need": 1, "have": 0},
        "containment": "in-process",
    })
}

#[test]
fn the_inbox_at_a2_holds_the_cards_of_c1_and_c2_whole() {
    let runs = runs(14);
    let cards = inbox(&runs, &BTreeMap::from([(run(), contents())]));
    let cards = serde_json::to_value(cards).unwrap();
    assert_eq!(cards, json!([card_of_c1(), card_of_c2()]));
}

#[test]
fn the_inbox_needs_no_more_than_it_reads() {
    let runs = runs(14);
    let all = contents();
    let mut some = Contents::default();
    for commitment in &inbox_needs(&runs)[&run()] {
        some.insert_checked(*commitment, all.get(commitment).unwrap().clone());
    }
    let full = inbox(&runs, &BTreeMap::from([(run(), all)]));
    assert_eq!(inbox(&runs, &BTreeMap::from([(run(), some)])), full);
}

#[test]
fn a_card_names_what_it_cannot_read_and_invents_nothing() {
    let cards = inbox(&runs(14), &BTreeMap::new());
    assert_eq!(cards.len(), 2);
    let card = &cards[0];
    assert_eq!(
        card.unreadable,
        ["precondition", "arguments", "preview", "message"]
    );
    assert_eq!(card.arguments, None);
    assert_eq!((&card.preview, &card.message), (&None, &None));
}

#[test]
fn the_inbox_is_empty_before_and_after_the_answers() {
    for size in [0, 2, 5, 6, 16, 25] {
        assert_eq!(inbox(&runs(size), &BTreeMap::new()), [], "size {size}");
    }
}

#[test]
fn the_gate_gets_what_the_run_recorded() {
    let state = state(14);
    let (authority, contents) = (authority(), contents());
    let bench = bench(&authority, &contents, &state);
    let input = gate_input(&state, &contents, bench, call("c1")).unwrap();
    assert_eq!(input.tool.as_str(), "write_file");
    assert!(input.paired && input.offered);
    assert_eq!(input.repeats, None);
    assert!(gate_input(&state, &contents, bench, call("c4")).is_none());
}

#[test]
fn authority_and_journal_are_no_runs() {
    let runs = runs(25);
    let list: Vec<_> = runs.iter().map(RunEntry::run).collect();
    assert_eq!(list, [run()]);
    let entry = runs.get(run()).unwrap();
    assert_eq!((entry.start().get(), entry.last().get()), (2, 24));
}

#[test]
fn a_run_is_found_by_its_first_six_digits() {
    let runs = runs(25);
    assert_eq!(runs.shortest_prefix(run()), "b3e41f");
    for prefix in ["b3e41f", "b3e41f078c2d", "b3e41f07-8c", RUN] {
        assert_eq!(runs.find(prefix).unwrap().run(), run(), "{prefix}");
    }
    for wrong in ["b3e41", "B3E41F", "b3e41g", "", "--b3e41"] {
        assert!(
            matches!(runs.find(wrong), Err(LookupError::Malformed(_))),
            "{wrong}"
        );
    }
    let not_found = |prefix: &str, nearest| {
        let prefix = prefix.to_owned();
        assert_eq!(
            runs.find(&prefix.clone()).unwrap_err(),
            LookupError::NotFound { prefix, nearest }
        );
    };
    not_found("b3e51f", Some(run()));
    not_found("ffffff", None);
}

#[test]
fn runs_that_begin_alike_are_told_apart_by_more_digits() {
    let mut runs = runs(25);
    let twin = "b3e41f07-8c2e-4e6a-9f51-0a7d3c58e912";
    // Another run by the same records: it does not fold, and is listed all the same.
    for line in RECORDS.lines().skip(2).take(2) {
        runs.apply(&Recorded {
            position: Position::new(25),
            envelope: Envelope::parse(line.replace(RUN, twin).into_bytes()).unwrap(),
        });
    }
    let twin: RunId = twin.parse().unwrap();
    assert_eq!(
        runs.find("b3e41f"),
        Err(LookupError::Ambiguous {
            prefix: String::from("b3e41f"),
            candidates: vec![run(), twin]
        })
    );
    assert_eq!(runs.shortest_prefix(run()), "b3e41f07-8c2d");
    assert_eq!(runs.find("b3e41f07-8c2e").unwrap().run(), twin);
    let quarantine = runs.get(twin).unwrap().quarantine().unwrap();
    assert_eq!(quarantine.position, Position::new(25));
    assert_eq!(quarantine.version.get(), 0);
    assert!(runs.get(twin).unwrap().state().is_none());
    assert!(runs.get(run()).unwrap().state().is_some());
}

#[test]
fn a_timeline_has_a_row_for_each_record_of_its_run() {
    let mut timeline = Timeline::new(run().stream());
    for recorded in &recorded(25) {
        timeline.apply(recorded);
    }
    assert_eq!(timeline.rows().len(), 23);
    let summaries: Vec<_> = timeline
        .rows()
        .iter()
        .map(|row| format!("{} {}", row.position, row.summary))
        .collect();
    for expected in [
        "2 run.started agent tidy, script:tidy.toml, policy false, attendance park, 3 tools",
        "5 model.replied tool_calls, calls: c1 write_file, c2 rm, c3 read_file, 89 tokens, 0 USD",
        "7 approval.requested c1 high-risk by policy:false, expires 2026-12-02T09:00:01.242000Z",
        "11 approval.granted c3 read-only by plain-read-only",
        "13 run.parked waits for c1, c2",
        "14 approval.granted c1 by uid:1000 (cli, same-user)",
        "17 execution.started c1 attempt 1, segment 2, in-process",
        "18 execution.succeeded c1 attempt 1, 2 ms",
        "24 run.finished completed",
    ] {
        assert!(
            summaries.iter().any(|row| row == expected),
            "{summaries:#?}"
        );
    }
    for row in timeline.rows() {
        assert!(!row.summary.contains('\n') && !row.summary.contains('?'));
    }
}
