//! The two ways to a ledger: it is held in this process, or by another one behind a socket.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use async_trait::async_trait;

use crate::clock::Clock;
use crate::envelope::Envelope;
use crate::error::LedgerError;
use crate::id::RunId;
use crate::owner::{Owner, Parts, Seat, Sent};
use crate::remote::client::{Client, ConnectError, Unsettled};
use crate::remote::server::{Inside, Server};
use crate::remote::{Build, ClientKeys, OwnerKeys};

/// A way to a ledger.
#[derive(Clone)]
pub struct Door(pub(super) Way);

#[derive(Clone)]
pub(super) enum Way {
    /// Held in this process.
    Owner(Arc<Held>),
    /// Held by another one.
    Remote(Arc<Client>),
}

/// A ledger that is held in this process, with what must end before its store is closed.
pub(super) struct Held {
    pub(super) owner: Arc<Owner>,
    server: Mutex<Option<Server>>,
    close: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

/// Where others reach a ledger that is held here.
pub struct Socket {
    /// Bound, in the home.
    pub listener: UnixListener,
    /// What this build is.
    pub build: Build,
    /// What proves it.
    pub keys: OwnerKeys,
    /// Whether a process belongs to a call that runs, as far as this machine tells it otherwise
    /// than by the kernel.
    pub inside: Inside,
}

/// Finds a way to a ledger, anew where the last one ended: opens its store, or connects to whoever
/// has it.
#[async_trait]
pub trait Opener: Send + Sync {
    /// Finds a way.
    async fn open(&self) -> Result<Door, LedgerError>;
}

impl Door {
    /// Holds a ledger in this process, and serves it on a socket if there is one. `close` closes
    /// the store once nobody is served any more.
    pub async fn hold(
        parts: Parts,
        socket: Option<Socket>,
        close: impl FnOnce() + Send + 'static,
    ) -> Result<Self, LedgerError> {
        let owner = Arc::new(Owner::open(parts).await?);
        let server = match socket {
            None => None,
            Some(Socket {
                listener,
                build,
                keys,
                inside,
            }) => {
                let server = Server::start(Arc::clone(&owner), listener, build, (keys, inside));
                let failed = |error: io::Error| LedgerError::Failed(error.to_string());
                Some(server.map_err(failed)?)
            }
        };
        Ok(Self(Way::Owner(Arc::new(Held {
            owner,
            server: Mutex::new(server),
            close: Mutex::new(Some(Box::new(close))),
        }))))
    }

    /// Goes through to whoever holds the ledger.
    pub async fn connect(
        stream: UnixStream,
        build: &Build,
        keys: &ClientKeys,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ConnectError> {
        let client = Client::connect(stream, (build, keys), clock).await?;
        Ok(Self(Way::Remote(Arc::new(client))))
    }

    /// Whether the ledger is held in this process.
    pub fn is_owner(&self) -> bool {
        matches!(self.0, Way::Owner(_))
    }

    /// Has a ledger that is held here let go of, once its store takes no more writes: whoever is
    /// next opens it anew and finds what is on disk, this process among them.
    pub(super) fn let_go_when_closed(&self) -> io::Result<()> {
        let Way::Owner(held) = &self.0 else {
            return Ok(());
        };
        let closed = held.owner.kept().when_closed();
        let held = Arc::downgrade(held);
        let waits = thread::Builder::new().name(String::from("placet-let-go"));
        waits.spawn(move || {
            if let (Ok(()), Some(held)) = (closed.recv(), held.upgrade()) {
                held.let_go();
            }
        })?;
        Ok(())
    }

    /// Why nothing goes through any more, where that is known.
    pub(super) fn shut(&self) -> Option<String> {
        match &self.0 {
            Way::Owner(held) if held.owner.kept().is_leaving() => {
                Some(String::from("its store takes no more writes"))
            }
            Way::Owner(_) | Way::Remote(_) => None,
        }
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Way::Owner(one), Way::Owner(other)) => Arc::ptr_eq(one, other),
            (Way::Remote(one), Way::Remote(other)) => Arc::ptr_eq(one, other),
            (Way::Owner(_), Way::Remote(_)) | (Way::Remote(_), Way::Owner(_)) => false,
        }
    }

    /// Ends what is served here, then closes the store.
    pub(super) fn close(&self) {
        if let Way::Owner(held) = &self.0 {
            held.end();
        }
    }

    /// What a command came to: of one that was sent before, what was recorded of it then.
    pub(super) async fn handle(
        &self,
        run: RunId,
        sent: &Unsettled,
    ) -> Result<Vec<Envelope>, LedgerError> {
        match &self.0 {
            Way::Remote(client) => client.handle(run, sent.clone()).await,
            Way::Owner(held) => {
                let Unsettled {
                    by,
                    seen,
                    act,
                    sending,
                } = sent;
                if let Some(records) = held.owner.before(run.stream(), *sending).await? {
                    return Ok(records);
                }
                let from = Sent {
                    caller: by,
                    seat: Seat::here(),
                    id: Some(sending.id),
                };
                match seen {
                    Some(seen) => held.owner.handle_at(run, from, *seen, act.clone()).await,
                    None => held.owner.handle(run, from, act.clone()).await,
                }
            }
        }
    }
}

impl Held {
    /// Serves nobody, closes the store and has it no more. Where the disk does not answer, that is
    /// only once it does: until then the store could still change, and is locked.
    fn let_go(&self) {
        tracing::error!("the ledger is let go of, since its store takes no more writes");
        self.end();
        self.owner.kept().let_go();
    }

    fn end(&self) {
        let server = self
            .server
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(server);
        let close = self
            .close
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(close) = close {
            close();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.end();
    }
}
