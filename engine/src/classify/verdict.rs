//! Words that count: exact ones, with nothing around them.

use placet_ledger::event::Demand;
use placet_ledger::risk::RiskTier;
use serde::Deserialize;

/// Characters of a plugin's reason that are kept.
const REASON_CHARS_MAX: usize = 500;

/// The tier that the reply of a model names: the word and not a byte more.
pub(super) fn tier(reply: &str) -> Option<RiskTier> {
    match word(reply)? {
        Word::Tier(tier) => Some(tier),
        Word::Demand(_) | Word::Pass => None,
    }
}

/// What a program wrote, without the one line feed that may end it.
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
    fn a_tier_is_exactly_one_word() {
        for (reply, expected) in [
            ("read-only", Some(RiskTier::ReadOnly)),
            ("low-risk", Some(RiskTier::LowRisk)),
            ("high-risk", Some(RiskTier::HighRisk)),
            ("read-only\n", None),
            ("low-risk\n", None),
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

    #[test]
    fn a_plugin_may_end_its_word_with_a_line_feed() {
        for (output, expected) in [
            ("low-risk", Some(Word::Tier(RiskTier::LowRisk))),
            ("low-risk\n", Some(Word::Tier(RiskTier::LowRisk))),
            ("deny\n", Some(Word::Demand(Demand::Deny))),
            ("low-risk\n\n", None),
            ("low-risk \n", None),
            ("", None),
        ] {
            let spoken = spoken(output.as_bytes()).map(|spoken| spoken.word);
            assert_eq!(spoken, expected, "{output:?}");
        }
    }
}
