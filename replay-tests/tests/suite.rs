//! The suite: one binary, so that the linker runs once. Every file beside it is listed here.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by a panic, in what it calls as well"
)]

mod answer_coverage;
mod bind;
mod classifier;
mod crash_points;
mod crash_windows;
mod decisions;
mod denials;
mod drivers;
mod durability;
mod events;
mod flatness;
mod gate_matrix;
mod golden_runs;
mod illegal_logs;
mod kept_states;
mod limits;
mod models;
mod notes;
mod pending_lock;
mod people;
mod properties;
mod recordings;
mod resume;
mod shared;
mod shell;
mod tamper;
mod tamper_sled;
mod tamper_tiles;
mod tidy;
mod twin_isolation;
mod worked_example;
