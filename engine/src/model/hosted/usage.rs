//! What a request and its reply are counted as.
//!
//! What the provider counts holds. Where it says nothing, every four bytes that were sent and
//! received count as a token, past any cache, so that a cap binds all the same.

use placet_ledger::budget::Tokens;

/// Bytes that count as one token where nobody counted: English text has about as many.
const BYTES_PER_TOKEN: u64 = 4;

/// What the provider has told so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// All input, what is read from a cache and written to it included.
    pub(super) input: Option<u64>,
    /// The part that is read from a cache.
    pub(super) cache_read: u64,
    /// The part that is written to one.
    pub(super) cache_write: u64,
    /// Output.
    pub(super) output: Option<u64>,
    /// Whether nothing will be added to it.
    pub(super) is_last: bool,
}

impl Counted {
    /// The tokens of a reply, of which so many bytes were sent and received.
    pub(super) fn tokens(&self, sent_bytes: u64, received_bytes: u64) -> Tokens {
        // A server that counts nothing may say 0.
        let counted = |count: Option<u64>, bytes: u64| {
            let count = count.filter(|count| *count > 0 || bytes == 0);
            (
                count.is_some(),
                count.unwrap_or(bytes.div_ceil(BYTES_PER_TOKEN)),
            )
        };
        let (is_known, input) = counted(self.input, sent_bytes);
        // An output that was counted before the end is the least that it can be.
        let last = self.output.filter(|_| self.is_last);
        let (_, output) = counted(last, received_bytes);
        let cached = |part: u64| if is_known { part.min(input) } else { 0 };
        let cache_read = cached(self.cache_read);
        Tokens {
            cache_read,
            cache_write: cached(self.cache_write).min(input.saturating_sub(cache_read)),
            input,
            output: output.max(self.output.unwrap_or(0)),
        }
    }

    /// What was used by a reply that did not come, where all of it was told.
    pub(super) fn known(&self) -> Option<Tokens> {
        let is_known = self.is_last && self.input.is_some_and(|input| input > 0);
        (is_known && self.output.is_some()).then(|| self.tokens(0, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_is_counted_by_bytes() {
        let told = Counted {
            input: Some(100),
            cache_read: 60,
            cache_write: 30,
            output: Some(7),
            is_last: true,
        };
        let all = Tokens {
            cache_read: 60,
            cache_write: 30,
            input: 100,
            output: 7,
        };
        assert_eq!(told.tokens(4_000, 400), all);
        assert_eq!(told.known(), Some(all));
        let early = Counted {
            output: Some(1),
            is_last: false,
            ..told
        };
        assert_eq!(early.tokens(4_000, 401).output, 101);
        assert_eq!(early.tokens(4_000, 0).output, 1);
        assert_eq!(early.known(), None);
        let nothing = Counted::default();
        assert_eq!(nothing.tokens(4_001, 9), Tokens::new(1_001, 3));
        let zero = Counted {
            input: Some(0),
            output: Some(0),
            cache_read: 5,
            is_last: true,
            ..nothing
        };
        assert_eq!(zero.tokens(40, 8), Tokens::new(10, 2));
        assert_eq!(zero.tokens(40, 0), Tokens::new(10, 0));
        assert_eq!(zero.known(), None);
        let wrong = Counted {
            cache_read: 500,
            cache_write: 500,
            ..told
        };
        let tokens = wrong.tokens(1, 1);
        assert_eq!((tokens.cache_read, tokens.cache_write), (100, 0));
    }
}
