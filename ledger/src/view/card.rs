//! The card of one call that waits for a person: what would run, and how it was judged.
//!
//! All text on it is from the recorded proposal. What cannot be read is named in `unreadable`
//! and shown as nothing else.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use crate::approval::Demands;
use crate::containment::{Containment, Part};
use crate::content::{Blob, Commitment, Contents};
use crate::digest::Digest;
use crate::event::RiskSource;
use crate::gate_input::{denied_before, gate_needs, places, target};
use crate::id::{CallId, GrantId, Name, RunId};
use crate::policy::EXECUTE_COMMAND;
use crate::program::{Program, ProgramClass};
use crate::risk::DeclaredRisk;
use crate::run::{Call, Phase, Proposed, RunState};
use crate::steered::STEERING;
use crate::time::Timestamp;
use crate::view::steered::{SteeredBy, is_none, newest};

/// What a card asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CardKind {
    /// Whether the call may run.
    Approval,
    /// What the agent wants to know.
    Question,
    /// Whether the call took effect.
    InDoubt,
}

/// How many approvals a call needs, and has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Quorum {
    /// How many must approve.
    pub need: u32,
    /// How many have.
    pub have: u32,
}

/// An earlier denial of the same tool on the same target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeniedBefore {
    /// The call that was denied.
    pub call: CallId,
    /// What the approver said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What an approver is shown about one call. Absent fields are left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// What is asked.
    pub kind: CardKind,
    /// The tool.
    pub tool: Name,
    /// How it was judged, where a person was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<DeclaredRisk>,
    /// The row that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Name>,
    /// The proposal digest.
    pub proposal: Digest,
    /// What an answer names: the digest of the request, the question or the doubt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Digest>,
    /// The code over all that is pending in the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// What will run: the arguments of the executing half, or those of a plain tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The arguments of the proposing half, where they are not the same content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_given: Option<Value>,
    /// What it would do, as a diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// What it would do, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Of a call in doubt, what its tool knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// When it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_at: Option<Timestamp>,
    /// From then on an answer is too late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// How many must approve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quorum: Option<Quorum>,
    /// What the approvals of a pending call must be; as JSON, what is demanded beside their number.
    #[serde(rename = "require", skip_serializing_if = "Demands::is_number")]
    pub demands: Demands,
    /// How what it runs is shut in.
    pub containment: Containment,
    /// What is missing of the containment profile.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub missing: BTreeSet<Part>,
    /// TCP ports that it would have.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub network: BTreeSet<u16>,
    /// The program that a command would run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<CardProgram>,
    /// What judged it, where something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<CardJudged>,
    /// The call in whose place it stands, since a person gave that one other arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<CallId>,
    /// The nearest earlier open call of the batch with the same target, which makes this one stale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<CallId>,
    /// An earlier call with the same arguments, which a person changed before it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amended_before: Option<CallId>,
    /// Earlier denials of this tool on this target, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied_before: Vec<DeniedBefore>,
    /// Earlier calls that left files that steer programs otherwise than they were, oldest first:
    /// what this one runs may be steered by them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steered: Vec<SteeredBy>,
    /// How many more such calls there are, older than those.
    #[serde(skip_serializing_if = "is_none")]
    pub steered_more: usize,
    /// The entry of the per-command list that came nearest to covering it. Nothing in the record
    /// tells: whoever shows the card asks the gate's side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearly: Option<Nearly>,
    /// Contents that the proposal names and that could not be read, such as `preview` or
    /// `c1.note`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// An entry of the per-command list that nearly covers a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Nearly {
    /// The grant.
    pub grant: GrantId,
    /// Its key.
    pub key: String,
    /// Why it does not.
    pub why: String,
}

/// The program that a command would run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CardProgram {
    /// What is started with which words, its own name first.
    pub argv: Vec<String>,
    /// Its absolute path; the shell's where the command is not one plain command.
    pub path: String,
    /// Hash of its file.
    pub digest: Digest,
    /// Whose hands it is in.
    pub class: ProgramClass,
    /// Whether the shell reads the words.
    pub shell: bool,
    /// Words of the command that name places neither in the workspace nor in the system.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// What the configuration of a repository can make it run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repository: Vec<String>,
}

