//! The walk over all records: parse, links, folds, decisions, tree.
//!
//! A stream that broke is no longer folded, since its state would be invented; its links and all
//! other streams are still followed, so that one damage hides no other.

use std::collections::BTreeMap;

use super::contents::ContentCheck;
use super::rejudge::{
    Again, expiry_differs, judge_again, judged_on, recorded_verdict, shown_weaker,
};
use super::report::{DecisionCounts, FindingKind, Findings, HeadPosition, Place};
use crate::authority::{AuthorityState, Standing, evolve_authority};
use crate::digest::{Digest, Purpose, digest};
use crate::envelope::{Envelope, LinkError, RecordError, ledger_genesis, stream_genesis};
use crate::event::Event;
use crate::gate_input::Bench;
use crate::id::{LedgerId, Position, StreamId, Version};
use crate::judge::Judge;
use crate::merkle::{Frontier, Root};
use crate::run::{Origin, RunState, evolve};
use crate::store::chain;

/// One record under verification.
pub(super) struct Read {
    pub(super) position: Position,
    pub(super) digest: Digest,
    pub(super) parsed: Result<Envelope, RecordError>,
}

impl Read {
    pub(super) fn new(position: Position, bytes: &std::sync::Arc<[u8]>) -> Self {
        let parsed = Envelope::parse(std::sync::Arc::clone(bytes));
        let digest = match &parsed {
            Ok(envelope) => envelope.digest(),
            Err(_) => digest(Purpose::Event, bytes),
        };
        Self {
            position,
            digest,
            parsed,
        }
    }
}

/// The newest record of a stream, as it was found.
struct Chain {
    place: Place,
    version: Version,
    digest: Digest,
    /// The finding that blames the record before this one for the link between the two.
    suspect: Option<usize>,
    /// The tree over the records of this stream alone.
    tree: Frontier,
    broken: bool,
    state: Option<RunState>,
    /// Whether the run has ended; its state is let go of then, since nothing can follow.
    ended: bool,
}

