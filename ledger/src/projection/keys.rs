//! The keys of the rows: a letter, then big-endian numbers, so that their order is that of lists.
//!
//! | key | row |
//! |---|---|
//! | `m` | the mark: how far the rows come, and totals |
//! | `r`, run id | a run |
//! | `c`, run id, part u8 | its open calls |
//! | `o`, first position u64 | the id of a run, in the order of their starts |
//! | `u`, first position u64 | the same of a run that is not finished |
//! | `w`, since u64, first position u64, call u32 | a call that waits for a person |
//! | `d`, position u64 | decisions from that position on, as many as fit |
//! | `t`, tool, 0, position u64 | nothing: the decisions from there on are about this tool, too |

use crate::id::{CallId, Name, Position, RunId};
use crate::time::Timestamp;

pub(super) const MARK: &[u8] = b"m";
pub(super) const RUN: u8 = b'r';
pub(super) const CALLS: u8 = b'c';
pub(super) const ORDER: u8 = b'o';
pub(super) const UNFINISHED: u8 = b'u';
pub(super) const PENDING: u8 = b'w';
pub(super) const DECISIONS: u8 = b'd';
pub(super) const TOOL: u8 = b't';

/// The row of a run.
pub(super) fn run(run: RunId) -> Vec<u8> {
    [&[RUN], run.as_bytes().as_slice()].concat()
}

/// A part of the open calls of a run.
pub(super) fn calls(run: RunId, part: u8) -> Vec<u8> {
    [&[CALLS], run.as_bytes().as_slice(), &[part]].concat()
}

/// A run by its first position, in one of the two lists.
pub(super) fn start(list: u8, start: Position) -> Vec<u8> {
    [&[list], start.get().to_be_bytes().as_slice()].concat()
}

/// A call that waits.
pub(super) fn pending(since: Timestamp, start: Position, call: CallId) -> Vec<u8> {
    let since = u64::try_from(since.micros()).unwrap_or(0);
    [
        &[PENDING],
        since.to_be_bytes().as_slice(),
        &start.get().to_be_bytes(),
        &call.get().to_be_bytes(),
    ]
    .concat()
}

/// Decisions from a position on.
pub(super) fn decisions(first: Position) -> Vec<u8> {
    start(DECISIONS, first)
}

/// That a row of decisions is about a tool, too.
pub(super) fn tool(tool: &Name, decisions: Position) -> Vec<u8> {
    [of_tool(tool, 0), decisions.get().to_be_bytes().to_vec()].concat()
}

/// The first key of a tool, and the first after all of it. No name holds either byte.
pub(super) fn all_of_tool(tool: &Name) -> (Vec<u8>, Vec<u8>) {
    (of_tool(tool, 0), of_tool(tool, 1))
}

fn of_tool(tool: &Name, end: u8) -> Vec<u8> {
    [&[TOOL], tool.as_str().as_bytes(), &[end]].concat()
}

/// The first key of a kind, and the first after all of it.
pub(super) fn all(kind: u8) -> (Vec<u8>, Vec<u8>) {
    (vec![kind], vec![kind.saturating_add(1)])
}

/// The key right after one.
pub(super) fn after(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}
