//! The only way by which text of agents, tools and files reaches a terminal: nothing hidden in it.
//!
//! What cannot be seen, or moves the cursor, is written as an escape (`\x1b`, `\u{202e}`), and a
//! backslash is doubled, so that two texts never look alike and each can be read back. In names
//! and paths every character beyond ASCII is an escape too: letters of two scripts look alike.
//! Text of several lines stands behind a margin that is drawn here, on every row of the screen.

pub(crate) mod rows;
#[cfg(test)]
mod tests;
mod word;

use std::fmt::Write;

pub(crate) use placet_engine::workspace::is_hidden;
use unicode_general_category::{GeneralCategory, get_general_category};

use rows::Paint;
pub(crate) use word::shell_word;

/// How many combining marks may follow a letter before they are shown as escapes: scripts in use
/// need two, and a tower of them hides the rows above.
const MARKS_MAX: usize = 2;

/// How the rest of a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Letters {
    /// Letters of every script stay.
    Kept,
    /// Everything beyond ASCII is an escape: for names, paths, commands.
    Marked,
}

/// Where a block of lines stands on the screen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Margin {
    /// Columns before the margin.
    pub(crate) indent: usize,
    /// Columns of the screen: a row that the terminal would break itself loses its margin.
    pub(crate) width: usize,
    /// How its letters are written.
    pub(crate) letters: Letters,
}

fn is_mark(c: char) -> bool {
    !c.is_ascii()
        && matches!(
            get_general_category(c),
            GeneralCategory::NonspacingMark
                | GeneralCategory::EnclosingMark
                | GeneralCategory::SpacingMark
        )
}

fn escape(out: &mut String, c: char) {
    let number = u32::from(c);
    // Writing to a string does not fail.
    let _ignored = match c {
        '\\' => out.write_str("\\\\"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        _ if number < 0x100 => write!(out, "\\x{number:02x}"),
        _ => write!(out, "\\u{{{number:x}}}"),
    };
}

/// Turns the characters of one line into what is shown of each.
struct Shower {
    letters: Letters,
    quote: bool,
    /// Combining marks since the last letter; the largest number where none may stand.
    marks: usize,
}

impl Shower {
    fn new(letters: Letters, quote: bool) -> Self {
        Self {
            letters,
            quote,
            marks: usize::MAX,
        }
    }

    fn show(&mut self, c: char) -> String {
        let mut shown = String::new();
        let mark = is_mark(c);
        let stacked = mark && self.marks >= MARKS_MAX;
        let marked = self.letters == Letters::Marked && !c.is_ascii();
        if c == '\\' || marked || stacked || is_hidden(c) {
            escape(&mut shown, c);
            self.marks = usize::MAX;
        } else if self.quote && c == '"' {
            shown.push_str("\\\"");
            self.marks = usize::MAX;
        } else {
            shown.push(c);
            self.marks = if mark {
                self.marks.saturating_add(1)
            } else {
                0
            };
        }
        shown
    }
}

fn shown(text: &str, letters: Letters, quote: bool) -> String {
    let mut shower = Shower::new(letters, quote);
    text.chars().map(|c| shower.show(c)).collect()
}

/// Text inside a line; its line ends are escapes.
pub(crate) fn inline(text: &str) -> String {
    shown(text, Letters::Kept, false)
}

/// A name, a path or a command inside a line: printable ASCII and nothing else.
pub(crate) fn marked(text: &str) -> String {
    shown(text, Letters::Marked, false)
}

/// Text in quotes inside a line.
pub(crate) fn quoted(text: &str, letters: Letters) -> String {
    format!("\"{}\"", shown(text, letters, true))
}

/// A sentence of ours that may have foreign text in it: what is hidden becomes visible, line ends
/// and backslashes stay.
pub(crate) fn sentence(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && is_hidden(c) {
            escape(&mut out, c);
        } else {
            out.push(c);
        }
    }
    out
}

/// JSON for a terminal: the same value, with what is hidden as escapes of JSON.
pub(crate) fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // What is hidden stands inside of strings alone: JSON on one line has no line ends.
        if is_hidden(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ignored = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// The beginning of a text inside a line, with how much of it was left out.
pub(crate) fn excerpt(text: &str, columns: usize) -> String {
    let text = text.trim_end();
    let line = text.lines().next().unwrap_or_default();
    let mut shower = Shower::new(Letters::Kept, false);
    let (mut out, mut used, mut taken) = (String::new(), 0_usize, 0_usize);
    for c in line.chars() {
        let piece = shower.show(c);
        used = used.saturating_add(columns_of(&piece));
        if used > columns {
            break;
        }
        out.push_str(&piece);
        taken = taken.saturating_add(c.len_utf8());
    }
    let left = text.len().saturating_sub(taken);
    if left > 0 {
        let lines = text.lines().count().saturating_sub(1);
        let _ignored = match lines {
            0 => write!(out, " (+{left} bytes)"),
            _ => write!(out, " (+{lines} lines, {left} bytes)"),
        };
    }
    out
}

/// Columns that a piece takes at most: beyond ASCII a character may be two wide.
fn columns_of(piece: &str) -> usize {
    piece
        .chars()
        .map(|c| if c.is_ascii() { 1 } else { 2 })
        .fold(0, usize::saturating_add)
}

/// Lines behind a margin.
pub(crate) fn block(out: &mut String, text: &str, margin: Margin) {
    let paint = Paint {
        letters: margin.letters,
        color: None,
        strong: &[],
    };
    for row in rows::rows(text, margin, usize::MAX, |_| paint) {
        out.push_str(&row.shown);
        out.push('\n');
    }
}

/// The first lines of a text, and how much was left out where it is longer.
pub(crate) fn head(text: &str, lines_max: usize, bytes_max: usize) -> (&str, Option<String>) {
    let mut end = 0_usize;
    for line in text.split_inclusive('\n').take(lines_max) {
        let next = end.saturating_add(line.len());
        if next > bytes_max {
            break;
        }
        end = next;
    }
    if end == 0 {
        // Even the first line is too long: as much of it as fits.
        end = text.floor_char_boundary(bytes_max.min(text.len()));
    }
    let (shown, rest) = text.split_at(end);
    if rest.is_empty() {
        return (text, None);
    }
    let (lines, bytes) = (rest.lines().count(), rest.len());
    let note = format!("{lines} more lines, {bytes} bytes left out: --json has all of it");
    (shown.strip_suffix('\n').unwrap_or(shown), Some(note))
}
