//! How many durable appends a second, beside a plain file that is synced as often: `load FOLDER`.
//!
//! Runs of one record and one content an append, at 1, 8, 64 and 256 at once. The plain file is
//! allocated ahead, takes the same bytes through the same queue, and its callers make the same
//! records, but seal nothing. `load count FOLDER` prints how many records a store holds instead.

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use futures_channel::oneshot;
use futures_util::future::join_all;
use placet_ledger::id::LedgerId;
use placet_ledger::store::conformance::block_on;
use placet_ledger::store::conformance::chain::{self, Chain};
use placet_ledger::store::sled::SledStore;
use placet_ledger::store::{Batch, EventStore, Expected, ReadStore};

type Failed = Box<dyn Error + Send + Sync>;

const ROUNDS: usize = 3;
const ROUND: Duration = Duration::from_millis(1_500);
/// About as much as the log of a store under load: what is written again and again is faster.
const FILE_BYTES: usize = 8 * 1024 * 1024;
/// One frame holds at most so many.
const GROUP: usize = 1_024;

struct Waiting {
    bytes: Vec<u8>,
    answer: oneshot::Sender<()>,
}

enum Target<'a> {
    Store(&'a SledStore),
    Plain(&'a SyncSender<Waiting>),
}

/// Appends a second, and the median of what one took.
type Figures = (f64, Duration);

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [count, folder] if count == "count" => {
            let (home, head) = (
                Path::new(folder).join("home"),
                Path::new(folder).join("head"),
            );
            let store = SledStore::open(&home, &head)?;
            writeln!(io::stdout(), "{}", block_on(store.tail())?.size)?;
            Ok(())
        }
        [folder] => measure(Path::new(folder)),
        _ => Err("load FOLDER, or load count FOLDER".into()),
    }
}

fn measure(folder: &Path) -> Result<(), Failed> {
    let ledger = LedgerId::new(uuid::Uuid::from_u64_pair(1, 1));
    let store = SledStore::create(&folder.join("home"), ledger, &folder.join("head"))?;
    let mut authority = Chain::authority(ledger);
    let begin = authority.record(chain::created(), &[]);
    let start = Expected::Start;
    block_on(store.append(authority.stream(), start, begin, &[]))?;
    let file = allocate(&folder.join("plain"))?;
    writeln!(io::stdout(), "direct, 1: p50 {:?}", direct(&file)?)?;
    let (queue, waiting) = sync_channel(GROUP);
    let writer = thread::spawn(move || write(&file, &waiting));
    let mut number = 0;
    for runs in [1, 8, 64, 256] {
        let (mut plain, mut stored) = (Vec::new(), Vec::new());
        for turn in 0..ROUNDS {
            let mut chains = || {
                number += runs as u64;
                let begin = |at: usize| Chain::run(ledger, &authority.digest(), number + at as u64);
                (0..runs).map(begin).collect::<Vec<_>>()
            };
            // By turns: what one leaves to the disk is paid by the next.
            if turn % 2 == 0 {
                plain.push(round(&chains(), &Target::Plain(&queue))?);
            }
            stored.push(round(&chains(), &Target::Store(&store))?);
            if turn % 2 == 1 {
                plain.push(round(&chains(), &Target::Plain(&queue))?);
            }
        }
        let ((plain, plain_p50), (stored, stored_p50)) = (median(plain), median(stored));
        writeln!(
            io::stdout(),
            "{runs:3} runs: plain {plain:.0}/s p50 {plain_p50:?}, store {stored:.0}/s p50 \
             {stored_p50:?}, share {:.2}, p50 ratio {:.2}",
            stored / plain,
            stored_p50.as_secs_f64() / plain_p50.as_secs_f64(),
        )?;
    }
    drop(queue);
    writer.join().map_err(|_| "the writer panicked")?
}

fn allocate(path: &Path) -> Result<File, Failed> {
    let file = File::create_new(path)?;
    file.write_all_at(&vec![0; FILE_BYTES], 0)?;
    file.sync_all()?;
    Ok(file)
}

