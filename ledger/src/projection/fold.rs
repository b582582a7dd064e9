//! The fold of one run to what lists show: its state, what waits, and where it does not follow.
//!
//! It holds no texts and no closed calls, so it goes on from a row of the projection. It finds a
//! broken chain and calls that are not that far; `audit verify` folds the whole run and finds all.

use super::rows::{Begun, Broken, CallRow, Fold, PendingRow, RunRow, RunStatus, Stage, Waits};
use crate::envelope::{Envelope, Recorded, stream_genesis};
use crate::event::{ApprovalGranted, Event, RunStarted, Settlement};
use crate::id::{CallId, Name, Version};
use crate::risk::DeclaredRisk;
use crate::run::{FoldError, IllegalEvent, Origin};
use crate::store::chain;
use crate::time::Timestamp;

type Applied = Result<(), &'static str>;

/// One run with its open calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunFold {
    pub(super) row: RunRow,
    pub(super) calls: Vec<CallRow>,
}

impl RunFold {
    /// A run before its first record.
    pub(super) fn new(first: &Recorded) -> Self {
        let header = first.envelope.header();
        Self {
            row: RunRow {
                run: header.stream.run(),
                start: first.position,
                last: first.position,
                state: RunStatus::Quarantined,
                outcome: None,
                begun: None,
                updated_at: header.at,
                pending: 0,
                oldest_pending: None,
                expires_at: None,
                broken: None,
                fold: Fold {
                    version: Version::ZERO,
                    digest: header.prev,
                    running: false,
                    parked: false,
                    parts: 0,
                },
            },
            calls: Vec::new(),
        }
    }

    /// One of its open calls.
    pub(super) fn call(&self, call: CallId) -> Option<&CallRow> {
        self.calls.iter().find(|open| open.call == call)
    }

    /// Takes in the next record.
    pub(super) fn apply(&mut self, origin: Option<&Origin>, recorded: &Recorded) {
        self.row.last = recorded.position;
        if self.row.broken.is_some() {
            return;
        }
        let envelope = &recorded.envelope;
        match self.advance(origin, envelope) {
            Ok(()) => {
                self.row.fold.version = envelope.version();
                self.row.fold.digest = envelope.digest();
                self.row.updated_at = envelope.at();
            }
            Err(detail) => {
                self.calls.clear();
                self.row.broken = Some(Broken {
                    position: recorded.position,
                    version: envelope.version(),
                    detail,
                });
            }
        }
        self.sum_up();
    }

    fn advance(&mut self, origin: Option<&Origin>, envelope: &Envelope) -> Result<(), String> {
        let missing = || String::from("no ledger.created stands before its first record");
        let origin = origin.ok_or_else(missing)?;
        self.link(origin, envelope)
            .map_err(|error| chain(&FoldError::from(error)))?;
        self.change(envelope).map_err(|why| {
            let illegal = IllegalEvent {
                event: envelope.event().name(),
                version: envelope.version(),
                why,
            };
            chain(&illegal)
        })
    }

    fn link(&self, origin: &Origin, envelope: &Envelope) -> Result<(), crate::envelope::LinkError> {
        let stream = self.row.run.stream();
        let fold = &self.row.fold;
        let (expected, prev) = if self.row.begun.is_some() {
            let after = crate::envelope::LinkError::Version {
                expected: fold.version,
                found: envelope.version(),
            };
            (fold.version.next().ok_or(after)?, fold.digest)
        } else {
            let genesis = stream_genesis(origin.ledger, &origin.created, stream);
            (Version::ZERO, genesis)
        };
        envelope.verify_link(origin.ledger, stream, expected, prev)
    }

