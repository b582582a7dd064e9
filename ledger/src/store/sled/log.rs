//! The small log in front of sled: what an answer waits for is one write and one sync here.
//!
//! Two files of zeros, *halves*, are filled by turns with frames:
//!
//! ```text
//! u32 length of the body | u64 epoch | u64 first position | body | 16 B of BLAKE3 over all before
//! ```
//!
//! Numbers are big-endian; the body is entries with consecutive positions (`entry`). All frames of
//! a half have its epoch, and each time a half is begun anew its epoch is larger than any before:
//! another epoch or a wrong sum ends what is read of a half. A half is begun anew only once sled
//! holds all of it, durably. The files are allocated ahead, since a sync that must also write the
//! size of a file waits twice; a frame that is larger than a half makes its file larger.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::entry::Entry;
use crate::digest::checksum;
use crate::regular;

/// Bytes of a half at first: small, since most homes hold little.
pub(super) const HALF_BYTES: u64 = 1024 * 1024;

/// Bytes to which a half grows where appends come faster than sled takes them.
pub(super) const HALF_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Length, epoch and first position.
const HEAD_BYTES: usize = 20;

const SUM_BYTES: usize = 16;

/// One of the two halves.
pub(super) type Half = usize;

/// The other half.
pub(super) const fn other(half: Half) -> Half {
    1_usize.saturating_sub(half)
}

/// A frame that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) epoch: u64,
    pub(super) first: u64,
    pub(super) entries: Vec<Entry>,
    /// Bytes that it takes.
    pub(super) length: u64,
}

impl Frame {
    /// The position after its last record.
    pub(super) fn end(&self) -> u64 {
        self.first.saturating_add(self.entries.len() as u64)
    }
}

/// The frames of a half, up to where they end.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) frames: Vec<Frame>,
    /// Where the next frame would begin.
    pub(super) end: u64,
    /// Whether there is a frame with newer records behind something that is none: no crash leaves
    /// that.
    pub(super) broken: bool,
}

pub(super) fn path(folder: &Path, half: Half) -> PathBuf {
    folder.join(half.to_string())
}

/// Makes both halves in a folder that exists.
pub(super) fn create(folder: &Path) -> io::Result<()> {
    for half in 0..2 {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path(folder, half))?;
        fill(&file, 0, HALF_BYTES)?;
        file.sync_all()?;
    }
    File::open(folder)?.sync_all()
}

/// Writes zeros from `from` up to `to`.
fn fill(file: &File, from: u64, to: u64) -> io::Result<()> {
    static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];
    let mut at = from;
    while at < to {
        let left = usize::try_from(to.saturating_sub(at)).unwrap_or(ZEROS.len());
        let zeros = ZEROS.get(..left).unwrap_or(&ZEROS);
        file.write_all_at(zeros, at)?;
        at = at.saturating_add(zeros.len() as u64);
    }
    Ok(())
}

/// Opens a half, to be read or to be written to as well.
pub(super) fn open(folder: &Path, half: Half, write: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    regular::open(options.read(true).write(write), &path(folder, half))
}

/// Makes a half larger, durably.
pub(super) fn grow(file: &File, to: u64) -> io::Result<u64> {
    let from = file.metadata()?.len();
    if from < to {
        fill(file, from, to)?;
        file.sync_all()?;
    }
    Ok(from.max(to))
}

/// Makes the bytes of a frame, in place of what was there.
pub(super) fn encode<'a>(
    bytes: &mut Vec<u8>,
    epoch: u64,
    first: u64,
    entries: impl IntoIterator<Item = &'a Entry>,
) {
    bytes.clear();
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&epoch.to_be_bytes());
    bytes.extend_from_slice(&first.to_be_bytes());
    for entry in entries {
        entry.encode(bytes);
    }
    // A group has far less than 4 GiB.
    let length = u32::try_from(bytes.len().saturating_sub(HEAD_BYTES)).unwrap_or(u32::MAX);
    if let Some(place) = bytes.first_chunk_mut() {
        *place = length.to_be_bytes();
    }
    let sum = checksum(bytes);
    bytes.extend_from_slice(&sum);
}

/// Reads the frames of a half, of a store whose rows end at a position.
pub(super) fn read(file: &File, end: u64) -> io::Result<Read> {
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(parse(&bytes, end))
}

fn parse(bytes: &[u8], end: u64) -> Read {
    let mut read = Read::default();
    let mut rest = bytes;
    while let Some(frame) = decode(rest) {
        let follows = read
            .frames
            .last()
            .is_none_or(|last| last.epoch == frame.epoch && last.end() == frame.first);
        if !follows {
            break;
        }
        let length = usize::try_from(frame.length).unwrap_or(usize::MAX);
        rest = rest.get(length..).unwrap_or_default();
        read.end = read.end.saturating_add(frame.length);
        read.frames.push(frame);
    }
    let known = read.frames.last().map_or(0, Frame::end);
    read.broken = goes_on(rest, end.max(known));
    read
}

/// Whether a whole frame with records from `end` on begins anywhere after the first byte.
fn goes_on(bytes: &[u8], end: u64) -> bool {
    let heads = bytes.windows(HEAD_BYTES).enumerate().skip(1);
    heads
        .filter(|(_, head)| may_begin(head, end))
        .any(|(at, _)| decode(bytes.get(at..).unwrap_or_default()).is_some())
}

