//! An event as programs are told it: where it stands, its digest, and its record verbatim.

use placet_ledger::envelope::Recorded;
use serde::Serialize;
use serde_json::value::RawValue;

/// An event.
#[derive(Debug, Serialize)]
pub(crate) struct EventLine {
    /// Its place in the log.
    pub(crate) position: u64,
    /// Its digest.
    pub(crate) digest: String,
    /// Its record, byte for byte.
    pub(crate) record: Box<RawValue>,
}

impl EventLine {
    /// An event as it lies in the log.
    pub(crate) fn of(recorded: &Recorded) -> Result<Self, serde_json::Error> {
        let text = String::from_utf8_lossy(recorded.envelope.bytes()).into_owned();
        Ok(Self {
            position: recorded.position.get(),
            digest: recorded.envelope.digest().to_string(),
            record: RawValue::from_string(text)?,
        })
    }
}