/// What judged a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CardJudged {
    /// What judged.
    pub source: RiskSource,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    /// Why, in its words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Card {
    /// The card of `call`, a call of `state`; `None` where it waits for nobody.
    pub fn of(state: &RunState, call: &Call, contents: &Contents) -> Option<Self> {
        let kind = kind(state, call)?;
        let proposed = call.proposed()?;
        let requested = call.requested();
        let mut reader = Reader {
            contents,
            unreadable: Vec::new(),
        };
        let runs = proposed
            .execute_arguments
            .as_ref()
            .unwrap_or(&proposed.arguments);
        let given =
            (runs.commitment != proposed.arguments.commitment).then_some(&proposed.arguments);
        let level = call.shown_level().unwrap_or(&proposed.level);
        let path = reader.target("precondition", call);
        let path = path.as_deref();
        let places = places(contents, call).unwrap_or_default();
        let (steered, steered_more) = reader.steered(state);
        Some(Self {
            run: state.run(),
            call: call.id(),
            kind,
            tool: proposed.tool.clone(),
            tier: requested.map(|asked| asked.tier),
            rule: requested.map(|asked| asked.rule.clone()),
            proposal: proposed.digest,
            request: match kind {
                CardKind::Approval => requested.map(|asked| asked.digest),
                CardKind::Question => call.question().map(|asked| asked.digest),
                CardKind::InDoubt => call.doubt(),
            },
            set: match kind {
                CardKind::Approval => state.set_code(),
                CardKind::Question | CardKind::InDoubt => None,
            },
            arguments: reader.json("arguments", Some(runs)),
            arguments_given: reader.json("arguments_given", given),
            preview: reader.text("preview", proposed.preview.as_ref()),
            message: reader.text("message", proposed.message.as_ref()),
            detail: reader.text("detail", doubt_detail(kind, call)),
            requested_at: asked_at(call),
            expires_at: call.expires_at(),
            quorum: requested.map(|asked| quorum(asked.demands.quorum, kind)),
            demands: demands(call, kind),
            containment: level.containment(),
            missing: level.missing().clone(),
            network: proposed.network.clone(),
            program: reader.program(proposed),
            judged: reader.judged(call),
            supersedes: call.supersedes(),
            depends_on: reader.depends_on(state, call, &places),
            amended_before: amended_before(state, call),
            denied_before: reader.denied_before(state, call, path),
            steered,
            steered_more,
            nearly: None,
            unreadable: reader.unreadable,
        })
    }

    /// The command that it is about, where it is about one.
    pub fn command(&self) -> Option<&str> {
        let arguments = self.arguments.as_ref()?;
        let is_command = self.tool.as_str() == EXECUTE_COMMAND;
        arguments.get("command")?.as_str().filter(|_| is_command)
    }

    /// The contents that the card of `call` reads.
    pub fn needs(state: &RunState, call: &Call) -> BTreeSet<Commitment> {
        let Some(proposed) = call.proposed().filter(|_| kind(state, call).is_some()) else {
            return BTreeSet::new();
        };
        let mut needs = gate_needs(state, call.id());
        let own = [
            Some(proposed.arguments),
            proposed.execute_arguments,
            proposed.preview,
            proposed.message,
            proposed.runs,
            call.assessed().and_then(|assessed| assessed.reason),
        ];
        let detail = kind(state, call).and_then(|kind| doubt_detail(kind, call).copied());
        let earlier = earlier_open(state, call).map(|other| other.proposed()?.precondition);
        let notes = denied_before(state, call).map(|denied| denied.note().copied());
        let steered = newest(state).0.into_iter();
        let steered = steered.map(|(_, blob)| Some(*blob));
        let blobs = own
            .into_iter()
            .chain([detail])
            .chain(steered)
            .chain(earlier)
            .chain(notes)
            .flatten();
        needs.extend(blobs.map(|blob| blob.commitment));
        needs
    }
}

/// What the call asks of a person; nothing once its run has ended.
fn kind(state: &RunState, call: &Call) -> Option<CardKind> {
    if state.outcome().is_some() {
        return None;
    }
    match call.phase() {
        Phase::Pending => Some(CardKind::Approval),
        Phase::Asked => Some(CardKind::Question),
        Phase::InDoubt => Some(CardKind::InDoubt),
        Phase::Named
        | Phase::Proposed
        | Phase::Granted
        | Phase::Executing { .. }
        | Phase::Closed(_) => None,
    }
}

/// What is known of a call in doubt.
fn doubt_detail(kind: CardKind, call: &Call) -> Option<&Blob> {
    match kind {
        CardKind::InDoubt => call.result(),
        CardKind::Approval | CardKind::Question => None,
    }
}

fn asked_at(call: &Call) -> Option<Timestamp> {
    let requested = call.requested().map(|asked| asked.at);
    requested.or(call.question().map(|asked| asked.at))
}

/// A pending call has no approval yet: the one that completes the quorum grants it.
const fn quorum(need: u32, kind: CardKind) -> Quorum {
    let have = match kind {
        CardKind::Approval | CardKind::Question => 0,
        CardKind::InDoubt => need,
    };
    Quorum { need, have }
}

/// What the approvals of a call that waits for them must be.
fn demands(call: &Call, kind: CardKind) -> Demands {
    let asked = call.requested().filter(|_| kind == CardKind::Approval);
    asked.map_or_else(Demands::default, |asked| asked.demands.clone())
}

