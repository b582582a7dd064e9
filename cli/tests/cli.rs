//! The command line from outside: every verb that reads, every error, by what it prints.

mod audit;
mod damage;
mod errors;
mod runs;
mod support;
mod tools;
