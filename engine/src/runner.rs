//! The runner: what remains to be done is done, recorded, and asked again, until the run waits or
//! ends. State and conversation are kept between steps, so that a step costs the same late in a
//! run as early in it.

use std::sync::Arc;

use placet_ledger::containment::{Containment, Level};
use placet_ledger::content::Contents;
use placet_ledger::error::LedgerError;
use placet_ledger::event::{Outcome, SegmentEnd};
use placet_ledger::id::{CallId, DriverId, RunId, Version};
use placet_ledger::ledger::Ledger;
use placet_ledger::owner::Begun;
use placet_ledger::policy::Attendance;
use placet_ledger::run::{Caller, Command, Effect, Phase, Rejection, RunState, Step, next};

use crate::context::Conversation;
use crate::effects::{Act, Brief, BriefError, EffectHandler, brief};
use crate::stop::Halt;

/// How often a step is tried again after somebody else moved the run.
const CONFLICTS_MAX: usize = 16;

/// Why a run cannot be driven on.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The ledger refused, or failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// What an effect needs cannot be gathered.
    #[error("cannot go on with the run")]
    Brief(#[from] BriefError),
    /// Somebody else drives it now.
    #[error("the run was taken over by another driver")]
    TakenOver,
}

/// Where one step led.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// On.
    Went,
    /// Nowhere: people must answer first.
    Waits(Vec<CallId>),
    /// To the end.
    Ended(Outcome),
}

/// Moves one run.
pub struct Runner {
    ledger: Ledger,
    handler: Arc<dyn EffectHandler>,
    run: RunId,
    conversation: Option<Conversation>,
    /// Whose segment must be open; a replay has many of them.
    driver: Option<DriverId>,
}

impl Runner {
    /// A runner; `conversation` is what an earlier one of the same run rendered.
    pub fn new(
        ledger: Ledger,
        handler: Arc<dyn EffectHandler>,
        run: RunId,
        conversation: Option<Conversation>,
    ) -> Self {
        Self {
            ledger,
            handler,
            run,
            conversation,
            driver: None,
        }
    }

    /// Gives back what was rendered.
    pub fn into_conversation(self) -> Option<Conversation> {
        self.conversation
    }

