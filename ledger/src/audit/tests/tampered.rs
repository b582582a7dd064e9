//! Records and contents changed, dropped, swapped, spliced and cut, each named at its place.

use futures_executor::block_on;

use super::example::{Fake, RUN, Table, head, ledger, run};
use crate::audit::{FINDINGS_MAX, FindingKind, Report, verify};
use crate::id::Position;
use crate::store::ReadError;

fn report(fake: &Fake) -> Report {
    let report = block_on(verify(fake, Some(head()), Some(&Table)));
    assert!(!report.ok && !report.findings.is_empty());
    report
}

/// What was found, in order: position and kind.
fn found(fake: &Fake) -> Vec<(Option<u64>, FindingKind)> {
    let report = report(fake);
    report
        .findings
        .iter()
        .map(|finding| (finding.place.position.map(Position::get), finding.kind))
        .collect()
}

fn first(fake: &Fake) -> (u64, FindingKind) {
    let (position, kind) = found(fake)[0];
    (position.unwrap(), kind)
}

#[test]
fn a_changed_byte_is_named_where_it_stands() {
    let mut fake = Fake::example();
    fake.edit(12, "\"active_ms\":251", "\"active_ms\":252");
    assert_eq!(
        found(&fake),
        [
            (Some(12), FindingKind::LinkBroken),
            (None, FindingKind::RootDiffers),
            (None, FindingKind::HeadDiffers),
        ]
    );
    let finding = &report(&fake).findings[0];
    assert_eq!(finding.place.run, Some(run().stream()));
    assert_eq!(finding.place.version.unwrap().get(), 10);
    assert!(finding.detail.contains("version 11 of its stream follows"));
}

#[test]
fn a_changed_link_is_named_where_it_stands() {
    for at in [3, 12, 20] {
        let mut fake = Fake::example();
        let text = String::from_utf8(fake.records[at].1.to_vec()).unwrap();
        let digit = text.find("\"prev\":\"").unwrap() + 8;
        let mut bytes = text.into_bytes();
        bytes[digit] = if bytes[digit] == b'0' { b'1' } else { b'0' };
        fake.records[at].1 = bytes.into();
        let links: Vec<_> = found(&fake)
            .into_iter()
            .filter(|(position, _)| position.is_some())
            .collect();
        assert_eq!(links, [(Some(at as u64), FindingKind::LinkBroken)]);
    }
}

#[test]
fn every_single_flipped_bit_is_found() {
    let example = Fake::example();
    for at in 0..example.records.len() {
        for byte in (0..example.records[at].1.len()).step_by(37) {
            let mut fake = example.clone();
            let mut bytes = fake.records[at].1.to_vec();
            bytes[byte] ^= 1;
            fake.records[at].1 = bytes.into();
            let found = found(&fake);
            let (position, _) = found[0];
            // The last records of the two streams have no successor: of their bytes tree and head
            // alone can tell, and of their link not which side of it was changed.
            let last = at == 1 || at == 24;
            let right = match position {
                Some(position) => position == at as u64 || (last && position + 1 == at as u64),
                None => last,
            };
            assert!(right, "{at} {byte} {found:?}");
        }
    }
}

#[test]
fn a_changed_last_record_is_told_by_tree_and_head() {
    let mut fake = Fake::example();
    fake.edit(24, "409400Z", "409401Z");
    let both = [
        (None, FindingKind::RootDiffers),
        (None, FindingKind::HeadDiffers),
    ];
    assert_eq!(found(&fake), both);
    fake.retail();
    assert_eq!(found(&fake), both[1..]);
    let mut fake = Fake::example();
    fake.edit(24, "\"completed\"", "\"failed\"");
    assert_eq!(first(&fake), (24, FindingKind::EventIllegal));
}

