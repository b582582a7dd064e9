//! Which programs a text may run, behind paths, wrappers and interpreters: how a rule that denies
//! or demands is matched.
//!
//! It errs on the side of matching: a name inside a message (`git commit -m "rm old files"`) counts
//! as that program, and whatever is not one plain command matches by the name of the program alone.
//! A name is whole: `./farm` and `--format` hold no `rm`. Case does not count, since there are file
//! systems where it does not; letters of another script are another program.
//!
//! What a script, a makefile or an alias kept in a file does is beyond it; a file that the text
//! itself writes and runs makes it unreadable.

mod aliases;
mod filled;
mod found;
mod globs;
mod hosts;
mod made;
mod marks;
mod programs;
mod scan;
mod script;
mod settings;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::fmt;

use crate::shell::{self, Reading};
use crate::steering::without_case;
use scan::{Segment, Word};

/// A program and the words that must follow it, in order, with anything between.
///
/// Flags among the words may stand anywhere behind the program: letters behind one dash also apart
/// or in another order (`-rf` is `-f -r`), long ones also cut short or with a
/// value. A word that ends in `*` stands for all that begin so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    program: String,
    words: Vec<String>,
}

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected the name of a program and, if wanted, further words, as in `kubectl \
     delete`; found {0:?}"
)]
pub struct PatternError(pub String);

/// How a command stands to a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// It may run that.
    Matches,
    /// Which programs it runs cannot all be read: any rule that denies or demands asks.
    Unreadable,
    /// It runs other programs.
    Apart,
}

/// A command, read once for any number of patterns.
#[derive(Debug, Clone)]
pub struct Command {
    segments: Vec<Segment>,
    /// The text without case: as written, without quotes, without escapes.
    texts: Vec<String>,
    /// One plain command: the words of a pattern must follow its program.
    plain: bool,
    /// What the programs in it do with their words.
    found: hosts::Found,
    /// The same with the files that its words lead to.
    followed: Option<Box<Self>>,
}

impl Command {
    /// Reads a command, in time linear in its length.
    pub fn read(command: &str) -> Self {
        let scanned = scan::scan(command);
        let plain = scanned.plain && matches!(shell::read(command), Reading::Plain(_));
        let mut read = Self {
            texts: texts(command),
            plain,
            found: hosts::Found::default(),
            followed: None,
            segments: scanned.segments,
        };
        if command.contains("$'") || command.contains("$\"") {
            let words = read.segments.iter().flat_map(|segment| &segment.words);
            let words: Vec<_> = words.map(|word| without_case(&word.text)).collect();
            read.texts.push(words.join(" "));
        }
        read.look(scanned.unreadable);
        read
    }

    /// Reads a command of which some words are links: the file that each leads to counts too.
    pub fn read_with(command: &str, links: &BTreeMap<String, String>) -> Self {
        let mut read = Self::read(command);
        if links.is_empty() {
            return read;
        }
        let base = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
        let mut followed = read.clone();
        let segments = followed.segments.iter_mut();
        for word in segments.flat_map(|segment| &mut segment.words) {
            let (flag, value) = match word.text.split_once('=') {
                Some((flag, value)) if is_flag(flag) => (Some(flag), value),
                Some(_) | None => (None, word.text.as_str()),
            };
            if let Some(real) = links.get(value).map(base) {
                word.text = flag.map_or_else(|| real.clone(), |flag| format!("{flag}={real}"));
            }
        }
        followed.texts = links
            .values()
            .map(base)
            .map(|name| without_case(&name))
            .collect();
        followed.look(read.found.unreadable);
        read.followed = Some(Box::new(followed));
        read
    }

    fn look(&mut self, unreadable: bool) {
        let mut found = hosts::Found::default();
        for segment in &self.segments {
            hosts::look(segment, &mut found);
        }
        found.unreadable |= unreadable
            || made::runs_its_own(&self.segments)
            || settings::unreadable(&self.segments);
        found.includes = settings::includes(&self.segments);
        found.aliases = aliases::may_hold_one(&self.segments);
        self.found = found;
    }

    /// The words of each of its commands, without files behind redirections.
    pub fn argvs(&self) -> impl Iterator<Item = Vec<&str>> {
        self.segments.iter().map(|segment| {
            let words = segment.words.iter().filter(|word| !word.target);
            words.map(|word| word.text.as_str()).collect()
        })
    }

    /// The words that the shell gives to programs as they are written.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        let words = self.segments.iter().flat_map(|segment| &segment.words);
        let literal = words.filter(|word| !word.target && !word.expands);
        literal.map(|word| word.text.as_str())
    }

    /// The commands that the shell would run of it, each written so that it is read as one; one
    /// alone where nothing joins several.
    pub fn members(&self) -> Vec<String> {
        let written = |segment: &Segment| {
            let words = segment.words.iter().filter(|word| !word.target);
            words.map(written).collect::<Vec<_>>().join(" ")
        };
        let members = self.segments.iter().map(written);
        members.filter(|member| !member.is_empty()).collect()
    }
}

