//! Checks stored bytes for canonical form in one pass, without writing JSON again.

use std::ops::Range;

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

/// The text of bytes that are exactly one canonical JSON value.
pub fn checked(bytes: &[u8]) -> Result<&str, CanonicalError> {
    let (mut scan, text) = Scan::new(bytes)?;
    scan.value(0)?;
    scan.end()?;
    Ok(text)
}

/// The same, where the value must be an object: shows each of its own fields, its key as it stands
/// between the quotes and its value as it lies, in order. What was shown counts only if all of
/// `bytes` are canonical in the end.
pub fn check_fields<'a>(
    bytes: &'a [u8],
    mut show: impl FnMut(&'a str, &'a str),
) -> Result<(), CanonicalError> {
    let (mut scan, text) = Scan::new(bytes)?;
    if scan.peek() != Some(b'{') {
        return Err(scan.wrong("expected an object"));
    }
    scan.object(0, |key, value| {
        let part = |place| text.get(place).unwrap_or_default();
        show(part(key), part(value));
    })?;
    scan.end()
}

/// Goes over an object of which it is known what comes next; `None` where something else does, or
/// what comes is not canonical.
pub struct Cursor<'a> {
    scan: Scan<'a>,
    text: &'a str,
}

impl<'a> Cursor<'a> {
    /// At the beginning.
    pub const fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let scan = Scan { bytes, at: 0 };
        Self { scan, text }
    }

    /// Just these characters.
    #[inline]
    pub fn just(&mut self, expected: &str) -> Option<()> {
        let rest = self.scan.bytes.get(self.scan.at..)?;
        let found = rest.starts_with(expected.as_bytes());
        found.then(|| self.scan.at = self.scan.at.saturating_add(expected.len()))
    }

    /// A string of so many bytes, none of them escaped, with its quotes.
    #[inline]
    pub fn string<const LENGTH: usize>(&mut self) -> Option<&'a str> {
        let rest = self.scan.bytes.get(self.scan.at..)?;
        let (inner, rest) = rest.strip_prefix(b"\"")?.split_first_chunk::<LENGTH>()?;
        // Without a branch, so that many are looked at at once.
        let is = |found: bool| u8::from(found);
        let found = inner.iter().fold(0, |found, &byte| {
            found | is(byte == b'"') | is(byte == b'\\') | is(byte < 0x20)
        });
        if found != 0 || rest.first() != Some(&b'"') {
            return None;
        }
        let begin = self.scan.at;
        self.scan.at = begin.saturating_add(LENGTH).saturating_add(2);
        self.text.get(begin..self.scan.at)
    }

    /// A string of any length, none of it escaped, without its quotes.
    pub fn word(&mut self) -> Option<&'a str> {
        let text = self.value()?.strip_prefix('"')?.strip_suffix('"')?;
        (!text.contains('\\')).then_some(text)
    }

    /// The value of a field of the object, as it lies.
    pub fn value(&mut self) -> Option<&'a str> {
        let begin = self.scan.at;
        self.scan.value(1).ok()?;
        self.text.get(begin..self.scan.at)
    }

    /// The end of all.
    pub fn end(&self) -> Option<()> {
        self.scan.end().ok()
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn new(bytes: &'a [u8]) -> Result<(Self, &'a str), CanonicalError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok((Self { bytes, at: 0 }, text)),
            Err(error) => Err(CanonicalError {
                at: error.valid_up_to(),
                why: "not UTF-8",
            }),
        }
    }

    fn end(&self) -> Result<(), CanonicalError> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(self.wrong("bytes after the value"))
        }
    }

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
            Some(b'{') => self.object(depth, |_, _| {}),
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

    fn object(
        &mut self,
        depth: usize,
        mut show: impl FnMut(Range<usize>, Range<usize>),
    ) -> Result<(), CanonicalError> {
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
            let place = start.saturating_add(1)..self.at.saturating_sub(1);
            if last.is_some_and(|last| !is_before(last, key)) {
                return Err(CanonicalError {
                    at: start,
                    why: "keys not sorted, or one twice",
                });
            }
            last = Some(key);
            self.eat(b':', "expected a colon")?;
            let begin = self.at;
            self.value(depth.saturating_add(1))?;
            show(place, begin..self.at);
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

/// Whether a key is less than the one after it. Their first bytes nearly always tell.
fn is_before(last: &[u8], key: &[u8]) -> bool {
    match (last.first(), key.first()) {
        (Some(one), Some(next)) if one != next => one < next,
        _ => last < key,
    }
}

/// How many bytes of a string need no look of their own.
fn plain(bytes: &[u8]) -> usize {
    // Eight at a time: strings are most of a record, and digests most of those.
    let (words, rest) = bytes.as_chunks::<8>();
    let mut before = 0_usize;
    for word in words {
        let marks = marked(u64::from_le_bytes(*word));
        if marks != 0 {
            return before.saturating_add((marks.trailing_zeros() / 8) as usize);
        }
        before = before.saturating_add(8);
    }
    let is_marked = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    before.saturating_add(rest.iter().position(is_marked).unwrap_or(rest.len()))
}

/// The highest bit of each quote, backslash and control character among eight bytes. Of the bits
/// that are set the lowest is right; what is borrowed may set one above it.
const fn marked(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGHS: u64 = ONES << 7;
    const QUOTES: u64 = ONES * b'"' as u64;
    const BACKSLASHES: u64 = ONES * b'\\' as u64;
    const SPACES: u64 = ONES * 0x20;
    let quote = word ^ QUOTES;
    let backslash = word ^ BACKSLASHES;
    let zeros = (quote.wrapping_sub(ONES) & !quote)
        | (backslash.wrapping_sub(ONES) & !backslash)
        | (word.wrapping_sub(SPACES) & !word);
    zeros & HIGHS
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
            assert!(checked(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
        assert_eq!(
            checked(b"\"\xff\""),
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
            assert_eq!(checked(right.as_bytes()), Ok(right), "{right:?}");
        }
    }

    #[test]
    fn the_fields_of_the_value_itself_are_shown() {
        let mut shown = Vec::new();
        let text = br#"{"a":{"b":[1,"x\\"]},"c\"":"\n","d":-1}"#;
        check_fields(text, |key, value| shown.push((key, value))).unwrap();
        let fields = [
            ("a", r#"{"b":[1,"x\\"]}"#),
            (r#"c\""#, r#""\n""#),
            ("d", "-1"),
        ];
        assert_eq!(shown, fields);
        assert_eq!(check_fields(b"{}", |_, _| panic!("it has none")), Ok(()));
        for wrong in ["[]", "1", "\"{\"", "", "{}{}", "{\"a\":null}"] {
            assert!(
                check_fields(wrong.as_bytes(), |_, _| {}).is_err(),
                "{wrong}"
            );
        }
    }

    proptest! {
        #[test]
        fn bytes_are_passed_over_up_to_the_first_that_needs_a_look(
            bytes in prop::collection::vec(
                prop_oneof![any::<u8>(), 0x1e..0x24_u8, 0x5b..0x5e_u8, 0x9e..0xa4_u8],
                0..40,
            ),
        ) {
            let one = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            prop_assert_eq!(plain(&bytes), one.unwrap_or(bytes.len()));
        }

        /// Whatever the checker accepts is what the writer would have written.
        #[test]
        fn accepted_bytes_are_written_back_the_same(text in "[\\{\\}\\[\\],:\"\\\\a-cnu0-9 .-]{0,24}") {
            if checked(text.as_bytes()).is_ok() {
                let value: serde_json::Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(super::super::to_vec(&value).unwrap(), text.into_bytes());
            }
        }
    }
}
