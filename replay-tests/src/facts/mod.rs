//! Events for tests, each built on the state before it, with defaults for what does not matter.
//!
//! Calls go by their number: `asked(2)` is the request for `c2`, with the digests of the proposal
//! that the state holds. Of the tools of a story `set` alone is a pair.

mod call;

pub use call::{
    amended, approved, asked, asked_for, began, cleared, denied, expired, failed, in_doubt,
    interrupted, not_begun, proposed, question, refused, replied_to, revoked, settled,
    settled_by_person, stale, succeeded,
};

use placet_ledger::approval::{Assurance, By, Channel};
use placet_ledger::budget::{Cap, Limits, Spend, Tokens, Usd};
use placet_ledger::content::{Blob, Blobs, Commitment, Media};
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::event::{
    Event, LimitsTightened, ModelCalled, ModelFailed, ModelFailure, ModelReplied, ModelTask,
    NamedCall, OpenCall, OpenWhy, Outcome, PolicyChanged, PromptAdded, RunCancelRequested,
    RunFinished, RunParked, RunStarted, SegmentEnd, SegmentEnded, SegmentReason, SegmentStarted,
    Stop, ToolAllowed, ToolsNarrowed,
};
use placet_ledger::id::{AnswerId, CallId, DriverId, HostId, Name, Version};
use placet_ledger::policy::ContainmentRule;
use placet_ledger::policy::{ApprovalPolicy, Attendance, HttpApproval};
use placet_ledger::run::{Decided, RunState, Turn};
use uuid::Uuid;

/// How long an approval of a story may stay unanswered.
pub const EXPIRY_MS: u64 = 3_600_000;

type Build = Box<dyn Fn(Option<&RunState>) -> Decided>;

/// An event on its way, built once the state before it is known.
pub struct Fact {
    build: Build,
    later_ms: u64,
}

impl Fact {
    fn new(build: impl Fn(Option<&RunState>) -> Decided + 'static) -> Self {
        Self {
            build: Box::new(build),
            later_ms: 0,
        }
    }

    fn of(build: impl Fn(&RunState) -> Event + 'static) -> Self {
        Self::new(move |state| match state {
            Some(state) => Decided::fact(build(state)),
            None => panic!("a story begins with started()"),
        })
    }

    /// So many milliseconds after the fact before it.
    #[must_use]
    pub const fn later(mut self, ms: u64) -> Self {
        self.later_ms = ms;
        self
    }

    /// The same, with contents by these names.
    #[must_use]
    pub fn with(self, texts: &'static [&'static str]) -> Self {
        let Self { build, later_ms } = self;
        let build = move |state: Option<&RunState>| {
            let mut decided = build(state);
            let named = texts.iter().map(|name| ((*name).to_owned(), blob(name)));
            decided.blobs.extend(named);
            decided
        };
        Self {
            build: Box::new(build),
            later_ms,
        }
    }

    /// The same, with the content of another name under this one.
    #[must_use]
    pub fn text_of(self, text: &'static str, of: &'static str) -> Self {
        let Self { build, later_ms } = self;
        let build = move |state: Option<&RunState>| {
            let mut decided = build(state);
            decided.blobs.insert(text.to_owned(), blob(of));
            decided
        };
        Self {
            build: Box::new(build),
            later_ms,
        }
    }

    /// The same, changed.
    #[must_use]
    pub fn but(self, change: impl Fn(&mut Event) + 'static) -> Self {
        let Self { build, later_ms } = self;
        let build = move |state: Option<&RunState>| {
            let mut decided = build(state);
            change(&mut decided.event);
            decided
        };
        Self {
            build: Box::new(build),
            later_ms,
        }
    }

    /// How many milliseconds after the fact before it.
    pub const fn later_ms(&self) -> u64 {
        self.later_ms
    }

    /// The event with its contents, after this state.
    pub fn build(&self, state: Option<&RunState>) -> Decided {
        (self.build)(state)
    }
}

