//! What a call demands of those who approve it, and whether one approval is such a one. Denials
//! are held to none of it.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Assurance;
use crate::id::Principal;

/// What must hold of the approvals of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Demands {
    /// How many people must approve; people are shown that apart from the rest.
    #[serde(skip)]
    pub quorum: u32,
    /// The least assurance of each approval.
    #[serde(skip_serializing_if = "super::is_default")]
    pub assurance: Assurance,
    /// Whose approvals count: those of anyone if absent, of nobody if empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<BTreeSet<Principal>>,
    /// Whether that of who amended the call does not count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not_amender: bool,
    /// Whether that of who started the run does not count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not_starter: bool,
}

/// One approval, by anyone.
impl Default for Demands {
    fn default() -> Self {
        Self {
            quorum: 1,
            assurance: Assurance::default(),
            from: None,
            not_amender: false,
            not_starter: false,
        }
    }
}

/// Who approves, and what that person had to do with the call before.
#[derive(Debug, Clone, Copy)]
pub struct Approver<'a> {
    /// Who.
    pub principal: &'a Principal,
    /// How sure that is.
    pub assurance: Assurance,
    /// Who started the run, where a person did.
    pub starter: Option<&'a Principal>,
    /// Who amended the call, where a person did.
    pub amender: Option<&'a Principal>,
}

/// What an approval misses of what is demanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Miss {
    /// Fewer may approve than must.
    Nobody,
    /// One is not enough.
    Several,
    /// It is by somebody else.
    From,
    /// It is not sure enough who gave it.
    Assurance,
    /// It is by who started the run.
    Starter,
    /// It is by who amended the call.
    Amender,
}

impl Miss {
    /// What is missed, as the end of a sentence about an approval.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nobody => "fewer people may approve it than must",
            Self::Several => "this release cannot collect the approvals of several people",
            Self::From => "it is not by one of them",
            Self::Assurance => "it is not sure enough who gave it",
            Self::Starter => "its author started the run",
            Self::Amender => "its author amended the call",
        }
    }
}

/// An approval that is not what is demanded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "needs {demands}; an approval by {by} ({}) does not count, since {}",
    .assurance.as_str(),
    .miss.as_str()
)]
pub struct Unmet {
    /// What is demanded.
    #[serde(with = "whole")]
    pub demands: Demands,
    /// Who approved.
    pub by: Principal,
    /// How sure that is.
    pub assurance: Assurance,
    /// What is missed.
    pub miss: Miss,
}

impl Demands {
    /// What satisfies both: the larger number, the higher assurance, people whom both name, and
    /// nobody whom either rules out.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        let from = match (self.from, &other.from) {
            (Some(one), Some(other)) => Some(one.intersection(other).cloned().collect()),
            (Some(one), None) => Some(one),
            (None, other) => other.clone(),
        };
        Self {
            quorum: self.quorum.max(other.quorum),
            assurance: self.assurance.max(other.assurance),
            from,
            not_amender: self.not_amender || other.not_amender,
            not_starter: self.not_starter || other.not_starter,
        }
    }

    /// Whether nothing but a number of approvals is demanded.
    pub fn is_number(&self) -> bool {
        let number = Self {
            quorum: self.quorum,
            ..Self::default()
        };
        *self == number
    }

    /// How much is demanded, to choose between two that are not the same.
    pub fn weight(&self) -> (u32, Assurance, bool, bool, bool) {
        let named = self.from.is_some();
        let (starter, amender) = (self.not_starter, self.not_amender);
        (self.quorum, self.assurance, named, starter, amender)
    }

    /// Whether an approval is all that is demanded; what needs several is never granted by one.
    pub fn met_by(&self, approver: Approver<'_>) -> Result<(), Unmet> {
        let Approver {
            principal,
            assurance,
            starter,
            amender,
        } = approver;
        let named = self.from.as_ref();
        let missed = [
            (self.is_nobody(), Miss::Nobody),
            (self.quorum != 1, Miss::Several),
            (
                named.is_some_and(|from| !from.contains(principal)),
                Miss::From,
            ),
            (assurance < self.assurance, Miss::Assurance),
            (
                self.not_starter && starter == Some(principal),
                Miss::Starter,
            ),
            (
                self.not_amender && amender == Some(principal),
                Miss::Amender,
            ),
        ];
        match missed.into_iter().find_map(|(is, miss)| is.then_some(miss)) {
            None => Ok(()),
            Some(miss) => Err(Unmet {
                demands: self.clone(),
                by: principal.clone(),
                assurance,
                miss,
            }),
        }
    }

    /// Whether no approval that this release takes is what is demanded: each stands alone, and
    /// people are known by their user ids alone.
    pub fn is_out_of_reach(&self) -> bool {
        let is_user = |name: &Principal| name.as_str().starts_with("uid:");
        let users = |from: &BTreeSet<Principal>| from.iter().any(is_user);
        self.quorum != 1
            || self.assurance > Assurance::SameUser
            || !self.from.as_ref().is_none_or(users)
    }

    /// Whether fewer may approve than must.
    fn is_nobody(&self) -> bool {
        let enough = |from: &BTreeSet<Principal>| {
            u32::try_from(from.len()).is_ok_and(|named| named < self.quorum)
        };
        self.from.as_ref().is_some_and(enough)
    }
}

/// In words, as what a call needs.
impl fmt::Display for Demands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.quorum == 1 { "" } else { "s" };
        write!(f, "{} approval{end}", self.quorum)?;
        if let Some(from) = &self.from {
            let names: Vec<_> = from.iter().map(Principal::as_str).collect();
            match names.as_slice() {
                [] => f.write_str(", from nobody: its rules name different people")?,
                names => write!(f, ", from {}", names.join(" or "))?,
            }
        }
        f.write_str(match self.assurance {
            Assurance::SameUser => "",
            Assurance::Token => ", with a token at least",
            Assurance::Passkey => ", with a passkey at least",
            Assurance::Signed => ", signed",
            Assurance::SignedTouch => ", signed with a touch",
        })?;
        if self.not_starter {
            f.write_str(", not by who started the run")?;
        }
        if self.not_amender {
            f.write_str(", not by who amended the call")?;
        }
        Ok(())
    }
}
/// Demands on their way to another process: with the number of people, which people are shown
/// apart from the rest.
mod whole {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Demands;

    pub(super) fn serialize<S: Serializer>(demands: &Demands, to: S) -> Result<S::Ok, S::Error> {
        (demands.quorum, demands).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Demands, D::Error> {
        let (quorum, demands) = Deserialize::deserialize(from)?;
        Ok(Demands { quorum, ..demands })
    }
}
