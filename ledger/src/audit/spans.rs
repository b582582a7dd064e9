//! Records of a range of positions, checked by themselves, and what the ranges come to together.
//!
//! A span tells right from wrong and nothing more: of a log that is right, every split into spans
//! comes to the same. Where anything is wrong, the walk over the whole log says what.

use std::collections::BTreeMap;

use super::report::HeadPosition;
use crate::digest::{Digest, Purpose, digest};
use crate::envelope::{Heading, ledger_genesis, stream_genesis};
use crate::id::{LedgerId, Position, StreamId, Version};
use crate::merkle::{Frontier, Root};

/// The records of one stream in a span, or in all spans so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) stream: StreamId,
    first: Version,
    /// What the first record follows.
    prev: Digest,
    pub(super) last: Version,
    /// Digest of the last record.
    pub(super) digest: Digest,
    /// How many records of the authority stream stand before the first record; 0 for that stream
    /// itself.
    pub(super) era: u64,
    /// The versions that more of them stand before than before the version ahead, and how many.
    pub(super) moves: Vec<(Version, u64)>,
}

impl Piece {
    /// How many records of the authority stream stand before a version.
    pub(super) fn era_at(&self, version: Version) -> u64 {
        let at = self.moves.partition_point(|(from, _)| *from <= version);
        let moved = at.checked_sub(1).and_then(|at| self.moves.get(at));
        moved.map_or(self.era, |(_, era)| *era)
    }

    fn newest_era(&self) -> u64 {
        self.moves.last().map_or(self.era, |(_, era)| *era)
    }

    /// Adds what the next record or the next piece of the stream begins with, if it follows.
    fn goes_on(&mut self, heading: &Heading, era: u64) -> bool {
        let next = self.last.next();
        let follows = next.is_some_and(|next| {
            let link = heading.verify_link(heading.ledger, self.stream, next, self.digest);
            link.is_ok()
        });
        if era != self.newest_era() {
            self.moves.push((heading.version, era));
        }
        follows
    }
}

/// Records from a position on.
#[derive(Debug)]
pub(super) struct Span {
    next: u64,
    /// A power of two. Spans begin at multiples of it, so that their trees join.
    tile: u64,
    head: Option<HeadPosition>,
    ledger: Option<LedgerId>,
    /// Digest of the first record.
    opening: Option<Digest>,
    /// Trees over `tile` records each, but for the last one.
    tiles: Vec<Frontier>,
    /// In which of them the head lies, and that tree as it was at the head.
    at_head: Option<(usize, Frontier)>,
    pieces: Vec<Piece>,
    /// Where the piece of a stream is.
    places: BTreeMap<StreamId, usize>,
    /// Where that of the record before is.
    place: usize,
    /// How many records of the authority stream there are.
    era: u64,
    right: bool,
}

impl Span {
    /// Without a record so far; `first` is a multiple of `tile`, a power of two.
    pub(super) fn new(first: Position, tile: u64, head: Option<HeadPosition>) -> Self {
        Self {
            next: first.get(),
            tile,
            head,
            ledger: None,
            opening: None,
            tiles: Vec::new(),
            at_head: None,
            pieces: Vec::new(),
            places: BTreeMap::new(),
            place: 0,
            era: 0,
            right: tile.is_power_of_two() && first.get().is_multiple_of(tile),
        }
    }

    /// The position that must come next; none once something was wrong.
    pub(super) fn next(&self) -> Option<Position> {
        self.right.then(|| Position::new(self.next))
    }

    /// Something could not be read.
    pub(super) fn spoil(&mut self) {
        self.right = false;
    }

    /// Takes in the record at a position.
    pub(super) fn take(&mut self, position: Position, bytes: &[u8]) {
        self.right = self.right && position.get() == self.next && self.record(bytes).is_some();
    }

    fn record(&mut self, bytes: &[u8]) -> Option<()> {
        let digest = digest(Purpose::Event, bytes);
        self.leaf(&digest)?;
        let heading = Heading::read(bytes).ok()?;
        let ledger = *self.ledger.get_or_insert(heading.ledger);
        self.opening.get_or_insert(digest);
        if heading.ledger != ledger {
            return None;
        }
        let mut era = self.era;
        if heading.stream == ledger.authority() {
            self.era = era.checked_add(1)?;
            era = 0;
        }
        let here = self.pieces.get(self.place);
        if here.is_none_or(|here| here.stream != heading.stream) {
            let end = self.pieces.len();
            self.place = *self.places.entry(heading.stream).or_insert(end);
            if self.place == end {
                self.pieces.push(Piece {
                    stream: heading.stream,
                    first: heading.version,
                    prev: heading.prev,
                    last: heading.version,
                    digest,
                    era,
                    moves: Vec::new(),
                });
                return Some(());
            }
        }
        let piece = self.pieces.get_mut(self.place)?;
        if !piece.goes_on(&heading, era) {
            return None;
        }
        (piece.last, piece.digest) = (heading.version, digest);
        Some(())
    }

