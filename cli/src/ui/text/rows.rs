//! Text of several lines as rows of a screen, each behind a margin that is drawn here.
//!
//! A row is built from whole characters as they are shown, so that neither a break nor a colour
//! ever stands inside of an escape. It knows how much of the text it shows: whoever leaves rows
//! out can say how much that is.

use std::ops::Range;

use super::{Letters, Margin, Shower, columns_of};

/// What sets changed words apart where there is colour; it ends without ending the colour.
pub(crate) const STRONG: (&str, &str) = ("\x1b[1;4m", "\x1b[22;24m");

/// How one line of a block is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint<'a> {
    /// How its letters are written.
    pub(crate) letters: Letters,
    /// The codes that begin and end its colour.
    pub(crate) color: Option<(&'static str, &'static str)>,
    /// Bytes of the line that are set apart, in order.
    pub(crate) strong: &'a [Range<usize>],
}

/// A row of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// What stands in it, with its margin.
    pub(crate) shown: String,
    /// Whether a line of the text begins with it.
    pub(crate) first: bool,
    /// How many lines of the text begin in it.
    pub(crate) lines: usize,
    /// Bytes of the text that it shows, the end of the line included.
    pub(crate) bytes: usize,
}

/// One character as it is shown.
struct Cell {
    piece: String,
    strong: bool,
    bytes: usize,
}

/// Builds the rows of one line after another, character by character.
pub(crate) struct RowBuilder {
    margin: Margin,
    color: Option<(&'static str, &'static str)>,
    shower: Shower,
    cells: Vec<Cell>,
    used: usize,
    first: bool,
    /// A space that may turn out to be the last character of its line, where it is not seen.
    held: Option<bool>,
}

impl RowBuilder {
    /// Before the first character of a line.
    pub(crate) fn new(
        margin: Margin,
        letters: Letters,
        color: Option<(&'static str, &'static str)>,
    ) -> Self {
        Self {
            margin,
            color,
            shower: Shower::new(letters, false),
            cells: Vec::new(),
            used: 0,
            first: true,
            held: None,
        }
    }

    /// Takes in the next character, which is no line end; tells the rows that are full.
    pub(crate) fn push(&mut self, c: char, strong: bool, rows: &mut Vec<Row>) {
        rows.extend(self.release(" "));
        if c == ' ' {
            self.held = Some(strong);
        } else {
            let piece = self.shower.show(c);
            rows.extend(self.put(piece, strong, c.len_utf8()));
        }
    }

    /// Ends the line: tells its last rows.
    pub(crate) fn end(&mut self, rows: &mut Vec<Row>) {
        rows.extend(self.release("\\x20"));
        let mut last = self.row();
        last.bytes = last.bytes.saturating_add(1);
        rows.push(last);
        self.first = true;
        self.shower = Shower::new(self.shower.letters, false);
    }

    /// The row as far as it is known.
    pub(crate) fn so_far(&self) -> String {
        self.render(&self.cells)
    }

    /// Puts the space that was held back.
    fn release(&mut self, piece: &str) -> Option<Row> {
        let strong = self.held.take()?;
        // A space ends a tower of marks, as every other character does.
        self.shower.show(' ');
        self.put(piece.to_owned(), strong, 1)
    }

    fn put(&mut self, piece: String, strong: bool, bytes: usize) -> Option<Row> {
        let wide = columns_of(&piece);
        let full = self.used.saturating_add(wide) > self.room();
        let row = full.then(|| {
            let next = self.cells.split_off(self.break_at());
            let row = self.row();
            self.used = columns(&next);
            self.cells = next;
            row
        });
        self.used = self.used.saturating_add(wide);
        self.cells.push(Cell {
            piece,
            strong,
            bytes,
        });
        row
    }

    /// Both "| " and the column in which a terminal waits to break the row are left free.
    fn room(&self) -> usize {
        let taken = self.margin.indent.saturating_add(3);
        self.margin.width.saturating_sub(taken).max(20)
    }

    /// Before a space where one is near; the space goes to the next row, where it is seen.
    fn break_at(&self) -> usize {
        let space = self.cells.iter().rposition(|cell| cell.piece == " ");
        let near = |at: &usize| {
            let after = self.cells.get(*at..).map_or(0, columns);
            after < self.used / 2
        };
        space.filter(near).unwrap_or(self.cells.len())
    }

    fn row(&mut self) -> Row {
        let cells = std::mem::take(&mut self.cells);
        let row = Row {
            shown: self.render(&cells),
            first: self.first,
            lines: usize::from(self.first),
            bytes: cells.iter().map(|cell| cell.bytes).sum(),
        };
        self.used = 0;
        self.first = false;
        row
    }

    fn render(&self, cells: &[Cell]) -> String {
        let bar = if self.first { '|' } else { '>' };
        let mut out = format!("{:indent$}{bar}", "", indent = self.margin.indent);
        if cells.is_empty() {
            return out;
        }
        let (begin, end) = self.color.unwrap_or_default();
        out.push(' ');
        out.push_str(begin);
        let mut strong = false;
        for cell in cells {
            if cell.strong != strong {
                out.push_str(if cell.strong { STRONG.0 } else { STRONG.1 });
                strong = cell.strong;
            }
            out.push_str(&cell.piece);
        }
        if strong {
            out.push_str(STRONG.1);
        }
        out.push_str(end);
        out
    }
}

fn columns(cells: &[Cell]) -> usize {
    cells.iter().map(|cell| columns_of(&cell.piece)).sum()
}

/// The rows of a text; `paint` is asked for each of its lines, in order. Where there are more than
/// `most`, one more stands for all the others: it tells how much that is, and shows nothing.
pub(crate) fn rows<'m>(
    text: &str,
    margin: Margin,
    most: usize,
    mut paint: impl FnMut(&str) -> Paint<'m>,
) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in text.split('\n') {
        let Paint {
            letters,
            color,
            strong,
        } = paint(line);
        let mut builder = RowBuilder::new(margin, letters, color);
        for (at, c) in line.char_indices() {
            let strong = strong.iter().any(|range| range.contains(&at));
            builder.push(c, strong, &mut rows);
            if rows.len() > most {
                break;
            }
        }
        builder.end(&mut rows);
        if rows.len() > most {
            return cut(text, rows, most);
        }
    }
    // After the last line there is no line end.
    if let Some(last) = rows.last_mut() {
        last.bytes = last.bytes.saturating_sub(1);
    }
    rows
}

/// The first rows of a text, and one that stands for the rest of it.
fn cut(text: &str, mut rows: Vec<Row>, most: usize) -> Vec<Row> {
    let first = rows.get(most).is_some_and(|row| row.first);
    rows.truncate(most);
    let begun: usize = rows.iter().map(|row| row.lines).sum();
    let shown: usize = rows.iter().map(|row| row.bytes).sum();
    let lines = text.split('\n').count();
    rows.push(Row {
        shown: String::new(),
        first,
        lines: lines.saturating_sub(begun),
        bytes: text.len().saturating_sub(shown),
    });
    rows
}
