//! Deciding and staging: a command against the folded state, stamped, written, folded, kept.

use std::sync::atomic::Ordering;

use super::Owner;
use super::cell::{Cell, Interned};
use super::sent::Sent;
use crate::content::{Text, Texts};
use crate::envelope::{Envelope, Header, stream_genesis};
use crate::error::LedgerError;
use crate::event::Event;
use crate::gate_input::{Bench, gate_input};
use crate::id::{CommandId, EventId, RunId, Version};
use crate::judge::Verdict;
use crate::run::{Command, Decided, Given, Rejection, RunState, decide, evolve};
use crate::time::Timestamp;

/// Staged bytes after which an append is made without waiting for a reason: half of what one
/// append may hold, so that what one more command decides always fits.
pub(super) const STAGED_BYTES_MAX: usize = crate::limits::APPEND_BYTES_MAX / 2;

/// Staged records after which an append is made, for the same reason.
pub(super) const STAGED_RECORDS_MAX: usize = crate::limits::APPEND_RECORDS_MAX / 2;

impl Owner {
    /// Decides a command and stages what comes of it.
    pub(super) fn stage(
        &self,
        run: RunId,
        cell: &mut Cell,
        sent: Sent<'_>,
        act: (Command, Texts),
    ) -> Result<Vec<Envelope>, LedgerError> {
        self.enter(run, sent.seat)?;
        let (command, mut texts) = act;
        let authority = self.standing();
        let authority = &authority.state;
        let no_rules = || LedgerError::Integrity(String::from("no rules were ever adopted"));
        let rules = authority.rules().ok_or_else(no_rules)?;
        let at = self.at(run, cell.state.as_ref());
        let verdict = self.verdict(at, cell, &command);
        let reason = verdict.as_ref().and_then(reason);
        let is_reasoned = reason.is_some();
        texts.extend(reason.map(|reason| (String::from("detail"), Text::plain(reason))));
        let mut interned = self.intern(run, cell, texts);
        let given = Given {
            at,
            caller: sent.caller.clone(),
            authority: authority.version(),
            rules,
            blobs: interned.blobs.clone(),
            verdict,
        };
        let decided = decide(cell.state.as_ref(), &given, command)?;
        let envelopes = match self.record(run, cell, (&given, sent.id), decided) {
            Ok(envelopes) => envelopes,
            Err(error) => {
                // The state may have gone on without its record: the store is read again.
                cell.forget();
                return Err(error);
            }
        };
        if is_reasoned {
            interned.keep_named(&envelopes);
        }
        if !envelopes.is_empty() {
            Interned::stage(interned, cell);
        }
        if !envelopes.is_empty() {
            cell.staged_by.insert(sent.seat.number);
        }
        cell.judged = cell.judged.or(Some(authority.version()));
        cell.staged.records.extend(envelopes.iter().cloned());
        Ok(envelopes)
    }

    /// The gate's verdict, for the commands that need one.
    pub(super) fn verdict(&self, at: Timestamp, cell: &Cell, command: &Command) -> Option<Verdict> {
        let (call, level) = match command {
            Command::Gate { call } => (*call, None),
            Command::Begin { call, level, .. } => (*call, Some(level)),
            _ => return None,
        };
        let state = cell.state.as_ref()?;
        let authority = self.standing();
        let shown = state.call(call)?.shown_level()?;
        let bench = Bench {
            standing: authority.standing(),
            at,
            weaker: level.filter(|level| !level.holds_for(shown)),
        };
        let input = gate_input(state, &cell.contents, bench, call)?;
        Some(self.parts.judge.judge(&input))
    }

    /// The time of the next record.
    pub(super) fn at(&self, run: RunId, state: Option<&RunState>) -> Timestamp {
        let version = state.map_or(Some(Version::ZERO), |state| state.head().version.next());
        let log = *super::lock(&self.newest);
        let newest = state.map_or(log, |state| state.head().at.max(log));
        self.parts
            .stamps
            .at(run.stream(), version.unwrap_or_default(), newest)
    }

    /// Stamps and writes what was decided, and folds it: what cannot follow is not recorded.
    fn record(
        &self,
        run: RunId,
        cell: &mut Cell,
        (given, mut of): (&Given, Option<CommandId>),
        decided: Vec<Decided>,
    ) -> Result<Vec<Envelope>, LedgerError> {
        let origin = self.origin();
        let mut envelopes = Vec::with_capacity(decided.len());
        for item in decided {
            let state = cell.state.as_ref();
            let (version, prev) = match state.map(RunState::head) {
                None => {
                    let prev = stream_genesis(origin.ledger, &origin.created, run.stream());
                    (Version::ZERO, prev)
                }
                Some(head) => {
                    let next = head.version.next().ok_or(Rejection::Exhausted("records"))?;
                    (next, head.digest)
                }
            };
            // What was judged at a moment is recorded as of that moment.
            let at = if envelopes.is_empty() {
                given.at
            } else {
                self.at(run, state)
            };
            let header = Header {
                actor: item.actor(&given.caller),
                at,
                cause: cause(state, &item.event),
                id: self.parts.stamps.id(run.stream(), version, at, of.take()),
                ledger: origin.ledger,
                prev,
                stream: run.stream(),
                version,
            };
            let envelope = Envelope::write(header, item.event, item.blobs)?;
            let evolved = evolve(cell.state.take(), &envelope);
            cell.state = Some(evolved.map_err(|error| LedgerError::Integrity(error.to_string()))?);
            self.events_folded.fetch_add(1, Ordering::Relaxed);
            self.saw(at);
            envelopes.push(envelope);
        }
        Ok(envelopes)
    }
}

/// Why the rule is there by which a verdict turns a call down.
fn reason(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Decline { rule, .. } => rule.as_ref()?.reason.clone(),
        Verdict::Approve { .. } | Verdict::Ask { .. } | Verdict::Question | Verdict::Unjudged => {
            None
        }
    }
}

/// The event that made this one follow: of a call, the newest about it; else the newest of all.
fn cause(state: Option<&RunState>, event: &Event) -> Option<EventId> {
    let state = state?;
    let of_call = event
        .call()
        .and_then(|call| state.call(call))
        .map(crate::run::Call::last);
    Some(of_call.unwrap_or(state.head().id))
}
