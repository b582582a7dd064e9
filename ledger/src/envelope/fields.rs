//! The fields of a record as they lie in its bytes, found in the pass that checks those.

use serde::de::Error as _;

use super::RecordError;
use crate::canonical::{Cursor, check_fields};
use crate::limits::RECORD_BYTES_MAX;

/// The JSON of each field; empty where there is none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fields<'a> {
    pub(super) actor: &'a str,
    pub(super) at: &'a str,
    pub(super) blobs: &'a str,
    pub(super) body: &'a str,
    pub(super) cause: &'a str,
    pub(super) id: &'a str,
    pub(super) ledger: &'a str,
    pub(super) prev: &'a str,
    pub(super) run: &'a str,
    pub(super) schema: &'a str,
    pub(super) kind: &'a str,
    pub(super) format: &'a str,
    pub(super) version: &'a str,
}

impl<'a> Fields<'a> {
    /// Those of bytes that are canonical and have the fields of a record, whatever they hold.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, RecordError> {
        if bytes.len() > RECORD_BYTES_MAX {
            return Err(RecordError::TooLarge(bytes.len()));
        }
        let text = std::str::from_utf8(bytes).ok();
        match text.and_then(Self::usual) {
            Some(usual) => Ok(usual),
            None => Self::sought(bytes),
        }
    }

    /// By the name of each, whatever comes next.
    fn sought(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let mut fields = Self::default();
        let mut ours = true;
        check_fields(bytes, |key, value| match fields.named(key) {
            Some(field) => *field = value,
            None => ours = false,
        })?;
        if ours && fields.are_all_there() {
            Ok(fields)
        } else {
            Err(wrong("a field is missing or unknown"))
        }
    }

    /// The same of a record as nearly all are: its strings are as long as what they spell. To know
    /// what comes next takes half the time of finding it out.
    fn usual(text: &'a str) -> Option<Self> {
        let mut fields = Self::default();
        let mut at = Cursor::new(text);
        at.just("{\"actor\":")?;
        fields.actor = at.value()?;
        at.just(",\"at\":")?;
        fields.at = at.string::<27>()?;
        if at.just(",\"blobs\":").is_some() {
            fields.blobs = at.value()?;
        }
        at.just(",\"body\":")?;
        fields.body = at.value()?;
        if at.just(",\"cause\":").is_some() {
            fields.cause = at.string::<36>()?;
        }
        at.just(",\"id\":")?;
        fields.id = at.string::<36>()?;
        at.just(",\"ledger\":")?;
        fields.ledger = at.string::<36>()?;
        at.just(",\"prev\":")?;
        fields.prev = at.string::<64>()?;
        at.just(",\"run\":")?;
        fields.run = at.string::<36>()?;
        at.just(",\"schema\":")?;
        fields.schema = at.value()?;
        at.just(",\"type\":")?;
        fields.kind = at.value()?;
        at.just(",\"v\":")?;
        fields.format = at.value()?;
        at.just(",\"version\":")?;
        fields.version = at.value()?;
        at.just("}")?;
        at.end()?;
        Some(fields)
    }

    fn named(&mut self, key: &str) -> Option<&mut &'a str> {
        Some(match key {
            "actor" => &mut self.actor,
            "at" => &mut self.at,
            "blobs" => &mut self.blobs,
            "body" => &mut self.body,
            "cause" => &mut self.cause,
            "id" => &mut self.id,
            "ledger" => &mut self.ledger,
            "prev" => &mut self.prev,
            "run" => &mut self.run,
            "schema" => &mut self.schema,
            "type" => &mut self.kind,
            "v" => &mut self.format,
            "version" => &mut self.version,
            _ => return None,
        })
    }

    /// Whether none is missing of those that every record has.
    fn are_all_there(&self) -> bool {
        let needed = [
            self.actor,
            self.at,
            self.body,
            self.id,
            self.ledger,
            self.prev,
            self.run,
            self.schema,
            self.kind,
            self.format,
            self.version,
        ];
        needed.iter().all(|field| !field.is_empty())
    }
}

pub(super) fn wrong(why: impl std::fmt::Display) -> RecordError {
    RecordError::Fields(serde_json::Error::custom(why))
}

/// The value that a JSON string spells. None of them has an escape in it.
pub(super) fn spelled<T>(value: &str) -> Result<T, RecordError>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let text = inner(value).ok_or_else(|| wrong("a string was expected"))?;
    text.parse().map_err(wrong)
}

/// What stands between the quotes of a string.
pub(super) fn inner(value: &str) -> Option<&str> {
    value.strip_prefix('"')?.strip_suffix('"')
}

/// A whole number that was found to be in its shortest form.
pub(super) fn number(value: &str) -> Result<u32, RecordError> {
    value.parse().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{changed, records};
    use super::*;

    #[test]
    fn the_fields_of_our_records_are_where_they_are_looked_for() {
        for record in records() {
            let usual = Fields::usual(record).unwrap();
            assert_eq!(usual, Fields::sought(record.as_bytes()).unwrap());
        }
    }

    proptest! {
        #[test]
        fn what_is_found_at_once_is_found_by_its_name(record in changed()) {
            if let Some(usual) = Fields::usual(&record) {
                prop_assert_eq!(usual, Fields::sought(record.as_bytes()).unwrap());
            }
        }
    }
}
