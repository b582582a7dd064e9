//! What this machine can do of the profile: found out by setting it up around nothing.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use placet_ledger::containment::Part;

use super::Helper;
use super::spec::{Channel, Report, Spec, temporary_folder};

/// A helper that says nothing for so long says nothing at all.
const PATIENCE: Duration = Duration::from_secs(5);

/// The helper as a command, which talks on this socket.
#[expect(
    clippy::disallowed_methods,
    reason = "the helper, by which every process of a run is started"
)]
pub(super) fn command(helper: &Helper, socket: OwnedFd) -> Command {
    let mut command = Command::new(&helper.program);
    command
        .args(&helper.arguments)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(socket));
    command
}

/// The parts that cannot be had, those that must be done without among them.
pub(super) fn missing(helper: &Helper, without: &BTreeSet<Part>) -> BTreeSet<Part> {
    let mut missing = without.clone();
    // Each round names at least one part more.
    for _ in Part::ALL {
        let parts = Part::ALL.into_iter().filter(|part| !missing.contains(part));
        match attempt(helper, parts.collect()) {
            Ok(Report::Ready) => return missing,
            Ok(Report::Failed(parts, why)) if !parts.is_empty() => {
                tracing::debug!(?parts, why, "a part of the containment is missing");
                missing.extend(parts);
            }
            Ok(other) => {
                tracing::warn!(?other, "the containment cannot be set up");
                return Part::ALL.into();
            }
            Err(error) => {
                tracing::warn!(%error, "the helper cannot be started");
                return Part::ALL.into();
            }
        }
    }
    Part::ALL.into()
}

fn attempt(helper: &Helper, parts: BTreeSet<Part>) -> io::Result<Report> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_read_timeout(Some(PATIENCE))?;
    let mut child = command(helper, theirs.into())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut channel = Channel::new(ours);
    let spec = Spec {
        job: None,
        parts,
        home: None,
        temporary: temporary_folder(None),
    };
    let said = channel.send(&spec).and_then(|()| channel.receive());
    // The end of the socket ends a helper that still runs.
    drop(channel);
    child.wait()?;
    said?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Whether some ports of the machine's network can be granted and the others stay closed. Landlock
/// has had rules for ports from its fourth version on, which the helper checks before each run.
pub(super) fn can_grant_ports(missing: &BTreeSet<Part>) -> bool {
    !missing.contains(&Part::Landlock)
}
