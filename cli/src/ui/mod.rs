//! What people and programs are shown: data on standard output, everything else beside it.

pub(crate) mod bar;
pub(crate) mod card;
pub(crate) mod checked;
pub(crate) mod csv;
pub(crate) mod dialog;
pub(crate) mod explained;
pub(crate) mod progress;
mod reason;
pub(crate) mod report;
pub(crate) mod run_page;
mod steered;
pub(crate) mod stream;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod timeline;

use std::io::Write;

use placet_ledger::id::RunId;
use serde::Serialize;

use crate::args::Color;
use crate::error::CommandError;
use crate::io::Io;
use crate::unusable::cannot;

/// Columns where nothing tells how many there are.
pub(crate) const WIDTH_DEFAULT: usize = 80;

/// Fewer columns leave no room beside the margin for the shortest row of a text.
const WIDTH_MIN: usize = 27;

/// More columns are not read with ease.
const WIDTH_MAX: usize = 160;

/// Whoever reads the data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// As far as is known.
    There,
    /// It closed the pipe.
    Gone,
}

/// Writes data to standard output and everything else to standard error.
pub(crate) struct Printer<'a> {
    io: &'a mut Io,
    json: bool,
    quiet: bool,
    color: Color,
    reader: Reader,
    /// The last text of a model that was shown while it arrived, and of which run it is.
    streamed: Option<(RunId, String)>,
}

impl<'a> Printer<'a> {
    /// A printer.
    pub(crate) fn new(io: &'a mut Io, json: bool, quiet: bool, color: Color) -> Self {
        Self {
            io,
            json,
            quiet,
            color,
            reader: Reader::There,
            streamed: None,
        }
    }

    /// Whether JSON is wanted.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Whether whoever read the data has gone away.
    pub(crate) fn is_unread(&self) -> bool {
        self.reader == Reader::Gone
    }

    /// Whether colour is wanted on standard output.
    pub(crate) fn color(&self) -> bool {
        self.colors(self.io.stdout_is_terminal)
    }

    /// Whether colour is wanted on standard error.
    pub(crate) fn color_beside(&self) -> bool {
        self.colors(self.io.stderr_is_terminal)
    }

    fn colors(&self, is_terminal: bool) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && self.io.var("NO_COLOR").is_none(),
        }
    }

    /// Whether standard output is a terminal, so that whoever types reads it too.
    pub(crate) fn data_is_shown(&self) -> bool {
        self.io.stdout_is_terminal
    }

    /// Whether standard error shows what goes on.
    pub(crate) fn shows_progress(&self) -> bool {
        self.io.stderr_is_terminal && !self.quiet && !self.json
    }

    /// Notes that this text was shown while it arrived, whole.
    pub(crate) fn streamed(&mut self, run: RunId, text: String) {
        self.streamed = Some((run, text));
    }

    /// Whether a text stands above what goes to standard output: both went to the terminal.
    pub(crate) fn stands_above(&self, run: RunId, text: &str) -> bool {
        let last = self.streamed.as_ref();
        self.data_is_shown() && last.is_some_and(|(of, last)| *of == run && last == text)
    }

    /// Columns of the screen: as the environment tells, or the width that every screen has.
    pub(crate) fn width(&self) -> usize {
        let columns = self.io.var("COLUMNS").and_then(|text| text.parse().ok());
        columns.unwrap_or(WIDTH_DEFAULT).clamp(WIDTH_MIN, WIDTH_MAX)
    }

    /// Columns of standard error where it shows what goes on and is wide enough to: text of
    /// others that the terminal breaks itself would have no margin.
    pub(crate) fn columns_beside(&self) -> Option<usize> {
        let screen = self.io.terminal.as_ref();
        let columns = screen.map_or_else(|| self.width(), |screen| screen.size().columns);
        let shows = self.shows_progress() && columns >= WIDTH_MIN;
        shows.then_some(columns.min(WIDTH_MAX))
    }

    /// The outside.
    pub(crate) fn io(&mut self) -> &mut Io {
        self.io
    }

    /// Data as JSON, on a line. A reader that has gone away ends the output, not the work.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> Result<(), CommandError> {
        let mut line = serde_json::to_vec(value)
            .map_err(|error| CommandError::new(crate::error::Kind::Failed, error))?;
        line.push(b'\n');
        if self.io.stdout_is_terminal
            && let Ok(shown) = std::str::from_utf8(&line)
        {
            line = text::json(shown.trim_end_matches('\n')).into_bytes();
            line.push(b'\n');
        }
        self.raw(&line)
    }

    /// Data as text that was neutralised before.
    pub(crate) fn data(&mut self, text: &str) -> Result<(), CommandError> {
        self.raw(text.as_bytes())
    }

    /// Data as it is, which is nobody's text but ours.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        let written = self
            .io
            .stdout
            .write_all(bytes)
            .and_then(|()| self.io.stdout.flush());
        match written {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                self.reader = Reader::Gone;
                Ok(())
            }
            other => other.map_err(cannot("write to standard output")),
        }
    }

    /// A remark for people.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.say(text);
        }
    }

    /// Something that people must know, whatever was asked to be left out.
    pub(crate) fn warn(&mut self, text: &str) {
        self.say(text);
    }

    /// An error, whatever was asked to be left out.
    pub(crate) fn error(&mut self, error: &CommandError) {
        if self.json {
            let hints = &error.hints;
            let body = serde_json::json!({"error": {
                "code": error.kind.code(), "message": error.message(), "hints": hints,
            }});
            return self.say(&body.to_string());
        }
        self.say(&format!("error: {}", error.message()));
        for hint in &error.hints {
            self.say(&format!("  hint: {hint}"));
        }
    }

    /// Text for standard error that was neutralised before, with no line end of ours.
    pub(crate) fn beside(&mut self, text: &str) {
        let written = self.io.stderr.write_all(text.as_bytes());
        // Nobody is left to be told that standard error is gone.
        drop(written.and_then(|()| self.io.stderr.flush()));
    }

    fn say(&mut self, text: &str) {
        // Nobody is left to be told that standard error is gone.
        drop(writeln!(self.io.stderr, "{}", text::sentence(text)));
    }
}
