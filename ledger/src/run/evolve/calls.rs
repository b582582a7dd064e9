//! What the events of one call do to it.

use super::super::call::{
    Answered, Assessed, Call, Close, Grant, Phase, Proposed, Question, Requested,
};
use super::super::state::RunState;
use super::Evolved;
use crate::approval::{Answer, By};
use crate::containment::Level;
use crate::content::{Blob, Blobs};
use crate::digest::Digest;
use crate::envelope::Envelope;
use crate::event::{
    ApprovalGranted, ApprovalRequested, ApprovalRevoked, CallProposed, Event, QuestionAnswered,
    QuestionAsked, RiskAssessed, Settlement,
};
use crate::id::{AnswerId, CallId, LedgerId, RunId};
use crate::proposal::proposal_digest;

impl RunState {
    pub(super) fn apply_to_call(&mut self, envelope: &Envelope) -> Evolved {
        self.change_call(envelope)?;
        // Parked until nothing waits any more; what was just amended will.
        let waits = |call: &Call| call.is_awaited() || call.phase == Phase::Proposed;
        self.parked = self.parked && self.batch().any(waits);
        Ok(())
    }

    #[expect(clippy::too_many_lines, reason = "one match, an arm an event")]
    fn change_call(&mut self, envelope: &Envelope) -> Evolved {
        match envelope.event() {
            Event::CallProposed(event) => match event.supersedes {
                Some(old) => self.call_amended(event, old, envelope),
                None => self.call_proposed(event, envelope),
            },
            Event::RiskAssessed(event) => self.assessed(event, envelope),
            Event::CallRefused(event) => {
                let close = Close::Refused(event.kind);
                let open = [Phase::Named, Phase::Proposed];
                self.close(event.call, &open, close, envelope)?;
                if let Some(call) = self.calls.get_mut(&event.call) {
                    call.repeats = event.of;
                    call.refused_by.clone_from(&event.rule);
                }
                Ok(())
            }
            Event::ApprovalRequested(event) => self.approval_requested(event, envelope),
            Event::ApprovalGranted(event) => self.approval_granted(event, envelope),
            Event::ApprovalDenied(event) => {
                self.answers(event.call, event.request, envelope)?;
                self.close(event.call, &[Phase::Pending], Close::Denied, envelope)?;
                self.answered(event.call, event.answer, (&event.by, Answer::Deny));
                self.denied.push(event.call);
                Ok(())
            }
            Event::ApprovalRevoked(event) => self.approval_revoked(event, envelope),
            Event::ApprovalExpired(event) => {
                self.requests(event.call, event.request)?;
                let open = [Phase::Pending, Phase::Asked, Phase::Proposed];
                self.close(event.call, &open, Close::Expired, envelope)
            }
            Event::QuestionAsked(event) => self.question_asked(event, envelope),
            Event::QuestionAnswered(event) => self.question_answered(event, envelope),
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
            Event::ExecutionInDoubt(event) => self.in_doubt(event, envelope),
            Event::ExecutionSettled(event) if event.by.is_person() => {
                self.settled_by_person(event, envelope)
            }
            Event::ExecutionSettled(event) => {
                let call = self.executing(event.call, event.attempt)?;
                call.phase = match event.verdict {
                    Settlement::Done => Phase::Closed(Close::Succeeded),
                    Settlement::NotDone => Phase::Granted,
                };
                call.result = envelope.blobs().get("result").copied();
                call.last = envelope.header().id;
                Ok(())
            }
            Event::RunStarted(_)
            | Event::SegmentStarted(_)
            | Event::SegmentEnded(_)
            | Event::ModelCalled(_)
            | Event::ModelReplied(_)
            | Event::ModelFailed(_)
            | Event::ContextCompacted(_)
            | Event::PromptAdded(_)
            | Event::PolicyChanged(_)
            | Event::ToolAllowed(_)
            | Event::LimitsTightened(_)
            | Event::ToolsNarrowed(_)
            | Event::RunParked(_)
            | Event::RunCancelRequested(_)
            | Event::RunFinished(_)
            | Event::LedgerCreated(_)
            | Event::RulesAdopted(_)
            | Event::GrantAdded(_)
            | Event::GrantRevoked(_)
            | Event::ClockStepped(_)
            | Event::AttemptRefused(_) => Err("it is about no call"),
        }
    }

