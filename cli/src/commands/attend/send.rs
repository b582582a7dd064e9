//! What a person decided, sent: one set for the approvals of a run, then what they said beside it.

use std::collections::BTreeMap;

use placet_engine::engine::EngineError;
use placet_engine::policy::CommandEntry;
use placet_ledger::answers::AnswerSet;
use placet_ledger::approval::{Answer, CallAnswer, Channel};
use placet_ledger::digest::Digest;
use placet_ledger::error::LedgerError;
use placet_ledger::event::Settlement;
use placet_ledger::id::{AnswerId, CallId, GrantId, RunId};
use placet_ledger::run::{Caller, Rejection};

use super::offer;
use crate::commands::grants::{self, Granted};
use crate::error::CommandError;
use crate::open::Open;
use crate::ui::dialog::frame::Shown;
use crate::ui::dialog::{Always, Verdict, Walk};
use crate::ui::text::{self, Letters};
use crate::wiring::Wiring;

/// What a person decided about one run.
#[derive(Debug, Default)]
pub(super) struct Answers {
    approvals: Vec<CallAnswer>,
    /// What is to run unasked in every run.
    entries: Vec<CommandEntry>,
    replies: Vec<((CallId, Digest), String)>,
    settled: Vec<((CallId, Digest), Settlement, String)>,
}

/// What became of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// They are recorded.
    Recorded,
    /// Something came in between, and not all of them are.
    Refused,
}

/// What was decided, by run; each answer names the request that was displayed.
pub(super) fn answers(
    walk: &Walk,
    shown: &[Shown],
) -> Result<BTreeMap<RunId, Answers>, CommandError> {
    let mut runs: BTreeMap<RunId, Answers> = BTreeMap::new();
    for (index, Shown { card, .. }) in shown.iter().enumerate() {
        let Some(verdict) = walk.verdict(index).filter(|one| **one != Verdict::Leave) else {
            continue;
        };
        let call = card.call;
        // What an answer cannot name was not displayed.
        let request = card.request.ok_or_else(|| {
            LedgerError::from(Rejection::OutOfTurn("the card shows no request to answer"))
        })?;
        let of_run = runs.entry(card.run).or_default();
        let approval = |answer, note| CallAnswer {
            call,
            request,
            answer,
            note,
        };
        match verdict.clone() {
            Verdict::Approve => of_run.approvals.push(approval(Answer::Approve, None)),
            Verdict::Always => match offer::always(card) {
                Always::Tool => of_run.approvals.push(approval(Answer::ApproveAlways, None)),
                Always::Command => {
                    of_run.approvals.push(approval(Answer::Approve, None));
                    let entry = offer::entry(card).ok();
                    let new = entry.filter(|entry| !of_run.entries.contains(entry));
                    of_run.entries.extend(new);
                }
                Always::Nothing(_) => of_run.approvals.push(approval(Answer::Approve, None)),
            },
            Verdict::Deny(note) => of_run.approvals.push(approval(Answer::Deny, note)),
            Verdict::Reply(text) => of_run.replies.push(((call, request), text)),
            Verdict::Settle { done, note } => {
                let verdict = if done {
                    Settlement::Done
                } else {
                    Settlement::NotDone
                };
                of_run.settled.push(((call, request), verdict, note));
            }
            Verdict::Leave => {}
        }
    }
    Ok(runs)
}

/// Records what was decided about a run. What came in between is told.
pub(super) fn send(
    wiring: &mut Wiring<'_>,
    open: &Open,
    run: RunId,
    mut answers: Answers,
) -> Result<Sent, CommandError> {
    let caller = wiring.caller_by(Channel::Terminal)?;
    let entries = std::mem::take(&mut answers.entries);
    let granted = grant(wiring, open, &caller, entries)?;
    match wiring.block_on(record(open, run, &caller, answers)) {
        Ok(()) => Ok(Sent::Recorded),
        Err(EngineError::Ledger(error @ (LedgerError::Conflict | LedgerError::Rejected(_)))) => {
            let error = CommandError::from(error).message();
            let what = format!("your answers were not recorded: {error}");
            wiring.printer.warn(&what);
            for grant in granted {
                let revoke = format!("{} grants revoke {grant}", wiring.program());
                wiring
                    .printer
                    .warn(&format!("  {grant} stays: {revoke} takes it back"));
            }
            Ok(Sent::Refused)
        }
        Err(error) => Err(error.into()),
    }
}

/// Grants what is to run unasked in every run, before the answers, so that nothing is answered
/// "always" that is asked again.
fn grant(
    wiring: &mut Wiring<'_>,
    open: &Open,
    caller: &Caller,
    entries: Vec<CommandEntry>,
) -> Result<Vec<GrantId>, CommandError> {
    let mut granted = Vec::new();
    for entry in entries {
        let id = match wiring.block_on(grants::grant(open, caller, &entry, None))? {
            Granted::New(added, _) => added.grant,
            // It came in between, and it is not this answer's to take back.
            Granted::Before(_) => continue,
        };
        let program = wiring.program();
        let key = text::quoted(&entry.key, Letters::Marked);
        let what = format!("{id}: {key} runs unasked in every run from now on");
        wiring.printer.note(&what);
        let back = format!("  hint: {program} grants revoke {id} takes that back");
        wiring.printer.note(&back);
        granted.push(id);
    }
    Ok(granted)
}

async fn record(
    open: &Open,
    run: RunId,
    caller: &Caller,
    answers: Answers,
) -> Result<(), EngineError> {
    open.ledger.expire(run).await?;
    let Answers {
        approvals,
        entries: _,
        replies,
        settled,
    } = answers;
    if !approvals.is_empty() {
        let id = AnswerId::new(uuid::Uuid::new_v4());
        let displayed = approvals
            .iter()
            .map(|line| (line.call, line.request))
            .collect();
        let set = AnswerSet::covering(id, &displayed, approvals);
        let set = set.map_err(|error| LedgerError::from(Rejection::from(error)))?;
        open.engine.answer(run, caller, set).await?;
    }
    for (question, text) in replies {
        open.engine.reply(run, caller, question, text).await?;
    }
    for (doubt, verdict, note) in settled {
        let said = (verdict, Some(note));
        let settle = open.engine.settle(run, caller, doubt, said);
        settle.await?;
    }
    Ok(())
}
