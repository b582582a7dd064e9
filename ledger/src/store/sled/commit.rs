//! The committer: one thread that writes what is waiting as one group, and never decides.
//!
//! A group is compared append by append, each against what the ones before it would leave. Then:
//! one batch to sled; `flush`; `fdatasync` through a descriptor of our own, since sled's flush
//! ends in `sync_file_range`, which makes nothing durable; the head file where something outside
//! will rest on the group; the size that readers see; and only then the answers. After any error
//! of these the store is closed for writing: what lies on disk is known again once it is opened.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use futures_channel::oneshot;
use rustix::fs::fstatvfs;

use super::draft::{Draft, Known, Ready};
use super::fault::{FaultPoint, Faults};
use super::keyring::Sealed;
use super::read::Reader;
use super::shared::{Reserved, Shared};
use crate::envelope::Envelope;
use crate::event::Event;
use crate::id::{Position, StreamId};
use crate::limits::ROOM_BYTES_MIN;
use crate::merkle::Frontier;
use crate::store::check::{Attempt, Verdict};
use crate::store::head::{HeadError, HeadFile};
use crate::store::{AppendError, Appended, ReadError, chain};

/// Records that one group may hold before no other append is added to it.
const GROUP_RECORDS: usize = 4_096;

/// Bytes that one group may hold before no other append is added to it.
const GROUP_BYTES: usize = 8 * 1024 * 1024;

/// Heads that are kept in memory.
const KNOWN_MAX: usize = 4_096;

type Answer = Result<Appended, AppendError>;

/// An append that waits.
pub(super) struct Request {
    pub(super) attempt: Attempt,
    pub(super) sealed: Sealed,
    /// Its share of the queue.
    pub(super) reserved: Reserved,
    pub(super) answer: oneshot::Sender<Answer>,
}

