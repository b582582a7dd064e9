//! A place in the text of a command, and how it moves on.

/// What a shell drops before it reads anything else.
const CONTINUATION: &str = "\\\n";

/// A place in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// The start of a text.
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Bytes from the start.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next character, after a backslash and a newline as if they were not there.
    pub(super) fn peek(&mut self) -> Option<char> {
        while self.rest().starts_with(CONTINUATION) {
            self.skip(CONTINUATION.len());
        }
        self.peek_raw()
    }

    /// The next character as it stands.
    pub(super) fn peek_raw(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes the next character as it stands.
    pub(super) fn take_raw(&mut self) -> Option<char> {
        let next = self.peek_raw()?;
        self.skip(next.len_utf8());
        Some(next)
    }

    /// Takes the next character if it is this one, after what [`Self::peek`] drops.
    pub(super) fn take_if(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.skip(wanted.len_utf8());
        }
        is_next
    }

    /// Moves on by so many bytes.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }
}
