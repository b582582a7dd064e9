//! Identifiers: newtypes that are parsed once, at the edge, and never mixed up inside.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::digest::unhex;
use crate::limits::NAME_BYTES_MAX;
use crate::spelled;

/// Why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not a UUID in lower-case hyphenated form.
    #[error("expected a UUID such as b3e41f07-8c2d-4e6a-9f51-0a7d3c58e912, found {0:?}")]
    Uuid(String),
    /// Not a call id.
    #[error("expected a call id such as c1, found {0:?}")]
    Call(String),
    /// Not a grant id.
    #[error("expected a grant id such as g2, found {0:?}")]
    Grant(String),
    /// Not a registered name.
    #[error(
        "expected a name of 1 to {NAME_BYTES_MAX} of the characters A-Z a-z 0-9 . _ : / @ + - that begins with a letter or digit, found {0:?}"
    )]
    Name(String),
}

/// Reads the one spelling there is: five groups of digits with hyphens between.
fn read_uuid(text: &[u8]) -> Option<Uuid> {
    let (first, rest) = text.split_first_chunk::<8>()?;
    let (second, rest) = rest.strip_prefix(b"-")?.split_first_chunk::<4>()?;
    let (third, rest) = rest.strip_prefix(b"-")?.split_first_chunk::<4>()?;
    let (fourth, rest) = rest.strip_prefix(b"-")?.split_first_chunk::<4>()?;
    let last: &[u8; 12] = rest.strip_prefix(b"-")?.try_into().ok()?;
    // Of fixed lengths, so that nothing is copied digit by digit.
    let mut digits = [0; 32];
    let (to_first, rest) = digits.split_first_chunk_mut::<8>()?;
    let (to_second, rest) = rest.split_first_chunk_mut::<4>()?;
    let (to_third, rest) = rest.split_first_chunk_mut::<4>()?;
    let (to_fourth, rest) = rest.split_first_chunk_mut::<4>()?;
    let to_last: &mut [u8; 12] = rest.try_into().ok()?;
    *to_first = *first;
    *to_second = *second;
    *to_third = *third;
    *to_fourth = *fourth;
    *to_last = *last;
    unhex(&digits).map(Uuid::from_bytes)
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID.
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The UUID.
            pub const fn uuid(&self) -> Uuid {
                self.0
            }

            /// The sixteen bytes that are hashed.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            /// Accepts the canonical form alone, so that one id has one spelling.
            fn from_str(text: &str) -> Result<Self, IdError> {
                let wrong = || IdError::Uuid(text.chars().take(80).collect());
                read_uuid(text.as_bytes()).map(Self).ok_or_else(wrong)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut text = Uuid::encode_buffer();
                serializer.serialize_str(self.0.as_hyphenated().encode_lower(&mut text))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                spelled::read(deserializer)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }
    };
}

uuid_id!(
    /// One ledger; also the id of its authority stream.
    LedgerId
);
uuid_id!(
    /// One chain of records: a run, the authority stream or the journal.
    StreamId
);
uuid_id!(
    /// One run. Random, since people shorten it and its first digits must differ.
    RunId
);
uuid_id!(
    /// One event, time-ordered; printed and used for causation, never looked up.
    EventId
);
uuid_id!(
    /// One answer set; a retry carries the same id.
    AnswerId
);
uuid_id!(
    /// One command that a process sends to the owner of the store, so that it can be asked for
    /// again where its answer was lost. The first record that comes of it bears its random part.
    CommandId
);
uuid_id!(
    /// One process that moves a run.
    DriverId
);
uuid_id!(
    /// The machine on which a driver runs.
    HostId
);

impl RunId {
    /// The stream that holds this run.
    pub const fn stream(&self) -> StreamId {
        StreamId(self.0)
    }
}

impl EventId {
    /// The id of the first record that comes of a command, at this time.
    pub fn of_command(at_ms: u64, command: CommandId) -> Self {
        Self(uuid::Builder::from_unix_timestamp_millis(at_ms, &command.tail()).into_uuid())
    }

    /// Whether the record is the first that came of a command.
    pub fn is_of(&self, command: CommandId) -> bool {
        Self::of_command(0, command)
            .as_bytes()
            .iter()
            .skip(6)
            .eq(self.as_bytes().iter().skip(6))
    }
}

impl CommandId {
    /// The last ten of its bytes, which hold 72 random bits at least.
    fn tail(&self) -> [u8; 10] {
        let mut tail = [0; 10];
        let bytes = self.as_bytes().iter().skip(6);
        tail.iter_mut()
            .zip(bytes)
            .for_each(|(to, from)| *to = *from);
        tail
    }
}

impl StreamId {
    /// The run that this stream holds, if it is one.
    pub const fn run(&self) -> RunId {
        RunId(self.0)
    }
}

impl LedgerId {
    /// The authority stream of this ledger.
    pub const fn authority(&self) -> StreamId {
        StreamId(self.0)
    }
}

/// Place of a record in its stream; dense from 0.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Version(u32);

