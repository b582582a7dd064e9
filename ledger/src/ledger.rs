//! The ledger: the one door for commands and queries.
//!
//! `handle` decides and stages; one append holds everything decided since the last and is made by
//! [`Ledger::commit`], just before a model call, an acknowledgement to somebody outside, or a
//! stop. [`Ledger::answer`] and [`Ledger::begin_execution`] commit by themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::answers::AnswerSet;
use crate::approval::Actor;
use crate::authority::{AuthorityCommand, AuthorityState};
use crate::clock::Stamps;
use crate::containment::Level;
use crate::content::{Blob, Content, Contents, Text, Texts, size_class};
use crate::envelope::{Envelope, Header, ledger_genesis};
use crate::error::LedgerError;
use crate::event::{Change, Event, LedgerCreated, RulesAdopted};
use crate::gate_input::Bench;
use crate::id::{CallId, DriverId, LedgerId, Name, Principal, RunId, Version};
use crate::owner::{Begun, Owner, Parts, Work};
use crate::run::{Caller, Command, RunState};
use crate::store::{Batch, EventStore, Expected};
use crate::time::Timestamp;

/// How often an answer is decided again after somebody else moved the run.
const ANSWER_TRIES_MAX: usize = 8;

/// A ledger, open in this process.
#[derive(Clone)]
pub struct Ledger(Arc<Owner>);

/// What a new ledger is made with.
#[derive(Debug, Clone)]
pub struct NewLedger {
    /// Its id.
    pub ledger: LedgerId,
    /// Format, journal and keys.
    pub created: LedgerCreated,
    /// The rules in force from the start, as JSON.
    pub rules: Vec<u8>,
    /// Who creates it.
    pub by: Principal,
}

impl Ledger {
    /// Writes the first records of a new ledger into an empty store.
    pub async fn create(
        store: &dyn EventStore,
        stamps: &dyn Stamps,
        new: NewLedger,
    ) -> Result<(), LedgerError> {
        let (ledger, stream) = (new.ledger, new.ledger.authority());
        let at = stamps.at(stream, Version::ZERO, Timestamp::EPOCH);
        let header = Header {
            actor: Actor::Person { name: new.by },
            at,
            cause: None,
            id: stamps.id(stream, Version::ZERO, at),
            ledger,
            prev: ledger_genesis(ledger),
            stream,
            version: Version::ZERO,
        };
        let created = Envelope::write(
            header.clone(),
            Event::LedgerCreated(new.created),
            BTreeMap::new(),
        )?;
        let version = Version::new(1);
        let at = stamps.at(stream, version, header.at);
        let text = Text::json(new.rules);
        let salt = stamps.salt(stream, version, "text", &text.bytes);
        let content = Content::new(salt, text.bytes);
        let size = size_class(content.bytes.len() as u64);
        let commitment = content.commitment();
        let blob = Blob {
            commitment,
            media: text.media,
            size,
        };
        let cause = Some(header.id);
        let id = stamps.id(stream, version, at);
        let header = Header {
            at,
            cause,
            id,
            prev: created.digest(),
            version,
            ..header
        };
        let event = Event::RulesAdopted(RulesAdopted {
            change: Change::First,
        });
        let blobs = BTreeMap::from([(String::from("text"), blob)]);
        let adopted = Envelope::write(header, event, blobs)?;
        let contents = BTreeMap::from([(commitment, content)]);
        let batch = Batch {
            records: vec![created, adopted],
            contents,
        };
        store.append(stream, Expected::Start, batch, &[]).await?;
        Ok(())
    }

    /// Opens a ledger over a store that holds one.
    pub async fn open(parts: Parts) -> Result<Self, LedgerError> {
        Owner::open(parts).await.map(|owner| Self(Arc::new(owner)))
    }

    /// Who and what is trusted now.
    pub fn authority(&self) -> AuthorityState {
        self.0.authority()
    }

    /// Reads what another process appended to the authority stream.
    pub async fn refresh_authority(&self) -> Result<(), LedgerError> {
        self.0.refresh_authority().await
    }

    /// The store, for reading.
    pub fn store(&self) -> &Arc<dyn EventStore> {
        self.0.store()
    }

    /// The owner's time: its clock, or the newest record if that is later.
    pub fn now(&self) -> Timestamp {
        self.0.now()
    }

    /// Milliseconds on a clock that never steps.
    pub fn monotonic_ms(&self) -> u64 {
        self.0.clock().monotonic_ms()
    }

    /// An id for a new driver.
    pub fn new_driver(&self) -> DriverId {
        self.0.new_driver()
    }

    /// How much work was done since it was opened.
    pub fn work(&self) -> Work {
        self.0.work()
    }