    /// Steps until the run waits or ends, and puts it down. A wish that it stop is seen between
    /// steps, and while a model or a tool that only reads is waited for; so is one that it end.
    pub async fn drive(&mut self, driver: DriverId, halt: &Halt) -> Result<Progress, RunnerError> {
        self.driver = Some(driver);
        let mut conflicts = 0_usize;
        loop {
            if halt.stop.is_raised() {
                self.put_down(SegmentEnd::Interrupted).await?;
                return Ok(Progress::Went);
            }
            match self.step(halt).await {
                Ok(Progress::Went) => conflicts = 0,
                Ok(Progress::Waits(calls)) => {
                    let reason = self
                        .ledger
                        .look(self.run, |state, _| waits_as(state))
                        .await?;
                    self.put_down(reason).await?;
                    return Ok(Progress::Waits(calls));
                }
                Ok(ended @ Progress::Ended(_)) => return Ok(ended),
                // A person's command came between what was looked at and what was recorded.
                Err(RunnerError::Ledger(LedgerError::Rejected(
                    Rejection::OutOfTurn(_) | Rejection::Finished(_),
                ))) if conflicts < CONFLICTS_MAX => {
                    conflicts = conflicts.saturating_add(1);
                }
                Err(RunnerError::Ledger(LedgerError::Conflict)) if conflicts < CONFLICTS_MAX => {
                    conflicts = conflicts.saturating_add(1);
                    self.conversation = None;
                    match self.ledger.look(self.run, |state, _| self.has(state)).await {
                        Ok(true) => {}
                        Ok(false) => return Err(RunnerError::TakenOver),
                        // Not even its start was recorded: whoever asked for it has to ask again.
                        Err(LedgerError::NoRun(_)) => return Err(LedgerError::Conflict.into()),
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether the open segment is this driver's own.
    fn has(&self, state: &RunState) -> bool {
        let open = state.segment().map(|open| open.driver);
        self.driver.is_none() || open == self.driver
    }

    async fn put_down(&self, reason: SegmentEnd) -> Result<(), RunnerError> {
        if !self
            .ledger
            .look(self.run, |state, _| self.has(state))
            .await?
        {
            return Err(RunnerError::TakenOver);
        }
        let active_ms = self.handler.active_ms();
        self.record(Act::bare(Command::PutDown { reason, active_ms }))
            .await?;
        Ok(self.ledger.commit(self.run).await?)
    }

    /// Does one thing that remains to be done.
    pub async fn step(&mut self, halt: &Halt) -> Result<Progress, RunnerError> {
        let stands =
            |state: &RunState, _: &Contents| (next(state), self.has(state), state.is_asking());
        let (step, mine, asking) = self.ledger.look(self.run, stands).await?;
        if !mine && step != Step::Finished {
            // Nothing is done for a run that is somebody else's.
            return Err(RunnerError::TakenOver);
        }
        match step {
            Step::Perform(effect) => self.perform(effect, halt).await?,
            // Whatever became of the policy since: a model that is asked about it is heard first.
            Step::Gate(call) if asking || self.ledger.is_unjudged(self.run, call).await? => {
                self.perform(Effect::Assess(call), halt).await?;
            }
            Step::Gate(call) => self.record(Act::bare(Command::Gate { call })).await?,
            Step::Execute(call) => {
                let (active_ms, level) = (self.handler.active_ms(), self.level(call).await?);
                match self
                    .ledger
                    .begin_execution(self.run, call, active_ms, level)
                    .await?
                {
                    Begun::Permit(permit) => {
                        let act = self.handler.execute(*permit, halt).await;
                        self.record(act).await?;
                    }
                    Begun::Refused => {}
                }
            }
            Step::Await(calls) => return Ok(Progress::Waits(calls)),
            Step::Finish(outcome) => {
                let active_ms = self.handler.active_ms();
                self.record(Act::bare(Command::Finish { outcome, active_ms }))
                    .await?;
                self.ledger.commit(self.run).await?;
            }
            Step::Finished => {
                self.ledger.commit(self.run).await?;
                let outcome = self
                    .ledger
                    .look(self.run, |state, _| state.outcome())
                    .await?;
                return Ok(Progress::Ended(outcome.unwrap_or(Outcome::Failed)));
            }
        }
        Ok(Progress::Went)
    }

    /// How far what a call starts can be shut in; of what starts nothing, nobody has to find out.
    async fn level(&self, call: CallId) -> Result<Level, RunnerError> {
        let starts = |state: &RunState, _: &Contents| {
            let proposed = state.call(call)?.proposed()?;
            let starts = proposed.level.containment() != Containment::InProcess;
            starts.then(|| proposed.network.clone())
        };
        let ports = self.ledger.look(self.run, starts).await?;
        Ok(ports.map_or(Level::IN_PROCESS, |ports| self.handler.level(&ports)))
    }

    async fn perform(&mut self, effect: Effect, halt: &Halt) -> Result<(), RunnerError> {
        let (brief, seen, asks) = self.brief(effect).await?;
        let waits = matches!(
            brief,
            Brief::Prepare {
                not_before: Some(_),
                ..
            }
        );
        if asks || waits {
            // The intent is durable before a model is asked, a failure before the wait after it.
            self.ledger.commit(self.run).await?;
        }
        match effect {
            // What a person says meanwhile belongs to the context that is recorded.
            Effect::Prepare { .. } => tokio::select! {
                act = self.handler.perform(brief) => {
                    let (driver, act) = (Caller::Driver, (act.command, act.texts));
                    self.ledger.handle_at(self.run, &driver, seen, act).await?;
                    Ok(())
                }
                () = halt.raised() => Ok(()),
            },
            // A reply that nobody waits for is lost, and what was set aside for it stays spent.
            // Nothing is judged for a run that is to stop: it is asked again by who takes it up.
            Effect::Complete { .. } | Effect::Compact { .. } | Effect::Assess(_) => {
                tokio::select! {
                    act = self.handler.perform(brief) => self.record(act).await,
                    () = halt.raised() => Ok(()),
                }
            }
            Effect::Propose(_) | Effect::Reconcile(_) => {
                let act = self.handler.perform(brief).await;
                self.record(act).await
            }
        }
    }

    /// The brief for an effect, the version of the run that it is of, and whether it asks a model.
    async fn brief(&mut self, effect: Effect) -> Result<(Brief, Version, bool), RunnerError> {
        let kept = self.conversation.take();
        let (brief, (seen, asks), conversation) = self
            .ledger
            .look(self.run, |state, contents| -> Result<_, BriefError> {
                let mut conversation = match kept.filter(|kept| kept.is_of(state)) {
                    Some(kept) => kept,
                    None => Conversation::new(state, contents)?,
                };
                let brief = brief(state, contents, &mut conversation, effect)?;
                let stands = (state.head().version, state.is_asking());
                Ok((brief, stands, conversation))
            })
            .await??;
        self.conversation = Some(conversation);
        Ok((brief, seen, asks))
    }

    async fn record(&self, act: Act) -> Result<(), RunnerError> {
        let Act { command, texts } = act;
        self.ledger
            .handle(self.run, &Caller::Driver, command, texts)
            .await?;
        Ok(())
    }
}

/// As what a run is put down that waits: parked where it waits for approvals and replies alone, and
/// nobody attends.
fn waits_as(state: &RunState) -> SegmentEnd {
    let in_doubt = state.batch().any(|call| call.phase() == Phase::InDoubt);
    let attended = state.attendance() == Attendance::Person;
    if in_doubt || attended || state.awaited().next().is_none() {
        SegmentEnd::Waiting
    } else {
        SegmentEnd::Parked
    }
}
