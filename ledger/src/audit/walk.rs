//! The walk over all records: parse, links and tree (`links`), folds, decisions.
//!
//! A stream that broke is no longer folded, since its state would be invented; its links and all
//! other streams are still followed, so that one damage hides no other.

use std::collections::BTreeMap;

use super::contents::ContentCheck;
use super::links::{Link, Links};
use super::rejudge::{
    Again, expiry_differs, judge_again, judged_on, recorded_verdict, shown_weaker,
};
use super::report::{DecisionCounts, FindingKind, Findings, HeadPosition, Place};
use crate::authority::{AuthorityState, Standing, evolve_authority};
use crate::digest::{Digest, Purpose, digest};
use crate::envelope::{Envelope, Heading, RecordError};
use crate::event::Event;
use crate::gate_input::Bench;
use crate::id::{Position, StreamId};
use crate::judge::Judge;
use crate::run::{RunState, evolve};
use crate::store::{Stored, chain};

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

/// What a stream comes to.
#[derive(Default)]
struct Folded {
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
    pub(super) links: Links,
    judge: Option<&'a dyn Judge>,
    journal: Option<StreamId>,
    authority: Option<AuthorityState>,
    streams: BTreeMap<StreamId, Folded>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(head: Option<HeadPosition>, judge: Option<&'a dyn Judge>) -> Self {
        Self {
            findings: Findings::default(),
            contents: ContentCheck::default(),
            decisions: DecisionCounts::default(),
            links: Links::new(head),
            judge,
            journal: None,
            authority: None,
            streams: BTreeMap::new(),
        }
    }

    /// A walk over streams of the same ledger, each by itself, that knows what this one found out
    /// about the ledger. Which authority is in force it has to be told.
    pub(super) fn beside(&self) -> Self {
        let mut walk = Self::new(None, self.judge);
        walk.links.ledger = self.links.ledger;
        walk.links.created = self.links.created;
        walk.journal = self.journal;
        if let Some(ledger) = self.links.ledger {
            walk.contents.borrow(&self.contents, ledger.authority());
        }
        walk
    }

    /// Puts an authority in force for what comes next, and gives back the one that was.
    pub(super) fn put_in_force(&mut self, now: Option<AuthorityState>) -> Option<AuthorityState> {
        std::mem::replace(&mut self.authority, now)
    }

    /// Lets go of a stream.
    pub(super) fn forget(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
        self.contents.forget(stream);
        self.links.forget(stream);
    }

    /// Whether every run has ended; none where a run broke, so that nobody knows.
    pub(super) fn is_complete(&self) -> Option<bool> {
        let authority = self.links.ledger.map(|ledger| ledger.authority());
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

    /// A record of a whole log.
    pub(super) fn record(&mut self, read: &Read) {
        self.links
            .leaf(read.position, &read.digest, &mut self.findings);
        self.content_of(read);
    }

    /// Records of a whole log of which nothing but bytes and headings is looked at.
    pub(super) fn bare(&mut self, page: &[Stored]) {
        for stored in page {
            let findings = &mut self.findings;
            self.links.bare(stored.position, &stored.bytes, findings);
        }
    }

    /// A record of a part of a log: positions have gaps, and there is no root.
    pub(super) fn part(&mut self, read: &Read) {
        self.links.part(read.position);
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
        let heading = (&Heading::from(header), envelope.digest());
        let link = self.links.follow(position, heading, &mut self.findings);
        if link == Link::Foreign {
            return;
        }
        let mut folded = self.streams.remove(&header.stream).unwrap_or_default();
        folded.broken |= link == Link::Broken;
        let state = folded.state.take();
        if folded.broken {
            if header.stream == header.ledger.authority() {
                // No decision is compared with an authority that nobody knows.
                self.authority = None;
            }
            let decides = recorded_verdict(envelope.event(), None).is_some();
            self.decisions.unjudged = self.decisions.unjudged.saturating_add(decides.into());
        } else {
            let evolved = if folded.ended {
                Err(String::from("the run has ended"))
            } else {
                self.event(place, envelope, state)
            };
            match evolved {
                Ok(state) => {
                    folded.ended = state.as_ref().is_some_and(|s| s.outcome().is_some());
                    folded.state = state.filter(|_| !folded.ended);
                }
                Err(why) => {
                    folded.broken = true;
                    self.findings.add(place, FindingKind::EventIllegal, why);
                }
            }
        }
        self.streams.insert(header.stream, folded);
        if let Event::LedgerCreated(created) = envelope.event() {
            self.journal.get_or_insert(created.journal);
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
            self.links.created = Some(*authority.created());
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
