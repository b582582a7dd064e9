//! What `audit who` says.

use placet_ledger::approval::Assurance;
use placet_ledger::id::Name;
use placet_ledger::projection::{Decided, Kind};
use serde::Serialize;

/// Who decided.
#[derive(Debug, Serialize)]
pub(crate) struct Who {
    /// By approver.
    pub(crate) who: Vec<DecidedOut>,
}

/// What one approver decided.
#[derive(Debug, Serialize)]
pub(crate) struct DecidedOut {
    /// What kind of approver.
    pub(crate) by: &'static str,
    /// Which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<Name>,
    /// How sure it is who that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) assurance: Option<&'static str>,
    /// All decisions.
    pub(crate) count: u64,
    pub(crate) granted: u64,
    pub(crate) denied: u64,
    pub(crate) revoked: u64,
    pub(crate) expired: u64,
    pub(crate) refused: u64,
    pub(crate) settled: u64,
    /// From the request to the answer, in the middle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waited_p50_ms: Option<u64>,
    /// The longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waited_max_ms: Option<u64>,
}

impl DecidedOut {
    /// The shape of a count.
    pub(crate) fn of(decided: &Decided) -> Self {
        Self {
            by: word(decided.by.kind, decided.by.assurance),
            name: decided.by.name.clone(),
            assurance: decided.by.assurance.map(Assurance::as_str),
            count: decided.count(),
            granted: decided.granted,
            denied: decided.denied,
            revoked: decided.revoked,
            expired: decided.expired,
            refused: decided.refused,
            settled: decided.settled,
            waited_p50_ms: decided.waited_p50_ms,
            waited_max_ms: decided.waited_max_ms,
        }
    }
}

/// Whoever may be any process of a user is no person.
const fn word(kind: Kind, assurance: Option<Assurance>) -> &'static str {
    match (kind, assurance) {
        (Kind::Answer, None | Some(Assurance::SameUser)) => "user",
        (Kind::Answer, Some(_)) => "person",
        (Kind::Rule, _) => "rule",
        (Kind::Policy, _) => "policy",
        (Kind::List, _) => "list",
        (Kind::Grant, _) => "entry",
        (Kind::Tool, _) => "tool",
        (Kind::Clock, _) => "clock",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_same_user_is_called_a_persons() {
        for assurance in Assurance::ALL {
            let expected = match assurance {
                Assurance::SameUser => "user",
                _ => "person",
            };
            assert_eq!(word(Kind::Answer, Some(assurance)), expected);
        }
        assert_eq!(word(Kind::Answer, None), "user");
    }
}
