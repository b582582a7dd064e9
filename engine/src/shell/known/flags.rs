//! Reading the flags of one command against a list of accepted ones.
//!
//! A list is made of words, one for each flag, and a mark after a flag says what value it takes:
//!
//! | word | accepts |
//! |---|---|
//! | `-abc` | the letters `-a`, `-b`, `-c`, alone or in a cluster |
//! | `-NUM` | `-5` |
//! | `--all` | a long flag without a value |
//! | `-n:`, `--lines:` | a value, attached (`-n5`, `--lines=5`) or as the next word |
//! | `-f@`, `--file@` | the same; the value is a path that is read |
//! | `-e!`, `--regexp!` | the same; the value is a pattern and may begin with `-` |
//! | `-U?`, `--color?` | a value only where it is attached |
//! | `-i^` | a value, attached or the next word if that is no flag |
//! | `-P_` | a value only as the next word |
//! | `-L#`, `--level#` | a number, attached or the next word |
//! | `-U%`, `--unified%` | a number only where it is attached |
//! | `+` | no flag behind the first operand: all that follows are operands |
//!
//! A mark says what the programs do. Where it said more or less, an operand would be taken for the
//! value of a flag, or a value for an operand.

use super::Verdict;

/// Digits of a number at most: a longer one may come out as another, a negative one even.
const DIGITS_MAX: usize = 9;

/// What a command is made of, once its flags are known.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    /// The flags that were given, as the list writes them without their mark: `-n`, `--lines`.
    pub(super) flags: Vec<String>,
    /// Values of flags that name files that are read.
    pub(super) paths: Vec<&'a str>,
    /// Every other value.
    pub(super) values: Vec<&'a str>,
    /// What is no flag and no value.
    pub(super) operands: Vec<&'a str>,
}

impl Parsed<'_> {
    /// Whether one of these flags was given.
    pub(super) fn has(&self, flags: &[&str]) -> bool {
        self.flags.iter().any(|flag| flags.contains(&flag.as_str()))
    }
}

/// What value a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    None,
    Text,
    Path,
    Pattern,
    Attached,
    NextUnlessFlag,
    Next,
    Number,
    AttachedNumber,
}

impl Value {
    /// The flag and its mark taken apart.
    fn of(word: &str) -> (&str, Self) {
        let marks = [
            (':', Self::Text),
            ('@', Self::Path),
            ('!', Self::Pattern),
            ('?', Self::Attached),
            ('^', Self::NextUnlessFlag),
            ('_', Self::Next),
            ('#', Self::Number),
            ('%', Self::AttachedNumber),
        ];
        // A bare letter may be a mark itself: `-?`.
        let marked = |(mark, value)| Some((word.strip_suffix(mark)?, value));
        let found = marks.into_iter().find_map(marked);
        found
            .filter(|(flag, _)| flag.len() > 1)
            .unwrap_or((word, Self::None))
    }

    fn takes_attached(self) -> bool {
        !matches!(self, Self::None | Self::Next)
    }

    /// Whether the next word is the value, if none is attached.
    fn takes_next(self, next: Option<&str>) -> bool {
        match self {
            Self::None | Self::Attached | Self::AttachedNumber => false,
            Self::Text | Self::Path | Self::Pattern | Self::Next | Self::Number => true,
            Self::NextUnlessFlag => next.is_some_and(|word| !word.starts_with(['-', '+'])),
        }
    }

    /// Whether this may be the value. A next word that looks like a flag is none: a version of the
    /// program that takes no value there would read it as the flag that it looks like.
    fn admits(self, value: &str, attached: bool) -> bool {
        match self {
            Self::Number | Self::AttachedNumber => is_number(value),
            Self::Pattern => true,
            Self::None
            | Self::Text
            | Self::Path
            | Self::Attached
            | Self::NextUnlessFlag
            | Self::Next => attached || !looks_like_a_flag(value),
        }
    }
}

