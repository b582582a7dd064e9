//! Reads one word: its quotes, escapes and expansions.

use unicode_general_category::{GeneralCategory, get_general_category};

use super::hazard::HazardKind;
use super::lexer::{Lexer, ends_word};
use super::token::{Expansion, Lexeme, Stop, is_name_part, is_name_start};

const BRACES: &str = "braces, which bash may make into several words";
const BRACED_NAME: &str = "a variable in braces";
const BRACED_WORD: &str = "a variable in braces, and what becomes of it";
const CHARACTER: &str = "a character that shells or people may take for another";
const LAST_BACKSLASH: &str = "a backslash at the end";
const SHELLS_PART: &str = "a quote with `$`, which dash and bash read differently";

/// How a character stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    /// By itself.
    Bare,
    /// Between double quotes.
    Double,
    /// Between single quotes, or after a backslash.
    Literal,
}

/// A word that is being read.
#[derive(Debug)]
struct Builder {
    word: Lexeme,
    /// Where in the text the first unquoted `{` stands.
    brace: Option<usize>,
    /// Where in the text the first unquoted `[` stands.
    bracket: Option<usize>,
}

impl Builder {
    fn new(at: usize) -> Self {
        Self {
            word: Lexeme {
                at,
                ..Lexeme::default()
            },
            brace: None,
            bracket: None,
        }
    }

    /// Adds a character, and what it means where it is not quoted.
    fn push(&mut self, c: char, quoting: Quoting) {
        let text = &self.word.text;
        if quoting == Quoting::Bare {
            match c {
                '*' | '?' => self.expands(Expansion::Pattern),
                '[' => self.bracket = self.bracket.or(Some(text.len())),
                // Also where bash takes an argument for an assignment.
                '~' if text.is_empty() || text.ends_with(['=', ':']) => {
                    self.expands(Expansion::Pattern);
                }
                '{' | '}' => {
                    self.word.has_brace = true;
                    self.brace = self.brace.or(Some(text.len()));
                }
                _ => {}
            }
        }
        if is_doubtful(c, quoting) {
            self.not_plain(CHARACTER);
        }
        self.word.text.push(c);
        if !self.word.is_quoted {
            self.word.bare = self.word.text.len();
        }
    }

    /// A variable, as it was written.
    fn variable(&mut self, written: &str) {
        self.word.is_quoted = true;
        self.word.text.push_str(written);
        self.expands(Expansion::Variable);
    }

    fn expands(&mut self, expansion: Expansion) {
        self.word.expansion = self.word.expansion.max(expansion);
    }

    fn not_plain(&mut self, why: &'static str) {
        self.word.not_plain.get_or_insert(why);
    }

    /// The word as a whole. Quoted characters count as well: that is simpler, and stricter.
    fn finish(mut self) -> Lexeme {
        let after = |from: Option<usize>| from.and_then(|from| self.word.text.get(from..));
        let is_glob = after(self.bracket).is_some_and(|rest| rest.contains(']'));
        let is_list = after(self.brace).is_some_and(|rest| rest.contains(','));
        let is_range = after(self.brace).is_some_and(|rest| rest.contains(".."));
        if is_glob {
            self.expands(Expansion::Pattern);
        }
        if is_list || is_range {
            self.not_plain(BRACES);
        }
        self.word
    }
}

