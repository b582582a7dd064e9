//! Somebody between a client and an owner who cuts the connection at one message.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    ToOwner,
    ToClient,
}

/// Where the connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) way: Way,
    /// Which message this way, from 1.
    pub(super) number: usize,
    /// How many messages later it is cut again.
    pub(super) again: Option<usize>,
    /// Whether the message still comes through.
    pub(super) after: bool,
}

/// The messages of a hello, each way.
const HELLO: usize = 2;

/// Counts messages over all connections, and cuts where it was told to.
#[derive(Debug, Default)]
pub(super) struct Proxy {
    cut: Option<Cut>,
    counted: Mutex<(usize, usize)>,
}

impl Proxy {
    pub(super) fn new(cut: Option<Cut>) -> Arc<Self> {
        let counted = Mutex::default();
        Arc::new(Self { cut, counted })
    }

    /// How many messages there were to the owner, and to the client.
    pub(super) fn counted(&self) -> (usize, usize) {
        *self.counted.lock().unwrap()
    }

    /// The client's end of a connection to an owner.
    pub(super) fn between(self: &Arc<Self>, owner: &UnixStream) -> UnixStream {
        let (client, here) = UnixStream::pair().unwrap();
        for way in [Way::ToOwner, Way::ToClient] {
            let (from, to) = match way {
                Way::ToOwner => (&here, owner),
                Way::ToClient => (owner, &here),
            };
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let proxy = Arc::clone(self);
            thread::spawn(move || {
                proxy.pass(way, &from, &to);
                for end in [from, to] {
                    drop(end.shutdown(Shutdown::Both));
                }
            });
        }
        client
    }

    /// Whether a message comes through, and whether the next one can.
    fn count(&self, way: Way) -> (bool, bool) {
        let mut counted = self.counted.lock().unwrap();
        let number = match way {
            Way::ToOwner => &mut counted.0,
            Way::ToClient => &mut counted.1,
        };
        *number += 1;
        match self.cut {
            Some(cut)
                if cut.way == way
                    && (*number == cut.number
                        || cut.again.is_some_and(|later| *number == cut.number + later)) =>
            {
                (cut.after, false)
            }
            _ => (true, true),
        }
    }

    fn pass(&self, way: Way, mut from: &UnixStream, mut to: &UnixStream) {
        let mut seen = 0;
        while let Some(message) = message(&mut from) {
            seen += 1;
            let (through, on) = if seen <= HELLO {
                (true, true)
            } else {
                self.count(way)
            };
            if through && to.write_all(&message).is_err() {
                return;
            }
            if !on {
                return;
            }
        }
    }
}

/// The bytes of one message: a header, and as many parts as it says.
pub(super) fn message(from: &mut impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let header = part(from, &mut bytes)?;
    let header: Value = serde_json::from_slice(&header).ok()?;
    for _ in 0..header["attachments"].as_u64()? {
        part(from, &mut bytes)?;
    }
    Some(bytes)
}

fn part(from: &mut impl Read, all: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length).ok()?;
    let mut bytes = vec![0; usize::try_from(u32::from_be_bytes(length)).ok()?];
    from.read_exact(&mut bytes).ok()?;
    all.extend_from_slice(&length);
    all.extend_from_slice(&bytes);
    Some(bytes)
}
