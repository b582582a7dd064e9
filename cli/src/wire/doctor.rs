//! What `doctor` says.

use std::collections::BTreeSet;

use placet_ledger::containment::Part;
use serde::Serialize;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// As it should be.
    Ok,
    /// It works, and something should be done.
    Warn,
    /// It does not work, or not safely.
    Fail,
}

impl Status {
    /// The word that is printed.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "it is the word in JSON")]
pub(crate) struct Check {
    /// What was looked at.
    pub(crate) check: &'static str,
    /// How it came out.
    pub(crate) status: Status,
    /// What was found.
    pub(crate) detail: String,
    /// What can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

/// Everything that was looked at.
#[derive(Debug, Serialize)]
pub(crate) struct Doctor {
    /// Whether nothing fails.
    pub(crate) ok: bool,
    /// What confines the tools of runs, and how sure it is who answers.
    pub(crate) level: String,
    /// What is missing of the containment profile.
    pub(crate) missing: BTreeSet<Part>,
    /// The checks, in the order in which they were made.
    pub(crate) checks: Vec<Check>,
}

/// What `doctor --rebuild` says.
#[derive(Debug, Serialize)]
pub(crate) struct RebuiltOut {
    /// Whether projections differed from what was there.
    pub(crate) differed: bool,
    /// Rows that are there now.
    pub(crate) rows: u64,
    /// Records that they were built from.
    pub(crate) records: u64,
}
