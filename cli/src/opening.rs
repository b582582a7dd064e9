//! Finding the way to the ledger of a home: whoever opens the store first holds it and serves the
//! others, which go through that process.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use placet_engine::clock::SystemClock;
use placet_engine::contain::is_marked;
use placet_engine::ids::LiveStamps;
use placet_engine::policy::Gate;
use placet_ledger::clock::Clock;
use placet_ledger::error::LedgerError;
use placet_ledger::event::PublicKey;
use placet_ledger::ledger::{Door, Opener, Socket};
use placet_ledger::owner::Parts;
use placet_ledger::regular;
use placet_ledger::remote::client::ConnectError;
use placet_ledger::remote::{
    Build, ClientKeys, HelloError, OwnerKeys, PROTOCOL, SocketKey, socket,
};
use placet_ledger::store::sled::{SledStore, StoreLock};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::error::{CommandError, Kind};
use crate::home::Home;
use crate::unusable::cannot_use;

/// The format of stores that this release writes.
pub(crate) const STORE_FORMAT: u32 = 1;

/// How long the way is looked for where somebody has the store and serves nobody: two processes
/// may begin, or end, at the same moment.
const LOOKED_MS: u64 = 2_000;

/// Between two tries.
const PAUSE_MS: u64 = 10;

/// Finds the way to the ledger of a home.
pub(crate) struct Opening {
    home: Home,
    head_dir: PathBuf,
    build: Build,
    /// Why there was none, as a verb says it.
    failed: Mutex<Option<CommandError>>,
}

impl Opening {
    /// The way to the ledger of a home.
    pub(crate) fn new(home: Home, head_dir: PathBuf) -> Self {
        let build = Build {
            protocol: PROTOCOL,
            format: STORE_FORMAT,
            release: env!("CARGO_PKG_VERSION").to_owned(),
        };
        Self {
            home,
            head_dir,
            build,
            failed: Mutex::new(None),
        }
    }

