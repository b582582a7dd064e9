//! Which bytes of a Rust source are code, which are comments or literals, and which are tests.
//!
//! A small scanner, exact about comments, strings, raw strings, characters and lifetimes. What is
//! left out is replaced by blanks, so that offsets and lines stay those of the text.

/// What a byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// A source reduced to its code.
#[derive(Debug, Clone, Default)]
pub struct Code {
    /// Comments and the insides of literals are blank.
    pub all: String,
    /// Items under `#[cfg(test)]` are blank too.
    pub production: String,
    /// The text with the insides of literals taken out, for measuring lines.
    pub measured: String,
}

impl Code {
    /// Reads a source.
    pub fn read(text: &str) -> Self {
        let kinds = Scanner::new(text.as_bytes()).run();
        let marked = || text.bytes().zip(kinds.iter().copied());
        let all: String = marked()
            .map(|(byte, kind)| match (byte, kind) {
                (b'\n', _) => '\n',
                (_, Kind::Code) if byte.is_ascii() => char::from(byte),
                (_, Kind::Code) => '?',
                (_, Kind::Comment | Kind::Literal) => ' ',
            })
            .collect();
        let kept: Vec<u8> = marked()
            .filter(|(byte, kind)| *byte == b'\n' || *kind != Kind::Literal)
            .map(|(byte, _)| byte)
            .collect();
        let production = without_tests(&all);
        let measured = String::from_utf8_lossy(&kept).into_owned();
        Self {
            all,
            production,
            measured,
        }
    }
}

/// The line of an offset, from 1.
pub fn line_of(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or(text);
    before.bytes().filter(|byte| *byte == b'\n').count() + 1
}

/// Whether a character can stand in an identifier.
fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Where `needle` stands as whole words.
pub fn find_words(code: &str, needle: &str) -> Vec<usize> {
    let open_start = !needle.starts_with(is_word);
    let open_end = !needle.ends_with(is_word);
    code.match_indices(needle)
        .filter(|(at, _)| {
            let before = code.get(..*at).unwrap_or_default();
            let after = code.get(at + needle.len()..).unwrap_or_default();
            (open_start || !before.ends_with(is_word)) && (open_end || !after.starts_with(is_word))
        })
        .map(|(at, _)| at)
        .collect()
}

/// The names that follow `root::`, one by one also where they stand in braces, with offsets.
pub fn members<'a>(code: &'a str, root: &str) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for at in find_words(code, root) {
        let after = at + root.len();
        let Some(path) = code.get(after..).and_then(|rest| {
            let rest = rest.trim_start().strip_prefix("::")?;
            Some(rest.trim_start())
        }) else {
            continue;
        };
        match path.strip_prefix('{') {
            Some(group) => found.extend(first_names(group).map(|name| (at, name))),
            None => found.push((at, first_name(path))),
        }
    }
    found
}

/// The identifier, or the `*`, that a path begins with.
fn first_name(path: &str) -> &str {
    let path = path.trim_start();
    let end = path
        .find(|character| !is_word(character))
        .unwrap_or(path.len());
    let end = if path.starts_with('*') { 1 } else { end };
    path.get(..end).unwrap_or_default()
}

/// The first name of each member of a group whose opening brace was read.
fn first_names(group: &str) -> impl Iterator<Item = &str> {
    let mut depth = 1_usize;
    let mut starts = vec![0];
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => starts.push(at + 1),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    starts
        .into_iter()
        .map(|start| first_name(group.get(start..).unwrap_or_default()))
        .filter(|name| !name.is_empty() && *name != "self")
}

