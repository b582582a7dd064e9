//! Where a part of a list ended: text that means nothing to whoever keeps it, and is checked.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::digest::checksum;
use crate::id::Position;

/// Bytes of the checksum: they tell a typo, nothing more.
const SUM_BYTES: usize = 2;

/// Bytes of the longest key.
const KEY_BYTES_MAX: usize = 32;

/// Not where a part of this list ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected the cursor that the part before gave as next, of the same list")]
pub struct CursorError;

/// Where a part of a list ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cursor(Vec<u8>);

impl Cursor {
    /// At a key.
    pub(super) fn at(key: Vec<u8>) -> Self {
        Self(key)
    }

    /// The key, if it is one of this list, which has keys of this length.
    pub(super) fn key(&self, list: u8, bytes: usize) -> Result<&[u8], CursorError> {
        let fits = self.0.first() == Some(&list) && self.0.len() == bytes;
        if fits { Ok(&self.0) } else { Err(CursorError) }
    }

    /// At a record of the log.
    pub fn at_record(position: Position) -> Self {
        Self([b"l".as_slice(), &position.get().to_be_bytes()].concat())
    }

    /// The record of the log.
    pub fn record(&self) -> Result<Position, CursorError> {
        let key = self.key(b'l', 9)?;
        let number = key.get(1..).and_then(|bytes| bytes.try_into().ok());
        number
            .map(|bytes| Position::new(u64::from_be_bytes(bytes)))
            .ok_or(CursorError)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = checksum(&self.0);
        for byte in self.0.iter().chain(sum.iter().take(SUM_BYTES)) {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let plain = |digit: &u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(digit);
        let short = text.len() <= 2 * (KEY_BYTES_MAX + SUM_BYTES);
        if !short || !text.as_bytes().iter().all(plain) {
            return Err(CursorError);
        }
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        };
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        let bytes = bytes.filter(|_| rest.is_empty()).ok_or(CursorError)?;
        let (key, sum) = bytes.split_last_chunk::<SUM_BYTES>().ok_or(CursorError)?;
        if checksum(key).starts_with(sum) && !key.is_empty() {
            Ok(Self(key.to_vec()))
        } else {
            Err(CursorError)
        }
    }
}

impl TryFrom<String> for Cursor {
    type Error = CursorError;

    fn try_from(text: String) -> Result<Self, CursorError> {
        text.parse()
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> Self {
        cursor.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_known_again_and_no_other_text_is_one() {
        let cursor = Cursor::at_record(Position::new(258));
        let text = cursor.to_string();
        assert_eq!(text.parse(), Ok(cursor.clone()));
        assert_eq!(cursor.record(), Ok(Position::new(258)));
        assert_eq!(cursor.key(b'w', 9), Err(CursorError));
        for wrong in [
            String::new(),
            "x".to_owned(),
            "258".to_owned(),
            text.to_uppercase().replace('6', "7"),
            text.replacen("102", "103", 1),
            format!("{text}00"),
            text[2..].to_owned(),
            "00".repeat(500),
        ] {
            assert_eq!(wrong.parse::<Cursor>(), Err(CursorError), "{wrong}");
        }
    }
}
