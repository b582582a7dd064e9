//! What was proposed, who allowed it, what happened; provable afterwards.

pub mod answers;
pub mod approval;
pub mod authority;
pub mod budget;
pub mod canonical;
pub mod clock;
pub mod containment;
pub mod content;
pub mod digest;
pub mod envelope;
pub mod event;
pub mod gate_input;
pub mod id;
pub mod judge;
pub mod limits;
pub mod merkle;
pub mod permit;
pub mod policy;
pub mod precondition;
pub mod proposal;
pub mod risk;
pub mod run;
pub mod store;
pub mod time;
pub mod view;