/// Why a group was not written.
#[derive(Debug, thiserror::Error)]
enum CommitError {
    #[error("writing the rows failed")]
    Rows(#[from] ReadError),
    #[error("syncing the rows failed")]
    Sync(#[source] io::Error),
    #[error("writing the head failed")]
    Head(#[from] HeadError),
    #[error("the commit was stopped")]
    Fault(#[source] io::Error),
}

/// The one writer of a store.
pub(super) struct Committer {
    pub(super) shared: Arc<Shared>,
    /// A second descriptor of sled's file.
    pub(super) rows_file: File,
    pub(super) head: HeadFile,
    pub(super) frontier: Frontier,
    pub(super) known: BTreeMap<StreamId, Known>,
    pub(super) faults: Arc<dyn Faults>,
}

impl Committer {
    /// Commits until all senders are gone, then writes the head.
    pub(super) fn run(mut self, queue: &Receiver<Request>) {
        while let Ok(first) = queue.recv() {
            let group = gather(first, queue);
            self.commit(group);
        }
        if self.shared.closed().is_none()
            && let Err(error) = self.settle()
        {
            self.shared.close(&chain(&error));
            tracing::error!(error = chain(&error), "the store was not closed cleanly");
        }
    }

    /// Leaves a head that is as new as the store.
    fn settle(&mut self) -> Result<(), CommitError> {
        self.shared.rows.flush()?;
        self.rows_file.sync_data().map_err(CommitError::Sync)?;
        Ok(self.head.write(&self.frontier)?)
    }

    fn commit(&mut self, group: Vec<Request>) {
        if let Some(reason) = self.shared.closed() {
            for request in group {
                drop(request.reserved);
                reply(request.answer, Err(AppendError::Poisoned(reason.clone())));
            }
            return;
        }
        if self.known.len() > KNOWN_MAX {
            self.known.clear();
        }
        // Everything in sled was acknowledged, or this would be closed.
        let shared = Arc::clone(&self.shared);
        let reader = Reader::new(&shared.rows, self.frontier.size());
        let mut draft = Draft::new(reader, &self.known, self.frontier.clone());
        let mut answers = Vec::with_capacity(group.len());
        for request in group {
            let answer = self
                .room_for(&request.attempt)
                .and_then(|()| compare(&mut draft, &request.attempt, request.sealed));
            answers.push((request.answer, answer, request.reserved));
        }
        let first = draft.first();
        let written = if draft.is_empty() {
            Ok(())
        } else {
            let ready = draft.finish();
            self.write(ready)
        };
        if let Err(error) = &written {
            let reason = chain(error);
            tracing::error!(error = reason, "the store is closed for writing");
            self.shared.close(&reason);
        }
        for (sender, answer, reserved) in answers {
            drop(reserved);
            reply(sender, self.judge(answer, first, written.as_ref().err()));
        }
    }

    /// What is started must find room for its outcome.
    fn room_for(&self, attempt: &Attempt) -> Result<(), AppendError> {
        let starts = |record: &Envelope| matches!(record.event(), Event::ExecutionStarted(_));
        if !attempt.records.iter().any(starts) {
            return Ok(());
        }
        // Where the system does not tell, the append itself will.
        let told = fstatvfs(&self.rows_file).ok();
        let free = told.map(|told| told.f_bavail.saturating_mul(told.f_frsize));
        match free.map(|free| self.faults.room(free)) {
            Some(free_bytes) if free_bytes < ROOM_BYTES_MIN => {
                Err(AppendError::NoRoom { free_bytes })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// One group, from the first row to the last sync. The order of its steps is the promise.
    fn write(&mut self, ready: Ready) -> Result<(), CommitError> {
        let reach = |point| self.faults.reach(point).map_err(CommitError::Fault);
        reach(FaultPoint::BeforeBatch)?;
        self.shared.rows.apply(ready.batch)?;
        reach(FaultPoint::AfterBatch)?;
        self.shared.rows.flush()?;
        self.rows_file.sync_data().map_err(CommitError::Sync)?;
        reach(FaultPoint::AfterSync)?;
        if ready.anchored {
            self.head.write(&ready.frontier)?;
        }
        reach(FaultPoint::BeforeAnswer)?;
        self.frontier = ready.frontier;
        self.shared.publish(&self.frontier);
        for (stream, known) in ready.heads {
            self.shared.settle(stream);
            self.known.insert(stream, known);
        }
        Ok(())
    }

    /// What an append hears after its group was written or was not.
    fn judge(&self, answer: Answer, first: Position, error: Option<&CommitError>) -> Answer {
        match (answer, error) {
            // That it is there, or was there before in the same group, is now not known.
            (Ok(appended), Some(error)) if appended.first >= first => {
                Err(AppendError::Unknown(chain(error)))
            }
            (Err(AppendError::Poisoned(reason)), _) => {
                self.shared.close(&reason);
                Err(AppendError::Poisoned(reason))
            }
            (answer, _) => answer,
        }
    }
}

/// Compares one append with what the ones before it leave, and adds it.
fn compare(draft: &mut Draft<'_>, attempt: &Attempt, sealed: Sealed) -> Answer {
    let count = attempt.records.len();
    match attempt.compare(draft)? {
        Verdict::Replayed(first) => Ok(Appended {
            first,
            count,
            replayed: true,
        }),
        Verdict::Append => Ok(Appended {
            first: draft.add(attempt, sealed)?,
            count,
            replayed: false,
        }),
    }
}

/// What is waiting, as far as it should be synced together.
fn gather(first: Request, queue: &Receiver<Request>) -> Vec<Request> {
    let mut records = first.attempt.records.len();
    let mut bytes = first.reserved.bytes();
    let mut group = vec![first];
    while records < GROUP_RECORDS && bytes < GROUP_BYTES {
        let Ok(next) = queue.try_recv() else { break };
        records = records.saturating_add(next.attempt.records.len());
        bytes = bytes.saturating_add(next.reserved.bytes());
        group.push(next);
    }
    group
}

/// Answers; whoever dropped the future does not hear it.
fn reply(sender: oneshot::Sender<Answer>, answer: Answer) {
    if sender.send(answer).is_err() {
        tracing::debug!("nobody waits for an append any more");
    }
}
