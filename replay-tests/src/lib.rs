//! Recordings of runs for tests: load one, replay it, see the first divergence.

#![forbid(unsafe_code)]

pub mod corpus;
pub mod source_tree;
