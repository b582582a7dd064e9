//! Models whose prices and limits are known without a config: few, dated, and each from a page.
//!
//! Ids are matched as they are written; a dated snapshot counts only where it is listed. Left out
//! are models whose price depends on the length of the request, since one price would be wrong.

use placet_ledger::budget::Usd;

use super::Price;

/// The day on which these pages were looked up.
pub const LOOKED_UP: &str = "2026-12-01";

/// A model that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Whose it is, as it stands before the colon.
    pub provider: &'static str,
    /// Its ids.
    pub ids: &'static [&'static str],
    /// Tokens of its whole context.
    pub context_tokens: u64,
    /// The most tokens that a reply of it may have.
    pub output_tokens: u64,
    /// What its tokens cost.
    pub price: Price,
    /// The page that says so.
    pub source: &'static str,
}

/// Millionths of a dollar for a million tokens.
const fn price(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Price {
    Price {
        cache_read: Usd::from_micros(cache_read),
        cache_write: Usd::from_micros(cache_write),
        input: Usd::from_micros(input),
        output: Usd::from_micros(output),
    }
}

/// What is known. What is written to a cache is priced as for five minutes, where that has a price
/// of its own.
const TABLE: [Known; 8] = [
    Known {
        provider: "anthropic",
        ids: &["claude-opus-5-5"],
        context_tokens: 1_000_000,
        output_tokens: 128_000,
        price: price(4_000_000, 20_000_000, 200_000, 5_000_000),
        source: "https://platform.claude.com/docs/en/models/opus-5-5/overview",
    },
    Known {
        provider: "anthropic",
        ids: &["claude-opus-5"],
        context_tokens: 1_000_000,
        output_tokens: 128_000,
        price: price(5_000_000, 25_000_000, 500_000, 6_250_000),
        source: "https://platform.claude.com/docs/en/models/opus-5/overview",
    },
    Known {
        provider: "anthropic",
        ids: &["claude-sonnet-5-5"],
        context_tokens: 1_000_000,
        output_tokens: 128_000,
        price: price(2_000_000, 10_000_000, 200_000, 2_500_000),
        source: "https://platform.claude.com/docs/en/models/sonnet-5-5/overview",
    },
    Known {
        provider: "anthropic",
        ids: &["claude-sonnet-5"],
        context_tokens: 1_000_000,
        output_tokens: 128_000,
        price: price(2_000_000, 10_000_000, 200_000, 2_500_000),
        source: "https://platform.claude.com/docs/en/models/sonnet-5/overview",
    },
    Known {
        provider: "anthropic",
        ids: &["claude-haiku-4-5", "claude-haiku-4-5-20251001"],
        context_tokens: 200_000,
        output_tokens: 64_000,
        price: price(1_000_000, 5_000_000, 100_000, 1_250_000),
        source: "https://platform.claude.com/docs/en/about-claude/pricing",
    },
    Known {
        provider: "openai",
        ids: &["gpt-5.1", "gpt-5.1-2025-11-13"],
        context_tokens: 400_000,
        output_tokens: 128_000,
        price: price(1_250_000, 10_000_000, 125_000, 1_250_000),
        source: "https://developers.openai.com/api/docs/models/gpt-5.1",
    },
    Known {
        provider: "openai",
        ids: &["gpt-5-mini", "gpt-5-mini-2025-08-07"],
        context_tokens: 400_000,
        output_tokens: 128_000,
        price: price(250_000, 2_000_000, 25_000, 250_000),
        source: "https://developers.openai.com/api/docs/models/gpt-5-mini",
    },
    Known {
        provider: "openai",
        ids: &["gpt-5-nano", "gpt-5-nano-2025-08-07"],
        context_tokens: 400_000,
        output_tokens: 128_000,
        price: price(50_000, 400_000, 5_000, 50_000),
        source: "https://developers.openai.com/api/docs/models/gpt-5-nano",
    },
];

/// What is known of a model.
pub fn known(provider: &str, id: &str) -> Option<&'static Known> {
    let mut all = TABLE.iter();
    all.find(|known| known.provider == provider && known.ids.contains(&id))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_matched_as_they_are_written() {
        let input = |provider, id| known(provider, id).map(|known| known.price.input.to_string());
        assert_eq!(input("openai", "gpt-5.1").as_deref(), Some("1.25"));
        assert_eq!(
            input("openai", "gpt-5.1-2025-11-13").as_deref(),
            Some("1.25")
        );
        assert_eq!(input("anthropic", "claude-haiku-4-5").as_deref(), Some("1"));
        for (provider, id) in [
            ("openai", "gpt-5.1-2099-01-01"),
            ("openai", "GPT-5.1"),
            ("openai", "gpt-5"),
            ("ollama", "gpt-5.1"),
            ("anthropic", "gpt-5.1"),
            ("anthropic", "claude-haiku-5-5"),
            ("anthropic", ""),
        ] {
            assert_eq!(known(provider, id), None, "{provider}:{id}");
        }
    }

    #[test]
    fn each_row_is_whole() {
        let mut ids = BTreeSet::new();
        for known in TABLE {
            assert!(known.source.starts_with("https://"), "{}", known.source);
            let price = known.price;
            let rising = [Usd::ZERO, price.cache_read, price.input, price.output];
            assert!(
                rising.is_sorted() && price.cache_write >= price.input,
                "{:?}",
                known.ids
            );
            assert!(
                known.output_tokens < known.context_tokens,
                "{:?}",
                known.ids
            );
            for id in known.ids {
                assert!(ids.insert((known.provider, *id)), "{id} is there twice");
            }
        }
    }
}
