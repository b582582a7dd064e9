//! Words that count: exact ones, with nothing around them.

use placet_ledger::event::Demand;
use placet_ledger::risk::RiskTier;
use serde::Deserialize;

/// Characters of a plugin's reason that are kept.
const REASON_CHARS_MAX: usize = 500;

/// The tier that the reply of a model names.
pub(super) fn tier(reply: &str) -> Option<RiskTier> {
    match word(line(reply))? {
        Word::Tier(tier) => Some(tier),
        Word::Demand(_) | Word::Pass => None,
    }
}

/// A text without the one line feed that may end it.
fn line(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

/// What a plugin says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// So risky it is.
    Tier(RiskTier),
    /// Something beside a tier.
    Demand(Demand),
    /// Others may say.
    Pass,
}

/// The same with its reason.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) word: Word,
    pub(super) reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    verdict: String,
    reason: Option<String>,
}

/// What a plugin wrote: one word with at most a line feed, or JSON.
pub(super) fn spoken(output: &[u8]) -> Option<Spoken> {
    let text = std::str::from_utf8(output).ok()?;
    if let Some(word) = word(line(text)) {
        return Some(Spoken { word, reason: None });
    }
    let written: Written = serde_json::from_str(text).ok()?;
    Some(Spoken {
        word: word(&written.verdict)?,
        reason: written.reason.as_deref().map(clipped),
    })
}

fn word(text: &str) -> Option<Word> {
    Some(match text {
        "read-only" => Word::Tier(RiskTier::ReadOnly),
        "low-risk" => Word::Tier(RiskTier::LowRisk),
        "high-risk" => Word::Tier(RiskTier::HighRisk),
        "ask" => Word::Demand(Demand::Ask),
        "deny" => Word::Demand(Demand::Deny),
        "pass" => Word::Pass,
        _ => return None,
    })
}

/// As much of a foreign text as a reason may hold.
pub(super) fn clipped(text: &str) -> String {
    let mut kept: String = text.chars().take(REASON_CHARS_MAX).collect();
    if kept.len() < text.len() {
        kept.push_str(" (cut)");
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_one_word_with_at_most_one_line_feed_behind_it() {
        for (reply, expected) in [
            ("read-only", Some(RiskTier::ReadOnly)),
            ("low-risk", Some(RiskTier::LowRisk)),
            ("high-risk", Some(RiskTier::HighRisk)),
            ("read-only\n", Some(RiskTier::ReadOnly)),
            ("low-risk\n", Some(RiskTier::LowRisk)),
            ("", None),
            ("\n", None),
            ("read-only\n\n", None),
            ("read-only\r\n", None),
            ("read-only\r", None),
            ("low-risk ", None),
            (" low-risk", None),
            ("\nlow-risk", None),
            ("low-risk\t", None),
            ("\u{c}low-risk", None),
            ("low-risk\u{c}\n", None),
            ("low-risk\u{a0}", None),
            ("low-risk\0", None),
            ("Low-risk", None),
            ("low-risk.", None),
            ("`low-risk`", None),
            ("ask", None),
            ("deny", None),
            ("pass", None),
        ] {
            assert_eq!(tier(reply), expected, "{reply:?}");
        }
    }
}
