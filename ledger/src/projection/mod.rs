//! Projections beside the log: what is asked often, kept in rows that can be built anew.
//!
//! They are never the truth. Each answer first takes in what the log has beyond the mark, which
//! holds how far the rows come, the digest of the last record in them, and their format. Where the
//! log is shorter, has another record there, or the rows do not fit one another, they are thrown
//! away and built from the first record. No answer reads the log otherwise. Nothing is said about
//! expiry: that is what readers see at the time they are given.

mod allowed;
mod answer;
mod batch;
mod cursor;
mod decided;
mod find;
mod fold;
mod keys;
mod query;
mod rows;

use std::sync::Arc;

use futures_util::lock::Mutex;

use crate::digest::{Digest, Hasher, Purpose};
use crate::id::Position;
use crate::limits::PAGE_RECORDS_MAX;
use crate::store::projections::{Direction, ProjectionStore};
use crate::store::{ReadError, ReadStore};

use batch::{Batch, FORMAT, Mark, RowsError, decode};

pub use cursor::{Cursor, CursorError};
pub use query::{
    ANSWER_ROWS_MAX, Answer, Decided, DecisionFilter, Page, Query, Rebuilt, RunFilter,
};
pub use rows::{
    Approver, Begun, Broken, Decision, Kind, PendingRow, RunRow, RunStatus, Verdict, Waits,
};

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The cursor is none of this list.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// The log or the rows cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

enum Failed {
    Cursor(CursorError),
    Rows(RowsError),
}

impl From<RowsError> for Failed {
    fn from(error: RowsError) -> Self {
        Self::Rows(error)
    }
}

impl From<CursorError> for Failed {
    fn from(error: CursorError) -> Self {
        Self::Cursor(error)
    }
}

impl From<ReadError> for Failed {
    fn from(error: ReadError) -> Self {
        Self::Rows(RowsError::Read(error))
    }
}

/// Keeps the rows at the end of the log and answers from them.
pub struct Projector {
    reads: Arc<dyn ReadStore>,
    rows: Arc<dyn ProjectionStore>,
    /// How far they come, once they were held against the log; one answer is made at a time.
    mark: Mutex<Option<Mark>>,
}

impl Projector {
    /// Projections of a log, in these rows.
    pub fn new(reads: Arc<dyn ReadStore>, rows: Arc<dyn ProjectionStore>) -> Self {
        Self {
            reads,
            rows,
            mark: Mutex::new(None),
        }
    }

    /// Answers, from all that is in the log by now.
    pub async fn query(&self, query: &Query) -> Result<Answer, QueryError> {
        let mut known = self.mark.lock().await;
        if *query == (Query::Rebuild {}) {
            return Ok(Answer::Rebuilt(self.rebuilt(&mut known).await?));
        }
        let first = match self.caught_up(&mut known).await {
            Ok(mark) => answer::answer(&*self.rows, &mark, query),
            Err(error) => Err(error.into()),
        };
        let failed = match first {
            Ok(answer) => return Ok(answer),
            Err(failed) => failed,
        };
        match failed {
            Failed::Cursor(error) => Err(error.into()),
            Failed::Rows(RowsError::Read(error)) => Err(error.into()),
            Failed::Rows(RowsError::Unfit(why)) => {
                tracing::warn!(why, "projections are built anew");
                let mark = self.rebuild(&mut known).await?;
                match answer::answer(&*self.rows, &mark, query) {
                    Ok(answer) => Ok(answer),
                    Err(Failed::Cursor(error)) => Err(error.into()),
                    Err(Failed::Rows(error)) => Err(read(error).into()),
                }
            }
        }
    }

    /// Takes in what the log has beyond the mark.
    async fn caught_up(&self, known: &mut Option<Mark>) -> Result<Mark, RowsError> {
        let tail = self.reads.tail().await?;
        let mark = match known.take() {
            Some(mark) if mark.size <= tail.size => mark,
            _ => self.stored_mark(tail.size).await?,
        };
        let anew = mark.size == 0;
        let mark = self.advance(mark, tail.size, anew).await?;
        *known = Some(mark.clone());
        Ok(mark)
    }

