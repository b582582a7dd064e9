//! The records of the worked example, read and written byte for byte.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

const RECORDS: &str = include_str!("../../../replay-tests/fixtures/worked_example/records.jsonl");

pub(super) fn records() -> impl Iterator<Item = &'static str> {
    RECORDS.lines()
}

/// A record of ours in which some bytes stand for others, most of them of the same kind.
pub(super) fn changed() -> impl Strategy<Value = String> {
    let all: Vec<_> = records().collect();
    let change = (any::<Index>(), 0..3_usize, "[0-9a-f\"\\\\{}:,ntux ]{0,2}");
    let changes = prop::collection::vec(change, 0..3);
    (prop::sample::select(all), changes).prop_map(|(record, changes)| {
        let mut record = record.to_owned();
        for (at, length, to) in changes {
            let at = at.index(record.len() - 2);
            record.replace_range(at..at + length, &to);
        }
        record
    })
}

#[test]
fn writes_every_record_of_the_worked_example_as_it_was_read() {
    for line in RECORDS.lines() {
        let read = Envelope::parse(line.as_bytes()).unwrap();
        let written = Envelope::write(
            read.header().clone(),
            read.event().clone(),
            read.blobs().clone(),
        )
        .unwrap();
        assert_eq!(std::str::from_utf8(written.bytes()).unwrap(), line);
        assert_eq!(written, read);
    }
}

#[test]
fn the_chains_of_the_worked_example_hold() {
    let all: Vec<_> = RECORDS
        .lines()
        .map(|line| Envelope::parse(line.as_bytes()).unwrap())
        .collect();
    let ledger = all[0].header().ledger;
    let created = all[0].digest();
    let run = all[2].stream();
    let mut heads = std::collections::BTreeMap::from([
        (ledger.authority(), (Version::ZERO, ledger_genesis(ledger))),
        (run, (Version::ZERO, stream_genesis(ledger, &created, run))),
    ]);
    for envelope in &all {
        let (version, prev) = heads[&envelope.stream()];
        assert_eq!(
            envelope.verify_link(ledger, envelope.stream(), version, prev),
            Ok(())
        );
        heads.insert(
            envelope.stream(),
            (version.next().unwrap(), envelope.digest()),
        );
    }
    assert_eq!(
        heads[&run].1.to_string(),
        "ed8d6b9fdfb2f60da7fbb038dc5f3648f97f05557fcec4b586da647a654926c2"
    );
}

#[test]
fn a_record_that_was_touched_anywhere_is_refused_or_has_another_digest() {
    let line = RECORDS.lines().nth(6).unwrap();
    let digest = Envelope::parse(line.as_bytes()).unwrap().digest();
    for at in 0..line.len() {
        for bit in 0..8 {
            let mut bytes = line.as_bytes().to_vec();
            bytes[at] ^= 1 << bit;
            if let Ok(envelope) = Envelope::parse(bytes) {
                assert_ne!(envelope.digest(), digest);
            }
        }
    }
}

#[test]
fn a_heading_is_read_as_the_whole_record_has_it() {
    for line in RECORDS.lines() {
        let whole = Envelope::parse(line.as_bytes()).unwrap();
        let heading = Heading::read(line.as_bytes()).unwrap();
        assert_eq!(heading, Heading::from(whole.header()));
        for at in 0..line.len() {
            let mut bytes = line.as_bytes().to_vec();
            bytes[at] ^= 1;
            let heading = Heading::read(&bytes).ok();
            // What is a record of ours has a heading; not all that has one is a record of ours.
            if let Ok(changed) = Envelope::parse(bytes) {
                assert_eq!(heading, Some(Heading::from(changed.header())), "{at}");
            }
        }
    }
}

#[test]
fn a_heading_is_refused_with_fields_that_are_not_those_of_a_record() {
    let line = RECORDS.lines().nth(6).unwrap();
    for (from, to) in [
        ("\"at\"", "\"au\""),
        ("\"v\":1", "\"v\":2"),
        ("\"v\":1,", ""),
        ("\"v\":1", "\"v\":-1"),
        ("\"v\":1", "\"v\":\"1\""),
        ("\"v\":1", "\"u\":1,\"v\":1"),
        ("\"ledger\":\"6", "\"ledger\":\"g"),
        ("\"ledger\":\"", "\"ledger\":\"\\n"),
        ("{\"actor\"", "{ \"actor\""),
    ] {
        assert!(line.contains(from), "{from}");
        let changed = line.replacen(from, to, 1);
        assert!(Heading::read(changed.as_bytes()).is_err(), "{changed}");
        assert!(Envelope::parse(changed.as_bytes()).is_err(), "{changed}");
    }
    let long = vec![b'{'; RECORD_BYTES_MAX + 1];
    assert!(matches!(
        Heading::read(&long),
        Err(RecordError::TooLarge(_))
    ));
}

#[test]
fn links_name_what_is_wrong() {
    let all: Vec<_> = RECORDS
        .lines()
        .map(|line| Envelope::parse(line.as_bytes()).unwrap())
        .collect();
    let record = &all[3];
    let (ledger, run, prev) = (record.header().ledger, record.stream(), all[2].digest());
    let one = Version::new(1);
    assert_eq!(record.verify_link(ledger, run, one, prev), Ok(()));
    let expected = Version::new(2);
    assert_eq!(
        record.verify_link(ledger, run, expected, prev),
        Err(LinkError::Version {
            expected,
            found: one
        })
    );
    let other = all[0].digest();
    assert_eq!(
        record.verify_link(ledger, run, one, other),
        Err(LinkError::Previous {
            expected: other,
            found: prev
        })
    );
    let stream = all[0].stream();
    assert_eq!(
        record.verify_link(ledger, stream, one, prev),
        Err(LinkError::Stream(run))
    );
}
