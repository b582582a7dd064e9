//! The one transition function: what a state becomes by one more event, or why it cannot follow.

mod calls;
mod executions;
mod model;

use std::collections::BTreeMap;

use super::call::{Call, Close, Phase};
use super::next::{Effect, Step, next};
use super::state::{Head, Later, RunState, Segment};
use super::turn::Turn;
use crate::approval::Actor;
use crate::envelope::Envelope;
use crate::event::{Event, Outcome, RunFinished, RunStarted, SegmentEnded, SegmentStarted};
use crate::id::RunId;

/// An event that cannot follow the state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{event} at version {version} cannot follow: {why}")]
pub struct IllegalEvent {
    /// The event.
    pub event: &'static str,
    /// Where.
    pub version: crate::id::Version,
    /// Why not.
    pub why: &'static str,
}

type Evolved = Result<(), &'static str>;

/// The state after one more record. `None` is a run that was not started.
///
/// The link to the record before is checked by whoever reads a log ([`super::fold`], the owner);
/// this function checks what the event means.
pub fn evolve(state: Option<RunState>, envelope: &Envelope) -> Result<RunState, IllegalEvent> {
    let illegal = |why| IllegalEvent {
        event: envelope.event().name(),
        version: envelope.version(),
        why,
    };
    let Some(mut state) = state else {
        return start(envelope).map_err(illegal);
    };
    state.apply(envelope).map_err(illegal)?;
    let header = envelope.header();
    if let (Some(segment), Actor::Engine | Actor::Policy | Actor::Allowlist) =
        (&mut state.segment, &header.actor)
    {
        segment.until = header.at;
    }
    state.head = Head {
        version: header.version,
        digest: envelope.digest(),
        id: header.id,
        at: header.at,
    };
    Ok(state)
}

fn start(envelope: &Envelope) -> Result<RunState, &'static str> {
    let Event::RunStarted(started) = envelope.event() else {
        return Err("the first record of a run is run.started");
    };
    let header = envelope.header();
    if header.version != crate::id::Version::ZERO {
        return Err("run.started has version 0");
    }
    let started: RunStarted = started.clone();
    Ok(RunState {
        ledger: header.ledger,
        run: RunId::new(header.stream.uuid()),
        head: Head {
            version: header.version,
            digest: envelope.digest(),
            id: header.id,
            at: header.at,
        },
        started_at: header.at,
        starter: header.actor.person().cloned(),
        texts: envelope.blobs().clone(),
        policy: started.policy,
        allowlist: started.tool_allowlist.iter().cloned().collect(),
        limits: started.limits,
        narrowed: None,
        host: None,
        segment: None,
        epoch: 0,
        usage: crate::budget::Usage::default(),
        turn: Turn::Ready,
        aside: None,
        compacted: None,
        replies: Vec::new(),
        later: Vec::new(),
        calls: BTreeMap::new(),
        answers: BTreeMap::new(),
        denied: Vec::new(),
        denied_earlier: 0,
        parked: false,
        cancelling: false,
        outcome: None,
        cap: None,
        started,
    })
}