/// Blanks each item that follows `#[cfg(test)]`, up to its closing brace or its semicolon.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = code.as_bytes().to_vec();
    for (start, _) in code.match_indices(MARK) {
        let from = start + MARK.len();
        let end = from + item_length(code.get(from..).unwrap_or_default());
        for byte in out.iter_mut().take(end).skip(start) {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && byte == b'}' {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

struct Scanner<'a> {
    bytes: &'a [u8],
    kinds: Vec<Kind>,
}

impl<'a> Scanner<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let kinds = Vec::with_capacity(bytes.len());
        Self { bytes, kinds }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.kinds.len()..).unwrap_or_default()
    }

    /// Marks the next `count` bytes.
    fn take(&mut self, count: usize, kind: Kind) {
        let count = count.min(self.rest().len());
        self.kinds.extend(std::iter::repeat_n(kind, count));
    }

    fn run(mut self) -> Vec<Kind> {
        while let [first, ..] = self.rest() {
            match first {
                b'/' if self.rest().starts_with(b"//") => self.line_comment(),
                b'/' if self.rest().starts_with(b"/*") => self.block_comment(),
                b'"' => self.string(),
                b'r' if self.raw_hashes().is_some() => self.raw_string(),
                b'\'' => self.character_or_lifetime(),
                _ => self.take(1, Kind::Code),
            }
        }
        self.kinds
    }

    fn line_comment(&mut self) {
        let rest = self.rest();
        let end = rest.iter().position(|byte| *byte == b'\n');
        self.take(end.unwrap_or(rest.len()), Kind::Comment);
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        loop {
            if self.rest().starts_with(b"/*") {
                depth += 1;
                self.take(2, Kind::Comment);
            } else if self.rest().starts_with(b"*/") {
                depth -= 1;
                self.take(2, Kind::Comment);
            } else {
                self.take(1, Kind::Comment);
            }
            if depth == 0 || self.rest().is_empty() {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.take(1, Kind::Code);
        while let [first, ..] = self.rest() {
            match first {
                b'\\' => self.take(2, Kind::Literal),
                b'"' => return self.take(1, Kind::Code),
                _ => self.take(1, Kind::Literal),
            }
        }
    }

    /// How many `#` a raw string that begins here has; `None` where none begins.
    fn raw_hashes(&self) -> Option<usize> {
        let mut before = self.bytes.get(..self.kinds.len())?.iter().rev().copied();
        let previous = match before.next() {
            Some(b'b' | b'c') => before.next(),
            other => other,
        };
        if previous.is_some_and(|byte| is_word(char::from(byte))) {
            return None;
        }
        let after = self.rest().get(1..)?;
        let hashes = after.iter().take_while(|byte| **byte == b'#').count();
        (after.get(hashes) == Some(&b'"')).then_some(hashes)
    }

    fn raw_string(&mut self) {
        let hashes = self.raw_hashes().unwrap_or_default();
        self.take(hashes + 2, Kind::Code);
        let mut end = vec![b'"'];
        end.resize(hashes + 1, b'#');
        let rest = self.rest();
        let length = rest
            .windows(end.len())
            .position(|window| window == end.as_slice());
        self.take(length.unwrap_or(rest.len()), Kind::Literal);
        self.take(end.len(), Kind::Code);
    }

    fn character_or_lifetime(&mut self) {
        self.take(1, Kind::Code);
        let length = match self.rest() {
            [b'\\', _, after @ ..] => after
                .iter()
                .position(|byte| *byte == b'\'')
                .map(|end| end + 2),
            [first, ..] => {
                let width = match first {
                    0xf0.. => 4,
                    0xe0.. => 3,
                    0xc0.. => 2,
                    _ => 1,
                };
                (self.rest().get(width) == Some(&b'\'')).then_some(width)
            }
            [] => None,
        };
        if let Some(length) = length {
            self.take(length, Kind::Literal);
            self.take(1, Kind::Code);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Code::read(text).all
    }

    #[test]
    fn blanks_comments_and_the_insides_of_literals() {
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(code("a /* b /* c */ d */ e"), "a                   e");
        assert_eq!(code(r#"f("a\"b")"#), "f(\"    \")");
        assert_eq!(code(r##"br#"a"b"#;"##), "br#\"   \"#;");
        assert_eq!(code("r#type + 1"), "r#type + 1");
        assert_eq!(code("('\"', '\\'', '\u{e9}')"), "(' ', '  ', '  ')");
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(code("\"// no comment\" x"), "\"             \" x");
    }

    #[test]
    fn survives_sources_that_end_too_early() {
        for text in ["\"abc", "/* abc", "r#\"abc", "'", "'\\", "#[cfg(test)]"] {
            assert_eq!(code(text).len(), text.len(), "{text}");
        }
    }

    #[test]
    fn blanks_test_items_and_goes_on_behind_them() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { x[1] } }\nfn c() {}\n\
                    #[cfg(test)]\nmod tests;\nfn d() {}\n";
        let production = Code::read(text).production;
        assert!(production.contains("fn a") && production.contains("fn c"));
        assert!(production.contains("fn d") && !production.contains("fn b"));
        assert!(!production.contains("tests"));
        assert_eq!(production.lines().count(), text.lines().count());
    }

    #[test]
    fn measures_lines_without_the_insides_of_literals() {
        assert_eq!(Code::read("f(\"abc\"); // d").measured, "f(\"\"); // d");
    }

    #[test]
    fn finds_whole_words_alone() {
        assert_eq!(find_words("rand random my_rand rand", "rand"), [0, 20]);
        assert_eq!(find_words("xdbg!() dbg!()", "dbg!"), [8]);
        assert_eq!(find_words("std::fs::x std::fsx", "std::fs"), [0]);
    }

    #[test]
    fn finds_members_behind_a_root_also_in_groups() {
        let text = "use crate::a::B;\nuse crate::{b, c::{D, E}, f as g};\ncrate :: h(); crate::*;";
        let names: Vec<_> = members(text, "crate")
            .into_iter()
            .map(|(at, name)| (line_of(text, at), name))
            .collect();
        assert_eq!(
            names,
            [(1, "a"), (2, "b"), (2, "c"), (2, "f"), (3, "h"), (3, "*")]
        );
        assert!(members("pub(crate) fn f() {}", "crate").is_empty());
    }
}
