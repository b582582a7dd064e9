//! What the owner serves on its socket: one thread that accepts, one that reads and one that
//! writes for each connection, and a few that do what is asked. Whoever does not take its answers
//! keeps nobody else waiting.

use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures_channel::oneshot;
use futures_executor::{ThreadPool, block_on};
use futures_util::FutureExt;
use futures_util::future::{Either, Shared as SharedFuture, select};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::shutdown;

use super::frame::{self, Attachment, FrameError};
use super::hello::{self, Build, HelloError, OwnerKeys};
use super::peer::{Marks, Peer};
use super::protocol::{Failure, Reply, Request, Response};
use super::serve;
use crate::approval::Channel;
use crate::event::AttemptKind;
use crate::owner::{Owner, Seat};
use crate::store::chain;

/// Connections at once: more than a person has processes.
const CONNECTIONS_MAX: usize = 128;

/// Requests of one connection that may wait for their answers.
const WAITING_MAX: usize = 64;

/// How long the hello may take.
const HELLO_TIME: Duration = Duration::from_secs(5);

/// How long an answer may wait for whoever asked to take it.
const WRITE_TIME: Duration = Duration::from_secs(30);

/// How long what is asked may still take, and the answers may take to be read, when the owner ends.
const STOP_TIME: Duration = Duration::from_secs(5);

/// Before somebody else is let in, where the system has no room for one more connection.
const ROOM_TIME: Duration = Duration::from_millis(100);

/// Threads that do what is asked: most of it waits for the disk, which takes no thread.
const WORKERS: usize = 4;

/// Tells whether a process is inside of a run.
pub type Inside = Box<dyn Fn(u32) -> bool + Send + Sync>;

/// The socket, as long as this is held.
pub struct Server {
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    owner: Arc<Owner>,
    build: Build,
    keys: OwnerKeys,
    inside: Inside,
    /// The marks of this process when it began to serve.
    marks: Option<Marks>,
    pool: ThreadPool,
    stopped: AtomicBool,
    listener: UnixListener,
    open: Mutex<BTreeMap<u64, Arc<Connection>>>,
    none_left: Condvar,
}

/// One connection, with the number of requests that wait for their answers.
struct Connection {
    stream: UnixStream,
    /// Ends what is still being done for it, once this is dropped.
    doing: Mutex<Option<oneshot::Sender<()>>>,
    /// Done once it is.
    dropped: SharedFuture<oneshot::Receiver<()>>,
    waiting: Mutex<usize>,
    less: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Serves an owner on a socket that is bound already.
    pub(crate) fn start(
        owner: Arc<Owner>,
        listener: UnixListener,
        build: Build,
        (keys, inside): (OwnerKeys, Inside),
    ) -> io::Result<Self> {
        let pool = ThreadPool::builder()
            .pool_size(WORKERS)
            .name_prefix("placet-serve")
            .create()?;
        let shared = Arc::new(Shared {
            owner,
            build,
            keys,
            inside,
            marks: Marks::own(),
            pool,
            stopped: AtomicBool::new(false),
            listener,
            open: Mutex::default(),
            none_left: Condvar::new(),
        });
        let accepting = Arc::clone(&shared);
        let accepting = thread::Builder::new()
            .name(String::from("placet-accept"))
            .spawn(move || accept(&accepting))?;
        Ok(Self {
            shared,
            accepting: Some(accepting),
        })
    }

