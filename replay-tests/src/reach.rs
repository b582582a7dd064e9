//! How worlds reach their ledger: in their own process, or through the socket of the one that
//! holds it.
//!
//! A test says it for every world that is made on its thread, so that one test proves both ways:
//! [`crate::through_socket`] runs tests of a file again over the socket.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::clock::Clock;
use placet_ledger::error::LedgerError;
use placet_ledger::event::PublicKey;
use placet_ledger::ledger::{Door, Ledger, Opener, Socket};
use placet_ledger::owner::Parts;
use placet_ledger::remote::{Build, ClientKeys, OwnerKeys, PROTOCOL, SocketKey, socket};
use ring::signature::{Ed25519KeyPair, KeyPair};
use tempfile::TempDir;

/// How worlds reach their ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// In their own process, as a person whom the test makes up.
    #[default]
    Here,
    /// In their own process, as the user of the test.
    HereAsUser,
    /// Through a socket, where the kernel says who the person is: the user of the test.
    Socket,
}

/// The user whom a test makes up.
const SOMEBODY: u32 = 1000;

thread_local! {
    static REACH: Cell<Reach> = const { Cell::new(Reach::Here) };
}

/// Does something with worlds that reach their ledger so.
pub fn within<T>(reach: Reach, work: impl FnOnce() -> T) -> T {
    let before = REACH.replace(reach);
    let done = work();
    REACH.set(before);
    done
}

/// How worlds of this thread reach their ledger.
pub fn reach() -> Reach {
    REACH.get()
}

/// The user whom the person of a world is known as.
pub fn user() -> u32 {
    match reach() {
        Reach::Here => SOMEBODY,
        Reach::HereAsUser | Reach::Socket => own_user(),
    }
}

/// The user of the test, as the kernel says.
pub fn own_user() -> u32 {
    fs::metadata("/proc/self").map_or(SOMEBODY, |process| process.uid())
}

/// Runs tests of a file again, with worlds that reach their ledger through a socket.
#[macro_export]
macro_rules! through_socket {
    ($($test:ident),+ $(,)?) => {
        mod through_socket {
            $(
                #[test]
                fn $test() {
                    $crate::reach::within($crate::reach::Reach::Socket, super::$test);
                }
            )+
        }
    };
}

/// What this build is.
pub fn build() -> Build {
    Build {
        protocol: PROTOCOL,
        format: 1,
        release: String::from("0.1.0"),
    }
}

/// The key that opens the sockets of tests.
pub const SOCKET_KEY: [u8; 32] = [5; 32];

fn pair() -> Result<Ed25519KeyPair, LedgerError> {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]);
    pair.map_err(|error| LedgerError::Failed(error.to_string()))
}

/// The keys of an owner.
pub fn owner_keys() -> Result<OwnerKeys, LedgerError> {
    Ok(OwnerKeys {
        ledger: pair()?,
        socket: SocketKey::from_bytes(SOCKET_KEY),
    })
}

/// The keys of a client.
pub fn client_keys() -> Result<ClientKeys, LedgerError> {
    let public = pair()?;
    let public = public.public_key().as_ref().try_into();
    let wrong = |_| LedgerError::Failed(String::from("it is no key"));
    Ok(ClientKeys {
        ledger: PublicKey::from_bytes(public.map_err(wrong)?),
        socket: SocketKey::from_bytes(SOCKET_KEY),
    })
}

/// An owner that serves its socket in a folder of its own, until this is dropped.
pub struct Owned {
    /// The way into it that needs no socket.
    pub door: Door,
    /// Where the socket is.
    pub home: TempDir,
}

impl Owned {
    /// Holds a ledger and serves it.
    pub async fn new(parts: Parts) -> Result<Self, LedgerError> {
        let failed = |error: std::io::Error| LedgerError::Failed(error.to_string());
        let home = tempfile::tempdir().map_err(failed)?;
        let socket = Socket {
            listener: socket::bind(home.path()).map_err(failed)?,
            build: build(),
            keys: owner_keys()?,
            inside: Box::new(|_| false),
        };
        let door = Box::pin(Door::hold(parts, Some(socket), || {})).await?;
        Ok(Self { door, home })
    }
}

/// The way to an owner through its socket.
struct Through {
    owned: Owned,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl Opener for Through {
    async fn open(&self) -> Result<Door, LedgerError> {
        let failed = |error: std::io::Error| LedgerError::Failed(error.to_string());
        let stream = socket::connect(self.owned.home.path()).map_err(failed)?;
        let keys = client_keys()?;
        let door = Door::connect(stream, &build(), &keys, self.clock.clone()).await;
        door.map_err(|error| LedgerError::Failed(error.to_string()))
    }
}

/// Opens a ledger, as worlds of this thread reach theirs.
pub async fn open(parts: Parts) -> Result<Ledger, LedgerError> {
    match reach() {
        Reach::Here | Reach::HereAsUser => Ledger::open(parts).await,
        Reach::Socket => {
            let clock = parts.clock.clone();
            let owned = Owned::new(parts).await?;
            Ledger::shared(Arc::new(Through { owned, clock })).await
        }
    }
}
