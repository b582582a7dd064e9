//! Cuts a command into tokens, one forward pass without recursion.
//!
//! Where dash and bash would cut differently, or another program begins inside of this one, the
//! pass stops: [`Stop`] says with what. What it never does is guess.

use super::cursor::Cursor;
use super::hazard::HazardKind;
use super::token::{Effect, Extent, Lexeme, Operator, Stop, Token};

/// The only file that may be redirected to or from.
const DISCARD: &str = "/dev/null";

const BASH_ALONE: &str = "a pattern or an array, which only bash reads";

/// Cuts a command into tokens.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    pub(super) cursor: Cursor<'a>,
}

impl<'a> Lexer<'a> {
    /// Begins at the start of a text.
    pub(super) const fn new(text: &'a str) -> Self {
        Self {
            text,
            cursor: Cursor::new(text),
        }
    }

    /// The next token; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Token>, Stop> {
        self.skip_blanks();
        let Some(next) = self.cursor.peek() else {
            return Ok(None);
        };
        let token = match next {
            '#' => self.comment(),
            '\n' | ';' | '|' | ')' => self.operator(next),
            '&' => self.ampersand()?,
            '(' => self.open()?,
            '<' | '>' => self.redirection()?,
            _ => self.word_or_descriptor()?,
        };
        Ok(Some(token))
    }

    /// Blanks are these two, in both shells and whatever the locale says.
    fn skip_blanks(&mut self) {
        while self.cursor.take_if(' ') || self.cursor.take_if('\t') {}
    }

    /// A comment has no escapes: it ends with its line.
    fn comment(&mut self) -> Token {
        let at = self.cursor.at();
        let rest = self.cursor.rest();
        self.cursor.skip(rest.find('\n').unwrap_or(rest.len()));
        Token::Comment { at }
    }

    fn operator(&mut self, first: char) -> Token {
        self.cursor.take_raw();
        Token::Operator(match first {
            '\n' => Operator::Newline,
            ')' => Operator::Close,
            ';' => self.semicolon(),
            _ => {
                // Of `|`, `||` and `|&`, all have a command on both sides.
                let _pair = self.cursor.take_if('|') || self.cursor.take_if('&');
                Operator::Separator
            }
        })
    }

    fn semicolon(&mut self) -> Operator {
        let twice = self.cursor.take_if(';');
        let falls_through = self.cursor.take_if('&');
        if twice || falls_through {
            Operator::CaseBreak
        } else {
            Operator::Separator
        }
    }

    /// `&`, `&&`, or what bash takes for a redirection and dash for `&` and a redirection.
    fn ampersand(&mut self) -> Result<Token, Stop> {
        let at = self.cursor.at();
        self.cursor.take_raw();
        if !self.cursor.take_if('>') {
            let _pair = self.cursor.take_if('&');
            return Ok(Token::Operator(Operator::Separator));
        }
        let _appends = self.cursor.take_if('>');
        self.file(at, Extent::EndsCommand)
    }

    /// `(`, unless there are two, which bash takes for arithmetic.
    fn open(&mut self) -> Result<Token, Stop> {
        let at = self.cursor.at();
        self.cursor.take_raw();
        if self.cursor.peek() == Some('(') {
            return Err(Stop::hazard(HazardKind::Arithmetic, at));
        }
        Ok(Token::Operator(Operator::Open))
    }

    /// Everything that begins with `<` or `>`.
    fn redirection(&mut self) -> Result<Token, Stop> {
        let at = self.cursor.at();
        let reads = self.cursor.take_raw() == Some('<');
        if self.cursor.peek() == Some('(') {
            return Err(Stop::hazard(HazardKind::ProcessSubstitution, at));
        }
        if self.cursor.take_if('&') {
            return self.descriptor(at);
        }
        match (reads, self.cursor.peek()) {
            // What follows a heredoc is its text, and only the end of the line tells where.
            (true, Some('<')) => Err(Stop::hazard(HazardKind::Redirection, at)),
            (false, Some('>')) => {
                self.cursor.take_raw();
                self.file(at, Extent::Within)
            }
            (true, Some('>')) | (false, Some('|')) => {
                self.cursor.take_raw();
                self.target(at)?;
                Ok(redirection(at, Effect::File, Extent::Within))
            }
            (true | false, _) => self.file(at, Extent::Within),
        }
    }

    /// A redirection to or from a file: harmless if that discards.
    fn file(&mut self, at: usize, extent: Extent) -> Result<Token, Stop> {
        let target = self.target(at)?;
        let effect = match target {
            Some(word) if word.text == DISCARD => Effect::Harmless,
            Some(_) | None => Effect::File,
        };
        Ok(redirection(at, effect, extent))
    }

    /// A redirection to a descriptor. In bash the target may be a file all the same.
    fn descriptor(&mut self, at: usize) -> Result<Token, Stop> {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let effect = match self.target(at)? {
            Some(word) if word.text == "-" || is_number(&word.text) => Effect::Harmless,
            Some(_) | None => Effect::File,
        };
        Ok(redirection(at, effect, Extent::Within))
    }

    /// The word after a redirection, if both shells take the same for it. Where there is none, both
    /// find an error.
    fn target(&mut self, operator: usize) -> Result<Option<Lexeme>, Stop> {
        self.skip_blanks();
        if self.cursor.peek().is_none_or(ends_word) {
            return Ok(None);
        }
        match self.word() {
            Ok(word) => Ok(Some(word).filter(|word| word.not_plain.is_none())),
            Err(Stop::Doubt(_)) => Err(Stop::hazard(HazardKind::Redirection, operator)),
            Err(hazard @ Stop::Hazard(_)) => Err(hazard),
        }
    }

    /// A word, or the number before a redirection.
    fn word_or_descriptor(&mut self) -> Result<Token, Stop> {
        let word = self.word()?;
        match self.cursor.peek() {
            Some('<' | '>') if word.is_descriptor() => self.redirection(),
            // A pattern, with that option of bash on, or an array: `#` may be no comment there.
            Some('(') if word.text.ends_with(['?', '*', '+', '@', '!', '=']) => {
                Err(self.part(word.at, BASH_ALONE))
            }
            _ => Ok(Token::Word(word)),
        }
    }

    /// Where the shells may part: from there on, each character that could begin a hazard is one.
    pub(super) fn part(&self, from: usize, why: &'static str) -> Stop {
        let rest = self.text.get(from..).unwrap_or_default();
        let mut hazards = rest.char_indices().filter_map(|(offset, c)| {
            let kind = match c {
                '$' => HazardKind::Expansion,
                '`' => HazardKind::CommandSubstitution,
                '<' | '>' => HazardKind::Redirection,
                _ => return None,
            };
            Some(Stop::hazard(kind, from.saturating_add(offset)))
        });
        hazards.next().unwrap_or(Stop::Doubt(why))
    }
}

/// Whether a word ends before this character.
pub(super) const fn ends_word(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>'
    )
}

const fn redirection(at: usize, effect: Effect, extent: Extent) -> Token {
    Token::Redirection { at, effect, extent }
}
