//! Recording what people say: each word an append of its own, all of it or nothing.

use super::Owner;
use super::cell::Cell;
use super::sent::Sent;
use crate::answers::AnswerSet;
use crate::approval::{Answer, By, CallAnswer};
use crate::content::{Contents, Text, Texts};
use crate::envelope::Envelope;
use crate::error::LedgerError;
use crate::id::{CallId, RunId};
use crate::run::{Call, Caller, Command, Rejection, RunState};
use crate::store::chain;

/// How often something is decided again after somebody else moved the run.
const TRIES_MAX: usize = 8;

impl Owner {
    /// Records a set of answers: an append of its own, all verdicts or none. The same set again is
    /// answered alike. A refusal is noted in the journal.
    pub(crate) async fn answer_set(
        &self,
        run: RunId,
        sent: Sent<'_>,
        set: &AnswerSet,
    ) -> Result<(), LedgerError> {
        for _ in 0..TRIES_MAX {
            match self.answer(run, sent, set).await {
                // The set keeps the requests that were displayed: what came since is not in it.
                Err(LedgerError::Conflict) => {}
                Err(error @ LedgerError::Rejected(_)) => {
                    self.note_refused(run, sent.caller).await;
                    return Err(error);
                }
                other => return other,
            }
        }
        Err(LedgerError::Conflict)
    }

    /// Records what a person says about a run, in an append of its own. What would have granted
    /// something and was refused is noted in the journal.
    pub(crate) async fn act_on(
        &self,
        run: RunId,
        sent: Sent<'_>,
        (command, texts): (Command, Texts),
    ) -> Result<Vec<Envelope>, LedgerError> {
        let grants = matches!(
            command,
            Command::Amend(_) | Command::Reply { .. } | Command::SettleDoubt { .. }
        );
        for _ in 0..TRIES_MAX {
            match self.act(run, sent, command.clone(), texts.clone()).await {
                // It names what was displayed: what came since is not meant by it.
                Err(LedgerError::Conflict) => {}
                Err(error @ LedgerError::Rejected(_)) => {
                    if grants {
                        self.note_refused(run, sent.caller).await;
                    }
                    return Err(error);
                }
                other => return other,
            }
        }
        Err(LedgerError::Conflict)
    }

    /// Records a set of answers, once. What a driver decided before is durable first.
    async fn answer(&self, run: RunId, sent: Sent<'_>, set: &AnswerSet) -> Result<(), LedgerError> {
        let mut cell = self.cell(run).await?;
        self.commit_cell(run, &mut cell).await?;
        let by = sent.caller.person().ok_or(Rejection::NotAPerson)?;
        let state = cell.state(run)?;
        if state.answered_in(set.id()).next().is_some() {
            if is_recorded(state, &cell.contents, (set, &by)) {
                return Ok(());
            }
            let calls = state.answered_in(set.id()).map(Call::id).collect();
            return Err(Rejection::AlreadyAnswered(calls).into());
        }
        if self.expire_cell(run, &mut cell).await? {
            let late = set.iter().next().map_or(CallId::FIRST, |line| line.call);
            return Err(Rejection::Expired(late).into());
        }
        let command = Command::Answer(set.clone());
        let staged = self.stage(run, &mut cell, sent, (command, notes(set)))?;
        self.commit_own(run, &mut cell, staged.len()).await
    }

    /// Records what a person says about a run: what a driver decided before is durable first, and
    /// what nobody answered in time is closed. An amendment is gated in the same append.
    async fn act(
        &self,
        run: RunId,
        sent: Sent<'_>,
        command: Command,
        texts: Texts,
    ) -> Result<Vec<Envelope>, LedgerError> {
        let mut cell = self.cell(run).await?;
        self.commit_cell(run, &mut cell).await?;
        self.expire_cell(run, &mut cell).await?;
        let gates = matches!(command, Command::Amend(_));
        let mut recorded = self.stage(run, &mut cell, sent, (command, texts))?;
        if let (true, Some(call)) = (gates, recorded.first().and_then(|r| r.event().call())) {
            let gate = (Command::Gate { call }, Texts::new());
            match self.stage(run, &mut cell, Sent::here(sent.caller), gate) {
                Ok(verdict) => recorded.extend(verdict),
                Err(error) => {
                    // A proposal without a verdict is not left behind.
                    cell.forget();
                    return Err(error);
                }
            }
        }
        self.commit_own(run, &mut cell, recorded.len()).await?;
        Ok(recorded)
    }

    /// Closes what nobody answered in time. Says whether anything was.
    pub(super) async fn expire_cell(
        &self,
        run: RunId,
        cell: &mut Cell,
    ) -> Result<bool, LedgerError> {
        let due = cell.state(run)?.expires_at();
        if due.is_none_or(|at| self.now() < at) {
            return Ok(false);
        }
        let act = (Command::Expire, Texts::new());
        self.stage(run, cell, Sent::here(&Caller::Driver), act)?;
        self.commit_cell(run, cell).await?;
        Ok(true)
    }

    /// Notes a refused answer; whoever was refused is told why, whatever becomes of the note.
    pub(crate) async fn note_refused(&self, run: RunId, caller: &Caller) {
        if let Err(error) = self.try_note_refused(run, caller).await {
            tracing::warn!(%run, error = chain(&error), "a refused answer could not be noted");
        }
    }
}

fn notes(set: &AnswerSet) -> Texts {
    let note = |line: &CallAnswer| {
        let note = line.note.as_ref().filter(|note| !note.is_empty())?;
        Some((format!("note.{}", line.call), Text::plain(note.clone())))
    };
    set.iter().filter_map(note).collect()
}

/// Whether this very set of this very person was recorded before: the same calls with the same
/// requests, verdicts and notes.
fn is_recorded(state: &RunState, contents: &Contents, (set, by): (&AnswerSet, &By)) -> bool {
    let recorded = |line: &CallAnswer, call: &Call| {
        let note = call.note().and_then(|note| contents.text(&note.commitment));
        let said = line.note.as_deref().filter(|note| !note.is_empty());
        let answered = call.answered();
        let allowed = call
            .tool()
            .is_some_and(|tool| state.allowlist().contains(tool));
        line.call == call.id()
            && call.requested().map(|asked| asked.digest) == Some(line.request)
            && answered
                .is_some_and(|is| is.by == *by && is.answer.approves() == line.answer.approves())
            && (line.answer != Answer::ApproveAlways || allowed)
            && note == said
    };
    let mut calls = state.answered_in(set.id());
    set.iter()
        .all(|line| calls.next().is_some_and(|call| recorded(line, call)))
        && calls.next().is_none()
}
