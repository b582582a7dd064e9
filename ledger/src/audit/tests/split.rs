//! A log that is split anywhere comes to the same as in one piece, right or wrong.

use futures_executor::block_on;
use proptest::prelude::*;

use super::super::links::Links;
use super::super::report::Findings;
use super::super::spans::{Chains, Piece, Span};
use super::super::{found_right, name_wrong};
use super::example::{Fake, Table, envelopes, head, ledger};
use super::*;
use crate::digest::Digest;
use crate::envelope::ledger_genesis;
use crate::event::{Change, RulesAdopted};
use crate::merkle::Frontier;

/// A log of many streams by turns; the first of them is the authority stream.
fn log(order: &[u8]) -> Vec<Vec<u8>> {
    let (at, actor) = (envelopes()[0].at(), Actor::Engine);
    let mut created = None;
    let mut heads: BTreeMap<StreamId, (Version, Digest)> = BTreeMap::new();
    let mut records = Vec::new();
    for number in std::iter::once(&0).chain(order) {
        let stream = match number {
            0 => ledger().authority(),
            number => StreamId::new(uuid::Uuid::from_u64_pair(7, u64::from(*number))),
        };
        let (version, prev) = heads.get(&stream).copied().unwrap_or_else(|| {
            let prev = match created {
                None => ledger_genesis(ledger()),
                Some(created) => stream_genesis(ledger(), &created, stream),
            };
            (Version::ZERO, prev)
        });
        let header = RecordHeader {
            actor: actor.clone(),
            at,
            cause: None,
            id: EventId::new(uuid::Uuid::nil()),
            ledger: ledger(),
            prev,
            stream,
            version,
        };
        let event = Event::ClockStepped(ClockStepped { step_ms: 6000 });
        let envelope = Envelope::write(header, event, Blobs::new()).unwrap();
        created.get_or_insert(envelope.digest());
        heads.insert(stream, (version.next().unwrap(), envelope.digest()));
        records.push(envelope.bytes().to_vec());
    }
    records
}

/// What records come to that are cut before these multiples of a tile.
fn split(
    records: &[Vec<u8>],
    tile: u64,
    cuts: &BTreeSet<u64>,
    head: Option<HeadPosition>,
) -> Option<Chains> {
    let mut chains = Chains::new(head);
    let mut span = Span::new(Position::ZERO, tile, head);
    for (position, bytes) in (0..).zip(records) {
        if position % tile == 0 && cuts.contains(&(position / tile)) {
            let next = Span::new(Position::new(position), tile, head);
            chains.join(std::mem::replace(&mut span, next))?;
        }
        span.take(Position::new(position), bytes);
    }
    chains.join(span)?;
    Some(chains)
}

/// What the walk over bytes and headings finds in them.
fn walked(records: &[Vec<u8>], head: Option<HeadPosition>) -> (Links, Findings) {
    let (mut links, mut findings) = (Links::new(head), Findings::default());
    for (position, bytes) in (0..).zip(records) {
        links.bare(Position::new(position), bytes, &mut findings);
    }
    (links, findings)
}

