//! The worked example verified, whole and after every kind of tampering.

pub(crate) mod example;
mod lines;
mod rewritten;
mod split;
mod tampered;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_executor::block_on;

use super::*;
use crate::approval::Actor;
use crate::content::Blobs;
use crate::envelope::{Envelope, Header as RecordHeader, stream_genesis};
use crate::event::{ClockStepped, Event};
use crate::id::{EventId, Version};
use example::{Fake, Table, head, memory};

#[test]
fn the_worked_example_verifies_to_its_root() {
    let store = block_on(memory());
    let report = block_on(verify(&store, Some(head()), Some(&Table)));
    assert_eq!(
        serde_json::to_value(&report).unwrap(),
        serde_json::json!({
            "ok": true,
            "size": 25,
            "root": "743db0094d1019bec653ebe92f6a3ec8a02f35cd98d93128ccf3f5677b1dc7e1",
            "findings": [],
            "head": {
                "size": 25,
                "root": "743db0094d1019bec653ebe92f6a3ec8a02f35cd98d93128ccf3f5677b1dc7e1",
            },
            "content": {"readable": 20, "unreadable": 0},
            "decisions": {"judged": 3, "unjudged": 0},
        })
    );
}

#[test]
fn a_head_below_the_size_is_compared_at_its_own_size() {
    let at_a2 = HeadPosition {
        size: 14,
        root: "34ab1ee71cc9e3397f398bd81984c8cca63433abc6412d4c74714fcfb5ee2f46"
            .parse()
            .unwrap(),
    };
    let report = block_on(verify(&Fake::example(), Some(at_a2), None));
    assert!(report.ok, "{report:#?}");
    assert_eq!(report.decisions.unjudged, 3);
    let other = HeadPosition { size: 13, ..at_a2 };
    let report = block_on(verify(&Fake::example(), Some(other), None));
    assert_eq!(report.findings[0].kind, FindingKind::HeadDiffers);
    assert_eq!(report.findings.len(), 1);
}

#[test]
fn an_empty_store_verifies_and_falls_short_of_any_head() {
    let empty = Fake::new(Vec::new());
    let report = block_on(verify(&empty, None, None));
    assert!(report.ok && report.size == 0, "{report:#?}");
    let report = block_on(verify(&empty, Some(head()), None));
    assert_eq!(report.findings[0].kind, FindingKind::HeadAhead);
    assert_eq!(report.findings[0].place, Place::at(Position::ZERO));
}

#[test]
fn names_of_findings_are_the_ones_that_are_written() {
    for kind in FindingKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
    }
}

/// The example with so many records of the journal behind it.
fn with_journal(count: u32) -> Fake {
    let mut fake = Fake::example();
    let created = &example::envelopes()[0];
    let Event::LedgerCreated(ledger) = created.event() else {
        panic!("the first record creates the ledger")
    };
    let stream = ledger.journal;
    let mut prev = stream_genesis(example::ledger(), &created.digest(), stream);
    for version in 0..count {
        let header = RecordHeader {
            actor: Actor::Engine,
            at: created.at(),
            cause: None,
            id: EventId::new(uuid::Uuid::nil()),
            ledger: example::ledger(),
            prev,
            stream,
            version: Version::new(version),
        };
        let event = Event::ClockStepped(ClockStepped { step_ms: 6000 });
        let envelope = Envelope::write(header, event, Blobs::new()).unwrap();
        prev = envelope.digest();
        let position = u64::from(version) + 25;
        fake.records.push((position, Arc::clone(envelope.bytes())));
    }
    fake.retail();
    fake
}

#[test]
fn a_log_of_many_pages_is_walked_to_its_end() {
    let mut fake = with_journal(700);
    let report = block_on(verify(&fake, Some(head()), Some(&Table)));
    assert!(report.ok && report.size == 725, "{report:#?}");
    fake.edit(600, "6000", "6001");
    let report = block_on(verify(&fake, Some(head()), Some(&Table)));
    assert_eq!(report.findings[0].place.position, Some(Position::new(600)));
    assert_eq!(report.findings.len(), 2, "{report:#?}");
    assert_eq!(report.findings[1].kind, FindingKind::RootDiffers);
}

#[cfg(feature = "sled")]
#[test]
fn the_worked_example_verifies_in_sled_against_its_head_file() {
    use crate::store::head::Head;
    use crate::store::sled::SledStore;

    let dir = tempfile::tempdir().unwrap();
    let (home, heads) = (dir.path().join("home"), dir.path().join("heads"));
    let store = SledStore::create(&home, example::ledger(), &heads).unwrap();
    block_on(example::append_to(&store));
    let head = HeadPosition::from(&Head::read(&heads).unwrap());
    // The head is written before a permit or an answer is acknowledged, and not for what follows.
    assert_eq!(head.size, 20);
    let report = block_on(verify(&store, Some(head), Some(&Table)));
    assert!(report.ok, "{report:#?}");
    assert_eq!(report.root, Some(example::head().root));
    assert_eq!((report.content.readable, report.decisions.judged), (20, 3));
}
