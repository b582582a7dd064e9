//! Records of one store brought to another in their order, and the look whether all is there.

use std::future::poll_fn;
use std::task::Poll;

use super::{BackupError, Told};
use crate::content::Commitment;
use crate::digest::{Purpose, digest};
use crate::envelope::{Envelope, Recorded};
use crate::id::{Position, StreamId, Version};
use crate::limits::{APPEND_BYTES_MAX, PAGE_RECORDS_MAX};
use crate::merkle::Frontier;
use crate::store::{AppendError, Batch, EventStore, Expected, ReadError, ReadStore, Stored, Tail};

/// Bytes of contents that are held at once, or those of one record.
const HELD_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Records of one stream that stand behind each other.
struct Piece {
    first: Position,
    stream: StreamId,
    expected: Expected,
    batch: Batch,
}

/// Brings every record up to a cut, with its contents, into an empty store.
pub async fn fill(
    from: &dyn ReadStore,
    to: &dyn EventStore,
    cut: Tail,
    told: Told<'_>,
) -> Result<(), BackupError> {
    let (mut pieces, mut held) = (Vec::new(), 0_u64);
    let mut next = 0_u64;
    while next < cut.size {
        for recorded in page(from, next, cut).await? {
            let bytes = sealed_bytes(&recorded.envelope);
            if held.saturating_add(bytes) > HELD_BYTES_MAX {
                bring(to, std::mem::take(&mut pieces)).await?;
                held = 0;
            }
            held = held.saturating_add(bytes);
            add(from, &mut pieces, recorded).await?;
            next = next.saturating_add(1);
        }
        bring(to, std::mem::take(&mut pieces)).await?;
        held = 0;
        told(next, cut.size);
    }
    Ok(())
}

/// Whether a store holds what the log was at a cut, and every content of it opens.
pub async fn check(store: &dyn ReadStore, cut: Tail, told: Told<'_>) -> Result<(), BackupError> {
    let mut tree = Frontier::new();
    while tree.size() < cut.size {
        for recorded in page(store, tree.size(), cut).await? {
            let record = &recorded.envelope;
            tree.push(&digest(Purpose::Event, record.bytes()));
            // What is read is opened and compared with its commitment.
            store.content(record.stream(), &named(record)).await?;
        }
        told(tree.size(), cut.size);
    }
    let tail = store.tail().await?;
    if (tree.root(), tail) == (cut.root, cut) {
        return Ok(());
    }
    let what = format!(
        "it comes to {} records and {}, and {} and {} were meant",
        tail.size,
        tree.root(),
        cut.size,
        cut.root
    );
    Err(BackupError::Damaged(what))
}

/// Records from a position on, at least one.
async fn page(store: &dyn ReadStore, next: u64, cut: Tail) -> Result<Vec<Recorded>, BackupError> {
    let left = usize::try_from(cut.size.saturating_sub(next)).unwrap_or(usize::MAX);
    let limit = left.min(PAGE_RECORDS_MAX);
    let page = store.read_all(Position::new(next), limit).await?;
    let dense = |(position, stored): (u64, &Stored)| stored.position.get() == position;
    if page.is_empty() || !(next..).zip(&page).all(dense) {
        let position = Some(Position::new(next));
        let detail = String::from("records are missing from here on");
        return Err(ReadError::Damaged { position, detail }.into());
    }
    let records: Result<Vec<_>, ReadError> = page.into_iter().map(Stored::parse).collect();
    Ok(records?)
}

fn named(record: &Envelope) -> Vec<Commitment> {
    record
        .blobs()
        .values()
        .map(|blob| blob.commitment)
        .collect()
}

fn sealed_bytes(record: &Envelope) -> u64 {
    let sizes = record.blobs().values().map(|blob| blob.size);
    sizes.fold(0, u64::saturating_add)
}

/// Adds a record with its contents to the last piece, or as the first of another one.
async fn add(
    from: &dyn ReadStore,
    pieces: &mut Vec<Piece>,
    recorded: Recorded,
) -> Result<(), BackupError> {
    let Recorded { position, envelope } = recorded;
    let stream = envelope.stream();
    let commitments = named(&envelope);
    let contents = from.content(stream, &commitments).await?;
    let joins = pieces.last().is_some_and(|last| {
        let records = last.batch.records.iter().chain([&envelope]);
        let bytes = records.fold(0, |sum: usize, one| sum.saturating_add(one.bytes().len()));
        last.stream == stream && bytes <= APPEND_BYTES_MAX
    });
    if !joins {
        let version = envelope.version();
        let expected = match version.get().checked_sub(1) {
            None => Expected::Start,
            // What the first record follows, by its own word: the store compares it.
            Some(before) => Expected::Head {
                version: Version::new(before),
                digest: envelope.header().prev,
            },
        };
        pieces.push(Piece {
            first: position,
            stream,
            expected,
            batch: Batch::default(),
        });
    }
    if let Some(Piece { batch, .. }) = pieces.last_mut() {
        batch.records.push(envelope);
        let contents = contents.iter().map(|(named, one)| (*named, one.clone()));
        batch.contents.extend(contents);
    }
    Ok(())
}

/// Appends pieces in their order; all are handed over before the first is waited for, so that the
/// store makes them durable together.
async fn bring(to: &dyn EventStore, pieces: Vec<Piece>) -> Result<(), BackupError> {
    let mut waiting = Vec::new();
    for piece in pieces {
        let mut append = to.append(piece.stream, piece.expected, piece.batch, &[]);
        let answer = match poll_fn(|context| Poll::Ready(append.as_mut().poll(context))).await {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        };
        waiting.push((piece.first, append, answer));
    }
    for (first, append, answer) in waiting {
        let appended = match answer {
            Some(answer) => answer?,
            None => append.await?,
        };
        if appended.first != first || appended.replayed {
            let what = "its records came to stand at other positions";
            return Err(AppendError::Invalid(what).into());
        }
    }
    Ok(())
}
