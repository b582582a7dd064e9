//! Histories that were written anew with true hashes, and would be told by no chain.

use futures_executor::block_on;

use super::example::{Fake, Table, envelopes};
use crate::approval::By;
use crate::audit::{Finding, FindingKind, verify};
use crate::envelope::Envelope;
use crate::event::{ApprovalGranted, Event};
use crate::id::Version;
use crate::risk::DeclaredRisk;

/// The example with one event replaced and everything after it linked anew.
fn rewritten(at: usize, change: impl FnOnce(&mut Event)) -> Vec<Finding> {
    let mut all = envelopes();
    let mut event = all[at].event().clone();
    change(&mut event);
    let header = all[at].header().clone();
    all[at] = Envelope::write(header, event, all[at].blobs().clone()).unwrap();
    for later in at + 1..all.len() {
        let mut header = all[later].header().clone();
        header.prev = all[later - 1].digest();
        let (event, blobs) = (all[later].event().clone(), all[later].blobs().clone());
        all[later] = Envelope::write(header, event, blobs).unwrap();
    }
    block_on(verify(&Fake::of(&all), None, Some(&Table))).findings
}

fn position(finding: &Finding) -> u64 {
    finding.place.position.unwrap().get()
}

#[test]
fn nothing_is_found_where_nothing_was_changed() {
    // Changing nothing keeps every digest: the answers still name the requests.
    assert_eq!(rewritten(5, |_| ()), []);
}

#[test]
fn a_grant_that_the_gate_would_not_give_is_named() {
    let found = rewritten(11, |event| {
        let Event::ApprovalGranted(ApprovalGranted::Automatic(grant)) = event else {
            panic!("{event:?}")
        };
        let rule = "policy:high-risk".parse().unwrap();
        grant.by = By::Policy { rule };
    });
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, FindingKind::VerdictDiffers);
    assert_eq!(position(&found[0]), 11);
    assert_eq!(
        found[0].detail,
        "recorded is: approve as read-only by policy policy:high-risk; \
         judged again: approve as read-only by policy plain-read-only"
    );
}

#[test]
fn a_request_that_was_made_milder_is_named_before_its_answer_fails() {
    let found = rewritten(7, |event| {
        let Event::ApprovalRequested(asked) = event else {
            panic!("{event:?}")
        };
        asked.tier = DeclaredRisk::LowRisk;
        asked.expires_at = asked.expires_at.plus_ms(1);
    });
    let kinds: Vec<_> = found.iter().map(|f| (position(f), f.kind)).collect();
    assert_eq!(
        kinds[..3],
        [
            (7, FindingKind::VerdictDiffers),
            (7, FindingKind::VerdictDiffers),
            (14, FindingKind::EventIllegal),
        ]
    );
}

#[test]
fn a_decision_on_authority_of_another_time_is_named() {
    for (at, authority) in [(11, 0), (11, 2), (7, 0), (7, 2)] {
        let found = rewritten(at, |event| {
            let authority = Version::new(authority);
            if let Event::ApprovalGranted(ApprovalGranted::Automatic(grant)) = event {
                grant.authority = authority;
            } else if let Event::ApprovalRequested(asked) = event {
                asked.authority = authority;
            }
        });
        assert_eq!(found[0].kind, FindingKind::AuthorityMoved);
        assert_eq!(position(&found[0]), at as u64);
    }
}

#[test]
fn an_event_that_cannot_stand_there_is_named() {
    let found = rewritten(17, |event| {
        let Event::ExecutionStarted(started) = event else {
            panic!("{event:?}")
        };
        started.attempt = 2;
    });
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, FindingKind::EventIllegal);
    assert_eq!(position(&found[0]), 17);
    assert!(found[0].detail.contains("attempts are counted one by one"));
}

#[test]
fn a_record_behind_the_end_of_its_run_is_named() {
    let mut all = envelopes();
    let mut header = all[24].header().clone();
    header.prev = all[24].digest();
    header.version = header.version.next().unwrap();
    let (event, blobs) = (all[24].event().clone(), all[24].blobs().clone());
    all.push(Envelope::write(header, event, blobs).unwrap());
    let found = block_on(verify(&Fake::of(&all), None, Some(&Table))).findings;
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, FindingKind::EventIllegal);
    assert_eq!(
        (position(&found[0]), found[0].detail.as_str()),
        (25, "the run has ended")
    );
}
