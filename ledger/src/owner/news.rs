//! What another process is told of a run, so that it folds the very state that the owner has.

use std::collections::BTreeSet;

use super::Owner;
use crate::content::{Commitment, Content};
use crate::digest::Digest;
use crate::envelope::Envelope;
use crate::error::LedgerError;
use crate::id::{CommandId, RunId, StreamId, Version};
use crate::limits::PAGE_RECORDS_MAX;
use crate::store::pages::each_of_stream;
use crate::time::Timestamp;

/// Bytes of contents after which a page ends.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// The end of a run as somebody knows it.
pub(crate) type Known = (Version, Digest);

/// What came to a run, or all of it.
#[derive(Debug)]
pub(crate) struct News {
    /// Whether it begins anew: what was known is not the history that is here.
    pub(crate) anew: bool,
    /// Whether there is more.
    pub(crate) more: bool,
    /// The newest record of the run that is durable.
    pub(crate) durable: Option<Version>,
    /// The newest version of the authority stream.
    pub(crate) authority: Version,
    /// The owner's time.
    pub(crate) now: Timestamp,
    /// The records, staged ones included.
    pub(crate) records: Vec<Envelope>,
    /// The contents that they name.
    pub(crate) contents: Vec<(Commitment, Content)>,
}

impl Owner {
    /// What came to a run since somebody knew it; what is staged counts.
    pub(crate) async fn news(&self, run: RunId, known: Option<Known>) -> Result<News, LedgerError> {
        let cell = self.cell(run).await?;
        let head = cell.state(run)?.head();
        let mut news = News {
            anew: false,
            more: false,
            durable: cell.durable.as_ref().map(|head| head.version),
            authority: self.standing().state.version(),
            now: self.now(),
            records: Vec::new(),
            contents: Vec::new(),
        };
        let mut from = match known {
            Some((version, digest)) if version == head.version => {
                if digest == head.digest {
                    return Ok(news);
                }
                None
            }
            Some((version, _)) if version > head.version => None,
            Some((version, _)) => version.next(),
            None => Some(Version::ZERO),
        };
        let staged = cell.staged.records.first().map(Envelope::version);
        for _ in 0..2 {
            let start = from.unwrap_or_default();
            news.anew |= from.is_none();
            let mut page = self.durable(run.stream(), start, staged).await?;
            if page.len() < PAGE_RECORDS_MAX {
                let rest = cell.staged.records.iter();
                page.extend(rest.filter(|record| record.version() >= start).cloned());
            }
            let follows = match (known, page.first()) {
                (Some((_, digest)), Some(first)) if !news.anew => first.header().prev == digest,
                (_, _) => true,
            };
            if follows {
                news.records = page;
                break;
            }
            from = None;
        }
        let mut named = BTreeSet::new();
        let mut bytes = 0_usize;
        let mut kept = 0_usize;
        for record in &news.records {
            if bytes > PAGE_BYTES {
                break;
            }
            kept = kept.saturating_add(1);
            for blob in record.blobs().values() {
                let content = cell.contents.get(&blob.commitment);
                if let Some(content) = content.filter(|_| named.insert(blob.commitment)) {
                    bytes = bytes.saturating_add(content.bytes.len());
                    news.contents.push((blob.commitment, content.clone()));
                }
            }
        }
        news.records.truncate(kept);
        news.more = news
            .records
            .last()
            .is_some_and(|last| last.version() < head.version);
        Ok(news)
    }

    /// A page of the durable records of a run before the first that is staged.
    async fn durable(
        &self,
        stream: StreamId,
        from: Version,
        staged: Option<Version>,
    ) -> Result<Vec<Envelope>, LedgerError> {
        if staged.is_some_and(|first| from >= first) {
            return Ok(Vec::new());
        }
        let page = self
            .parts
            .store
            .read_run(stream, from, PAGE_RECORDS_MAX)
            .await?;
        page.into_iter().map(|stored| self.parse(stored)).collect()
    }

    /// What a command came to that was sent before and whose answer was lost: its records, if it
    /// was recorded after `since`.
    pub(super) async fn recorded(
        &self,
        stream: StreamId,
        id: CommandId,
        since: Option<Version>,
    ) -> Result<Option<Vec<Envelope>>, LedgerError> {
        let from = since.map_or(Some(Version::ZERO), Version::next);
        let Some(from) = from else { return Ok(None) };
        let mut found: Option<Vec<Envelope>> = None;
        each_of_stream(&*self.parts.store, stream, from, |recorded| {
            let envelope = recorded.envelope;
            match &mut found {
                Some(records) => records.push(envelope),
                None if envelope.header().id.is_of(id) => found = Some(vec![envelope]),
                None => {}
            }
            Ok::<_, LedgerError>(())
        })
        .await?;
        Ok(found)
    }
}