    #[expect(clippy::too_many_lines, reason = "one match, an arm an event")]
    fn change(&mut self, envelope: &Envelope) -> Applied {
        if self.row.begun.is_none() {
            return match envelope.event() {
                Event::RunStarted(started) => self.begin(started, envelope),
                _ => Err("the first record of a run is run.started"),
            };
        }
        if self.row.outcome.is_some() {
            return Err("the run has ended");
        }
        if envelope.at() < self.row.updated_at {
            return Err("time runs backwards");
        }
        match envelope.event() {
            Event::SegmentStarted(_) if self.row.fold.running => Err("a segment is open"),
            Event::SegmentStarted(_) => {
                (self.row.fold.running, self.row.fold.parked) = (true, false);
                Ok(())
            }
            Event::SegmentEnded(_) if !self.row.fold.running => Err("no such segment is open"),
            Event::SegmentEnded(_) => {
                self.row.fold.running = false;
                Ok(())
            }
            Event::ModelReplied(event) => {
                let named = event.calls.iter().map(|named| CallRow {
                    call: named.call,
                    stage: Stage::Named,
                    tool: named.tool.clone(),
                    tiers: Vec::new(),
                    asked_at: None,
                    expires_at: None,
                    request: None,
                });
                self.calls = named.collect();
                Ok(())
            }
            Event::PolicyChanged(event) => {
                if let Some(begun) = &mut self.row.begun {
                    begun.policy = event.policy;
                }
                Ok(())
            }
            Event::RunParked(event) => {
                let pending: Vec<CallId> = self.awaited().map(|call| call.call).collect();
                if self.row.fold.running || pending.is_empty() || pending != event.pending {
                    return Err("the run does not wait for exactly these calls");
                }
                self.row.fold.parked = true;
                Ok(())
            }
            Event::RunFinished(event) => {
                if self.row.fold.running {
                    return Err("a segment is open");
                }
                self.row.fold.parked = false;
                self.row.outcome = Some(event.outcome);
                self.calls.clear();
                Ok(())
            }
            Event::ModelCalled(_)
            | Event::ModelFailed(_)
            | Event::ContextCompacted(_)
            | Event::PromptAdded(_)
            | Event::ToolAllowed(_)
            | Event::LimitsTightened(_)
            | Event::ToolsNarrowed(_)
            | Event::RunCancelRequested(_) => Ok(()),
            Event::RunStarted(_)
            | Event::LedgerCreated(_)
            | Event::RulesAdopted(_)
            | Event::GrantAdded(_)
            | Event::GrantRevoked(_)
            | Event::ClockStepped(_)
            | Event::AttemptRefused(_) => Err("it does not belong there in a run"),
            event => {
                self.change_call(event, envelope)?;
                let waits = |call: &CallRow| {
                    matches!(call.stage, Stage::Pending | Stage::Asked | Stage::Proposed)
                };
                let parked = self.row.fold.parked && self.calls.iter().any(waits);
                self.row.fold.parked = parked;
                Ok(())
            }
        }
    }

    fn begin(&mut self, started: &RunStarted, envelope: &Envelope) -> Applied {
        if envelope.version() != Version::ZERO {
            return Err("run.started has version 0");
        }
        let prompt = envelope.blobs().get("prompt");
        self.row.begun = Some(Begun {
            agent: started.agent.clone(),
            model: started.model.clone(),
            policy: started.policy,
            by: envelope.header().actor.person().cloned(),
            at: envelope.at(),
            prompt: prompt.map(|blob| blob.commitment),
        });
        Ok(())
    }

    fn change_call(&mut self, event: &Event, envelope: &Envelope) -> Applied {
        let id = event.call().ok_or("it is about no call")?;
        if let Event::CallProposed(proposed) = event {
            let place = proposed.supersedes.unwrap_or(id);
            let call = self.open(place)?;
            *call = CallRow {
                call: id,
                stage: Stage::Proposed,
                tool: Some(proposed.tool.clone()),
                tiers: vec![proposed.risk],
                asked_at: None,
                expires_at: None,
                request: None,
            };
            return Ok(());
        }
        let closes = match event {
            Event::CallRefused(_)
            | Event::ApprovalDenied(_)
            | Event::ApprovalRevoked(_)
            | Event::ApprovalExpired(_)
            | Event::QuestionAnswered(_)
            | Event::ExecutionSucceeded(_)
            | Event::ExecutionFailed(_)
            | Event::ExecutionStale(_)
            | Event::ExecutionInterrupted(_) => true,
            Event::ExecutionSettled(settled) => {
                settled.by.is_person() || settled.verdict == Settlement::Done
            }
            _ => false,
        };
        let call = self.open(id)?;
        if closes {
            self.calls.retain(|call| call.call != id);
            return Ok(());
        }
        match event {
            Event::RiskAssessed(event) => judged(&mut call.tiers, event.tier.into()),
            Event::ApprovalRequested(event) => {
                judged(&mut call.tiers, event.tier);
                call.ask(Stage::Pending, event.expires_at, envelope);
            }
            Event::QuestionAsked(event) => call.ask(Stage::Asked, event.expires_at, envelope),
            Event::ApprovalGranted(event) => {
                if let ApprovalGranted::Automatic(grant) = event {
                    judged(&mut call.tiers, grant.tier);
                }
                call.stage = Stage::Granted;
            }
            Event::ExecutionStarted(_) => call.stage = Stage::Executing,
            Event::ExecutionRefused(_) => call.stage = Stage::Proposed,
            Event::ExecutionInDoubt(_) => call.stage = Stage::InDoubt,
            _ => call.stage = Stage::Granted,
        }
        Ok(())
    }

