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
mod audit;
mod damage;
mod docs;
mod doctor;
mod errors;
mod runs;
mod support;
mod tools;
mod unknown_names;
mod watch;
