//! The permit: the right to execute one call once.
//!
//! Only a durable `execution.started` mints one, in the owner and from the call's own records as
//! read back from the log; the driver may be another process, to which it is sent, once. It cannot
//! be built, copied or read from bytes anywhere else:
//!
//! ```compile_fail,E0451
//! use placet_ledger::permit::{Granted, Permit};
//! fn forge(granted: Granted) -> Permit {
//!     Permit { granted } // the field is private
//! }
//! ```
//!
//! and it is spent by value, so that it cannot be spent twice:
//!
//! ```compile_fail,E0382
//! use placet_ledger::permit::Permit;
//! fn twice(permit: Permit) {
//!     permit.spend();
//!     permit.spend(); // already moved
//! }
//! ```
//!
//! Nor can one be kept for later by cloning it:
//!
//! ```compile_fail,E0599
//! use placet_ledger::permit::Permit;
//! fn hoard(permit: &Permit) -> Permit {
//!     permit.clone()
//! }
//! ```

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::containment::Part;
use crate::id::{CallId, Name, RunId};
use crate::precondition::Precondition;
use crate::program::Program;

/// The right to execute one call once.
#[derive(Debug)]
#[must_use = "a permit that is dropped leaves its call started without an outcome"]
pub struct Permit {
    granted: Granted,
}

/// What was granted, as the ledger holds it under the proposal digest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Granted {
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// Which attempt at it, from 1.
    pub attempt: u32,
    /// The visible name that the model called.
    pub tool: Name,
    /// The hidden half, where the tool is a pair.
    pub execute: Option<Name>,
    /// Arguments of the half that executes.
    pub arguments: Value,
    /// What must still be so.
    pub precondition: Option<Precondition>,
    /// The program to run.
    pub program: Option<Program>,
    /// TCP ports that it may have.
    pub network: BTreeSet<u16>,
    /// What may be missing of the containment profile.
    pub missing: BTreeSet<Part>,
}

impl Permit {
    /// Mints the permit; its only caller has just made `execution.started` durable.
    pub(crate) fn mint(granted: Granted) -> Self {
        Self { granted }
    }

    /// The permit that the owner of the store minted, sent over its socket to the one driver of
    /// the run; its only caller has just received it.
    pub(crate) fn received(granted: Granted) -> Self {
        Self { granted }
    }

    /// The call that may be executed.
    pub fn call(&self) -> CallId {
        self.granted.call
    }

    /// The visible name of the tool.
    pub fn tool(&self) -> &Name {
        &self.granted.tool
    }

    /// Gives up the permit for what it grants.
    pub fn spend(self) -> Granted {
        self.granted
    }
}
