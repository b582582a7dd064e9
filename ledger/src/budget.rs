//! Caps of a run and what was used of them: checked whole-number arithmetic, and no clock.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a text is not an amount of money.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected US dollars with at most six decimals such as 0.25, found {0:?}")]
pub struct UsdError(String);

/// US dollars in millionths; written as a decimal string without trailing zeros.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Usd(u64);

const MICROS_PER_USD: u64 = 1_000_000;

impl Usd {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// So many millionths of a dollar.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Whether it is nothing.
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// How many millionths.
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// What is left after taking so much away, at least nothing.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The sum, at most the largest amount there is.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, micros) = (
            self.0.div_euclid(MICROS_PER_USD),
            self.0.rem_euclid(MICROS_PER_USD),
        );
        if micros == 0 {
            return write!(f, "{whole}");
        }
        let decimals = format!("{micros:06}");
        write!(f, "{whole}.{}", decimals.trim_end_matches('0'))
    }
}

impl FromStr for Usd {
    type Err = UsdError;

    fn from_str(text: &str) -> Result<Self, UsdError> {
        let wrong = || UsdError(text.chars().take(80).collect());
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let (whole, decimals) = text
            .split_once('.')
            .map_or((text, None), |(w, d)| (w, Some(d)));
        let decimals = match decimals {
            None => String::from("0"),
            Some(some) if (1..=6).contains(&some.len()) => format!("{some:0<6}"),
            Some(_) => return Err(wrong()),
        };
        if whole.is_empty() || !digits(whole) || !digits(&decimals) {
            return Err(wrong());
        }
        let whole: u64 = whole.parse().map_err(|_| wrong())?;
        let micros: u64 = decimals.parse().map_err(|_| wrong())?;
        let total = whole
            .checked_mul(MICROS_PER_USD)
            .and_then(|w| w.checked_add(micros));
        total.map(Self).ok_or_else(wrong)
    }
}

impl TryFrom<String> for Usd {
    type Error = UsdError;

    /// Reads the one form that records hold.
    fn try_from(text: String) -> Result<Self, UsdError> {
        let amount: Self = text.parse()?;
        if amount.to_string() == text {
            Ok(amount)
        } else {
            Err(UsdError(text))
        }
    }
}

impl From<Usd> for String {
    fn from(amount: Usd) -> Self {
        amount.to_string()
    }
}

/// Tokens of one model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// Of the input, those that the provider read from its cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// Of the input, those that it wrote to its cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Sent to the model, whatever became of them there.
    pub input: u64,
    /// Written by it.
    pub output: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over references"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Tokens {
    /// So many in and out, past any cache.
    pub const fn new(input: u64, output: u64) -> Self {
        Self {
            cache_read: 0,
            cache_write: 0,
            input,
            output,
        }
    }

    /// Both together.
    pub const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// What a call of a model takes, or what is set aside for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spend {
    /// What it costs.
    pub cost_usd: Usd,
    /// Its tokens.
    pub tokens: Tokens,
}

/// The caps of a run; an absent one does not bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Cost of its model calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Usd>,
    /// Active time; waiting for a person does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Calls of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Tokens in and out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl Limits {
    /// Whether there is such a cap.
    pub const fn binds(&self, cap: Cap) -> bool {
        match cap {
            Cap::Cost => self.cost_usd.is_some(),
            Cap::Duration => self.duration_ms.is_some(),
            Cap::Iterations => self.iterations.is_some(),
            Cap::Tokens => self.tokens.is_some(),
        }
    }

    /// The stricter of both, cap by cap.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (one, None) | (None, one) => one,
            }
        }
        Self {
            cost_usd: least(self.cost_usd, other.cost_usd),
            duration_ms: least(self.duration_ms, other.duration_ms),
            iterations: least(self.iterations, other.iterations),
            tokens: least(self.tokens, other.tokens),
        }
    }
}

/// Which cap is spent.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    thiserror::Error,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Cap {
    /// See [`Limits::cost_usd`].
    #[error("max-cost-usd")]
    Cost,
    /// See [`Limits::duration_ms`].
    #[error("max-duration")]
    Duration,
    /// See [`Limits::iterations`].
    #[error("max-iterations")]
    Iterations,
    /// See [`Limits::tokens`].
    #[error("max-tokens")]
    Tokens,
}

/// What a run used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Active time of its ended segments.
    pub active_ms: u64,
    /// Cost of its calls of models, and what was set aside for those without a reply.
    pub cost_usd: Usd,
    /// Turns of the model, failed attempts included.
    pub iterations: u64,
    /// Tokens used, and reserved by attempts that had no reply.
    pub tokens: u64,
}

impl Usage {
    /// The cap that leaves no room for another turn of the model that may take `reserved`.
    pub fn blocks_turn(&self, limits: &Limits, reserved: Spend) -> Option<Cap> {
        if limits.iterations.is_some_and(|cap| self.iterations >= cap) {
            Some(Cap::Iterations)
        } else {
            self.blocks_spending(limits, reserved)
        }
    }

