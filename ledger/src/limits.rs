//! Bounds of the formats and of the work that one run may cause, each with its reason.

/// Bytes of one record: entry bundles of transparency-log tiles have a 16-bit length.
pub const RECORD_BYTES_MAX: usize = 65_535;

/// Records of one append: larger groups would hold up everybody who waits for the same sync.
pub const APPEND_RECORDS_MAX: usize = 512;

/// Bytes of the records of one append, for the same reason.
pub const APPEND_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes of one content: the largest file that a tool reads or writes.
pub const CONTENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of a registered name.
pub const NAME_BYTES_MAX: usize = 128;

/// Depth of a record: no schema of ours needs more, and a reader must not recurse without end.
pub const RECORD_DEPTH_MAX: usize = 8;

/// Depth of arguments that a model may send.
pub const ARGUMENTS_DEPTH_MAX: usize = 64;

/// The largest integer that every JSON reader keeps exact: 2^53 - 1.
pub const INTEGER_MAX: i64 = 9_007_199_254_740_991;

/// Records in one page of a read.
pub const PAGE_RECORDS_MAX: usize = 256;

/// Calls in one reply, and so pending at once: more is no question a person can answer.
pub const PENDING_CALLS_MAX: usize = 64;

/// Denials by a person of one tool on one target, after which further calls are refused unasked.
pub const DENIALS_OF_TARGET_MAX: usize = 3;

/// The smallest padded size that a record tells of its content: "yes" and "no" look alike.
pub const SIZE_CLASS_MIN: u64 = 64;

/// Free bytes on disk below which nothing is started: what was started must find room for its
/// outcome, and sled writes a value about twice before it frees the first.
pub const ROOM_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// Bytes of one row in sled: a leaf holds up to 17 values, and a page of more than 128 KiB goes to
/// a file that sled never syncs.
pub const ROW_BYTES_MAX: usize = 7_000;
