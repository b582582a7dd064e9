//! Messages on the socket: a header of JSON, then attachments of plain bytes.
//!
//! ```text
//! u32 length of the header | header | for each attachment: u32 length | bytes
//! ```
//!
//! Numbers are big-endian. The header says how many attachments follow; each part has a limit, so
//! that nobody makes the other side take more memory than a message may have.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::limits::CONTENT_BYTES_MAX;

/// Bytes of a header.
const HEADER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes of a header before the other side has proven itself.
pub(super) const HELLO_BYTES_MAX: usize = 4 * 1024;

/// Bytes of one attachment: a content with its salt, or a permit that holds one as JSON.
const ATTACHMENT_BYTES_MAX: usize = 2 * CONTENT_BYTES_MAX + 64 * 1024;

/// Attachments of one message.
const ATTACHMENTS_MAX: usize = 4_096;

/// Bytes of all attachments of one message: those of one proposal at its largest.
const MESSAGE_BYTES_MAX: usize = 6 * CONTENT_BYTES_MAX;

/// Why a message was not read or not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    /// The other side is gone.
    #[error("the connection was closed")]
    Closed,
    /// The socket failed.
    #[error("the connection failed")]
    Io(#[source] io::Error),
    /// A part is larger than it may be.
    #[error("a part of a message is larger than it may be")]
    TooLarge,
    /// The header is no message.
    #[error("a message cannot be read: {0}")]
    Malformed(#[source] serde_json::Error),
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

/// Plain bytes beside a header.
pub(super) type Attachment = Vec<u8>;

/// A header as it lies on the wire.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Headed<T> {
    attachments: usize,
    message: T,
}

/// Writes a message.
pub(super) fn write<T: Serialize>(
    to: &mut impl Write,
    message: &T,
    attachments: &[&[u8]],
) -> Result<(), FrameError> {
    let headed = Headed {
        attachments: attachments.len(),
        message,
    };
    let header = serde_json::to_vec(&headed).map_err(FrameError::Malformed)?;
    let total = attachments
        .iter()
        .map(|part| part.len())
        .fold(0, usize::saturating_add);
    let large = |part: &&[u8]| part.len() > ATTACHMENT_BYTES_MAX;
    if header.len() > HEADER_BYTES_MAX
        || attachments.len() > ATTACHMENTS_MAX
        || total > MESSAGE_BYTES_MAX
        || attachments.iter().any(large)
    {
        return Err(FrameError::TooLarge);
    }
    // One write for what is small: each wakes the other side up.
    let mut small = Vec::with_capacity(header.len().saturating_add(8));
    put(&mut small, &header);
    for part in attachments {
        if small.len().saturating_add(part.len()) > HEADER_BYTES_MAX {
            to.write_all(&small)?;
            small.clear();
        }
        put(&mut small, part);
    }
    to.write_all(&small)?;
    Ok(to.flush()?)
}

fn put(bytes: &mut Vec<u8>, part: &[u8]) {
    // Every part is far below 4 GiB.
    let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(part);
}

/// Reads a message.
pub(super) fn read<T: DeserializeOwned>(
    from: &mut impl Read,
) -> Result<(T, Vec<Attachment>), FrameError> {
    let header = part(from, HEADER_BYTES_MAX)?;
    let Headed {
        attachments,
        message,
    } = serde_json::from_slice(&header).map_err(FrameError::Malformed)?;
    if attachments > ATTACHMENTS_MAX {
        return Err(FrameError::TooLarge);
    }
    let mut parts = Vec::new();
    let mut left = MESSAGE_BYTES_MAX;
    for _ in 0..attachments {
        let read = part(from, left.min(ATTACHMENT_BYTES_MAX))?;
        left = left.saturating_sub(read.len());
        parts.push(read);
    }
    Ok((message, parts))
}

/// Reads a message of the hello, which has no attachments.
pub(super) fn read_hello<T: DeserializeOwned>(from: &mut impl Read) -> Result<T, FrameError> {
    let header = part(from, HELLO_BYTES_MAX)?;
    let headed: Headed<T> = serde_json::from_slice(&header).map_err(FrameError::Malformed)?;
    if headed.attachments == 0 {
        Ok(headed.message)
    } else {
        Err(FrameError::TooLarge)
    }
}

/// One part; what is announced is taken only as far as it comes.
fn part(from: &mut impl Read, limit: usize) -> Result<Vec<u8>, FrameError> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if usize::try_from(length).is_ok_and(|length| length > limit) {
        return Err(FrameError::TooLarge);
    }
    let mut bytes = Vec::new();
    let read = from.take(length.into()).read_to_end(&mut bytes)?;
    if u32::try_from(read) == Ok(length) {
        Ok(bytes)
    } else {
        Err(FrameError::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let long = vec![7; 70_000];
        let parts: [&[u8]; 3] = [b"", b"one", &long];
        let mut wire = Vec::new();
        write(&mut wire, &"hello", &parts).unwrap();
        let (message, read): (String, _) = read(&mut &wire[..]).unwrap();
        assert_eq!(
            (message.as_str(), read),
            ("hello", parts.map(<[u8]>::to_vec).to_vec())
        );
    }

    #[test]
    fn a_message_that_is_cut_short_anywhere_is_none() {
        let mut wire = Vec::new();
        write(&mut wire, &1, &[b"abc"]).unwrap();
        for end in 0..wire.len() {
            let read = read::<u32>(&mut &wire[..end]);
            assert!(matches!(read, Err(FrameError::Closed)), "{end}");
        }
    }

    #[test]
    fn what_is_too_large_is_refused_before_it_is_taken() {
        let large = u32::MAX.to_be_bytes();
        assert!(matches!(
            read::<u32>(&mut &large[..]),
            Err(FrameError::TooLarge)
        ));
        assert!(matches!(
            read_hello::<u32>(&mut &large[..]),
            Err(FrameError::TooLarge)
        ));
        let mut many = Vec::new();
        put(&mut many, br#"{"attachments":5000,"message":1}"#);
        assert!(matches!(
            read::<u32>(&mut &many[..]),
            Err(FrameError::TooLarge)
        ));
        let mut parted = Vec::new();
        put(&mut parted, br#"{"attachments":1,"message":1}"#);
        assert!(matches!(
            read_hello::<u32>(&mut &parted[..]),
            Err(FrameError::TooLarge)
        ));
        let mut more = Vec::new();
        put(
            &mut more,
            br#"{"attachments":0,"message":1,"actor":"alice"}"#,
        );
        assert!(matches!(
            read::<u32>(&mut &more[..]),
            Err(FrameError::Malformed(_))
        ));
    }
}
