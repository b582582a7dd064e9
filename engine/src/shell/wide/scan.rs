//! Splits a text into the words of its commands, without asking what they mean: lenient where the
//! reading of keys is strict, and *unreadable* where quotes or substitutions do not close.

use std::iter::Peekable;
use std::mem;
use std::str::Chars;

/// A text in words.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) segments: Vec<Segment>,
    /// One command without assignments, substitutions, groups or files behind redirections.
    pub(super) plain: bool,
    pub(super) unreadable: bool,
}

/// One command between operators.
#[derive(Debug, Clone, Default)]
pub(super) struct Segment {
    pub(super) words: Vec<Word>,
    /// It reads what another command writes, or a file or text behind `<`.
    pub(super) fed: bool,
}

/// One word, its quotes removed.
#[derive(Debug, Clone, Default)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether the shell may make other words of it.
    pub(super) expands: bool,
    /// Whether it names the file of a redirection.
    pub(super) target: bool,
    begun: bool,
    quoted: bool,
    brace: bool,
}

/// What is set aside while an inner command is read.
struct Outer {
    opened: char,
    word: Word,
    segment: Segment,
    in_quotes: bool,
}

/// A text behind `<<` that is still to come.
struct HereText {
    end: String,
    literal: bool,
    tabs: bool,
}

pub(super) fn scan(command: &str) -> Scanned {
    let mut scan = Scan {
        chars: command.chars().peekable(),
        plain: true,
        ..Scan::default()
    };
    while let Some(c) = scan.chars.next() {
        if scan.in_quotes {
            scan.quoted(c);
        } else {
            scan.bare(c);
        }
    }
    scan.finish()
}

struct Scan<'a> {
    chars: Peekable<Chars<'a>>,
    outer: Vec<Outer>,
    word: Word,
    segment: Segment,
    segments: Vec<Segment>,
    here: Vec<HereText>,
    /// The operator whose file is the next word.
    operator: Option<String>,
    in_quotes: bool,
    plain: bool,
    unreadable: bool,
    arithmetic: bool,
    here_texts: bool,
    hidden: bool,
    case: bool,
    ticks: bool,
}

impl Default for Scan<'_> {
    fn default() -> Self {
        Self {
            chars: "".chars().peekable(),
            outer: Vec::new(),
            word: Word::default(),
            segment: Segment::default(),
            segments: Vec::new(),
            here: Vec::new(),
            operator: None,
            in_quotes: false,
            plain: false,
            unreadable: false,
            arithmetic: false,
            here_texts: false,
            hidden: false,
            case: false,
            ticks: false,
        }
    }
}

