//! What a verification comes to: findings of a closed list, each at its place.

use serde::Serialize;

use crate::id::{Position, StreamId, Version};
use crate::merkle::Root;
use crate::store::head::Head;

/// Findings that a report holds. The first ones are what matters: one damage makes others follow,
/// and a store that is damaged all over would fill the memory with them.
pub const FINDINGS_MAX: usize = 100;

/// What kind of thing was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The store cannot return a record, or its own size.
    RecordUnreadable,
    /// Positions are not dense.
    PositionGap,
    /// The bytes are no record of ours.
    RecordMalformed,
    /// The record is another ledger's, or stands in the export of another run.
    RecordForeign,
    /// The record does not follow the one before it in its stream.
    LinkBroken,
    /// The event cannot stand there.
    EventIllegal,
    /// A decision was made on another version of the authority stream, or under other rules, than
    /// the one in force at its position.
    AuthorityMoved,
    /// The gate gives another verdict on what was recorded before.
    VerdictDiffers,
    /// A content that a record names is not there, or does not open.
    ContentMissing,
    /// A content does not fit its commitment or its size.
    ContentDiffers,
    /// An export brings a content that no record names.
    ContentUnnamed,
    /// Read by its stream alone, the store has other records than in its log.
    StreamDiffers,
    /// There are fewer records than the store says.
    StoreShort,
    /// The tree over the records has another root than the store, or the export, says.
    RootDiffers,
    /// There are fewer records than were acknowledged: the end was cut, or a backup put back.
    HeadAhead,
    /// The records up to the head are not the ones that were acknowledged.
    HeadDiffers,
    /// An export says that it is complete and is not, or the reverse.
    CompletenessDiffers,
}

impl FindingKind {
    /// Every kind.
    pub const ALL: [Self; 17] = [
        Self::RecordUnreadable,
        Self::PositionGap,
        Self::RecordMalformed,
        Self::RecordForeign,
        Self::LinkBroken,
        Self::EventIllegal,
        Self::AuthorityMoved,
        Self::VerdictDiffers,
        Self::ContentMissing,
        Self::ContentDiffers,
        Self::ContentUnnamed,
        Self::StreamDiffers,
        Self::StoreShort,
        Self::RootDiffers,
        Self::HeadAhead,
        Self::HeadDiffers,
        Self::CompletenessDiffers,
    ];

    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RecordUnreadable => "record_unreadable",
            Self::PositionGap => "position_gap",
            Self::RecordMalformed => "record_malformed",
            Self::RecordForeign => "record_foreign",
            Self::LinkBroken => "link_broken",
            Self::EventIllegal => "event_illegal",
            Self::AuthorityMoved => "authority_moved",
            Self::VerdictDiffers => "verdict_differs",
            Self::ContentMissing => "content_missing",
            Self::ContentDiffers => "content_differs",
            Self::ContentUnnamed => "content_unnamed",
            Self::StreamDiffers => "stream_differs",
            Self::StoreShort => "store_short",
            Self::RootDiffers => "root_differs",
            Self::HeadAhead => "head_ahead",
            Self::HeadDiffers => "head_differs",
            Self::CompletenessDiffers => "completeness_differs",
        }
    }
}

/// Where something stands, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Place {
    /// Its place in the log; none where the whole log is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// Its stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<StreamId>,
    /// Its place in the stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

impl Place {
    /// A place of which the position alone is known.
    pub fn at(position: Position) -> Self {
        Self {
            position: Some(position),
            run: None,
            version: None,
        }
    }
}

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// What kind of thing.
    pub kind: FindingKind,
    /// Why.
    pub detail: String,
}

/// How far the store had come when that was last kept elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HeadPosition {
    /// How many records there were.
    pub size: u64,
    /// The root of the tree over them.
    pub root: Root,
}

impl From<&Head> for HeadPosition {
    fn from(head: &Head) -> Self {
        Self {
            size: head.size(),
            root: head.root(),
        }
    }
}