    fn leaf(&mut self, leaf: &Digest) -> Option<()> {
        if self.next.is_multiple_of(self.tile) {
            self.tiles.push(Frontier::new());
        }
        let at = self.tiles.len().checked_sub(1)?;
        let tile = self.tiles.get_mut(at)?;
        tile.push(leaf);
        self.next = self.next.checked_add(1)?;
        if self.head.map(|head| head.size) == Some(self.next) {
            self.at_head = Some((at, tile.clone()));
        }
        Some(())
    }
}

/// What all spans come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chains {
    pub(super) ledger: Option<LedgerId>,
    /// Digest of the record that created the ledger.
    created: Option<Digest>,
    tree: Frontier,
    pub(super) root_at_head: Option<Root>,
    /// Every stream, in order of first positions.
    pub(super) streams: Vec<Piece>,
    places: BTreeMap<StreamId, usize>,
    /// How many records of the authority stream there are.
    era: u64,
}

impl Chains {
    /// Without a span so far.
    pub(super) fn new(head: Option<HeadPosition>) -> Self {
        let tree = Frontier::new();
        Self {
            ledger: None,
            created: None,
            root_at_head: head.filter(|head| head.size == 0).map(|_| tree.root()),
            tree,
            streams: Vec::new(),
            places: BTreeMap::new(),
            era: 0,
        }
    }

    /// How many records there are.
    pub(super) fn size(&self) -> u64 {
        self.tree.size()
    }

    /// The root over all records.
    pub(super) fn root(&self) -> Root {
        self.tree.root()
    }

    /// Adds the span that follows; `None` where anything in it is wrong or does not follow.
    pub(super) fn join(&mut self, span: Span) -> Option<()> {
        let Some(ledger) = span.ledger else {
            // It has no record.
            return span.right.then_some(());
        };
        if !span.right || *self.ledger.get_or_insert(ledger) != ledger {
            return None;
        }
        let at_head = span.at_head.as_ref();
        for (at, tile) in span.tiles.iter().enumerate() {
            if let Some((_, part)) = at_head.filter(|(tile, _)| *tile == at) {
                let mut tree = self.tree.clone();
                tree.join(part).ok()?;
                self.root_at_head = Some(tree.root());
            }
            self.tree.join(tile).ok()?;
        }
        if self.tree.size() != span.next {
            return None;
        }
        if self.streams.is_empty() {
            self.created = span.opening;
        }
        let before = self.era;
        for mut piece in span.pieces {
            if piece.stream != ledger.authority() {
                piece.era = piece.era.checked_add(before)?;
                for (_, era) in &mut piece.moves {
                    *era = era.checked_add(before)?;
                }
            }
            self.piece(ledger, piece)?;
        }
        self.era = before.checked_add(span.era)?;
        Some(())
    }

    fn piece(&mut self, ledger: LedgerId, piece: Piece) -> Option<()> {
        let heading = Heading {
            ledger,
            stream: piece.stream,
            version: piece.first,
            prev: piece.prev,
        };
        if let Some(before) = self.places.get(&piece.stream) {
            let before = self.streams.get_mut(*before)?;
            if !before.goes_on(&heading, piece.era) {
                return None;
            }
            before.moves.extend(piece.moves);
            (before.last, before.digest) = (piece.last, piece.digest);
            return Some(());
        }
        let genesis = match self.streams.first() {
            // The first record of a ledger is the one that created it.
            None if piece.stream == ledger.authority() => ledger_genesis(ledger),
            None => return None,
            Some(_) => stream_genesis(ledger, &self.created?, piece.stream),
        };
        let first = heading.verify_link(ledger, piece.stream, Version::ZERO, genesis);
        first.ok()?;
        self.places.insert(piece.stream, self.streams.len());
        self.streams.push(piece);
        Some(())
    }
}