impl Lexer<'_> {
    /// Reads a word, which at least one character of it begins.
    pub(super) fn word(&mut self) -> Result<Lexeme, Stop> {
        let mut builder = Builder::new(self.cursor.at());
        while let Some(next) = self.cursor.peek() {
            if ends_word(next) {
                break;
            }
            match next {
                '\'' => self.single_quoted(&mut builder)?,
                '"' => self.double_quoted(&mut builder)?,
                '\\' => self.escaped(&mut builder),
                '$' => self.dollar(&mut builder, Quoting::Bare)?,
                '`' => return Err(self.stop(HazardKind::CommandSubstitution)),
                _ => {
                    self.cursor.take_raw();
                    builder.push(next, Quoting::Bare);
                }
            }
        }
        Ok(builder.finish())
    }

    /// A hazard that begins here.
    fn stop(&self, kind: HazardKind) -> Stop {
        Stop::hazard(kind, self.cursor.at())
    }

    /// Between single quotes nothing means anything but the next one.
    fn single_quoted(&mut self, builder: &mut Builder) -> Result<(), Stop> {
        builder.word.is_quoted = true;
        let open = self.stop(HazardKind::Unterminated);
        self.cursor.take_raw();
        loop {
            match self.cursor.take_raw() {
                None => return Err(open),
                Some('\'') => return Ok(()),
                Some(c) => builder.push(c, Quoting::Literal),
            }
        }
    }

    /// Between double quotes `$`, backticks and some backslashes keep their meaning.
    fn double_quoted(&mut self, builder: &mut Builder) -> Result<(), Stop> {
        builder.word.is_quoted = true;
        let open = self.stop(HazardKind::Unterminated);
        self.cursor.take_raw();
        loop {
            match self.cursor.peek() {
                None => return Err(open),
                Some('"') => {
                    self.cursor.take_raw();
                    return Ok(());
                }
                Some('`') => return Err(self.stop(HazardKind::CommandSubstitution)),
                Some('$') => self.dollar(builder, Quoting::Double)?,
                Some('\\') => {
                    self.cursor.take_raw();
                    if let Some(c @ ('$' | '`' | '"' | '\\')) = self.cursor.peek_raw() {
                        self.cursor.take_raw();
                        builder.push(c, Quoting::Literal);
                    } else {
                        builder.push('\\', Quoting::Literal);
                    }
                }
                Some(c) => {
                    self.cursor.take_raw();
                    builder.push(c, Quoting::Double);
                }
            }
        }
    }

    /// A backslash and the character that it quotes.
    fn escaped(&mut self, builder: &mut Builder) {
        builder.word.is_quoted = true;
        self.cursor.take_raw();
        if let Some(c) = self.cursor.take_raw() {
            builder.push(c, Quoting::Literal);
        } else {
            builder.push('\\', Quoting::Literal);
            builder.not_plain(LAST_BACKSLASH);
        }
    }

    /// `$` and what it makes of what follows.
    fn dollar(&mut self, builder: &mut Builder, quoting: Quoting) -> Result<(), Stop> {
        let at = self.cursor.at();
        let hazard = |kind| Err(Stop::hazard(kind, at));
        let mut after = self.cursor.rest().chars().skip(1);
        match (after.next(), quoting) {
            (Some('('), _) if after.next() == Some('(') => hazard(HazardKind::Arithmetic),
            (Some('('), _) => hazard(HazardKind::CommandSubstitution),
            (Some('['), _) => hazard(HazardKind::Arithmetic),
            // A newline may be dropped here, and any of the above come after it.
            (Some('\\'), _) if after.next() == Some('\n') => hazard(HazardKind::Expansion),
            (Some('{'), _) => self.braced(builder),
            (Some('\''), Quoting::Bare) => self.dollar_single_quoted(builder),
            (Some('"'), Quoting::Bare) => {
                self.cursor.take_raw();
                builder.word.is_quoted = true;
                builder.not_plain(SHELLS_PART);
                Ok(())
            }
            (Some(c), _) if is_name_start(c) => {
                self.named(builder);
                Ok(())
            }
            (Some(c), _) if c.is_ascii_digit() || is_special(c) => {
                self.cursor.skip("$?".len());
                builder.variable(&format!("${c}"));
                Ok(())
            }
            (next, _) => {
                // By itself it is only a character; whether a letter follows, the locale says.
                self.cursor.take_raw();
                builder.push('$', Quoting::Literal);
                if next.is_some_and(|c| !c.is_ascii()) {
                    builder.not_plain(CHARACTER);
                }
                builder.word.is_quoted = true;
                Ok(())
            }
        }
    }

    /// `$NAME`, through backslashes and newlines that are dropped.
    fn named(&mut self, builder: &mut Builder) {
        let mut written = String::from("$");
        self.cursor.take_raw();
        while let Some(c) = self.cursor.peek().filter(|c| is_name_part(*c)) {
            self.cursor.take_raw();
            written.push(c);
        }
        builder.variable(&written);
    }

    /// `${NAME}`, and what is certain to do no more than make a text of it; all else between braces
    /// may run what a variable holds.
    fn braced(&mut self, builder: &mut Builder) -> Result<(), Stop> {
        let rest = self.cursor.rest();
        let Some(close) = rest.find('}') else {
            return Err(self.stop(HazardKind::Unterminated));
        };
        let inside = rest.get("${".len()..close).unwrap_or_default();
        let why = if is_parameter(inside) {
            BRACED_NAME
        } else if has_plain_word(inside) {
            BRACED_WORD
        } else {
            return Err(self.stop(HazardKind::Expansion));
        };
        builder.variable(rest.get(..=close).unwrap_or_default());
        builder.not_plain(why);
        self.cursor.skip(close.saturating_add(1));
        Ok(())
    }

    /// `$'..'`: in bash a backslash quotes in it, in dash it does not and the `$` stays.
    fn dollar_single_quoted(&mut self, builder: &mut Builder) -> Result<(), Stop> {
        builder.word.is_quoted = true;
        let open = self.stop(HazardKind::Unterminated);
        let mut reading = self.cursor;
        reading.skip("$'".len());
        let mut ends_in_dash = None;
        loop {
            match reading.take_raw() {
                None => return Err(open),
                Some('\\') if reading.peek_raw() == Some('\'') => {
                    ends_in_dash = ends_in_dash.or(Some(reading));
                    reading.take_raw();
                }
                Some('\\') => drop(reading.take_raw()),
                Some('\'') => break,
                Some(_) => {}
            }
        }
        if let Some(quote) = ends_in_dash {
            if builder.word.expansion == Expansion::Variable {
                // As a name it would be a hazard, wherever it ends.
                return Err(Stop::hazard(HazardKind::Expansion, builder.word.at));
            }
            return Err(self.part(quote.at(), SHELLS_PART));
        }
        let written = reading.at().saturating_sub(self.cursor.at());
        builder
            .word
            .text
            .push_str(self.cursor.rest().get(..written).unwrap_or_default());
        self.cursor = reading;
        builder.not_plain(SHELLS_PART);
        Ok(())
    }
}