    /// Takes no more requests, answers those that were taken as far as that is done in time and
    /// somebody is there to hear it, and closes every connection.
    pub fn stop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        if let Err(error) = shutdown(&self.shared.listener, rustix::net::Shutdown::Both) {
            tracing::warn!(%error, "the socket cannot be shut");
        }
        if let Some(accepting) = self.accepting.take()
            && accepting.join().is_err()
        {
            tracing::error!("the thread that accepts connections panicked");
        }
        let mut open = lock(&self.shared.open);
        for connection in open.values() {
            if connection.is_gone() {
                connection.drop_all();
            }
            drop(connection.stream.shutdown(Shutdown::Read));
        }
        let some = |open: &mut BTreeMap<u64, Arc<Connection>>| !open.is_empty();
        let waited = self
            .shared
            .none_left
            .wait_timeout_while(open, STOP_TIME, some);
        (open, _) = waited.unwrap_or_else(PoisonError::into_inner);
        for connection in open.values() {
            connection.drop_all();
            drop(connection.stream.shutdown(Shutdown::Both));
        }
        let ended = self
            .shared
            .none_left
            .wait_timeout_while(open, STOP_TIME, some);
        let (open, _) = ended.unwrap_or_else(PoisonError::into_inner);
        if !open.is_empty() {
            // A disk that does not answer holds a thread for as long as it likes.
            tracing::error!(count = open.len(), "what was asked does not come to an end");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn accept(shared: &Arc<Shared>) {
    while !shared.stopped.load(Ordering::SeqCst) {
        let stream = match shared.listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) if shared.stopped.load(Ordering::SeqCst) => return,
            Err(error) => {
                tracing::warn!(%error, "somebody could not connect");
                thread::park_timeout(ROOM_TIME);
                continue;
            }
        };
        if lock(&shared.open).len() >= CONNECTIONS_MAX {
            tracing::warn!("too many processes are connected");
            continue;
        }
        let Ok(number) = getrandom::u64() else {
            tracing::error!("the system gives no random numbers");
            continue;
        };
        if shared.owner.kept().is_leaving() {
            continue;
        }
        let connection = Arc::new(Connection::new(stream));
        lock(&shared.open).insert(number, Arc::clone(&connection));
        let serving = Arc::clone(shared);
        let served = thread::Builder::new()
            .name(String::from("placet-read"))
            .spawn(move || {
                serve_one(&serving, &connection, number);
                serving.left(number);
            });
        if let Err(error) = served {
            tracing::error!(%error, "a connection cannot be served");
            shared.left(number);
        }
    }
}

impl Shared {
    fn left(&self, number: u64) {
        let mut open = lock(&self.open);
        if let Some(connection) = open.remove(&number) {
            drop(connection.stream.shutdown(Shutdown::Both));
        }
        if open.is_empty() {
            self.none_left.notify_all();
        }
    }

    /// Notes that somebody sent what is no command of anybody who may send one.
    fn note_frame(&self, connection: &Connection) {
        let noted = self
            .owner
            .note_attempt(AttemptKind::Frame, None, Channel::Cli);
        if let Some(Err(error)) = block_on(connection.unless_dropped(noted)) {
            tracing::warn!(error = chain(&error), "that could not be noted");
        }
    }

    /// The hello; gives back who is there.
    fn greet(&self, mut stream: &UnixStream, number: u64) -> Result<Peer, HelloError> {
        let times = stream
            .set_read_timeout(Some(HELLO_TIME))
            .and_then(|()| stream.set_write_timeout(Some(WRITE_TIME)));
        times.map_err(FrameError::from)?;
        let peer = Peer::of(stream, self.marks.as_ref());
        let admitted = peer.as_ref().map(|_| number).map_err(ToString::to_string);
        let ours = (&self.build, self.owner.ledger());
        hello::as_owner(&mut stream, ours, &self.keys, admitted)?;
        stream.set_read_timeout(None).map_err(FrameError::from)?;
        let mut peer = peer.map_err(|error| HelloError::Refused(chain(&error)))?;
        peer.inside = peer.inside || (self.inside)(peer.pid);
        Ok(peer)
    }
}

fn serve_one(shared: &Arc<Shared>, connection: &Arc<Connection>, number: u64) {
    let peer = match shared.greet(&connection.stream, number) {
        Ok(peer) => peer,
        Err(error) => {
            tracing::info!(
                error = chain(&error),
                "somebody who connected is not served"
            );
            if let HelloError::NotOurs | HelloError::NoHello(_) = error {
                shared.note_frame(connection);
            }
            return;
        }
    };
    let seat = Seat {
        number,
        pid: peer.pid,
    };
    let (answers, to_write) = channel();
    let writing = Arc::clone(connection);
    let writer = thread::Builder::new()
        .name(String::from("placet-write"))
        .spawn(move || writing.write_all(&to_write));
    let writer = match writer {
        Ok(writer) => writer,
        Err(error) => {
            tracing::error!(%error, "a connection cannot be served");
            return;
        }
    };
    shared.owner.arrive(seat);
    let ended = read_all(shared, connection, (seat, peer), &answers);
    // What is being done for them is done to its end, unless the owner ends first: it holds what
    // is dropped here, too.
    drop(answers);
    if writer.join().is_err() {
        tracing::error!("the thread that writes answers panicked");
    }
    if let Err(error @ (FrameError::Malformed(_) | FrameError::TooLarge)) = ended {
        tracing::warn!(error = chain(&error), "a process sent what is no command");
        shared.note_frame(connection);
    }
    block_on(shared.owner.leave(seat));
}

