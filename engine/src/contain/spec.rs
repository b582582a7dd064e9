//! What the helper is told and what it answers: one JSON value a line, on a socket that stays
//! open for the driver's life.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use placet_ledger::containment::Part;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Ending, Job};

/// What the helper is to do; the first line that it reads.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Spec {
    /// What to run; nothing where only the profile is tried.
    pub(super) job: Option<Job>,
    /// The parts of the profile that must hold.
    pub(super) parts: BTreeSet<Part>,
    /// The person's home, whose toolchains can be read.
    pub(super) home: Option<PathBuf>,
    /// The private folder for temporary files, whose name no other call has.
    pub(super) temporary: PathBuf,
}

impl Spec {
    /// Whether a part must hold.
    pub(super) fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    /// Whether the process gets a network of its own, in which nobody else is.
    pub(super) fn own_network(&self) -> bool {
        self.has(Part::Network) && !self.granted_ports()
    }

    /// Whether a user namespace is made, since a part needs one.
    pub(super) fn has_own_users(&self) -> bool {
        self.has(Part::Processes) || self.has(Part::Mounts) || self.own_network()
    }

    /// Whether some ports of the machine's network are granted.
    pub(super) fn granted_ports(&self) -> bool {
        self.job.as_ref().is_some_and(|job| !job.network.is_empty())
    }
}

/// A name for a folder for temporary files, beside the workspace and not in it.
pub(super) fn temporary_folder(workspace: Option<&Path>) -> PathBuf {
    let taken = workspace == Some(Path::new("/tmp"));
    let name = format!("placet-{}", uuid::Uuid::new_v4().simple());
    Path::new(if taken { "/var/tmp" } else { "/tmp" }).join(name)
}

/// A later line to the helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    /// End the process: ask first, then kill.
    Stop,
}

/// What the helper answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Report {
    /// The profile holds; there was nothing to run.
    Ready,
    /// These parts could not be had; nothing ran.
    Failed(Vec<Part>, String),
    /// The program is another than was digested; nothing ran.
    ProgramChanged,
    /// Everything is set up and the program begins: told by the process inside to the one outside.
    Begins,
    /// The process ended, and so many descendants after it.
    Ended(Ending, u32),
}

/// Why something could not be set up, with the parts that are missing for it.
#[derive(Debug)]
pub(super) struct Lack {
    pub(super) parts: Vec<Part>,
    pub(super) why: String,
}

impl Lack {
    /// The absence of one part.
    pub(super) fn of(part: Part, why: impl Into<String>) -> Self {
        Self {
            parts: vec![part],
            why: why.into(),
        }
    }

    /// A failure that no part is to blame for.
    pub(super) fn whole(why: impl Into<String>) -> Self {
        Self {
            parts: Vec::new(),
            why: why.into(),
        }
    }
}

/// Says of a failed step which part is missing for it.
pub(super) trait Lacking<T> {
    /// Names the part and the step.
    fn lacks(self, part: Part, step: &str) -> Result<T, Lack>;
}

impl<T, E: std::fmt::Display> Lacking<T> for Result<T, E> {
    fn lacks(self, part: Part, step: &str) -> Result<T, Lack> {
        self.map_err(|error| Lack::of(part, format!("{step}: {error}")))
    }
}

/// One end of the socket.
#[derive(Debug)]
pub(super) struct Channel(BufReader<UnixStream>);

impl Channel {
    /// The end that is this socket.
    pub(super) fn new(socket: UnixStream) -> Self {
        Self(BufReader::new(socket))
    }

    /// The end that the process was given as its standard input.
    pub(super) fn of_stdin() -> io::Result<Self> {
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self::new(UnixStream::from(socket)))
    }

    /// Tells the other end.
    pub(super) fn send<T: Serialize>(&mut self, value: &T) -> io::Result<()> {
        let line = line(value)?;
        self.0.get_mut().write_all(&line)
    }

    /// Waits for what the other end says; nothing where it is gone.
    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&line)?))
    }

    /// Whether something was read of it already.
    pub(super) fn holds_more(&self) -> bool {
        !self.0.buffer().is_empty()
    }

    /// The socket, to wait for.
    pub(super) fn socket(&self) -> &UnixStream {
        self.0.get_ref()
    }
}

/// A value as the other end reads it.
pub(super) fn line<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}
