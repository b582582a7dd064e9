//! Commands: intentions, in the imperative. None holds an actor, a time, an id or a verdict of
//! the gate; those are the owner's.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::answers::AnswerSet;
use crate::budget::{Limits, Spend};
use crate::containment::Level;
use crate::digest::Digest;
use crate::event::{
    Demand, FailureKind, ModelFailure, Outcome, RefusalKind, RiskSource, SegmentEnd, SegmentReason,
    Settlement, Stop,
};
use crate::id::{CallId, DriverId, HostId, Name};
use crate::policy::{ApprovalPolicy, Attendance, ContainmentRule, HttpApproval};
use crate::precondition::PreconditionKind;
use crate::program::ProgramClass;
use crate::risk::{DeclaredRisk, RiskTier};

/// What a new run is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The agent.
    pub agent: Name,
    /// Who is there.
    pub attendance: Attendance,
    /// The release that starts it.
    pub binary: Name,
    /// What becomes of calls that cannot be shut in by the whole profile.
    pub containment: ContainmentRule,
    /// What decides web requests.
    pub http_approval: HttpApproval,
    /// Its caps.
    pub limits: Limits,
    /// The model.
    pub model: Name,
    /// How long an approval may stay unanswered.
    pub park_expiry_ms: u64,
    /// Digest of the plugin that judges every gated call.
    pub plugin: Option<Digest>,
    /// Up to which tier gated calls run unasked.
    pub policy: ApprovalPolicy,
    /// Tools that run unasked.
    pub tool_allowlist: Vec<Name>,
    /// How many tools there are.
    pub tools: u32,
}

/// What a tool's proposing half, or the registry for a plain tool, came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// The call.
    pub call: CallId,
    /// How it is shut in.
    pub level: Level,
    /// TCP ports that it would have.
    pub network: BTreeSet<u16>,
    /// Whose hands the program is in that it would run.
    pub program: Option<ProgramClass>,
    /// Digest of the tool's definition.
    pub definition: Digest,
    /// The hidden half, where the tool is a pair.
    pub execute: Option<Name>,
    /// What kind of precondition it has.
    pub precondition: PreconditionKind,
    /// What the tool declares.
    pub risk: DeclaredRisk,
    /// The tool.
    pub tool: Name,
}

/// How a call was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assessment {
    /// The call.
    pub call: CallId,
    /// What a plugin wants beside the tier.
    pub demand: Option<Demand>,
    /// Digest of all that was given to whatever judged.
    pub inputs: Digest,
    /// The model.
    pub model: Option<Name>,
    /// Version of the classifier's prompt.
    pub prompt: Option<u32>,
    /// Digest of the proposal that was judged.
    pub proposal: Digest,
    /// What judged.
    pub source: RiskSource,
    /// The tier.
    pub tier: RiskTier,
    /// What asking the model took, where that is known.
    pub used: Option<Spend>,
}

/// Which way an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It took effect.
    Succeeded,
    /// It did not succeed.
    Failed(FailureKind),
    /// Its target had changed; nothing was written.
    Stale,
    /// It was stopped.
    Interrupted,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// The call.
    pub call: CallId,
    /// Which way.
    pub ending: Ending,
    /// How long it took.
    pub duration_ms: u64,
    /// Of a process, its exit status.
    pub exit: Option<i32>,
}

