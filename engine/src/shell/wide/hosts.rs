//! Programs that run others: which words of a command may be programs in turn, and which cannot be
//! read.

use super::found::runs_what_it_finds;
use super::programs::{Kind, is_outright, kind, starts_a_shell, with};
use super::scan::{Segment, Word, is_assignment};
use super::{is_flag, script};

/// What was found about one command.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about one command, each known by its name"
)]
pub(super) struct Found {
    /// Which programs it runs cannot all be read.
    pub(super) unreadable: bool,
    /// It runs other programs, whose names may hang on its flags.
    pub(super) hosts: bool,
    /// It may run an alias of git.
    pub(super) aliases: bool,
    /// It has git read settings that may hold one.
    pub(super) includes: bool,
    /// It takes words from elsewhere: patterns are matched by their program alone.
    pub(super) loose: bool,
}

/// Words behind which a command begins.
pub(super) const OPENERS: &[&str] = &[
    "if", "then", "else", "elif", "do", "while", "until", "!", "time", "{", "}", "fi", "done",
    "esac", "in", "()",
];

/// At how many of its words one command is looked at anew.
const HOSTS_MAX: usize = 16;

/// Where in a command its program stands.
pub(super) fn program_at(segment: &Segment) -> Option<usize> {
    segment.words.iter().position(|word| {
        let text = word.text.as_str();
        let passed = word.target || OPENERS.contains(&text) || (is_flag(text) && !word.expands);
        !passed && (!is_assignment(word) || text.starts_with('='))
    })
}

/// Looks at one command.
pub(super) fn look(segment: &Segment, found: &mut Found) {
    let mut begins = true;
    for (at, word) in segment.words.iter().enumerate() {
        if word.target {
            continue;
        }
        if !begins || (is_assignment(word) && !word.text.starts_with('=')) {
            begins |= OPENERS.contains(&word.text.as_str());
            continue;
        }
        if OPENERS.contains(&word.text.as_str()) {
            continue;
        }
        // `time -p` and the like.
        if is_flag(&word.text) && !word.expands {
            continue;
        }
        begins = false;
        let rest = segment.words.get(at..).unwrap_or_default();
        // A program that expands may be any.
        found.unreadable |= word.expands;
        host(rest, segment.fed, found);
    }
    found.unreadable |= handed_on(segment) || runs_what_it_finds(segment);
}

/// Whether some word names an interpreter that gets code, whatever runs it.
fn handed_on(segment: &Segment) -> bool {
    let interprets = |word: &Word| {
        let known = kind(&word.text, &[]);
        known.filter(|kind| matches!(kind, Kind::Shell | Kind::Python | Kind::Other))
    };
    let pairs = segment
        .words
        .iter()
        .zip(segment.words.iter().skip(1))
        .skip(1);
    let last = segment.words.iter().skip(1).next_back();
    let reads = segment.fed && last.is_some_and(|word| interprets(word).is_some());
    // Flags first: they are few, and names take longer.
    let coded = |(word, next): (&Word, &Word)| {
        let codes = |kind| !script::takes_no_code(kind, &next.text);
        is_flag(&next.text)
            && interprets(word).is_some_and(codes)
            && (is_outright(&word.text) || hands_code(&next.text))
    };
    reads || pairs.into_iter().any(coded)
}

/// Whether a word is a flag that announces code to most interpreters.
fn hands_code(flag: &str) -> bool {
    let starts = ["-c", "-e", "-E", "-r", "--ev", "--co", "--ex", "+"];
    let cluster = is_flag(flag) && flag.len() <= 5 && flag.ends_with(['c', 'e', 'E', 'r']);
    cluster || starts.iter().any(|start| flag.starts_with(start))
}

/// Looks at a program and its words.
fn host(words: &[Word], fed: bool, found: &mut Found) {
    let Some(kind) = words.first().and_then(|word| kind(&word.text, words)) else {
        return;
    };
    let behind = words.get(1..).unwrap_or_default();
    found.hosts = true;
    found.unreadable |= unreadable(kind, behind, fed);
    found.unreadable |= fed && kind == Kind::Wrapper && starts_a_shell(words);
    if !matches!(kind, Kind::Wrapper | Kind::Text | Kind::Arguments) {
        return;
    }
    // Variables, and words that are read from elsewhere, can say what the program will do.
    found.loose |= kind == Kind::Arguments || behind.iter().any(is_assignment);
    let inner = (1..words.len())
        .filter_map(|at| words.get(at..))
        .filter(|rest| {
            let first = rest.first();
            first.is_some_and(|word| self::kind(&word.text, &[]).is_some() || with(&word.text))
        });
    for (number, rest) in inner.enumerate() {
        let Some(inner) = rest.first().and_then(|word| self::kind(&word.text, rest)) else {
            continue;
        };
        let behind = rest.get(1..).unwrap_or_default();
        // A package such as `python3-pip` is no program.
        let outright = rest.first().is_some_and(|word| is_outright(&word.text));
        if !outright && !fed && !behind.first().is_some_and(|next| hands_code(&next.text)) {
            continue;
        }
        found.loose |= inner == Kind::Arguments;
        found.unreadable |= number >= HOSTS_MAX || unreadable(inner, behind, fed);
        // What is read from elsewhere would be its program.
        found.unreadable |= kind == Kind::Arguments;
        if found.unreadable {
            return;
        }
    }
}

/// Whether the programs that a host runs cannot be read from its words.
fn unreadable(kind: Kind, behind: &[Word], fed: bool) -> bool {
    let words = || behind.iter().filter(|word| !word.target);
    match kind {
        Kind::Code => true,
        Kind::Shell | Kind::Python | Kind::Other => script::runs_code(kind, behind),
        Kind::Awk => script::awk_runs(behind),
        Kind::Sed => script::sed_runs(behind),
        Kind::Source => words()
            .next()
            .is_none_or(|word| word.expands || script::is_stream(&word.text)),
        Kind::Text => fed || words().any(|word| word.expands || word.text.contains(is_odd)),
        Kind::Wrapper => words().any(is_open),
        Kind::Arguments => words().any(is_open) || !script::names_its_program(behind),
    }
}

fn is_open(word: &Word) -> bool {
    word.expands || word.text.contains(['$', '`'])
}

/// Whether a character may mean something to a shell.
fn is_odd(c: char) -> bool {
    !(c.is_alphanumeric()
        || matches!(
            c,
            '_' | '-' | '.' | '/' | ':' | '=' | ',' | '@' | '%' | '+' | '^'
        ))
}
