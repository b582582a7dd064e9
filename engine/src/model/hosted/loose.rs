//! Values of servers that are not always what they are defined to be, read without building more
//! in memory than was sent.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Any value, as it was written; absent and `null` are the same.
pub(super) type Raw = Option<Box<RawValue>>;

/// A text that is not empty; anything else is none.
pub(super) fn word(raw: &Raw) -> Option<String> {
    let text = raw.as_ref()?.get();
    let word = text.starts_with('"').then(|| serde_json::from_str(text));
    word?.ok().filter(|word: &String| !word.is_empty())
}

/// A count; anything else is none.
pub(super) fn number(raw: &Raw) -> Option<u64> {
    raw.as_ref()?.get().parse().ok()
}

/// A list that may not have more entries than this.
#[derive(Debug)]
pub(super) struct Few<T, const MAX: usize>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Few<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = deserializer.deserialize_seq(Entries::<T, MAX>(PhantomData))?;
        Ok(Self(list))
    }
}

struct Entries<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Entries<T, MAX> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX} entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element()? {
            if list.len() >= MAX {
                return Err(A::Error::invalid_length(MAX.saturating_add(1), &self));
            }
            list.push(entry);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_word_or_count_is_none() {
        for (text, as_word, as_number) in [
            ("null", None, None),
            ("\"a\\n\"", Some("a\n"), None),
            ("\"\"", None, None),
            ("7", None, Some(7)),
            ("-7", None, None),
            ("7.5", None, None),
            ("99999999999999999999", None, None),
            ("{\"a\":1}", None, None),
        ] {
            let raw: Raw = serde_json::from_str(text).unwrap();
            assert_eq!(word(&raw).as_deref(), as_word, "{text}");
            assert_eq!(number(&raw), as_number, "{text}");
        }
    }

    #[test]
    fn a_list_has_its_most_entries() {
        let few = |text: &str| serde_json::from_str::<Few<u8, 2>>(text);
        assert_eq!(few("[1,2]").unwrap().0, [1, 2]);
        let error = few("[1,2,3]").unwrap_err().to_string();
        assert!(error.contains("at most 2 entries"), "{error}");
        assert!(few("{}").is_err());
    }
}