/// An intention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Start a run. A person's. Texts: prompt, system, workspace, scope.
    Start(Start),
    /// Take a run up.
    TakeUp {
        /// Who is there.
        attendance: Attendance,
        /// The driver.
        driver: DriverId,
        /// The machine.
        host: HostId,
        /// Why.
        reason: SegmentReason,
    },
    /// Put it down. Where it waits for approvals and may park, it parks.
    PutDown {
        /// Why.
        reason: SegmentEnd,
        /// How long the segment was active.
        active_ms: u64,
    },
    /// Call the model; where no cap has room for it, end the run instead.
    CallModel {
        /// Whether it is to say first in fewer words what was said so far.
        compact: bool,
        /// Digest of what would be sent.
        context: Digest,
        /// The driver's estimate.
        reserved: Spend,
        /// How long the segment was active.
        active_ms: u64,
    },
    /// Ask a model how risky the command of a proposed call is.
    CallJudge {
        /// The call.
        call: CallId,
        /// The model.
        model: Name,
        /// Digest of all that would be given to it.
        context: Digest,
        /// The driver's estimate.
        reserved: Spend,
        /// How long the segment was active.
        active_ms: u64,
    },
    /// Record its reply. Texts: reply, provider, and `arguments.cN` for each call.
    RecordReply {
        /// The tools named, `None` where a name is not one of this run's.
        calls: Vec<Option<Name>>,
        /// Why it stopped.
        stop: Stop,
        /// What it took.
        used: Spend,
    },
    /// Record that there is no reply. Texts: detail.
    RecordModelFailure {
        /// What went wrong.
        kind: ModelFailure,
        /// What it took all the same, where that is known.
        used: Option<Spend>,
        /// After how long the same is asked again, if it is.
        retry_ms: Option<u64>,
    },
    /// Record what the model sees from here on in place of its first replies. Texts: summary.
    RecordSummary {
        /// How many replies that is.
        replies: usize,
        /// What it took.
        used: Spend,
    },
    /// Record a proposal. Texts: arguments, `execute_arguments`, message, preview, precondition,
    /// program.
    Propose(Proposal),
    /// Turn a call down before the gate. Texts: detail.
    Refuse {
        /// The call.
        call: CallId,
        /// Why.
        kind: RefusalKind,
    },
    /// Record how a proposed call was judged. Texts: reason, endpoint.
    Assess(Assessment),
    /// Give a proposed call the gate's verdict.
    Gate {
        /// The call.
        call: CallId,
    },
    /// Start an allowed call, if the gate still allows it.
    Begin {
        /// The call.
        call: CallId,
        /// How long the segment was active.
        active_ms: u64,
        /// How far this machine can shut a process in now.
        level: Level,
    },
    /// Record how an execution ended. Texts: result.
    RecordOutcome(Ended),
    /// Record that nobody knows whether an interrupted execution took effect. Texts: detail.
    RecordDoubt {
        /// The call.
        call: CallId,
    },
    /// Record what the tool itself says became of an interrupted execution. Texts: result.
    Settle {
        /// The call.
        call: CallId,
        /// What became of it.
        verdict: Settlement,
    },
    /// Answer all pending calls. A person's. Texts: `note.cN`.
    Answer(AnswerSet),
    /// Put a proposal with other arguments in the place of a pending call, whose id it bears. A
    /// person's; the new call's verdict follows in the same append. Texts: those of a proposal.
    Amend(Proposal),
    /// Take an approval back. A person's. Texts: note.
    Revoke {
        /// The call.
        call: CallId,
    },
    /// Reply to a question. A person's. Texts: text.
    Reply {
        /// The call that asks.
        call: CallId,
        /// Digest of the question that was displayed.
        request: Digest,
    },
    /// Say what became of a call in doubt. A person's; it ends the call. Texts: note.
    SettleDoubt {
        /// The call.
        call: CallId,
        /// Digest of the doubt that was displayed.
        request: Digest,
        /// What became of it.
        verdict: Settlement,
    },
    /// Add a message. A person's. Texts: text.
    Prompt,
    /// Change the live policy. A person's. Texts: reason.
    ChangePolicy(ApprovalPolicy),
    /// Close what nobody answered in time.
    Expire,
    /// Make caps stricter. A person's.
    Tighten(Limits),
    /// Make the tools fewer. A person's.
    Narrow(Vec<Name>),
    /// End the run. A person's. Texts: note.
    Cancel,
    /// Record the end of the run.
    Finish {
        /// How it ends.
        outcome: Outcome,
        /// How long the segment was active.
        active_ms: u64,
    },
}
