//! What goes on while a run is driven: the model's text as it arrives, or one line that says what
//! is waited for and how long already. Times come in; what is to be written comes out.

use super::card::Look;
use super::stream::{ERASE, Stream};

/// What goes on.
pub(crate) struct Progress {
    look: Look,
    stream: Stream,
    what: Option<(String, u64)>,
    drawn: Option<u64>,
}

impl Progress {
    /// Nothing yet.
    pub(crate) fn new(look: &Look) -> Self {
        Self {
            look: look.clone(),
            stream: Stream::new(look),
            what: None,
            drawn: None,
        }
    }

    /// Something begins, and text that was arriving is at its end.
    pub(crate) fn begin(&mut self, what: String, now_ms: u64) -> String {
        let out = self.end();
        self.what = Some((what, now_ms));
        out + &self.tick(now_ms)
    }

    /// A piece of text arrived: it is its own sign that something goes on.
    pub(crate) fn heard(&mut self, piece: &str) -> String {
        self.what = None;
        self.drawn = None;
        self.stream.push(piece)
    }

    /// Time passed: the line again, if it changed.
    pub(crate) fn tick(&mut self, now_ms: u64) -> String {
        let Some((what, since)) = &self.what else {
            return String::new();
        };
        let seconds = now_ms.saturating_sub(*since) / 1000;
        if self.drawn.replace(seconds) == Some(seconds) {
            return String::new();
        }
        let line = format!("{what} {seconds} s");
        // A row that the terminal breaks is not erased as one.
        let line: String = line
            .chars()
            .take(self.look.width.saturating_sub(1))
            .collect();
        format!("{ERASE}{line}")
    }

    /// Leaves nothing behind but text that arrived.
    pub(crate) fn end(&mut self) -> String {
        self.what = None;
        let erase = self.drawn.take().map_or("", |_| ERASE);
        format!("{erase}{}", self.stream.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(width: usize) -> Progress {
        Progress::new(&Look {
            color: false,
            width,
            now: "2026-12-01T09:00:00.000000Z".parse().unwrap(),
            program: "placet".into(),
            reasons: std::collections::BTreeMap::new(),
        })
    }

    #[test]
    fn a_line_counts_the_seconds_and_is_gone_at_the_end() {
        let mut shown = progress(80);
        assert_eq!(shown.tick(0), "");
        let began = shown.begin("asking the model".into(), 1_000);
        assert_eq!(began, "\r\x1b[Kasking the model 0 s");
        assert_eq!(shown.tick(1_900), "");
        assert_eq!(shown.tick(2_000), "\r\x1b[Kasking the model 1 s");
        let next = shown.begin("running c2 write_file".into(), 2_500);
        assert_eq!(next, "\r\x1b[K\r\x1b[Krunning c2 write_file 0 s");
        assert_eq!(shown.end(), "\r\x1b[K");
        assert_eq!(shown.tick(9_000), "");
        assert_eq!(shown.end(), "");
    }

    #[test]
    fn text_that_arrives_takes_the_place_of_the_line() {
        let mut shown = progress(80);
        shown.begin("asking the model".into(), 0);
        assert_eq!(shown.heard("I add"), "\r\x1b[K    | I add");
        assert_eq!(shown.tick(5_000), "");
        assert_eq!(shown.heard(" eggs\n"), "\r\x1b[K    | I add eggs\n    |");
        assert_eq!(shown.end(), "\r\x1b[K    |\n");
    }

    #[test]
    fn the_line_never_fills_a_row() {
        let began = progress(20).begin("running c2 write_file".into(), 0);
        assert_eq!(began, "\r\x1b[Krunning c2 write_fi");
    }
}
