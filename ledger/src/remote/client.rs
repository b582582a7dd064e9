//! A process that does not hold the store: it sends what it wants done, and looks at what it was
//! sent.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::lock::Mutex as AsyncMutex;

use super::frame::Attachment;
use super::handed::{Authority, contents, stored, unexpected};
use super::hello::{Build, ClientKeys, HelloError};
use super::line::{Line, gone};
use super::mirror::Mirror;
use super::protocol::{Ask, Reply, Speaker, named};
use crate::answers::AnswerSet;
use crate::approval::Channel;
use crate::authority::{AuthorityCommand, AuthorityState, Standing};
use crate::backup::Backup;
use crate::clock::Clock;
use crate::containment::Level;
use crate::content::{Commitment, Contents, Texts};
use crate::envelope::Envelope;
use crate::error::LedgerError;
use crate::gate_input::Bench;
use crate::id::{CallId, DriverId, LedgerId, Position, RunId, StreamId, Version};
use crate::owner::{Begun, Sending};
use crate::permit::Permit;
use crate::projection::{Answer, Query};
use crate::run::{Caller, Command, Origin, Rejection, RunState};
use crate::store::{Stored, Tail, chain};
use crate::time::Timestamp;

/// Runs that are kept in memory.
const MIRRORS_MAX: usize = 256;

/// A command that was staged and is not durable, as it was sent.
#[derive(Clone)]
pub(crate) struct Unsettled {
    pub(crate) by: Caller,
    pub(crate) seen: Option<Version>,
    pub(crate) act: (Command, Texts),
    pub(crate) sending: Sending,
}

