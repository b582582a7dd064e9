//! Starting an execution: nothing that a caller holds is believed, the log is read again.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Owner;
use super::cell::Cell;
use super::sent::{Seat, Sent};
use crate::containment::Level;
use crate::content::{Blob, Commitment, Texts};
use crate::digest::Digest;
use crate::envelope::Envelope;
use crate::error::LedgerError;
use crate::event::{ApprovalGranted, Event, ExecutionStarted};
use crate::id::{CallId, CommandId, RunId, Version};
use crate::permit::{Granted, Permit};
use crate::precondition::{Aim, Precondition};
use crate::proposal::proposal_digest;
use crate::run::{Caller, Command, Grant, Phase, Proposed, Rejection};

/// What came of starting a call.
#[derive(Debug)]
pub enum Begun {
    /// It may be executed, once.
    Permit(Box<Permit>),
    /// The grant no longer held; a new verdict is recorded.
    Refused,
}

impl Owner {
    /// Starts an allowed call: its own records are read back from the log and checked, the gate is
    /// asked again, and `execution.started` is durable before the permit exists.
    pub(crate) async fn begin(
        &self,
        run: RunId,
        seat: (Seat, Option<CommandId>),
        (call, active_ms, level): (CallId, u64, Level),
    ) -> Result<Begun, LedgerError> {
        self.admit(
            run,
            seat.0,
            &Command::Begin {
                call,
                active_ms,
                level: level.clone(),
            },
        )?;
        let mut cell = self.cell(run).await?;
        let staged = |version: Version| {
            cell.staged
                .records
                .first()
                .is_some_and(|first| version >= first.version())
        };
        let found = cell
            .state(run)?
            .call(call)
            .ok_or(Rejection::UnknownCall(call))?;
        let (proposed, grant) = found
            .proposed()
            .cloned()
            .zip(found.grant().cloned())
            .ok_or(Rejection::OutOfTurn(
                "the call is not allowed, or was started",
            ))?;
        let requested = found.requested().cloned();
        if staged(grant.version) || staged(proposed.version) {
            self.commit_cell(run, &mut cell).await?;
        }
        self.prove(run, &cell, call, &proposed).await?;
        let asked = requested.as_ref().map(|asked| asked.digest);
        self.prove_grant(run, call, (&proposed, asked), &grant)
            .await?;
        if let Some(asked) = requested.filter(|_| grant.by_person()) {
            let record = self.read_back(run, asked.version).await?;
            let proven = matches!(record.event(), Event::ApprovalRequested(event)
                if event.call == call && event.proposal == proposed.digest);
            if !proven || record.digest() != asked.digest {
                return Err(LedgerError::Unproven(call));
            }
        }
        let granted = self.granted(run, call, proposed).await?;
        let command = Command::Begin {
            call,
            active_ms,
            level,
        };
        let sent = Sent {
            caller: &Caller::Driver,
            seat: seat.0,
            id: seat.1,
        };
        let recorded = self.stage(run, &mut cell, sent, (command, Texts::new()))?;
        let started = recorded.iter().find_map(|record| match record.event() {
            Event::ExecutionStarted(event) => Some(event.clone()),
            _ => None,
        });
        self.commit_own(run, &mut cell, recorded.len()).await?;
        Ok(match started {
            None => Begun::Refused,
            Some(started) => {
                self.may_permit(run, (call, started.attempt), seat.0);
                permit(granted, started)
            }
        })
    }

    /// The permit of an execution that was recorded for a driver which never heard of it: nobody
    /// else drives the run, the call has no outcome, and a permit that went out from here went by
    /// a connection that the driver gave up before it heard.
    pub(crate) async fn permit_again(
        &self,
        run: RunId,
        seat: Seat,
        (call, level, records): (CallId, Level, Vec<Envelope>),
    ) -> Result<Begun, LedgerError> {
        let started = records.iter().find_map(|record| match record.event() {
            Event::ExecutionStarted(event) if event.call == call => Some(event.clone()),
            _ => None,
        });
        let Some(started) = started else {
            return Ok(Begun::Refused);
        };
        let begin = Command::Begin {
            call,
            active_ms: 0,
            level,
        };
        self.admit(run, seat, &begin)?;
        let cell = self.cell(run).await?;
        let found = cell
            .state(run)?
            .call(call)
            .ok_or(Rejection::UnknownCall(call))?;
        let executing = matches!(found.phase(), Phase::Executing { .. });
        let still = executing && found.attempts() == started.attempt;
        let proposed = found.proposed().cloned();
        let (true, Some(proposed)) = (still, proposed) else {
            return Err(LedgerError::Unproven(call));
        };
        if !self.may_permit(run, (call, started.attempt), seat) {
            return Err(LedgerError::Unproven(call));
        }
        self.prove(run, &cell, call, &proposed).await?;
        let granted = self.granted(run, call, proposed).await?;
        Ok(permit(granted, started))
    }

