//! Reading a stream or the whole log page by page, for those who want all of it.

use super::{ReadError, ReadStore, Stored};
use crate::envelope::Recorded;
use crate::id::{Position, StreamId, Version};
use crate::limits::PAGE_RECORDS_MAX;
use crate::view::{Projection, RunList};

/// Hands over every record of a stream from a version on, in order. Where one cannot be read, those
/// before it are handed over and then that is the error.
pub async fn each_of_stream<E: From<ReadError>>(
    store: &dyn ReadStore,
    stream: StreamId,
    from: Version,
    mut take: impl FnMut(Recorded) -> Result<(), E>,
) -> Result<(), E> {
    let mut next = Some(from);
    while let Some(from) = next {
        let page = match store.read_run(stream, from, PAGE_RECORDS_MAX).await {
            Ok(page) => page,
            Err(error) => {
                one_by_one(store, stream, from, &mut take).await?;
                return Err(error.into());
            }
        };
        let full = page.len() == PAGE_RECORDS_MAX;
        next = None;
        for stored in page {
            let recorded = stored.parse()?;
            next = recorded.envelope.version().next().filter(|_| full);
            take(recorded)?;
        }
    }
    Ok(())
}

/// Hands over what can be read of a page that cannot be read as a whole.
async fn one_by_one<E: From<ReadError>>(
    store: &dyn ReadStore,
    stream: StreamId,
    from: Version,
    take: &mut impl FnMut(Recorded) -> Result<(), E>,
) -> Result<(), E> {
    let mut next = Some(from);
    for _ in 0..PAGE_RECORDS_MAX {
        let Some(from) = next else { return Ok(()) };
        let Ok(page) = store.read_run(stream, from, 1).await else {
            return Ok(());
        };
        let Some(stored) = page.into_iter().next() else {
            return Ok(());
        };
        let recorded = stored.parse()?;
        next = recorded.envelope.version().next();
        take(recorded)?;
    }
    Ok(())
}

/// Every record of a stream, in order.
pub async fn read_stream(
    store: &dyn ReadStore,
    stream: StreamId,
    from: Version,
) -> Result<Vec<Recorded>, ReadError> {
    let mut records = Vec::new();
    each_of_stream(store, stream, from, |recorded| {
        records.push(recorded);
        Ok::<_, ReadError>(())
    })
    .await?;
    Ok(records)
}

/// Hands over every record of the log from a position on, in order, until one is not wanted. Where
/// one cannot be read, those before it are handed over and then that is the error.
pub async fn each_of_log(
    store: &dyn ReadStore,
    from: Position,
    mut take: impl FnMut(Recorded) -> bool,
) -> Result<(), ReadError> {
    let mut from = from;
    loop {
        let page = match store.read_all(from, PAGE_RECORDS_MAX).await {
            Ok(page) => page,
            Err(error) => {
                for stored in before(store, from, &error).await {
                    if !take(stored.parse()?) {
                        return Ok(());
                    }
                }
                return Err(error);
            }
        };
        let full = page.len() == PAGE_RECORDS_MAX;
        for stored in page {
            from = after(&stored);
            if !take(stored.parse()?) {
                return Ok(());
            }
        }
        if !full {
            return Ok(());
        }
    }
}

/// What can be read before the position at which a page cannot.
async fn before(store: &dyn ReadStore, from: Position, error: &ReadError) -> Vec<Stored> {
    let ReadError::Damaged {
        position: Some(position),
        ..
    } = error
    else {
        return Vec::new();
    };
    let count = position.get().saturating_sub(from.get());
    match usize::try_from(count) {
        Ok(count @ 1..) => store.read_all(from, count).await.unwrap_or_default(),
        Ok(_) | Err(_) => Vec::new(),
    }
}

fn after(stored: &Stored) -> Position {
    Position::new(stored.position.get().saturating_add(1))
}

/// Every run of the log, folded.
pub async fn run_list(store: &dyn ReadStore) -> Result<RunList, ReadError> {
    let mut runs = RunList::new();
    each_of_log(store, Position::ZERO, |recorded| {
        runs.apply(&recorded);
        true
    })
    .await?;
    Ok(runs)
}
