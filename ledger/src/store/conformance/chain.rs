//! Makes records that follow each other, for tests that need a stream and not its meaning.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::approval::{Actor, Assurance, By, Channel};
use crate::budget::Limits;
use crate::containment::Containment;
use crate::content::{Blob, Blobs, Commitment, Content, Media, Salt, size_class};
use crate::digest::{Digest, Purpose, digest};
use crate::envelope::{Envelope, Header, ledger_genesis, stream_genesis};
use crate::event::{
    Change, Event, ExecutionStarted, LedgerCreated, LimitsTightened, PublicKey, RulesAdopted,
    RunParked,
};
use crate::id::{CallId, EventId, LedgerId, Name, StreamId, Version};
use crate::store::{Batch, Expected};
use crate::time::Timestamp;

/// One stream as its writer sees it. A clone with another tag writes other records.
#[derive(Debug, Clone)]
pub struct Chain {
    ledger: LedgerId,
    stream: StreamId,
    /// Digest of the last record, or the genesis.
    prev: Digest,
    last: Option<Version>,
    tag: u64,
}

impl Chain {
    /// The authority stream of a ledger, without a record yet.
    pub fn authority(ledger: LedgerId) -> Self {
        Self {
            ledger,
            stream: ledger.authority(),
            prev: ledger_genesis(ledger),
            last: None,
            tag: 0,
        }
    }

    /// A stream with this number in a ledger that `created` began, without a record yet.
    pub fn run(ledger: LedgerId, created: &Digest, number: u64) -> Self {
        let stream = StreamId::new(uuid::Uuid::from_u64_pair(0x5075_6e00, number));
        Self {
            ledger,
            stream,
            prev: stream_genesis(ledger, created, stream),
            last: None,
            tag: 0,
        }
    }

    /// This chain, writing other records from here on.
    #[must_use]
    pub fn tagged(&self, tag: u64) -> Self {
        Self {
            tag,
            ..self.clone()
        }
    }

    /// This chain, as if it had ended in a record of that digest.
    #[must_use]
    pub fn with_prev(&self, prev: Digest) -> Self {
        Self {
            prev,
            ..self.clone()
        }
    }

    /// This chain, gone on to a record that follows it.
    #[must_use]
    pub fn after(&self, record: &Envelope) -> Self {
        Self {
            prev: record.digest(),
            last: Some(record.version()),
            ..self.clone()
        }
    }

    /// The stream.
    pub fn stream(&self) -> StreamId {
        self.stream
    }

    /// The ledger.
    pub fn ledger(&self) -> LedgerId {
        self.ledger
    }

    /// Digest of the last record, or the genesis.
    pub fn digest(&self) -> Digest {
        self.prev
    }

    /// The last version.
    pub fn version(&self) -> Option<Version> {
        self.last
    }

    /// What an append of the next record expects.
    pub fn expected(&self) -> Expected {
        self.last.map_or(Expected::Start, |version| Expected::Head {
            version,
            digest: self.prev,
        })
    }

    /// Writes the next record, and gives the contents that it names.
    pub fn record(&mut self, event: Event, texts: &[(&str, &[u8])]) -> Batch {
        let version = self
            .last
            .map_or(Version::ZERO, |last| Version::new(last.get() + 1));
        let mut blobs = Blobs::new();
        let mut contents = BTreeMap::new();
        for (role, bytes) in texts {
            let content = Content::new(self.salt(version, role), *bytes);
            let blob = blob(&content);
            contents.insert(blob.commitment, content);
            blobs.insert((*role).to_owned(), blob);
        }
        let record = self.write(version, event, blobs);
        Batch {
            records: vec![record],
            contents,
        }
    }

    /// Writes the next record with these blobs as they are, whether or not they are true.
    pub fn naming(&mut self, event: Event, blobs: Blobs) -> Envelope {
        let version = self
            .last
            .map_or(Version::ZERO, |last| Version::new(last.get() + 1));
        self.write(version, event, blobs)
    }

