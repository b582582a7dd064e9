//! A set of answers that covers every pending approval exactly once, by request digest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::approval::CallAnswer;
use crate::digest::Digest;
use crate::id::{AnswerId, CallId};

/// Why answers do not cover what is pending. Nothing was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CoverageError {
    /// Pending calls without an answer.
    #[error("no answer for {}", list(.0))]
    Missing(Vec<CallId>),
    /// Two answers for one call.
    #[error("{0} is answered twice")]
    Doubled(CallId),
    /// An answer for a call that is not pending.
    #[error("{0} is not waiting for an approval")]
    Unknown(CallId),
    /// What was displayed is not what is pending now.
    #[error("the request of {call} is now {pending}, the answer is for {displayed}")]
    Changed {
        /// The call.
        call: CallId,
        /// The digest the answer names.
        displayed: Digest,
        /// The digest that is pending.
        pending: Digest,
    },
}

fn list(calls: &[CallId]) -> String {
    calls
        .iter()
        .map(CallId::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Answers to all of what was pending when they were given. There is no other way to make one;
/// one that comes from another process covers what it names, and is compared with what is pending
/// when it is decided, as every set is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Sent", into = "Sent")]
pub struct AnswerSet {
    id: AnswerId,
    answers: BTreeMap<CallId, CallAnswer>,
}

/// A set on its way to another process.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    id: AnswerId,
    answers: Vec<CallAnswer>,
}

impl From<AnswerSet> for Sent {
    fn from(set: AnswerSet) -> Self {
        Self {
            id: set.id,
            answers: set.answers.into_values().collect(),
        }
    }
}

impl TryFrom<Sent> for AnswerSet {
    type Error = CoverageError;

    fn try_from(sent: Sent) -> Result<Self, CoverageError> {
        let named = sent.answers.iter().map(|line| (line.call, line.request));
        let named = named.collect();
        Self::covering(sent.id, &named, sent.answers)
    }
}

impl AnswerSet {
    /// Joins answers that cover `pending`, call by call with the digest of its request.
    pub fn covering(
        id: AnswerId,
        pending: &BTreeMap<CallId, Digest>,
        answers: impl IntoIterator<Item = CallAnswer>,
    ) -> Result<Self, CoverageError> {
        let mut set = Self {
            id,
            answers: BTreeMap::new(),
        };
        for answer in answers {
            let call = answer.call;
            if set.answers.insert(call, answer).is_some() {
                return Err(CoverageError::Doubled(call));
            }
        }
        set.covers(pending)?;
        Ok(set)
    }

    /// Whether these answers cover exactly `pending`.
    pub fn covers(&self, pending: &BTreeMap<CallId, Digest>) -> Result<(), CoverageError> {
        for (call, answer) in &self.answers {
            match pending.get(call) {
                None => return Err(CoverageError::Unknown(*call)),
                Some(&pending) if pending != answer.request => {
                    let displayed = answer.request;
                    return Err(CoverageError::Changed {
                        call: *call,
                        displayed,
                        pending,
                    });
                }
                Some(_) => {}
            }
        }
        let missing: Vec<_> = pending
            .keys()
            .filter(|call| !self.answers.contains_key(call))
            .copied()
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(CoverageError::Missing(missing))
        }
    }

    /// The id that a retry repeats.
    pub fn id(&self) -> AnswerId {
        self.id
    }

    /// The answers in call order.
    pub fn iter(&self) -> impl Iterator<Item = &CallAnswer> {
        self.answers.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::Answer;

    fn call(text: &str) -> CallId {
        text.parse().unwrap()
    }

    fn request(byte: u8) -> Digest {
        Digest::from_bytes([byte; 32])
    }

    fn answer(text: &str, byte: u8) -> CallAnswer {
        CallAnswer {
            call: call(text),
            request: request(byte),
            answer: Answer::Approve,
            note: None,
        }
    }

    fn set(answers: Vec<CallAnswer>) -> Result<AnswerSet, CoverageError> {
        let pending = BTreeMap::from([(call("c1"), request(1)), (call("c3"), request(3))]);
        AnswerSet::covering(AnswerId::new(uuid::Uuid::nil()), &pending, answers)
    }

    #[test]
    fn takes_every_pending_call_exactly_once_in_any_order() {
        let set = set(vec![answer("c3", 3), answer("c1", 1)]).unwrap();
        assert_eq!(
            set.iter().map(|a| a.call).collect::<Vec<_>>(),
            [call("c1"), call("c3")]
        );
    }

    #[test]
    fn refuses_whatever_else() {
        assert_eq!(
            set(vec![]),
            Err(CoverageError::Missing(vec![call("c1"), call("c3")]))
        );
        assert_eq!(
            set(vec![answer("c1", 1)]),
            Err(CoverageError::Missing(vec![call("c3")]))
        );
        let doubled = vec![answer("c1", 1), answer("c3", 3), answer("c1", 1)];
        assert_eq!(set(doubled), Err(CoverageError::Doubled(call("c1"))));
        let unknown = vec![answer("c1", 1), answer("c2", 1), answer("c3", 3)];
        assert_eq!(set(unknown), Err(CoverageError::Unknown(call("c2"))));
        assert_eq!(
            set(vec![answer("c1", 1), answer("c3", 9)]),
            Err(CoverageError::Changed {
                call: call("c3"),
                displayed: request(9),
                pending: request(3)
            })
        );
    }
}
