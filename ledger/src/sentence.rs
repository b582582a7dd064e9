//! Sentences that stand in the program, read back from another process that runs the same one.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer};

/// A sentence that stands in the program.
pub type Sentence = &'static str;

/// Sentences that are kept: more than the program has, so that nobody fills the memory.
const KEPT_MAX: usize = 512;

/// What is said in the place of one more.
const OTHER: &str = "for a reason that this build does not know";

static KEPT: Mutex<BTreeSet<Sentence>> = Mutex::new(BTreeSet::new());

/// Reads a sentence, for `deserialize_with`.
pub(crate) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Sentence, D::Error> {
    String::deserialize(from).map(|text| keep(&text))
}

/// The sentence for as long as the process lives.
fn keep(text: &str) -> Sentence {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(text) {
        return known;
    }
    if kept.len() >= KEPT_MAX {
        return OTHER;
    }
    let sentence: Sentence = Box::leak(text.to_owned().into_boxed_str());
    kept.insert(sentence);
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_kept_once_and_not_without_end() {
        let first = keep("one sentence");
        assert!(std::ptr::eq(first, keep("one sentence")));
        for number in 0..2 * KEPT_MAX {
            keep(&format!("sentence {number}"));
        }
        assert_eq!(keep("one more"), OTHER);
        assert_eq!(keep("one sentence"), "one sentence");
    }
}