    fn open(&mut self, call: CallId) -> Result<&mut CallRow, &'static str> {
        let found = self.calls.iter_mut().find(|open| open.call == call);
        found.ok_or("the call is not that far")
    }

    fn awaited(&self) -> impl Iterator<Item = &CallRow> {
        let awaited = |call: &&CallRow| matches!(call.stage, Stage::Pending | Stage::Asked);
        self.calls.iter().filter(awaited)
    }

    /// The calls that wait for people.
    pub(super) fn pending(&self) -> impl Iterator<Item = PendingRow> {
        let begun = self.row.begun.as_ref().map(|begun| begun.at);
        let row = move |call: &CallRow| {
            let waits = match call.stage {
                Stage::Pending => Waits::Approval,
                Stage::Asked => Waits::Question,
                Stage::InDoubt => Waits::InDoubt,
                Stage::Named | Stage::Proposed | Stage::Granted | Stage::Executing => return None,
            };
            Some(PendingRow {
                run: self.row.run,
                call: call.call,
                waits,
                tool: call.tool.clone(),
                tier: call.tiers.last().copied(),
                // A call in doubt need never have been asked about; it is as old as its run.
                since: call.asked_at.or(begun)?,
                expires_at: call.expires_at.filter(|_| waits != Waits::InDoubt),
            })
        };
        self.calls.iter().filter_map(row)
    }

    fn sum_up(&mut self) {
        let doubt = |call: &CallRow| call.stage == Stage::InDoubt;
        let fold = &self.row.fold;
        let state = if self.row.broken.is_some() {
            RunStatus::Quarantined
        } else if self.row.outcome.is_some() {
            RunStatus::Finished
        } else if self.calls.iter().any(doubt) {
            RunStatus::InDoubt
        } else if fold.running {
            RunStatus::Running
        } else if fold.parked {
            RunStatus::Parked
        } else {
            RunStatus::Waiting
        };
        let pending: Vec<PendingRow> = self.pending().collect();
        self.row.state = state;
        self.row.pending = u32::try_from(pending.len()).unwrap_or(u32::MAX);
        self.row.oldest_pending = pending.iter().map(|row| row.since).min();
        self.row.expires_at = pending.iter().filter_map(|row| row.expires_at).min();
    }
}

impl CallRow {
    fn ask(&mut self, stage: Stage, expires_at: Timestamp, envelope: &Envelope) {
        self.stage = stage;
        self.asked_at = Some(envelope.at());
        self.expires_at = Some(expires_at);
        self.request = Some(envelope.digest());
    }
}

/// One more tier, the newest last, each once.
fn judged(tiers: &mut Vec<DeclaredRisk>, tier: DeclaredRisk) {
    tiers.retain(|known| *known != tier);
    tiers.push(tier);
}

/// The tool and the tiers of a call, with what the record itself says about it.
pub(super) fn about(
    fold: Option<&RunFold>,
    call: CallId,
    event: &Event,
) -> (Option<Name>, Vec<DeclaredRisk>) {
    let known = fold.and_then(|fold| fold.call(call));
    let tool = known.and_then(|call| call.tool.clone());
    let mut tiers = known.map(|call| call.tiers.clone()).unwrap_or_default();
    if let Event::ApprovalGranted(ApprovalGranted::Automatic(grant)) = event {
        judged(&mut tiers, grant.tier);
    }
    (tool, tiers)
}
