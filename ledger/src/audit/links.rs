//! Positions, tree and links: whether records follow each other, whatever they say.

use std::collections::BTreeMap;

use super::report::{FindingKind, Findings, HeadPosition, Place};
use crate::digest::{Digest, Purpose, digest};
use crate::envelope::{Heading, LinkError, ledger_genesis, stream_genesis};
use crate::id::{LedgerId, Position, StreamId, Version};
use crate::merkle::{Frontier, Root};
use crate::store::chain;

/// The newest record of a stream, as it was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Last {
    place: Place,
    pub(super) version: Version,
    pub(super) digest: Digest,
    /// The finding that blames the record before this one for the link between the two.
    suspect: Option<usize>,
}

/// How a record stands to the one before it in its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// It follows it.
    Holds,
    /// It does not.
    Broken,
    /// It belongs to another ledger, and to no stream of this one.
    Foreign,
}

/// All records so far.
pub(super) struct Links {
    head: Option<HeadPosition>,
    /// The root at the size of the head.
    root_at_head: Option<Root>,
    frontier: Frontier,
    /// How many were read.
    size: u64,
    /// Whether every leaf up to here was read.
    rooted: bool,
    next: Position,
    pub(super) ledger: Option<LedgerId>,
    /// Digest of the record that created the ledger, while that can be relied on.
    pub(super) created: Option<Digest>,
    streams: BTreeMap<StreamId, Last>,
}

impl Links {
    pub(super) fn new(head: Option<HeadPosition>) -> Self {
        let frontier = Frontier::new();
        Self {
            head,
            root_at_head: head.filter(|head| head.size == 0).map(|_| frontier.root()),
            frontier,
            size: 0,
            rooted: true,
            next: Position::ZERO,
            ledger: None,
            created: None,
            streams: BTreeMap::new(),
        }
    }

    /// The position that must come next.
    pub(super) fn next(&self) -> Position {
        self.next
    }

    /// How many records were read.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The root over all records, if all were read.
    pub(super) fn root(&self) -> Option<Root> {
        self.rooted.then(|| self.frontier.root())
    }

    /// The root at the size of the head, if all up to there were read.
    pub(super) fn root_at_head(&self) -> Option<Root> {
        self.root_at_head
    }

    /// The newest record of each stream.
    pub(super) fn streams(&self) -> impl Iterator<Item = (StreamId, Last)> {
        self.streams.iter().map(|(stream, last)| (*stream, *last))
    }

    /// The newest record of a stream.
    pub(super) fn last(&self, stream: StreamId) -> Option<Last> {
        self.streams.get(&stream).copied()
    }

    /// Lets go of a stream.
    pub(super) fn forget(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }

    /// Says that the record at the next position cannot be read, and goes on behind it.
    pub(super) fn skip_unreadable(&mut self, why: &str, findings: &mut Findings) {
        findings.add_unreadable(self.next, why);
        self.rooted = false;
        self.next = after(self.next);
    }

    /// A record of a whole log comes.
    pub(super) fn leaf(&mut self, position: Position, leaf: &Digest, findings: &mut Findings) {
        if position != self.next {
            let detail = format!("expected position {}, found {position}", self.next);
            findings.add(Place::at(self.next), FindingKind::PositionGap, detail);
            self.rooted = false;
        }
        // Always further, whatever positions the store gives.
        self.next = after(position.max(self.next));
        self.size = self.size.saturating_add(1);
        self.frontier.push(leaf);
        if self.rooted && self.head.map(|head| head.size) == Some(self.frontier.size()) {
            self.root_at_head = Some(self.frontier.root());
        }
    }

    /// A record of a part of a log comes: positions have gaps, and there is no root.
    pub(super) fn part(&mut self, position: Position) {
        self.rooted = false;
        self.next = after(position);
        self.size = self.size.saturating_add(1);
    }