    /// Why no way was found, if that was said since the last call.
    pub(crate) fn failed(&self) -> Option<CommandError> {
        self.failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    async fn find(&self) -> Result<Door, CommandError> {
        let until = SystemClock.monotonic_ms().saturating_add(LOOKED_MS);
        loop {
            // It would be waited for in vain, and for longer than that.
            if let Some(error) = SledStore::stopped_owner_at(&self.home.dir) {
                return Err(error.into());
            }
            if let Some(door) = self.connect().await? {
                return Ok(door);
            }
            if let Some(lock) = SledStore::try_lock(&self.home.dir, &self.head_dir)? {
                return self.hold(lock).await;
            }
            if SystemClock.monotonic_ms() >= until {
                let error = CommandError::from(SledStore::in_use(&self.home.dir));
                return Err(match self.why_alone() {
                    Some(why) => error.hint(why),
                    None => error,
                });
            }
            SystemClock.pause(PAUSE_MS).await;
        }
    }

    /// Why a process that holds the ledger serves nobody, where that can be seen.
    fn why_alone(&self) -> Option<String> {
        let place = self.home.dir.join(socket::NAME);
        let there = fs::symlink_metadata(&place).ok();
        if there.is_some_and(|there| there.is_dir()) {
            let place = place.display();
            return Some(format!("{place} is a folder: remove it, and several can"));
        }
        let key = self.home.dir.join("ledger.key");
        let what = format!("{} is missing: put it back, and several can", key.display());
        (!key.exists()).then_some(what)
    }

    /// The way through whoever holds the store; `None` where nobody serves it.
    async fn connect(&self) -> Result<Option<Door>, CommandError> {
        let stream = match socket::connect(&self.home.dir) {
            Ok(stream) => stream,
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset
                ) =>
            {
                return Ok(None);
            }
            Err(error) => {
                let socket = self.home.dir.join(socket::NAME);
                return Err(cannot_use("connect to", &socket)(error));
            }
        };
        let keys = ClientKeys {
            ledger: self.ledger_key()?.1,
            socket: self.home.socket_key()?,
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        match Door::connect(stream, &self.build, &keys, clock).await {
            Ok(door) => Ok(Some(door)),
            Err(
                ConnectError::Hello(HelloError::Connection(_))
                | ConnectError::Ledger(LedgerError::Unreachable(_)),
            ) => Ok(None),
            Err(ConnectError::Ledger(error)) => Err(error.into()),
            Err(ConnectError::Hello(error @ HelloError::Builds { .. })) => {
                let what = format!("the ledger is in use by another build: {error}");
                let error = CommandError::new(Kind::Conflict, what);
                Err(error.hint("use the same build, or wait until that process has ended"))
            }
            Err(ConnectError::Hello(error)) => {
                let what = format!("cannot use the ledger through its socket: {error}");
                Err(CommandError::new(Kind::Conflict, what))
            }
        }
    }

    /// Holds the store and serves it. Whoever connects while it is being opened waits.
    async fn hold(&self, lock: StoreLock) -> Result<Door, CommandError> {
        let socket = match self.socket() {
            Ok(socket) => Some(socket),
            Err(error) => {
                tracing::warn!(%error, "no other process can use the ledger meanwhile");
                None
            }
        };
        let store = SledStore::open_locked(lock, &self.home.dir, &self.head_dir)?;
        let store = Arc::new(store);
        self.home.note_in_state(store.ledger())?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let parts = Parts {
            store: store.clone(),
            judge: Arc::new(Gate),
            clock: clock.clone(),
            stamps: Arc::new(LiveStamps::new(clock)),
            rows: Some(store.projections()),
            snapshots: Some(store.snapshots()),
        };
        let place = self.home.dir.join(socket::NAME);
        let close = move || {
            // While the store is locked: what the next owner binds stays.
            if let Err(error) = fs::remove_file(&place) {
                tracing::debug!(%error, "the socket was not removed");
            }
            store.close();
        };
        Ok(Door::hold(parts, socket, close).await?)
    }

    fn socket(&self) -> Result<Socket, CommandError> {
        let keys = OwnerKeys {
            ledger: self.ledger_key()?.0,
            socket: self.home.make_socket_key()?,
        };
        let listener = socket::bind(&self.home.dir).map_err(|error| {
            let what = format!("cannot make the socket of the ledger: {error}");
            CommandError::new(Kind::Failed, what)
        })?;
        let marks = self.home.running();
        Ok(Socket {
            listener,
            build: self.build.clone(),
            keys,
            inside: Box::new(move |pid| {
                i32::try_from(pid).map_or(true, |pid| is_marked(&marks, pid))
            }),
        })
    }

    fn ledger_key(&self) -> Result<(Ed25519KeyPair, PublicKey), CommandError> {
        let path = self.home.dir.join("ledger.key");
        let wrong = |what: &dyn std::fmt::Display| {
            let what = format!(
                "cannot read the key of the ledger in {}: {what}",
                path.display()
            );
            CommandError::new(Kind::Integrity, what).hint("put the file back")
        };
        let bytes = zeroize::Zeroizing::new(regular::read(&path).map_err(|error| wrong(&error))?);
        let pair = Ed25519KeyPair::from_pkcs8(&bytes).map_err(|error| wrong(&error))?;
        let public = pair.public_key().as_ref().try_into();
        let public = public.map_err(|_| wrong(&"it is no Ed25519 key"))?;
        Ok((pair, PublicKey::from_bytes(public)))
    }
}

#[async_trait]
impl Opener for Opening {
    async fn open(&self) -> Result<Door, LedgerError> {
        match self.find().await {
            Ok(door) => Ok(door),
            Err(error) => {
                let message = error.message();
                let in_use = error.kind == Kind::Conflict;
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Err(if in_use {
                    LedgerError::Unreachable(message)
                } else {
                    LedgerError::Failed(message)
                })
            }
        }
    }
}

impl Home {
    /// The key of the socket.
    fn socket_key(&self) -> Result<SocketKey, CommandError> {
        let path = self.dir.join("socket.key");
        let mut bytes = [0; 32];
        let file = regular::open_to_read(&path);
        let read = file.and_then(|mut file| file.read_exact(&mut bytes));
        read.map_err(|error| {
            let what = format!(
                "cannot read the key of the socket in {}: {error}",
                path.display()
            );
            CommandError::new(Kind::Failed, what)
                .hint("the next process to hold the ledger makes it anew: end the one that does")
        })?;
        Ok(SocketKey::from_bytes(bytes))
    }

    /// The key of the socket, made where there is none; the caller has locked the store.
    pub(crate) fn make_socket_key(&self) -> Result<SocketKey, CommandError> {
        if let Ok(key) = self.socket_key() {
            return Ok(key);
        }
        let mut bytes = [0; 32];
        let no_random = |_| CommandError::new(Kind::Failed, "the system gives no random numbers");
        SystemRandom::new().fill(&mut bytes).map_err(no_random)?;
        let path = self.dir.join("socket.key");
        let new = self.dir.join("socket.key.new");
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let write = |mut file: fs::File| file.write_all(&bytes).and_then(|()| file.sync_all());
        let made = regular::open(options, &new).and_then(write);
        made.map_err(cannot_use("make the key of the socket in", &new))?;
        let named = fs::rename(&new, &path);
        named.map_err(cannot_use("make the key of the socket in", &path))?;
        Ok(SocketKey::from_bytes(bytes))
    }
}
