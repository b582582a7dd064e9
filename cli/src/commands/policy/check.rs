//! `placet policy check`: whether a file of rules loads, what each rule does, and what is odd.

use std::path::PathBuf;

use clap::Args;
use placet_engine::outfit::read_text;
use placet_engine::policy::rules::{Rules, shipped};

use crate::commands::words;
use crate::config;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::ui::checked::page;
use crate::wire::policy::{CheckedOut, RuleOut};
use crate::wiring::Wiring;

/// Check a file of rules, and try their examples
///
/// Nothing comes into force. What never speaks is told. Rules are named as records name them.
///
/// Example: placet policy check ~/.config/placet/config.toml
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// A config with [[rules]]
    file: PathBuf,

    /// As the placet.toml of a workspace, which may only deny and ask
    #[arg(long)]
    workspace: bool,
}

/// Checks it.
pub(crate) fn run(args: &CheckArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let path = wiring.printer.io().path(&args.file);
    let text = read_text(&path).map_err(|error| {
        let kind = words::unreadable(&error);
        CommandError::new(kind, format!("cannot read {}: {error}", path.display()))
    })?;
    let (rules, before) = if args.workspace {
        (config::parse_workspace(&path, &text)?.rules, 0)
    } else {
        // Names are those of the whole set that comes into force.
        let shipped = shipped();
        let rules = config::parse_user(&path, &text)?.rules;
        let all = rules.behind(shipped.clone()).map_err(CommandError::usage)?;
        (all, shipped.as_slice().len())
    };
    let checked = checked(&rules, before);
    if wiring.printer.json() {
        wiring.printer.value(&checked)?;
    } else {
        let page = page(&checked);
        wiring.printer.data(&page)?;
    }
    Ok(ExitStatus::Done)
}

/// The rules behind the first `before` ones, with what is odd about them.
fn checked(rules: &Rules, before: usize) -> CheckedOut {
    let mut warnings = rules.warnings();
    warnings.retain(|warning| warning.number > before);
    let own = rules.as_slice().iter().enumerate().skip(before);
    CheckedOut {
        rules: own
            .map(|(index, rule)| {
                let about = warnings
                    .iter()
                    .filter(|warning| warning.number == index.saturating_add(1));
                RuleOut::of(rule, about.map(|warning| warning.what.clone()).collect())
            })
            .collect(),
    }
}