    /// Checks whose record it is and its link to the one before it, which it takes the place of.
    pub(super) fn follow(
        &mut self,
        position: Position,
        (heading, digest): (&Heading, Digest),
        findings: &mut Findings,
    ) -> Link {
        let place = Place {
            position: Some(position),
            run: Some(heading.stream),
            version: Some(heading.version),
        };
        let ledger = *self.ledger.get_or_insert(heading.ledger);
        if heading.ledger != ledger {
            let detail = format!("it belongs to ledger {}", heading.ledger);
            findings.add(place, FindingKind::RecordForeign, detail);
            return Link::Foreign;
        }
        let (holds, suspect) = self.link(ledger, place, heading, findings);
        let last = Last {
            place,
            version: heading.version,
            digest,
            suspect,
        };
        self.streams.insert(heading.stream, last);
        if holds { Link::Holds } else { Link::Broken }
    }

    /// Whether the link to the record before holds, and what blames that one where it does not.
    fn link(
        &mut self,
        ledger: LedgerId,
        place: Place,
        heading: &Heading,
        findings: &mut Findings,
    ) -> (bool, Option<usize>) {
        let stream = heading.stream;
        let Some(before) = self.streams.get(&stream) else {
            let genesis = self.genesis(ledger, stream);
            // Where the ledger's first record is damaged, nothing is known of the others' genesis.
            let prev = genesis.unwrap_or(heading.prev);
            let linked = heading.verify_link(ledger, stream, Version::ZERO, prev);
            if let Err(error) = &linked {
                findings.add(place, FindingKind::LinkBroken, error.to_string());
            }
            return (linked.is_ok(), None);
        };
        let expected = before.version.next().unwrap_or(before.version);
        let error = match heading.verify_link(ledger, stream, expected, before.digest) {
            Ok(()) => return (true, None),
            Err(error) => error,
        };
        if let Some(index) = before.suspect {
            // The record before follows nothing and nothing follows it: it is the one.
            let detail = format!("neither neighbour in its stream links to it: {error}");
            findings.amend(index, before.place, detail);
        }
        match (&error, before.suspect) {
            (LinkError::Previous { .. }, Some(_)) => (false, None),
            (LinkError::Previous { found, .. }, None) => {
                // A link tells that one of its two sides was changed. It is the side before unless
                // the next record does not link to this one either, which amends the finding.
                let (digest, here) = (before.digest, heading.version);
                let detail = format!(
                    "it has digest {digest}, but version {here} of its stream follows {found}: \
                     one of the two was changed"
                );
                let blamed = before.place;
                let suspect = findings.add(blamed, FindingKind::LinkBroken, detail);
                if blamed.run == Some(ledger.authority()) && blamed.version == Some(Version::ZERO) {
                    self.created = None;
                }
                (false, suspect)
            }
            (LinkError::Ledger(_) | LinkError::Stream(_) | LinkError::Version { .. }, _) => {
                findings.add(place, FindingKind::LinkBroken, error.to_string());
                (false, None)
            }
        }
    }

    fn genesis(&self, ledger: LedgerId, stream: StreamId) -> Option<Digest> {
        if stream == ledger.authority() {
            Some(ledger_genesis(ledger))
        } else {
            Some(stream_genesis(ledger, &self.created?, stream))
        }
    }

    /// A record of a whole log of which nothing but its bytes and its heading is looked at.
    pub(super) fn bare(&mut self, position: Position, bytes: &[u8], findings: &mut Findings) {
        let digest = digest(Purpose::Event, bytes);
        self.leaf(position, &digest, findings);
        let heading = match Heading::read(bytes) {
            Ok(heading) => heading,
            Err(error) => {
                let (place, detail) = (Place::at(position), chain(&error));
                findings.add(place, FindingKind::RecordMalformed, detail);
                return;
            }
        };
        let creates = heading.stream == heading.ledger.authority();
        if self.size == 1 && !creates {
            // Nothing is known yet that its stream could be held against.
            let (place, stream) = (Place::at(position), heading.stream);
            let detail = format!("the ledger begins with a record of stream {stream}");
            findings.add(place, FindingKind::LinkBroken, detail);
        }
        let link = self.follow(position, (&heading, digest), findings);
        if link == Link::Holds && creates && heading.version == Version::ZERO {
            self.created = Some(digest);
        }
    }
}

fn after(position: Position) -> Position {
    Position::new(position.get().saturating_add(1))
}