#[derive(Debug, Clone)]
enum Tamper {
    Flip(prop::sample::Index, prop::sample::Index, u8),
    Drop(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Twice(prop::sample::Index),
}

impl Tamper {
    fn of(&self, records: &mut Vec<Vec<u8>>) {
        let length = records.len();
        match self {
            Self::Flip(at, byte, bit) => {
                let record = &mut records[at.index(length)];
                let byte = byte.index(record.len());
                record[byte] ^= 1 << bit;
            }
            Self::Drop(at) => drop(records.remove(at.index(length))),
            Self::Swap(one, other) => records.swap(one.index(length), other.index(length)),
            Self::Twice(at) => {
                let at = at.index(length);
                records.insert(at, records[at].clone());
            }
        }
    }
}

fn tampers() -> impl Strategy<Value = Tamper> {
    prop_oneof![
        (
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
            0..8_u8
        )
            .prop_map(|(at, byte, bit)| Tamper::Flip(at, byte, bit)),
        any::<prop::sample::Index>().prop_map(Tamper::Drop),
        any::<(prop::sample::Index, prop::sample::Index)>()
            .prop_map(|(one, other)| Tamper::Swap(one, other)),
        any::<prop::sample::Index>().prop_map(Tamper::Twice),
    ]
}

proptest! {
    #[test]
    fn every_split_comes_to_the_same(
        order in prop::collection::vec(0..6_u8, 0..90),
        level in 0..5_u32,
        cuts in prop::collection::btree_set(0..90_u64, 0..12),
        at_head in any::<prop::sample::Index>(),
        tampers in prop::collection::vec(tampers(), 0..3),
    ) {
        let mut records = log(&order);
        for tamper in &tampers {
            if !records.is_empty() {
                tamper.of(&mut records);
            }
        }
        let size = at_head.index(records.len() + 1) as u64;
        let head = Some(HeadPosition { size, root: Frontier::new().root() });
        let whole = split(&records, 1 << 20, &BTreeSet::new(), head);
        prop_assert_eq!(&split(&records, 1 << level, &cuts, head), &whole);

        let (links, findings) = walked(&records, head);
        match whole {
            None => prop_assert!(!findings.is_empty()),
            Some(chains) => {
                prop_assert!(findings.is_empty());
                prop_assert_eq!(Some(chains.root()), links.root());
                prop_assert_eq!(chains.size(), links.size());
                prop_assert_eq!(chains.root_at_head, links.root_at_head());
                let ends = |piece: &Piece| {
                    (piece.stream, piece.last, piece.digest)
                };
                let found: BTreeSet<_> = chains.streams.iter().map(ends).collect();
                let known: BTreeSet<_> = links
                    .streams()
                    .map(|(stream, last)| (stream, last.version, last.digest))
                    .collect();
                prop_assert_eq!(found, known);
                for piece in &chains.streams {
                    prop_assert_eq!(eras(piece), counted(&records, piece.stream));
                }
            }
        }
    }
}

fn eras(piece: &Piece) -> Vec<u64> {
    let versions = (0..=piece.last.get()).map(Version::new);
    versions.map(|version| piece.era_at(version)).collect()
}

/// How many records of the authority stream stand before each one of another stream.
fn counted(records: &[Vec<u8>], stream: StreamId) -> Vec<u64> {
    let (mut era, mut eras) = (0, Vec::new());
    for bytes in records {
        let here = Heading::read(bytes).unwrap().stream;
        if here == stream {
            eras.push(if stream == ledger().authority() {
                0
            } else {
                era
            });
        }
        era += u64::from(here == ledger().authority());
    }
    eras
}

fn on(threads: usize) -> NonZeroUsize {
    NonZeroUsize::new(threads).unwrap()
}

#[test]
fn any_number_of_threads_reports_what_the_walk_reports() {
    let mut fake = with_journal(2_100);
    for depth in [
        Depth::Records,
        Depth::Whole(None),
        Depth::Whole(Some(&Table)),
    ] {
        let walked = block_on(name_wrong(&fake, Some(head()), depth));
        assert!(walked.ok && walked.size == 2_125, "{walked:?}");
        for threads in [1, 2, 5] {
            let right = block_on(found_right(&fake, Some(head()), depth, on(threads)));
            assert_eq!(right.as_ref(), Some(&walked), "{threads}");
        }
    }
    let long: Vec<_> = fake.records.clone();
    for at in [0, 26, 1_023, 1_024, 2_124] {
        fake.records = long.clone();
        fake.edit(at, "\"id\":\"0", "\"id\":\"1");
        for depth in [Depth::Records, Depth::Whole(Some(&Table))] {
            let right = block_on(found_right(&fake, None, depth, on(3)));
            assert_eq!(right, None, "{at}");
            let named = block_on(verify_on(&fake, None, depth, on(3)));
            let at = (at < 2_124).then_some(Position::new(at as u64));
            assert_eq!(named.findings[0].place.position, at, "{named:?}");
        }
    }
}

#[test]
fn the_records_alone_are_told_apart_where_all_of_it_is() {
    let example = Fake::example();
    let verified = |fake: &Fake| block_on(verify_on(fake, Some(head()), Depth::Records, on(1)));
    let report = verified(&example);
    assert!(report.ok, "{report:?}");
    assert_eq!(
        report.unchecked,
        ["events", "contents", "decisions", "streams"]
    );
    assert_eq!((report.content.readable, report.decisions.unjudged), (0, 0));
    for at in 0..example.records.len() {
        for byte in (0..example.records[at].1.len()).step_by(41) {
            let mut fake = example.clone();
            let mut bytes = fake.records[at].1.to_vec();
            bytes[byte] ^= 1;
            fake.records[at].1 = bytes.into();
            let report = verified(&fake);
            let place = report.findings[0].place.position.map(Position::get);
            let last = at == 1 || at == 24;
            let named = place.map_or(last, |place| {
                place == at as u64 || (last && place + 1 == at as u64)
            });
            assert!(!report.ok && named, "{at} {byte} {report:?}");
        }
    }
    let mut without = Fake::example();
    without.contents.clear();
    assert!(verified(&without).ok, "contents are not looked at");
    without.unreadable.insert(7);
    let found = verified(&without).findings;
    assert_eq!(found[0].kind, FindingKind::RecordUnreadable);
}

/// The example with new rules adopted before the record at this position.
fn with_rules_before(position: usize) -> Fake {
    let mut all = envelopes();
    let adopted = &all[1];
    let header = RecordHeader {
        prev: adopted.digest(),
        version: Version::new(2),
        ..adopted.header().clone()
    };
    let change = Change::Tightens;
    let event = Event::RulesAdopted(RulesAdopted { change });
    let again = Envelope::write(header, event, adopted.blobs().clone()).unwrap();
    all.insert(position, again);
    Fake::of(&all)
}

#[test]
fn what_is_in_force_is_known_at_every_record_of_a_stream() {
    let mut moved = 0;
    for position in 2..=25 {
        let fake = with_rules_before(position);
        let depth = Depth::Whole(Some(&Table));
        let walked = block_on(name_wrong(&fake, None, depth));
        let right = block_on(found_right(&fake, None, depth, on(2)));
        assert_eq!(right.is_some(), walked.ok, "{position} {walked:?}");
        assert!(right.is_none_or(|right| right == walked), "{position}");
        let kinds: BTreeSet<_> = walked.findings.iter().map(|found| found.kind).collect();
        moved += usize::from(kinds.contains(&FindingKind::AuthorityMoved));
    }
    assert!((1..24).contains(&moved), "{moved}");
}
