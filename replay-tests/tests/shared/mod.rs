//! One ledger, several processes: what goes through the socket comes to the very same log, what a
//! forger sends comes to nothing, and what is lost on the way is asked for again.

mod alike;
mod forged;
mod lost;
mod poisoned;
mod proxy;
