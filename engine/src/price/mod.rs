//! What tokens cost: prices as providers state them, and the sum of a call, rounded up.

mod table;

pub use table::{Known, LOOKED_UP, known};

use placet_ledger::budget::{Spend, Tokens, Usd};
use placet_ledger::limits::INTEGER_MAX;
use serde::{Deserialize, Serialize};

/// Tokens that a price is for.
const TOKENS_PER_PRICE: u128 = 1_000_000;

/// Prices in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Of input that the provider read from its cache.
    pub cache_read: Usd,
    /// Of input that it wrote to its cache.
    pub cache_write: Usd,
    /// Of all other input.
    pub input: Usd,
    /// Of output.
    pub output: Usd,
}

impl Price {
    /// Of a model that costs nothing.
    pub const FREE: Self = Self {
        cache_read: Usd::ZERO,
        cache_write: Usd::ZERO,
        input: Usd::ZERO,
        output: Usd::ZERO,
    };

    /// What these tokens cost, rounded up to a millionth of a dollar.
    pub fn of(&self, tokens: Tokens) -> Usd {
        let cached = tokens.cache_read.saturating_add(tokens.cache_write);
        let plain = tokens.input.saturating_sub(cached);
        let parts = [
            (self.input, plain),
            (self.cache_read, tokens.cache_read),
            (self.cache_write, tokens.cache_write),
            (self.output, tokens.output),
        ];
        let sum = parts.iter().fold(0_u128, |sum, (price, tokens)| {
            let part = u128::from(price.micros()).saturating_mul(u128::from(*tokens));
            sum.saturating_add(part)
        });
        Usd::from_micros(u64::try_from(sum.div_ceil(TOKENS_PER_PRICE)).unwrap_or(u64::MAX))
    }

    /// What a call that used these tokens took; no more than a record can hold, however many a
    /// provider claims.
    pub fn spend(&self, tokens: Tokens) -> Spend {
        let most = INTEGER_MAX.unsigned_abs();
        let tokens = Tokens {
            cache_read: tokens.cache_read.min(most),
            cache_write: tokens.cache_write.min(most),
            input: tokens.input.min(most),
            output: tokens.output.min(most),
        };
        Spend {
            cost_usd: self.of(tokens),
            tokens,
        }
    }

    /// How many tokens of output so much money pays for; `None` where output costs nothing.
    pub fn output_for(&self, left: Usd) -> Option<u64> {
        let micros = u128::from(left.micros()).saturating_mul(TOKENS_PER_PRICE);
        let tokens = micros.checked_div(u128::from(self.output.micros()))?;
        Some(u64::try_from(tokens).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price() -> Price {
        let usd = |text: &str| text.parse().unwrap();
        Price {
            cache_read: usd("0.30"),
            cache_write: usd("3.75"),
            input: usd("3"),
            output: usd("15"),
        }
    }

    #[test]
    fn each_kind_of_token_has_its_price_and_sums_are_rounded_up() {
        let cached = Tokens {
            cache_read: 10_000,
            cache_write: 1_000,
            input: 12_000,
            output: 500,
        };
        for (tokens, usd) in [
            (Tokens::default(), "0"),
            (Tokens::new(1, 0), "0.000003"),
            (Tokens::new(1_000_000, 1_000_000), "18"),
            // 1,000 at 3, 10,000 at 0.30, 1,000 at 3.75, 500 at 15.
            (cached, "0.01725"),
        ] {
            assert_eq!(price().of(tokens).to_string(), usd);
        }
        let cheap = Price {
            input: Usd::from_micros(1),
            ..Price::FREE
        };
        assert_eq!(cheap.of(Tokens::new(1, 0)), Usd::from_micros(1));
        let most = Tokens::new(u64::MAX, u64::MAX);
        assert_eq!(price().of(most), Usd::from_micros(u64::MAX));
    }

    #[test]
    fn money_pays_for_so_much_output_and_no_more() {
        assert_eq!(price().output_for("0.15".parse().unwrap()), Some(10_000));
        assert_eq!(price().output_for(Usd::ZERO), Some(0));
        assert_eq!(Price::FREE.output_for(Usd::ZERO), None);
    }
}
