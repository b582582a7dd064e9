//! The suite: one binary, so that the linker runs once. Every file beside it is listed here.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by a panic, in what it calls as well"
)]

mod bind;
mod crash_points;
mod crash_windows;
mod durability;
mod flatness;
mod limits;
mod pending_lock;
mod tamper;
mod tamper_sled;
mod tidy;
mod worked_example;