/// A word as a shell reads it once more.
fn written(word: &Word) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,~$".contains(c);
    if !word.text.is_empty() && word.text.chars().all(plain) {
        return word.text.clone();
    }
    format!("'{}'", word.text.replace('\'', "'\\''"))
}

/// The text as names are looked for in it where it is not plain. Quotes and escapes may join what
/// stands beside them or part it: both are tried.
fn texts(command: &str) -> Vec<String> {
    let command = without_case(command).replace('\0', "");
    if !command.contains(['\'', '"', '\\']) {
        return vec![command];
    }
    let joined = command.replace("\\\n", "").replace(['\'', '"', '\\'], "");
    let mut parted = String::with_capacity(command.len());
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
            parted.push(' ');
        } else {
            parted.push(c);
        }
    }
    vec![command, joined, parted]
}

/// Whether a character can stand in the name of a program.
fn in_names(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+')
}

/// A name of a program as it is compared.
fn program_name(text: &str) -> &str {
    text.strip_suffix(".exe").unwrap_or(text)
}

fn is_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

impl Pattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let wrong = || PatternError(text.chars().take(160).collect());
        let mut words = text.split_whitespace().map(str::to_owned);
        let program = without_case(&words.next().unwrap_or_default());
        let named = program.chars().all(in_names) && program.starts_with(char::is_alphanumeric);
        let words: Vec<String> = words.collect();
        let odd = |c: char| c.is_control() || matches!(c, '\'' | '"' | '\\' | '$' | '`');
        if !named || words.iter().any(|word| word.contains(odd)) {
            return Err(wrong());
        }
        Ok(Self {
            program: program_name(&program).to_owned(),
            words,
        })
    }

    /// Whether the program is one that runs others, so that its name says little.
    pub fn runs_others(&self) -> bool {
        programs::is_host(&self.program)
    }

    /// Whether it is known as one that runs others, if only with some words.
    #[cfg(test)]
    pub(crate) fn may_run_others(&self) -> bool {
        self.runs_others() || programs::with(&self.program)
    }

    /// The name of the program.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The words behind it.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// How a command stands to it.
    pub fn matches(&self, command: &str) -> Match {
        self.stands_to(&Command::read(command))
    }

    /// How a command that was read stands to it, also by the files that its words lead to.
    pub fn stands_to(&self, command: &Command) -> Match {
        let typed = self.stands_to_one(command);
        match (typed, &command.followed) {
            (Match::Matches, _) | (_, None) => typed,
            (Match::Unreadable | Match::Apart, Some(followed)) => {
                match self.stands_to_one(followed) {
                    Match::Apart => typed,
                    stricter @ (Match::Matches | Match::Unreadable) => stricter,
                }
            }
        }
    }

    fn stands_to_one(&self, command: &Command) -> Match {
        if command.plain {
            let words = command.segments.first().map(|segment| &segment.words);
            let found = self.among(words.map_or(&[], Vec::as_slice), command.found.hosts);
            if found != Match::Apart {
                return found;
            }
        }
        // By name alone where the words cannot be told apart.
        let by_name = !command.plain || command.found.loose || command.found.unreadable;
        if by_name && self.is_named_in(command) {
            Match::Matches
        } else if command.found.unreadable
            || command.found.includes
            || (command.found.aliases && self.program == "git")
            || command
                .segments
                .iter()
                .any(|segment| self.may_fill(segment))
        {
            Match::Unreadable
        } else {
            Match::Apart
        }
    }

    fn is_named_in(&self, command: &Command) -> bool {
        let apart = |c: char| !in_names(c);
        let named = |name: &str| self.names(name) || (command.found.hosts && self.hangs_on(name));
        let mut texts = command.texts.iter();
        // What holds a name in one part may hold it in a sentence, or behind a drive's letter.
        texts.any(|text| text.split(apart).any(|name| named(trimmed(name))))
    }

    /// Whether a name without case is the program, also with a version, or a file of its own for
    /// the first word.
    fn names(&self, name: &str) -> bool {
        let name = program_name(name);
        let rest = name.strip_prefix(self.program.as_str());
        rest.is_some_and(|rest| {
            let first = self.words.first().map(|word| without_case(word));
            let numbered = self.program.ends_with(|c: char| c.is_ascii_digit());
            let version = rest.strip_prefix('.').filter(|_| numbered).unwrap_or(rest);
            rest.is_empty()
                || is_version(version)
                || first.is_some_and(|first| rest.strip_prefix('-') == Some(&first))
        })
    }

    /// Whether a name hangs on letters of flags, as in `env -Srm`.
    fn hangs_on(&self, name: &str) -> bool {
        let flags = name
            .strip_prefix('-')
            .and_then(|rest| rest.strip_suffix(self.program.as_str()));
        flags.is_some_and(|flags| !flags.is_empty() && flags.chars().all(char::is_alphanumeric))
    }

    /// How the words of one plain command stand to it.
    fn among(&self, words: &[Word], hosts: bool) -> Match {
        let starts = |word: &Word| {
            let text = without_case(&word.text);
            let mut pieces = text.split(|c| !in_names(c) && c != '/');
            pieces.any(|piece| {
                let path = piece.trim_end_matches('/');
                let name = trimmed(path.rsplit('/').next().unwrap_or_default());
                self.names(name) || (hosts && self.hangs_on(piece))
            })
        };
        let Some(at) = words.iter().position(starts) else {
            return Match::Apart;
        };
        let (program, behind) = words.split_at(at.saturating_add(1));
        let mut wanted = self.words.iter().filter(|word| !is_flag(word)).peekable();
        // The word of the program may hold more than its name.
        for word in program.last().into_iter().chain(behind) {
            wanted.next_if(|wanted| says(&word.text, wanted));
            for piece in word.text.split(|c| !in_names(c)) {
                let as_file = || piece.rsplit('-').next().unwrap_or_default();
                wanted.next_if(|wanted| says(piece, wanted) || says(as_file(), wanted));
            }
        }
        let flags = self.words.iter().filter(|word| is_flag(word));
        let flagged = flags.clone().all(|flag| has_flag(program, behind, flag));
        if wanted.peek().is_none() && flagged {
            return Match::Matches;
        }
        let open = behind.iter().any(|word| word.expands) && self.is_open(behind);
        if open {
            Match::Unreadable
        } else {
            Match::Apart
        }
    }

    /// Whether a word that expands stands where one of the pattern may.
    fn is_open(&self, behind: &[Word]) -> bool {
        let mut operands = 0_usize;
        let mut after_flag = false;
        let wants_flags = self.words.iter().any(|word| is_flag(word));
        let many = self.words.len();
        behind.iter().any(|word| {
            let open = word.expands && (operands < many || wants_flags);
            // A word behind a flag may be its value.
            if !is_flag(&word.text) && !after_flag {
                operands = operands.saturating_add(1);
            }
            after_flag = is_flag(&word.text) && !word.text.contains('=');
            open
        })
    }
}

