//! The worked example of the event format: every vector, and the whole run driven again.

use std::collections::BTreeMap;
use std::sync::Arc;

use placet_engine::policy::Gate;
use placet_engine::recording::Recording;
use placet_engine::replay::{ReplayError, Replayed, replay};
use placet_ledger::content::{Commitment, Content, Salt, size_class};
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::envelope::{Envelope, ledger_genesis, stream_genesis};
use placet_ledger::event::{ApprovalGranted, Event, Outcome};
use placet_ledger::id::{CallId, Version};
use placet_ledger::merkle::Frontier;
use placet_ledger::proposal::{proposal_digest, set_digest};
use placet_ledger::run::{Origin, Phase, RunState, Step, fold, next};
use placet_replay::corpus::{self, ExampleContent};

fn all() -> Vec<Envelope> {
    let lines = corpus::WORKED_EXAMPLE_RECORDS.lines();
    lines
        .map(|line| Envelope::parse(line.as_bytes()).unwrap())
        .collect()
}

/// The state of the run after the records below this position.
fn state_at(size: usize) -> RunState {
    let all = all();
    let ledger = all[0].header().ledger;
    let created = all[0].digest();
    let origin = Origin { ledger, created };
    let stream = all[2].stream();
    fold(&origin, stream, &all[2..size]).unwrap().unwrap()
}

fn call(text: &str) -> CallId {
    text.parse().unwrap()
}

#[tokio::test]
async fn drives_again_to_the_same_bytes() {
    let recording = corpus::worked_example().unwrap();
    let replayed = replay(&recording, Arc::new(Gate)).await.unwrap();
    let outcome = Some(Outcome::Completed);
    assert_eq!(
        replayed,
        Replayed {
            records: 23,
            outcome
        }
    );
}

#[tokio::test]
async fn diverges_where_an_answer_was_turned_round() {
    let mut recording = corpus::worked_example().unwrap();
    // Somebody makes a denial of c1's approval; the chain behind it no longer holds.
    let approved = &recording.run[12];
    let Event::ApprovalGranted(ApprovalGranted::ByPerson(grant)) = approved.event() else {
        panic!("not the approval of c1");
    };
    let denied = Event::ApprovalDenied(placet_ledger::event::ApprovalDenied {
        answer: grant.answer,
        authority: grant.authority,
        by: grant.by.clone(),
        call: grant.call,
        request: grant.request,
    });
    let forged = Envelope::write(approved.header().clone(), denied, BTreeMap::new()).unwrap();
    recording.run[12] = forged;
    let Err(ReplayError::Diverged(found)) = replay(&recording, Arc::new(Gate)).await else {
        panic!("a forged record replays");
    };
    assert_eq!(found.version, Version::new(13));
}

#[test]
fn contents_have_the_commitments_and_size_classes_of_the_records() {
    let mut sizes = BTreeMap::new();
    for record in all() {
        for blob in record.blobs().values() {
            sizes.insert(blob.commitment.to_string(), blob.size);
        }
    }
    let lines: Vec<ExampleContent> = corpus::WORKED_EXAMPLE_CONTENTS
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 20);
    for line in lines {
        let content = Content::new(Salt([line.n; 32]), line.content.into_bytes());
        assert_eq!(content.commitment().to_string(), line.commitment);
        let size = sizes[&line.commitment];
        assert_eq!(size, size_class(content.bytes.len() as u64), "{}", line.n);
    }
}

#[test]
fn streams_begin_at_their_genesis() {
    let all = all();
    let ledger = all[0].header().ledger;
    assert_eq!(all[0].header().prev, ledger_genesis(ledger));
    let run = all[2].stream();
    assert_eq!(
        all[2].header().prev,
        stream_genesis(ledger, &all[0].digest(), run)
    );
}

