//! How runs are named: by the first digits of their ids, as few as tell them from all others.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::RunId;

/// The fewest digits that name a run: fewer are soon shared by two.
const PREFIX_DIGITS_MIN: usize = 6;

/// Digits of a whole id.
const ID_DIGITS: usize = 32;

/// Why a prefix names no run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LookupError {
    /// Not the beginning of an id.
    #[error("expected the first {PREFIX_DIGITS_MIN} or more hex digits of a run's id, found {0:?}")]
    Malformed(String),
    /// No run begins so.
    #[error("no run begins with {prefix}")]
    NotFound {
        /// What was looked for.
        prefix: String,
        /// The run whose id agrees in most digits, if at least half of them agree.
        nearest: Option<RunId>,
    },
    /// Several runs begin so.
    #[error("{prefix} is the beginning of {} runs: {}", candidates.len(), list(candidates))]
    Ambiguous {
        /// What was looked for.
        prefix: String,
        /// The runs, in the order of their ids.
        candidates: Vec<RunId>,
    },
}

fn list(runs: &[RunId]) -> String {
    let runs: Vec<_> = runs.iter().map(RunId::to_string).collect();
    runs.join(", ")
}

/// The first digits of an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrefixDigits {
    /// As they were written.
    written: String,
    /// Without hyphens.
    digits: String,
}

impl PrefixDigits {
    /// Reads at least six hex digits, with hyphens or without.
    pub fn read(prefix: &str) -> Result<Self, LookupError> {
        let digits: String = prefix.chars().filter(|&c| c != '-').collect();
        let hex = digits
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !hex || !(PREFIX_DIGITS_MIN..=ID_DIGITS).contains(&digits.len()) {
            return Err(LookupError::Malformed(prefix.chars().take(80).collect()));
        }
        let written = prefix.chars().take(80).collect();
        Ok(Self { written, digits })
    }

    fn filled(&self, with: char) -> RunId {
        let missing = ID_DIGITS.saturating_sub(self.digits.len());
        let rest = std::iter::repeat_n(with, missing);
        let filled: String = self.digits.chars().chain(rest).collect();
        RunId::new(Uuid::try_parse(&filled).unwrap_or_default())
    }

    /// The first id that begins so.
    pub fn first(&self) -> RunId {
        self.filled('0')
    }

    /// The last id that begins so.
    pub fn last(&self) -> RunId {
        self.filled('f')
    }

    /// The only one of these runs, which all begin so.
    pub fn only(&self, candidates: Vec<RunId>) -> Result<RunId, LookupError> {
        match candidates.as_slice() {
            [only] => Ok(*only),
            _ => Err(LookupError::Ambiguous {
                prefix: self.written.clone(),
                candidates,
            }),
        }
    }

    /// No run begins so; one of these may be meant.
    pub fn not_found(&self, near: impl IntoIterator<Item = RunId>) -> LookupError {
        let agreeing = |run: &RunId| {
            let id = simple(*run);
            id.bytes()
                .zip(self.digits.bytes())
                .filter(|(a, b)| a == b)
                .count()
        };
        let best = near.into_iter().max_by_key(agreeing);
        let agrees = |run: &RunId| agreeing(run).saturating_mul(2) >= self.digits.len();
        LookupError::NotFound {
            prefix: self.written.clone(),
            nearest: best.filter(agrees),
        }
    }
}

/// The beginning of a run's id that no other run shares: six digits, or as many as it takes.
/// `beside` are the ids right before and after it: in order, they share the most with it.
pub fn shortest_prefix_beside(run: RunId, beside: impl IntoIterator<Item = RunId>) -> String {
    let shared = beside.into_iter().map(|other| shared_digits(run, other));
    let digits = shared.max().unwrap_or(0).saturating_add(1);
    let mut left = digits.clamp(PREFIX_DIGITS_MIN, ID_DIGITS);
    run.to_string()
        .chars()
        .take_while(|&c| {
            let more = left > 0;
            if c != '-' {
                left = left.saturating_sub(1);
            }
            more
        })
        .collect()
}

fn simple(run: RunId) -> String {
    run.uuid().as_simple().to_string()
}

fn shared_digits(a: RunId, b: RunId) -> usize {
    let (a, b) = (simple(a), simple(b));
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}
