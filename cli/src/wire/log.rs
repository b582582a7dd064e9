//! Records of the log: what `audit log`, `audit show` and `audit verify` say.

use std::collections::BTreeMap;

use placet_ledger::content::{Contents, Media};
use placet_ledger::digest::Digest;
use placet_ledger::envelope::Recorded;
use placet_ledger::id::Position;
use serde::Serialize;
use serde_json::value::RawValue;

/// What `audit log` says.
#[derive(Debug, Serialize)]
pub(crate) struct Log {
    /// The events, in order of position.
    pub(crate) events: Vec<EventOut>,
    /// Where this part ended, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// A record, as it lies in the store.
#[derive(Debug, Serialize)]
pub(crate) struct EventOut {
    position: Position,
    digest: Digest,
    record: Box<RawValue>,
    /// What it names, by role; what cannot be read is named in `unreadable`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    content: BTreeMap<String, ContentOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
}

/// A content.
#[derive(Debug, Serialize)]
pub(crate) struct ContentOut {
    media: Media,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Its bytes, where they are no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
}

impl EventOut {
    /// A record without what it names.
    pub(crate) fn facts(recorded: &Recorded) -> Result<Self, serde_json::Error> {
        let record = serde_json::from_slice(recorded.envelope.bytes())?;
        Ok(Self {
            position: recorded.position,
            digest: recorded.envelope.digest(),
            record,
            content: BTreeMap::new(),
            unreadable: Vec::new(),
        })
    }

    /// A record with what it names.
    pub(crate) fn whole(
        recorded: &Recorded,
        contents: &Contents,
    ) -> Result<Self, serde_json::Error> {
        let mut out = Self::facts(recorded)?;
        for (role, blob) in recorded.envelope.blobs() {
            let Some(bytes) = contents.bytes(&blob.commitment) else {
                out.unreadable.push(role.clone());
                continue;
            };
            let text = std::str::from_utf8(bytes).ok().map(str::to_owned);
            let hex = text.is_none().then(|| hex(bytes));
            let media = blob.media;
            out.content
                .insert(role.clone(), ContentOut { media, text, hex });
        }
        Ok(out)
    }
}

/// Bytes as hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or('0');
    let pairs = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    pairs.map(digit).collect()
}

/// What `audit show` says.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    #[serde(flatten)]
    pub(crate) event: EventOut,
    /// Whether everything that was computed again is what is recorded.
    pub(crate) holds: bool,
    /// What was computed again.
    pub(crate) checks: Vec<Check>,
}

/// A digest that was computed again.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    /// Of what.
    pub(crate) what: &'static str,
    /// What the record says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recorded: Option<Digest>,
    /// What it comes to now; none where what it is made of is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) computed: Option<Digest>,
    /// Whether both agree.
    pub(crate) holds: bool,
}
