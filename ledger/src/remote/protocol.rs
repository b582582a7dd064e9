//! What is said on the socket: commands and queries, answered with recorded bytes.
//!
//! No message holds an envelope, a verdict of the gate, an actor, a time or an id of a record:
//! those are the owner's, and a field more than these is an error.

use serde::{Deserialize, Serialize};

use crate::answers::AnswerSet;
use crate::approval::Channel;
use crate::authority::AuthorityCommand;
use crate::containment::Level;
use crate::content::{Commitment, Content, Media, Salt, Text, Texts};
use crate::digest::Digest;
use crate::error::LedgerError;
use crate::id::{CallId, DriverId, Position, RunId, StreamId, Version};
use crate::merkle::Root;
use crate::owner::Sending;
use crate::projection::{CursorError, Query};
use crate::run::{Command, Rejection};
use crate::store::{ReadError, chain};
use crate::time::Timestamp;

use super::frame::Attachment;

/// One request, by a number that its answer repeats.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    pub(super) number: u64,
    pub(super) ask: Ask,
}

/// One answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Response {
    pub(super) number: u64,
    pub(super) reply: Reply,
}

/// As whom a command is sent; who that is, the kernel says.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Speaker {
    /// Whoever drives the run.
    Driver,
    /// A person, who came in this way.
    Person(Channel),
}

/// The names and kinds of texts, which are attached in this order.
pub(super) type Named = Vec<(String, Media)>;

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Ask {
    /// Size and root of the log.
    Tail {},
    /// Records of one stream.
    ReadRun {
        stream: StreamId,
        from: Version,
        limit: usize,
    },
    /// Records of the log.
    ReadAll { from: Position, limit: usize },
    /// Contents of a stream.
    Contents {
        stream: StreamId,
        commitments: Vec<Commitment>,
    },
    /// What is asked of projections.
    Query { query: Query },
    /// What came to a run since it was known, staged records included.
    News {
        run: RunId,
        known: Option<(Version, Digest)>,
    },
    /// This process gave up a connection, whose number this is: what was staged for it is
    /// forgotten, what is still on its way there is not done any more.
    Left { seat: u64 },
    /// Which process drives a run.
    Driver { run: RunId },
    /// An id for a new driver.
    NewDriver {},
    /// Decide a command and stage what comes of it. Attached: its texts.
    Handle {
        run: RunId,
        by: Speaker,
        seen: Option<Version>,
        command: Box<Command>,
        texts: Named,
        sending: Sending,
    },
    /// Make what is staged durable.
    Commit { run: RunId },
    /// Close what nobody answered in time.
    Expire { run: RunId },
    /// Whether a call must be judged before it can have a verdict.
    Unjudged { run: RunId, call: CallId },
    /// Record a set of answers.
    Answer {
        run: RunId,
        channel: Channel,
        set: AnswerSet,
    },
    /// Record what a person says about a run. Attached: its texts.
    Act {
        run: RunId,
        channel: Channel,
        command: Box<Command>,
        texts: Named,
        sending: Sending,
    },
    /// Start an allowed call.
    Begin {
        run: RunId,
        call: CallId,
        active_ms: u64,
        level: Level,
        sending: Sending,
    },
    /// Record what a person says about authority. Attached: its texts.
    Authorise {
        channel: Channel,
        command: AuthorityCommand,
        texts: Named,
        sending: Sending,
    },
    /// Note an answer that was refused before it became a set.
    NoteRefused { run: RunId, channel: Channel },
    /// Make a backup. Attached: the path of its folder.
    Backup {},
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Reply {
    /// It is done.
    Done {},
    /// Yes or no.
    Is { so: bool },
    /// The end of the log.
    Tail { size: u64, root: Root },
    /// Records at these positions. Attached: their bytes.
    Stored { positions: Vec<Position> },
    /// Contents, in the order in which they were asked for, the first at least. Attached: salt and
    /// bytes of each.
    Contents {},
    /// What projections say. Attached: the answer, as JSON.
    Answer {},
    /// What came to a run. Attached: the records, then the contents.
    News {
        anew: bool,
        more: bool,
        durable: Option<Version>,
        authority: Version,
        now: Timestamp,
        records: usize,
        contents: Vec<Commitment>,
    },
    /// What a command came to. Attached: the records.
    Recorded {},
    /// A permit. Attached: what it grants, as JSON.
    Permit {},
    /// The grant no longer held.
    Void {},
    /// Which process.
    Process { pid: Option<u32> },
    /// A driver's id.
    NewDriver { driver: DriverId },
    /// A backup was made, as the log was at that size.
    Backup { size: u64, root: Root, bytes: u64 },
    /// It was not done.
    Failed(Failure),
}

/// Why something was not done, as it travels.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Failure {
    Rejected(Rejection),
    NoRun(RunId),
    Conflict,
    NoRoom(String),
    Driven { pid: u32 },
    InsideRun,
    Busy,
    Unknown(String),
    Closed(String),
    Integrity(String),
    Quarantined { run: RunId, why: String },
    Unproven(CallId),
    Cursor,
    Read(ReadError),
    Other(String),
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Rejected(rejection) => Self::Rejected(rejection),
            LedgerError::NoRun(run) => Self::NoRun(run),
            LedgerError::Conflict => Self::Conflict,
            LedgerError::NoRoom(why) => Self::NoRoom(why),
            LedgerError::Driven { pid } => Self::Driven { pid },
            LedgerError::InsideRun => Self::InsideRun,
            LedgerError::Busy => Self::Busy,
            LedgerError::Unknown(why) => Self::Unknown(why),
            LedgerError::Closed(why) => Self::Closed(why),
            LedgerError::Integrity(why) => Self::Integrity(why),
            LedgerError::Quarantined { run, why } => Self::Quarantined { run, why },
            LedgerError::Unproven(call) => Self::Unproven(call),
            LedgerError::Cursor(CursorError) => Self::Cursor,
            LedgerError::Read(error) => Self::Read(error),
            LedgerError::Authority(error) => Self::Integrity(chain(&error)),
            error @ (LedgerError::Invalid(_)
            | LedgerError::Unreachable(_)
            | LedgerError::Failed(_)
            | LedgerError::Write(_)
            | LedgerError::Encode(_)) => Self::Other(chain(&error)),
        }
    }
}

