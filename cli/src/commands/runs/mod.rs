//! `placet runs`: look at runs, answer what they ask, go on with them.

mod amend;
mod answer;
mod approve;
mod cancel;
mod list;
mod policy;
mod prompt;
mod reject;
mod replay;
mod reply;
mod resume;
mod revoke;
mod said;
mod settle;
mod show;
mod take_over;
mod verdicts;
mod watch;

use clap::Subcommand;
use placet_engine::leases::Driver;
use placet_ledger::envelope::Recorded;
use placet_ledger::error::LedgerError;
use placet_ledger::event::SegmentReason;
use placet_ledger::id::{RunId, Version};
use placet_ledger::projection::Query;
use placet_ledger::store::ReadError;
use placet_ledger::store::pages::each_of_stream;

use crate::answers;
use crate::commands::attend::{self, Drive};
use crate::commands::run::Attend;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::open::Open;
use crate::reading;
use crate::wire::run::{DriverOut, RunReport};
use crate::wire::usage::{ToldTokens, summary};
use crate::wiring::Wiring;

/// What to do with runs.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsVerb {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Approve(approve::ApproveArgs),
    Reject(reject::RejectArgs),
    Answer(answer::AnswerArgs),
    Reply(reply::ReplyArgs),
    Amend(amend::AmendArgs),
    Settle(settle::SettleArgs),
    Revoke(revoke::RevokeArgs),
    Prompt(prompt::PromptArgs),
    Policy(policy::PolicyArgs),
    Resume(resume::ResumeArgs),
    Cancel(cancel::CancelArgs),
    Watch(watch::WatchArgs),
    Replay(replay::ReplayArgs),
}

/// Does it.
pub(crate) fn dispatch(
    verb: RunsVerb,
    wiring: &mut Wiring<'_>,
) -> Result<ExitStatus, CommandError> {
    match verb {
        RunsVerb::List(args) => list::run(&args, wiring),
        RunsVerb::Show(args) => show::run(&args, wiring),
        RunsVerb::Approve(args) => approve::run(&args, wiring),
        RunsVerb::Reject(args) => reject::run(&args, wiring),
        RunsVerb::Answer(args) => answer::run(&args, wiring),
        RunsVerb::Reply(args) => reply::run(args, wiring),
        RunsVerb::Amend(args) => amend::run(&args, wiring),
        RunsVerb::Settle(args) => settle::run(args, wiring),
        RunsVerb::Revoke(args) => revoke::run(args, wiring),
        RunsVerb::Prompt(args) => prompt::run(args, wiring),
        RunsVerb::Policy(args) => policy::run(args, wiring),
        RunsVerb::Resume(args) => resume::run(args, wiring),
        RunsVerb::Cancel(args) => cancel::run(args, wiring),
        RunsVerb::Watch(args) => watch::run(args, wiring),
        RunsVerb::Replay(args) => replay::run(&args, wiring),
    }
}

/// The run whose id begins with these digits.
pub(crate) fn find(wiring: &Wiring<'_>, open: &Open, prefix: &str) -> Result<RunId, CommandError> {
    let prefix = prefix.to_owned();
    answers::run(wiring.block_on(open.ledger.query(Query::Find { prefix }))?)
}

/// How a run is named in commands.
pub(crate) fn prefix(wiring: &Wiring<'_>, open: &Open, run: RunId) -> Result<String, CommandError> {
    wiring.block_on(prefix_of(open, run))
}

/// The same, for whoever waits already.
pub(crate) async fn prefix_of(open: &Open, run: RunId) -> Result<String, CommandError> {
    let query = Query::Prefixes { runs: vec![run] };
    let prefixes = answers::prefixes(open.ledger.query(query).await?)?;
    prefixes.into_iter().next().ok_or_else(answers::unexpected)
}

/// Drives a run on and says what came of it; `said` is whether something was said about it first.
pub(crate) fn drive(
    wiring: &mut Wiring<'_>,
    open: &mut Open,
    run: RunId,
    (reason, said): (SegmentReason, bool),
    attend: Option<Attend>,
) -> Result<ExitStatus, CommandError> {
    let recorded = wiring.block_on(open.ledger.look(run, |state, _| state.attendance()))?;
    let how = Drive {
        reason,
        attendance: attend::attendance(wiring, attend, recorded),
        events: false,
        said,
    };
    attend::drive(wiring, open, run, how)
}

/// Says where a run stands.
pub(crate) fn report(wiring: &mut Wiring<'_>, open: &Open, run: RunId) -> Result<(), CommandError> {
    reported(wiring, open, run).map(drop)
}

/// The same, and then on standard error what it came to.
pub(crate) fn sum_up(wiring: &mut Wiring<'_>, open: &Open, run: RunId) -> Result<(), CommandError> {
    let report = reported(wiring, open, run)?;
    if !wiring.printer.json() {
        let said = summary(&report.calls, &report.usage);
        wiring.printer.note(&said);
    }
    Ok(())
}

/// What its model told of tokens, from its records.
async fn told(open: &Open, run: RunId) -> Result<ToldTokens, ReadError> {
    let mut told = ToldTokens::default();
    let stream = run.stream();
    let add = |recorded: Recorded| {
        told.add(recorded.envelope.event());
        Ok::<_, ReadError>(())
    };
    each_of_stream(&open.ledger, stream, Version::ZERO, add).await?;
    Ok(told)
}

fn reported(wiring: &mut Wiring<'_>, open: &Open, run: RunId) -> Result<RunReport, CommandError> {
    let mut report = wiring.block_on(open.ledger.look(run, RunReport::of))?;
    report.usage.told = Some(
        wiring
            .block_on(told(open, run))
            .map_err(LedgerError::from)?,
    );
    report.driver = match open.engine.driver(run)? {
        Some(Driver::Process(process)) => Some(DriverOut::from(Some(&process))),
        Some(Driver::Unnamed) => Some(DriverOut::from(None)),
        Some(Driver::Here) | None => None,
    };
    if wiring.printer.json() {
        wiring.printer.value(&report)?;
        return Ok(report);
    }
    // What was read a moment ago is not repeated.
    let text = report.text.take();
    report.text = text.filter(|text| !wiring.printer.stands_above(run, text));
    // Only what can go on is named once more.
    let prefix = if report.outcome.is_some() {
        report.run.clone()
    } else {
        prefix(wiring, open, run)?
    };
    let look = reading::look(wiring);
    crate::ui::report::print(&mut wiring.printer, &report, &prefix, &look)?;
    Ok(report)
}
