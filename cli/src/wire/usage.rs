//! What a run came to in numbers: how its calls ended, and what its model used.

use std::collections::BTreeMap;

use placet_ledger::budget::Usage;
use placet_ledger::envelope::Recorded;
use placet_ledger::event::{Event, RefusalKind};
use placet_ledger::run::{Close, Phase, RunState};
use serde::Serialize;

use super::run::{End, Why, end};

/// What a run used.
#[derive(Debug, Serialize)]
pub(crate) struct UsageReport {
    /// Active time of its segments.
    pub(crate) active_ms: u64,
    /// Cost of its model calls.
    pub(crate) cost_usd: String,
    /// Calls of the model.
    pub(crate) iterations: u64,
    /// Tokens, those among them that are set aside for calls without a reply.
    pub(crate) tokens: u64,
    /// The same as its model told them.
    #[serde(flatten)]
    pub(crate) told: Option<ToldTokens>,
}

impl From<&Usage> for UsageReport {
    fn from(usage: &Usage) -> Self {
        Self {
            active_ms: usage.active_ms,
            cost_usd: usage.cost_usd.to_string(),
            iterations: usage.iterations,
            tokens: usage.tokens,
            told: None,
        }
    }
}

/// Tokens as a model told them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ToldTokens {
    /// Those that it read.
    tokens_in: u64,
    /// Those that it wrote.
    tokens_out: u64,
}

impl ToldTokens {
    /// What records of a run tell.
    pub(crate) fn of(records: &[Recorded]) -> Self {
        let mut told = Self::default();
        for record in records {
            told.add(record.envelope.event());
        }
        told
    }

    /// Adds what a record tells.
    pub(crate) fn add(&mut self, event: &Event) {
        let used = match event {
            Event::ModelReplied(replied) => Some(replied.used),
            Event::ModelFailed(failed) => failed.used,
            Event::ContextCompacted(compacted) => Some(compacted.used),
            Event::RiskAssessed(assessed) => assessed.used,
            _ => None,
        };
        let used = used.unwrap_or_default();
        self.tokens_in = self.tokens_in.saturating_add(used.input);
        self.tokens_out = self.tokens_out.saturating_add(used.output);
    }
}

/// What a run came to, in a line for people: its calls by their end, and what it used.
pub(crate) fn summary(calls: &BTreeMap<&'static str, u64>, usage: &UsageReport) -> String {
    let calls: Vec<_> = calls
        .iter()
        .map(|(word, number)| format!("{number} {}", word.replace('_', " ")))
        .collect();
    let calls = if calls.is_empty() {
        String::from("none")
    } else {
        calls.join(", ")
    };
    let tokens = match usage.told {
        Some(told) => {
            let sum = told.tokens_in.saturating_add(told.tokens_out);
            let unknown = match usage.tokens.saturating_sub(sum) {
                0 => String::new(),
                // Set aside for calls of which nobody knows what they used.
                tokens => format!(", {tokens} more set aside"),
            };
            format!(
                "{} tokens in, {} out{unknown}",
                told.tokens_in, told.tokens_out
            )
        }
        None => format!("{} tokens", usage.tokens),
    };
    let asked = match usage.iterations {
        1 => String::from("1 model call"),
        number => format!("{number} model calls"),
    };
    format!(
        "calls: {calls}; {asked}, {tokens}, {} USD, {} ms active",
        usage.cost_usd, usage.active_ms
    )
}

/// How many calls came to what.
pub(super) fn outcomes(state: &RunState) -> BTreeMap<&'static str, u64> {
    let mut outcomes: BTreeMap<&'static str, u64> = BTreeMap::new();
    for call in state.calls() {
        let word = match call.phase() {
            Phase::Closed(Close::Answered) => "answered",
            Phase::Closed(Close::Superseded) => "amended",
            Phase::Pending | Phase::Asked => "waiting",
            Phase::InDoubt => "in_doubt",
            phase => match end(phase) {
                Some(End::Succeeded) => "succeeded",
                Some(End::Declined(Why::Refused(RefusalKind::Nobody))) => "declined",
                Some(End::Declined(Why::Refused(_))) => "refused",
                Some(End::Unsuccessful(why) | End::Declined(why)) => why.as_str(),
                None => "not_started",
            },
        };
        let number = outcomes.entry(word).or_default();
        *number = number.saturating_add(1);
    }
    outcomes
}
