//! The comparison that every store makes before it writes: one place, so that stores agree.
//!
//! It has two halves. `Attempt::check` looks at the batch alone and costs the hashing, so it runs
//! at the caller's. `Attempt::compare` asks the store, costs next to nothing and is what the one
//! writer runs. Neither decides anything: that was done before the batch was made.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::{AppendError, Batch, Expected, ReadError, Stored, Unless, chain};
use crate::content::{Commitment, Content, size_class};
use crate::digest::{Digest, Purpose, digest};
use crate::envelope::{Envelope, LinkError, ledger_genesis, stream_genesis};
use crate::id::{LedgerId, Position, StreamId, Version};
use crate::limits::{APPEND_BYTES_MAX, APPEND_RECORDS_MAX, CONTENT_BYTES_MAX};

/// The end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// Version of its last record.
    pub(crate) version: Version,
    /// Digest of its last record.
    pub(crate) digest: Digest,
    /// Newest version that changes authority, if there is one.
    pub(crate) authority: Option<Version>,
}

impl Head {
    /// The head after `records`, which were checked to follow `before`.
    pub(crate) fn after(before: Option<Self>, records: &[Envelope]) -> Option<Self> {
        let last = records.last()?;
        let newest = records
            .iter()
            .rev()
            .find(|record| record.event().is_authority());
        Some(Self {
            version: last.version(),
            digest: last.digest(),
            authority: newest
                .map(Envelope::version)
                .or(before.and_then(|head| head.authority)),
        })
    }
}

/// What the comparison must know of a store.
pub(crate) trait View {
    /// The end of a stream; `None` where it does not exist.
    fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError>;

    /// One record of a stream.
    fn record(&self, stream: StreamId, version: Version) -> Result<Option<Stored>, ReadError>;

    /// Whether a stream holds a content.
    fn has_content(&self, stream: StreamId, commitment: &Commitment) -> Result<bool, ReadError>;
}

/// What is to be done with an attempt that is no error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Write it.
    Append,
    /// It is there, from this position on.
    Replayed(Position),
}

/// An append whose batch holds together.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) ledger: LedgerId,
    pub(crate) stream: StreamId,
    pub(crate) expected: Expected,
    /// At least one.
    pub(crate) records: Vec<Envelope>,
    pub(crate) unless: Vec<Unless>,
    /// Contents that are named, not brought: they must lie in the stream.
    pub(crate) elsewhere: BTreeSet<Commitment>,
}

impl Attempt {
    /// Checks all that can be told from the batch alone.
    pub(crate) fn check(
        ledger: LedgerId,
        stream: StreamId,
        expected: Expected,
        batch: Batch,
        unless: &[Unless],
    ) -> Result<(Self, BTreeMap<Commitment, Content>), AppendError> {
        check_bounds(&batch)?;
        check_links(ledger, stream, expected, &batch.records)?;
        let elsewhere = check_contents(&batch)?;
        let attempt = Self {
            ledger,
            stream,
            expected,
            records: batch.records,
            unless: unless.to_vec(),
            elsewhere,
        };
        Ok((attempt, batch.contents))
    }

    /// Compares with what the store holds.
    pub(crate) fn compare(&self, view: &impl View) -> Result<Verdict, AppendError> {
        let head = view.head(self.stream)?;
        match (self.expected, head) {
            (Expected::Start, None) => self.follows_genesis(view)?,
            (Expected::Start, Some(head)) => {
                self.follows_genesis(view)?;
                return self.replay(view, head);
            }
            (Expected::Head { .. }, None) => return Err(AppendError::Conflict { actual: None }),
            (Expected::Head { version, digest }, Some(head)) => match version.cmp(&head.version) {
                Ordering::Equal if digest == head.digest => {}
                Ordering::Equal | Ordering::Greater => return Err(AppendError::Mismatch),
                Ordering::Less => {
                    if stored_digest(view, self.stream, version)? != Some(digest) {
                        return Err(AppendError::Mismatch);
                    }
                    return self.replay(view, head);
                }
            },
        }
        self.has_not_moved(view)?;
        self.has_contents(view)?;
        Ok(Verdict::Append)
    }

    /// The first record of a stream must follow from the ledger, and from its creation.
    fn follows_genesis(&self, view: &impl View) -> Result<(), AppendError> {
        let authority = self.ledger.authority();
        let genesis = if self.stream == authority {
            Some(ledger_genesis(self.ledger))
        } else {
            stored_digest(view, authority, Version::ZERO)?
                .map(|created| stream_genesis(self.ledger, &created, self.stream))
        };
        if genesis.is_some() && self.records.first().map(|first| first.header().prev) == genesis {
            Ok(())
        } else {
            Err(AppendError::Mismatch)
        }
    }

    /// Whether these very records are there already.
    fn replay(&self, view: &impl View, head: Head) -> Result<Verdict, AppendError> {
        let conflict = AppendError::Conflict {
            actual: Some(head.version),
        };
        let mut first = None;
        for record in &self.records {
            let stored = view.record(self.stream, record.version())?;
            match stored {
                Some(stored) if stored.bytes == *record.bytes() => {
                    first.get_or_insert(stored.position);
                }
                Some(_) | None => return Err(conflict),
            }
        }
        first.map(Verdict::Replayed).ok_or(conflict)
    }

