//! The worked example in stores: in memory, and in one that can be tampered with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;

use crate::approval::{By, Demands};
use crate::audit::HeadPosition;
use crate::content::{Commitment, Content, Contents, Salt};
use crate::digest::{Purpose, digest};
use crate::envelope::Envelope;
use crate::event::RefusalKind;
use crate::id::{LedgerId, Position, RunId, StreamId, Version};
use crate::judge::{GateInput, Judge, Verdict};
use crate::merkle::Frontier;
use crate::risk::DeclaredRisk;
use crate::store::memory::MemoryStore;
use crate::store::{
    AppendError, Appended, Batch, EventStore, Expected, ReadError, ReadStore, Stored, Tail, Unless,
};

pub(crate) const RECORDS: &str =
    include_str!("../../../../replay-tests/fixtures/worked_example/records.jsonl");
pub(crate) const CONTENTS: &str =
    include_str!("../../../../replay-tests/fixtures/worked_example/contents.jsonl");
pub(crate) const LEDGER: &str = "6f0c9a52-3f0e-4a57-9a0b-2d7b6c1e4f80";
pub(crate) const RUN: &str = "b3e41f07-8c2d-4e6a-9f51-0a7d3c58e912";

/// How many records each of its appends has.
const APPENDS: [usize; 8] = [2, 3, 9, 2, 2, 2, 2, 3];

pub(crate) fn ledger() -> LedgerId {
    LEDGER.parse().unwrap()
}

pub(crate) fn run() -> RunId {
    RUN.parse().unwrap()
}

pub(crate) fn head() -> HeadPosition {
    HeadPosition {
        size: 25,
        root: "743db0094d1019bec653ebe92f6a3ec8a02f35cd98d93128ccf3f5677b1dc7e1"
            .parse()
            .unwrap(),
    }
}

pub(crate) fn envelopes() -> Vec<Envelope> {
    let parse = |line: &str| Envelope::parse(line.as_bytes()).unwrap();
    RECORDS.lines().map(parse).collect()
}

pub(crate) fn contents() -> Contents {
    let mut contents = Contents::default();
    for line in CONTENTS.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let salt = Salt([u8::try_from(line["n"].as_u64().unwrap()).unwrap(); 32]);
        let text = line["content"].as_str().unwrap();
        let commitment = contents.insert(Content::new(salt, text.as_bytes()));
        assert_eq!(commitment.to_string(), line["commitment"].as_str().unwrap());
    }
    contents
}

/// The example as it is appended in life.
pub(crate) async fn memory() -> MemoryStore {
    let store = MemoryStore::new(ledger());
    append_to(&store).await;
    store
}

/// Appends the example to an empty store.
pub(crate) async fn append_to(store: &dyn EventStore) {
    let (contents, mut envelopes) = (contents(), envelopes().into_iter());
    let mut heads: BTreeMap<StreamId, Expected> = BTreeMap::new();
    let mut seen: BTreeSet<Commitment> = BTreeSet::new();
    for count in APPENDS {
        let records: Vec<_> = envelopes.by_ref().take(count).collect();
        let (stream, last) = (records[0].stream(), records.last().unwrap());
        let head = Expected::Head {
            version: last.version(),
            digest: last.digest(),
        };
        let expected = heads.insert(stream, head).unwrap_or(Expected::Start);
        let named = records.iter().flat_map(|record| record.blobs().values());
        let new: BTreeMap<_, _> = named
            .map(|blob| blob.commitment)
            .filter(|commitment| seen.insert(*commitment))
            .map(|commitment| (commitment, contents.get(&commitment).unwrap().clone()))
            .collect();
        let batch = Batch {
            records,
            contents: new,
        };
        store.append(stream, expected, batch, &[]).await.unwrap();
    }
}

/// A store that returns what a test put there.
#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) records: Vec<(u64, Arc<[u8]>)>,
    pub(crate) contents: BTreeMap<(StreamId, Commitment), Content>,
    pub(crate) tail: Result<Tail, ReadError>,
    pub(crate) unreadable: BTreeSet<u64>,
}

