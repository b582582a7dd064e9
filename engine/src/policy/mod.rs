//! May this call run unasked? Pure judgement over recorded values.

pub mod allowlist;
mod command;
mod gate;
mod grant;
mod mutating;
mod near;
mod ruled;
pub mod rules;
mod stands;
#[cfg(test)]
mod tests;

pub use command::{Certain, certain};
pub use gate::{Case, Gate, LAYERS, Layer, gate};
pub use grant::CommandEntry;
pub use mutating::mutating;
pub use near::{OverEntry, nearest_entry};
pub use stands::{CommandStands, EntryStands, Member, RuleStands, Stands};