#[test]
fn bytes_that_are_no_record_are_named() {
    let mut fake = Fake::example();
    fake.edit(12, "{\"actor\"", "{ \"actor\"");
    assert_eq!(first(&fake), (12, FindingKind::RecordMalformed));
    let mut fake = Fake::example();
    fake.edit(0, "ledger.created", "ledger.createx");
    assert_eq!(first(&fake), (0, FindingKind::RecordMalformed));
}

#[test]
fn a_dropped_record_is_named_by_its_place() {
    let mut fake = Fake::example();
    fake.records.remove(12);
    assert_eq!(first(&fake), (12, FindingKind::PositionGap));
    fake.renumber();
    assert_eq!(first(&fake), (12, FindingKind::LinkBroken));
    assert_eq!(
        report(&fake).findings[0].detail,
        "expected version 10, found 11"
    );
    fake.retail();
    assert_eq!(first(&fake), (12, FindingKind::LinkBroken));
}

#[test]
fn swapped_records_are_named_at_the_first() {
    for (a, b) in [(12, 13), (7, 9), (0, 1), (1, 2)] {
        let mut fake = Fake::example();
        let (left, right) = (fake.records[a].1.clone(), fake.records[b].1.clone());
        (fake.records[a].1, fake.records[b].1) = (right, left);
        fake.retail();
        let (position, kind) = found(&fake)[0];
        // Between streams order is told by the head alone.
        let across = (a, b) == (1, 2);
        if across {
            assert_eq!((position, kind), (Some(1), FindingKind::AuthorityMoved));
        } else {
            assert_eq!((position, kind), (Some(a as u64), FindingKind::LinkBroken));
        }
    }
}

#[test]
fn a_record_of_another_run_is_named_where_it_was_put() {
    let mut fake = Fake::example();
    fake.edit(12, RUN, "0a0a0a0a-8c2d-4e6a-9f51-0a7d3c58e912");
    let found = found(&fake);
    assert_eq!(found[0], (Some(12), FindingKind::LinkBroken));
    assert_eq!(found[1], (Some(13), FindingKind::LinkBroken));
}

#[test]
fn a_record_that_was_inserted_is_named_and_not_its_neighbour() {
    let mut fake = Fake::example();
    let copy = fake.records[12].clone();
    fake.records.insert(12, copy);
    fake.renumber();
    fake.edit(12, "\"active_ms\":251", "\"active_ms\":9");
    fake.retail();
    assert_eq!(first(&fake), (13, FindingKind::LinkBroken));
    let mut fake = Fake::example();
    let copy = fake.records[13].clone();
    fake.records.insert(13, copy);
    fake.renumber();
    let other = "1d0f7560e4f4cce8df16d63aa843f5f7551908e7cccdc879eb6e18c4ddcc75aa";
    let text = std::str::from_utf8(&fake.records[13].1).unwrap().to_owned();
    let at = text.find("\"prev\":\"").unwrap() + 8;
    fake.edit(13, &text[at..at + 64], other);
    fake.retail();
    assert_eq!(first(&fake), (13, FindingKind::LinkBroken));
}

#[test]
fn a_record_of_another_ledger_is_named() {
    let mut fake = Fake::example();
    fake.edit(
        12,
        &ledger().to_string(),
        "00000000-3f0e-4a57-9a0b-2d7b6c1e4f80",
    );
    assert_eq!(first(&fake), (12, FindingKind::RecordForeign));
}

#[test]
fn a_cut_tail_is_told_by_the_head_and_by_the_store() {
    let mut fake = Fake::example();
    fake.records.truncate(20);
    assert_eq!(
        found(&fake),
        [
            (Some(20), FindingKind::StoreShort),
            (Some(20), FindingKind::HeadAhead),
        ]
    );
    fake.retail();
    assert_eq!(found(&fake), [(Some(20), FindingKind::HeadAhead)]);
}

