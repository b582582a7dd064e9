//! Splits a text into the words of its commands, without asking what they mean: lenient where the
//! reading of keys is strict, and *unreadable* where quotes or substitutions do not close.

use std::collections::BTreeSet;
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
    /// Whether that file is written.
    pub(super) written: bool,
}

/// A word that is being read.
#[derive(Debug, Default)]
struct Draft {
    word: Word,
    begun: bool,
    quoted: bool,
    brace: bool,
}

/// What was seen anywhere in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    /// It is more than one plain command.
    Compound,
    /// Quotes, escapes or substitutions whose end or content is unknown.
    Unreadable,
    Arithmetic,
    HereText,
    /// A substitution that is quoted here.
    Hidden,
    Case,
    Ticks,
}

/// What is set aside while an inner command is read.
struct Outer {
    opened: char,
    draft: Draft,
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
        outer: Vec::new(),
        draft: Draft::default(),
        segment: Segment::default(),
        segments: Vec::new(),
        here: Vec::new(),
        operator: None,
        in_quotes: false,
        seen: BTreeSet::new(),
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
    draft: Draft,
    segment: Segment,
    segments: Vec<Segment>,
    here: Vec<HereText>,
    /// The operator whose file is the next word.
    operator: Option<String>,
    in_quotes: bool,
    seen: BTreeSet<Sign>,
}