/// One write and one sync after the other, with nothing between.
fn direct(file: &File) -> Result<Duration, Failed> {
    let mut took = Vec::new();
    for at in 0..3_000 {
        let begun = now();
        file.write_all_at(&[7; 1_100], at * 1_100)?;
        file.sync_data()?;
        took.push(begun.elapsed());
    }
    Ok(middle(&mut took))
}

/// What the committer does, and nothing else.
fn write(file: &File, waiting: &Receiver<Waiting>) -> Result<(), Failed> {
    let mut at = 0;
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        while group.len() < GROUP
            && let Ok(next) = waiting.try_recv()
        {
            group.push(next);
        }
        let bytes: Vec<u8> = group.iter().flat_map(|one| one.bytes.clone()).collect();
        if at + bytes.len() > FILE_BYTES {
            at = 0;
        }
        file.write_all_at(&bytes, at as u64)?;
        file.sync_data()?;
        at += bytes.len();
        for one in group {
            one.answer.send(()).map_err(|()| "nobody waits")?;
        }
    }
    Ok(())
}

/// One round, with the runs on two threads as the callers of a store are.
fn round(chains: &[Chain], target: &Target<'_>) -> Result<Figures, Failed> {
    let begun = now();
    let half = chains.len().div_ceil(2);
    let work = |part: Vec<Chain>| {
        let all = part.into_iter().map(|chain| one_run(chain, target, begun));
        block_on(join_all(all))
            .into_iter()
            .collect::<Result<Vec<_>, _>>()
    };
    let took: Result<Vec<_>, Failed> = thread::scope(|scope| {
        let parts = chains.chunks(half).map(<[Chain]>::to_vec);
        let threads: Vec<_> = parts.map(|part| scope.spawn(|| work(part))).collect();
        let ended = threads.into_iter().map(|thread| {
            let ended: Result<Vec<Vec<Duration>>, Failed> = thread
                .join()
                .map_err(|_| Failed::from("a caller panicked"))?;
            ended
        });
        ended.collect()
    });
    let elapsed = begun.elapsed().as_secs_f64();
    let mut took: Vec<_> = took?.into_iter().flatten().flatten().collect();
    let rate = f64::from(u32::try_from(took.len())?) / elapsed;
    Ok((rate, middle(&mut took)))
}

async fn one_run(
    mut run: Chain,
    target: &Target<'_>,
    begun: Instant,
) -> Result<Vec<Duration>, Failed> {
    let mut took = Vec::new();
    let text = [b'x'; 600];
    while begun.elapsed() < ROUND {
        let length = 100 + took.len() * 37 % 500;
        let expected = run.expected();
        let asked = now();
        let content = [("text", text.get(..length).unwrap_or(&text))];
        let batch = run.record(chain::parked_with(100), &content);
        match target {
            Target::Store(store) => {
                store.append(run.stream(), expected, batch, &[]).await?;
            }
            Target::Plain(queue) => {
                let (answer, answered) = oneshot::channel();
                let bytes = bytes_of(&batch);
                queue.send(Waiting { bytes, answer })?;
                answered.await?;
            }
        }
        took.push(asked.elapsed());
    }
    Ok(took)
}

/// As many bytes as a store writes for it, but for what sealing adds.
fn bytes_of(batch: &Batch) -> Vec<u8> {
    let records = batch.records.iter().map(|record| record.bytes().to_vec());
    let texts = batch
        .contents
        .values()
        .map(|content| content.bytes.to_vec());
    records.chain(texts).flatten().collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "it measures how long appends take"
)]
fn now() -> Instant {
    Instant::now()
}

fn middle(took: &mut [Duration]) -> Duration {
    took.sort_unstable();
    took.get(took.len() / 2).copied().unwrap_or_default()
}

fn median(mut figures: Vec<Figures>) -> Figures {
    figures.sort_by(|one, other| one.0.total_cmp(&other.0));
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}