#[test]
fn a_missing_content_is_named_with_its_record() {
    let mut fake = Fake::example();
    let preview = super::example::envelopes()[6].blobs()["preview"].commitment;
    fake.contents.remove(&(run().stream(), preview)).unwrap();
    assert_eq!(found(&fake), [(Some(6), FindingKind::ContentMissing)]);
    let report = report(&fake);
    assert_eq!(
        (report.content.readable, report.content.unreadable),
        (19, 1)
    );
    assert!(report.findings[0].detail.contains("preview"));
}

#[test]
fn a_changed_content_is_named_with_its_record() {
    let mut fake = Fake::example();
    let preview = super::example::envelopes()[6].blobs()["preview"].commitment;
    let key = (run().stream(), preview);
    let content = fake.contents.get_mut(&key).unwrap();
    content.bytes = b"nothing to see".as_slice().into();
    assert_eq!(found(&fake), [(Some(6), FindingKind::ContentDiffers)]);
}

#[test]
fn a_record_that_cannot_be_read_hides_no_other_damage() {
    let mut fake = Fake::example();
    fake.unreadable.insert(12);
    fake.edit(1, "\"change\":\"first\"", "\"change\":\"worst\"");
    let found = found(&fake);
    assert_eq!(found[0], (Some(1), FindingKind::RecordMalformed));
    assert!(found.contains(&(Some(12), FindingKind::RecordUnreadable)));
    assert!(found.contains(&(Some(13), FindingKind::LinkBroken)));
}

#[test]
fn two_damaged_streams_are_both_named() {
    let mut fake = Fake::example();
    fake.edit(0, "\"key\":\"d75", "\"key\":\"d76");
    fake.edit(12, "\"active_ms\":251", "\"active_ms\":252");
    let found = found(&fake);
    assert_eq!(found[0], (Some(0), FindingKind::LinkBroken));
    assert_eq!(found[1], (Some(12), FindingKind::LinkBroken));
}

#[test]
fn findings_are_bounded_and_a_dead_store_is_not_asked_for_ever() {
    let mut fake = Fake::example();
    fake.records = (0..100_000)
        .map(|position| (position, fake.records[0].1.clone()))
        .collect();
    fake.unreadable = (0..100_000).collect();
    fake.retail();
    let dead = report(&fake);
    assert_eq!(dead.findings[0].kind, FindingKind::RecordUnreadable);
    assert_eq!((dead.size, dead.root), (0, None));
    assert_eq!(dead.findings.len(), 2, "{:?}", dead.findings);
    fake.unreadable = (0..1_000).step_by(2).collect();
    fake.records.truncate(1_000);
    fake.retail();
    let report = report(&fake);
    assert!(report.findings.len() <= FINDINGS_MAX + 4);
    assert!(report.findings_left_out > 0);
}

#[test]
fn records_in_a_row_that_cannot_be_read_are_one_finding_and_hide_no_other() {
    let mut fake = Fake::example();
    let first = fake.records[0].1.clone();
    let more = (25..2_000).map(|position| (position, first.clone()));
    fake.records.extend(more);
    fake.unreadable = (25..1_000).collect();
    fake.edit(12, "\"active_ms\":251", "\"active_ms\":252");
    fake.retail();
    let report = report(&fake);
    let at = |position| {
        let at = Some(Position::new(position));
        let mut of = report.findings.iter().filter(|f| f.place.position == at);
        of.next().map(|finding| finding.detail.as_str())
    };
    assert!(
        at(25)
            .unwrap()
            .ends_with("; the 974 after it cannot be read either")
    );
    assert_eq!(at(26), None);
    assert!(at(12).is_some() && at(1_000).is_some());
}

#[test]
fn a_store_that_does_not_say_its_size_is_walked_all_the_same() {
    let mut fake = Fake::example();
    fake.tail = Err(ReadError::Io(String::from("gone")));
    assert_eq!(found(&fake), [(None, FindingKind::RecordUnreadable)]);
    assert_eq!(report(&fake).size, 25);
}
