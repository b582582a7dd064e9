//! Group commit for those that bring none: one thread takes all that waits, makes it durable in
//! one go, and answers everybody, as the store's own committer does.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use placet_ledger::id::StreamId;
use placet_ledger::store::seal::Sealer;
use placet_ledger::store::{Batch, Expected};
use tokio::sync::oneshot;

use crate::contestant::{Contestant, Prepared};

/// As many as the store's own committer takes.
const GROUP_APPENDS_MAX: usize = 1_024;

/// One append on its way to the committer.
pub(crate) struct Item {
    pub(crate) stream: StreamId,
    pub(crate) expected: Expected,
    pub(crate) batch: Batch,
    /// What stands for the contents, in their order: sealed, or nothing where that is left out.
    pub(crate) sealed: Vec<Vec<u8>>,
}

/// What makes a group durable.
pub(crate) trait Sink: Send + 'static {
    fn commit(&mut self, group: &[Item]);
}

type Waiting = (Item, oneshot::Sender<()>);

/// A sink with its committer.
pub(crate) struct Group {
    seals: bool,
    queue: Option<SyncSender<Waiting>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Group {
    pub(crate) fn new(sink: impl Sink, seals: bool) -> Self {
        let (queue, waiting) = sync_channel(GROUP_APPENDS_MAX);
        let thread = thread::spawn(move || commit(sink, &waiting));
        Self {
            seals,
            queue: Some(queue),
            thread: Mutex::new(Some(thread)),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.lock().unwrap().take() {
            thread.join().unwrap();
        }
    }
}

fn commit(mut sink: impl Sink, waiting: &Receiver<Waiting>) {
    while let Ok(first) = waiting.recv() {
        let rest = waiting.try_iter().take(GROUP_APPENDS_MAX - 1);
        let (items, answers): (Vec<_>, Vec<_>) = std::iter::once(first).chain(rest).unzip();
        sink.commit(&items);
        for answer in answers {
            // Whoever asked may have gone.
            let _gone = answer.send(());
        }
    }
}

#[async_trait]
impl Contestant for Group {
    async fn append(&self, prepared: Prepared, sealer: &mut Sealer) {
        let mut sealed = Vec::new();
        if self.seals {
            for record in &prepared.batch.records {
                for blob in record.blobs().values() {
                    // Sealing computes the commitment, as a store does to check what it is given.
                    let content = &prepared.batch.contents[&blob.commitment];
                    sealed.push(sealer.seal(content).unwrap());
                }
            }
        }
        let item = Item {
            stream: prepared.stream,
            expected: prepared.expected,
            batch: prepared.batch,
            sealed,
        };
        let (answer, answered) = oneshot::channel();
        let queue = self.queue.as_ref().unwrap();
        queue.try_send((item, answer)).expect("the queue is long");
        answered.await.unwrap();
    }
}