impl From<Failure> for LedgerError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Rejected(rejection) => Self::Rejected(rejection),
            Failure::NoRun(run) => Self::NoRun(run),
            Failure::Conflict => Self::Conflict,
            Failure::NoRoom(why) => Self::NoRoom(why),
            Failure::Driven { pid } => Self::Driven { pid },
            Failure::InsideRun => Self::InsideRun,
            Failure::Busy => Self::Busy,
            Failure::Unknown(why) => Self::Unknown(why),
            Failure::Closed(why) => Self::Closed(why),
            Failure::Integrity(why) => Self::Integrity(why),
            Failure::Quarantined { run, why } => Self::Quarantined { run, why },
            Failure::Unproven(call) => Self::Unproven(call),
            Failure::Cursor => Self::Cursor(CursorError),
            Failure::Read(error) => Self::Read(error),
            Failure::Other(why) => Self::Failed(why),
        }
    }
}

/// Takes texts apart: their names for the header, their bytes to be attached.
pub(super) fn named(texts: &Texts) -> (Named, Vec<&[u8]>) {
    let mut names = Named::new();
    let mut parts = Vec::new();
    for (name, text) in texts {
        names.push((name.clone(), text.media));
        parts.push(text.bytes.as_slice());
    }
    (names, parts)
}

/// Joins names and what was attached; `None` where they do not fit.
pub(super) fn texts(named: Named, attached: Vec<Attachment>) -> Option<Texts> {
    if named.len() != attached.len() {
        return None;
    }
    let count = named.len();
    let text = |((name, media), bytes)| (name, Text { media, bytes });
    let texts: Texts = named.into_iter().zip(attached).map(text).collect();
    (texts.len() == count).then_some(texts)
}

/// A content as it is attached.
pub(super) fn attach(content: &Content) -> Attachment {
    [&content.salt.0[..], &content.bytes].concat()
}

/// A content that was attached; whoever reads it compares it with its commitment.
pub(super) fn attached(bytes: &[u8]) -> Option<Content> {
    let (salt, bytes) = bytes.split_first_chunk::<32>()?;
    Some(Content::new(Salt(*salt), bytes))
}