/// Parameters that are no names and no numbers.
const fn is_special(c: char) -> bool {
    matches!(c, '@' | '*' | '#' | '?' | '-' | '$' | '!')
}

/// Whether a text between `${` and `}` only names a parameter.
fn is_parameter(text: &str) -> bool {
    let is_number = || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = || text.starts_with(is_name_start) && text.chars().all(is_name_part);
    let is_special = || text.len() == 1 && text.chars().all(is_special);
    is_number() || is_name() || is_special()
}

/// Whether a text between `${` and `}` asks for the length of a parameter, for another text in its
/// place, or for a part of it, and all of that in characters that mean nothing to a shell. Where
/// dash knows no such form, it fails.
fn has_plain_word(text: &str) -> bool {
    const OPERATORS: [&str; 13] = [
        ":-", ":=", ":?", ":+", "-", "=", "?", "+", "#", "%", "/", "^", ",",
    ];
    if text.strip_prefix('#').is_some_and(is_parameter) {
        return true;
    }
    // Behind `!` may stand a name that a variable holds.
    let ends_special = text.chars().next().filter(|c| is_special(*c) && *c != '!');
    let ends = match ends_special {
        Some(c) => c.len_utf8(),
        None => text.find(|c| !is_name_part(c)).unwrap_or(text.len()),
    };
    let (name, rest) = text.split_at(ends);
    let mut words = OPERATORS.iter().filter_map(|op| rest.strip_prefix(op));
    is_parameter(name) && words.any(|word| !word.contains(|c| !is_plain(c)))
}

/// Whether a character means nothing to a shell inside of an expansion in braces.
fn is_plain(c: char) -> bool {
    !"'\"\\$`{}()<>".contains(c) && !is_doubtful(c, Quoting::Bare)
}

/// Whether a shell, in some locale, or a person may take a character for another: control
/// characters, which shells use for themselves; spaces that are none here; what is not seen.
fn is_doubtful(c: char, quoting: Quoting) -> bool {
    match get_general_category(c) {
        GeneralCategory::Control => quoting == Quoting::Bare || !matches!(c, '\t' | '\n'),
        GeneralCategory::Format
        | GeneralCategory::SpaceSeparator
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator => quoting == Quoting::Bare && !c.is_ascii(),
        _ => false,
    }
}
