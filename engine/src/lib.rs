//! Makes runs move: tools, and the files they may touch.

#![forbid(unsafe_code)]

pub mod diff;
mod nearest;
pub mod tool;
pub mod workspace;