    /// The cap that leaves no room for any call of a model that may take `reserved`.
    pub fn blocks_spending(&self, limits: &Limits, reserved: Spend) -> Option<Cap> {
        let tokens = self.tokens.saturating_add(reserved.tokens.total());
        let cost_usd = self.cost_usd.plus(reserved.cost_usd);
        if limits.tokens.is_some_and(|cap| tokens > cap) {
            Some(Cap::Tokens)
        } else if limits
            .cost_usd
            // Under a cap of nothing, models that cost nothing may be called.
            .is_some_and(|cap| cost_usd > cap || self.cost_usd >= cap.max(Usd(1)))
        {
            Some(Cap::Cost)
        } else {
            self.blocks_execution(limits)
        }
    }

    /// Sets aside what a call of a model may take.
    pub(crate) fn reserve(&mut self, reserved: Spend) {
        self.tokens = self.tokens.saturating_add(reserved.tokens.total());
        self.cost_usd = self.cost_usd.plus(reserved.cost_usd);
    }

    /// Puts what a call took in the place of what was set aside for it.
    pub(crate) fn settle(&mut self, reserved: Spend, used: Spend) {
        let others = self.tokens.saturating_sub(reserved.tokens.total());
        self.tokens = others.saturating_add(used.tokens.total());
        self.cost_usd = self.cost_usd.minus(reserved.cost_usd).plus(used.cost_usd);
    }

    /// The cap that forbids starting an approved call. Calls of the last reply that a cap allowed
    /// are still executed, so only active time counts here.
    pub fn blocks_execution(&self, limits: &Limits) -> Option<Cap> {
        limits
            .duration_ms
            .is_some_and(|cap| self.active_ms >= cap)
            .then_some(Cap::Duration)
    }

    /// What is left of each cap.
    pub fn remaining(&self, limits: &Limits) -> Limits {
        Limits {
            cost_usd: limits
                .cost_usd
                .map(|cap| Usd(cap.0.saturating_sub(self.cost_usd.0))),
            duration_ms: limits
                .duration_ms
                .map(|cap| cap.saturating_sub(self.active_ms)),
            iterations: limits
                .iterations
                .map(|cap| cap.saturating_sub(self.iterations)),
            tokens: limits.tokens.map(|cap| cap.saturating_sub(self.tokens)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_one_written_form() {
        for (text, written) in [
            ("0", "0"),
            ("1", "1"),
            ("0.25", "0.25"),
            ("2.500000", "2.5"),
            ("007.1", "7.1"),
        ] {
            assert_eq!(text.parse::<Usd>().unwrap().to_string(), written);
        }
        for wrong in [
            "",
            ".5",
            "1.",
            "-1",
            "1e3",
            "0.1234567",
            "1,5",
            "99999999999999999999",
        ] {
            assert!(wrong.parse::<Usd>().is_err(), "{wrong}");
        }
        assert!(Usd::try_from(String::from("2.500000")).is_err());
    }

    #[test]
    fn a_cap_binds_when_the_next_call_might_pass_it() {
        let limits = Limits {
            tokens: Some(100),
            iterations: Some(2),
            ..Limits::default()
        };
        let usage = Usage {
            tokens: 60,
            iterations: 1,
            ..Usage::default()
        };
        let reserved = |total| Spend {
            tokens: Tokens::new(total, 0),
            cost_usd: Usd::ZERO,
        };
        assert_eq!(usage.blocks_turn(&limits, reserved(40)), None);
        assert_eq!(usage.blocks_turn(&limits, reserved(41)), Some(Cap::Tokens));
        let spent = Usage {
            iterations: 2,
            ..usage
        };
        assert_eq!(
            spent.blocks_turn(&limits, reserved(0)),
            Some(Cap::Iterations)
        );
        // A judgement is no turn.
        assert_eq!(spent.blocks_spending(&limits, reserved(0)), None);
    }

    #[test]
    fn under_a_cap_of_nothing_a_model_that_costs_nothing_may_be_called() {
        let limits = Limits {
            cost_usd: Some(Usd::ZERO),
            ..Limits::default()
        };
        let spend = |micros| Spend {
            tokens: Tokens::new(5, 5),
            cost_usd: Usd(micros),
        };
        let usage = Usage::default();
        assert_eq!(usage.blocks_turn(&limits, spend(0)), None);
        assert_eq!(usage.blocks_turn(&limits, spend(1)), Some(Cap::Cost));
    }

    #[test]
    fn what_was_set_aside_gives_way_to_what_was_used() {
        let spend = |tokens, micros| Spend {
            tokens: Tokens::new(tokens, 0),
            cost_usd: Usd(micros),
        };
        let mut usage = Usage::default();
        usage.reserve(spend(100, 50));
        usage.reserve(spend(10, 5));
        usage.settle(spend(100, 50), spend(120, 7));
        assert_eq!((usage.tokens, usage.cost_usd), (130, Usd(12)));
    }

    #[test]
    fn the_stricter_cap_wins_and_absent_caps_do_not_bind() {
        let a = Limits {
            tokens: Some(5),
            iterations: None,
            ..Limits::default()
        };
        let b = Limits {
            tokens: Some(9),
            iterations: Some(3),
            ..Limits::default()
        };
        let both = Limits {
            tokens: Some(5),
            iterations: Some(3),
            ..Limits::default()
        };
        assert_eq!(a.strictest(b), both);
        assert_eq!(b.strictest(a), both);
    }
}
