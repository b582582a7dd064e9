//! What becomes of a call by its executions: one begins, ends, is in doubt, or is settled.

use super::super::call::{Call, Close, Phase};
use super::super::state::RunState;
use super::Evolved;
use crate::envelope::Envelope;
use crate::event::{ExecutionEnded, ExecutionInDoubt, ExecutionSettled, ExecutionStarted};
use crate::id::CallId;
use crate::steered::STEERING;

impl RunState {
    pub(super) fn execution_started(
        &mut self,
        event: &ExecutionStarted,
        envelope: &Envelope,
    ) -> Evolved {
        if Some(event.epoch) != self.segment.as_ref().map(|segment| segment.epoch) {
            return Err("its segment is not open");
        }
        self.proposal(event.call, event.proposal)?;
        let waits = |call: &Call| {
            matches!(call.phase, Phase::Named | Phase::Proposed)
                || call.is_awaited()
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

    pub(super) fn executing(
        &mut self,
        call: CallId,
        attempt: u32,
    ) -> Result<&mut Call, &'static str> {
        self.driven()?;
        let call = self.calls.get_mut(&call).ok_or("no such call")?;
        match call.phase {
            Phase::Executing { .. } if call.attempts == attempt => Ok(call),
            Phase::Executing { .. }
            | Phase::Named
            | Phase::Proposed
            | Phase::Pending
            | Phase::Asked
            | Phase::Granted
            | Phase::InDoubt
            | Phase::Closed(_) => Err("no such attempt is being executed"),
        }
    }

    pub(super) fn execution_ended(
        &mut self,
        event: &ExecutionEnded,
        close: Close,
        envelope: &Envelope,
    ) -> Evolved {
        let call = self.executing(event.call, event.attempt)?;
        call.duration_ms = call.duration_ms.saturating_add(event.duration_ms);
        call.phase = Phase::Closed(close);
        call.result = envelope.blobs().get("result").copied();
        call.steered = envelope.blobs().get(STEERING).copied();
        call.last = envelope.header().id;
        Ok(())
    }

    pub(super) fn in_doubt(&mut self, event: &ExecutionInDoubt, envelope: &Envelope) -> Evolved {
        let call = self.executing(event.call, event.attempt)?;
        call.phase = Phase::InDoubt;
        call.doubt = Some(envelope.digest());
        call.result = envelope.blobs().get("detail").copied();
        call.steered = envelope.blobs().get(STEERING).copied();
        call.last = envelope.header().id;
        Ok(())
    }

    /// A person's word ends the call either way: only the tool's own check may lead to another
    /// attempt.
    pub(super) fn settled_by_person(
        &mut self,
        event: &ExecutionSettled,
        envelope: &Envelope,
    ) -> Evolved {
        let call = self.open_call(event.call, &[Phase::InDoubt])?;
        if call.attempts != event.attempt {
            return Err("no such attempt is in doubt");
        }
        if event.request.is_none() || event.request != call.doubt {
            return Err("the doubt is another one");
        }
        call.phase = Phase::Closed(Close::Settled(event.verdict));
        call.note = envelope.blobs().get("note").copied();
        call.last = envelope.header().id;
        Ok(())
    }
}