fn is_number(text: &str) -> bool {
    (1..=DIGITS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn looks_like_a_flag(word: &str) -> bool {
    word.strip_prefix('-')
        .and_then(|rest| rest.chars().next())
        .is_some_and(|first| !first.is_ascii_digit())
}

/// Takes the words of a command apart; an error for the first flag that is not on the list.
pub(super) fn parse<'a>(
    program: &str,
    spec: &[&'static str],
    words: &[&'a str],
) -> Verdict<Parsed<'a>> {
    let mut parsed = Parsed::default();
    let mut words = words.iter().copied().peekable();
    let refused = |flag: &str| format!("`{flag}` of {program} is not on the list");
    let ends_at_operand = all_flags(spec).any(|flag| flag == "+");
    while let Some(word) = words.next() {
        if word == "--" {
            parsed.operands.extend(words.by_ref());
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, attached) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            let flag = format!("--{name}");
            let value = long_flag(spec, &flag).ok_or_else(|| refused(word))?;
            if attached.is_some() && !value.takes_attached() {
                return Err(refused(word));
            }
            take(&mut parsed, &flag, value, attached, &mut words)
                .ok_or_else(|| format!("`{flag}` of {program} has no value on the list"))?;
        } else if word.len() > 1 && word.starts_with('-') {
            cluster(&mut parsed, spec, word, &mut words).ok_or_else(|| refused(word))?;
        } else {
            parsed.operands.push(word);
            if ends_at_operand {
                parsed.operands.extend(words.by_ref());
            }
        }
    }
    Ok(parsed)
}

/// The letters of one word. `None` where one is not on the list.
fn cluster<'a>(
    parsed: &mut Parsed<'a>,
    spec: &[&'static str],
    word: &'a str,
    words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Option<()> {
    let digits = word.get(1..)?;
    if is_number(digits) && all_flags(spec).any(|flag| flag == "-NUM") {
        parsed.flags.push("-NUM".to_owned());
        return Some(());
    }
    for (at, letter) in digits.char_indices() {
        let value = short_flag(spec, letter)?;
        let rest = digits.get(at + letter.len_utf8()..)?;
        let flag = format!("-{letter}");
        if value == Value::None {
            parsed.flags.push(flag);
            continue;
        }
        let attached = (!rest.is_empty()).then_some(rest);
        if attached.is_some() && !value.takes_attached() {
            return None;
        }
        return take(parsed, &flag, value, attached, words);
    }
    Some(())
}

/// Takes the value of a flag. `None` where it may not have the one it has.
fn take<'a>(
    parsed: &mut Parsed<'a>,
    flag: &str,
    value: Value,
    attached: Option<&'a str>,
    words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Option<()> {
    parsed.flags.push(flag.to_owned());
    let found = match attached {
        Some(found) => found,
        None if value.takes_next(words.peek().copied()) => words.next()?,
        None => return Some(()),
    };
    if !value.admits(found, attached.is_some()) {
        return None;
    }
    if value == Value::Path {
        parsed.paths.push(found);
    } else {
        parsed.values.push(found);
    }
    Some(())
}

fn all_flags(spec: &[&'static str]) -> impl Iterator<Item = &'static str> {
    spec.iter().flat_map(|part| part.split_whitespace())
}

fn long_flag(spec: &[&'static str], flag: &str) -> Option<Value> {
    let mut flags = all_flags(spec).map(Value::of);
    flags
        .find(|(name, _)| *name == flag)
        .map(|(_, value)| value)
}

fn short_flag(spec: &[&'static str], letter: char) -> Option<Value> {
    let shorts = all_flags(spec).filter(|flag| !flag.starts_with("--") && *flag != "-NUM");
    let mut shorts = shorts.map(Value::of);
    shorts
        .find(|(name, _)| name.chars().skip(1).any(|each| each == letter))
        .map(|(_, value)| value)
}