    /// Whether authority is what it was when it was read.
    fn has_not_moved(&self, view: &impl View) -> Result<(), AppendError> {
        for unless in &self.unless {
            let head = view.head(unless.stream)?;
            let head = head.ok_or(AppendError::Mismatch)?;
            if unless.version > head.version {
                return Err(AppendError::Mismatch);
            }
            let newest = if unless.stream == self.ledger.authority() {
                Some(head.version)
            } else {
                head.authority
            };
            if let Some(version) = newest.filter(|&newest| newest > unless.version) {
                return Err(AppendError::Moved {
                    stream: unless.stream,
                    version,
                });
            }
        }
        Ok(())
    }

    /// Whether the contents that it does not bring lie in the stream.
    fn has_contents(&self, view: &impl View) -> Result<(), AppendError> {
        for commitment in &self.elsewhere {
            if !view.has_content(self.stream, commitment)? {
                return Err(AppendError::Invalid(
                    "a record names a content that is neither brought nor in the stream",
                ));
            }
        }
        Ok(())
    }
}

/// A store that cannot be read must not be written to.
impl From<ReadError> for AppendError {
    fn from(error: ReadError) -> Self {
        Self::Poisoned(chain(&error))
    }
}

/// The digest of a record as it lies in the store.
fn stored_digest(
    view: &impl View,
    stream: StreamId,
    version: Version,
) -> Result<Option<Digest>, AppendError> {
    let stored = view.record(stream, version)?;
    Ok(stored.map(|stored| digest(Purpose::Event, &stored.bytes)))
}

/// Whether it is neither empty nor larger than others should wait for.
fn check_bounds(batch: &Batch) -> Result<(), AppendError> {
    if batch.records.is_empty() {
        return Err(AppendError::Invalid("it has no record"));
    }
    if batch.records.len() > APPEND_RECORDS_MAX {
        return Err(AppendError::Invalid("it has too many records"));
    }
    let bytes = batch.records.iter().fold(0_usize, |sum, record| {
        sum.saturating_add(record.bytes().len())
    });
    if bytes > APPEND_BYTES_MAX {
        return Err(AppendError::Invalid("its records have too many bytes"));
    }
    let too_large = |content: &Content| content.bytes.len() > CONTENT_BYTES_MAX;
    if batch.contents.values().any(too_large) {
        return Err(AppendError::Invalid("a content has too many bytes"));
    }
    Ok(())
}

/// Whether the records follow what is expected, and each other.
fn check_links(
    ledger: LedgerId,
    stream: StreamId,
    expected: Expected,
    records: &[Envelope],
) -> Result<(), AppendError> {
    let (mut next, mut prev) = match expected {
        Expected::Start => (Some(Version::ZERO), None),
        Expected::Head { version, digest } => (version.next(), Some(digest)),
    };
    for (index, record) in records.iter().enumerate() {
        let version = next.ok_or(AppendError::Invalid("the stream has no version left"))?;
        // Which genesis a stream has is known to the store alone.
        let link = record.verify_link(
            ledger,
            stream,
            version,
            prev.unwrap_or(record.header().prev),
        );
        match link {
            Ok(()) => {}
            Err(LinkError::Previous { .. }) if index == 0 => return Err(AppendError::Mismatch),
            Err(LinkError::Ledger(_)) => {
                return Err(AppendError::Invalid("a record belongs to another ledger"));
            }
            Err(LinkError::Stream(_)) => {
                return Err(AppendError::Invalid("a record belongs to another stream"));
            }
            Err(LinkError::Version { .. } | LinkError::Previous { .. }) => {
                return Err(AppendError::Invalid("its records do not follow each other"));
            }
        }
        next = version.next();
        prev = Some(record.digest());
    }
    Ok(())
}

/// Whether the contents fit what the records say of them; gives back what is named, not brought.
fn check_contents(batch: &Batch) -> Result<BTreeSet<Commitment>, AppendError> {
    let mut elsewhere = BTreeSet::new();
    let mut unnamed: BTreeSet<&Commitment> = batch.contents.keys().collect();
    for blob in batch
        .records
        .iter()
        .flat_map(|record| record.blobs().values())
    {
        let Some(content) = batch.contents.get(&blob.commitment) else {
            elsewhere.insert(blob.commitment);
            continue;
        };
        unnamed.remove(&blob.commitment);
        // A length is far below 2^64.
        if size_class(u64::try_from(content.bytes.len()).unwrap_or(u64::MAX)) != blob.size {
            return Err(AppendError::Invalid(
                "a content has another size class than its record says",
            ));
        }
    }
    if !unnamed.is_empty() {
        return Err(AppendError::Invalid(
            "it brings a content that no record names",
        ));
    }
    let is_other =
        |(commitment, content): (&Commitment, &Content)| content.commitment() != *commitment;
    if batch.contents.iter().any(is_other) {
        return Err(AppendError::Invalid(
            "a content does not fit its commitment",
        ));
    }
    Ok(elsewhere)
}
