//! Writes an export from a store.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use super::{ContentLine, FORMAT, Header, Kind, RECORD_LINE, Trailer, to_hex};
use crate::content::{Blob, Commitment, Content};
use crate::envelope::Recorded;
use crate::event::Event;
use crate::id::{LedgerId, Position, RunId, StreamId, Version};
use crate::limits::PAGE_RECORDS_MAX;
use crate::store::{ReadError, ReadStore, Stored, Tail};

/// What is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct What {
    /// One run with the authority stream; all of the ledger if none is named.
    pub run: Option<RunId>,
    /// Without contents; it still verifies.
    pub facts_only: bool,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exported {
    /// The last line.
    pub trailer: Trailer,
    /// Contents that records name and that the store could not give.
    pub unreadable: u64,
}

/// Why an export was not written to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExportWriteError {
    /// The store failed.
    #[error("reading what is to be exported")]
    Read(#[from] ReadError),
    /// The file failed.
    #[error("writing the export")]
    Write(#[from] io::Error),
    /// A line cannot be written.
    #[error("encoding a line of the export")]
    Encode(#[from] serde_json::Error),
    /// There is no record at all.
    #[error("the ledger is empty")]
    Empty,
    /// There is no such run.
    #[error("the ledger has no run {0}")]
    NoRun(RunId),
}

/// Writes an export of what the store holds now.
pub async fn export(
    store: &dyn ReadStore,
    what: What,
    out: &mut (dyn Write + Send),
) -> Result<Exported, ExportWriteError> {
    let Tail { size, root } = store.tail().await?;
    let first = store.read_all(Position::ZERO, 1).await?;
    let first = first.into_iter().next().ok_or(ExportWriteError::Empty)?;
    let ledger = first.parse()?.envelope.header().ledger;
    let mut lines = Lines {
        out,
        written: 0,
        runs: Runs::default(),
        unreadable: 0,
    };
    lines.json(&Header {
        format: FORMAT,
        kind: Kind::Export,
        ledger,
        root,
        run: what.run,
        size,
    })?;
    let source = Source {
        store,
        ledger,
        run: what.run,
        size,
    };
    // The records first and the contents in a second reading: neither is held in memory.
    let mut pages = Pages::default();
    while let Some(page) = source.page(&mut pages).await? {
        for stored in page {
            lines.record(stored)?;
        }
    }
    if let Some(run) = what.run.filter(|run| !lines.runs.has(run.stream())) {
        return Err(ExportWriteError::NoRun(run));
    }
    if !what.facts_only {
        let mut seen = BTreeSet::new();
        let mut pages = Pages::default();
        while let Some(page) = source.page(&mut pages).await? {
            for stored in page {
                lines.contents(store, &stored.parse()?, &mut seen).await?;
            }
        }
    }
    let trailer = Trailer {
        complete: lines.runs.all_ended(),
        lines: lines.written,
    };
    lines.json(&trailer)?;
    lines.out.flush()?;
    Ok(Exported {
        trailer,
        unreadable: lines.unreadable,
    })
}

/// Which runs were written, and whether their newest record is their end.
#[derive(Default)]
struct Runs {
    journal: Option<StreamId>,
    ended: BTreeMap<StreamId, bool>,
}

impl Runs {
    fn add(&mut self, recorded: &Recorded) {
        let envelope = &recorded.envelope;
        let stream = envelope.stream();
        if let Event::LedgerCreated(created) = envelope.event() {
            self.journal = Some(created.journal);
        }
        if stream != envelope.header().ledger.authority() && Some(stream) != self.journal {
            let ends = matches!(envelope.event(), Event::RunFinished(_));
            self.ended.insert(stream, ends);
        }
    }

    fn has(&self, stream: StreamId) -> bool {
        self.ended.contains_key(&stream)
    }

    fn all_ended(&self) -> bool {
        self.ended.values().all(|&ended| ended)
    }
}

/// Where the records come from, up to one size.
struct Source<'a> {
    store: &'a dyn ReadStore,
    ledger: LedgerId,
    run: Option<RunId>,
    size: u64,
}

/// How far the records were read: of the whole log, or of two streams that are merged.
#[derive(Default)]
struct Pages {
    next: Position,
    streams: Option<[Stream; 2]>,
}

struct Stream {
    id: StreamId,
    next: Version,
    waiting: std::collections::VecDeque<Stored>,
    ended: bool,
}

impl Stream {
    fn new(id: StreamId) -> Self {
        Self {
            id,
            next: Version::ZERO,
            waiting: std::collections::VecDeque::new(),
            ended: false,
        }
    }

    async fn fill(&mut self, source: &Source<'_>) -> Result<(), ReadError> {
        if self.ended || !self.waiting.is_empty() {
            return Ok(());
        }
        let page = source
            .store
            .read_run(self.id, self.next, PAGE_RECORDS_MAX)
            .await?;
        let count = u32::try_from(page.len()).unwrap_or(u32::MAX);
        self.next = Version::new(self.next.get().saturating_add(count));
        self.ended = page.is_empty();
        self.waiting.extend(
            page.into_iter()
                .filter(|stored| stored.position.get() < source.size),
        );
        Ok(())
    }

    fn front(&self) -> Option<Position> {
        self.waiting.front().map(|stored| stored.position)
    }
}

impl Source<'_> {
    async fn page(&self, pages: &mut Pages) -> Result<Option<Vec<Stored>>, ReadError> {
        let Some(run) = self.run else {
            return self.page_of_all(pages).await;
        };
        let [authority, of_run] = pages
            .streams
            .get_or_insert_with(|| [self.ledger.authority(), run.stream()].map(Stream::new));
        let mut page = Vec::new();
        while page.len() < PAGE_RECORDS_MAX {
            authority.fill(self).await?;
            of_run.fill(self).await?;
            let first = match (authority.front(), of_run.front()) {
                (Some(a), Some(b)) if a < b => &mut *authority,
                (Some(_), None) => &mut *authority,
                (Some(_) | None, Some(_)) => &mut *of_run,
                (None, None) => break,
            };
            page.extend(first.waiting.pop_front());
        }
        Ok((!page.is_empty()).then_some(page))
    }

    async fn page_of_all(&self, pages: &mut Pages) -> Result<Option<Vec<Stored>>, ReadError> {
        let mut page = self.store.read_all(pages.next, PAGE_RECORDS_MAX).await?;
        page.retain(|stored| stored.position.get() < self.size);
        let Some(last) = page.last() else {
            return Ok(None);
        };
        pages.next = Position::new(last.position.get().saturating_add(1));
        Ok(Some(page))
    }
}

