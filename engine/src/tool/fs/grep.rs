//! `grep`: the lines of files that a regular expression matches, by ripgrep's own libraries.
//!
//! Their regular expressions take time in proportion to the text, whatever the pattern; what a
//! pattern may compile to is bounded as well, and reading stops as soon as nobody waits.

use std::fmt::Write;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use placet_ledger::content::Text;
use placet_ledger::permit::Permit;
use placet_ledger::risk::DeclaredRisk;
use rustix::fs::FileType;
use serde_json::{Value, json};

use super::find::Glob;
use super::walk::{LeftOut, Patience, Rules, Walk, shown};
use super::{Files, Words, text};
use crate::stop::Halt;
use crate::tool::{Awaited, ExecuteTool, Interrupted, Output, Reconciled, ToolError, searching};
use crate::workspace::{Opened, PathError};

/// Characters of a pattern, and bytes of what it compiles to: `\w` alone takes about 50 KiB, so
/// that this is enough for what people write, and a search takes about 1 us a byte at worst.
const PATTERN_CHARS_MAX: usize = 1_000;
const COMPILED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of a line that are shown, and that are searched at all.
const LINE_SHOWN_BYTES_MAX: usize = 400;
const LINE_BYTES_MAX: usize = 1024 * 1024;

/// Matching lines that are shown unless more are asked for, and at most.
const MATCHES_DEFAULT: u64 = 100;
const MATCHES_MAX: u64 = 1_000;

/// Lines shown around a match, at most.
const CONTEXT_MAX: u64 = 20;

/// Bytes of one answer: more would fill a model's context without being read.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

pub(super) fn spec() -> Words {
    Words {
        name: "grep",
        description: "Search the files beneath a folder of the workspace, or one file, for lines \
                      that match a regular expression (the syntax of ripgrep). Matching lines are \
                      shown as path:number:line, lines of context as path:number-line. `glob` \
                      narrows the files. Binary files are skipped; what .gitignore names and .git \
                      are passed over unless `gitignore` is false and `git` is true.",
        schema: json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "minLength": 1, "maxLength": PATTERN_CHARS_MAX},
                "path": {"type": "string", "minLength": 1, "default": "."},
                "glob": {"type": "string", "minLength": 1, "maxLength": 1_000},
                "case": {"enum": ["sensitive", "insensitive", "smart"], "default": "sensitive"},
                "context": {"type": "integer", "minimum": 0, "maximum": CONTEXT_MAX, "default": 0},
                "max_matches": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MATCHES_MAX,
                    "default": MATCHES_DEFAULT,
                },
                "gitignore": {"type": "boolean", "default": true},
                "git": {"type": "boolean", "default": false},
            },
            "required": ["pattern"],
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::ReadOnly,
    }
}

/// The tool.
#[derive(Debug, Clone)]
pub(super) struct Grep(pub(super) Arc<Files>);

#[async_trait]
impl ExecuteTool for Grep {
    async fn execute(&self, permit: Permit, _: &Halt) -> Result<Output, ToolError> {
        let files = Arc::clone(&self.0);
        let arguments = permit.spend().arguments;
        let result = searching(move |awaited| grep(&files, &arguments, awaited)).await?;
        Ok(Output::of(result))
    }

    /// Looking has no effect that could be half done.
    async fn reconcile(&self, _: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        Ok(Reconciled::NotDone)
    }
}

pub(super) fn grep(files: &Files, arguments: &Value, awaited: &Awaited) -> Result<Text, ToolError> {
    grep_within(files, arguments, &Patience::new(awaited))
}

/// The same with another limit of time.
pub(super) fn grep_within(
    files: &Files,
    arguments: &Value,
    patience: &Patience,
) -> Result<Text, ToolError> {
    let matcher = matcher(arguments)?;
    let glob = Glob::read(arguments)?;
    let path = arguments.get("path").and_then(Value::as_str).unwrap_or(".");
    let mut search = Search::new(arguments, &matcher, patience);
    let left_out = match files.workspace.folder(path) {
        Ok(folder) => {
            let walk = Walk::new(files, Rules::read(arguments), patience);
            walk.run(&folder, &mut |entry| {
                let wanted = entry.kind() == FileType::RegularFile
                    && glob.as_ref().is_none_or(|glob| glob.matches(entry));
                if wanted {
                    let opened = files.workspace.open_named(entry.folder, entry.name);
                    search.file(&entry.shown(), opened);
                }
            })?
        }
        Err(PathError::NotFolder(_)) => {
            let target = files.workspace.existing(path)?;
            let opened = files.workspace.open_file(&target)?;
            search.file(&shown(Path::new(&target.path)), Ok(opened));
            LeftOut::default()
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Text::plain(search.answer(&left_out)))
}

fn matcher(arguments: &Value) -> Result<RegexMatcher, ToolError> {
    let pattern = text(arguments, "pattern")?;
    if pattern.chars().count() > PATTERN_CHARS_MAX {
        return Err(ToolError::failed(format!(
            "the pattern has more than {PATTERN_CHARS_MAX} characters: send a shorter one"
        )));
    }
    let case = arguments.get("case").and_then(Value::as_str);
    RegexMatcherBuilder::new()
        .case_insensitive(case == Some("insensitive"))
        .case_smart(case == Some("smart"))
        .line_terminator(Some(b'\n'))
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(COMPILED_BYTES_MAX)
        .build(pattern)
        .map_err(|error| {
            ToolError::failed(format!(
                "the pattern is no regular expression that can be searched for: {error}; it is \
                 matched line by line, and plain text needs its special characters escaped"
            ))
        })
}

/// A search under way, and what it found.
struct Search<'a> {
    searcher: Searcher,
    matcher: &'a RegexMatcher,
    patience: &'a Patience,
    found: Found,
    skipped: Skipped,
}

