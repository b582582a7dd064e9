//! Events by which a call is asked about, allowed or turned down.

use std::collections::BTreeSet;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::approval::{Assurance, By, Demands};
use crate::containment::{Containment, Part};
use crate::content::Commitment;
use crate::digest::Digest;
use crate::id::{AnswerId, CallId, Name, Principal, Version};
use crate::risk::DeclaredRisk;
use crate::time::Timestamp;

/// A person is needed; the digest of this record is the *request digest*.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequested {
    /// Digest of the `risk.assessed` that the tier comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assessed: Option<Digest>,
    /// The least assurance of an approval.
    #[serde(default, skip_serializing_if = "crate::approval::is_default")]
    pub assurance: Assurance,
    /// Version of the authority stream it was judged on.
    pub authority: Version,
    /// The call.
    pub call: CallId,
    /// How its process is shut in, where that is weaker than the proposal says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub containment: Option<Containment>,
    /// From then on an answer is too late.
    pub expires_at: Timestamp,
    /// Whose approvals count: those of anyone if absent, of nobody if empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<BTreeSet<Principal>>,
    /// What is missing then of the containment profile.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub missing: BTreeSet<Part>,
    /// Whether the approval of who amended the call does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_amender: bool,
    /// Whether that of who started the run does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_starter: bool,
    /// Digest of the proposal.
    pub proposal: Digest,
    /// How many people must approve.
    pub quorum: u32,
    /// The row of the gate's table that asks.
    pub rule: Name,
    /// Commitment to the rules in force.
    pub rules: Commitment,
    /// How it was judged; unknown where nothing was.
    pub tier: DeclaredRisk,
}

impl ApprovalRequested {
    /// What the approvals must be.
    pub fn demands(&self) -> Demands {
        Demands {
            quorum: self.quorum,
            assurance: self.assurance,
            from: self.from.clone(),
            not_amender: self.not_amender,
            not_starter: self.not_starter,
        }
    }
}

/// A grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ApprovalGranted {
    /// On a proposal, and on what it was judged.
    Automatic(Automatic),
    /// By a person, on a request. Content: note.
    ByPerson(ByPerson),
}

impl ApprovalGranted {
    /// The call.
    pub const fn call(&self) -> CallId {
        match self {
            Self::Automatic(grant) => grant.call,
            Self::ByPerson(grant) => grant.call,
        }
    }

    /// Who allowed it.
    pub const fn by(&self) -> &By {
        match self {
            Self::Automatic(grant) => &grant.by,
            Self::ByPerson(grant) => &grant.by,
        }
    }
}

/// The fields of both. To try one after the other would need a copy of all of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Granted {
    answer: Option<AnswerId>,
    authority: Version,
    by: By,
    call: CallId,
    proposal: Option<Digest>,
    request: Option<Digest>,
    tier: Option<DeclaredRisk>,
}

impl<'de> Deserialize<'de> for ApprovalGranted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let neither =
            || D::Error::custom("data did not match any variant of untagged enum ApprovalGranted");
        let Granted {
            answer,
            authority,
            by,
            call,
            proposal,
            request,
            tier,
        } = Granted::deserialize(deserializer).map_err(|_| neither())?;
        match (answer, proposal, request, tier) {
            (None, Some(proposal), None, Some(tier)) => Ok(Self::Automatic(Automatic {
                authority,
                by,
                call,
                proposal,
                tier,
            })),
            (Some(answer), None, Some(request), None) => Ok(Self::ByPerson(ByPerson {
                answer,
                authority,
                by,
                call,
                request,
            })),
            _ => Err(neither()),
        }
    }
}

/// A grant that names the row or entry that matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Automatic {
    /// Version of the authority stream it was judged on.
    pub authority: Version,
    /// What allowed it.
    pub by: By,
    /// The call.
    pub call: CallId,
    /// Digest of the proposal.
    pub proposal: Digest,
    /// How it was judged.
    pub tier: DeclaredRisk,
}

/// A grant by a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ByPerson {
    /// The answer set it came in.
    pub answer: AnswerId,
    /// Version of the authority stream it was judged on.
    pub authority: Version,
    /// Who.
    pub by: By,
    /// The call.
    pub call: CallId,
    /// Digest of the request that was displayed.
    pub request: Digest,
}

/// A person's no; never a policy's. Content: note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalDenied {
    /// The answer set it came in.
    pub answer: AnswerId,
    /// Version of the authority stream it was judged on.
    pub authority: Version,
    /// Who.
    pub by: By,
    /// The call.
    pub call: CallId,
    /// Digest of the request that was displayed.
    pub request: Digest,
}

/// Nobody answered in time, or an approved call was not started in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalExpired {
    /// The call.
    pub call: CallId,
    /// Digest of the request.
    pub request: Digest,
}

/// A person takes an approval back before the call was started: the call is closed as by a denial.
/// Content: note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRevoked {
    /// Who.
    pub by: By,
    /// The call.
    pub call: CallId,
    /// Digest of the request that was approved.
    pub request: Digest,
}

/// The agent asks a person something; in place of request, grant and execution. The digest of this
/// record is what a reply names. Content: text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionAsked {
    /// The call.
    pub call: CallId,
    /// From then on a reply is too late.
    pub expires_at: Timestamp,
}

/// A person replied; never an approval. Content: text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionAnswered {
    /// Who.
    pub by: By,
    /// The call.
    pub call: CallId,
    /// Digest of the question that was displayed.
    pub request: Digest,
}
