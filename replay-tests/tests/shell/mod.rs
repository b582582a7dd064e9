//! How commands are read: whole tables, and what real shells make of the same text.

mod corpus;
#[cfg(feature = "system-tests")]
mod differential;
mod read_only;
mod reports;
mod soup;
mod stress;
