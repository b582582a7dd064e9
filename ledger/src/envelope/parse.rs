//! Reading a whole record: quickly by its fields as they lie, and again where anything is wrong.
//!
//! serde says best what is wrong with a record, and where. It is asked only then, since it goes
//! over all bytes once more to find where the fields are.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::fields::{Fields, inner, number, spelled};
use super::{FORMAT, Header, RecordError};
use crate::approval::Actor;
use crate::canonical::{self, Cursor};
use crate::content::{Blob, Blobs, Commitment, Media};
use crate::digest::Digest;
use crate::event::Event;
use crate::id::{EventId, LedgerId, StreamId, Version};
use crate::limits::RECORD_BYTES_MAX;
use crate::time::Timestamp;

/// All of a record.
pub(super) type Parts = (Header, Event, Blobs);

/// Reads a record: its bytes must be canonical, and everything in it known.
pub(super) fn record(bytes: &[u8]) -> Result<Parts, RecordError> {
    match Fields::read(bytes).ok().and_then(|fields| quick(&fields)) {
        Some(parts) => Ok(parts),
        None => slow(bytes),
    }
}

/// What the fields hold; `None` where anything is wrong.
fn quick(fields: &Fields<'_>) -> Option<Parts> {
    if number(fields.format).ok()? != FORMAT {
        return None;
    }
    let header = Header {
        actor: Actor::from_canonical(fields.actor)?,
        at: spelled(fields.at).ok()?,
        cause: match fields.cause {
            "" => None,
            cause => Some(spelled(cause).ok()?),
        },
        id: spelled(fields.id).ok()?,
        ledger: spelled(fields.ledger).ok()?,
        prev: spelled(fields.prev).ok()?,
        stream: spelled(fields.run).ok()?,
        version: Version::new(number(fields.version).ok()?),
    };
    let (name, schema) = (inner(fields.kind)?, number(fields.schema).ok()?);
    let event = Event::parse(name, schema, fields.body).ok()?;
    let blobs = match fields.blobs {
        "" => Blobs::new(),
        some => blobs(some)?,
    };
    Some((header, event, blobs))
}

/// The contents that a record names; `None` where anything is wrong.
fn blobs(text: &str) -> Option<Blobs> {
    let mut blobs = Blobs::new();
    let mut at = Cursor::new(text);
    at.just("{")?;
    loop {
        let role = at.word()?;
        at.just(":{\"commitment\":")?;
        let commitment = spelled(at.string::<64>()?).ok()?;
        at.just(",\"media\":")?;
        let media = Media::named(at.word()?)?;
        at.just(",\"size\":")?;
        let size = at.value()?.parse().ok()?;
        at.just("}")?;
        let blob = Blob {
            commitment: Commitment::from_digest(commitment),
            media,
            size,
        };
        blobs.insert(role.to_owned(), blob);
        if at.just(",").is_none() {
            break;
        }
    }
    at.just("}")?;
    at.end()?;
    Some(blobs)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordIn<'a> {
    v: u32,
    ledger: LedgerId,
    run: StreamId,
    version: Version,
    prev: Digest,
    id: EventId,
    r#type: &'a str,
    schema: u32,
    at: Timestamp,
    actor: Actor,
    cause: Option<EventId>,
    #[serde(borrow)]
    body: &'a RawValue,
    #[serde(default)]
    blobs: Blobs,
}

/// The same, by serde.
fn slow(bytes: &[u8]) -> Result<Parts, RecordError> {
    if bytes.len() > RECORD_BYTES_MAX {
        return Err(RecordError::TooLarge(bytes.len()));
    }
    let text = canonical::checked(bytes)?;
    let record: RecordIn<'_> = serde_json::from_str(text).map_err(RecordError::Fields)?;
    if record.v != FORMAT {
        return Err(RecordError::Format(record.v));
    }
    let event = Event::parse(record.r#type, record.schema, record.body.get())?;
    let header = Header {
        actor: record.actor,
        at: record.at,
        cause: record.cause,
        id: record.id,
        ledger: record.ledger,
        prev: record.prev,
        stream: record.run,
        version: record.version,
    };
    Ok((header, event, record.blobs))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{changed, records};
    use super::*;

    #[test]
    fn our_records_are_read_quickly() {
        for record in records() {
            let fields = Fields::read(record.as_bytes()).unwrap();
            assert_eq!(quick(&fields).unwrap(), slow(record.as_bytes()).unwrap());
        }
    }

    proptest! {
        #[test]
        fn what_is_read_quickly_is_read_by_serde_as_the_same(record in changed()) {
            let fields = Fields::read(record.as_bytes());
            if let Some(parts) = fields.ok().and_then(|fields| quick(&fields)) {
                prop_assert_eq!(parts, slow(record.as_bytes()).unwrap());
            }
        }
    }
}