impl Version {
    /// The first version of a stream.
    pub const ZERO: Self = Self(0);

    /// The version with this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The version after this one; `None` at the end of the number range.
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Place of a record in the whole log, which is its leaf index in the tree; dense from 0.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Position(u64);

impl Position {
    /// The first position.
    pub const ZERO: Self = Self(0);

    /// The position with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One call of a run: `c1`, `c2`, ..., rising over the whole run and never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(u32);

impl CallId {
    /// The first call of a run.
    pub const FIRST: Self = Self(1);

    /// The number behind the `c`.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The call `offset` places after this one; `None` at the end of the number range.
    pub const fn plus(self, offset: u32) -> Option<Self> {
        match self.0.checked_add(offset) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl FromStr for CallId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong = || IdError::Call(text.chars().take(80).collect());
        let digits = text.strip_prefix('c').ok_or_else(wrong)?;
        // The parser of numbers takes a sign and zeros in front, too.
        if !digits.starts_with(|first| matches!(first, '1'..='9')) {
            return Err(wrong());
        }
        digits.parse().map(Self).map_err(|_| wrong())
    }
}

impl Serialize for CallId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        spelled::read(deserializer)
    }
}

impl TryFrom<String> for CallId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

/// A grant: `g` and the version of the record in the authority stream that added it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GrantId(Version);

impl GrantId {
    /// The grant that the record with this version adds.
    pub const fn added_at(version: Version) -> Self {
        Self(version)
    }
}

impl fmt::Display for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "g{}", self.0)
    }
}

impl FromStr for GrantId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong = || IdError::Grant(text.chars().take(80).collect());
        let digits = text.strip_prefix('g').ok_or_else(wrong)?;
        let number: u32 = digits.parse().map_err(|_| wrong())?;
        if number.to_string() == digits {
            Ok(Self(Version::new(number)))
        } else {
            Err(wrong())
        }
    }
}

impl TryFrom<String> for GrantId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<GrantId> for String {
    fn from(id: GrantId) -> Self {
        id.to_string()
    }
}

/// A name that an operator registered (tool, agent, model, rule, principal): the only free text
/// a record may hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Name(String);

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for Name {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        let mut bytes = text.bytes();
        let first = bytes
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric());
        let rest = bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._:/@+-".contains(&byte));
        if first && rest && text.len() <= NAME_BYTES_MAX {
            Ok(Self(text))
        } else {
            Err(IdError::Name(text.chars().take(160).collect()))
        }
    }
}

/// Who answered: `uid:<n>` unless a proof of another identity was checked for this very answer.
pub type Principal = Name;

/// The name under which a local user without a proof of identity answers.
pub fn local_principal(uid: u32) -> Result<Principal, IdError> {
    Name::try_from(format!("uid:{uid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_record_of_a_command_is_known_by_its_id() {
        let command = CommandId::new(Uuid::from_u128(0x1111_2222_3333_4444_8555_6666_7777_8888));
        let other = CommandId::new(Uuid::from_u128(0x1111_2222_3333_4444_8555_6666_7777_8889));
        let id = EventId::of_command(1_790_000_000_000, command);
        assert_eq!(id.uuid().get_version_num(), 7);
        assert!(id.is_of(command) && !id.is_of(other));
        assert!(EventId::of_command(7, command).is_of(command));
    }

    #[test]
    fn one_id_has_one_spelling() {
        assert!(
            "b3e41f07-8c2d-4e6a-9f51-0a7d3c58e912"
                .parse::<RunId>()
                .is_ok()
        );
        for wrong in [
            "B3E41F07-8c2d-4e6a-9f51-0a7d3c58e912",
            "b3e41f078c2d4e6a9f510a7d3c58e912",
            "{b3e41f07-8c2d-4e6a-9f51-0a7d3c58e912}",
            "b3e41f07",
            "b3e41f07-8c2d-4e6a-9f51-0a7d3c58e91g",
            "b3e41f07-8c2d-4e6a-9f5100a7d3c58e912",
            "b3e41f07-8c2d-4e6a-9f51-0a7d3c58e9120",
            "",
        ] {
            assert!(wrong.parse::<RunId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn call_ids_are_c_and_a_number_without_leading_zeros() {
        assert_eq!("c17".parse::<CallId>().unwrap().get(), 17);
        for wrong in [
            "c0",
            "c01",
            "17",
            "c",
            "c-1",
            "c+1",
            "C1",
            "c4294967296",
            "c1 ",
        ] {
            assert!(wrong.parse::<CallId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_hold_no_text_of_people_or_models() {
        for right in [
            "write_file",
            "policy:false",
            "uid:1000",
            "script:tidy.toml",
            "a",
        ] {
            assert!(right.parse::<Name>().is_ok(), "{right}");
        }
        for wrong in ["", "-x", "a b", "a\n", "\u{430}", "_x", &"x".repeat(129)] {
            assert!(wrong.parse::<Name>().is_err(), "{wrong}");
        }
    }
}
