//! The ledger: the one door for commands and queries, whoever holds the store.
//!
//! `handle` decides and stages; one append holds everything decided since the last and is made by
//! [`Ledger::commit`], just before a model call, an acknowledgement to somebody outside, or a
//! stop. [`Ledger::answer`] and [`Ledger::begin_execution`] commit by themselves.
//!
//! Where the store is held by another process and that one ends, the next one is found, or this
//! process holds the store from then on; what was asked is asked again under the same id. Nobody
//! above knows.

/// Does something through the door; where that is shut, through the next one, again.
macro_rules! through {
    ($ledger:expr, $run:expr, |$door:ident, $again:ident| $work:expr) => {{
        let mut tries = 0_usize;
        loop {
            if let Err(error) = $ledger.is_where_it_was($run) {
                break Err(error);
            }
            let here = $ledger.door();
            let $again = tries > 0;
            let done = match here.shut() {
                Some(why) => Err(LedgerError::Unreachable(why)),
                None => {
                    let $door = &here.0;
                    // In a box, so that whoever waits for it is not as large as all ways together.
                    Box::pin(async { $work }).await
                }
            };
            let done = match (done, here.shut()) {
                // It was let go of meanwhile.
                (Err(LedgerError::Read(_)), Some(why)) => Err(LedgerError::Unreachable(why)),
                (done, _) => done,
            };
            match done {
                Err(LedgerError::Unreachable(why)) if tries < DOORS_MAX => {
                    tries = tries.saturating_add(1);
                    if let Err(error) = $ledger.change_door(&here, why).await {
                        break Err(error);
                    }
                }
                done => break done,
            }
        }
    }};
}

mod backing_up;
mod create;
mod door;
mod handover;
mod reads;
mod telling;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use futures_util::lock::Mutex as AsyncMutex;
use uuid::Builder;

use crate::answers::AnswerSet;
use crate::authority::{AuthorityCommand, AuthorityState};
use crate::clock::Clock;
use crate::containment::Level;
use crate::content::{Contents, Texts};
use crate::envelope::Envelope;
use crate::error::LedgerError;
use crate::gate_input::Bench;
use crate::id::{CallId, CommandId, DriverId, LedgerId, RunId, Version};
use crate::owner::{Begun, Parts, Seat, Sending, Sent, Work};
use crate::remote::client::Unsettled;
use crate::run::{Caller, Command, RunState};
use crate::time::Timestamp;

pub use crate::id::local_principal;
pub use create::NewLedger;
use door::Way;
pub use door::{Door, Opener, Socket};
use handover::Handover;
use telling::Telling;

/// How often another way is looked for in a row before it is given up.
const DOORS_MAX: usize = 64;

/// A ledger, held in this process or reached through the one that holds it.
#[derive(Clone)]
pub struct Ledger(Arc<Inner>);

