//! What the events of one call do to it.

use super::super::call::{Answered, Call, Close, Grant, Phase, Proposed, Requested};
use super::super::state::RunState;
use super::Evolved;
use crate::approval::{Answer, By};
use crate::content::{Blob, Blobs};
use crate::digest::Digest;
use crate::envelope::Envelope;
use crate::event::{
    ApprovalGranted, ApprovalRequested, CallProposed, Event, ExecutionEnded, ExecutionStarted,
    Settlement,
};
use crate::id::{AnswerId, CallId};
use crate::proposal::proposal_digest;

impl RunState {
    pub(super) fn apply_to_call(&mut self, envelope: &Envelope) -> Evolved {
        let blobs = envelope.blobs();
        match envelope.event() {
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
                self.parked = false;
                self.close(event.call, &[Phase::Pending], Close::Denied, envelope)?;
                self.answered(event.call, event.answer, (&event.by, Answer::Deny));
                self.denied.push(event.call);
                Ok(())
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
            Event::RunStarted(_)
            | Event::SegmentStarted(_)
            | Event::SegmentEnded(_)
            | Event::ModelCalled(_)
            | Event::ModelReplied(_)
            | Event::ModelFailed(_)
            | Event::LimitsTightened(_)
            | Event::ToolsNarrowed(_)
            | Event::RunParked(_)
            | Event::RunCancelRequested(_)
            | Event::RunFinished(_)
            | Event::LedgerCreated(_)
            | Event::RulesAdopted(_)
            | Event::ClockStepped(_)
            | Event::AttemptRefused(_) => Err("it is about no call"),
        }
    }

    fn open_call(&mut self, call: CallId, phases: &[Phase]) -> Result<&mut Call, &'static str> {
        if !self.batch().any(|open| open.id == call) {
            return Err("the call is none of the newest reply");
        }
        let call = self.calls.get_mut(&call).ok_or("no such call")?;
        if phases.contains(&call.phase) {
            Ok(call)
        } else {
            Err("the call is not that far")
        }
    }

    /// The calls of the newest reply that the model named before this one.
    fn earlier(&self, call: CallId) -> impl Iterator<Item = &Call> {
        self.batch().take_while(move |earlier| earlier.id != call)
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
        let open = |call: &Call| matches!(call.phase, Phase::Named | Phase::Proposed);
        if self.earlier(event.call).any(open) {
            return Err("an earlier call of the reply has no verdict yet");
        }
        let call = self.open_call(event.call, &[Phase::Named])?;
        if call.tool.as_ref() != Some(&event.tool) {
            return Err("the tool is not the one that was named");
        }
        let blobs = envelope.blobs();
        let digest = proposal_digest(ledger, run, event, blobs)
            .map_err(|_| "the proposal has no canonical form")?;
        call.proposed = Some(Proposed {
            version: envelope.version(),
            record: envelope.digest(),
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

    fn proposal(&mut self, call: CallId, digest: Digest) -> Evolved {
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

    fn requests(&self, call: CallId, request: Digest) -> Evolved {
        let asked = self
            .calls
            .get(&call)
            .and_then(|call| call.requested.as_ref());
        match asked {
            Some(asked) if asked.digest == request => Ok(()),
            Some(_) | None => Err("the request digest is another one"),
        }
    }

    fn answers(&self, call: CallId, request: Digest, envelope: &Envelope) -> Evolved {
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
                self.parked = false;
                let asked = self
                    .calls
                    .get(&grant.call)
                    .and_then(|call| call.requested.as_ref());
                (Phase::Pending, asked.map(|asked| asked.expires_at))
            }
        };
        if let ApprovalGranted::ByPerson(grant) = event {
            self.answered(grant.call, grant.answer, (&grant.by, Answer::Approve));
        }
        let call = self.open_call(event.call(), &[phase])?;
        call.grant = Some(Grant {
            version,
            record: envelope.digest(),
            expires_at,
        });
        call.note = envelope.blobs().get("note").copied();
        call.phase = Phase::Granted;
        call.last = envelope.header().id;
        Ok(())
    }

    fn answered(&mut self, call: CallId, set: AnswerId, (by, answer): (&By, Answer)) {
        if let Some(call) = self.calls.get_mut(&call) {
            let by = by.clone();
            call.answered = Some(Answered { set, by, answer });
        }
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
        if self
            .earlier(event.call)
            .any(|call| call.phase == Phase::Granted)
        {
            return Err("an earlier call of the reply comes first");
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
        call.duration_ms = call.duration_ms.saturating_add(event.duration_ms);
        call.phase = Phase::Closed(close);
        call.result = envelope.blobs().get("result").copied();
        call.last = envelope.header().id;
        Ok(())
    }
}

fn required(blobs: &Blobs, name: &str) -> Result<Blob, &'static str> {
    blobs.get(name).copied().ok_or("a content is missing")
}
