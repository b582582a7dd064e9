//! The state of a run: what folding its events comes to. Read from outside, written by `evolve`.

use std::collections::{BTreeMap, BTreeSet};

use super::call::{Call, Phase};
use super::turn::{Aside, AsideStands, Compacted, Turn};
use crate::approval::{Approver, Assurance, Unmet};
use crate::budget::{Cap, Limits, Tokens, Usage};
use crate::content::{Blob, Blobs};
use crate::digest::Digest;
use crate::event::{ModelTask, OpenCall, OpenWhy, Outcome, RunStarted};
use crate::id::{
    AnswerId, CallId, DriverId, EventId, HostId, LedgerId, Name, Principal, RunId, Version,
};
use crate::policy::{ApprovalPolicy, Attendance};
use crate::proposal::set_digest;
use crate::time::Timestamp;

/// The newest record of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Its version.
    pub version: Version,
    /// Its digest.
    pub digest: Digest,
    /// Its id.
    pub id: EventId,
    /// Its time.
    pub at: Timestamp,
}

/// A driver that has the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The driver.
    pub driver: DriverId,
    /// Counts segments, from 1.
    pub epoch: u32,
    /// Who is there.
    pub attendance: Attendance,
    /// When it took the run up.
    pub since: Timestamp,
    /// When it recorded something last; what people and the clock record does not count.
    pub until: Timestamp,
}

impl Segment {
    /// The active time that is proven of a driver that vanished.
    pub fn proven_ms(&self) -> u64 {
        self.until.ms_since(self.since)
    }
}

/// One reply of the model, for whoever renders the conversation again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// What it said.
    pub text: Option<Blob>,
    /// The provider's ids and foreign names of its calls.
    pub provider: Option<Blob>,
    /// Its calls, in the model's order.
    pub calls: Vec<CallId>,
    /// What it used.
    pub used: Tokens,
    /// Its record.
    pub version: Version,
}

/// A later message of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Later {
    /// How many replies of the model came before it.
    pub after: usize,
    /// What it says.
    pub text: Option<Blob>,
}

/// What a listing says about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// A driver has it, or vanished with it.
    Running,
    /// Nobody drives it, and it is not parked.
    Waiting,
    /// It waits for answers.
    Parked,
    /// An execution started, and nobody knows whether it took effect.
    InDoubt,
    /// It ended.
    Finished(Outcome),
}

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunState {
    pub(super) ledger: LedgerId,
    pub(super) run: RunId,
    pub(super) head: Head,
    pub(super) started: RunStarted,
    pub(super) started_at: Timestamp,
    pub(super) starter: Option<Principal>,
    pub(super) texts: Blobs,
    pub(super) policy: ApprovalPolicy,
    pub(super) allowlist: BTreeSet<Name>,
    pub(super) limits: Limits,
    pub(super) narrowed: Option<BTreeSet<Name>>,
    pub(super) host: Option<HostId>,
    pub(super) segment: Option<Segment>,
    pub(super) epoch: u32,
    pub(super) usage: Usage,
    pub(super) turn: Turn,
    pub(super) aside: Option<Aside>,
    pub(super) compacted: Option<Compacted>,
    pub(super) replies: Vec<Reply>,
    pub(super) later: Vec<Later>,
    pub(super) calls: BTreeMap<CallId, Call>,
    /// Which calls a set answered, so that no answer looks through all calls of its run.
    pub(super) answers: BTreeMap<AnswerId, BTreeSet<CallId>>,
    pub(super) denied: Vec<CallId>,
    /// How many of the denials came before the newest message of a person.
    pub(super) denied_earlier: usize,
    pub(super) parked: bool,
    pub(super) cancelling: bool,
    pub(super) outcome: Option<Outcome>,
    pub(super) cap: Option<Cap>,
}

impl RunState {
    /// The ledger.
    pub fn ledger(&self) -> LedgerId {
        self.ledger
    }

    /// The run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The newest record.
    pub fn head(&self) -> Head {
        self.head
    }

    /// What it was started with.
    pub fn started(&self) -> &RunStarted {
        &self.started
    }

    /// When it was started.
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// Who started it, where a person did.
    pub fn starter(&self) -> Option<&Principal> {
        self.starter.as_ref()
    }