/// The way to a ledger that another process holds.
pub(crate) struct Client {
    line: Line,
    clock: Arc<dyn Clock>,
    authority: Mutex<Arc<Authority>>,
    mirrors: Mutex<BTreeMap<RunId, Arc<AsyncMutex<Mirror>>>>,
    /// What was staged by this way and is not durable as far as is known; `None` once it was taken
    /// to another one.
    unsettled: Mutex<Option<BTreeMap<RunId, Vec<Unsettled>>>>,
    newest: Mutex<Timestamp>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn channel(caller: &Caller) -> Channel {
    match caller {
        Caller::Person { channel, .. } => *channel,
        Caller::Driver => Channel::Cli,
    }
}

/// The way in of a person. The owner takes whoever says what people say for the person at the other
/// end: what is not from one does not go there.
fn way_in(caller: &Caller) -> Result<Channel, LedgerError> {
    match caller {
        Caller::Person { channel, .. } => Ok(*channel),
        Caller::Driver => Err(Rejection::NotAPerson.into()),
    }
}

impl Client {
    /// Connects, says hello, and reads who and what is trusted.
    pub(crate) async fn connect(
        stream: UnixStream,
        (build, keys): (&Build, &ClientKeys),
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ConnectError> {
        let line = Line::open(stream, build, keys)?;
        let authority = Authority::read(&line).await?;
        Ok(Self {
            line,
            clock,
            authority: Mutex::new(Arc::new(authority)),
            mirrors: Mutex::default(),
            unsettled: Mutex::new(Some(BTreeMap::new())),
            newest: Mutex::new(Timestamp::EPOCH),
        })
    }

    pub(crate) fn ledger(&self) -> LedgerId {
        self.line.ledger
    }

    /// The number of the connection, as the owner knows it.
    pub(crate) fn seat(&self) -> u64 {
        self.line.seat
    }

    pub(crate) fn authority(&self) -> AuthorityState {
        lock(&self.authority).state.clone()
    }

    pub(crate) async fn refresh_authority(&self) -> Result<(), LedgerError> {
        let authority = Authority::read(&self.line).await?;
        *lock(&self.authority) = Arc::new(authority);
        Ok(())
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now().max(*lock(&self.newest))
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn look_at_authority<T>(&self, look: impl FnOnce(Bench<'_>) -> T) -> T {
        let authority = lock(&self.authority).clone();
        look(self.bench(&authority))
    }

    fn bench<'a>(&self, authority: &'a Authority) -> Bench<'a> {
        let standing = Standing {
            state: &authority.state,
            contents: &authority.contents,
        };
        Bench {
            standing,
            at: self.now(),
            weaker: None,
        }
    }

    /// Looks at a run as it is now, staged records included, and at who and what is trusted.
    pub(crate) async fn look<T>(
        &self,
        run: RunId,
        look: impl FnOnce(&RunState, &Contents, Bench<'_>) -> T,
    ) -> Result<T, LedgerError> {
        let mirror = self.mirror(run);
        let mut mirror = mirror.lock().await;
        let newest = self.catch_up(run, &mut mirror).await?;
        if lock(&self.authority).state.version() < newest {
            self.refresh_authority().await?;
        }
        let authority = lock(&self.authority).clone();
        let bench = self.bench(&authority);
        Ok(look(mirror.state(run)?, &mirror.contents, bench))
    }

    fn mirror(&self, run: RunId) -> Arc<AsyncMutex<Mirror>> {
        let mut mirrors = lock(&self.mirrors);
        if mirrors.len() >= MIRRORS_MAX {
            mirrors.retain(|_, mirror| Arc::strong_count(mirror) > 1);
        }
        mirrors.entry(run).or_default().clone()
    }

    /// Reads what came to a run; gives back the newest version of the authority stream.
    async fn catch_up(&self, run: RunId, mirror: &mut Mirror) -> Result<Version, LedgerError> {
        let origin = {
            let authority = lock(&self.authority);
            Origin {
                ledger: authority.state.ledger(),
                created: *authority.state.created(),
            }
        };
        loop {
            let known = mirror.head().map(|head| (head.version, head.digest));
            let (reply, attached) = self.line.ask(Ask::News { run, known }, &[]).await?;
            let Reply::News {
                anew,
                more,
                durable,
                authority,
                now,
                records,
                contents,
            } = reply
            else {
                return Err(unexpected());
            };
            {
                let mut newest = lock(&self.newest);
                *newest = now.max(*newest);
            }
            if anew {
                *mirror = Mirror::default();
            }
            if records.saturating_add(contents.len()) != attached.len() {
                return Err(unexpected());
            }
            let mut attached = attached;
            let rest = attached.split_off(records);
            let contents = contents.into_iter().zip(rest).collect();
            if let Err(error) = mirror.learn(run, &origin, (attached, contents)) {
                *mirror = Mirror::default();
                return Err(error);
            }
            mirror.durable = durable;
            if !more {
                return Ok(authority);
            }
        }
    }

    /// What is known of the durable end of a run, without asking.
    pub(crate) async fn known(&self, run: RunId) -> Option<Version> {
        let mirror = self.mirror(run);
        let mirror = mirror.lock().await;
        mirror.durable
    }

    /// What was staged here and is not durable as far as is known, by run. From then on nothing is
    /// staged by this way.
    pub(crate) fn take_unsettled(&self) -> BTreeMap<RunId, Vec<Unsettled>> {
        lock(&self.unsettled).take().unwrap_or_default()
    }

    fn settled(&self, run: RunId) {
        if let Some(unsettled) = &mut *lock(&self.unsettled) {
            unsettled.remove(&run);
        }
    }

    /// Has a connection forgotten that is gone.
    pub(crate) async fn left(&self, seat: u64) -> Result<(), LedgerError> {
        self.line.ask(Ask::Left { seat }, &[]).await.map(|_| ())
    }

    pub(crate) async fn handle(
        &self,
        run: RunId,
        sent: Unsettled,
    ) -> Result<Vec<Envelope>, LedgerError> {
        let (texts, parts) = named(&sent.act.1);
        let by = match &sent.by {
            Caller::Driver => Speaker::Driver,
            person @ Caller::Person { .. } => Speaker::Person(channel(person)),
        };
        let ask = Ask::Handle {
            run,
            by,
            seen: sent.seen,
            command: Box::new(sent.act.0.clone()),
            texts,
            sending: sent.sending,
        };
        let records = self.recorded(ask, &parts).await?;
        match &mut *lock(&self.unsettled) {
            Some(unsettled) => unsettled.entry(run).or_default().push(sent),
            // What was staged was taken elsewhere without this: it is sent again as well.
            None => return Err(gone()),
        }
        Ok(records)
    }

    pub(crate) async fn commit(&self, run: RunId) -> Result<(), LedgerError> {
        let done = self.done(Ask::Commit { run }).await;
        match &done {
            // Lost with the owner: it is looked for, and sent again if need be.
            Err(LedgerError::Unreachable(_) | LedgerError::Busy) => {}
            // Durable, or dropped: whoever sent it has to look.
            Ok(()) | Err(_) => self.settled(run),
        }
        done
    }

    pub(crate) async fn act(
        &self,
        run: RunId,
        caller: &Caller,
        act: &(Command, Texts),
        sending: Sending,
    ) -> Result<Vec<Envelope>, LedgerError> {
        let (texts, parts) = named(&act.1);
        let ask = Ask::Act {
            run,
            channel: way_in(caller)?,
            command: Box::new(act.0.clone()),
            texts,
            sending,
        };
        let records = self.recorded(ask, &parts).await?;
        // What a driver had staged before is durable now, too.
        self.settled(run);
        Ok(records)
    }

    pub(crate) async fn answer(
        &self,
        run: RunId,
        caller: &Caller,
        set: &AnswerSet,
    ) -> Result<(), LedgerError> {
        if let Caller::Driver = caller {
            self.note_refused(run, caller).await?;
        }
        let ask = Ask::Answer {
            run,
            channel: way_in(caller)?,
            set: set.clone(),
        };
        self.done(ask).await?;
        self.settled(run);
        Ok(())
    }

    pub(crate) async fn begin(
        &self,
        run: RunId,
        (call, active_ms, level): (CallId, u64, Level),
        sending: Sending,
    ) -> Result<Begun, LedgerError> {
        let ask = Ask::Begin {
            run,
            call,
            active_ms,
            level,
            sending,
        };
        let (reply, attached) = self.line.ask(ask, &[]).await?;
        self.settled(run);
        match (reply, attached.first()) {
            (Reply::Void {}, _) => Ok(Begun::Refused),
            (Reply::Permit {}, Some(granted)) => {
                let granted = serde_json::from_slice(granted);
                let granted = granted.map_err(|error| LedgerError::Failed(error.to_string()))?;
                Ok(Begun::Permit(Box::new(Permit::received(granted))))
            }
            (_, _) => Err(unexpected()),
        }
    }

    pub(crate) async fn authorise(
        &self,
        caller: &Caller,
        (command, texts): (AuthorityCommand, &Texts),
        sending: Sending,
    ) -> Result<Envelope, LedgerError> {
        let (names, parts) = named(texts);
        let ask = Ask::Authorise {
            channel: way_in(caller)?,
            command,
            texts: names,
            sending,
        };
        let record = self.recorded(ask, &parts).await?.into_iter().next();
        self.refresh_authority().await?;
        record.ok_or_else(unexpected)
    }

    pub(crate) async fn expire(&self, run: RunId) -> Result<bool, LedgerError> {
        self.is(Ask::Expire { run }).await
    }

    pub(crate) async fn is_unjudged(&self, run: RunId, call: CallId) -> Result<bool, LedgerError> {
        self.is(Ask::Unjudged { run, call }).await
    }

    pub(crate) async fn note_refused(
        &self,
        run: RunId,
        caller: &Caller,
    ) -> Result<(), LedgerError> {
        let channel = channel(caller);
        self.done(Ask::NoteRefused { run, channel }).await
    }

    pub(crate) async fn new_driver(&self) -> Result<DriverId, LedgerError> {
        match self.line.ask(Ask::NewDriver {}, &[]).await? {
            (Reply::NewDriver { driver }, _) => Ok(driver),
            _ => Err(unexpected()),
        }
    }

    pub(crate) async fn driver(&self, run: RunId) -> Result<Option<u32>, LedgerError> {
        match self.line.ask(Ask::Driver { run }, &[]).await? {
            (Reply::Process { pid }, _) => Ok(pid),
            _ => Err(unexpected()),
        }
    }

    /// Has the owner make a backup, and waits.
    pub(crate) async fn backup(&self, dir: &Path) -> Result<Backup, LedgerError> {
        let path = dir.as_os_str().as_bytes();
        match self.line.ask(Ask::Backup {}, &[path]).await? {
            (Reply::Backup { size, root, bytes }, _) => Ok(Backup {
                ledger: self.ledger(),
                size,
                root,
                bytes,
            }),
            _ => Err(unexpected()),
        }
    }

    async fn recorded(&self, ask: Ask, parts: &[&[u8]]) -> Result<Vec<Envelope>, LedgerError> {
        let (Reply::Recorded {}, attached) = self.line.ask(ask, parts).await? else {
            return Err(unexpected());
        };
        let envelope = |bytes: Attachment| {
            let parsed = Envelope::parse(Arc::<[u8]>::from(bytes));
            parsed.map_err(|error| LedgerError::Integrity(chain(&error)))
        };
        attached.into_iter().map(envelope).collect()
    }

    async fn done(&self, ask: Ask) -> Result<(), LedgerError> {
        match self.line.ask(ask, &[]).await? {
            (Reply::Done {}, _) => Ok(()),
            _ => Err(unexpected()),
        }
    }

    async fn is(&self, ask: Ask) -> Result<bool, LedgerError> {
        match self.line.ask(ask, &[]).await? {
            (Reply::Is { so }, _) => Ok(so),
            _ => Err(unexpected()),
        }
    }

    pub(crate) async fn read_run(
        &self,
        stream: StreamId,
        from: Version,
        limit: usize,
    ) -> Result<Vec<Stored>, LedgerError> {
        let ask = Ask::ReadRun {
            stream,
            from,
            limit,
        };
        stored(self.line.ask(ask, &[]).await?)
    }

    pub(crate) async fn read_all(
        &self,
        from: Position,
        limit: usize,
    ) -> Result<Vec<Stored>, LedgerError> {
        stored(self.line.ask(Ask::ReadAll { from, limit }, &[]).await?)
    }

    pub(crate) async fn tail(&self) -> Result<Tail, LedgerError> {
        match self.line.ask(Ask::Tail {}, &[]).await? {
            (Reply::Tail { size, root }, _) => Ok(Tail { size, root }),
            _ => Err(unexpected()),
        }
    }

    pub(crate) async fn query(&self, query: &Query) -> Result<Answer, LedgerError> {
        let ask = Ask::Query {
            query: query.clone(),
        };
        match self.line.ask(ask, &[]).await? {
            (Reply::Answer {}, attached) => {
                let answer = attached.first().ok_or_else(unexpected)?;
                let answer = serde_json::from_slice(answer);
                answer.map_err(|error| LedgerError::Failed(error.to_string()))
            }
            _ => Err(unexpected()),
        }
    }

    pub(crate) async fn content(
        &self,
        stream: StreamId,
        commitments: &[Commitment],
    ) -> Result<Contents, LedgerError> {
        contents(&self.line, stream, commitments).await
    }
}

/// Why there is no way to the owner.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// They do not speak with each other.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// It ended, or its ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}
