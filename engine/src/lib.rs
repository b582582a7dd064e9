//! Makes runs move: models, tools, policy, effects.
//!
//! The loop is five lines: ask the folded state what remains to be done ([`runner`]); perform it
//! ([`effects`]) or ask the gate ([`policy`]); record what came of it; make it durable; again.

#![forbid(unsafe_code)]

pub mod classify;
pub mod clock;
pub mod contain;
pub mod context;
pub mod diff;
pub mod effects;
pub mod engine;
pub mod heard;
pub mod ids;
pub mod leases;
pub mod model;
pub mod nearest;
pub mod outfit;
pub mod policy;
pub mod price;
pub mod record;
pub mod recording;
pub mod replay;
pub mod runner;
pub mod secret;
mod secrets;
pub mod shell;
pub mod steering;
pub mod stop;
pub mod tool;
pub mod workspace;
