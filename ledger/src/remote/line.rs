//! One connection to an owner: requests go out as they come, answers are told apart by number.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use futures_channel::oneshot;

use super::frame::{self, Attachment, FrameError};
use super::hello::{self, Build, ClientKeys, HelloError};
use super::protocol::{Ask, Reply, Request, Response};
use crate::error::LedgerError;
use crate::id::LedgerId;
use crate::store::chain;

/// How long the hello may take.
const HELLO_TIME: Duration = Duration::from_secs(10);

type Answer = (Reply, Vec<Attachment>);

/// A connection.
pub(super) struct Line {
    shared: Arc<Shared>,
    numbers: AtomicU64,
    /// The ledger at the other end.
    pub(super) ledger: LedgerId,
    /// The number of the connection, as the owner knows it.
    pub(super) seat: u64,
}

struct Shared {
    stream: UnixStream,
    writing: Mutex<()>,
    /// Who waits for which answer; `None` once there are no more answers.
    waiting: Mutex<Option<BTreeMap<u64, oneshot::Sender<Answer>>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Line {
    /// Says hello on a stream.
    pub(super) fn open(
        stream: UnixStream,
        build: &Build,
        keys: &ClientKeys,
    ) -> Result<Self, HelloError> {
        let times = stream
            .set_read_timeout(Some(HELLO_TIME))
            .and_then(|()| stream.set_write_timeout(Some(HELLO_TIME)));
        times.map_err(FrameError::from)?;
        let (ledger, seat) = hello::as_client(&mut &stream, build, keys)?;
        let times = stream
            .set_read_timeout(None)
            .and_then(|()| stream.set_write_timeout(None));
        times.map_err(FrameError::from)?;
        let shared = Arc::new(Shared {
            stream,
            writing: Mutex::new(()),
            waiting: Mutex::new(Some(BTreeMap::new())),
        });
        let reading = Arc::clone(&shared);
        thread::Builder::new()
            .name(String::from("placet-answers"))
            .spawn(move || reading.read_all())
            .map_err(FrameError::from)?;
        Ok(Self {
            shared,
            numbers: AtomicU64::new(0),
            ledger,
            seat,
        })
    }

    /// Asks, and waits for the answer.
    pub(super) async fn ask(&self, ask: Ask, parts: &[&[u8]]) -> Result<Answer, LedgerError> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        match &mut *lock(&self.shared.waiting) {
            Some(waiting) => drop(waiting.insert(number, sender)),
            None => return Err(gone()),
        }
        self.send(&Request { number, ask }, parts)?;
        let (reply, attached) = answer.await.map_err(|_| gone())?;
        match reply {
            Reply::Failed(failure) => Err(failure.into()),
            reply => Ok((reply, attached)),
        }
    }

    fn send(&self, request: &Request, parts: &[&[u8]]) -> Result<(), LedgerError> {
        let _turn = lock(&self.shared.writing);
        match frame::write(&mut &self.shared.stream, request, parts) {
            Ok(()) => Ok(()),
            Err(error @ (FrameError::TooLarge | FrameError::Malformed(_))) => {
                if let Some(waiting) = &mut *lock(&self.shared.waiting) {
                    drop(waiting.remove(&request.number));
                }
                Err(LedgerError::Failed(chain(&error)))
            }
            Err(error @ (FrameError::Closed | FrameError::Io(_))) => {
                drop(self.shared.stream.shutdown(Shutdown::Both));
                Err(LedgerError::Unreachable(chain(&error)))
            }
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Ends the thread that reads.
        drop(self.shared.stream.shutdown(Shutdown::Both));
    }
}

impl Shared {
    fn read_all(&self) {
        let mut from = BufReader::new(&self.stream);
        loop {
            let (response, attached): (Response, _) = match frame::read(&mut from) {
                Ok(read) => read,
                Err(error) => {
                    tracing::debug!(error = chain(&error), "the owner is gone");
                    break;
                }
            };
            let waiting = lock(&self.waiting)
                .as_mut()
                .and_then(|waiting| waiting.remove(&response.number));
            if let Some(sender) = waiting
                && sender.send((response.reply, attached)).is_err()
            {
                tracing::debug!("nobody waits for an answer any more");
            }
        }
        drop(self.stream.shutdown(Shutdown::Both));
        // Whoever still waits hears that there will be no answer.
        drop(lock(&self.waiting).take());
    }
}

pub(super) fn gone() -> LedgerError {
    LedgerError::Unreachable(String::from("it ended before it answered"))
}
