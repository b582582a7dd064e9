//! The driver's side of a run: starts the helper, reads what the process writes, and passes on the
//! wish to stop.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::net::UnixStream as StdStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use placet_ledger::containment::Part;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::output::Keeper;
use super::spec::{Order, Report, Spec, line, temporary_folder};
use super::{ContainError, Container, Job, Ran, end_leftovers, probe};
use crate::stop::Halt;

/// How long an output may stay open once everything is said to have ended.
const OPEN_AFTER_END: Duration = Duration::from_secs(1);

/// Runs a job with all parts but those that are missing.
pub(super) async fn run(
    container: &Container,
    missing: &BTreeSet<Part>,
    job: &Job,
    halt: &Halt,
) -> Result<Ran, ContainError> {
    let mut parts = BTreeSet::from(Part::ALL);
    parts.retain(|part| !missing.contains(part));
    let spec = Spec {
        job: Some(job.clone()),
        parts,
        home: container.home.clone(),
        temporary: temporary_folder(Some(&job.workspace)),
    };
    // A path that is no text cannot be told to the helper.
    let spec = line(&spec).map_err(|error| ContainError::Setup(error.to_string()))?;
    let (ours, theirs) = StdStream::pair()?;
    ours.set_nonblocking(true)?;
    let mut socket = UnixStream::from_std(ours)?;
    // Not killed when this future is dropped: the end of the socket tells the helper, which then
    // ends everything and itself.
    let mut child = Command::from(probe::command(&container.helper, theirs.into()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let keeper = || Keeper::new(job.limits.head_bytes, job.limits.tail_bytes);
    let (mut stdout, mut stderr) = (keeper(), keeper());
    let report = {
        let reading = read(&mut child, &mut stdout, &mut stderr);
        tokio::pin!(reading);
        let mut is_read = false;
        let talking = talk(&mut socket, &spec, halt);
        tokio::pin!(talking);
        let report = loop {
            tokio::select! {
                done = &mut reading, if !is_read => is_read = done.is_ok() || done.is_err(),
                report = &mut talking => break report,
            }
        };
        // With the watcher gone nobody else ends what it watched over.
        if !matches!(report, Ok(Some(_))) {
            end(job.mark.clone()).await;
        }
        if !is_read {
            let _open = timeout(OPEN_AFTER_END, reading).await;
        }
        report
    };
    drop(socket);
    child.wait().await?;
    match report? {
        Some(Report::Ended(ending, ended)) => Ok(Ran {
            ending,
            stdout: stdout.kept(),
            stderr: stderr.kept(),
            ended,
        }),
        Some(Report::ProgramChanged) => Err(ContainError::ProgramChanged(job.program.clone())),
        Some(Report::Failed(_, why)) => Err(ContainError::Setup(why)),
        Some(Report::Ready | Report::Begins) | None => Err(ContainError::Lost),
    }
}

/// Ends what a mark names and removes it; where that fails it stays, for the next driver.
async fn end(mark: PathBuf) {
    let ended = tokio::task::spawn_blocking(move || end_leftovers(&mark)).await;
    match ended.map_err(io::Error::from).flatten() {
        Ok(alive) => tracing::warn!(alive, "the watcher over a process is gone"),
        Err(error) => tracing::warn!(%error, "what a killed watcher left cannot be ended"),
    }
}

/// Reads both outputs to their ends.
async fn read(child: &mut Child, stdout: &mut Keeper, stderr: &mut Keeper) -> io::Result<()> {
    let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
        return Ok(());
    };
    tokio::try_join!(stdout.read(out), stderr.read(err)).map(drop)
}

/// Tells the helper what to do and waits for what it says; nothing where it went without a word.
async fn talk(socket: &mut UnixStream, spec: &[u8], halt: &Halt) -> io::Result<Option<Report>> {
    let (from, mut to) = socket.split();
    let mut said = BufReader::new(from);
    let mut answer = Vec::new();
    // A helper that is gone says so by the end of its answers.
    let _gone = to.write_all(spec).await;
    let stop = line(&Order::Stop)?;
    let mut stopped = false;
    loop {
        tokio::select! {
            // What was read so far stays in the buffer when another branch is taken.
            read = said.read_until(b'\n', &mut answer) => {
                read?;
                break;
            }
            () = halt.raised(), if !stopped => {
                stopped = true;
                let _gone = to.write_all(&stop).await;
            }
        }
    }
    if answer.pop() != Some(b'\n') {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&answer)?))
}
