//! How far a process that runs for a call is shut in: shown, part of the proposal, recorded.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The level in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Containment {
    /// No child process: the tool is part of placet.
    InProcess,
    /// Every part of the profile holds.
    Full,
    /// Some parts are missing; the record names them.
    Partial,
    /// Nothing holds it.
    None,
}

impl Containment {
    /// The word that records and cards use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Full => "full",
            Self::Partial => "partial",
            Self::None => "none",
        }
    }
}

/// A part of the containment profile that a machine may be unable to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// A process namespace: its end takes every descendant along.
    Processes,
    /// A mount namespace: only the workspace, the system and toolchains are there.
    Mounts,
    /// A network namespace: no network but what was granted.
    Network,
    /// Landlock rules.
    Landlock,
    /// A filter of system calls.
    Syscalls,
    /// Limits on memory and processes.
    Limits,
}

impl Part {
    /// Every part.
    pub const ALL: [Self; 6] = [
        Self::Processes,
        Self::Mounts,
        Self::Network,
        Self::Landlock,
        Self::Syscalls,
        Self::Limits,
    ];

    /// The word that records and cards use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Mounts => "mounts",
            Self::Network => "network",
            Self::Landlock => "landlock",
            Self::Syscalls => "syscalls",
            Self::Limits => "limits",
        }
    }
}

/// How far a process is shut in, with what is missing of the profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "LevelParts", into = "LevelParts")]
pub struct Level {
    containment: Containment,
    missing: BTreeSet<Part>,
}

/// A level as its parts, which may not fit each other.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LevelParts {
    containment: Containment,
    missing: BTreeSet<Part>,
}

impl From<Level> for LevelParts {
    fn from(level: Level) -> Self {
        Self {
            containment: level.containment,
            missing: level.missing,
        }
    }
}

impl TryFrom<LevelParts> for Level {
    type Error = &'static str;

    fn try_from(parts: LevelParts) -> Result<Self, &'static str> {
        Self::recorded(parts.containment, &parts.missing)
            .ok_or("a level and what is missing of it do not fit each other")
    }
}

impl Level {
    /// No child process at all.
    pub const IN_PROCESS: Self = Self {
        containment: Containment::InProcess,
        missing: BTreeSet::new(),
    };

    /// A child process with the profile but for what is missing of it.
    pub fn of(missing: BTreeSet<Part>) -> Self {
        let containment = match missing.len() {
            0 => Containment::Full,
            some if some < Part::ALL.len() => Containment::Partial,
            _ => Containment::None,
        };
        Self {
            containment,
            missing,
        }
    }

    /// What a record says; `None` where its parts do not fit each other.
    pub fn recorded(containment: Containment, missing: &BTreeSet<Part>) -> Option<Self> {
        let level = match containment {
            Containment::InProcess => Self::IN_PROCESS,
            Containment::Full | Containment::Partial | Containment::None => {
                Self::of(missing.clone())
            }
        };
        (level.containment == containment && level.missing == *missing).then_some(level)
    }

    /// The level.
    pub fn containment(&self) -> Containment {
        self.containment
    }

    /// What is missing of the profile.
    pub fn missing(&self) -> &BTreeSet<Part> {
        &self.missing
    }

    /// Whether a process can be shut in so that what was shown holds; where none is started, it
    /// does.
    pub fn holds_for(&self, shown: &Self) -> bool {
        shown.containment == Containment::InProcess || self.holds(shown)
    }

    /// Whether it is at least as strong as what was shown.
    pub fn holds(&self, shown: &Self) -> bool {
        match (self.containment, shown.containment) {
            (Containment::InProcess, _) => true,
            (_, Containment::InProcess) => false,
            (_, _) => self.missing.is_subset(&shown.missing),
        }
    }
}
