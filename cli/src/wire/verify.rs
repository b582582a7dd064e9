//! What `audit verify` says.

use placet_ledger::audit::{ContentCounts, DecisionCounts, Finding, HeadPosition, Report};
use placet_ledger::id::{Position, StreamId, Version};
use placet_ledger::merkle::Root;
use serde::Serialize;

/// What a verification came to.
#[derive(Debug, Serialize)]
pub(crate) struct Verified {
    /// Whether nothing was found.
    pub(crate) ok: bool,
    /// How many records were read.
    pub(crate) size: u64,
    /// The root over them; none where not all were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) root: Option<Root>,
    /// What was found, in order of position; what concerns the whole stands last.
    pub(crate) findings: Vec<FindingOut>,
    /// How many more were found.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) findings_left_out: u64,
    /// What was kept outside of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<HeadOut>,
    /// Contents.
    pub(crate) content: ContentCountsOut,
    /// Automatic decisions.
    pub(crate) decisions: DecisionCountsOut,
    /// What was not looked at.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    pub(crate) unchecked: &'static [&'static str],
}

/// Something that is not as it was written.
#[derive(Debug, Serialize)]
pub(crate) struct FindingOut {
    /// Its place in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) position: Option<Position>,
    /// Its stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<StreamId>,
    /// Its place in the stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<Version>,
    /// What kind of thing.
    pub(crate) kind: &'static str,
    /// Why.
    pub(crate) detail: String,
}

/// How far the store had come.
#[derive(Debug, Serialize)]
pub(crate) struct HeadOut {
    /// Records.
    pub(crate) size: u64,
    /// Root over them.
    pub(crate) root: Root,
}

/// How many contents could be read.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ContentCountsOut {
    /// Those that fit.
    pub(crate) readable: u64,
    /// The others.
    pub(crate) unreadable: u64,
}

/// How many automatic decisions were judged again.
#[derive(Debug, Default, Serialize)]
pub(crate) struct DecisionCountsOut {
    /// Those that were.
    pub(crate) judged: u64,
    /// The others.
    pub(crate) unjudged: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl FindingOut {
    /// A finding about the whole store.
    pub(crate) fn of_store(kind: &'static str, detail: String) -> Self {
        Self {
            position: None,
            run: None,
            version: None,
            kind,
            detail,
        }
    }
}

impl From<Finding> for FindingOut {
    fn from(finding: Finding) -> Self {
        Self {
            position: finding.place.position,
            run: finding.place.run,
            version: finding.place.version,
            kind: finding.kind.as_str(),
            detail: finding.detail,
        }
    }
}

impl From<HeadPosition> for HeadOut {
    fn from(head: HeadPosition) -> Self {
        Self {
            size: head.size,
            root: head.root,
        }
    }
}

impl From<Report> for Verified {
    fn from(report: Report) -> Self {
        let ContentCounts {
            readable,
            unreadable,
        } = report.content;
        let DecisionCounts { judged, unjudged } = report.decisions;
        Self {
            ok: report.ok,
            size: report.size,
            root: report.root,
            findings: report.findings.into_iter().map(FindingOut::from).collect(),
            findings_left_out: report.findings_left_out,
            head: report.head.map(HeadOut::from),
            content: ContentCountsOut {
                readable,
                unreadable,
            },
            decisions: DecisionCountsOut { judged, unjudged },
            unchecked: report.unchecked,
        }
    }
}

impl Verified {
    /// A verification that could not begin.
    pub(crate) fn failed(finding: FindingOut) -> Self {
        Self {
            ok: false,
            size: 0,
            root: None,
            findings: vec![finding],
            findings_left_out: 0,
            head: None,
            content: ContentCountsOut::default(),
            decisions: DecisionCountsOut::default(),
            unchecked: &[],
        }
    }
}
