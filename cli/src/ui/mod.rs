//! What people and programs are shown: data on standard output, everything else beside it.

pub(crate) mod report;

use std::io::Write;

use serde::Serialize;

use crate::error::CommandError;
use crate::io::Io;

/// Writes data to standard output and everything else to standard error.
pub(crate) struct Printer<'a> {
    io: &'a mut Io,
    json: bool,
    quiet: bool,
    color: bool,
}

impl<'a> Printer<'a> {
    /// A printer.
    pub(crate) fn new(io: &'a mut Io, json: bool, quiet: bool, color: bool) -> Self {
        Self {
            io,
            json,
            quiet,
            color,
        }
    }

    /// Whether JSON is wanted.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Whether colour is wanted on standard output.
    pub(crate) fn color(&self) -> bool {
        self.color
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
        self.raw(&line)
    }

    /// Data as text that was neutralised before.
    pub(crate) fn data(&mut self, text: &str) -> Result<(), CommandError> {
        self.raw(text.as_bytes())
    }

    fn raw(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        let written = self
            .io
            .stdout
            .write_all(bytes)
            .and_then(|()| self.io.stdout.flush());
        match written {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
        }
    }

    /// A remark for people.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.say(text);
        }
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

    fn say(&mut self, text: &str) {
        // Nobody is left to be told that standard error is gone.
        drop(writeln!(self.io.stderr, "{text}"));
    }
}
