//! May this call run unasked? Pure judgement over recorded values.

mod always;
mod gate;

pub use always::{asks_always, steers};
pub use gate::{Gate, LAYERS, Layer, gate};