    /// The mark of the rows, held against the log.
    async fn stored_mark(&self, size: u64) -> Result<Mark, RowsError> {
        let unfit = |why: &str| RowsError::Unfit(why.to_owned());
        let Some(bytes) = self.rows.get(keys::MARK)? else {
            let any = self.rows.range(&[], &[0xff], Direction::Up, 1)?;
            return if any.is_empty() {
                Ok(Mark::EMPTY)
            } else {
                Err(unfit("there are rows without a mark"))
            };
        };
        let mark: Mark = decode(&bytes)?;
        if mark.format != FORMAT {
            return Err(unfit("they have another format"));
        }
        if mark.size > size {
            return Err(unfit("they come further than the log"));
        }
        let digest = match mark.size.checked_sub(1) {
            None => None,
            Some(last) => {
                let page = self.reads.read_all(Position::new(last), 1).await?;
                let stored = page.into_iter().next();
                stored
                    .map(|stored| Ok::<_, ReadError>(stored.parse()?.envelope.digest()))
                    .transpose()?
            }
        };
        if digest == mark.digest {
            Ok(mark)
        } else {
            Err(unfit("the log has another record where they end"))
        }
    }

    async fn advance(&self, mut mark: Mark, size: u64, anew: bool) -> Result<Mark, RowsError> {
        while mark.size < size {
            let from = Position::new(mark.size);
            let page = self.reads.read_all(from, PAGE_RECORDS_MAX).await?;
            if page.is_empty() {
                break;
            }
            let mut batch = Batch::new(&*self.rows, mark, anew);
            for stored in page {
                batch.apply(&stored.parse()?)?;
            }
            mark = batch.write()?;
        }
        Ok(mark)
    }

    async fn rebuild(&self, known: &mut Option<Mark>) -> Result<Mark, ReadError> {
        *known = None;
        self.rows.clear()?;
        let size = self.reads.tail().await?.size;
        let mark = self.advance(Mark::EMPTY, size, true).await.map_err(read)?;
        *known = Some(mark.clone());
        Ok(mark)
    }

    /// Whether all of the log can be read.
    async fn readable(&self) -> Result<(), ReadError> {
        let mut from = Position::ZERO;
        let size = self.reads.tail().await?.size;
        while from.get() < size {
            let page = self.reads.read_all(from, PAGE_RECORDS_MAX).await?;
            let Some(last) = page.into_iter().next_back() else {
                return Ok(());
            };
            from = Position::new(last.position.get().saturating_add(1));
        }
        Ok(())
    }

    async fn rebuilt(&self, known: &mut Option<Mark>) -> Result<Rebuilt, ReadError> {
        // What is behind is not different; what cannot even go on is.
        let before = match self.caught_up(known).await {
            Ok(_) => Some(self.contents()?.0),
            Err(RowsError::Unfit(_)) => None,
            Err(RowsError::Read(error)) => return Err(error),
        };
        // What the log cannot give again is not thrown away.
        self.readable().await?;
        let mark = self.rebuild(known).await?;
        let (after, rows) = self.contents()?;
        Ok(Rebuilt {
            differed: before != Some(after),
            rows,
            records: mark.size,
        })
    }

    /// Digest and number of all rows.
    fn contents(&self) -> Result<(Digest, u64), ReadError> {
        let mut hasher = Hasher::new(Purpose::File);
        let (mut low, mut count) = (Vec::new(), 0_u64);
        loop {
            let page = self
                .rows
                .range(&low, &[0xff], Direction::Up, PAGE_RECORDS_MAX)?;
            let Some((last, _)) = page.last() else {
                return Ok((hasher.finish(), count));
            };
            low = keys::after(last);
            for (key, value) in page {
                count = count.saturating_add(1);
                for part in [key, value] {
                    let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
                    hasher.update(&length.to_be_bytes()).update(&part);
                }
            }
        }
    }
}

/// Rows that were just built and do not fit are those of a store that fails.
fn read(error: RowsError) -> ReadError {
    match error {
        RowsError::Read(error) => error,
        RowsError::Unfit(why) => ReadError::Io(why),
    }
}
