//! Effects: what happens outside the ledger, behind one trait with a live and a recorded half.

mod brief;
mod complete;
mod live;
mod propose;
mod recorded;

pub(crate) use brief::tools;
pub use brief::{Brief, BriefError, brief};
pub use live::{Judging, Levels, LiveHandler};
pub(crate) use propose::{propose, timeout};
pub use recorded::RecordedHandler;
pub(crate) use recorded::proposal;

use std::collections::BTreeSet;

use async_trait::async_trait;
use placet_ledger::containment::Level;
use placet_ledger::content::Texts;
use placet_ledger::permit::Permit;
use placet_ledger::run::Command;

use crate::stop::Halt;

/// What came of an effect: a command that records it, and the texts that the record names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// The command.
    pub command: Command,
    /// Its texts.
    pub texts: Texts,
}

impl Act {
    /// A command with its texts.
    pub fn from((command, texts): (Command, Texts)) -> Self {
        Self { command, texts }
    }

    /// A command without texts.
    pub fn bare(command: Command) -> Self {
        Self {
            command,
            texts: Texts::new(),
        }
    }
}

/// Performs effects. The live one asks models and tools; the recorded one reads a record, and has
/// no way to do anything else.
#[async_trait]
pub trait EffectHandler: Send + Sync {
    /// Performs an effect that needs no permit: it changes nothing outside.
    async fn perform(&self, brief: Brief) -> Act;

    /// Executes what a permit allows, once. What only reads is broken off when somebody wants the
    /// driver to stop or the run to end; what changes things comes to its end.
    async fn execute(&self, permit: Permit, halt: &Halt) -> Act;

    /// How far this machine can shut in a process with these ports now.
    fn level(&self, ports: &BTreeSet<u16>) -> Level;

    /// How long the open segment was active so far, in milliseconds.
    fn active_ms(&self) -> u64;
}