impl Fake {
    /// Records at dense positions, with the tail that they have.
    pub(crate) fn new(records: Vec<Arc<[u8]>>) -> Self {
        let mut fake = Self {
            records: (0..).zip(records).collect(),
            contents: BTreeMap::new(),
            tail: Err(ReadError::Io(String::from("not set"))),
            unreadable: BTreeSet::new(),
        };
        fake.retail();
        fake
    }

    /// The worked example.
    pub(crate) fn example() -> Self {
        Self::of(&envelopes())
    }

    /// These records with the contents that they name.
    pub(crate) fn of(envelopes: &[Envelope]) -> Self {
        let mut fake = Self::new(envelopes.iter().map(|e| Arc::clone(e.bytes())).collect());
        let contents = contents();
        for envelope in envelopes {
            for blob in envelope.blobs().values() {
                let content = contents.get(&blob.commitment).unwrap().clone();
                fake.contents
                    .insert((envelope.stream(), blob.commitment), content);
            }
        }
        fake
    }

    /// Makes the tail fit the records, as somebody who rewrites a whole store does.
    pub(crate) fn retail(&mut self) {
        let mut frontier = Frontier::new();
        for (_, bytes) in &self.records {
            frontier.push(&digest(Purpose::Event, bytes));
        }
        self.tail = Ok(Tail {
            size: frontier.size(),
            root: frontier.root(),
        });
    }

    /// Puts the records at dense positions again.
    pub(crate) fn renumber(&mut self) {
        for (position, record) in (0..).zip(&mut self.records) {
            record.0 = position;
        }
    }

    /// Changes the text of one record.
    pub(crate) fn edit(&mut self, at: usize, from: &str, to: &str) {
        let text = std::str::from_utf8(&self.records[at].1).unwrap();
        assert!(text.contains(from), "{text}");
        self.records[at].1 = text.replacen(from, to, 1).into_bytes().into();
    }
}

#[async_trait]
impl EventStore for Fake {
    async fn append(
        &self,
        _: StreamId,
        _: Expected,
        _: Batch,
        _: &[Unless],
    ) -> Result<Appended, AppendError> {
        Err(AppendError::Busy)
    }
}

#[async_trait]
impl ReadStore for Fake {
    async fn read_run(
        &self,
        stream: StreamId,
        from: Version,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        let all = self.read_all(Position::ZERO, usize::MAX).await?;
        let of_run = all.into_iter().filter(|stored| {
            let envelope = Envelope::parse(Arc::clone(&stored.bytes)).unwrap();
            envelope.stream() == stream && envelope.version() >= from
        });
        Ok(of_run.take(limit).collect())
    }

    async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
        let page = self.records.iter().filter(|(at, _)| *at >= from.get());
        page.take(limit)
            .map(|(position, bytes)| {
                let position = Position::new(*position);
                if self.unreadable.contains(&position.get()) {
                    let detail = String::from("the checksum differs");
                    let position = Some(position);
                    return Err(ReadError::Damaged { position, detail });
                }
                let bytes = Arc::clone(bytes);
                Ok(Stored { position, bytes })
            })
            .collect()
    }

    async fn tail(&self) -> Result<Tail, ReadError> {
        self.tail.clone()
    }

    async fn content(
        &self,
        stream: StreamId,
        commitments: &[Commitment],
    ) -> Result<Contents, ReadError> {
        let mut contents = Contents::default();
        for commitment in commitments {
            let content = self.contents.get(&(stream, *commitment));
            let content = content.ok_or(ReadError::NoContent(*commitment))?;
            contents.insert_checked(*commitment, content.clone());
        }
        Ok(contents)
    }
}

/// The rows of the gate that the example uses.
pub(crate) struct Table;

impl Judge for Table {
    fn judge(&self, input: &GateInput<'_>) -> Verdict {
        if input.repeats.is_some() {
            return Verdict::Decline {
                kind: RefusalKind::RepeatOf,
                of: input.repeats,
                rule: None,
            };
        }
        let tier = input.declared;
        if !input.paired && tier == DeclaredRisk::ReadOnly {
            let rule = "plain-read-only".parse().unwrap();
            let by = By::Policy { rule };
            let network = BTreeSet::new();
            return Verdict::Approve { by, tier, network };
        }
        Verdict::Ask {
            rule: format!("policy:{}", input.policy).parse().unwrap(),
            demands: Demands::default(),
            tier,
            expires_ms: None,
        }
    }
}