struct Lines<'a> {
    out: &'a mut (dyn Write + Send),
    written: u64,
    runs: Runs,
    unreadable: u64,
}

impl Lines<'_> {
    fn json(&mut self, line: &impl serde::Serialize) -> Result<(), ExportWriteError> {
        let mut line = serde_json::to_vec(line)?;
        line.push(b'\n');
        self.out.write_all(&line)?;
        self.written = self.written.saturating_add(1);
        Ok(())
    }

    /// The record's own bytes; they are parsed only so that no damage passes as a record.
    fn record(&mut self, stored: Stored) -> Result<(), ExportWriteError> {
        let recorded = stored.parse()?;
        self.runs.add(&recorded);
        write!(self.out, "{RECORD_LINE}{},\"record\":", recorded.position)?;
        self.out.write_all(recorded.envelope.bytes())?;
        self.out.write_all(b"}\n")?;
        self.written = self.written.saturating_add(1);
        Ok(())
    }

    async fn contents(
        &mut self,
        store: &dyn ReadStore,
        recorded: &Recorded,
        seen: &mut BTreeSet<(StreamId, Commitment)>,
    ) -> Result<(), ExportWriteError> {
        let run = recorded.envelope.stream();
        for Blob { commitment, .. } in recorded.envelope.blobs().values() {
            if !seen.insert((run, *commitment)) {
                continue;
            }
            let found = match store.content(run, &[*commitment]).await {
                Ok(found) => found,
                // What is lost is named by whoever verifies; the rest is exported all the same.
                Err(ReadError::NoContent(_) | ReadError::Damaged { .. }) => {
                    self.unreadable = self.unreadable.saturating_add(1);
                    continue;
                }
                Err(error @ ReadError::Io(_)) => return Err(error.into()),
            };
            if let Some(content) = found.get(commitment) {
                self.json(&line(run, *commitment, content))?;
            }
        }
        Ok(())
    }
}

fn line(run: StreamId, commitment: Commitment, content: &Content) -> ContentLine {
    let text = std::str::from_utf8(&content.bytes).ok().map(str::to_owned);
    ContentLine {
        commitment,
        hex: text.is_none().then(|| to_hex(&content.bytes)),
        run,
        salt: to_hex(&content.salt.0),
        text,
    }
}
