//! The hello: both sides name what they speak, and each proves itself over fresh random numbers.
//!
//! ```text
//! client -> owner   protocol, format, build, nonce
//! owner  -> client  protocol, format, build, ledger, nonce, signature by the ledger's key
//! client -> owner   proof of the socket's key
//! owner  -> client  welcome, or why not
//! ```
//!
//! A client refuses an owner that cannot sign for the key it knows: somebody else may have put a
//! socket there. An owner refuses who does not have the key of the socket, a file of the home that
//! no other user can read.

use std::fmt;
use std::io::{Read, Write};

use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::frame::{FrameError, read_hello, write};
use crate::digest::{Digest, Purpose, digest};
use crate::event::PublicKey;
use crate::id::LedgerId;

/// What this build speaks. Any change of a message is another protocol.
pub const PROTOCOL: u32 = 1;

/// What one side is, as it tells the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// What it speaks on the socket.
    pub protocol: u32,
    /// The format of the stores it writes.
    pub format: u32,
    /// Its release.
    pub release: String,
}

impl Build {
    fn speaks_with(&self, other: &Self) -> bool {
        self.protocol == other.protocol && self.format == other.format
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What another process says of itself is shown as far as a release is named.
        let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
        let release: String = self.release.chars().filter(plain).take(40).collect();
        write!(
            f,
            "placet {release} (protocol {}, format {})",
            self.protocol, self.format
        )
    }
}

/// The keys of an owner.
pub struct OwnerKeys {
    /// Signs for the ledger.
    pub ledger: Ed25519KeyPair,
    /// Known to everybody of this user.
    pub socket: SocketKey,
}

/// The keys of a client.
pub struct ClientKeys {
    /// The ledger's, as this client knows it.
    pub ledger: PublicKey,
    /// Known to everybody of this user.
    pub socket: SocketKey,
}

/// The key that opens the socket.
#[derive(Clone)]
pub struct SocketKey(Zeroizing<[u8; 32]>);

impl SocketKey {
    /// The key with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    fn proof(&self, client: &Nonce, owner: &Nonce) -> Digest {
        let parts = [&self.0[..], client.0.as_bytes(), owner.0.as_bytes()];
        digest(
            Purpose::SocketPeer,
            Zeroizing::new(parts.concat()).as_slice(),
        )
    }
}

/// Why two processes do not speak with each other.
#[derive(Debug, thiserror::Error)]
pub enum HelloError {
    /// The connection failed before they could.
    #[error("{0}")]
    Connection(String),
    /// They are of builds that do not match.
    #[error("it is held by {owner}, and this is {client}")]
    Builds {
        /// Who has the store.
        owner: Build,
        /// Who wants to speak with it.
        client: Build,
    },
    /// The other side does not have the ledger's key.
    #[error("whoever listens there cannot sign for the ledger")]
    NotTheOwner,
    /// The other side does not have the key of the socket.
    #[error("whoever connects does not have the key of the socket")]
    NotOurs,
    /// The owner said no.
    #[error("{0}")]
    Refused(String),
    /// The other side sent what is no hello.
    #[error("what came is no hello: {0}")]
    NoHello(String),
    /// The operating system gave no random bytes.
    #[error("drawing random bytes failed")]
    Random(#[source] getrandom::Error),
}

impl From<FrameError> for HelloError {
    fn from(error: FrameError) -> Self {
        let why = crate::store::chain(&error);
        match error {
            FrameError::Closed | FrameError::Io(_) => Self::Connection(why),
            FrameError::TooLarge | FrameError::Malformed(_) => Self::NoHello(why),
        }
    }
}

/// A random number that is used once.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
struct Nonce(Digest);

impl Nonce {
    fn draw() -> Result<Self, HelloError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(HelloError::Random)?;
        Ok(Self(Digest::from_bytes(bytes)))
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FromClient {
    build: Build,
    nonce: Nonce,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FromOwner {
    build: Build,
    ledger: LedgerId,
    nonce: Nonce,
    /// In hex.
    signature: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Proof {
    proof: Digest,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Welcome {
    /// The number of the connection.
    Welcome(u64),
    Refused(String),
}

/// What the owner signs.
fn signed(client: &Nonce, owner: &Nonce, ledger: LedgerId) -> Digest {
    let parts = [
        &client.0.as_bytes()[..],
        owner.0.as_bytes(),
        ledger.as_bytes(),
    ];
    digest(Purpose::SocketOwner, &parts.concat())
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let byte = |&[high, low]: &[u8; 2]| {
        let value = digit(high)?.checked_mul(16)?.checked_add(digit(low)?)?;
        u8::try_from(value).ok()
    };
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}

/// Says hello to an owner; gives back which ledger it has, and the number of the connection.
pub(super) fn as_client(
    with: &mut (impl Read + Write),
    build: &Build,
    keys: &ClientKeys,
) -> Result<(LedgerId, u64), HelloError> {
    let nonce = Nonce::draw()?;
    let hello = FromClient {
        build: build.clone(),
        nonce,
    };
    write(with, &hello, &[])?;
    let said: FromOwner = read_hello(with)?;
    if !build.speaks_with(&said.build) {
        return Err(HelloError::Builds {
            owner: said.build,
            client: build.clone(),
        });
    }
    let message = signed(&nonce, &said.nonce, said.ledger);
    let signature = unhex(&said.signature).ok_or(HelloError::NotTheOwner)?;
    UnparsedPublicKey::new(&ED25519, keys.ledger.as_bytes())
        .verify(message.as_bytes(), &signature)
        .map_err(|_| HelloError::NotTheOwner)?;
    let proof = keys.socket.proof(&nonce, &said.nonce);
    write(with, &Proof { proof }, &[])?;
    match read_hello(with)? {
        Welcome::Welcome(seat) => Ok((said.ledger, seat)),
        Welcome::Refused(why) => Err(HelloError::Refused(why)),
    }
}

/// Answers the hello of whoever connected: with the number of their connection, or with why they
/// are not served.
pub(super) fn as_owner(
    with: &mut (impl Read + Write),
    (build, ledger): (&Build, LedgerId),
    keys: &OwnerKeys,
    admitted: Result<u64, String>,
) -> Result<(), HelloError> {
    let said: FromClient = read_hello(with)?;
    let nonce = Nonce::draw()?;
    let message = signed(&said.nonce, &nonce, ledger);
    let hello = FromOwner {
        build: build.clone(),
        ledger,
        nonce,
        signature: hex(keys.ledger.sign(message.as_bytes()).as_ref()),
    };
    write(with, &hello, &[])?;
    if !build.speaks_with(&said.build) {
        return Err(HelloError::Builds {
            owner: build.clone(),
            client: said.build,
        });
    }
    let proven: Proof = read_hello(with)?;
    // Digests of secrets: how many digits agree tells nothing.
    if proven.proof != keys.socket.proof(&said.nonce, &nonce) {
        let why = HelloError::NotOurs;
        write(with, &Welcome::Refused(why.to_string()), &[])?;
        return Err(why);
    }
    match admitted {
        Ok(seat) => Ok(write(with, &Welcome::Welcome(seat), &[])?),
        Err(why) => {
            write(with, &Welcome::Refused(why.clone()), &[])?;
            Err(HelloError::Refused(why))
        }
    }
}