    /// Looks at a run with its contents; what is staged counts.
    pub async fn look<T>(
        &self,
        run: RunId,
        look: impl FnOnce(&RunState, &Contents) -> T,
    ) -> Result<T, LedgerError> {
        self.0.look(run, look).await
    }

    /// Decides a command and stages what comes of it.
    pub async fn handle(
        &self,
        run: RunId,
        caller: &Caller,
        command: Command,
        texts: Texts,
    ) -> Result<Vec<Envelope>, LedgerError> {
        self.0.handle(run, caller, command, texts).await
    }

    /// The same for a command that rests on what the run was at `seen`: it is out of turn where the
    /// run went on since.
    pub async fn handle_at(
        &self,
        run: RunId,
        caller: &Caller,
        seen: Version,
        act: (Command, Texts),
    ) -> Result<Vec<Envelope>, LedgerError> {
        self.0.handle_at(run, caller, seen, act).await
    }

    /// Makes everything staged for a run durable, in one append.
    pub async fn commit(&self, run: RunId) -> Result<(), LedgerError> {
        self.0.commit(run).await
    }

    /// Closes what nobody answered in time. Says whether anything was.
    pub async fn expire(&self, run: RunId) -> Result<bool, LedgerError> {
        self.0.expire(run).await
    }

    /// Records a set of answers: an append of its own, all verdicts or none. The same set again
    /// is answered alike. A refusal is noted in the journal.
    pub async fn answer(
        &self,
        run: RunId,
        caller: &Caller,
        set: AnswerSet,
    ) -> Result<(), LedgerError> {
        for _ in 0..ANSWER_TRIES_MAX {
            match self.0.answer(run, caller, &set).await {
                // The set keeps the requests that were displayed: what came since is not in it.
                Err(LedgerError::Conflict) => {}
                Err(error @ LedgerError::Rejected(_)) => {
                    self.0.note_refused(run, caller).await;
                    return Err(error);
                }
                other => return other,
            }
        }
        Err(LedgerError::Conflict)
    }

    /// Records what a person says about a run, in an append of its own: an amendment with its new
    /// verdict, a reply, a doubt settled, an approval taken back, a message, a policy, a wish that
    /// the run end. What would have granted something and was refused is noted in the journal.
    pub async fn act(
        &self,
        run: RunId,
        caller: &Caller,
        command: Command,
        texts: Texts,
    ) -> Result<Vec<Envelope>, LedgerError> {
        let grants = matches!(
            command,
            Command::Amend(_) | Command::Reply { .. } | Command::SettleDoubt { .. }
        );
        for _ in 0..ANSWER_TRIES_MAX {
            let acted = self.0.act(run, caller, command.clone(), texts.clone());
            match acted.await {
                // It names what was displayed: what came since is not meant by it.
                Err(LedgerError::Conflict) => {}
                Err(error @ LedgerError::Rejected(_)) => {
                    if grants {
                        self.0.note_refused(run, caller).await;
                    }
                    return Err(error);
                }
                other => return other,
            }
        }
        Err(LedgerError::Conflict)
    }

    /// Notes an answer that was refused before it became a set.
    pub async fn note_refused(&self, run: RunId, caller: &Caller) {
        self.0.note_refused(run, caller).await;
    }

    /// Starts an allowed call. `active_ms` is how long the segment was active so far, `level` how
    /// far this machine can shut in a process.
    pub async fn begin_execution(
        &self,
        run: RunId,
        call: CallId,
        active_ms: u64,
        level: Level,
    ) -> Result<Begun, LedgerError> {
        self.0.begin(run, call, active_ms, level).await
    }

    /// Records what a person says about authority, in an append of its own: what runs unasked in
    /// every run, and by which rules all are judged.
    pub async fn authorise(
        &self,
        caller: &Caller,
        command: AuthorityCommand,
        texts: Texts,
    ) -> Result<Envelope, LedgerError> {
        self.0.authorise(caller, command, texts).await
    }

    /// Whether a call must be judged before it can have a verdict.
    pub async fn is_unjudged(&self, run: RunId, call: CallId) -> Result<bool, LedgerError> {
        self.0.is_unjudged(run, call).await
    }

    /// Looks at a run with its contents, and at what it is judged by now.
    pub async fn look_with<T>(
        &self,
        run: RunId,
        look: impl FnOnce(&RunState, &Contents, Bench<'_>) -> T,
    ) -> Result<T, LedgerError> {
        self.0.look_with(run, look).await
    }

    /// Looks at what every run is judged by now.
    pub fn look_at_authority<T>(&self, look: impl FnOnce(Bench<'_>) -> T) -> T {
        self.0.look_at_authority(look)
    }
}

/// The name under which a local user without a proof of identity answers.
pub fn local_principal(uid: u32) -> Result<Principal, crate::id::IdError> {
    Name::try_from(format!("uid:{uid}"))
}
