//! How far a process that runs for a call is shut in: shown, part of the proposal, recorded.

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
