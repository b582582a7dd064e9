//! May this call run unasked? Pure judgement over recorded values.

mod gate;
pub mod rules;

pub use gate::{Gate, LAYERS, Layer, gate};
