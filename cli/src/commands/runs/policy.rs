//! `placet runs policy`: change the live policy of a run.

use clap::Args;
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::run::RunState;

use super::said;
use crate::commands::runs::{find, prefix};
use crate::commands::start::policy;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::reading;
use crate::ui::report;
use crate::wire::run::{PolicyChange, pending_calls};
use crate::wiring::Wiring;

/// Change up to which tier a run's gated calls run unasked
///
/// It counts for what is judged from now on. What waits for an answer still waits, and nothing is
/// driven.
///
/// Example: placet runs policy b3e41f low-risk --note "only notes are left"
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    /// The run, by the first digits of its id
    run: String,

    /// The policy: false, read-only, low-risk, high-risk or true
    #[arg(value_name = "TIER", value_parser = policy())]
    policy: ApprovalPolicy,

    /// Why
    #[arg(long, value_name = "WHY")]
    note: Option<String>,
}

/// Changes the policy.
pub(crate) fn run(args: PolicyArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let open = wiring.open()?;
    let run = find(wiring, &open, &args.run)?;
    let before = |state: &RunState| Ok(state.policy());
    let before = said::record(wiring, &open, run, before, async |before, caller| {
        let (policy, note) = (args.policy, args.note);
        open.engine.change_policy(run, caller, policy, note).await?;
        Ok(before)
    })?;
    let now = open.ledger.look(run, |state, _| PolicyChange {
        run: state.run(),
        policy: state.policy(),
        before,
        pending: pending_calls(state),
    });
    let change = wiring.block_on(now)?;
    if wiring.printer.json() {
        wiring.printer.value(&change)?;
    } else {
        let prefix = prefix(wiring, &open, run)?;
        let page = report::policy(&change, &prefix, &reading::look(wiring));
        wiring.printer.data(&page)?;
    }
    Ok(ExitStatus::Done)
}