    /// The contents it was started with: prompt, system, workspace, scope.
    pub fn texts(&self) -> &Blobs {
        &self.texts
    }

    /// The policy in force.
    pub fn policy(&self) -> ApprovalPolicy {
        self.policy
    }

    /// The tools that run unasked.
    pub fn allowlist(&self) -> &BTreeSet<Name> {
        &self.allowlist
    }

    /// The caps in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The tools that are left, where they were narrowed after the start.
    pub fn narrowed(&self) -> Option<&BTreeSet<Name>> {
        self.narrowed.as_ref()
    }

    /// Whether a tool of the run's scope is still offered.
    pub fn offers(&self, tool: &Name) -> bool {
        self.narrowed
            .as_ref()
            .is_none_or(|left| left.contains(tool))
    }

    /// The host on which it was first driven, and is driven on.
    pub fn host(&self) -> Option<HostId> {
        self.host
    }

    /// The driver that has it.
    pub fn segment(&self) -> Option<&Segment> {
        self.segment.as_ref()
    }

    /// The number of the newest segment.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Who is there, as the open segment or else the start says.
    pub fn attendance(&self) -> Attendance {
        self.segment
            .as_ref()
            .map_or(self.started.attendance, |segment| segment.attendance)
    }

    /// What it used.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Where the conversation stands.
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// What a model was asked beside the conversation, last.
    pub fn aside(&self) -> Option<&Aside> {
        self.aside.as_ref()
    }

    /// What the model sees in place of its first replies.
    pub fn compacted(&self) -> Option<&Compacted> {
        self.compacted.as_ref()
    }

    /// Whether the driver that has the run waits for a model.
    pub fn is_asking(&self) -> bool {
        let Some(epoch) = self.segment.as_ref().map(|segment| segment.epoch) else {
            return false;
        };
        let beside = |aside: &Aside| aside.is_open_in(epoch);
        matches!(self.turn, Turn::Called { epoch: of, .. } if of == epoch)
            || self.aside.as_ref().is_some_and(beside)
    }

    /// Whether the model that it waits for is asked about a call.
    pub fn is_asking_about(&self, call: CallId) -> bool {
        let task = self.aside.as_ref().map(|aside| aside.task);
        self.is_asking() && task == Some(ModelTask::Classify(call))
    }

    /// Which attempt at something beside the conversation the next one would be.
    pub fn next_attempt(&self, task: ModelTask) -> Option<u32> {
        let before = self.aside.as_ref().filter(|aside| aside.task == task);
        before.map_or(Some(1), |aside| aside.attempt.checked_add(1))
    }

    /// Every reply of the model, in order.
    pub fn replies(&self) -> &[Reply] {
        &self.replies
    }

    /// The messages that a person added, in order.
    pub fn later(&self) -> &[Later] {
        &self.later
    }

    /// The calls of the newest reply, in the model's order.
    pub fn batch(&self) -> impl DoubleEndedIterator<Item = &Call> {
        let newest = self
            .replies
            .last()
            .map(|reply| reply.calls.as_slice())
            .unwrap_or_default();
        newest.iter().filter_map(|call| self.calls.get(call))
    }

