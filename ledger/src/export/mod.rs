//! Exports: a ledger or one run as JSON lines, with every record verbatim.
//!
//! ```text
//! {"format":1,"kind":"placet-export","ledger":..,"root":..,["run":..,]"size":..}
//! {"position":N,"record":<the record, byte for byte>}                 in order of position
//! {"commitment":..,"run":..,"salt":..,"text":..}                      or "hex", where not UTF-8
//! {"complete":true,"lines":N}                                         lines before this one
//! ```
//!
//! An export of one run holds the whole authority stream beside it, since "not revoked" can be
//! seen in a complete stream alone. It is *complete* if every run in it has ended; else it is
//! open as of its size. Contents and salts stand in it in clear, or not at all.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{Export, ExportError, ExportFault, ExportedContent, read_export};
pub use write::{ExportWriteError, Exported, What, export};

use serde::{Deserialize, Serialize};

use crate::content::Commitment;
use crate::id::{LedgerId, RunId, StreamId};
use crate::merkle::Root;

/// The format that this release writes and reads.
const FORMAT: u32 = 1;

/// How the lines begin that are not the first one.
const RECORD_LINE: &str = "{\"position\":";
const CONTENT_LINE: &str = "{\"commitment\":";
const TRAILER_LINE: &str = "{\"complete\":";

/// What the first line says the file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    #[serde(rename = "placet-export")]
    Export,
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    format: u32,
    kind: Kind,
    /// The ledger.
    pub ledger: LedgerId,
    /// Root of the ledger's tree at that size, as the store said.
    pub root: Root,
    /// The run, where it is an export of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Size of the ledger.
    pub size: u64,
}

/// The last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trailer {
    /// Whether every run in it has ended.
    pub complete: bool,
    /// How many lines stand before this one.
    pub lines: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContentLine {
    commitment: Commitment,
    #[serde(skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
    run: StreamId,
    salt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

fn to_hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    pairs
        .iter()
        .map(|&[high, low]| {
            let high = char::from(high).to_digit(16)?;
            let low = char::from(low).to_digit(16)?;
            u8::try_from(high << 4 | low).ok()
        })
        .collect()
}
