//! The door to a ledger that another process holds: commands go in over a Unix socket, recorded
//! bytes come back.
//!
//! Whoever opens the store first is its owner and serves the socket ([`server`]); every other
//! process is a client of it ([`client`]). The owner alone decides, stamps and appends. A client
//! folds what it is sent and looks at that; a reply that is lost with the owner is settled by the
//! id of the command, which the first record that came of it bears.

pub mod client;
mod frame;
pub(crate) mod handed;
pub mod hello;
mod line;
mod mirror;
mod peer;
mod protocol;
mod serve;
pub mod server;
pub mod socket;

pub use hello::{Build, ClientKeys, HelloError, OwnerKeys, PROTOCOL, SocketKey};
