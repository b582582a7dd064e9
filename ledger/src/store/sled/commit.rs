//! The committer: one thread that writes what is waiting as one group, and never decides.
//!
//! Nothing is written once the head file, and with it the lock on all copies, lost its name. A
//! group is compared append by append, each against what the ones before it would leave. Then:
//! one frame to the log, with one write and one `fdatasync`; the head file where something outside
//! will rest on the group (else the anchor writes it later); memory, which readers see; and only
//! then the answers. After any error of these the store is closed for writing, and so it is where
//! the disk takes longer than can be waited for: what lies on disk is known once it is opened.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use futures_channel::oneshot;
use rustix::fs::fstatvfs;

use super::anchor::Anchor;
use super::draft::{Draft, Ready};
use super::fault::{FaultPoint, Faults};
use super::keyring::Sealed;
use super::log::{self, Half};
use super::memory::{Heads, Written};
use super::shared::{Reserved, Shared};
use super::watch::Watch;
use crate::envelope::Envelope;
use crate::event::Event;
use crate::id::Position;
use crate::limits::ROOM_BYTES_MIN;
use crate::merkle::Frontier;
use crate::store::check::{Attempt, Verdict};
use crate::store::head::HeadError;
use crate::store::{AppendError, Appended, chain};

/// Records that one group may hold before no other append is added to it.
const GROUP_RECORDS: usize = 4_096;

/// Bytes that one group may hold before no other append is added to it.
const GROUP_BYTES: usize = 8 * 1024 * 1024;

/// Bytes that are kept to make frames in.
const FRAME_BYTES_KEPT: usize = 1024 * 1024;

/// Heads that are kept in memory.
const KNOWN_MAX: usize = 4_096;

