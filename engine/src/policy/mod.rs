//! May this call run unasked? Pure judgement over recorded values.

mod gate;

pub use gate::{Gate, LAYERS, Layer, gate};
