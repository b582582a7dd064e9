//! Driving a run on: taken up, driven until it waits or ends, put down, and looked at once more.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

use placet_ledger::content::{Contents, Texts};
use placet_ledger::event::{Outcome, SegmentReason};
use placet_ledger::id::{DriverId, RunId};
use placet_ledger::policy::Attendance;
use placet_ledger::run::{Caller, Command, RunState, Step, next};

use super::{Engine, EngineError, Stopped};
use crate::context::Conversation;
use crate::runner::{Progress, Runner};
use crate::stop::Halt;

impl Engine {
    /// Takes a run up and drives it until it waits, ends, or the driver is asked to stop.
    ///
    /// While it waits nobody drives it, and somebody else may answer it and drive it on.
    pub async fn drive(
        &self,
        run: RunId,
        reason: SegmentReason,
        attendance: Option<Attendance>,
    ) -> Result<Stopped, EngineError> {
        if reason != SegmentReason::Start {
            self.ledger.expire(run).await?;
        }
        let (step, open) = self.stands(run).await?;
        if step == Step::Finished || (matches!(step, Step::Await(_)) && !open) {
            // Nobody needs to take up what only waits.
            self.let_go(run);
            return self.stopped(run).await;
        }
        let mut stopped = self.drive_segment(run, reason, attendance).await?;
        // What was said while the run was put down was said to a driver that heard it no more, and
        // found the run driven.
        while let Some(went) = self.go_on_with(run, stopped).await? {
            stopped = went;
        }
        Ok(stopped)
    }

    /// Drives a run on about which something was said while it was put down, unless somebody else
    /// does.
    async fn go_on_with(
        &self,
        run: RunId,
        stopped: Stopped,
    ) -> Result<Option<Stopped>, EngineError> {
        let (step, _) = self.stands(run).await?;
        let went = match step {
            Step::Finished | Step::Await(_) => return Ok(None),
            Step::Finish(Outcome::Cancelled) => self.end_cancelled(run).await,
            Step::Perform(_) | Step::Gate(_) | Step::Execute(_) | Step::Finish(_) => {
                if stopped != Stopped::Waits {
                    return Ok(None);
                }
                let segment = self.drive_segment(run, SegmentReason::Answered, None);
                segment.await
            }
        };
        match went {
            // Whoever wanted it to stop is told that it did.
            Ok(_) if stopped == Stopped::Interrupted => Ok(None),
            Ok(went) => Ok(Some(went)),
            Err(EngineError::Elsewhere { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Drives a run for one segment.
    async fn drive_segment(
        &self,
        run: RunId,
        reason: SegmentReason,
        attendance: Option<Attendance>,
    ) -> Result<Stopped, EngineError> {
        let driving = self.take(run).await?;
        let handler = self.handler(run).await?;
        let driver = self.take_up(run, reason, attendance).await?;
        let kept = self.kept().remove(&run);
        let mut runner = Runner::new(self.ledger.clone(), handler, run, kept);
        let halt = Halt {
            stop: self.stop.clone(),
            cancel: driving.driven.cancel.clone(),
        };
        let progress = runner.drive(driver, &halt).await?;
        if let (Progress::Waits(_), Some(conversation)) = (&progress, runner.into_conversation()) {
            self.kept().insert(run, conversation);
        }
        match progress {
            Progress::Ended(outcome) => Ok(Stopped::Ended(outcome)),
            Progress::Waits(_) => Ok(Stopped::Waits),
            Progress::Went => Ok(Stopped::Interrupted),
        }
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<RunId, Conversation>> {
        self.conversations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn stopped(&self, run: RunId) -> Result<Stopped, EngineError> {
        let outcome = self.ledger.look(run, |state, _| state.outcome()).await?;
        Ok(outcome.map_or(Stopped::Waits, Stopped::Ended))
    }

    /// What remains to be done of a run, and whether a segment of it is open.
    pub(super) async fn stands(&self, run: RunId) -> Result<(Step, bool), EngineError> {
        let look = |state: &RunState, _: &Contents| (next(state), state.segment().is_some());
        Ok(self.ledger.look(run, look).await?)
    }

    /// Takes a run up for a new driver.
    pub(super) async fn take_up(
        &self,
        run: RunId,
        reason: SegmentReason,
        attendance: Option<Attendance>,
    ) -> Result<DriverId, EngineError> {
        let driver = self.ledger.new_driver().await?;
        let recorded = self.ledger.look(run, |state, _| state.attendance()).await?;
        let command = Command::TakeUp {
            attendance: attendance.unwrap_or(recorded),
            driver,
            host: self.place.host,
            reason,
        };
        self.ledger
            .handle(run, &Caller::Driver, command, Texts::new())
            .await?;
        Ok(driver)
    }
}