pub(super) type Answer = Result<Appended, AppendError>;

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
    #[error("writing the log failed")]
    Log(#[source] io::Error),
    #[error("there is no room in the log, and nobody makes any")]
    NoHalf,
    #[error("writing the head failed")]
    Head(#[from] HeadError),
    #[error("the commit was stopped")]
    Fault(#[source] io::Error),
}

/// Where the next frame goes.
#[derive(Debug)]
pub(super) struct Pen {
    pub(super) halves: [File; 2],
    pub(super) half: Half,
    pub(super) at: u64,
    /// Bytes that the half has.
    pub(super) length: u64,
    pub(super) epoch: u64,
    /// The frame that was written last: the next one is made in its place.
    pub(super) frame: Vec<u8>,
}

/// The one writer of a store.
pub(super) struct Committer {
    pub(super) shared: Arc<Shared>,
    pub(super) pen: Pen,
    pub(super) anchor: Arc<Anchor>,
    pub(super) frontier: Frontier,
    pub(super) known: Heads,
    pub(super) faults: Arc<dyn Faults>,
    pub(super) watch: Arc<Watch>,
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
        Ok(self.anchor.write(&self.frontier)?)
    }

    fn commit(&mut self, group: Vec<Request>) {
        if self.shared.closed().is_none()
            && let Err(error) = self.anchor.check()
        {
            let reason = chain(&error);
            tracing::error!(error = reason, "the store is closed for writing");
            self.shared.close(&reason);
        }
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
        let shared = Arc::clone(&self.shared);
        let mut draft = Draft::new(shared.reader(), &self.known, self.frontier.clone());
        let mut answers = Vec::with_capacity(group.len());
        for request in group {
            let answer = self
                .room_for(&request.attempt)
                .and_then(|()| compare(&mut draft, &request.attempt, request.sealed));
            answers.push((Some(request.answer), answer, request.reserved));
        }
        let first = draft.first();
        // Should the disk not come back, they are told by whoever watches.
        let senders = answers.iter_mut().map(|(sender, ..)| sender.take());
        self.watch.begin(senders.collect());
        let written = if draft.is_empty() {
            Ok(())
        } else {
            let ready = draft.finish();
            self.write(ready)
        };
        let senders = self.watch.end();
        if let Err(error) = &written {
            let reason = chain(error);
            tracing::error!(error = reason, "the store is closed for writing");
            self.shared.close(&reason);
        }
        for (sender, (_, answer, reserved)) in senders.into_iter().zip(answers) {
            drop(reserved);
            if let Some(sender) = sender {
                reply(sender, self.judge(answer, first, written.as_ref().err()));
            }
        }
    }

    /// What is started must find room for its outcome.
    fn room_for(&self, attempt: &Attempt) -> Result<(), AppendError> {
        let starts = |record: &Envelope| matches!(record.event(), Event::ExecutionStarted(_));
        if !attempt.records.iter().any(starts) {
            return Ok(());
        }
        // Where the system does not tell, the append itself will.
        let told = fstatvfs(self.pen.file()).ok();
        let free = told.map(|told| told.f_bavail.saturating_mul(told.f_frsize));
        match free.map(|free| self.faults.room(free)) {
            Some(free_bytes) if free_bytes < ROOM_BYTES_MIN => {
                Err(AppendError::NoRoom { free_bytes })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// One group, from the first byte to the last sync. The order of its steps is the promise.
    fn write(&mut self, ready: Ready) -> Result<(), CommitError> {
        let reach = |point| self.faults.reach(point).map_err(CommitError::Fault);
        reach(FaultPoint::BeforeFrame)?;
        let half = self.pen.write(&self.shared, &ready)?;
        reach(FaultPoint::AfterFrame)?;
        self.pen.sync()?;
        reach(FaultPoint::AfterSync)?;
        if ready.anchored || self.is_head_behind(&ready.frontier) {
            self.anchor.write(&ready.frontier)?;
        }
        reach(FaultPoint::BeforeAnswer)?;
        self.frontier = ready.frontier.clone();
        let frame = Written {
            first: ready.first,
            entries: ready.entries,
            frontier: ready.frontier,
            half,
            bytes: ready.bytes,
        };
        self.shared
            .publish(Arc::new(frame), &ready.heads, &ready.begun);
        for (stream, _) in ready.begun {
            self.shared.settle(stream);
        }
        self.known.extend(ready.heads);
        self.anchor.later(&self.frontier);
        Ok(())
    }

    /// Nothing above the head is sealed: it must go on where nothing else rests on it, too.
    fn is_head_behind(&self, frontier: &Frontier) -> bool {
        let behind = frontier.size().checked_sub(self.anchor.size());
        behind.is_some_and(|behind| behind >= self.faults.sealing().head)
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

impl Pen {
    fn file(&self) -> &File {
        let [first, second] = &self.halves;
        if self.half == 0 { first } else { second }
    }

    /// Begins the half anew, since sled holds all of the log; gives back the other one, which is
    /// free, and how large it is.
    pub(super) fn begin_anew(&mut self) -> io::Result<(Half, u64)> {
        let [first, second] = &self.halves;
        let other = log::other(self.half);
        let file = if other == 0 { first } else { second };
        (self.at, self.epoch) = (0, self.epoch.saturating_add(1));
        Ok((other, file.metadata()?.len()))
    }

    /// Writes one frame; gives back the half in which it lies.
    fn write(&mut self, shared: &Shared, ready: &Ready) -> Result<Half, CommitError> {
        let mut bytes = std::mem::take(&mut self.frame);
        log::encode(&mut bytes, self.epoch, ready.first, &ready.entries);
        let end = self.at.saturating_add(bytes.len() as u64);
        if self.at > 0 && end > self.length {
            let half = log::other(self.half);
            self.length = shared.moving.take(half).ok_or(CommitError::NoHalf)?;
            (self.half, self.at) = (half, 0);
            self.epoch = self.epoch.saturating_add(1);
            log::encode(&mut bytes, self.epoch, ready.first, &ready.entries);
        }
        self.file()
            .write_all_at(&bytes, self.at)
            .map_err(CommitError::Log)?;
        self.at = self.at.saturating_add(bytes.len() as u64);
        bytes.shrink_to(FRAME_BYTES_KEPT);
        self.frame = bytes;
        Ok(self.half)
    }

    /// Makes what was written durable; the size of a file that grew as well.
    fn sync(&mut self) -> Result<(), CommitError> {
        let synced = if self.at > self.length {
            self.length = self.at;
            self.file().sync_all()
        } else {
            self.file().sync_data()
        };
        synced.map_err(CommitError::Log)
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
