//! The helper: the binary itself, started anew, which shuts itself in before it becomes what runs.
//!
//! It is two processes. The watcher stays outside: it holds the socket to the driver, writes the
//! mark, watches the limits and ends what is left. The init of the process namespace goes inside,
//! shuts itself in, starts the program and reaps. Both are single-threaded programs from their
//! start, so nothing allocates between a fork and an exec.

mod environment;
mod filter;
mod init;
mod limits;
mod loopback;
mod modes;
mod mounts;
mod places;
mod privileges;
mod program;
mod rules;
mod scratch;
mod secrets;
mod sockets;
mod watcher;

pub(crate) use places::SYSTEM;
pub(crate) use secrets::is_owners_alone;

use std::ffi::OsString;
use std::fs;
use std::process::ExitCode;

use super::spec::Lack;

/// The word by which the binary knows, before it reads anything else, that it is the helper.
pub const VERB: &str = "__contain";
/// The further word for the process inside.
const INIT: &str = "init";

/// Runs as the helper, with what followed [`VERB`] on the command line.
pub fn main(arguments: &[OsString]) -> ExitCode {
    close_inherited();
    let done = match arguments {
        [] => watcher::main(),
        [word] if word == INIT => init::main(),
        [..] => return ExitCode::from(64),
    };
    // Whoever started it hears of a failure by the end of the socket.
    if done.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Closes every descriptor but the three standard ones. What was listed may be closed by now: the
/// listing itself is.
fn close_inherited() {
    let listed: Vec<i32> = match fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect(),
        Err(_) => (3..4096).collect(),
    };
    for descriptor in listed.into_iter().filter(|&number| number > 2) {
        let _closed = nix::unistd::close(descriptor);
    }
}

/// A failure of the system that no part is to blame for.
fn step<T, E: std::fmt::Display>(result: Result<T, E>, what: &str) -> Result<T, Lack> {
    result.map_err(|error| Lack::whole(format!("{what}: {error}")))
}
