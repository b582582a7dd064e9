//! Unified diffs for people who decide: bounded in time and in size, and plain about what is cut.
//!
//! Lines end at line feeds alone, as `patch` reads them. What is left out is told on a last line
//! that begins with a backslash, which no line of a file can imitate.

#[cfg(test)]
mod tests;

use core::ops::Range;
use core::time::Duration;
use std::fmt::Write;

use similar::{DiffOp, TextDiff, group_diff_ops};

/// Bytes of one diff: more than a person reads, and well below what a terminal chokes on.
pub const DIFF_BYTES_MAX: usize = 256 * 1024;

/// Lines between the first and the last change that are compared one by one; beyond that the whole
/// stretch is shown as replaced, so that memory stays bounded.
const LINES_MAX: usize = 200_000;

/// Time for the comparison, after which it goes on coarsely: nobody waits for a finer diff.
const TIME_MAX: Duration = Duration::from_millis(500);

/// Lines shown around a change.
const CONTEXT_LINES: usize = 3;

/// A unified diff and what it amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The diff, cut to [`DIFF_BYTES_MAX`].
    pub text: String,
    /// Lines added, also those that were cut.
    pub added: usize,
    /// Lines removed, also those that were cut.
    pub removed: usize,
}

impl Diff {
    /// Such as `1 line added, 2 removed`.
    pub fn summary(&self) -> String {
        let lines = |count| if count == 1 { "line" } else { "lines" };
        match (self.added, self.removed) {
            (0, 0) => "no line changed".into(),
            (added, 0) => format!("{added} {} added", lines(added)),
            (0, removed) => format!("{removed} {} removed", lines(removed)),
            (added, removed) => format!("{added} {} added, {removed} removed", lines(added)),
        }
    }
}

/// The diff from `old` to `new`, of which `None` stands for no file.
pub fn unified(path: &str, old: Option<&str>, new: Option<&str>) -> Diff {
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".into(),
    };
    let mut page = Page::default();
    page.line("--- ", &name("a", old), "\n");
    page.line("+++ ", &name("b", new), "\n");
    let window = Window::new(old.unwrap_or_default(), new.unwrap_or_default());
    let ops = window.compare();
    let (mut added, mut removed) = (0_usize, 0_usize);
    for op in &ops {
        if !matches!(op, DiffOp::Equal { .. }) {
            added = added.saturating_add(op.new_range().len());
            removed = removed.saturating_add(op.old_range().len());
        }
    }
    for hunk in group_diff_ops(ops, CONTEXT_LINES) {
        window.hunk(&hunk, &mut page);
    }
    Diff {
        text: page.finish(),
        added,
        removed,
    }
}

/// The lines from the first change to the last, with their context.
struct Window<'a> {
    /// Lines before the window, which are the same on both sides.
    above: usize,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    /// Lines at the beginning of the window that are context.
    head: usize,
    /// Lines at its end that are context.
    tail: usize,
}