/// Whether what stands behind a program's name says which version, and perhaps which build, it is.
fn is_version(rest: &str) -> bool {
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    let version = match rest.split_once('-') {
        Some((version, _)) if version.contains('.') => version,
        Some(_) | None => rest,
    };
    let numbers = |c: char| c.is_ascii_digit() || c == '.';
    version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(numbers)
}

/// A name without what a sentence leaves at its ends.
fn trimmed(name: &str) -> &str {
    name.trim_end_matches(['.', '+'])
}

/// Whether a word, or a part of one, is what a pattern wants.
fn says(word: &str, wanted: &str) -> bool {
    if let Some(begin) = wanted.strip_suffix('*') {
        return word.starts_with(begin);
    }
    let (word, wanted) = (without_case(word), without_case(wanted));
    word == wanted || (!wanted.chars().all(in_names) && word.contains(&wanted))
}

/// Whether a flag stands among the words.
fn has_flag(program: &[Word], behind: &[Word], flag: &str) -> bool {
    let words = || program.last().into_iter().chain(behind);
    let pieces = || words().flat_map(|word| word.text.split(|c| !in_names(c)));
    let begin = flag.strip_suffix('*');
    // Programs accept long flags cut short.
    let long = begin.unwrap_or(flag);
    let cut = |word: &str| {
        word.len() > 2 && word.starts_with("--") && long.len() > 2 && long.starts_with(word)
    };
    let whole = |word: &str| {
        word == flag || begin.is_some_and(|begin| word.starts_with(begin)) || cut(word)
    };
    if pieces().any(whole) || words().any(|word| whole(&word.text)) {
        return true;
    }
    // Two or three letters behind one dash are as many flags, in any order.
    let letters = flag.strip_prefix('-').unwrap_or_default();
    let short = letters.len() <= 3 && letters.chars().all(|c| c.is_ascii_alphabetic());
    let in_some = |letter: char| {
        let mut clusters = pieces().filter(|word| is_flag(word) && !word.starts_with("--"));
        clusters.any(|word| word.contains(letter))
    };
    short && letters.chars().all(in_some)
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.words.iter().try_for_each(|word| write!(f, " {word}"))
    }
}