struct Inner {
    door: RwLock<Door>,
    opener: Option<Arc<dyn Opener>>,
    /// Held while another way is looked for.
    changing: AsyncMutex<()>,
    /// Why runs are not where they were before the way was changed.
    lost: Mutex<BTreeMap<RunId, LedgerError>>,
    handover: Mutex<Handover>,
    telling: Telling,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledger {
    /// Opens a ledger over a store that holds one, in this process and for it alone.
    pub async fn open(parts: Parts) -> Result<Self, LedgerError> {
        let held = Box::pin(Door::hold(parts, None, || {})).await?;
        Ok(Self::behind(held, None))
    }

    /// A ledger that several processes share.
    pub async fn shared(opener: Arc<dyn Opener>) -> Result<Self, LedgerError> {
        let door = opener.open().await?;
        lets_go(&door)?;
        Ok(Self::behind(door, Some(opener)))
    }

    fn behind(door: Door, opener: Option<Arc<dyn Opener>>) -> Self {
        Self(Arc::new(Inner {
            door: RwLock::new(door),
            opener,
            changing: AsyncMutex::new(()),
            lost: Mutex::default(),
            handover: Mutex::default(),
            telling: Telling::default(),
        }))
    }

    /// Serves nobody any more, and closes the store if it is held here.
    pub fn close(&self) {
        self.door().close();
    }

    /// Whether the store is held in this process.
    pub fn is_owner(&self) -> bool {
        self.door().is_owner()
    }

    fn door(&self) -> Door {
        let door = self.0.door.read();
        door.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_door(&self, door: Door) {
        let mut place = self.0.door.write().unwrap_or_else(PoisonError::into_inner);
        *place = door;
    }

    /// Which ledger it is.
    pub fn ledger(&self) -> LedgerId {
        match &self.door().0 {
            Way::Owner(held) => held.owner.ledger(),
            Way::Remote(client) => client.ledger(),
        }
    }

    /// Who and what is trusted now.
    pub fn authority(&self) -> AuthorityState {
        match &self.door().0 {
            Way::Owner(held) => held.owner.authority(),
            Way::Remote(client) => client.authority(),
        }
    }

    /// Reads what another process appended to the authority stream.
    pub async fn refresh_authority(&self) -> Result<(), LedgerError> {
        through!(self, None, |door, _again| match door {
            Way::Owner(held) => held.owner.refresh_authority().await,
            Way::Remote(client) => client.refresh_authority().await,
        })
    }

    /// The owner's time: its clock, or the newest record if that is later.
    pub fn now(&self) -> Timestamp {
        match &self.door().0 {
            Way::Owner(held) => held.owner.now(),
            Way::Remote(client) => client.now(),
        }
    }

    fn clock(&self) -> Arc<dyn Clock> {
        match &self.door().0 {
            Way::Owner(held) => held.owner.clock().clone(),
            Way::Remote(client) => client.clock().clone(),
        }
    }

    /// Milliseconds on a clock that never steps.
    pub fn monotonic_ms(&self) -> u64 {
        self.clock().monotonic_ms()
    }

    /// An id for a new driver.
    pub async fn new_driver(&self) -> Result<DriverId, LedgerError> {
        through!(self, None, |door, _again| match door {
            Way::Owner(held) => Ok(held.owner.new_driver()),
            Way::Remote(client) => client.new_driver().await,
        })
    }

    /// The process that drives a run, as far as the owner knows.
    pub async fn driver(&self, run: RunId) -> Result<Option<u32>, LedgerError> {
        through!(self, None, |door, _again| match door {
            Way::Owner(held) => Ok(held.owner.driver(run).map(|seat| seat.pid)),
            Way::Remote(client) => client.driver(run).await,
        })
    }

    /// How much work was done in this process since it was opened.
    pub fn work(&self) -> Work {
        match &self.door().0 {
            Way::Owner(held) => held.owner.work(),
            Way::Remote(_) => Work::default(),
        }
    }

    /// Looks at a run with its contents; what is staged counts.
    pub async fn look<T>(
        &self,
        run: RunId,
        look: impl FnOnce(&RunState, &Contents) -> T,
    ) -> Result<T, LedgerError> {
        self.look_with(run, |state, contents, _| look(state, contents))
            .await
    }

    /// Looks at a run with its contents, and at what it is judged by now.
    pub async fn look_with<T>(
        &self,
        run: RunId,
        look: impl FnOnce(&RunState, &Contents, Bench<'_>) -> T,
    ) -> Result<T, LedgerError> {
        let mut look = Some(look);
        through!(self, Some(run), |door, _again| {
            // It is taken only once there is something to look at.
            let once = |state: &RunState, contents: &Contents, bench: Bench<'_>| {
                look.take().map(|look| look(state, contents, bench))
            };
            let looked = match door {
                Way::Owner(held) => held.owner.look_with(run, once).await,
                Way::Remote(client) => client.look(run, once).await,
            };
            looked.and_then(|looked| looked.ok_or(LedgerError::Conflict))
        })
    }

    /// Looks at what every run is judged by now.
    pub fn look_at_authority<T>(&self, look: impl FnOnce(Bench<'_>) -> T) -> T {
        match &self.door().0 {
            Way::Owner(held) => held.owner.look_at_authority(look),
            Way::Remote(client) => client.look_at_authority(look),
        }
    }

    /// Decides a command and stages what comes of it.
    pub async fn handle(
        &self,
        run: RunId,
        caller: &Caller,
        command: Command,
        texts: Texts,
    ) -> Result<Vec<Envelope>, LedgerError> {
        Box::pin(self.send(run, caller, None, (command, texts))).await
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
        Box::pin(self.send(run, caller, Some(seen), act)).await
    }

    async fn send(
        &self,
        run: RunId,
        caller: &Caller,
        seen: Option<Version>,
        act: (Command, Texts),
    ) -> Result<Vec<Envelope>, LedgerError> {
        let mut sent = Unsettled {
            by: caller.clone(),
            seen,
            act,
            sending: self.sending(run).await?,
        };
        through!(self, Some(run), |_door, again| {
            sent.sending.again = again;
            self.door().handle(run, &sent).await
        })
    }

    /// An id for a command about a run.
    async fn sending(&self, run: RunId) -> Result<Sending, LedgerError> {
        let since = match &self.door().0 {
            Way::Owner(_) => None,
            Way::Remote(client) => client.known(run).await,
        };
        new_sending(since)
    }

    /// Makes everything staged for a run durable, in one append.
    pub async fn commit(&self, run: RunId) -> Result<(), LedgerError> {
        let done = through!(self, Some(run), |door, _again| match door {
            Way::Owner(held) => held.owner.commit(run).await,
            Way::Remote(client) => client.commit(run).await,
        });
        Box::pin(self.tell(run)).await?;
        done
    }

    /// Closes what nobody answered in time. Says whether anything was.
    pub async fn expire(&self, run: RunId) -> Result<bool, LedgerError> {
        let done = through!(self, Some(run), |door, _again| match door {
            Way::Owner(held) => held.owner.expire(run).await,
            Way::Remote(client) => client.expire(run).await,
        });
        Box::pin(self.tell(run)).await?;
        done
    }

    /// Records a set of answers: an append of its own, all verdicts or none. The same set again
    /// is answered alike. A refusal is noted in the journal.
    pub async fn answer(
        &self,
        run: RunId,
        caller: &Caller,
        set: AnswerSet,
    ) -> Result<(), LedgerError> {
        let done = through!(self, Some(run), |door, _again| match door {
            Way::Owner(held) => held.owner.answer_set(run, Sent::here(caller), &set).await,
            Way::Remote(client) => client.answer(run, caller, &set).await,
        });
        Box::pin(self.tell(run)).await?;
        done
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
        let act = (command, texts);
        let mut sending = self.sending(run).await?;
        let done = through!(self, Some(run), |door, again| {
            sending.again = again;
            match door {
                Way::Owner(held) => {
                    let owner = &held.owner;
                    match owner.before(run.stream(), sending).await {
                        Ok(None) => owner.act_on(run, here(caller, sending), act.clone()).await,
                        Ok(Some(records)) => Ok(records),
                        Err(error) => Err(error),
                    }
                }
                Way::Remote(client) => client.act(run, caller, &act, sending).await,
            }
        });
        Box::pin(self.tell(run)).await?;
        done
    }

    /// Notes an answer that was refused before it became a set.
    pub async fn note_refused(&self, run: RunId, caller: &Caller) {
        if let Err(error) = self.try_note_refused(run, caller).await {
            tracing::warn!(%run, %error, "a refused answer could not be noted");
        }
    }

    async fn try_note_refused(&self, run: RunId, caller: &Caller) -> Result<(), LedgerError> {
        through!(self, None, |door, _again| match door {
            Way::Owner(held) => {
                held.owner.note_refused(run, caller).await;
                Ok(())
            }
            Way::Remote(client) => client.note_refused(run, caller).await,
        })
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
        let mut sending = self.sending(run).await?;
        let done = through!(self, Some(run), |door, again| {
            sending.again = again;
            let start = (call, active_ms, level.clone());
            match door {
                Way::Owner(held) => {
                    let owner = &held.owner;
                    match owner.before(run.stream(), sending).await {
                        Ok(None) => {
                            owner
                                .begin(run, (Seat::here(), Some(sending.id)), start)
                                .await
                        }
                        Ok(Some(records)) => {
                            let again = (call, start.2, records);
                            owner.permit_again(run, Seat::here(), again).await
                        }
                        Err(error) => Err(error),
                    }
                }
                Way::Remote(client) => client.begin(run, start, sending).await,
            }
        });
        Box::pin(self.tell(run)).await?;
        done
    }

    /// Records what a person says about authority, in an append of its own: what runs unasked in
    /// every run, and by which rules all are judged.
    pub async fn authorise(
        &self,
        caller: &Caller,
        command: AuthorityCommand,
        texts: Texts,
    ) -> Result<Envelope, LedgerError> {
        let mut sending = new_sending(Some(self.authority().version()))?;
        let stream = self.ledger().authority();
        through!(self, None, |door, again| {
            sending.again = again;
            match door {
                Way::Owner(held) => {
                    let owner = &held.owner;
                    let before = owner.before(stream, sending).await;
                    match before.map(|records| records.and_then(|all| all.into_iter().next())) {
                        Ok(None) => {
                            let sent = here(caller, sending);
                            owner.authorise(sent, command, texts.clone()).await
                        }
                        Ok(Some(record)) => Ok(record),
                        Err(error) => Err(error),
                    }
                }
                Way::Remote(client) => client.authorise(caller, (command, &texts), sending).await,
            }
        })
    }

    /// Whether a call must be judged before it can have a verdict.
    pub async fn is_unjudged(&self, run: RunId, call: CallId) -> Result<bool, LedgerError> {
        through!(self, Some(run), |door, _again| match door {
            Way::Owner(held) => held.owner.is_unjudged(run, call).await,
            Way::Remote(client) => client.is_unjudged(run, call).await,
        })
    }
}

fn lets_go(door: &Door) -> Result<(), LedgerError> {
    let waits = door.let_go_when_closed();
    waits.map_err(|error| LedgerError::Failed(error.to_string()))
}

/// Somebody in this process, with a command that was given an id.
fn here(caller: &Caller, sending: Sending) -> Sent<'_> {
    Sent {
        caller,
        seat: Seat::here(),
        id: Some(sending.id),
    }
}

fn new_sending(since: Option<Version>) -> Result<Sending, LedgerError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| LedgerError::Failed(error.to_string()))?;
    Ok(Sending {
        id: CommandId::new(Builder::from_random_bytes(bytes).into_uuid()),
        again: false,
        since,
    })
}
