//! A new ledger: its first two records, which say what it is and by which rules it begins.

use std::collections::BTreeMap;

use super::Ledger;
use crate::approval::Actor;
use crate::clock::Stamps;
use crate::content::{Blob, Content, Text, size_class};
use crate::envelope::{Envelope, Header, ledger_genesis};
use crate::error::LedgerError;
use crate::event::{Change, Event, LedgerCreated, RulesAdopted};
use crate::id::{LedgerId, Principal, Version};
use crate::store::{Batch, EventStore, Expected};
use crate::time::Timestamp;

/// What a new ledger is made with.
#[derive(Debug, Clone)]
pub struct NewLedger {
    /// Its id.
    pub ledger: LedgerId,
    /// Format, journal and keys.
    pub created: LedgerCreated,
    /// The rules in force from the start, as JSON.
    pub rules: Vec<u8>,
    /// Who creates it.
    pub by: Principal,
}

impl Ledger {
    /// Writes the first records of a new ledger into an empty store.
    pub async fn create(
        store: &dyn EventStore,
        stamps: &dyn Stamps,
        new: NewLedger,
    ) -> Result<(), LedgerError> {
        let (ledger, stream) = (new.ledger, new.ledger.authority());
        let at = stamps.at(stream, Version::ZERO, Timestamp::EPOCH);
        let header = Header {
            actor: Actor::Person { name: new.by },
            at,
            cause: None,
            id: stamps.id(stream, Version::ZERO, at, None),
            ledger,
            prev: ledger_genesis(ledger),
            stream,
            version: Version::ZERO,
        };
        let created = Envelope::write(
            header.clone(),
            Event::LedgerCreated(new.created),
            BTreeMap::new(),
        )?;
        let version = Version::new(1);
        let at = stamps.at(stream, version, header.at);
        let text = Text::json(new.rules);
        let salt = stamps.salt(stream, version, "text", &text.bytes);
        let content = Content::new(salt, text.bytes);
        let size = size_class(content.bytes.len() as u64);
        let commitment = content.commitment();
        let blob = Blob {
            commitment,
            media: text.media,
            size,
        };
        let cause = Some(header.id);
        let id = stamps.id(stream, version, at, None);
        let header = Header {
            at,
            cause,
            id,
            prev: created.digest(),
            version,
            ..header
        };
        let event = Event::RulesAdopted(RulesAdopted {
            change: Change::First,
        });
        let blobs = BTreeMap::from([(String::from("text"), blob)]);
        let adopted = Envelope::write(header, event, blobs)?;
        let contents = BTreeMap::from([(commitment, content)]);
        let batch = Batch {
            records: vec![created, adopted],
            contents,
        };
        store.append(stream, Expected::Start, batch, &[]).await?;
        Ok(())
    }
}