/// An answer, to a request of this number.
type Answer = (u64, Reply, Vec<Attachment>);

/// Reads requests and has them done until the other side is gone.
fn read_all(
    shared: &Arc<Shared>,
    connection: &Arc<Connection>,
    (seat, peer): (Seat, Peer),
    answers: &Sender<Answer>,
) -> Result<(), FrameError> {
    let mut from = io::BufReader::new(&connection.stream);
    loop {
        let (request, attached): (Request, _) = match frame::read(&mut from) {
            Ok(read) => read,
            Err(FrameError::Closed) => return Ok(()),
            Err(error) => return Err(error),
        };
        if shared.stopped.load(Ordering::SeqCst) {
            return Ok(());
        }
        connection.one_more();
        let (owner, answers) = (Arc::clone(&shared.owner), answers.clone());
        let connection = Arc::clone(connection);
        shared.pool.spawn_ok(async move {
            let Request { number, ask } = request;
            let answer = serve::answer(&owner, (seat, peer), ask, attached);
            let Some((reply, parts)) = connection.unless_dropped(answer).await else {
                connection.one_less();
                return;
            };
            if let (Reply::Failed(_), true) = (&reply, owner.kept().is_leaving()) {
                // The next owner finds out what came of it; whoever asked goes there.
                drop(connection.stream.shutdown(Shutdown::Both));
                connection.one_less();
                return;
            }
            if answers.send((number, reply, parts)).is_err() {
                tracing::debug!("nobody writes answers any more");
            }
        });
    }
}

impl Connection {
    fn new(stream: UnixStream) -> Self {
        let (doing, dropped) = oneshot::channel();
        Self {
            stream,
            doing: Mutex::new(Some(doing)),
            dropped: dropped.shared(),
            waiting: Mutex::new(0),
            less: Condvar::new(),
        }
    }

    /// Does something; `None` where it was dropped before it was done.
    async fn unless_dropped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match select(Box::pin(work), self.dropped.clone()).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }

    /// Drops what is still being done: it may be recorded or not, and nobody here tells.
    fn drop_all(&self) {
        drop(lock(&self.doing).take());
    }

    /// Whether the other side has closed the connection: nobody hears an answer any more.
    fn is_gone(&self) -> bool {
        let mut asked = [PollFd::new(&self.stream, PollFlags::empty())];
        let now = Timespec::default();
        let polled = poll(&mut asked, Some(&now));
        let [asked] = asked;
        polled.is_ok() && asked.revents().contains(PollFlags::HUP)
    }

    fn one_more(&self) {
        let mut waiting = lock(&self.waiting);
        while *waiting >= WAITING_MAX {
            let waited = self.less.wait(waiting);
            waiting = waited.unwrap_or_else(PoisonError::into_inner);
        }
        *waiting = waiting.saturating_add(1);
    }

    fn one_less(&self) {
        let mut waiting = lock(&self.waiting);
        *waiting = waiting.saturating_sub(1);
        self.less.notify_all();
    }

    /// Writes answers as they come, until there are no more.
    fn write_all(&self, answers: &Receiver<Answer>) {
        while let Ok((number, reply, parts)) = answers.recv() {
            self.write(number, reply, &parts);
            self.one_less();
        }
    }

    /// Writes an answer; whoever does not take it is gone.
    fn write(&self, number: u64, reply: Reply, parts: &[Attachment]) {
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let response = Response { number, reply };
        let mut written = frame::write(&mut &self.stream, &response, &parts);
        if let Err(error @ (FrameError::TooLarge | FrameError::Malformed(_))) = &written {
            let reply = Reply::Failed(Failure::Other(chain(error)));
            written = frame::write(&mut &self.stream, &Response { number, reply }, &[]);
        }
        if let Err(error) = written {
            tracing::info!(error = chain(&error), "an answer was not taken");
            drop(self.stream.shutdown(Shutdown::Both));
        }
    }
}