    pub(super) fn open_call(
        &mut self,
        call: CallId,
        phases: &[Phase],
    ) -> Result<&mut Call, &'static str> {
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
    pub(super) fn earlier(&self, call: CallId) -> impl Iterator<Item = &Call> {
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
        call.propose((ledger, run), event, envelope)
    }

    /// A person gave a pending call other arguments: a new call stands in its place.
    fn call_amended(&mut self, event: &CallProposed, old: CallId, envelope: &Envelope) -> Evolved {
        let (ledger, run) = (self.ledger, self.run);
        if Some(event.call) != self.next_call() {
            return Err("call ids rise one by one");
        }
        let asked = self.open_call(old, &[Phase::Pending])?;
        if asked.expires_at().is_none_or(|at| envelope.at() >= at) {
            return Err("the amendment is too late");
        }
        let last = envelope.header().id;
        let mut call = Call::new(event.call, asked.tool.clone(), asked.received, last);
        call.named = asked.named;
        call.supersedes = Some(old);
        call.amender = envelope.header().actor.person().cloned();
        call.propose((ledger, run), event, envelope)?;
        asked.phase = Phase::Closed(Close::Superseded);
        asked.superseded_by = Some(event.call);
        asked.last = last;
        let places = self.replies.last_mut().map(|reply| &mut reply.calls);
        for place in places.into_iter().flatten().filter(|place| **place == old) {
            *place = event.call;
        }
        self.calls.insert(event.call, call);
        Ok(())
    }

    fn approval_revoked(&mut self, event: &ApprovalRevoked, envelope: &Envelope) -> Evolved {
        self.requests(event.call, event.request)?;
        let call = self.open_call(event.call, &[Phase::Granted])?;
        if !call.grant.as_ref().is_some_and(Grant::by_person) {
            return Err("no person approved the call");
        }
        call.phase = Phase::Closed(Close::Revoked);
        // What was said with the approval is no reason for taking it back.
        call.note = envelope.blobs().get("note").copied();
        call.last = envelope.header().id;
        self.denied.push(event.call);
        Ok(())
    }

    fn question_asked(&mut self, event: &QuestionAsked, envelope: &Envelope) -> Evolved {
        let call = self.open_call(event.call, &[Phase::Proposed])?;
        if !call.proposed.as_ref().is_some_and(Proposed::is_question) {
            return Err("the call is no question");
        }
        call.question = Some(Question {
            digest: envelope.digest(),
            at: envelope.at(),
            expires_at: event.expires_at,
            text: envelope.blobs().get("text").copied(),
        });
        call.phase = Phase::Asked;
        call.last = envelope.header().id;
        Ok(())
    }

    fn question_answered(&mut self, event: &QuestionAnswered, envelope: &Envelope) -> Evolved {
        self.requests(event.call, event.request)?;
        let call = self.open_call(event.call, &[Phase::Asked])?;
        if call.expires_at().is_none_or(|at| envelope.at() >= at) {
            return Err("the reply is too late");
        }
        call.phase = Phase::Closed(Close::Answered);
        call.result = envelope.blobs().get("text").copied();
        call.last = envelope.header().id;
        Ok(())
    }
}

impl Call {
    /// Takes in what was proposed of it.
    fn propose(
        &mut self,
        (ledger, run): (LedgerId, RunId),
        event: &CallProposed,
        envelope: &Envelope,
    ) -> Evolved {
        if self.tool.as_ref() != Some(&event.tool) {
            return Err("the tool is not the one that was named");
        }
        let call = self;
        let blobs = envelope.blobs();
        let body = envelope.body().ok_or("the record has no body")?;
        let digest = proposal_digest(ledger, run, body, blobs)
            .map_err(|_| "the proposal has no canonical form")?;
        call.proposed = Some(Proposed {
            version: envelope.version(),
            record: envelope.digest(),
            digest,
            tool: event.tool.clone(),
            definition: event.definition,
            execute: event.execute.clone(),
            declared: event.risk,
            level: Level::recorded(event.containment, &event.missing)
                .ok_or("the level does not fit what is missing of it")?,
            network: event.network.clone(),
            program: event.program,
            kind: event.precondition,
            arguments: required(blobs, "arguments")?,
            execute_arguments: blobs.get("execute_arguments").copied(),
            precondition: blobs.get("precondition").copied(),
            message: blobs.get("message").copied(),
            preview: blobs.get("preview").copied(),
            runs: blobs.get("program").copied(),
        });
        call.phase = Phase::Proposed;
        call.last = envelope.header().id;
        Ok(())
    }
}

