//! The journal: facts about the ledger itself, in a chain of their own.

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

/// How far a clock may lag behind the log before that is noted.
const LAG_MS_MAX: u64 = 5_000;

/// Refused answers that one process records one by one; further ones change nothing, so that
/// guessing cannot fill the disk.
const ATTEMPTS_MAX: u32 = 64;

/// How often a note is written again after another process wrote one first.
const NOTE_TRIES_MAX: usize = 8;

/// Where the journal ends.
#[derive(Default)]
pub(super) struct Journal {
    head: Option<(Version, Digest, EventId)>,
    loaded: bool,
    attempts: u32,
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
        {
            let mut journal = self.journal.lock().await;
            if journal.attempts >= ATTEMPTS_MAX {
                return Ok(());
            }
            journal.attempts = journal.attempts.saturating_add(1);
        }
        let (kind, run) = (AttemptKind::Answer, Some(run));
        let event = AttemptRefused {
            call: None,
            channel,
            count: 1,
            kind,
            run,
        };
        self.note(Event::AttemptRefused(event)).await
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
        if !journal.loaded {
            let records = read_stream(&**store, stream, Version::ZERO).await?;
            let last = records.last().map(|last| &last.envelope);
            journal.head = last.map(|last| (last.version(), last.digest(), last.header().id));
            journal.loaded = true;
        }
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
        let id = self.parts.stamps.id(stream, version, at);
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
        journal.head = Some((version, envelope.digest(), id));
        Ok(())
    }
}
