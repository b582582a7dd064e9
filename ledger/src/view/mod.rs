//! Views: what people look at, folded from the records and never from anything else.
//!
//! A projection is fed every record in order of position. It holds facts alone; what needs text
//! (a card, the inbox) takes the contents beside it, and says what it could not read.

mod card;
mod inbox;
mod lookup;
mod run_list;
mod steered;
mod timeline;

#[cfg(test)]
mod tests;

pub use card::{Card, CardJudged, CardKind, CardProgram, DeniedBefore, Nearly, Quorum};
pub use inbox::{inbox, inbox_needs};
pub use lookup::{LookupError, PrefixDigits, shortest_prefix_beside};
pub use run_list::{Quarantine, QuarantineReason, RunEntry, RunList};
pub use steered::SteeredBy;
pub use timeline::{Row, Timeline, row};

use crate::envelope::Recorded;

/// Something that is folded from all records, in order of position.
pub trait Projection {
    /// Takes in the next record.
    fn apply(&mut self, recorded: &Recorded);
}
