//! A line that a person writes.

/// Characters of a line: what is longer belongs into a message, not into a note.
const CHARS_MAX: usize = 2000;

/// A line that a person writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Line(String);

impl Line {
    /// As far as it is written.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// A further character; none beyond the limit, and none that a person cannot see.
    pub(super) fn push(&mut self, c: char) {
        if self.0.chars().count() < CHARS_MAX && !c.is_control() {
            self.0.push(c);
        }
    }

    /// Text that was pasted; its line ends become spaces.
    pub(super) fn paste(&mut self, text: &str) {
        for c in text.chars() {
            self.push(if c.is_whitespace() { ' ' } else { c });
        }
    }

    /// Without its last character.
    pub(super) fn pop(&mut self) {
        self.0.pop();
    }

    /// Empty again.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