/// Files that were not searched to their end.
#[derive(Default)]
struct Skipped {
    binary: usize,
    large: usize,
    long: usize,
    unread: usize,
    over: bool,
}

/// The lines that are shown, and the number of those that are not.
struct Found {
    lines: String,
    shown_max: u64,
    shown: u64,
    more: u64,
}

impl<'a> Search<'a> {
    fn new(arguments: &Value, matcher: &'a RegexMatcher, patience: &'a Patience) -> Self {
        let number = |name, default, most| {
            let asked = arguments.get(name).and_then(Value::as_u64);
            asked.unwrap_or(default).min(most)
        };
        let context = usize::try_from(number("context", 0, CONTEXT_MAX)).unwrap_or(0);
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(LINE_BYTES_MAX))
            .binary_detection(BinaryDetection::quit(0))
            .build();
        Self {
            searcher,
            matcher,
            patience,
            found: Found {
                lines: String::new(),
                shown_max: number("max_matches", MATCHES_DEFAULT, MATCHES_MAX),
                shown: 0,
                more: 0,
            },
            skipped: Skipped::default(),
        }
    }

    fn file(&mut self, path: &str, opened: Result<Opened, PathError>) {
        let count = |number: &mut usize| *number = number.saturating_add(1);
        let opened = match opened {
            Ok(opened) => opened,
            Err(PathError::Large { .. }) => return count(&mut self.skipped.large),
            // What is closed or gone by now is not to be known of.
            Err(PathError::Closed(_) | PathError::Missing { .. }) => return,
            Err(_) => return count(&mut self.skipped.unread),
        };
        let mut sink = Lines {
            // The first colon of a line ends its path.
            path: path.replace(':', r"\x3a"),
            found: &mut self.found,
            is_binary: false,
        };
        let reader = Patient {
            file: opened.file(),
            patience: self.patience,
        };
        let ended = self.searcher.search_reader(self.matcher, reader, &mut sink);
        let is_binary = sink.is_binary;
        match ended {
            Ok(()) if is_binary => count(&mut self.skipped.binary),
            Ok(()) => {}
            Err(_) if self.patience.is_over() => self.skipped.over = true,
            // The searcher's way to say that a line is longer than its buffer.
            Err(error) if error.raw_os_error().is_none() => count(&mut self.skipped.long),
            Err(_) => count(&mut self.skipped.unread),
        }
    }

    fn answer(self, left_out: &LeftOut) -> String {
        let Self { found, skipped, .. } = self;
        let mut lines = found.lines;
        if found.shown == 0 && found.more == 0 {
            lines.push_str("(no line matches)\n");
        }
        if found.more > 0 {
            let _ = writeln!(
                lines,
                "... and {} more matching lines, left out",
                found.more
            );
        }
        for (count, what) in [
            (skipped.binary, "binary"),
            (skipped.large, "larger than a tool can handle"),
            (
                skipped.long,
                "with a line that is too long, searched up to it",
            ),
            (skipped.unread, "that could not be read"),
        ] {
            if count > 0 {
                let _ = writeln!(lines, "... files skipped: {count} {what}");
            }
        }
        let walked = left_out.lines();
        if skipped.over && walked.is_empty() {
            lines.push_str("... stopped before the end: it took too long\n");
        }
        lines + &walked
    }
}

/// A file that ends with an error once nobody waits for it.
struct Patient<'a> {
    file: &'a std::fs::File,
    patience: &'a Patience,
}

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.patience.is_over() {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        self.file.read(buffer)
    }
}

/// Takes the lines of one file.
struct Lines<'a> {
    path: String,
    found: &'a mut Found,
    is_binary: bool,
}

impl Lines<'_> {
    fn line(&mut self, mark: char, number: Option<u64>, bytes: &[u8]) {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let mut line = String::from_utf8_lossy(bytes).into_owned();
        let whole = line.len();
        if whole > LINE_SHOWN_BYTES_MAX {
            line.truncate(line.floor_char_boundary(LINE_SHOWN_BYTES_MAX));
            let cut = whole.saturating_sub(line.len());
            let _ = write!(line, " ... (+{cut} bytes)");
        }
        let number = number.unwrap_or_default();
        let lines = &mut self.found.lines;
        let _ = writeln!(lines, "{}:{number}{mark}{line}", self.path);
    }

    fn is_full(&self) -> bool {
        self.found.shown >= self.found.shown_max || self.found.lines.len() >= ANSWER_BYTES_MAX
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.is_full() {
            self.found.more = self.found.more.saturating_add(1);
            return Ok(true);
        }
        self.found.shown = self.found.shown.saturating_add(1);
        self.line(':', found.line_number(), found.bytes());
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        // After the last match that is shown its context still follows.
        let is_after = *found.kind() == SinkContextKind::After && self.found.more == 0;
        if !self.is_full() || is_after {
            self.line('-', found.line_number(), found.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if !self.is_full() {
            self.found.lines.push_str("--\n");
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }
}
