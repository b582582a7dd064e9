//! Which words of a diff changed: lines that were exchanged for each other, word by word.
//!
//! Ranges are of the text itself; what they set apart is neutralised character by character
//! after that, so that no mark stands inside of an escape.

use std::ops::Range;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// Two longer lines are not compared word by word.
const LINE_BYTES_MAX: usize = 1024;

/// Two lines that have less in common were not exchanged for each other.
const RATIO_MIN: f32 = 0.4;

/// How long two lines may be compared; what is not known by then counts as changed.
const TIME_MAX: Duration = Duration::from_millis(20);

/// The bytes of a line that changed, its mark counted.
pub(crate) type Changed = Vec<Range<usize>>;

/// What changed in each line of a unified diff, of its first lines if it has more than `most`.
pub(crate) fn changed(diff: &str, most: usize) -> Vec<Changed> {
    let lines: Vec<&str> = diff.split('\n').take(most).collect();
    let mut changed = vec![Vec::new(); lines.len()];
    let mut at = first_hunk(&lines);
    while at < lines.len() {
        let removed = run(&lines, at, '-');
        let added = run(&lines, removed.end, '+');
        at = added.end.max(at.saturating_add(1));
        for (old, new) in removed.zip(added) {
            let pair = lines.get(old).zip(lines.get(new));
            let Some((one, other)) = pair.and_then(|(old, new)| words(old, new)) else {
                continue;
            };
            for (line, ranges) in [(old, one), (new, other)] {
                if let Some(slot) = changed.get_mut(line) {
                    *slot = ranges;
                }
            }
        }
    }
    changed
}

/// Above its first hunk a diff names files.
fn first_hunk(lines: &[&str]) -> usize {
    let hunk = lines.iter().position(|line| line.starts_with("@@"));
    hunk.unwrap_or(lines.len())
}

/// The lines from `at` on that begin with this mark.
fn run(lines: &[&str], at: usize, mark: char) -> Range<usize> {
    let rest = lines.get(at..).unwrap_or_default();
    let len = rest
        .iter()
        .take_while(|line| line.starts_with(mark))
        .count();
    at..at.saturating_add(len)
}

/// What changed from one line to another, if that is less than most of them.
fn words(old: &str, new: &str) -> Option<(Changed, Changed)> {
    if old.len().max(new.len()) > LINE_BYTES_MAX {
        return None;
    }
    let (old, new) = (old.get(1..)?, new.get(1..)?);
    let (before, after) = (tokens(old), tokens(new));
    let diff = TextDiff::configure()
        .timeout(TIME_MAX)
        .diff_slices(&before, &after);
    if diff.ratio() < RATIO_MIN {
        return None;
    }
    let (mut removed, mut added) = (Spans::default(), Spans::default());
    for change in diff.iter_all_changes() {
        let bytes = change.value().len();
        match change.tag() {
            ChangeTag::Equal => {
                removed.pass(bytes);
                added.pass(bytes);
            }
            ChangeTag::Delete => removed.mark(bytes),
            ChangeTag::Insert => added.mark(bytes),
        }
    }
    Some((removed.ranges, added.ranges))
}

/// The words of a line, the spaces between them, and every other character by itself.
fn tokens(line: &str) -> Vec<&str> {
    #[derive(PartialEq)]
    enum Kind {
        Word,
        Space,
        Mark(usize),
    }
    let kind = |(at, c): (usize, char)| match c {
        c if c.is_alphanumeric() || c == '_' => Kind::Word,
        c if c.is_whitespace() => Kind::Space,
        _ => Kind::Mark(at),
    };
    let mut tokens = Vec::new();
    let mut chars = line.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let first = kind((start, c));
        while chars.next_if(|next| kind(*next) == first).is_some() {}
        let end = chars.peek().map_or(line.len(), |(at, _)| *at);
        tokens.extend(line.get(start..end));
    }
    tokens
}

/// Ranges of a line, as they are walked over.
struct Spans {
    ranges: Vec<Range<usize>>,
    at: usize,
}

impl Default for Spans {
    /// After the mark of the line.
    fn default() -> Self {
        Self {
            ranges: Vec::new(),
            at: 1,
        }
    }
}

impl Spans {
    fn pass(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    fn mark(&mut self, bytes: usize) {
        let end = self.at.saturating_add(bytes);
        match self.ranges.last_mut() {
            Some(last) if last.end == self.at => last.end = end,
            _ => self.ranges.push(self.at..end),
        }
        self.at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The diff with what changed in brackets.
    fn marked(diff: &str) -> String {
        let lines = diff
            .split('\n')
            .zip(changed(diff, usize::MAX))
            .map(|(line, ranges)| {
                let mut line = line.to_owned();
                for range in ranges.into_iter().rev() {
                    line.insert(range.end, ']');
                    line.insert(range.start, '[');
                }
                line
            });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn lines_that_were_exchanged_have_their_changed_words_set_apart() {
        for (diff, shown) in [
            (
                "@@ -1 +1 @@\n-milk and eggs\n+milk and bread",
                "@@ -1 +1 @@\n-milk and [eggs]\n+milk and [bread]",
            ),
            (
                "@@ -1,2 +1,2 @@\n-let a = 1;\n-let b = 2;\n+let a = 10;\n+let c = 2;",
                "@@ -1,2 +1,2 @@\n-let a = [1];\n-let [b] = 2;\n+let a = [10];\n+let [c] = 2;",
            ),
            // Lines that were added beside.
            (
                "@@ -1 +1,2 @@\n-milk\n+oat milk\n+eggs",
                "@@ -1 +1,2 @@\n-milk\n+[oat ]milk\n+eggs",
            ),
            // A word that was only added.
            (
                "@@ -1 +1 @@\n-one three\n+one two three",
                "@@ -1 +1 @@\n-one three\n+one [two ]three",
            ),
            // Characters of several bytes are never split.
            (
                "@@ -1 +1 @@\n-caf\u{e9} cr\u{e8}me br\u{fb}l\u{e9}e\n+caf\u{e9} cr\u{e9}me br\u{fb}l\u{e9}e",
                "@@ -1 +1 @@\n-caf\u{e9} [cr\u{e8}me] br\u{fb}l\u{e9}e\n+caf\u{e9} [cr\u{e9}me] br\u{fb}l\u{e9}e",
            ),
        ] {
            assert_eq!(marked(diff), shown);
        }
    }

    #[test]
    fn nothing_is_set_apart_where_no_line_became_another() {
        for diff in [
            "",
            "--- a/notes.txt\n+++ b/notes.txt",
            "--- a/one two\n+++ b/one three\n@@ -1 +1,2 @@\n milk\n+eggs",
            "@@ -1 +1 @@\n-milk\n+an entirely different sentence of words",
            "@@ -1 +1 @@\n-\n+\n",
        ] {
            assert_eq!(marked(diff), diff);
        }
        let long = "word ".repeat(1000);
        let diff = format!("@@ -1 +1 @@\n-{long}a\n+{long}b");
        assert_eq!(marked(&diff), diff);
    }
}
