//! The ledger: the one door for commands and queries.
//!
//! `handle` decides and stages; one append holds everything decided since the last and is made by
//! [`Ledger::commit`], just before a model call, an acknowledgement to somebody outside, or a
//! stop. [`Ledger::answer`] and [`Ledger::begin_execution`] commit by themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::answers::AnswerSet;
use crate::approval::{Actor, Answer, CallAnswer};
use crate::authority::AuthorityState;
use crate::clock::Stamps;
use crate::content::{Blob, Content, Contents, Text, Texts, size_class};
use crate::envelope::{Envelope, Header, ledger_genesis};
use crate::error::LedgerError;
use crate::event::{Change, Event, LedgerCreated, RulesAdopted};
use crate::id::{CallId, LedgerId, Name, Principal, RunId, Version};
use crate::owner::{Begun, Owner, Parts, Work};
use crate::run::{Caller, Close, Command, Phase, Rejection, RunState};
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

    /// Makes everything staged for a run durable, in one append.
    pub async fn commit(&self, run: RunId) -> Result<(), LedgerError> {
        self.0.commit(run).await
    }

    /// Closes what nobody answered in time. Says whether anything was.
    pub async fn expire(&self, run: RunId) -> Result<bool, LedgerError> {
        let due = {
            let now = self.now();
            self.look(run, |state, _| {
                state.expires_at().is_some_and(|at| now >= at)
            })
            .await?
        };
        if due {
            self.handle(run, &Caller::Driver, Command::Expire, Texts::new())
                .await?;
            self.commit(run).await?;
        }
        Ok(due)
    }

    /// Records a set of answers: an append of its own, all verdicts or none. The same set again
    /// is answered alike.
    pub async fn answer(
        &self,
        run: RunId,
        caller: &Caller,
        set: AnswerSet,
    ) -> Result<(), LedgerError> {
        let texts: Texts = set
            .iter()
            .filter_map(|line| {
                let note = line.note.as_ref().filter(|note| !note.is_empty())?;
                Some((format!("note.{}", line.call), Text::plain(note.clone())))
            })
            .collect();
        for _ in 0..ANSWER_TRIES_MAX {
            if self
                .look(run, |state, contents| is_recorded(state, contents, &set))
                .await?
            {
                return Ok(());
            }
            let expired = match self.expire(run).await {
                Err(LedgerError::Conflict) => continue,
                other => other?,
            };
            let command = Command::Answer(set.clone());
            let decided = self.handle(run, caller, command, texts.clone()).await;
            match decided {
                Err(LedgerError::Rejected(Rejection::Finished(_))) if expired => {
                    self.0.note_refused(run, caller).await?;
                    let call = set.iter().next().map_or(CallId::FIRST, |line| line.call);
                    return Err(Rejection::Expired(call).into());
                }
                Err(error @ LedgerError::Rejected(_)) => {
                    self.0.note_refused(run, caller).await?;
                    let again =
                        |state: &RunState, _: &Contents| state.last_answer() == Some(set.id());
                    if self.look(run, again).await? {
                        let calls = set.iter().map(|line| line.call).collect();
                        return Err(Rejection::AlreadyAnswered(calls).into());
                    }
                    return Err(error);
                }
                Err(error) => return Err(error),
                Ok(_) => {}
            }
            match self.commit(run).await {
                Err(LedgerError::Conflict) => {}
                other => return other,
            }
        }
        Err(LedgerError::Conflict)
    }

    /// Notes an answer that was refused before it became a set.
    pub async fn note_refused(&self, run: RunId, caller: &Caller) -> Result<(), LedgerError> {
        self.0.note_refused(run, caller).await
    }

    /// Starts an allowed call. `active_ms` is how long the segment was active so far.
    pub async fn begin_execution(
        &self,
        run: RunId,
        call: CallId,
        active_ms: u64,
    ) -> Result<Begun, LedgerError> {
        self.0.begin(run, call, active_ms).await
    }
}

/// Whether this very set was recorded before, notes included.
fn is_recorded(state: &RunState, contents: &Contents, set: &AnswerSet) -> bool {
    let recorded = |line: &CallAnswer| {
        let Some(call) = state.call(line.call) else {
            return false;
        };
        let note = call.note().and_then(|note| contents.text(&note.commitment));
        let said = line.note.as_deref().filter(|note| !note.is_empty());
        let same = match line.answer {
            Answer::Approve => call.grant().is_some_and(crate::run::Grant::by_person),
            Answer::Deny => call.phase() == Phase::Closed(Close::Denied),
        };
        same && note == said
    };
    state.last_answer() == Some(set.id()) && set.iter().all(recorded)
}

/// The name under which a local user without a proof of identity answers.
pub fn local_principal(uid: u32) -> Result<Principal, crate::id::IdError> {
    Name::try_from(format!("uid:{uid}"))
}
