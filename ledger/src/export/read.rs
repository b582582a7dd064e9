//! Reads an export, strictly: any line that is not in its place is an error.
//!
//! Whether records link and contents fit is not asked here but in `audit`, which names the place.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    CONTENT_LINE, ContentLine, FORMAT, Header, RECORD_LINE, TRAILER_LINE, Trailer, from_hex,
};
use crate::content::{Commitment, Content, Salt};
use crate::id::{Position, StreamId};
use crate::store::Stored;

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum ExportFault {
    /// Not the JSON that stands at such a place.
    #[error("the line does not have the fields of an export")]
    Fields(#[from] serde_json::Error),
    /// Another format.
    #[error("the export has format {0}, this release reads {FORMAT}")]
    Format(u32),
    /// Lines in another order than header, records, contents, trailer.
    #[error("the line stands where it cannot stand")]
    Order,
    /// Positions that do not rise, or one beyond the size.
    #[error("the position does not follow the one before, or is beyond the size")]
    Position,
    /// A content without bytes, with two of them, or with a salt of another length.
    #[error("the content has no text or hex, or both, or no salt of 32 bytes")]
    Content,
    /// A content that stands there twice.
    #[error("the content stands there twice")]
    Doubled,
    /// The last line tells another number of lines.
    #[error("the export says that it has {0} lines before the last")]
    Lines(u64),
    /// No last line: the file was cut.
    #[error("the export ends without its last line")]
    Cut,
}

/// Why a file is no export of ours.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the export is wrong")]
pub struct ExportError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    #[source]
    pub why: ExportFault,
}

/// A content as it is claimed: its bytes may not fit the commitment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedContent {
    /// The stream whose record names it.
    pub run: StreamId,
    /// The commitment under which it stands.
    pub commitment: Commitment,
    /// The content.
    pub content: Content,
}

/// An export as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The first line.
    pub header: Header,
    /// The records, in order of position, byte for byte.
    pub records: Vec<Stored>,
    /// The contents.
    pub contents: Vec<ExportedContent>,
    /// The last line.
    pub trailer: Trailer,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordLine<'a> {
    position: u64,
    #[serde(borrow)]
    record: &'a RawValue,
}

/// Reads the lines of an export, without their line ends.
pub fn read_export<L: AsRef<str>>(
    lines: impl IntoIterator<Item = L>,
) -> Result<Export, ExportError> {
    let mut lines = lines.into_iter();
    let at = |line: u64| move |why: ExportFault| ExportError { line, why };
    let first = lines.next().ok_or(ExportFault::Cut).map_err(at(1))?;
    let mut reading = Reading {
        header: header(first.as_ref()).map_err(at(1))?,
        records: Vec::new(),
        contents: Vec::new(),
        seen: BTreeSet::new(),
        trailer: None,
        lines: 1,
    };
    for line in lines {
        let number = reading.lines.saturating_add(1);
        reading.line(line.as_ref()).map_err(at(number))?;
        reading.lines = number;
    }
    let cut = at(reading.lines.saturating_add(1));
    let trailer = reading.trailer.ok_or(ExportFault::Cut).map_err(cut)?;
    Ok(Export {
        header: reading.header,
        records: reading.records,
        contents: reading.contents,
        trailer,
    })
}

fn header(line: &str) -> Result<Header, ExportFault> {
    let header: Header = serde_json::from_str(line)?;
    if header.format == FORMAT {
        Ok(header)
    } else {
        Err(ExportFault::Format(header.format))
    }
}

struct Reading {
    header: Header,
    records: Vec<Stored>,
    contents: Vec<ExportedContent>,
    seen: BTreeSet<(StreamId, Commitment)>,
    trailer: Option<Trailer>,
    /// Lines that were read.
    lines: u64,
}

impl Reading {
    fn line(&mut self, line: &str) -> Result<(), ExportFault> {
        if self.trailer.is_some() {
            Err(ExportFault::Order)
        } else if line.starts_with(RECORD_LINE) {
            self.record(line)
        } else if line.starts_with(CONTENT_LINE) {
            self.content(line)
        } else if line.starts_with(TRAILER_LINE) {
            let trailer: Trailer = serde_json::from_str(line)?;
            if trailer.lines != self.lines {
                return Err(ExportFault::Lines(trailer.lines));
            }
            self.trailer = Some(trailer);
            Ok(())
        } else {
            Err(ExportFault::Order)
        }
    }

    fn record(&mut self, line: &str) -> Result<(), ExportFault> {
        if !self.contents.is_empty() {
            return Err(ExportFault::Order);
        }
        let read: RecordLine<'_> = serde_json::from_str(line)?;
        let position = Position::new(read.position);
        let last = self.records.last().map(|stored| stored.position);
        if last.is_some_and(|last| last >= position) || read.position >= self.header.size {
            return Err(ExportFault::Position);
        }
        self.records.push(Stored {
            position,
            bytes: read.record.get().as_bytes().into(),
        });
        Ok(())
    }

    fn content(&mut self, line: &str) -> Result<(), ExportFault> {
        let read: ContentLine = serde_json::from_str(line)?;
        let bytes = match (read.text, read.hex) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(hex)) => from_hex(&hex).ok_or(ExportFault::Content)?,
            (Some(_), Some(_)) | (None, None) => return Err(ExportFault::Content),
        };
        let salt = from_hex(&read.salt).and_then(|salt| salt.try_into().ok());
        let salt = Salt(salt.ok_or(ExportFault::Content)?);
        if !self.seen.insert((read.run, read.commitment)) {
            return Err(ExportFault::Doubled);
        }
        self.contents.push(ExportedContent {
            run: read.run,
            commitment: read.commitment,
            content: Content::new(salt, bytes),
        });
        Ok(())
    }
}
