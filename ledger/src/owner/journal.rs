//! The journal: facts about the ledger itself, in a chain of their own.

use std::collections::VecDeque;

use super::Owner;
use crate::approval::{Actor, Channel};
use crate::content::Blobs;
use crate::digest::Digest;
use crate::envelope::{Envelope, Header, stream_genesis};
use crate::error::LedgerError;
use crate::event::{AttemptKind, AttemptRefused, ClockStepped, Event};
use crate::id::{EventId, RunId, Version};
use crate::run::Caller;
use crate::store::pages::read_stream;
use crate::store::{Batch, Expected};
use crate::time::Timestamp;

/// How far a clock may lag behind the log before that is noted.
const LAG_MS_MAX: u64 = 5_000;

/// Refused answers that are recorded one by one in an hour; further ones change nothing, so that
/// guessing cannot fill the disk, whichever processes do it.
const ATTEMPTS_MAX: usize = 64;

/// The hour.
const ATTEMPTS_MS: u64 = 3_600_000;

/// How often a note is written again after another process wrote one first.
const NOTE_TRIES_MAX: usize = 8;

/// Where the journal ends.
#[derive(Default)]
pub(super) struct Journal {
    head: Option<(Version, Digest, EventId)>,
    loaded: bool,
    /// When the newest refused answers came, oldest first; at most as many as count.
    attempts: VecDeque<Timestamp>,
}

impl Journal {
    fn saw(&mut self, record: &Envelope) {
        let header = record.header();
        self.head = Some((header.version, record.digest(), header.id));
        if let Event::AttemptRefused(_) = record.event() {
            self.attempts.push_back(header.at);
            if self.attempts.len() > ATTEMPTS_MAX {
                self.attempts.pop_front();
            }
        }
    }
}

impl Owner {
    /// Notes that somebody was refused who wanted to answer. The run is not changed.
    pub(super) async fn try_note_refused(
        &self,
        run: RunId,
        caller: &Caller,
    ) -> Result<(), LedgerError> {
        let channel = match caller {
            Caller::Person { channel, .. } => *channel,
            Caller::Driver => Channel::Cli,
        };
        let kind = AttemptKind::Answer;
        self.note_attempt(kind, Some(run), channel).await
    }

    /// Notes something that was refused. No run is changed.
    pub(crate) async fn note_attempt(
        &self,
        kind: AttemptKind,
        run: Option<RunId>,
        channel: Channel,
    ) -> Result<(), LedgerError> {
        if self.attempts_are_many().await? {
            return Ok(());
        }
        let event = AttemptRefused {
            call: None,
            channel,
            count: 1,
            kind,
            run,
        };
        self.note(Event::AttemptRefused(event)).await
    }

    /// Whether so many refused answers were recorded of late that one more tells nothing.
    async fn attempts_are_many(&self) -> Result<bool, LedgerError> {
        let mut journal = self.journal.lock().await;
        self.load_journal(&mut journal).await?;
        let oldest = journal.attempts.front();
        let many = journal.attempts.len() >= ATTEMPTS_MAX;
        Ok(many && oldest.is_some_and(|at| self.now().ms_since(*at) < ATTEMPTS_MS))
    }

    async fn load_journal(&self, journal: &mut Journal) -> Result<(), LedgerError> {
        if journal.loaded {
            return Ok(());
        }
        *journal = Journal::default();
        let stream = self.authority().journal();
        for record in read_stream(&*self.parts.store, stream, Version::ZERO).await? {
            journal.saw(&record.envelope);
        }
        journal.loaded = true;
        Ok(())
    }

    /// Notes a clock that stands behind the log.
    pub(super) async fn note_clock(&self) -> Result<(), LedgerError> {
        let step_ms = self.now().ms_since(self.parts.clock.now());
        if step_ms <= LAG_MS_MAX {
            return Ok(());
        }
        match self
            .note(Event::ClockStepped(ClockStepped { step_ms }))
            .await
        {
            // A ledger that is open for reading alone is still worth reading.
            Err(LedgerError::Closed(_)) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn note(&self, event: Event) -> Result<(), LedgerError> {
        for _ in 0..NOTE_TRIES_MAX {
            match self.note_once(event.clone()).await {
                Err(LedgerError::Conflict) => {}
                other => return other,
            }
        }
        Err(LedgerError::Conflict)
    }

    async fn note_once(&self, event: Event) -> Result<(), LedgerError> {
        let mut journal = self.journal.lock().await;
        let authority = self.authority();
        let (stream, store) = (authority.journal(), &self.parts.store);
        self.load_journal(&mut journal).await?;
        let (version, prev, expected, cause) = match journal.head {
            None => {
                let prev = stream_genesis(authority.ledger(), authority.created(), stream);
                (Version::ZERO, prev, Expected::Start, None)
            }
            Some((version, digest, id)) => {
                let full = || LedgerError::Closed(String::from("the journal is full"));
                let next = version.next().ok_or_else(full)?;
                (next, digest, Expected::Head { version, digest }, Some(id))
            }
        };
        let at = self.parts.stamps.at(stream, version, self.now());
        let id = self.parts.stamps.id(stream, version, at, None);
        let ledger = authority.ledger();
        let actor = Actor::Engine;
        let header = Header {
            actor,
            at,
            cause,
            id,
            ledger,
            prev,
            stream,
            version,
        };
        let envelope = Envelope::write(header, event, Blobs::new())?;
        let batch = Batch {
            records: vec![envelope.clone()],
            ..Batch::default()
        };
        if let Err(error) = store.append(stream, expected, batch, &[]).await {
            journal.loaded = false;
            return Err(error.into());
        }
        self.saw(at);
        journal.saw(&envelope);
        Ok(())
    }
}
