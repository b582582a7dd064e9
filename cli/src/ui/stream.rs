//! Text of a model while it arrives: behind its margin, piece by piece, as a block shows the whole.

use super::card::Look;
use super::text::Letters;
use super::text::rows::RowBuilder;

/// To the first column, and what stands in the row is gone.
pub(crate) const ERASE: &str = "\r\x1b[K";

/// Text that is still arriving.
pub(crate) struct Stream {
    rows: RowBuilder,
    open: bool,
}

impl Stream {
    /// Before the first piece.
    pub(crate) fn new(look: &Look) -> Self {
        Self {
            rows: RowBuilder::new(look.margin(Letters::Kept), Letters::Kept, None),
            open: false,
        }
    }

    /// What is written for a further piece: rows that are full, then the one that is not, again.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut full = Vec::new();
        for c in piece.chars() {
            if c == '\n' {
                self.rows.end(&mut full);
            } else {
                self.rows.push(c, false, &mut full);
            }
        }
        self.open = true;
        let mut out = String::from(ERASE);
        for row in full {
            out.push_str(&row.shown);
            out.push('\n');
        }
        out.push_str(&self.rows.so_far());
        out
    }

    /// What is written at the end of the text, if there was any.
    pub(crate) fn end(&mut self) -> String {
        if !std::mem::take(&mut self.open) {
            return String::new();
        }
        let mut last = Vec::new();
        self.rows.end(&mut last);
        let last = last.into_iter().map(|row| row.shown + "\n");
        std::iter::once(ERASE.to_owned()).chain(last).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text;

    fn look(width: usize) -> Look {
        Look {
            color: false,
            width,
            now: "2026-12-01T09:00:00.000000Z".parse().unwrap(),
            program: "placet".into(),
            reasons: std::collections::BTreeMap::new(),
        }
    }

    /// What stands on a screen to which this was written.
    fn screen(written: &str) -> String {
        let lines = written.split('\n').map(|line| match line.rfind(ERASE) {
            Some(at) => &line[at + ERASE.len()..],
            None => line,
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn pieces_come_to_what_the_whole_text_is_shown_as_wherever_they_are_cut() {
        let fixture = include_str!("../../tests/fixtures/hostile.json");
        let mut texts: Vec<String> = serde_json::from_str(fixture).unwrap();
        texts.push("a word and another ".repeat(12));
        texts.push("\u{5bbd}\u{5b57} ".repeat(40));
        for text in texts {
            let look = look(40);
            let mut whole = String::new();
            text::block(&mut whole, &text, look.margin(Letters::Kept));
            // Long texts at some places; character by character they are cut at every one below.
            let cuts = (0..=text.len()).step_by((text.len() / 60).max(1));
            for cut in cuts.filter(|at| text.is_char_boundary(*at)) {
                let mut stream = Stream::new(&look);
                let (one, other) = text.split_at(cut);
                let written = stream.push(one) + &stream.push(other) + &stream.end();
                assert_eq!(screen(&written), whole, "{text:?} cut at {cut}");
            }
            let mut stream = Stream::new(&look);
            let mut written = String::new();
            for c in text.chars() {
                written.push_str(&stream.push(c.encode_utf8(&mut [0; 4])));
            }
            let hidden = |c| c != '\n' && text::is_hidden(c);
            assert!(!written.replace(ERASE, "").chars().any(hidden), "{text:?}");
            if !text.is_empty() {
                assert_eq!(
                    screen(&(written + &stream.end())),
                    whole,
                    "{text:?} by character"
                );
            }
        }
    }

    #[test]
    fn nothing_is_written_where_nothing_came() {
        assert_eq!(Stream::new(&look(40)).end(), "");
    }
}