/// How many contents there are, each counted once for its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ContentCounts {
    /// Those that were read and fit.
    pub readable: u64,
    /// Those that were not.
    pub unreadable: u64,
}

/// How many automatic decisions there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct DecisionCounts {
    /// Those that were judged again.
    pub judged: u64,
    /// Those that were not: no judge was given, or what they rest on is broken or not readable.
    pub unjudged: u64,
}

/// What a verification came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether nothing was found.
    pub ok: bool,
    /// How many records were read.
    pub size: u64,
    /// The root of the tree over them, computed here; none where not all of the log was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<Root>,
    /// What was found, in order of position; what concerns the whole log stands last.
    pub findings: Vec<Finding>,
    /// How many further findings were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub findings_left_out: u64,
    /// The head that was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<HeadPosition>,
    /// The contents.
    pub content: ContentCounts,
    /// The automatic decisions.
    pub decisions: DecisionCounts,
    /// What was not looked at.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    pub unchecked: &'static [&'static str],
}

/// What verifying the records alone does not look at: what events say, contents, decisions, and
/// streams as they are read by themselves.
pub(super) const UNCHECKED: &[&str] = &["events", "contents", "decisions", "streams"];

/// What verifying everything does not look at.
pub(super) const ALL_CHECKED: &[&str] = &[];

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Findings as they come.
#[derive(Debug, Default)]
pub(super) struct Findings {
    kept: Vec<Finding>,
    left_out: u64,
    unreadable: Option<Unreadable>,
}

/// Records behind each other that cannot be read: one finding for all of them, or a file that is
/// missing would leave no room for others.
#[derive(Debug)]
struct Unreadable {
    /// Where their finding is.
    index: usize,
    /// What is said of the first one.
    why: String,
    last: Position,
    /// How many follow the first one.
    more: u64,
}

impl Findings {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Adds one; where it can be amended later, says where it is.
    pub(super) fn add(
        &mut self,
        place: Place,
        kind: FindingKind,
        detail: impl Into<String>,
    ) -> Option<usize> {
        if self.kept.len() >= FINDINGS_MAX {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        }
        self.add_always(place, kind, detail);
        self.kept.len().checked_sub(1)
    }

    /// Adds that a record cannot be read.
    pub(super) fn add_unreadable(&mut self, position: Position, why: &str) {
        let before = self.unreadable.as_mut();
        let follows = |last: Position| position.get().checked_sub(1) == Some(last.get());
        if let Some(before) = before.filter(|before| follows(before.last)) {
            (before.last, before.more) = (position, before.more.saturating_add(1));
            let (why, more) = (&before.why, before.more);
            let what = match more {
                1 => String::from("the one after it cannot be read either"),
                more => format!("the {more} after it cannot be read either"),
            };
            if let Some(finding) = self.kept.get_mut(before.index) {
                finding.detail = format!("{why}; {what}");
            }
            return;
        }
        let added = self.add(Place::at(position), FindingKind::RecordUnreadable, why);
        self.unreadable = added.map(|index| Unreadable {
            index,
            why: why.to_owned(),
            last: position,
            more: 0,
        });
    }

    /// Adds one that concerns the whole log; there are few of those.
    pub(super) fn add_always(
        &mut self,
        place: Place,
        kind: FindingKind,
        detail: impl Into<String>,
    ) {
        self.kept.push(Finding {
            place,
            kind,
            detail: detail.into(),
        });
    }

    /// Says of an earlier finding that it lies elsewhere.
    pub(super) fn amend(&mut self, index: usize, place: Place, detail: String) {
        if let Some(finding) = self.kept.get_mut(index) {
            finding.place = place;
            finding.detail = detail;
        }
    }

    /// All of them in order of position, and how many were left out.
    pub(super) fn into_sorted(mut self) -> (Vec<Finding>, u64) {
        self.kept
            .sort_by_key(|finding| (finding.place.position.is_none(), finding.place.position));
        (self.kept, self.left_out)
    }
}
