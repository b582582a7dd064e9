//! What is kept of an output: its beginning and its end, and how much lies between.

use std::collections::VecDeque;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::Kept;

/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// An output that is being read: it is read to its end, however much of it is kept, so that the
/// process that writes never waits.
#[derive(Debug)]
pub(super) struct Keeper {
    head: Vec<u8>,
    head_bytes: usize,
    tail: VecDeque<u8>,
    tail_bytes: usize,
    cut: u64,
}

impl Keeper {
    /// Keeps so many bytes of the beginning and of the end.
    pub(super) fn new(head_bytes: usize, tail_bytes: usize) -> Self {
        Self {
            head: Vec::new(),
            head_bytes,
            tail: VecDeque::new(),
            tail_bytes,
            cut: 0,
        }
    }

    /// Takes what was written next.
    fn push(&mut self, bytes: &[u8]) {
        let room = self.head_bytes.saturating_sub(self.head.len());
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.tail_bytes);
        self.tail.drain(..over);
        self.cut = self
            .cut
            .saturating_add(u64::try_from(over).unwrap_or(u64::MAX));
    }

    /// Reads to the end.
    pub(super) async fn read(&mut self, mut from: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        loop {
            let length = from.read(&mut chunk).await?;
            if length == 0 {
                return Ok(());
            }
            self.push(chunk.get(..length).unwrap_or_default());
        }
    }

    /// What is kept.
    pub(super) fn kept(self) -> Kept {
        Kept {
            head: self.head,
            cut: self.cut,
            tail: self.tail.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_both_ends_and_counts_what_lies_between() {
        for (written, head, cut, tail) in [
            (&[][..], "", 0, ""),
            (&["ab"], "ab", 0, ""),
            (&["abcd"], "abcd", 0, ""),
            (&["ab", "cdef"], "abcd", 0, "ef"),
            (&["abcdefg"], "abcd", 0, "efg"),
            (&["abcdefgh"], "abcd", 1, "fgh"),
            (&["a", "bcdefghijk", "l", "m"], "abcd", 6, "klm"),
        ] {
            let mut keeper = Keeper::new(4, 3);
            for bytes in written {
                keeper.push(bytes.as_bytes());
            }
            let expected = Kept {
                head: head.into(),
                cut,
                tail: tail.into(),
            };
            assert_eq!(keeper.kept(), expected, "{written:?}");
        }
    }
}