/// Earlier calls of the batch that may still change something, the nearest first.
fn earlier_open<'a>(state: &'a RunState, call: &'a Call) -> impl Iterator<Item = &'a Call> {
    let mut later = state.batch().rev();
    // By its place in the reply: an amended call has a later id than those after it.
    let _own = later.find(|other| other.id() == call.id());
    later.filter(|other| !other.is_closed())
}

/// The newest earlier call of the same tool with equal arguments whose arguments a person changed.
/// Equal content of one run has one commitment.
fn amended_before(state: &RunState, call: &Call) -> Option<CallId> {
    let given = |of: &Call| of.proposed().map(|proposed| proposed.arguments.commitment);
    let same = |other: &&Call| {
        other.id() < call.id()
            && other.superseded_by().is_some()
            && call.supersedes() != Some(other.id())
            && other.tool() == call.tool()
            && given(other) == given(call)
    };
    state.calls().rev().find(same).map(Call::id)
}

/// Whether two paths are one, or one lies beneath the other.
fn overlap(one: &str, other: &str) -> bool {
    let beneath = |path: &str, above: &str| {
        let rest = path.strip_prefix(above);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    beneath(one, other) || beneath(other, one)
}

/// Reads contents and keeps account of what it could not read.
struct Reader<'a> {
    contents: &'a Contents,
    unreadable: Vec<String>,
}

impl Reader<'_> {
    fn note_unreadable(&mut self, what: &str) {
        if !self.unreadable.iter().any(|known| known == what) {
            self.unreadable.push(what.to_owned());
        }
    }

    fn text(&mut self, what: &str, blob: Option<&Blob>) -> Option<String> {
        let text = self.contents.text(&blob?.commitment).map(str::to_owned);
        if text.is_none() {
            self.note_unreadable(what);
        }
        text
    }

    fn json(&mut self, what: &str, blob: Option<&Blob>) -> Option<Value> {
        let bytes = self.contents.bytes(&blob?.commitment);
        let value = bytes.and_then(|bytes| serde_json::from_slice(bytes).ok());
        if value.is_none() {
            self.note_unreadable(what);
        }
        value
    }

    fn program(&mut self, proposed: &Proposed) -> Option<CardProgram> {
        let (blob, class) = proposed.runs.as_ref().zip(proposed.program)?;
        let bytes = self.contents.bytes(&blob.commitment);
        let program = bytes.and_then(|bytes| serde_json::from_slice::<Program>(bytes).ok());
        let Some(program) = program else {
            self.note_unreadable("program");
            return None;
        };
        Some(CardProgram {
            argv: program.argv,
            path: program.path,
            digest: program.digest,
            class,
            shell: program.shell,
            outside: program.outside,
            repository: program.repository,
        })
    }

    fn judged(&mut self, call: &Call) -> Option<CardJudged> {
        // A tier that nobody judged is not one that somebody judged for an earlier policy.
        let asked = call.requested()?;
        let assessed = call
            .assessed()
            .filter(|_| asked.tier != DeclaredRisk::Unknown)?;
        Some(CardJudged {
            source: assessed.source,
            model: assessed.model.clone(),
            reason: self.text("reason", assessed.reason.as_ref()),
        })
    }

    fn target(&mut self, what: &str, call: &Call) -> Option<String> {
        let path = target(self.contents, call);
        let aims = call.proposed().and_then(|proposed| proposed.precondition);
        if path.is_none() && aims.is_some() {
            self.note_unreadable(what);
        }
        path
    }

    fn depends_on(&mut self, state: &RunState, call: &Call, own: &[String]) -> Option<CallId> {
        if own.is_empty() {
            return None;
        }
        for earlier in earlier_open(state, call) {
            // Asked for by this name, so that an unreadable one is accounted for.
            self.target(&format!("{}.precondition", earlier.id()), earlier);
            let theirs = places(self.contents, earlier).unwrap_or_default();
            if own
                .iter()
                .any(|own| theirs.iter().any(|their| overlap(own, their)))
            {
                return Some(earlier.id());
            }
        }
        None
    }

    fn steered(&mut self, state: &RunState) -> (Vec<SteeredBy>, usize) {
        let (calls, more) = newest(state);
        let one = |(call, blob): (CallId, &Blob)| {
            let one = SteeredBy::read(self.contents, call, blob);
            if one.what.is_none() {
                self.note_unreadable(&format!("{call}.{STEERING}"));
            }
            one
        };
        (calls.into_iter().map(one).collect(), more)
    }

    fn denied_before(
        &mut self,
        state: &RunState,
        call: &Call,
        path: Option<&str>,
    ) -> Vec<DeniedBefore> {
        let Some(path) = path else {
            return Vec::new();
        };
        let mut denials = Vec::new();
        for denied in denied_before(state, call) {
            let call = denied.id();
            let aims = self.target(&format!("{call}.precondition"), denied);
            if aims.as_deref() == Some(path) {
                let note = self.text(&format!("{call}.note"), denied.note());
                denials.push(DeniedBefore { call, note });
            }
        }
        denials
    }
}