impl RunState {
    fn assessed(&mut self, event: &RiskAssessed, envelope: &Envelope) -> Evolved {
        self.proposal(event.call, event.proposal)?;
        self.settle_judgement(event)?;
        let call = self.open_call(event.call, &[Phase::Proposed])?;
        call.assessed = Some(Assessed {
            record: envelope.digest(),
            source: event.source,
            model: event.model.clone(),
            demand: event.demand,
            tier: event.tier,
            reason: envelope.blobs().get("reason").copied(),
        });
        call.last = envelope.header().id;
        Ok(())
    }

    pub(super) fn proposal(&mut self, call: CallId, digest: Digest) -> Evolved {
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
        if call.proposed.as_ref().is_some_and(Proposed::is_question) {
            return Err("a question asks for no approval");
        }
        if event.assessed.is_some()
            && event.assessed != call.assessed.as_ref().map(|assessed| assessed.record)
        {
            return Err("the call was judged by another record");
        }
        let weaker = event
            .containment
            .map(|containment| Level::recorded(containment, &event.missing));
        call.requested = Some(Requested {
            version: envelope.version(),
            digest: envelope.digest(),
            at: envelope.at(),
            expires_at: event.expires_at,
            rule: event.rule.clone(),
            tier: event.tier,
            demands: event.demands(),
            weaker: weaker
                .map(|level| level.ok_or("the level does not fit what is missing of it"))
                .transpose()?,
        });
        call.phase = Phase::Pending;
        call.last = envelope.header().id;
        Ok(())
    }

    fn requests(&self, call: CallId, request: Digest) -> Evolved {
        let call = self.calls.get(&call);
        let asked = call.and_then(|call| call.requested.as_ref());
        let asked = asked.map(|asked| asked.digest);
        let asked = asked.or(call.and_then(|call| call.question.map(|asked| asked.digest)));
        if asked == Some(request) {
            Ok(())
        } else {
            Err("the request digest is another one")
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
        let (phase, expires_at, by) = match event {
            ApprovalGranted::Automatic(grant) => {
                if grant.by.is_person() {
                    return Err("a person answers a request");
                }
                self.proposal(grant.call, grant.proposal)?;
                let proposed = self.calls.get(&grant.call).and_then(Call::proposed);
                if proposed.is_some_and(Proposed::is_question) {
                    return Err("nothing but a person answers a question");
                }
                (Phase::Proposed, None, &grant.by)
            }
            ApprovalGranted::ByPerson(grant) => {
                let Some(person) = grant.by.person() else {
                    return Err("only a person answers a request");
                };
                self.answers(grant.call, grant.request, envelope)?;
                let call = self.calls.get(&grant.call).ok_or("no such call")?;
                if self.accepts(call, person).is_err() {
                    return Err("the approval is not what the call demands");
                }
                let asked = call.requested.as_ref();
                let expires_at = asked.map(|asked| asked.expires_at);
                (Phase::Pending, expires_at, &grant.by)
            }
        };
        if let ApprovalGranted::ByPerson(grant) = event {
            self.answered(grant.call, grant.answer, (&grant.by, Answer::Approve));
        }
        let call = self.open_call(event.call(), &[phase])?;
        call.grant = Some(Grant {
            version,
            record: envelope.digest(),
            by: by.clone(),
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
            self.answers.entry(set).or_default().insert(call.id);
        }
    }
}

fn required(blobs: &Blobs, name: &str) -> Result<Blob, &'static str> {
    blobs.get(name).copied().ok_or("a content is missing")
}
