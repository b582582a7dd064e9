//! The one transition function: what a state becomes by one more event, or why it cannot follow.

use std::collections::BTreeMap;

use super::call::{Call, Close, Grant, Phase, Proposed, Requested};
use super::state::{Head, RunState, Segment, Turn};
use crate::content::{Blob, Blobs};
use crate::envelope::Envelope;
use crate::event::{
    ApprovalGranted, ApprovalRequested, CallProposed, Event, ExecutionEnded, ExecutionStarted,
    ModelCalled, ModelReplied, RunFinished, RunStarted, SegmentEnded, SegmentStarted, Settlement,
};
use crate::id::{CallId, RunId};
use crate::limits::PENDING_CALLS_MAX;
use crate::proposal::proposal_digest;

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
        texts: envelope.blobs().clone(),
        allowlist: started.tool_allowlist.iter().cloned().collect(),
        limits: started.limits,
        narrowed: None,
        segment: None,
        epoch: 0,
        usage: crate::budget::Usage::default(),
        turn: Turn::Ready,
        batch: Vec::new(),
        calls: BTreeMap::new(),
        last_answer: None,
        parked: false,
        cancelling: false,
        outcome: None,
        started,
    })
}

impl RunState {
    fn apply(&mut self, envelope: &Envelope) -> Evolved {
        if self.outcome.is_some() {
            return Err("the run has ended");
        }
        if envelope.at() < self.head.at {
            return Err("time runs backwards");
        }
        let blobs = envelope.blobs();
        match envelope.event() {
            Event::SegmentStarted(event) => self.segment_started(event, envelope),
            Event::SegmentEnded(event) => self.segment_ended(event),
            Event::ModelCalled(event) => self.model_called(event),
            Event::ModelReplied(event) => self.model_replied(event, envelope),
            Event::ModelFailed(event) => self.model_failed(event.attempt, event.used),
            Event::CallProposed(event) => self.call_proposed(event, envelope),
            Event::CallRefused(event) => {
                let close = Close::Refused(event.kind);
                let open = [Phase::Named, Phase::Proposed];
                self.close(event.call, &open, close, envelope)
            }
            Event::ApprovalRequested(event) => self.approval_requested(event, envelope),
            Event::ApprovalGranted(event) => self.approval_granted(event, envelope),
            Event::ApprovalDenied(event) => {
                self.answers(event.call, event.request, envelope)?;
                self.last_answer = Some(event.answer);
                self.parked = false;
                self.close(event.call, &[Phase::Pending], Close::Denied, envelope)
            }
            Event::ApprovalExpired(event) => {
                self.requests(event.call, event.request)?;
                let open = [Phase::Pending, Phase::Proposed];
                self.close(event.call, &open, Close::Expired, envelope)
            }
            Event::ExecutionStarted(event) => self.execution_started(event, envelope),
            Event::ExecutionRefused(event) => {
                let call = self.open_call(event.call, &[Phase::Granted])?;
                call.phase = Phase::Proposed;
                call.grant = None;
                call.last = envelope.header().id;
                Ok(())
            }
            Event::ExecutionSucceeded(e) => self.execution_ended(e, Close::Succeeded, envelope),
            Event::ExecutionFailed(e) => self.execution_ended(e, Close::Failed, envelope),
            Event::ExecutionStale(e) => self.execution_ended(e, Close::Stale, envelope),
            Event::ExecutionInterrupted(e) => self.execution_ended(e, Close::Interrupted, envelope),
            Event::ExecutionInDoubt(event) => {
                let call = self.executing(event.call, event.attempt)?;
                call.phase = Phase::InDoubt;
                call.last = envelope.header().id;
                Ok(())
            }
            Event::ExecutionSettled(event) => {
                let call = self.executing(event.call, event.attempt)?;
                call.phase = match event.verdict {
                    Settlement::Done => Phase::Closed(Close::Succeeded),
                    Settlement::NotDone => Phase::Granted,
                };
                call.result = blobs.get("result").copied();
                call.last = envelope.header().id;
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
                let pending: Vec<_> = self.pending().into_keys().collect();
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
            Event::RunFinished(event) => self.run_finished(event),
            Event::RunStarted(_)
            | Event::LedgerCreated(_)
            | Event::RulesAdopted(_)
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
        self.parked = false;
        self.segment = Some(Segment {
            driver: event.driver,
            epoch: event.epoch,
            attendance: event.attendance,
            since: envelope.at(),
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

    fn driven(&self) -> Result<u32, &'static str> {
        self.segment
            .as_ref()
            .map(|segment| segment.epoch)
            .ok_or("no segment is open")
    }

    fn model_called(&mut self, event: &ModelCalled) -> Evolved {
        let epoch = self.driven()?;
        if self.batch().any(|call| !call.is_closed()) {
            return Err("a call is open");
        }
        let attempt = match self.turn {
            Turn::Ready => Some(1),
            Turn::Replied { .. } if !self.batch.is_empty() => Some(1),
            Turn::Called {
                attempt,
                epoch: earlier,
                ..
            } if earlier < epoch => attempt.checked_add(1),
            Turn::Called { .. } | Turn::Replied { .. } | Turn::Failed => None,
        };
        if attempt != Some(event.attempt) {
            return Err("the model is not to be called");
        }
        let reserved = event.reserved;
        self.turn = Turn::Called {
            attempt: event.attempt,
            epoch,
            reserved,
        };
        self.usage.iterations = self.usage.iterations.saturating_add(1);
        self.usage.tokens = self.usage.tokens.saturating_add(reserved.total());
        Ok(())
    }

    /// Ends the open call of the model: what was set aside becomes what was used.
    fn settle_model(&mut self, attempt: u32, used: Option<crate::budget::Tokens>) -> Evolved {
        let epoch = self.driven()?;
        match self.turn {
            Turn::Called {
                attempt: open,
                epoch: caller,
                reserved,
            } if open == attempt && caller == epoch => {
                if let Some(used) = used {
                    let others = self.usage.tokens.saturating_sub(reserved.total());
                    self.usage.tokens = others.saturating_add(used.total());
                }
                Ok(())
            }
            Turn::Ready | Turn::Called { .. } | Turn::Replied { .. } | Turn::Failed => {
                Err("no such call of the model is open")
            }
        }
    }

    fn model_replied(&mut self, event: &ModelReplied, envelope: &Envelope) -> Evolved {
        self.settle_model(event.attempt, Some(event.used))?;
        if event.calls.len() > PENDING_CALLS_MAX {
            return Err("more calls than one reply may have");
        }
        let first = self.next_call().ok_or("call ids are used up")?;
        let mut batch = Vec::with_capacity(event.calls.len());
        for (offset, named) in (0_u32..).zip(&event.calls) {
            if first.plus(offset) != Some(named.call) {
                return Err("call ids rise one by one");
            }
            let received = envelope
                .blobs()
                .get(&format!("arguments.{}", named.call))
                .copied();
            batch.push(Call {
                id: named.call,
                tool: named.tool.clone(),
                received,
                phase: Phase::Named,
                last: envelope.header().id,
                proposed: None,
                requested: None,
                grant: None,
                attempts: 0,
                note: None,
                result: None,
            });
        }
        self.batch = batch.iter().map(|call| call.id).collect();
        self.calls
            .extend(batch.into_iter().map(|call| (call.id, call)));
        self.usage.cost_usd = self.usage.cost_usd.plus(event.cost_usd);
        self.turn = Turn::Replied {
            stop: event.stop,
            id: envelope.header().id,
            at: envelope.at(),
            reply: envelope.blobs().get("reply").copied(),
        };
        Ok(())
    }

    fn model_failed(&mut self, attempt: u32, used: Option<crate::budget::Tokens>) -> Evolved {
        self.settle_model(attempt, used)?;
        self.turn = Turn::Failed;
        Ok(())
    }

    fn open_call(&mut self, call: CallId, phases: &[Phase]) -> Result<&mut Call, &'static str> {
        if !self.batch.contains(&call) {
            return Err("the call is none of the newest reply");
        }
        let call = self.calls.get_mut(&call).ok_or("no such call")?;
        if phases.contains(&call.phase) {
            Ok(call)
        } else {
            Err("the call is not that far")
        }
    }

    fn close(
        &mut self,
        call: CallId,
        phases: &[Phase],
        close: Close,
        envelope: &Envelope,
    ) -> Evolved {
        let call = self.open_call(call, phases)?;
        call.phase = Phase::Closed(close);
        call.note = envelope.blobs().get("note").copied().or(call.note);
        call.result = envelope.blobs().get("detail").copied().or(call.result);
        call.last = envelope.header().id;
        Ok(())
    }

    fn call_proposed(&mut self, event: &CallProposed, envelope: &Envelope) -> Evolved {
        let (ledger, run) = (self.ledger, self.run);
        let call = self.open_call(event.call, &[Phase::Named])?;
        if call.tool.as_ref() != Some(&event.tool) {
            return Err("the tool is not the one that was named");
        }
        let blobs = envelope.blobs();
        let digest = proposal_digest(ledger, run, event, blobs)
            .map_err(|_| "the proposal has no canonical form")?;
        call.proposed = Some(Proposed {
            version: envelope.version(),
            digest,
            tool: event.tool.clone(),
            definition: event.definition,
            execute: event.execute.clone(),
            declared: event.risk,
            containment: event.containment,
            kind: event.precondition,
            arguments: required(blobs, "arguments")?,
            execute_arguments: blobs.get("execute_arguments").copied(),
            precondition: blobs.get("precondition").copied(),
            message: blobs.get("message").copied(),
            preview: blobs.get("preview").copied(),
        });
        call.phase = Phase::Proposed;
        call.last = envelope.header().id;
        Ok(())
    }

    fn proposal(&mut self, call: CallId, digest: crate::digest::Digest) -> Evolved {
        let proposed = self
            .calls
            .get(&call)
            .and_then(|call| call.proposed.as_ref());
        match proposed {
            Some(proposed) if proposed.digest == digest => Ok(()),
            Some(_) | None => Err("the proposal digest is another one"),
        }
    }

    fn approval_requested(&mut self, event: &ApprovalRequested, envelope: &Envelope) -> Evolved {
        self.proposal(event.call, event.proposal)?;
        let call = self.open_call(event.call, &[Phase::Proposed])?;
        call.requested = Some(Requested {
            version: envelope.version(),
            digest: envelope.digest(),
            at: envelope.at(),
            expires_at: event.expires_at,
            rule: event.rule.clone(),
            tier: event.tier,
            quorum: event.quorum,
        });
        call.phase = Phase::Pending;
        call.last = envelope.header().id;
        Ok(())
    }

    fn requests(&self, call: CallId, request: crate::digest::Digest) -> Evolved {
        let asked = self
            .calls
            .get(&call)
            .and_then(|call| call.requested.as_ref());
        match asked {
            Some(asked) if asked.digest == request => Ok(()),
            Some(_) | None => Err("the request digest is another one"),
        }
    }

    fn answers(
        &self,
        call: CallId,
        request: crate::digest::Digest,
        envelope: &Envelope,
    ) -> Evolved {
        self.requests(call, request)?;
        let asked = self
            .calls
            .get(&call)
            .and_then(|call| call.requested.as_ref());
        if asked.is_none_or(|asked| envelope.at() >= asked.expires_at) {
            return Err("the answer is too late");
        }
        Ok(())
    }

    fn approval_granted(&mut self, event: &ApprovalGranted, envelope: &Envelope) -> Evolved {
        let version = envelope.version();
        let (phase, expires_at) = match event {
            ApprovalGranted::Automatic(grant) => {
                if grant.by.is_person() {
                    return Err("a person answers a request");
                }
                self.proposal(grant.call, grant.proposal)?;
                (Phase::Proposed, None)
            }
            ApprovalGranted::ByPerson(grant) => {
                if !grant.by.is_person() {
                    return Err("only a person answers a request");
                }
                self.answers(grant.call, grant.request, envelope)?;
                self.last_answer = Some(grant.answer);
                self.parked = false;
                let asked = self
                    .calls
                    .get(&grant.call)
                    .and_then(|call| call.requested.as_ref());
                (Phase::Pending, asked.map(|asked| asked.expires_at))
            }
        };
        let call = self.open_call(event.call(), &[phase])?;
        call.grant = Some(Grant {
            version,
            expires_at,
        });
        call.note = envelope.blobs().get("note").copied();
        call.phase = Phase::Granted;
        call.last = envelope.header().id;
        Ok(())
    }

    fn execution_started(&mut self, event: &ExecutionStarted, envelope: &Envelope) -> Evolved {
        if Some(event.epoch) != self.segment.as_ref().map(|segment| segment.epoch) {
            return Err("its segment is not open");
        }
        self.proposal(event.call, event.proposal)?;
        let waits = |call: &Call| {
            matches!(call.phase, Phase::Named | Phase::Proposed | Phase::Pending)
                || matches!(call.phase, Phase::Executing { .. } | Phase::InDoubt)
        };
        if self.batch().any(waits) {
            return Err("another call of the reply is without a verdict, or being executed");
        }
        if self.cancelling {
            return Err("the run is being cancelled");
        }
        let call = self.open_call(event.call, &[Phase::Granted])?;
        if Some(event.attempt) != call.attempts.checked_add(1) {
            return Err("attempts are counted one by one");
        }
        if call
            .grant
            .as_ref()
            .and_then(|g| g.expires_at)
            .is_some_and(|end| envelope.at() >= end)
        {
            return Err("the grant has expired");
        }
        call.attempts = event.attempt;
        call.phase = Phase::Executing { epoch: event.epoch };
        call.last = envelope.header().id;
        Ok(())
    }

    fn executing(&mut self, call: CallId, attempt: u32) -> Result<&mut Call, &'static str> {
        self.driven()?;
        let call = self.calls.get_mut(&call).ok_or("no such call")?;
        match call.phase {
            Phase::Executing { .. } if call.attempts == attempt => Ok(call),
            Phase::Executing { .. }
            | Phase::Named
            | Phase::Proposed
            | Phase::Pending
            | Phase::Granted
            | Phase::InDoubt
            | Phase::Closed(_) => Err("no such attempt is being executed"),
        }
    }

    fn execution_ended(
        &mut self,
        event: &ExecutionEnded,
        close: Close,
        envelope: &Envelope,
    ) -> Evolved {
        let call = self.executing(event.call, event.attempt)?;
        call.phase = Phase::Closed(close);
        call.result = envelope.blobs().get("result").copied();
        call.last = envelope.header().id;
        Ok(())
    }

    fn run_finished(&mut self, event: &RunFinished) -> Evolved {
        if self.segment.is_some() {
            return Err("a segment is open");
        }
        let executing = |call: &Call| matches!(call.phase, Phase::Executing { .. });
        if self.batch().any(executing) {
            return Err("a call is being executed");
        }
        self.parked = false;
        self.outcome = Some(event.outcome);
        Ok(())
    }
}

fn required(blobs: &Blobs, name: &str) -> Result<Blob, &'static str> {
    blobs.get(name).copied().ok_or("a content is missing")
}
