//! The run as an aggregate: commands are decided into events, events evolve the state, and the
//! state alone says what remains to be done.
//!
//! ```text
//! call:  named -> proposed -> pending -> granted -> executing -> closed
//!            \       |  \         \          \           \-> in doubt -> closed (settled)
//!             \      |   \         \          \-> closed (revoked)
//!              \     |    \         \-> closed (denied, expired, superseded)
//!               \----|-----\-> closed (refused)
//!                    \-> asked -> closed (answered, expired)
//! run:   started -> segment ( model call -> reply -> calls )* -> parked | finished
//! ```
//!
//! Everything here is a synchronous function over values. Live and recovered runs go through the
//! same [`evolve`]: what it refuses is never stored, and a stored log that it refuses is never
//! driven.

mod call;
mod command;
mod decide;
mod evolve;
mod fold;
mod given;
mod next;
mod rejection;
mod snapshot;
mod state;
mod turn;

pub use call::{Answered, Assessed, Call, Close, Grant, Phase, Proposed, Question, Requested};
pub use command::{Assessment, Command, Ended, Ending, Proposal, Start};
pub use decide::decide;
pub use evolve::{IllegalEvent, evolve};
pub use fold::{FoldError, Origin, fold};
pub use given::{Caller, Decided, Given};
pub use next::{Effect, Step, next};
pub use rejection::Rejection;
pub use snapshot::Snapshot;
pub use state::{Head, Later, Reply, RunState, Segment, Status};
pub use turn::{Aside, AsideStands, Compacted, Retry, Turn};
