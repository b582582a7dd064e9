//! The suite: one binary, so that the linker runs once. Every file beside it is listed here.

mod crash_points;
mod crash_windows;
mod pending_lock;
mod tidy;
mod worked_example;
