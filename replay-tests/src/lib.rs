//! Recordings of runs for tests: load one, replay it, see the first divergence.
//!
//! [`recording`] does that for files; [`history`] holds canned runs of every kind. [`world`] is a
//! whole engine in memory for tests of behaviour, [`scenario`] states one decision.

#![forbid(unsafe_code)]

pub mod corpus;
pub mod cut;
pub mod facts;
pub mod faulty_store;
pub mod history;
pub mod judges;
pub mod mutate;
pub mod people;
pub mod play;
pub mod process;
pub mod reach;
pub mod reading;
pub mod recording;
pub mod scenario;
pub mod script;
pub mod soup;
pub mod source_tree;
pub mod stamps;
pub mod tampering_store;
pub mod tools;
pub mod world;

pub use recording::{Recording, replay};
