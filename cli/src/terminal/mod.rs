//! The terminal of a person who is asked: its keys, its size, its screen, and their own programs.
//!
//! [`Screen`] is the real one; tests hand in one that reads its keys from a list. Whatever way a
//! program ends, [`restore`] leaves the terminal as it was found.

mod programs;
mod screen;

use std::io;

use placet_engine::stop::Stop;

pub use programs::Programs;
pub use screen::{Screen, restore};

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

/// A key, as far as a dialog tells keys apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-U.
    Clear,
    /// Text that was pasted: it is never taken for keys.
    Paste(String),
    /// Any other key.
    Other,
}

/// What a person or the system did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// A key was pressed.
    Key(Key),
    /// The window has another size.
    Resized,
    /// The process was asked to stop.
    Stopped,
}

/// The terminal of a person who is asked.
pub trait Terminal: Send {
    /// Columns and rows.
    fn size(&self) -> Size;

    /// Takes the whole screen and every key, until [`Terminal::leave`].
    fn enter(&mut self) -> io::Result<()>;

    /// Gives the screen back as it was before.
    fn leave(&mut self);

    /// Shows these rows and nothing else.
    fn draw(&mut self, rows: &[String]) -> io::Result<()>;

    /// Throws away what was typed so far.
    fn discard(&mut self) -> io::Result<()>;

    /// Waits for what happens next.
    fn next(&mut self, stop: &Stop) -> io::Result<Happening>;

    /// Shows a text in the person's pager, or as a whole where there is none.
    fn page(&mut self, text: &str, stop: &Stop) -> io::Result<()>;

    /// Has a text changed in the person's editor, in a file whose name ends with `suffix`.
    fn edit(&mut self, text: &str, suffix: &str) -> io::Result<String>;
}
