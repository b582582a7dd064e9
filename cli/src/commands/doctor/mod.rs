//! `placet doctor`: whether everything that placet rests on is as it should be.
//!
//! It looks and changes nothing: modes are told, not mended, but for that of the content keys,
//! which are not read while others may. The ledger is opened in a copy that is gone afterwards.
//! What it prints are names, sizes and modes, never what a key holds.

mod config;
mod home;
mod ledger;
mod places;
mod rebuild;
mod surroundings;
mod writing;

use std::fmt::Write;

use clap::Args;

use crate::args::GlobalArgs;
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::home::Home;
use crate::ui::{Printer, text};
use crate::wire::doctor::{Check, Doctor, Status};

pub(crate) use rebuild::rebuild;

/// How sure it is who answers.
const ASSURANCE: &str = "same-user";

/// Check home, ledger, config and terminal
///
/// A line a finding: ok, warn or fail. Nothing is changed, but with --rebuild; the ledger is looked
/// at in a copy, or through the process that holds it.
/// Exit 1 where something fails, 6 where the ledger is not as it was written.
///
/// Example: placet doctor
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Throw projections and kept states away, build projections anew, say whether they differed
    #[arg(long)]
    rebuild: bool,
}

impl DoctorArgs {
    /// Whether projections are built anew, and nothing else is done.
    pub(crate) fn rebuilds(&self) -> bool {
        self.rebuild
    }
}

/// What was found so far.
#[derive(Debug, Default)]
struct Checkup {
    checks: Vec<Check>,
    /// Whether the ledger is not as it was written.
    integrity: bool,
}

impl Checkup {
    fn ok(&mut self, check: &'static str, detail: impl Into<String>) {
        self.add(check, Status::Ok, detail.into(), None);
    }

    fn warn(&mut self, check: &'static str, detail: impl Into<String>, hint: impl Into<String>) {
        self.add(check, Status::Warn, detail.into(), Some(hint.into()));
    }

    fn fail(&mut self, check: &'static str, detail: impl Into<String>, hint: impl Into<String>) {
        self.add(check, Status::Fail, detail.into(), Some(hint.into()));
    }

    /// Something that a verb would fail with.
    fn error(&mut self, check: &'static str, error: &CommandError) {
        self.integrity |= error.kind == Kind::Integrity;
        let hint = (!error.hints.is_empty()).then(|| error.hints.join("; "));
        self.add(check, Status::Fail, error.message(), hint);
    }

    fn add(&mut self, check: &'static str, status: Status, detail: String, hint: Option<String>) {
        self.checks.push(Check {
            check,
            status,
            detail,
            hint,
        });
    }
}

/// Checks everything.
pub(crate) fn run(
    _args: &DoctorArgs,
    global: &GlobalArgs,
    printer: &mut Printer<'_>,
) -> Result<ExitStatus, CommandError> {
    let mut found = Checkup::default();
    let io = printer.io();
    match Home::locate(global, io) {
        Ok(place) => {
            home::check(&mut found, &place, global, io);
            ledger::check(&mut found, &place, io);
            writing::check(&mut found, &place);
            surroundings::space(&mut found, &place);
        }
        Err(error) => found.error("home", &error),
    }
    config::check(&mut found, global, io);
    surroundings::terminal(&mut found, io);
    let level = surroundings::containment(&mut found, io);
    let ok = found
        .checks
        .iter()
        .all(|check| check.status != Status::Fail);
    let status = match (ok, found.integrity) {
        (true, _) => ExitStatus::Done,
        (false, true) => ExitStatus::Integrity,
        (false, false) => ExitStatus::Failed,
    };
    let doctor = Doctor {
        ok,
        level: format!("{}, {ASSURANCE}", level.containment().as_str()),
        missing: level.missing().clone(),
        checks: found.checks,
    };
    if printer.json() {
        printer.value(&doctor)?;
    } else {
        printer.data(&page(&doctor))?;
    }
    Ok(status)
}

fn page(doctor: &Doctor) -> String {
    let names = doctor.checks.iter().map(|check| check.check.len());
    let width = names.max().unwrap_or(0);
    let mut out = String::new();
    for check in &doctor.checks {
        let (status, name) = (check.status.as_str(), check.check.replace('_', " "));
        let detail = text::inline(&check.detail);
        let _ignored = writeln!(out, "{status:<4}  {name:<width$}  {detail}");
        if let Some(hint) = &check.hint {
            let _ignored = writeln!(out, "      {:width$}  hint: {}", "", text::inline(hint));
        }
    }
    out
}