    /// Every call, in order.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &Call> {
        self.calls.values()
    }

    /// One call.
    pub fn call(&self, call: CallId) -> Option<&Call> {
        self.calls.get(&call)
    }

    /// The calls that a person denied, in the order of the denials.
    pub fn denied(&self) -> impl DoubleEndedIterator<Item = &Call> {
        self.denied.iter().filter_map(|call| self.calls.get(call))
    }

    /// Those of them since the newest message of a person.
    pub fn denied_lately(&self) -> impl DoubleEndedIterator<Item = &Call> {
        let lately = self.denied.iter().skip(self.denied_earlier);
        lately.filter_map(|call| self.calls.get(call))
    }

    /// The id that the next call will have.
    pub fn next_call(&self) -> Option<CallId> {
        match self.calls.last_key_value() {
            Some((last, _)) => last.plus(1),
            None => Some(CallId::FIRST),
        }
    }

    /// The calls that wait for an answer or a reply, in the model's order; none once the run has
    /// ended.
    pub fn awaited(&self) -> impl Iterator<Item = &Call> {
        let goes_on = self.outcome.is_none();
        self.batch()
            .filter(move |call| goes_on && call.is_awaited())
    }

    /// The calls that wait for an answer, with their request digests.
    pub fn pending(&self) -> BTreeMap<CallId, Digest> {
        let asked = |call: &Call| Some((call.id, call.requested.as_ref()?.digest));
        let pending = self.awaited().filter(|call| call.phase == Phase::Pending);
        pending.filter_map(asked).collect()
    }

    /// Whether a person's approval of a call is what it demands.
    pub fn accepts(
        &self,
        call: &Call,
        (principal, assurance): (&Principal, Assurance),
    ) -> Result<(), Unmet> {
        let approver = Approver {
            principal,
            assurance,
            starter: self.starter(),
            amender: call.amender(),
        };
        let demands = call.requested().map(|asked| &asked.demands);
        demands.map_or(Ok(()), |demands| demands.met_by(approver))
    }

    /// The calls that were answered in one set, in call order.
    pub fn answered_in(&self, set: AnswerId) -> impl Iterator<Item = &Call> {
        let calls = self.answers.get(&set).into_iter().flatten();
        let calls = calls.filter_map(|call| self.calls.get(call));
        // A call may have been answered anew since.
        calls.filter(move |call| call.answered.as_ref().is_some_and(|is| is.set == set))
    }

    /// The calls of the newest reply about which people were asked.
    pub fn asked(&self) -> impl Iterator<Item = &Call> {
        let calls = |reply: &Reply| {
            let calls = reply.calls.iter().filter_map(|call| self.calls.get(call));
            let asked: Vec<&Call> = calls.filter(|call| call.requested.is_some()).collect();
            (!asked.is_empty()).then_some(asked)
        };
        let newest = self.replies.iter().rev().find_map(calls);
        newest.unwrap_or_default().into_iter()
    }

    /// The code over all pending requests: what cards show and an answer may name.
    pub fn set_code(&self) -> Option<String> {
        let pending = self.pending();
        (!pending.is_empty()).then(|| set_digest(pending.values()).short())
    }

    /// Whether somebody wants it to end.
    pub fn is_cancelling(&self) -> bool {
        self.cancelling
    }

    /// How it ended.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// The cap that ended it, where one did.
    pub fn cap(&self) -> Option<Cap> {
        self.cap
    }

    /// What happened where the model could not go on.
    pub fn failure(&self) -> Option<&Blob> {
        let beside = self.aside.as_ref().map(|aside| &aside.stands);
        if let Some(AsideStands::Failed { detail, .. }) = beside {
            return detail.as_ref();
        }
        match &self.turn {
            Turn::Failed { detail, .. } => detail.as_ref(),
            Turn::Ready | Turn::Called { .. } | Turn::Replied { .. } => None,
        }
    }

    /// The earliest time at which something that is pending expires.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.awaited().filter_map(Call::expires_at).min()
    }

    /// When the park expires: what is still pending then ends the run. A rule may let a single
    /// call expire earlier.
    pub fn park_expires_at(&self) -> Option<Timestamp> {
        match self.turn {
            Turn::Replied { at, .. } => Some(at.plus_ms(self.started.park_expiry_ms)),
            Turn::Ready | Turn::Called { .. } | Turn::Failed { .. } => None,
        }
    }

    /// The calls of the newest reply that are not over, each with how far it has come.
    pub fn open_calls(&self) -> Vec<OpenCall> {
        let why = |phase| match phase {
            Phase::Named | Phase::Proposed => Some(OpenWhy::NotGated),
            Phase::Pending | Phase::Asked => Some(OpenWhy::Pending),
            Phase::Granted => Some(OpenWhy::NotStarted),
            Phase::Executing { .. } | Phase::InDoubt => Some(OpenWhy::InDoubt),
            Phase::Closed(_) => None,
        };
        let open = self.batch().map(|call| (call.id, why(call.phase)));
        open.filter_map(|(call, why)| Some(OpenCall { call, why: why? }))
            .collect()
    }

    /// What a listing says about it.
    pub fn status(&self) -> Status {
        if let Some(outcome) = self.outcome {
            Status::Finished(outcome)
        } else if self.batch().any(|call| call.phase == Phase::InDoubt) {
            Status::InDoubt
        } else if self.segment.is_some() {
            Status::Running
        } else if self.parked {
            Status::Parked
        } else {
            Status::Waiting
        }
    }
}