impl RunState {
    #[expect(clippy::too_many_lines, reason = "one match, an arm an event")]
    fn apply(&mut self, envelope: &Envelope) -> Evolved {
        if self.outcome.is_some() {
            return Err("the run has ended");
        }
        if envelope.at() < self.head.at {
            return Err("time runs backwards");
        }
        match envelope.event() {
            Event::SegmentStarted(event) => self.segment_started(event, envelope),
            Event::SegmentEnded(event) => self.segment_ended(event),
            Event::ModelCalled(event) => self.model_called(event),
            Event::ModelReplied(event) => self.model_replied(event, envelope),
            Event::ModelFailed(event) => self.model_failed(event, envelope),
            Event::ContextCompacted(event) => self.context_compacted(event, envelope),
            Event::CallProposed(_)
            | Event::RiskAssessed(_)
            | Event::CallRefused(_)
            | Event::ApprovalRequested(_)
            | Event::ApprovalGranted(_)
            | Event::ApprovalDenied(_)
            | Event::ApprovalRevoked(_)
            | Event::ApprovalExpired(_)
            | Event::QuestionAsked(_)
            | Event::QuestionAnswered(_)
            | Event::ExecutionStarted(_)
            | Event::ExecutionRefused(_)
            | Event::ExecutionSucceeded(_)
            | Event::ExecutionFailed(_)
            | Event::ExecutionStale(_)
            | Event::ExecutionInterrupted(_)
            | Event::ExecutionInDoubt(_)
            | Event::ExecutionSettled(_) => self.apply_to_call(envelope),
            Event::PromptAdded(_) => self.prompt_added(envelope),
            Event::PolicyChanged(event) => {
                self.policy = event.policy;
                Ok(())
            }
            Event::ToolAllowed(event) => {
                if !self.offers(&event.tool) {
                    return Err("the run does not have the tool");
                }
                self.allowlist.insert(event.tool.clone());
                Ok(())
            }
            Event::LimitsTightened(event) => {
                if event.limits.strictest(self.limits) != event.limits {
                    return Err("a cap became wider");
                }
                self.limits = event.limits;
                Ok(())
            }
            Event::ToolsNarrowed(event) => {
                if event.tools.iter().any(|tool| !self.offers(tool)) {
                    return Err("a tool came back");
                }
                self.narrowed = Some(event.tools.iter().cloned().collect());
                Ok(())
            }
            Event::RunParked(event) => {
                let pending: Vec<_> = self.awaited().map(Call::id).collect();
                if self.segment.is_some() || pending.is_empty() || pending != event.pending {
                    return Err("the run does not wait for exactly these calls");
                }
                self.parked = true;
                Ok(())
            }
            Event::RunCancelRequested(_) => {
                self.cancelling = true;
                Ok(())
            }
            Event::RunFinished(event) => self.run_finished(event, envelope),
            Event::RunStarted(_)
            | Event::LedgerCreated(_)
            | Event::RulesAdopted(_)
            | Event::GrantAdded(_)
            | Event::GrantRevoked(_)
            | Event::ClockStepped(_)
            | Event::AttemptRefused(_) => Err("it does not belong there in a run"),
        }
    }

    fn segment_started(&mut self, event: &SegmentStarted, envelope: &Envelope) -> Evolved {
        if self.segment.is_some() {
            return Err("a segment is open");
        }
        if Some(event.epoch) != self.epoch.checked_add(1) {
            return Err("segments are counted one by one");
        }
        self.epoch = event.epoch;
        self.host = self.host.or(Some(event.host));
        self.parked = false;
        self.segment = Some(Segment {
            driver: event.driver,
            epoch: event.epoch,
            attendance: event.attendance,
            since: envelope.at(),
            until: envelope.at(),
        });
        Ok(())
    }

    fn segment_ended(&mut self, event: &SegmentEnded) -> Evolved {
        match &self.segment {
            Some(open) if open.epoch == event.epoch && open.driver == event.driver => {
                self.segment = None;
                self.usage.active_ms = self.usage.active_ms.saturating_add(event.active_ms);
                Ok(())
            }
            Some(_) | None => Err("no such segment is open"),
        }
    }

    /// A message opens a turn of its own: nothing may be open in the one before.
    fn prompt_added(&mut self, envelope: &Envelope) -> Evolved {
        if self.batch().any(|call| !call.is_closed()) {
            return Err("a call is open");
        }
        if self.is_asking() {
            return Err("the model is being asked");
        }
        if self.cancelling {
            return Err("the run is being cancelled");
        }
        self.later.push(Later {
            after: self.replies.len(),
            text: envelope.blobs().get("text").copied(),
        });
        self.denied_earlier = self.denied.len();
        self.turn = Turn::Ready;
        self.aside = None;
        Ok(())
    }

    fn run_finished(&mut self, event: &RunFinished, envelope: &Envelope) -> Evolved {
        if self.segment.is_some() {
            return Err("a segment is open");
        }
        let executing = |call: &Call| matches!(call.phase, Phase::Executing { .. });
        if self.batch().any(executing) {
            return Err("a call is being executed");
        }
        let due = match event.outcome {
            Outcome::Completed | Outcome::Failed | Outcome::Cancelled => {
                next(self) == Step::Finish(event.outcome)
            }
            Outcome::Budget => matches!(next(self), Step::Perform(Effect::Prepare { .. })),
            Outcome::Expired => {
                let expired = |call: &Call| call.phase == Phase::Closed(Close::Expired);
                let over = self.park_expires_at().is_some_and(|at| envelope.at() >= at);
                over && self.batch().any(expired)
            }
        };
        if !due {
            return Err("the run does not end that way here");
        }
        let capped = event.cap.is_some_and(|cap| self.limits.binds(cap));
        if capped != (event.outcome == Outcome::Budget) || capped != event.cap.is_some() {
            return Err("the cap is none that ended it");
        }
        if event.open != self.open_calls() {
            return Err("these are not the calls that were left");
        }
        self.parked = false;
        self.outcome = Some(event.outcome);
        self.cap = event.cap;
        Ok(())
    }
}
