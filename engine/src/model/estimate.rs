//! What a call of a model may take: an estimate of its input, and the room that caps leave for its
//! output.
//!
//! The estimate goes out from what the provider counted last, where that was the same conversation.

use placet_ledger::budget::{Limits, Spend, Tokens, Usd};

use crate::price::Price;
use crate::record::Terms;

/// Bytes of text that count as one token where nothing is known of the model.
const BYTES_PER_TOKEN: u64 = 4;

/// Bytes that do of a model whose tokens cost something: code and JSON have more tokens than prose.
const BYTES_PER_TOKEN_COUNTED: u64 = 3;

/// Tokens of one tool's name, description and schema, roughly.
const TOKENS_PER_TOOL: u64 = 160;

/// Tokens set aside for a reply where nothing is known of the model.
const OUTPUT_TOKENS: u64 = 400;

/// A reply of fewer tokens is of no use: where caps leave no more, the model is not called.
const OUTPUT_TOKENS_MIN: u64 = 256;

/// How large a conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Bytes of all its texts.
    pub bytes: u64,
    /// How many tools the model is told of.
    pub tools: u64,
    /// How many bytes there were when the provider counted last, and how many tokens that was.
    pub counted: Option<(u64, u64)>,
}

/// Tokens of a conversation.
pub fn input_tokens(size: Size, terms: Option<&Terms>) -> u64 {
    if terms.is_none() {
        return size.bytes.div_ceil(BYTES_PER_TOKEN);
    }
    let of_tools = size.tools.saturating_mul(TOKENS_PER_TOOL);
    let (bytes, tokens) = size.counted.unwrap_or((0, of_tools));
    let since = size.bytes.saturating_sub(bytes);
    tokens.saturating_add(since.div_ceil(BYTES_PER_TOKEN_COUNTED))
}

/// What is set aside for a call with so much input. The output that is asked for is no more than
/// the caps have `left`, so that a provider that keeps to it never passes them.
pub fn reserve(terms: Option<&Terms>, input: u64, left: &Limits) -> Spend {
    let Some(terms) = terms else {
        return Spend {
            cost_usd: Usd::ZERO,
            tokens: Tokens::new(input, OUTPUT_TOKENS),
        };
    };
    let wanted = terms.output_tokens.unwrap_or(OUTPUT_TOKENS);
    let price = terms.price.unwrap_or(Price::FREE);
    let by_tokens = left.tokens.map(|tokens| tokens.saturating_sub(input));
    let by_cost = left.cost_usd.and_then(|left| {
        let after_input = left.minus(price.of(Tokens::new(input, 0)));
        price.output_for(after_input)
    });
    let room = [by_tokens, by_cost].into_iter().flatten().min();
    let output = room.map_or(wanted, |room| wanted.min(room.max(OUTPUT_TOKENS_MIN)));
    let tokens = Tokens::new(input, output);
    Spend {
        cost_usd: price.of(tokens),
        tokens,
    }
}

/// How many tokens of input a model takes well; `None` where nothing is known of it.
fn room(terms: Option<&Terms>) -> Option<u64> {
    let terms = terms?;
    let window = terms.context_tokens?;
    let output = terms.output_tokens.unwrap_or(OUTPUT_TOKENS);
    Some(window.saturating_sub(output.min(window / 4)))
}

/// Whether a conversation of so many tokens is to be made shorter before the model is called.
pub fn is_too_long(terms: Option<&Terms>, input: u64) -> bool {
    room(terms).is_some_and(|room| input > room / 5 * 4)
}

/// Bytes of the newest replies that stay as they are when it is.
pub fn bytes_kept(terms: Option<&Terms>) -> u64 {
    let kept = room(terms).unwrap_or_default() / 5;
    kept.saturating_mul(BYTES_PER_TOKEN_COUNTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Terms {
        Terms {
            context_tokens: Some(12_000),
            output_tokens: Some(2_000),
            price: Some(Price {
                input: "1".parse().unwrap(),
                output: "10".parse().unwrap(),
                ..Price::FREE
            }),
        }
    }

    #[test]
    fn the_estimate_goes_out_from_what_was_counted_last() {
        let size = |bytes, counted| Size {
            bytes,
            tools: 2,
            counted,
        };
        let some = Some(&terms()).copied();
        for (size, terms, tokens) in [
            (size(10, None), None, 3),
            (size(10, Some((5, 700))), None, 3),
            (size(10, None), some, 324),
            (size(310, Some((10, 700))), some, 800),
        ] {
            assert_eq!(input_tokens(size, terms.as_ref()), tokens, "{size:?}");
        }
    }

    #[test]
    fn output_is_asked_for_as_far_as_the_caps_go() {
        let left = |tokens, usd: Option<&str>| Limits {
            tokens,
            cost_usd: usd.map(|usd| usd.parse().unwrap()),
            ..Limits::default()
        };
        for (left, output, usd) in [
            (left(None, None), 2_000, "0.021"),
            (left(Some(5_000), None), 2_000, "0.021"),
            (left(Some(2_500), None), 1_500, "0.016"),
            // Too little is left: what is set aside does not fit, and the cap ends the run.
            (left(Some(1_100), None), 256, "0.00356"),
            // 0.006 pays for 1,000 tokens in and 500 out.
            (left(None, Some("0.006")), 500, "0.006"),
            (left(Some(1_400), Some("0.006")), 400, "0.005"),
            (left(None, Some("0")), 256, "0.00356"),
        ] {
            let spend = reserve(Some(&terms()), 1_000, &left);
            assert_eq!(spend.tokens, Tokens::new(1_000, output), "{left:?}");
            assert_eq!(spend.cost_usd.to_string(), usd, "{left:?}");
        }
        let unknown = reserve(None, 7, &left(Some(10), None));
        assert_eq!(unknown.tokens, Tokens::new(7, 400));
    }

    #[test]
    fn a_conversation_is_too_long_at_four_fifths_of_the_room() {
        let terms = Some(&terms()).copied();
        assert!(!is_too_long(terms.as_ref(), 8_000));
        assert!(is_too_long(terms.as_ref(), 8_001));
        assert_eq!(bytes_kept(terms.as_ref()), 6_000);
        let unknown = Terms {
            context_tokens: None,
            ..terms.unwrap()
        };
        assert!(!is_too_long(Some(&unknown), u64::MAX));
        assert!(!is_too_long(None, u64::MAX));
    }
}