impl<'a> Window<'a> {
    fn new(old: &'a str, new: &'a str) -> Self {
        let same = common_prefix(old, new);
        let (above, old) = old.split_at_checked(same).unwrap_or(("", old));
        let (_, new) = new.split_at_checked(same).unwrap_or(("", new));
        let below = common_suffix(old, new);
        let split = |text: &'a str| {
            let at = text.len().saturating_sub(below);
            text.split_at_checked(at).unwrap_or((text, ""))
        };
        let ((old, after), (new, _)) = (split(old), split(new));
        let mut before: Vec<_> = above
            .split_inclusive('\n')
            .rev()
            .take(CONTEXT_LINES)
            .collect();
        before.reverse();
        let after: Vec<_> = after.split_inclusive('\n').take(CONTEXT_LINES).collect();
        let lines = |text: &'a str| {
            let mut lines = before.clone();
            lines.extend(text.split_inclusive('\n'));
            lines.extend(&after);
            lines
        };
        Self {
            above: count_lines(above).saturating_sub(before.len()),
            old: lines(old),
            new: lines(new),
            head: before.len(),
            tail: after.len(),
        }
    }

    fn compare(&self) -> Vec<DiffOp> {
        if self.old.len().saturating_add(self.new.len()) <= LINES_MAX {
            let diff = TextDiff::configure()
                .timeout(TIME_MAX)
                .diff_slices(&self.old, &self.new);
            return diff.ops().to_vec();
        }
        let changed = |lines: &[&str]| {
            let len = lines.len().saturating_sub(self.head);
            len.saturating_sub(self.tail)
        };
        let (old_len, new_len) = (changed(&self.old), changed(&self.new));
        vec![
            DiffOp::Equal {
                old_index: 0,
                new_index: 0,
                len: self.head,
            },
            DiffOp::Replace {
                old_index: self.head,
                old_len,
                new_index: self.head,
                new_len,
            },
            DiffOp::Equal {
                old_index: self.head.saturating_add(old_len),
                new_index: self.head.saturating_add(new_len),
                len: self.tail,
            },
        ]
    }

    fn hunk(&self, ops: &[DiffOp], page: &mut Page) {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else {
            return;
        };
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        let header = format!("@@ -{} +{} @@", self.range(&old), self.range(&new));
        page.line(&header, "", "\n");
        for op in ops {
            if let DiffOp::Equal { .. } = op {
                page.lines(" ", self.old.get(op.old_range()));
            } else {
                page.lines("-", self.old.get(op.old_range()));
                page.lines("+", self.new.get(op.new_range()));
            }
        }
    }

    /// First line and number of lines, as hunk headers write them: the number is left out if it is
    /// 1, and an empty range names the line before it.
    fn range(&self, lines: &Range<usize>) -> String {
        let start = self.above.saturating_add(lines.start);
        match lines.len() {
            0 => format!("{start},0"),
            1 => start.saturating_add(1).to_string(),
            len => format!("{},{len}", start.saturating_add(1)),
        }
    }
}

/// Bytes at the beginning of both texts that are the same whole lines.
fn common_prefix(old: &str, new: &str) -> usize {
    let same = old
        .bytes()
        .zip(new.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    if same == old.len() && same == new.len() {
        return same;
    }
    let bytes = old.as_bytes().get(..same).unwrap_or_default();
    bytes
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at.saturating_add(1))
}

/// Bytes at the end of both texts that are the same whole lines. The first line that only ends
/// alike is no part of them.
fn common_suffix(old: &str, new: &str) -> usize {
    let same = old
        .bytes()
        .rev()
        .zip(new.bytes().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let start = old.len().saturating_sub(same);
    let bytes = old.as_bytes().get(start..).unwrap_or_default();
    bytes
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(0, |at| same.saturating_sub(at.saturating_add(1)))
}

fn count_lines(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

/// The diff as far as it fits, and how much does not.
#[derive(Default)]
struct Page {
    text: String,
    lines_cut: usize,
    bytes_cut: usize,
}

impl Page {
    fn line(&mut self, mark: &str, line: &str, end: &str) {
        let bytes = mark
            .len()
            .saturating_add(line.len())
            .saturating_add(end.len());
        // Once cut, nothing follows: a gap in the middle would read as a whole.
        if self.lines_cut > 0 || self.text.len().saturating_add(bytes) > DIFF_BYTES_MAX {
            self.lines_cut = self.lines_cut.saturating_add(1);
            self.bytes_cut = self.bytes_cut.saturating_add(bytes);
        } else {
            self.text.push_str(mark);
            self.text.push_str(line);
            self.text.push_str(end);
        }
    }

    fn lines(&mut self, mark: &str, lines: Option<&[&str]>) {
        for line in lines.unwrap_or_default() {
            if line.ends_with('\n') {
                self.line(mark, line, "");
            } else {
                self.line(mark, line, "\n\\ No newline at end of file\n");
            }
        }
    }

    fn finish(mut self) -> String {
        if self.lines_cut > 0 {
            let lines = if self.lines_cut == 1 { "line" } else { "lines" };
            // Writing to a string does not fail.
            let _ = writeln!(
                self.text,
                "\\ {} {lines} ({} bytes) of this diff left out",
                self.lines_cut, self.bytes_cut
            );
        }
        self.text
    }
}