    async fn read_back(&self, run: RunId, version: Version) -> Result<Envelope, LedgerError> {
        let stored = self
            .parts
            .store
            .read_run(run.stream(), version, 1)
            .await?
            .pop();
        let missing = || LedgerError::Integrity(format!("record {run}@{version} is gone"));
        self.parse(stored.ok_or_else(missing)?)
    }

    /// The proposal in the log is the one that was folded, byte for byte.
    async fn prove(
        &self,
        run: RunId,
        cell: &Cell,
        call: CallId,
        proposed: &Proposed,
    ) -> Result<(), LedgerError> {
        let record = self.read_back(run, proposed.version).await?;
        let ledger = cell.state(run)?.ledger();
        let digest = match record.event() {
            Event::CallProposed(event) if event.call == call => {
                let body = record.body().ok_or(LedgerError::Unproven(call))?;
                Some(proposal_digest(ledger, run, body, record.blobs())?)
            }
            _ => None,
        };
        if digest == Some(proposed.digest) && record.digest() == proposed.record {
            Ok(())
        } else {
            Err(LedgerError::Unproven(call))
        }
    }

    /// The grant in the log is for this proposal, or for the request that was made of it.
    async fn prove_grant(
        &self,
        run: RunId,
        call: CallId,
        (proposed, asked): (&Proposed, Option<Digest>),
        grant: &Grant,
    ) -> Result<(), LedgerError> {
        let record = self.read_back(run, grant.version).await?;
        let proven = match record.event() {
            Event::ApprovalGranted(ApprovalGranted::Automatic(event)) => {
                event.call == call && event.proposal == proposed.digest && !grant.by_person()
            }
            Event::ApprovalGranted(ApprovalGranted::ByPerson(event)) => {
                event.call == call && Some(event.request) == asked && grant.by_person()
            }
            _ => false,
        };
        if proven && record.digest() == grant.record {
            Ok(())
        } else {
            Err(LedgerError::Unproven(call))
        }
    }

    /// What the permit will grant, with the arguments as the ledger holds them under the proposal
    /// digest. All that was shown must still be what it was committed to.
    async fn granted(
        &self,
        run: RunId,
        call: CallId,
        proposed: Proposed,
    ) -> Result<Granted, LedgerError> {
        let arguments = proposed.execute_arguments.unwrap_or(proposed.arguments);
        let shown = [
            Some(proposed.arguments),
            Some(arguments),
            proposed.precondition,
            proposed.message,
            proposed.preview,
            proposed.runs,
        ];
        let commitments: BTreeSet<_> = shown.iter().flatten().map(|blob| blob.commitment).collect();
        let commitments: Vec<_> = commitments.into_iter().collect();
        let contents = self.parts.store.content(run.stream(), &commitments).await?;
        let fits = |commitment: &Commitment| {
            let content = contents.get(commitment);
            content.is_some_and(|content| content.commitment() == *commitment)
        };
        if !commitments.iter().all(fits) {
            return Err(LedgerError::Unproven(call));
        }
        let read = |blob: &Blob| contents.bytes(&blob.commitment).unwrap_or_default();
        let unreadable = |_| LedgerError::Unproven(call);
        let arguments: Value = serde_json::from_slice(read(&arguments)).map_err(unreadable)?;
        let precondition: Option<Precondition> = match &proposed.precondition {
            Some(blob) => {
                let aim: Aim = serde_json::from_slice(read(blob)).map_err(unreadable)?;
                Some(aim.into_precondition())
            }
            None => None,
        };
        let program = match &proposed.runs {
            Some(blob) => Some(serde_json::from_slice(read(blob)).map_err(unreadable)?),
            None => None,
        };
        Ok(Granted {
            run,
            call,
            attempt: 0,
            tool: proposed.tool,
            execute: proposed.execute,
            arguments,
            precondition,
            program,
            network: BTreeSet::new(),
            missing: BTreeSet::new(),
        })
    }
}

/// The permit for what was started; its record is durable.
fn permit(granted: Granted, started: ExecutionStarted) -> Begun {
    Begun::Permit(Box::new(Permit::mint(Granted {
        attempt: started.attempt,
        network: started.network,
        missing: started.missing,
        ..granted
    })))
}