/// Whether a frame with records from `end` on may begin like this. A half is full of old sealed
/// bytes: what they would be taken for must not be summed, since most of it would go on for long.
fn may_begin(head: &[u8], end: u64) -> bool {
    let Some((length, rest)) = head.split_first_chunk::<4>() else {
        return false;
    };
    let Some((epoch, rest)) = rest.split_first_chunk() else {
        return false;
    };
    let Some(first) = rest.first_chunk() else {
        return false;
    };
    let ahead = u64::from_be_bytes(*first).checked_sub(end);
    *length != [0; 4]
        && u32::try_from(u64::from_be_bytes(*epoch)).is_ok()
        && ahead.is_some_and(|ahead| u32::try_from(ahead).is_ok())
}

/// The frame that the bytes begin with; `None` where there is none.
fn decode(bytes: &[u8]) -> Option<Frame> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (epoch, rest) = rest.split_first_chunk()?;
    let (first, _) = rest.split_first_chunk()?;
    let summed = length.checked_add(HEAD_BYTES)?;
    let (summed, rest) = bytes.split_at_checked(summed)?;
    let (sum, _) = rest.split_first_chunk::<SUM_BYTES>()?;
    if length == 0 || checksum(summed) != *sum {
        return None;
    }
    let entries = Entry::decode_all(summed.get(HEAD_BYTES..)?)?;
    Some(Frame {
        epoch: u64::from_be_bytes(*epoch),
        first: u64::from_be_bytes(*first),
        entries,
        length: summed.len().checked_add(SUM_BYTES)? as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::super::entry::tests::entry;
    use super::*;

    /// The bytes of one frame.
    fn frame(epoch: u64, first: u64, entries: &[Entry]) -> Vec<u8> {
        let mut bytes = b"the frame before".to_vec();
        encode(&mut bytes, epoch, first, entries);
        bytes
    }

    /// Two frames of one epoch, of three and two records, then zeros.
    fn half() -> (Vec<u8>, usize) {
        let entries: Vec<_> = (0..5).map(|number| entry(number, 40, &[30])).collect();
        let mut bytes = frame(7, 10, &entries[..3]);
        let first = bytes.len();
        bytes.extend(frame(7, 13, &entries[3..]));
        bytes.resize(bytes.len() + 500, 0);
        (bytes, first)
    }

    #[test]
    fn frames_are_read_up_to_their_end() {
        let (bytes, first) = half();
        let read = parse(&bytes, 10);
        let firsts: Vec<_> = read.frames.iter().map(|frame| frame.first).collect();
        assert_eq!((firsts, read.broken), (vec![10, 13], false));
        assert_eq!(read.end, bytes.len() as u64 - 500);
        assert_eq!(read.frames[0].length, first as u64);
    }

    #[test]
    fn a_last_frame_that_is_cut_at_any_byte_is_dropped() {
        let (bytes, first) = half();
        let end = bytes.len() - 500;
        for cut in first..end {
            let mut torn = bytes[..cut].to_vec();
            torn.resize(bytes.len(), 0);
            let read = parse(&torn, 10);
            let dropped = torn[..end] != bytes[..end];
            let left = (read.frames.len(), read.broken);
            assert_eq!(left, (if dropped { 1 } else { 2 }, false), "{cut}");
        }
    }

    #[test]
    fn a_flipped_bit_before_the_last_frame_is_damage() {
        let (bytes, first) = half();
        for at in 0..first {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            let read = parse(&flipped, 10);
            assert_eq!((read.frames.len(), read.broken), (0, true), "{at}");
            // Of records that sled holds, nothing is missing.
            assert!(!parse(&flipped, 15).broken, "{at}");
        }
        let mut three = bytes[..bytes.len() - 500].to_vec();
        let second = three.len();
        three.extend(frame(7, 15, &[entry(9, 10, &[])]));
        three.resize(three.len() + 100, 0);
        for at in first..second {
            let mut flipped = three.clone();
            flipped[at] ^= 0x10;
            let read = parse(&flipped, 10);
            assert_eq!((read.frames.len(), read.broken), (1, true), "{at}");
        }
    }

    #[test]
    fn old_sealed_bytes_are_not_taken_for_beginnings_of_frames() {
        let random = (0..20_000_u32).flat_map(|number| checksum(&number.to_be_bytes()));
        let mut bytes: Vec<u8> = random.collect();
        let begin = |bytes: &[u8]| {
            let heads = bytes.windows(HEAD_BYTES);
            heads.filter(|head| may_begin(head, 10)).count()
        };
        assert_eq!(begin(&bytes), 0);
        bytes.extend(half().0);
        // Newer frames behind all of that are found.
        assert!(parse(&bytes, 10).broken);
    }

    #[test]
    fn frames_of_an_older_epoch_end_a_half() {
        let (bytes, first) = half();
        let mut again = frame(8, 20, &[entry(5, 40, &[30])]);
        again.extend_from_slice(&bytes[again.len()..]);
        assert!(again.len() > first);
        let read = parse(&again, 20);
        let firsts: Vec<_> = read.frames.iter().map(|frame| frame.first).collect();
        assert_eq!((firsts, read.broken), (vec![20], false));
    }
}