/// A name; a story writes it out, so it has to be one.
///
/// # Panics
///
/// If it is none.
pub fn name(text: &str) -> Name {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// The call with this number.
///
/// # Panics
///
/// If the number is 0.
pub fn call(number: u32) -> CallId {
    let offset = number.checked_sub(1);
    offset
        .and_then(|offset| CallId::FIRST.plus(offset))
        .unwrap_or_else(|| panic!("calls are counted from 1"))
}

/// A content: which one is told by its text alone.
pub fn blob(text: &str) -> Blob {
    Blob {
        commitment: Commitment::from_digest(digest(Purpose::Blob, text.as_bytes())),
        media: Media::Plain,
        size: 64,
    }
}

/// The person of every story.
pub fn somebody() -> By {
    By::Person {
        assurance: Assurance::SameUser,
        channel: Channel::Cli,
        principal: name("uid:1000"),
    }
}

/// The driver with this number.
pub const fn driver(number: u128) -> DriverId {
    DriverId::new(Uuid::from_u128(number))
}

/// The machine of every story.
pub const HOST: HostId = HostId::new(Uuid::from_u128(0x405));

/// The answer set of every story.
pub const ANSWER: AnswerId = AnswerId::new(Uuid::from_u128(0xa));

/// The version of the authority stream in every story.
pub const AUTHORITY: Version = Version::new(1);

/// The rules of every story.
pub fn rules() -> Commitment {
    blob("rules").commitment
}

/// What a model call of a story sets aside.
pub const RESERVED: Spend = Spend {
    cost_usd: Usd::ZERO,
    tokens: Tokens::new(100, 100),
};

/// `run.started`, changed as the test likes it.
pub fn started_with(change: impl Fn(&mut RunStarted) + 'static) -> Fact {
    let build = move |_: Option<&RunState>| {
        let mut body = RunStarted {
            containment: ContainmentRule::Prefer,
            plugin: None,
            agent: name("default"),
            attendance: Attendance::Park,
            authority: AUTHORITY,
            binary: name("0.1.0"),
            http_approval: HttpApproval::Allow,
            limits: Limits::default(),
            model: name("script"),
            park_expiry_ms: EXPIRY_MS,
            policy: ApprovalPolicy::False,
            rules: rules(),
            tool_allowlist: Vec::new(),
            tools: 5,
        };
        change(&mut body);
        Decided::fact(Event::RunStarted(body))
    };
    Fact::new(build).with(&["prompt", "scope", "system", "workspace"])
}

/// `run.started`.
pub fn started() -> Fact {
    started_with(|_| ())
}

/// `segment.started` by the driver with this number.
pub fn taken_up(number: u128) -> Fact {
    Fact::of(move |state| {
        Event::SegmentStarted(SegmentStarted {
            attendance: state.started().attendance,
            driver: driver(number),
            epoch: state.epoch().saturating_add(1),
            host: HOST,
            reason: SegmentReason::Start,
        })
    })
}

/// `segment.ended` of the open segment, after no time.
pub fn put_down(reason: SegmentEnd) -> Fact {
    Fact::of(move |state| {
        Event::SegmentEnded(SegmentEnded {
            active_ms: 0,
            driver: state.segment().map_or(driver(0), |open| open.driver),
            epoch: state.epoch(),
            reason,
        })
    })
}

/// The digest of every context.
pub fn context() -> Digest {
    digest(Purpose::Context, b"story")
}

/// `model.called`, the first attempt.
pub fn called() -> Fact {
    called_again(1)
}

/// `model.called`, this attempt.
pub fn called_again(attempt: u32) -> Fact {
    Fact::of(move |state| {
        Event::ModelCalled(ModelCalled {
            attempt,
            context: context(),
            model: state.started().model.clone(),
            reserved: RESERVED.tokens,
            reserved_usd: RESERVED.cost_usd,
            task: ModelTask::Turn,
        })
    })
}

fn attempt(state: &RunState) -> u32 {
    match state.turn() {
        Turn::Called { attempt, .. } => *attempt,
        Turn::Ready | Turn::Replied { .. } | Turn::Failed { .. } => 1,
    }
}

/// `model.replied` with calls of these tools, `?` for a name that is none.
///
/// # Panics
///
/// When it is built before `run.started`.
pub fn replied(tools: &'static [&'static str]) -> Fact {
    let build = move |state: Option<&RunState>| {
        let Some(first) = state.and_then(RunState::next_call) else {
            panic!("a story begins with started()");
        };
        let id = |offset: usize| {
            let offset = u32::try_from(offset).unwrap_or(u32::MAX);
            first.plus(offset).unwrap_or(first)
        };
        let calls: Vec<_> = (tools.iter().enumerate())
            .map(|(offset, tool)| NamedCall {
                call: id(offset),
                tool: (*tool != "?").then(|| name(tool)),
            })
            .collect();
        let blobs: Blobs = calls
            .iter()
            .map(|named| format!("arguments.{}", named.call))
            .map(|key| (key.clone(), blob(&key)))
            .collect();
        let stop = if calls.is_empty() {
            Stop::End
        } else {
            Stop::ToolCalls
        };
        let event = Event::ModelReplied(ModelReplied {
            attempt: state.map_or(1, attempt),
            calls,
            cost_usd: Usd::ZERO,
            stop,
            used: Tokens::new(10, 5),
        });
        Decided { event, blobs }
    };
    Fact::new(build)
}

