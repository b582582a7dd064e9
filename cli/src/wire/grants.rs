//! What is granted to every run.

use placet_engine::policy::CommandEntry;
use placet_ledger::approval::By;
use placet_ledger::authority::Grant;
use placet_ledger::event::{GrantAdded, GrantKind};
use placet_ledger::id::GrantId;
use placet_ledger::time::Timestamp;
use serde::{Serialize, Serializer};

/// What `grants list` says.
#[derive(Debug, Serialize)]
pub(crate) struct GrantList {
    /// The grants, the oldest first.
    pub(crate) grants: Vec<GrantOut>,
}

/// A grant.
#[derive(Debug, Serialize)]
pub(crate) struct GrantOut {
    pub(crate) grant: GrantId,
    pub(crate) kind: GrantKind,
    /// What it covers; absent where that cannot be read.
    #[serde(flatten)]
    pub(crate) entry: Option<CommandEntry>,
    #[serde(serialize_with = "whom")]
    pub(crate) by: By,
    pub(crate) at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revoked_at: Option<Timestamp>,
    /// How many calls it cleared, where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uses: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_used_at: Option<Timestamp>,
    /// Whether it was there before somebody wanted to add it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) already: bool,
}

impl GrantOut {
    /// One that was just added.
    pub(crate) fn new(added: &GrantAdded, at: Timestamp, entry: CommandEntry) -> Self {
        Self {
            grant: added.grant,
            kind: added.kind,
            entry: Some(entry),
            by: added.by.clone(),
            at,
            expires_at: added.expires_at,
            revoked_at: None,
            uses: Some(0),
            last_used_at: None,
            already: false,
        }
    }

    /// One that was there before.
    pub(crate) fn before(id: GrantId, grant: &Grant, entry: CommandEntry) -> Self {
        Self {
            grant: id,
            kind: grant.kind,
            entry: Some(entry),
            by: grant.by.clone(),
            at: grant.at,
            expires_at: grant.expires_at,
            revoked_at: None,
            uses: None,
            last_used_at: None,
            already: true,
        }
    }

    /// Who granted it.
    pub(crate) fn by_whom(&self) -> String {
        name(&self.by)
    }
}

/// The name of whoever granted something; that is a person.
fn name(by: &By) -> String {
    match by {
        By::Person { principal, .. } => principal.to_string(),
        By::Policy { rule } | By::Rule { rule } => rule.to_string(),
        By::List { tool } => tool.to_string(),
        By::Grant { grant } => grant.to_string(),
        By::Tool => String::from("tool"),
    }
}

fn whom<S: Serializer>(by: &By, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&name(by))
}

/// What `grants revoke` says.
#[derive(Debug, Serialize)]
pub(crate) struct Revoked {
    pub(crate) grant: GrantId,
    pub(crate) revoked_at: Timestamp,
}