    /// Writes so many records, each with a content of its own.
    pub fn records(&mut self, count: usize) -> Batch {
        let mut batch = Batch::default();
        for _ in 0..count {
            let text = format!("text {} of {}", self.tag, self.prev);
            let next = self.record(parked(), &[("text", text.as_bytes())]);
            extend(&mut batch, next);
        }
        batch
    }

    fn write(&mut self, version: Version, event: Event, blobs: Blobs) -> Envelope {
        let header = Header {
            actor: Actor::Engine,
            at: time(version),
            cause: None,
            id: self.id(version),
            ledger: self.ledger,
            prev: self.prev,
            stream: self.stream,
            version,
        };
        let record = match Envelope::write(header, event, blobs) {
            Ok(record) => record,
            Err(error) => panic!("the suite writes no such record: {error}"),
        };
        self.last = Some(version);
        self.prev = record.digest();
        record
    }

    fn salt(&self, version: Version, role: &str) -> Salt {
        let seed = format!("{} {version} {} {role}", self.stream, self.tag);
        Salt(*digest(Purpose::File, seed.as_bytes()).as_bytes())
    }

    fn id(&self, version: Version) -> EventId {
        EventId::new(uuid::Uuid::from_u64_pair(
            self.tag,
            u64::from(version.get()),
        ))
    }
}

/// Appends the records and contents of `more`.
pub fn extend(batch: &mut Batch, more: Batch) {
    batch.records.extend(more.records);
    batch.contents.extend(more.contents);
}

/// How a record names this content.
pub fn blob(content: &Content) -> Blob {
    Blob {
        commitment: content.commitment(),
        media: Media::Plain,
        size: size_class(content.bytes.len() as u64),
    }
}

/// The commitments of what a batch brings.
pub fn commitments(batch: &Batch) -> Vec<Commitment> {
    batch.contents.keys().copied().collect()
}

/// An event that changes nothing.
pub fn parked() -> Event {
    Event::RunParked(RunParked {
        pending: Vec::new(),
    })
}

/// An event whose body has about so many bytes.
pub fn parked_with(bytes: usize) -> Event {
    let call = CallId::FIRST.plus(999_999_998).unwrap_or(CallId::FIRST);
    Event::RunParked(RunParked {
        pending: vec![call; bytes / 13],
    })
}

/// An event that changes what a run may do.
pub fn tightened() -> Event {
    Event::LimitsTightened(LimitsTightened {
        by: By::Person {
            assurance: Assurance::SameUser,
            channel: Channel::Cli,
            principal: name("uid:1000"),
        },
        limits: Limits::default(),
    })
}

/// An event on which something outside rests.
pub fn started() -> Event {
    Event::ExecutionStarted(ExecutionStarted {
        missing: BTreeSet::new(),
        network: BTreeSet::new(),
        attempt: 1,
        authority: Version::ZERO,
        call: CallId::FIRST,
        containment: Containment::InProcess,
        epoch: 1,
        proposal: Digest::from_bytes([7; 32]),
    })
}

/// The first event of a ledger.
pub fn created() -> Event {
    Event::LedgerCreated(LedgerCreated {
        format: 1,
        journal: StreamId::new(uuid::Uuid::from_u64_pair(1, 2)),
        key: PublicKey::from_bytes([1; 32]),
        recovery: PublicKey::from_bytes([2; 32]),
    })
}

/// The second event of a ledger, and any later one of its authority stream.
pub fn adopted() -> Event {
    Event::RulesAdopted(RulesAdopted {
        change: Change::First,
    })
}

fn name(text: &str) -> Name {
    match text.parse() {
        Ok(name) => name,
        Err(error) => panic!("no name: {error}"),
    }
}

fn time(version: Version) -> Timestamp {
    Timestamp::EPOCH.plus_ms(u64::from(version.get()))
}