#[test]
fn proposals_and_requests_have_the_digests_that_later_records_name() {
    let all = all();
    let ledger = all[0].header().ledger;
    let run = all[2].stream().run();
    for (proposed, named) in [(6, 7), (8, 9), (10, 11)] {
        let record = &all[proposed];
        assert_eq!(record.event().name(), "call.proposed");
        let body = record.body().unwrap();
        let computed = proposal_digest(ledger, run, body, record.blobs()).unwrap();
        let named = match all[named].event() {
            Event::ApprovalRequested(event) => event.proposal,
            Event::ApprovalGranted(ApprovalGranted::Automatic(event)) => event.proposal,
            other => panic!("{}", other.name()),
        };
        assert_eq!(computed, named);
    }
    for (requested, answered) in [(7, 14), (9, 15)] {
        let named = match all[answered].event() {
            Event::ApprovalGranted(ApprovalGranted::ByPerson(event)) => event.request,
            Event::ApprovalDenied(event) => event.request,
            other => panic!("{}", other.name()),
        };
        assert_eq!(all[requested].digest(), named);
    }
}

#[test]
fn the_set_code_is_over_both_requests() {
    let all = all();
    let set = set_digest([&all[7].digest(), &all[9].digest()]);
    assert_eq!(
        set.to_string(),
        "e003d1c414d0bbb1429aae871d5ec3cca6237bc548c76a722a65905a47369c3b"
    );
    assert_eq!(state_at(14).set_code().as_deref(), Some("e003d1c414"));
}

#[test]
fn definitions_are_digests_of_canonical_json() {
    let rm = br#"{"description":"Remove a file.","name":"rm","schema":{"additionalProperties":false,"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}}"#;
    assert_eq!(
        digest(Purpose::Tool, rm).to_string(),
        "8e548751d495b7313f5ffe9653048c4497df2bfe6ef00c4a50de05ba7cf76166"
    );
}

#[test]
fn the_tree_has_the_roots_of_the_example() {
    let mut tree = Frontier::new();
    let mut roots = BTreeMap::new();
    for record in all() {
        tree.push(&record.digest());
        roots.insert(tree.size(), tree.root().to_string());
    }
    assert_eq!(
        roots[&14],
        "34ab1ee71cc9e3397f398bd81984c8cca63433abc6412d4c74714fcfb5ee2f46"
    );
    assert_eq!(
        roots[&25],
        "743db0094d1019bec653ebe92f6a3ec8a02f35cd98d93128ccf3f5677b1dc7e1"
    );
}

#[test]
fn the_heads_are_those_that_a_signed_answer_and_the_end_name() {
    let all = all();
    assert_eq!(
        all[13].digest().to_string(),
        "310bf02fd82cc05fcbdbae83b0d6e5111c7cb879ae8e733435d5605ef537e9ab"
    );
    assert_eq!(
        all[24].digest().to_string(),
        "ed8d6b9fdfb2f60da7fbb038dc5f3648f97f05557fcec4b586da647a654926c2"
    );
}

#[test]
fn every_append_leaves_what_the_example_says() {
    let (c1, c2, c3) = (call("c1"), call("c2"), call("c3"));
    let phase = |size, call| state_at(size).call(call).unwrap().phase();
    assert_eq!(phase(14, c3), Phase::Granted);
    assert_eq!(next(&state_at(14)), Step::Await(vec![c1, c2]));
    assert_eq!(next(&state_at(16)), Step::Execute(c1));
    assert_eq!(phase(18, c1), Phase::Executing { epoch: 2 });
    assert_eq!(phase(20, c3), Phase::Executing { epoch: 2 });
    assert_eq!(next(&state_at(25)), Step::Finished);
}

#[test]
fn commitments_of_the_rules_are_those_in_force() {
    let all = all();
    let text = all[1].blobs()["text"].commitment;
    assert_eq!(
        text,
        Commitment::from_digest(
            "9c9550c8547511be027e6b7fa40a600393a6c9fe3022ac3750cc4145f51f593d"
                .parse::<Digest>()
                .unwrap()
        )
    );
    let recording: Recording = corpus::worked_example().unwrap();
    assert_eq!(recording.contents.text(&text), Some("[]"));
    assert_eq!(state_at(3).started().rules, text);
}
