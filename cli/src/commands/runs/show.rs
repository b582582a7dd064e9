//! `placet runs show`: everything about one run.

use std::collections::BTreeSet;

use clap::Args;
use placet_ledger::content::{Blob, Contents};
use placet_ledger::envelope::Recorded;
use placet_ledger::error::LedgerError;
use placet_ledger::event::Event;
use placet_ledger::id::Name;
use placet_ledger::run::RunState;
use placet_ledger::view::{Card, RunEntry, row};

use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::in_force;
use crate::reading::{self, Reading, Trusted};
use crate::ui::card::Look;
use crate::ui::{run_page, timeline};
use crate::wire::approval::CardOut;
use crate::wire::run::state_word;
use crate::wire::runs::{EventRow, QuarantineOut, RunShow, ShownFacts};
use crate::wire::usage::ToldTokens;
use crate::wiring::Wiring;

/// Show a run: what waits, its timeline, what is left of its budget
///
/// What waits for an answer is shown with every argument and the diff.
///
/// Example: placet runs show b3e41f
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The run, by the first digits of its id
    run: String,
}

/// Shows a run.
pub(crate) fn run(args: &ShowArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let reading = Reading::open(wiring)?;
    let run = wiring.block_on(reading.find(&args.run))?;
    let (runs, broken) = wiring.block_on(reading.folded([run]))?;
    if let Some(error) = broken {
        let hint = format!("what comes before that is in placet audit log --run {run}");
        return Err(error.hint(hint));
    }
    let missing = || CommandError::from(LedgerError::NoRun(run));
    let entry = runs.get(run).ok_or_else(missing)?;
    reading.learn_reasons(wiring)?;
    let mut look = reading::look(wiring);
    let records = wiring.block_on(reading.stream(entry.run().stream()))?;
    let rows: Vec<_> = records.iter().map(row).collect();
    let contents = wiring.block_on(contents(&reading, entry, &records));
    let narrowing = entry
        .state()
        .and_then(|state| state.texts().get("narrowing"));
    let narrowing = narrowing.and_then(|blob| contents.bytes(&blob.commitment));
    look.reasons.extend(in_force::reasons(narrowing));
    let trusted = wiring.block_on(reading.trusted());
    let cards = entry
        .state()
        .map_or_else(Vec::new, |state| cards(state, &contents, trusted.as_ref()));
    let out = shown(&cards, &look);
    let about = (look.now, reading.driving(&wiring.home, entry.run()));
    let facts = entry.state().map(|state| {
        let mut facts = ShownFacts::of(state, &contents, out, about);
        facts.usage.told = Some(ToldTokens::of(&records));
        facts
    });
    let show = RunShow {
        run: entry.run(),
        state: entry.state().map(|state| state_word(state.status())),
        outcome: entry
            .state()
            .and_then(RunState::outcome)
            .map(placet_ledger::event::Outcome::as_str),
        facts,
        quarantine: entry.quarantine().map(QuarantineOut::from),
        events: rows
            .iter()
            .zip(&records)
            .map(|(row, record)| {
                let said = said(record).and_then(|blob| contents.text(&blob.commitment));
                let reason = ruled(record).and_then(|rule| look.reason(rule));
                let said = said.map(str::to_owned).or_else(|| reason.cloned());
                EventRow::of(row, timeline::actor(&row.actor), said)
            })
            .collect(),
    };
    if wiring.printer.json() {
        wiring.printer.value(&show)?;
    } else {
        let prefix = wiring.block_on(reading.prefixes([run]))?.get(run);
        let page = run_page::page(&show, &rows, &cards, &prefix, &look);
        wiring.printer.data(&page)?;
    }
    Ok(match entry.quarantine() {
        Some(_) => ExitStatus::Integrity,
        None => ExitStatus::Done,
    })
}

/// The cards as JSON has them.
fn shown(cards: &[Card], look: &Look) -> Vec<CardOut> {
    let out = |card: &Card| {
        let rule = card.rule.as_ref();
        let reason = rule.and_then(|rule| look.reason(rule)).cloned();
        CardOut::of(card.clone(), look.now, reason)
    };
    cards.iter().map(out).collect()
}

fn cards(state: &RunState, contents: &Contents, trusted: Option<&Trusted>) -> Vec<Card> {
    let cards = state
        .batch()
        .filter_map(|call| Card::of(state, call, contents));
    let told = |card| match trusted {
        Some(trusted) => trusted.told(card, state, contents),
        None => card,
    };
    cards.map(told).collect()
}

/// The rule that a record names, where that turns a call down or asks.
fn ruled(record: &Recorded) -> Option<&Name> {
    if let Event::CallRefused(refused) = record.envelope.event() {
        return refused.rule.as_ref();
    }
    if let Event::ApprovalRequested(asked) = record.envelope.event() {
        return Some(&asked.rule);
    }
    None
}

/// What a person said with a record, or a question that was put to one.
fn said(record: &Recorded) -> Option<&Blob> {
    let role = match record.envelope.event() {
        Event::PromptAdded(_) | Event::QuestionAsked(_) | Event::QuestionAnswered(_) => "text",
        Event::PolicyChanged(_) => "reason",
        Event::ApprovalGranted(_)
        | Event::ApprovalDenied(_)
        | Event::ApprovalRevoked(_)
        | Event::ExecutionSettled(_)
        | Event::RunCancelRequested(_) => "note",
        // Why the rule is there, as it was when it forbade the call.
        Event::CallRefused(refused) if refused.rule.is_some() => "detail",
        Event::CallRefused(_)
        | Event::RunStarted(_)
        | Event::SegmentStarted(_)
        | Event::SegmentEnded(_)
        | Event::ModelCalled(_)
        | Event::ModelReplied(_)
        | Event::ModelFailed(_)
        | Event::ContextCompacted(_)
        | Event::CallProposed(_)
        | Event::RiskAssessed(_)
        | Event::ApprovalRequested(_)
        | Event::ApprovalExpired(_)
        | Event::ExecutionStarted(_)
        | Event::ExecutionRefused(_)
        | Event::ExecutionSucceeded(_)
        | Event::ExecutionFailed(_)
        | Event::ExecutionStale(_)
        | Event::ExecutionInterrupted(_)
        | Event::ExecutionInDoubt(_)
        | Event::ToolAllowed(_)
        | Event::LimitsTightened(_)
        | Event::ToolsNarrowed(_)
        | Event::RunParked(_)
        | Event::RunFinished(_)
        | Event::LedgerCreated(_)
        | Event::RulesAdopted(_)
        | Event::GrantAdded(_)
        | Event::GrantRevoked(_)
        | Event::ClockStepped(_)
        | Event::AttemptRefused(_) => return None,
    };
    record.envelope.blobs().get(role)
}

/// What the page shows of a run's contents.
async fn contents(reading: &Reading, entry: &RunEntry, records: &[Recorded]) -> Contents {
    let Some(state) = entry.state() else {
        return Contents::default();
    };
    let started = ["prompt", "workspace", "narrowing"].map(|role| state.texts().get(role));
    let last = state.replies().last().and_then(|reply| reply.text.as_ref());
    let failure = state.failure();
    let notes = state.calls().filter_map(placet_ledger::run::Call::note);
    let texts = started
        .into_iter()
        .flatten()
        .chain(last)
        .chain(failure)
        .chain(notes)
        .chain(records.iter().filter_map(said));
    let mut wanted: BTreeSet<_> = texts.map(|blob| blob.commitment).collect();
    wanted.extend(state.batch().flat_map(|call| Card::needs(state, call)));
    reading.contents(entry.run().stream(), &wanted).await
}