/// `model.replied` without calls, with a last word.
pub fn last_word() -> Fact {
    replied(&[]).with(&["reply"])
}

/// `model.failed`.
pub fn model_failed() -> Fact {
    Fact::of(|state| {
        Event::ModelFailed(ModelFailed {
            attempt: attempt(state),
            cost_usd: Usd::ZERO,
            kind: ModelFailure::Provider,
            retry_ms: None,
            used: None,
        })
    })
}

/// `limits.tightened`.
pub fn tightened(limits: Limits) -> Fact {
    let by = somebody();
    Fact::of(move |_| {
        Event::LimitsTightened(LimitsTightened {
            by: by.clone(),
            limits,
        })
    })
}

/// `tools.narrowed`.
pub fn narrowed(tools: &'static [&'static str]) -> Fact {
    Fact::of(move |_| {
        Event::ToolsNarrowed(ToolsNarrowed {
            by: somebody(),
            tools: tools.iter().map(|tool| name(tool)).collect(),
        })
    })
}

/// `prompt.added`.
pub fn prompted() -> Fact {
    Fact::of(|_| Event::PromptAdded(PromptAdded { by: somebody() })).with(&["text"])
}

/// `policy.changed`.
pub fn policy_changed(policy: ApprovalPolicy) -> Fact {
    Fact::of(move |_| {
        Event::PolicyChanged(PolicyChanged {
            by: somebody(),
            policy,
        })
    })
}

/// `tool.allowed`.
pub fn tool_allowed(tool: &'static str) -> Fact {
    Fact::of(move |_| {
        Event::ToolAllowed(ToolAllowed {
            by: somebody(),
            tool: name(tool),
        })
    })
}

/// `run.parked` with these calls.
pub fn parked(calls: &'static [u32]) -> Fact {
    let pending = || calls.iter().map(|number| call(*number)).collect();
    Fact::of(move |_| Event::RunParked(RunParked { pending: pending() }))
}

/// `run.cancel_requested`.
pub fn cancel_requested() -> Fact {
    Fact::of(|_| Event::RunCancelRequested(RunCancelRequested { by: somebody() }))
}

/// `run.finished`, with the calls that were left.
pub fn finished(outcome: Outcome, open: &'static [(u32, OpenWhy)]) -> Fact {
    let left = |(number, why): &(u32, OpenWhy)| OpenCall {
        call: call(*number),
        why: *why,
    };
    Fact::of(move |state| {
        let open = open.iter().map(left).collect();
        let caps = [Cap::Iterations, Cap::Tokens, Cap::Cost, Cap::Duration];
        let mut bind = caps.into_iter().filter(|cap| state.limits().binds(*cap));
        let cap = bind.next().filter(|_| outcome == Outcome::Budget);
        Event::RunFinished(RunFinished { cap, open, outcome })
    })
}