/// All that was found out so far.
pub(super) struct Walk<'a> {
    pub(super) findings: Findings,
    pub(super) contents: ContentCheck,
    pub(super) decisions: DecisionCounts,
    judge: Option<&'a dyn Judge>,
    head: Option<HeadPosition>,
    /// The root at the size of the head.
    root_at_head: Option<Root>,
    frontier: Frontier,
    /// Whether every leaf up to here was read.
    rooted: bool,
    next: Position,
    ledger: Option<LedgerId>,
    origin: Option<Origin>,
    journal: Option<StreamId>,
    authority: Option<AuthorityState>,
    streams: BTreeMap<StreamId, Chain>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(head: Option<HeadPosition>, judge: Option<&'a dyn Judge>) -> Self {
        let frontier = Frontier::new();
        Self {
            findings: Findings::default(),
            contents: ContentCheck::default(),
            decisions: DecisionCounts::default(),
            judge,
            head,
            root_at_head: head.filter(|head| head.size == 0).map(|_| frontier.root()),
            frontier,
            rooted: true,
            next: Position::ZERO,
            ledger: None,
            origin: None,
            journal: None,
            authority: None,
            streams: BTreeMap::new(),
        }
    }

    /// The position that must come next.
    pub(super) fn next(&self) -> Position {
        self.next
    }

    /// The ledger, as its first record says.
    pub(super) fn ledger(&self) -> Option<LedgerId> {
        self.ledger
    }

    /// How many records were read.
    pub(super) fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// The root over all records, if all were read.
    pub(super) fn root(&self) -> Option<Root> {
        self.rooted.then(|| self.frontier.root())
    }

    /// The root at the size of the head, if all up to there were read.
    pub(super) fn root_at_head(&self) -> Option<Root> {
        self.root_at_head
    }

    /// Every stream, with the tree over its records.
    pub(super) fn streams(&self) -> Vec<(StreamId, Frontier)> {
        let tree = |(stream, chain): (&StreamId, &Chain)| (*stream, chain.tree.clone());
        self.streams.iter().map(tree).collect()
    }

    /// Whether every run has ended; none where a run broke, so that nobody knows.
    pub(super) fn is_complete(&self) -> Option<bool> {
        let authority = self.ledger.map(|ledger| ledger.authority());
        let mut complete = true;
        for (stream, chain) in &self.streams {
            if Some(*stream) == authority || Some(*stream) == self.journal {
                continue;
            }
            if chain.broken {
                return None;
            }
            complete &= chain.ended;
        }
        Some(complete)
    }

    /// Says that the record at the next position cannot be read, and goes on behind it.
    pub(super) fn skip_unreadable(&mut self, why: &str) {
        self.findings.add_unreadable(self.next, why);
        self.skip_to(self.next);
    }

    /// Goes on behind `position`, with records left out.
    pub(super) fn skip_to(&mut self, position: Position) {
        self.rooted = false;
        self.next = after(position);
    }

    /// A record of a whole log.
    pub(super) fn record(&mut self, read: &Read) {
        if read.position != self.next {
            let detail = format!("expected position {}, found {}", self.next, read.position);
            self.findings
                .add(Place::at(self.next), FindingKind::PositionGap, detail);
            self.rooted = false;
        }
        // Always further, whatever positions the store gives.
        self.next = after(read.position.max(self.next));
        self.frontier.push(&read.digest);
        if self.rooted && self.head.map(|head| head.size) == Some(self.frontier.size()) {
            self.root_at_head = Some(self.frontier.root());
        }
        self.content_of(read);
    }

    /// A record of a part of a log: positions have gaps, and there is no root.
    pub(super) fn part(&mut self, read: &Read) {
        self.rooted = false;
        self.next = after(read.position);
        self.frontier.push(&read.digest);
        self.content_of(read);
    }

    fn content_of(&mut self, read: &Read) {
        match &read.parsed {
            Ok(envelope) => self.envelope(read.position, envelope),
            Err(error) => {
                let place = Place::at(read.position);
                self.findings
                    .add(place, FindingKind::RecordMalformed, chain(error));
            }
        }
    }

    fn envelope(&mut self, position: Position, envelope: &Envelope) {
        let header = envelope.header();
        let place = Place {
            position: Some(position),
            run: Some(header.stream),
            version: Some(header.version),
        };
        let ledger = *self.ledger.get_or_insert(header.ledger);
        if header.ledger != ledger {
            let detail = format!("it belongs to ledger {}", header.ledger);
            self.findings.add(place, FindingKind::RecordForeign, detail);
            return;
        }
        let linked = self.link(ledger, place, envelope);
        let mut chain = self
            .streams
            .remove(&header.stream)
            .unwrap_or_else(|| Chain::new(place, envelope));
        chain.broken |= !linked;
        let state = chain.state.take();
        if chain.broken {
            if header.stream == ledger.authority() {
                // No decision is compared with an authority that nobody knows.
                self.authority = None;
            }
            let decides = recorded_verdict(envelope.event(), None).is_some();
            self.decisions.unjudged = self.decisions.unjudged.saturating_add(decides.into());
        } else {
            let evolved = if chain.ended {
                Err(String::from("the run has ended"))
            } else {
                self.event(place, envelope, state)
            };
            match evolved {
                Ok(state) => {
                    chain.ended = state.as_ref().is_some_and(|s| s.outcome().is_some());
                    chain.state = state.filter(|_| !chain.ended);
                }
                Err(why) => {
                    chain.broken = true;
                    self.findings.add(place, FindingKind::EventIllegal, why);
                }
            }
        }
        chain.place = place;
        chain.version = header.version;
        chain.digest = envelope.digest();
        chain.tree.push(&chain.digest);
        self.streams.insert(header.stream, chain);
        if let Event::LedgerCreated(created) = envelope.event() {
            self.journal.get_or_insert(created.journal);
        }
    }

    /// Checks the link to the record before, and says whether it holds.
    fn link(&mut self, ledger: LedgerId, place: Place, envelope: &Envelope) -> bool {
        let stream = envelope.stream();
        let Some(before) = self.streams.get_mut(&stream) else {
            let genesis = self.genesis(ledger, stream);
            // Where the ledger's first record is damaged, nothing is known of the others' genesis.
            let prev = genesis.unwrap_or(envelope.header().prev);
            let linked = envelope.verify_link(ledger, stream, Version::ZERO, prev);
            if let Err(error) = &linked {
                let detail = error.to_string();
                self.findings.add(place, FindingKind::LinkBroken, detail);
            }
            return linked.is_ok();
        };
        let suspect = before.suspect.take();
        let expected = before.version.next().unwrap_or(before.version);
        let error = match envelope.verify_link(ledger, stream, expected, before.digest) {
            Ok(()) => return true,
            Err(error) => error,
        };
        if let Some(index) = suspect {
            // The record before follows nothing and nothing follows it: it is the one.
            let detail = format!("neither neighbour in its stream links to it: {error}");
            self.findings.amend(index, before.place, detail);
        }
        match (&error, suspect) {
            (LinkError::Previous { .. }, Some(_)) => {}
            (LinkError::Previous { found, .. }, None) => {
                // A link tells that one of its two sides was changed. It is the side before unless
                // the next record does not link to this one either, which amends the finding.
                let (digest, here) = (before.digest, envelope.version());
                let detail = format!(
                    "it has digest {digest}, but version {here} of its stream follows {found}: \
                     one of the two was changed"
                );
                let blamed = before.place;
                before.suspect = self.findings.add(blamed, FindingKind::LinkBroken, detail);
                if blamed.run == Some(ledger.authority()) && blamed.version == Some(Version::ZERO) {
                    self.origin = None;
                }
            }
            (LinkError::Ledger(_) | LinkError::Stream(_) | LinkError::Version { .. }, _) => {
                let detail = error.to_string();
                self.findings.add(place, FindingKind::LinkBroken, detail);
            }
        }
        false
    }

    fn genesis(&self, ledger: LedgerId, stream: StreamId) -> Option<Digest> {
        if stream == ledger.authority() {
            Some(ledger_genesis(ledger))
        } else {
            let origin = self.origin?;
            Some(stream_genesis(ledger, &origin.created, stream))
        }
    }

    /// Takes in what a record that is linked says, or says why it cannot stand there.
    fn event(
        &mut self,
        place: Place,
        envelope: &Envelope,
        state: Option<RunState>,
    ) -> Result<Option<RunState>, String> {
        let (stream, ledger) = (envelope.stream(), envelope.header().ledger);
        if stream == ledger.authority() {
            let evolved = evolve_authority(self.authority.take(), envelope);
            let authority = evolved.map_err(|error| chain(&error))?;
            let created = *authority.created();
            self.origin = Some(Origin { ledger, created });
            self.authority = Some(authority);
            return Ok(None);
        }
        if Some(stream) == self.journal {
            return match envelope.event() {
                Event::ClockStepped(_) | Event::AttemptRefused(_) => Ok(None),
                other => Err(format!("{} is no event of the journal", other.name())),
            };
        }
        self.judged_on(place, envelope);
        self.judge_again(place, envelope, state.as_ref());
        match evolve(state, envelope) {
            Ok(state) => Ok(Some(state)),
            Err(error) => Err(chain(&error)),
        }
    }

    /// An append that decides is refused if authority moved since: no event of authority can stand
    /// between the version that a decision names and the decision.
    fn judged_on(&mut self, place: Place, envelope: &Envelope) {
        let (Some(judged), Some(authority)) = (judged_on(envelope.event()), &self.authority) else {
            return;
        };
        let (named, current) = (judged.authority, authority.version());
        let detail = if named != current {
            format!("judged on authority version {named}, in force was {current}")
        } else if judged.rules.is_some() && judged.rules != authority.rules() {
            String::from("the rules it names were not in force")
        } else {
            return;
        };
        self.findings
            .add(place, FindingKind::AuthorityMoved, detail);
    }

    fn judge_again(&mut self, place: Place, envelope: &Envelope, before: Option<&RunState>) {
        let Some(verdict) = recorded_verdict(envelope.event(), before) else {
            return;
        };
        let contents = self.contents.of(envelope.stream());
        let again = match (self.judge, before, &self.authority) {
            (Some(judge), Some(before), Some(authority)) => {
                let weaker = shown_weaker(envelope.event());
                let bench = Bench {
                    standing: Standing {
                        state: authority,
                        contents: self.contents.of(authority.ledger().authority()),
                    },
                    at: envelope.at(),
                    weaker: weaker.as_ref(),
                };
                judge_again(judge, before, contents, bench, &verdict)
            }
            (_, _, _) => Again::Unknown,
        };
        let counts = &mut self.decisions;
        let detail = match again {
            Again::Unknown => {
                counts.unjudged = counts.unjudged.saturating_add(1);
                None
            }
            Again::Same => {
                counts.judged = counts.judged.saturating_add(1);
                None
            }
            Again::Differs(detail) => {
                counts.judged = counts.judged.saturating_add(1);
                Some(detail)
            }
        };
        let mut late = None;
        if before.is_some_and(|before| expiry_differs(before, envelope.event())) {
            late = Some(String::from("it expires at another time than its run says"));
        }
        for detail in detail.into_iter().chain(late) {
            self.findings
                .add(place, FindingKind::VerdictDiffers, detail);
        }
    }
}

impl Chain {
    fn new(place: Place, envelope: &Envelope) -> Self {
        Self {
            place,
            version: envelope.version(),
            digest: envelope.digest(),
            suspect: None,
            tree: Frontier::new(),
            broken: false,
            state: None,
            ended: false,
        }
    }
}

fn after(position: Position) -> Position {
    Position::new(position.get().saturating_add(1))
}
