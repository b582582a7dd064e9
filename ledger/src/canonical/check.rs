//! Checks stored bytes for canonical form in one pass, without writing JSON again.

use crate::limits::{INTEGER_MAX, RECORD_DEPTH_MAX};

/// Where and why bytes are not canonical.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not canonical at byte {at}: {why}")]
pub struct CanonicalError {
    /// Offset of the first byte that is wrong.
    pub at: usize,
    /// What is wrong with it.
    pub why: &'static str,
}

/// Whether `bytes` are exactly one canonical JSON value.
pub fn check(bytes: &[u8]) -> Result<(), CanonicalError> {
    checked(bytes).map(|_| ())
}

/// The text of bytes that are exactly one canonical JSON value.
pub fn checked(bytes: &[u8]) -> Result<&str, CanonicalError> {
    let text = std::str::from_utf8(bytes).map_err(|error| CanonicalError {
        at: error.valid_up_to(),
        why: "not UTF-8",
    })?;
    let mut scan = Scan { bytes, at: 0 };
    scan.value(0)?;
    if scan.at == bytes.len() {
        Ok(text)
    } else {
        Err(scan.wrong("bytes after the value"))
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn wrong(&self, why: &'static str) -> CanonicalError {
        CanonicalError { at: self.at, why }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn bump(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn eat(&mut self, byte: u8, why: &'static str) -> Result<(), CanonicalError> {
        if self.peek() == Some(byte) {
            self.bump();
            Ok(())
        } else {
            Err(self.wrong(why))
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), CanonicalError> {
        word.iter()
            .try_for_each(|&byte| self.eat(byte, "expected true or false"))
    }

    fn value(&mut self, depth: usize) -> Result<(), CanonicalError> {
        if depth > RECORD_DEPTH_MAX {
            return Err(self.wrong("nested too deeply"));
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(|_| ()),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'-' | b'0'..=b'9') => self.integer(),
            Some(b'n') => Err(self.wrong("null: absent fields are left out")),
            Some(_) => Err(self.wrong("expected a value and no white space")),
            None => Err(self.wrong("the value ends early")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), CanonicalError> {
        self.bump();
        if self.peek() == Some(b'}') {
            self.bump();
            return Ok(());
        }
        let mut last: Option<&'a [u8]> = None;
        loop {
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.wrong("expected a key and no white space"));
            }
            let key = self.string()?;
            if last.is_some_and(|last| last >= key) {
                return Err(CanonicalError {
                    at: start,
                    why: "keys not sorted, or one twice",
                });
            }
            last = Some(key);
            self.eat(b':', "expected a colon")?;
            self.value(depth.saturating_add(1))?;
            match self.peek() {
                Some(b',') => self.bump(),
                _ => return self.eat(b'}', "expected a comma or the end of the object"),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), CanonicalError> {
        self.bump();
        if self.peek() == Some(b']') {
            self.bump();
            return Ok(());
        }
        loop {
            self.value(depth.saturating_add(1))?;
            match self.peek() {
                Some(b',') => self.bump(),
                _ => return self.eat(b']', "expected a comma or the end of the list"),
            }
        }
    }

    fn integer(&mut self) -> Result<(), CanonicalError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.bump();
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.bump();
        }
        if matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            return Err(self.wrong("a number that is no integer"));
        }
        let text = self.bytes.get(start..self.at).unwrap_or_default();
        if is_shortest_integer(text) {
            Ok(())
        } else {
            let why = "an integer beyond +-(2^53 - 1), or not in its shortest form";
            Err(CanonicalError { at: start, why })
        }
    }

    /// Walks over a string and returns what stands between its quotes.
    fn string(&mut self) -> Result<&'a [u8], CanonicalError> {
        self.bump();
        let start = self.at;
        loop {
            // What needs no look of its own is passed over in one go.
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            self.at = self.at.saturating_add(plain(rest));
            match self.peek() {
                Some(b'"') => {
                    let inner = self.bytes.get(start..self.at).unwrap_or_default();
                    self.bump();
                    return Ok(inner);
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.wrong("a raw control character")),
                None => return Err(self.wrong("the string ends early")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), CanonicalError> {
        let why = "an escape that has a shorter form";
        self.bump();
        match self.peek() {
            Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.bump();
                Ok(())
            }
            Some(b'u') => {
                let end = self.at.saturating_add(5);
                let code = self
                    .bytes
                    .get(self.at..end)
                    .ok_or_else(|| self.wrong(why))?;
                let shortest = matches!(
                    code,
                    [b'u', b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f']
                        | [b'u', b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f']
                );
                if !shortest {
                    return Err(self.wrong(why));
                }
                self.at = end;
                Ok(())
            }
            _ => Err(self.wrong(why)),
        }
    }
}

/// How many bytes at the beginning of a string stand for themselves.
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    // A byte is below `limit` where taking that away borrows, and it had no high bit itself. What
    // a borrow adds lies above the first such byte, and only the first counts.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES.wrapping_mul(limit)) & !word & HIGHS;
    let is = |word: u64, byte: u8| below(word ^ ONES.wrapping_mul(u64::from(byte)), 1);
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = below(word, 0x20) | is(word, b'"') | is(word, b'\\');
        if found != 0 {
            let before = usize::try_from(found.trailing_zeros() / 8).unwrap_or(0);
            return index.saturating_mul(8).saturating_add(before);
        }
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    let end = rest.iter().position(special).unwrap_or(rest.len());
    words.len().saturating_mul(8).saturating_add(end)
}

/// Whether a sign and digits are an integer within the bounds, without a zero in front.
fn is_shortest_integer(text: &[u8]) -> bool {
    let (negative, digits) = match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, text),
    };
    match digits {
        [] | [b'0', _, ..] => false,
        [b'0'] => !negative,
        // With more than 16 digits it is beyond the bounds whatever they are.
        digits if digits.len() > 16 => false,
        digits => {
            let value = digits.iter().fold(0_i64, |value, digit| {
                let digit = i64::from(digit.saturating_sub(b'0'));
                value.saturating_mul(10).saturating_add(digit)
            });
            value <= INTEGER_MAX
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn refuses_every_second_spelling() {
        for wrong in [
            "",
            " {}",
            "{} ",
            "{\"a\" :1}",
            "{\"b\":1,\"a\":2}",
            "{\"a\":1,\"a\":1}",
            "{\"a\":null}",
            "[1,]",
            "[1 ,2]",
            "01",
            "-0",
            "1.0",
            "1e3",
            "+1",
            "9007199254740992",
            "-9007199254740992",
            "10000000000000000",
            "99999999999999999999",
            "-",
            "-01",
            "00",
            "\"\\/\"",
            "\"\\u0041\"",
            "\"\\u000a\"",
            "\"\\u001F\"",
            "\"\\u007f\"",
            "\"\n\"",
            "\"a",
            "\"\\ud800\"",
            "tru",
            "truefalse",
            "{}{}",
            "[[[[[[[[[[1]]]]]]]]]]",
        ] {
            assert!(check(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
        assert_eq!(
            check(b"\"\xff\""),
            Err(CanonicalError {
                at: 1,
                why: "not UTF-8"
            })
        );
    }

    #[test]
    fn accepts_what_is_canonical() {
        for right in [
            "{}",
            "[]",
            "0",
            "-1",
            "9007199254740991",
            "-9007199254740991",
            "1000000000000000",
            "\"\\u001f\\n\u{7f}\"",
            "true",
        ] {
            assert_eq!(check(right.as_bytes()), Ok(()), "{right:?}");
        }
    }

    proptest! {
        #[test]
        fn the_plain_part_of_a_string_ends_where_it_does(
            bytes in prop::collection::vec(
                prop_oneof![8 => any::<u8>(), 1 => Just(b'"'), 1 => Just(b'\\'), 40 => 0x20_u8..],
                0..60,
            ),
        ) {
            let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
            let end = bytes.iter().position(special).unwrap_or(bytes.len());
            prop_assert_eq!(plain(&bytes), end);
        }

        /// Whatever the checker accepts is what the writer would have written.
        #[test]
        fn accepted_bytes_are_written_back_the_same(text in "[\\{\\}\\[\\],:\"\\\\a-cnu0-9 .-]{0,24}") {
            if check(text.as_bytes()).is_ok() {
                let value: serde_json::Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(super::super::to_vec(&value).unwrap(), text.into_bytes());
            }
        }
    }
}