impl Scan<'_> {
    fn finish(mut self) -> Scanned {
        self.note_if(self.in_quotes || !self.outer.is_empty(), Sign::Unreadable);
        while let Some(outer) = self.outer.pop() {
            self.close(outer);
        }
        self.end_segment(false);
        let seen = |sign| self.seen.contains(&sign);
        let plain = !seen(Sign::Compound) && self.segments.len() == 1;
        // `<<` in arithmetic is no text, `)` after `case` closes nothing, and a substitution that
        // is quoted now may run where the rest of the text makes code of it.
        let confused = (seen(Sign::Arithmetic) && seen(Sign::HereText))
            || (!plain && (seen(Sign::Case) || seen(Sign::Hidden)));
        Scanned {
            plain,
            unreadable: confused || seen(Sign::Unreadable),
            segments: self.segments,
        }
    }

    fn note(&mut self, sign: Sign) {
        self.seen.insert(sign);
    }

    fn note_if(&mut self, seen: bool, sign: Sign) {
        if seen {
            self.note(sign);
        }
    }

    fn push(&mut self, c: char) {
        self.draft.begun = true;
        self.draft.word.text.push(c);
    }

    fn expand(&mut self, c: char) {
        self.push(c);
        self.draft.word.expands = true;
    }

    fn end_word(&mut self) {
        let draft = mem::take(&mut self.draft);
        if !draft.begun {
            return;
        }
        let mut word = draft.word;
        // The commands `[` and `[[` are no globs.
        word.expands &= !matches!(word.text.as_str(), "[" | "[[");
        if let Some(operator) = self.operator.take() {
            word.target = true;
            word.written = operator.contains('>') && !copies(&operator, &word);
            self.behind(&operator, &word, draft.quoted);
        } else if !self.seen.contains(&Sign::Compound)
            && is_assignment(&word)
            && self.segment.words.iter().all(|word| word.target)
        {
            self.note(Sign::Compound);
        }
        self.note_if(word.text == "case", Sign::Case);
        self.segment.words.push(word);
    }

    /// Takes note of the file behind a redirection.
    fn behind(&mut self, operator: &str, word: &Word, quoted: bool) {
        if operator == "<<" || operator == "<<-" {
            self.note(Sign::HereText);
            self.here.push(HereText {
                end: word.text.clone(),
                literal: quoted,
                tabs: operator == "<<-",
            });
        }
        let nowhere = operator.starts_with('>') && word.text == "/dev/null";
        self.note_if(!copies(operator, word) && !nowhere, Sign::Compound);
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
        self.note(Sign::Compound);
        self.outer.push(Outer {
            opened,
            draft: mem::take(&mut self.draft),
            segment: mem::take(&mut self.segment),
            in_quotes: mem::replace(&mut self.in_quotes, false),
        });
    }

    fn close(&mut self, outer: Outer) {
        self.end_segment(false);
        self.draft = outer.draft;
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
            self.note(Sign::Ticks);
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
        self.note_if(self.seen.contains(&Sign::Ticks), Sign::Unreadable);
        match self.chars.next() {
            Some('\n') => {}
            Some(c) => {
                self.draft.quoted = true;
                self.note_if(c == '`', Sign::Hidden);
                self.push(c);
            }
            None => self.note(Sign::Unreadable),
        }
    }

    fn single(&mut self) {
        self.draft.begun = true;
        self.draft.quoted = true;
        while let Some(c) = self.chars.next() {
            match c {
                '\'' => return,
                '`' => self.note(Sign::Hidden),
                '$' => {
                    let opens = matches!(self.chars.peek(), Some('(' | '{'));
                    self.note_if(opens, Sign::Hidden);
                }
                _ => {}
            }
            self.push(c);
        }
        self.note(Sign::Unreadable);
    }

    /// `$'..'`: escapes that only part words are read, those that spell letters are not.
    fn spelled(&mut self) {
        self.draft.begun = true;
        self.draft.quoted = true;
        while let Some(c) = self.chars.next() {
            match c {
                '\'' => return,
                '\\' => match self.chars.next() {
                    Some('n' | 't' | 'r' | 'a' | 'b' | 'e' | 'f' | 'v') => self.push(' '),
                    Some(c @ ('\\' | '"' | '?')) => self.push(c),
                    // Where `$` only stands before a quote, this one ends it.
                    Some(_) | None => self.note(Sign::Unreadable),
                },
                c => self.push(c),
            }
        }
        self.note(Sign::Unreadable);
    }

    fn dollar(&mut self) {
        match self.chars.peek() {
            Some('(') => {
                self.chars.next();
                let again = self.chars.peek() == Some(&'(');
                self.note_if(again, Sign::Arithmetic);
                self.expand('$');
                self.open('(');
            }
            Some('\'') if !self.in_quotes => {
                self.chars.next();
                self.spelled();
            }
            Some('"') if !self.in_quotes => {}
            Some('[') => {
                self.note(Sign::Arithmetic);
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
                self.draft.begun = true;
                self.draft.quoted = true;
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
                self.note(Sign::Compound);
                self.end_segment(c == '|');
            }
            '<' | '>' => self.redirect(c),
            '(' => {
                // A call such as `f()`, a group, or a pattern of names such as `@(a|b)`.
                self.draft.word.expands |=
                    self.draft.word.text.ends_with(['@', '+', '!', '?', '*']);
                let again = self.chars.peek() == Some(&'(');
                self.note_if(again, Sign::Arithmetic);
                self.end_segment(false);
                self.open('g');
            }
            ')' => self.close_at(&['(', 'g']),
            '#' if !self.draft.begun => {
                self.note(Sign::Compound);
                while self.chars.next_if(|c| *c != '\n').is_some() {}
            }
            '*' | '?' | '[' => self.expand(c),
            '\0' => self.note(Sign::Unreadable),
            c => self.letter(c),
        }
    }

    fn letter(&mut self, c: char) {
        let dots = c == '.' && self.draft.word.text.ends_with('.');
        self.draft.word.expands |= self.draft.brace && (c == ',' || dots);
        self.draft.brace |= c == '{';
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
        let text = self.draft.word.text.as_str();
        let named = text.starts_with('{') && text.ends_with('}');
        if named || text.chars().all(|c| c.is_ascii_digit()) {
            self.draft = Draft::default();
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
                self.note_if(
                    !here.literal && (line.contains("$(") || line.contains('`')),
                    Sign::Unreadable,
                );
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

/// Whether a redirection is to another open file, as in `2>&1`.
fn copies(operator: &str, word: &Word) -> bool {
    operator.ends_with('&') && word.text.chars().all(|c| c.is_ascii_digit())
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
