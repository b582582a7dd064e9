//! The command line from outside: every verb that reads, every error, by what it prints.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by a panic, in what it calls as well"
)]
#![allow(
    clippy::too_many_lines,
    reason = "what is printed stands in the test that prints it"
)]

mod agents;
mod amendments;
mod attended;
mod audit;
mod backup;
mod broken_config;
#[cfg(feature = "system-tests")]
mod clock;
mod commands;
#[cfg(feature = "system-tests")]
mod contain;
mod copies;
mod crew;
mod damage;
mod demands;
mod docs;
mod doctor;
mod doubts;
mod driving;
mod errors;
#[cfg(feature = "system-tests")]
mod escape;
mod grants;
mod half_made;
mod holders;
mod holes;
mod hosted;
mod live_policy;
#[cfg(feature = "local-model")]
mod local_model;
mod named_files;
mod near;
mod odd_files;
mod plugin;
mod policy;
mod questions;
mod read_only;
mod rules;
mod runs;
mod shell;
mod steering;
#[cfg(feature = "system-tests")]
mod stress;
mod support;
mod terminal;
mod tools;
mod unknown_names;
mod watch;
