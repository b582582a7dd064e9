//! Risk tiers: what a call may do at worst, ordered so that the strictest wins.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much a call can change, once that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RiskTier {
    /// Reads, lists, searches.
    ReadOnly,
    /// Changes placet's own notes and reminders.
    LowRisk,
    /// Changes files, runs programs, or may do so.
    HighRisk,
}

/// What a tool declares; `Unknown` where it depends on the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeclaredRisk {
    /// See [`RiskTier::ReadOnly`].
    ReadOnly,
    /// See [`RiskTier::LowRisk`].
    LowRisk,
    /// See [`RiskTier::HighRisk`].
    HighRisk,
    /// Depends on the arguments: judged call by call, and until then like high-risk.
    Unknown,
}

impl DeclaredRisk {
    /// The tier, where it does not depend on the arguments.
    pub const fn known(self) -> Option<RiskTier> {
        match self {
            Self::ReadOnly => Some(RiskTier::ReadOnly),
            Self::LowRisk => Some(RiskTier::LowRisk),
            Self::HighRisk => Some(RiskTier::HighRisk),
            Self::Unknown => None,
        }
    }

    /// The word that records and cards use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::LowRisk => "low-risk",
            Self::HighRisk => "high-risk",
            Self::Unknown => "unknown",
        }
    }
}

impl From<RiskTier> for DeclaredRisk {
    fn from(tier: RiskTier) -> Self {
        match tier {
            RiskTier::ReadOnly => Self::ReadOnly,
            RiskTier::LowRisk => Self::LowRisk,
            RiskTier::HighRisk => Self::HighRisk,
        }
    }
}

impl fmt::Display for DeclaredRisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for RiskTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DeclaredRisk::from(*self).fmt(f)
    }
}