impl Scan<'_> {
    fn finish(mut self) -> Scanned {
        self.unreadable |= self.in_quotes || !self.outer.is_empty();
        while let Some(outer) = self.outer.pop() {
            self.close(outer);
        }
        self.end_segment(false);
        let one = self.segments.len() == 1;
        // `<<` in arithmetic is no text, `)` after `case` closes nothing, and a substitution that
        // is quoted now may run where the rest of the text makes code of it.
        let confused = (self.arithmetic && self.here_texts) || (self.case && !self.plain);
        Scanned {
            plain: self.plain && one,
            unreadable: self.unreadable || confused || (self.hidden && !(self.plain && one)),
            segments: self.segments,
        }
    }

    fn push(&mut self, c: char) {
        self.word.begun = true;
        self.word.text.push(c);
    }

    fn expand(&mut self, c: char) {
        self.push(c);
        self.word.expands = true;
    }

    fn end_word(&mut self) {
        let mut word = mem::take(&mut self.word);
        if !word.begun {
            return;
        }
        // The commands `[` and `[[` are no globs.
        word.expands &= !matches!(word.text.as_str(), "[" | "[[");
        if let Some(operator) = self.operator.take() {
            word.target = true;
            self.behind(&operator, &word);
        } else if self.plain
            && is_assignment(&word)
            && self.segment.words.iter().all(|word| word.target)
        {
            self.plain = false;
        }
        self.case |= word.text == "case";
        self.segment.words.push(word);
    }

    /// Takes note of the file behind a redirection.
    fn behind(&mut self, operator: &str, word: &Word) {
        if operator == "<<" || operator == "<<-" {
            self.here_texts = true;
            self.here.push(HereText {
                end: word.text.clone(),
                literal: word.quoted,
                tabs: operator == "<<-",
            });
        }
        let copies = operator.ends_with('&') && word.text.chars().all(|c| c.is_ascii_digit());
        let nowhere = operator.starts_with('>') && word.text == "/dev/null";
        self.plain &= copies || nowhere;
    }

    fn end_segment(&mut self, piped: bool) {
        self.end_word();
        self.operator = None;
        if self.segment.words.is_empty() {
            self.segment.fed |= piped;
            return;
        }
        self.segments.push(mem::take(&mut self.segment));
        self.segment.fed = piped;
    }

    fn open(&mut self, opened: char) {
        self.plain = false;
        self.outer.push(Outer {
            opened,
            word: mem::take(&mut self.word),
            segment: mem::take(&mut self.segment),
            in_quotes: mem::replace(&mut self.in_quotes, false),
        });
    }

    fn close(&mut self, outer: Outer) {
        self.end_segment(false);
        self.word = outer.word;
        self.segment = outer.segment;
        self.in_quotes = outer.in_quotes;
    }

    fn close_at(&mut self, opened: &[char]) {
        match self.outer.pop_if(|outer| opened.contains(&outer.opened)) {
            Some(outer) => self.close(outer),
            None => self.end_segment(false),
        }
    }

    fn tick(&mut self) {
        if self.outer.last().is_some_and(|outer| outer.opened == '`') {
            self.close_at(&['`']);
        } else {
            self.ticks = true;
            self.expand('`');
            self.open('`');
        }
    }

    /// A character between double quotes.
    fn quoted(&mut self, c: char) {
        match c {
            '"' => self.in_quotes = false,
            '\\' => self.escaped(),
            '$' => self.dollar(),
            '`' => self.tick(),
            c => self.push(c),
        }
    }

    fn escaped(&mut self) {
        // Between backticks one more level of them is taken away first.
        self.unreadable |= self.ticks;
        match self.chars.next() {
            Some('\n') => {}
            Some(c) => {
                self.word.quoted = true;
                self.hidden |= c == '`';
                self.push(c);
            }
            None => self.unreadable = true,
        }
    }

    fn single(&mut self) {
        self.word.begun = true;
        self.word.quoted = true;
        while let Some(c) = self.chars.next() {
            match c {
                '\'' => return,
                '`' => self.hidden = true,
                '$' => self.hidden |= matches!(self.chars.peek(), Some('(' | '{')),
                _ => {}
            }
            self.push(c);
        }
        self.unreadable = true;
    }

    /// `$'..'`: escapes that only part words are read, those that spell letters are not.
    fn spelled(&mut self) {
        self.word.begun = true;
        self.word.quoted = true;
        while let Some(c) = self.chars.next() {
            match c {
                '\'' => return,
                '\\' => match self.chars.next() {
                    Some('n' | 't' | 'r' | 'a' | 'b' | 'e' | 'f' | 'v') => self.push(' '),
                    Some(c @ ('\\' | '\'' | '"' | '?')) => self.push(c),
                    Some(_) | None => self.unreadable = true,
                },
                c => self.push(c),
            }
        }
        self.unreadable = true;
    }

    fn dollar(&mut self) {
        match self.chars.peek() {
            Some('(') => {
                self.chars.next();
                self.arithmetic |= self.chars.peek() == Some(&'(');
                self.expand('$');
                self.open('(');
            }
            Some('\'') if !self.in_quotes => {
                self.chars.next();
                self.spelled();
            }
            Some('"') if !self.in_quotes => {}
            Some('[') => {
                self.arithmetic = true;
                self.expand('$');
            }
            Some('{' | '_' | '@' | '*' | '#' | '?' | '!' | '$' | '-') => self.expand('$'),
            Some(c) if c.is_alphanumeric() => self.expand('$'),
            Some(_) | None => self.push('$'),
        }
    }

    /// A character outside quotes.
    fn bare(&mut self, c: char) {
        match c {
            '\\' => self.escaped(),
            '\'' => self.single(),
            '"' => {
                self.word.begun = true;
                self.word.quoted = true;
                self.in_quotes = true;
            }
            '`' => self.tick(),
            '$' => self.dollar(),
            ' ' | '\t' => self.end_word(),
            '\n' => {
                self.end_segment(false);
                self.skip_here_texts();
            }
            '&' if self.chars.peek() == Some(&'>') => self.end_word(),
            ';' | '&' | '|' => {
                self.plain = false;
                self.end_segment(c == '|');
            }
            '<' | '>' => self.redirect(c),
            '(' => {
                // A call such as `f()`, a group, or a pattern of names such as `@(a|b)`.
                self.word.expands |= self.word.text.ends_with(['@', '+', '!', '?', '*']);
                self.arithmetic |= self.chars.peek() == Some(&'(');
                self.end_segment(false);
                self.open('g');
            }
            ')' => self.close_at(&['(', 'g']),
            '#' if !self.word.begun => {
                self.plain = false;
                while self.chars.next_if(|c| *c != '\n').is_some() {}
            }
            '*' | '?' | '[' => self.expand(c),
            '\0' => self.unreadable = true,
            c => self.letter(c),
        }
    }

    fn letter(&mut self, c: char) {
        let dots = c == '.' && self.word.text.ends_with('.');
        self.word.expands |= self.word.brace && (c == ',' || dots);
        self.word.brace |= c == '{';
        self.push(c);
    }

    fn redirect(&mut self, c: char) {
        if self.chars.peek() == Some(&'(') {
            self.chars.next();
            self.expand(c);
            self.open('(');
            return;
        }
        // A number or a name in braces before it says what is redirected.
        let text = self.word.text.as_str();
        let named = text.starts_with('{') && text.ends_with('}');
        if named || text.chars().all(|c| c.is_ascii_digit()) {
            self.word = Word::default();
        }
        self.end_word();
        let mut operator = String::from(c);
        while operator.len() < 3
            && let Some(next) = self
                .chars
                .next_if(|next| matches!(next, '<' | '>' | '&' | '|'))
        {
            operator.push(next);
        }
        if operator == "<<" && self.chars.next_if_eq(&'-').is_some() {
            operator.push('-');
        }
        self.segment.fed |= c == '<';
        self.operator = Some(operator);
    }

    fn skip_here_texts(&mut self) {
        for here in mem::take(&mut self.here) {
            loop {
                let mut line = String::new();
                while let Some(c) = self.chars.next_if(|c| *c != '\n') {
                    line.push(c);
                }
                self.unreadable |= !here.literal && (line.contains("$(") || line.contains('`'));
                let text = if here.tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if text == here.end || self.chars.next().is_none() {
                    break;
                }
            }
        }
    }
}

/// Whether a word before the program sets a variable.
pub(super) fn is_assignment(word: &Word) -> bool {
    let Some((name, _)) = word.text.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or_default();
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
