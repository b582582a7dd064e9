//! Ending a run on somebody's word.

use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::content::{Text, Texts};
use placet_ledger::event::{ModelFailure, Outcome, SegmentReason};
use placet_ledger::id::RunId;
use placet_ledger::run::{Caller, Command, Effect, Step};

use super::{Engine, EngineError, Stopped};
use crate::classify::Judges;
use crate::context::Conversation;
use crate::effects::{Act, Brief, BriefError, EffectHandler, Judging, LiveHandler, brief};
use crate::heard::Heard;
use crate::model::{Model, ModelError, Reply, Request};
use crate::runner::RunnerError;

impl Engine {
    /// Ends a run: recorded first, then whatever an earlier driver left is reconciled. Where
    /// somebody drives it here, that driver is told and ends it; one of another process finds the
    /// wish in the record at its next step, and the error says who. Neither workspace nor model
    /// need be there any more: what cannot be looked at is in doubt.
    pub async fn cancel(
        &self,
        run: RunId,
        caller: &Caller,
        note: Option<String>,
    ) -> Result<Stopped, EngineError> {
        let note = note.filter(|note| !note.is_empty());
        let texts = note.map(|note| (String::from("note"), Text::plain(note)));
        let texts = texts.into_iter().collect();
        self.ledger.act(run, caller, Command::Cancel, texts).await?;
        self.end_cancelled(run).await
    }

    /// Ends a run of which that is recorded already that it is to end.
    pub(super) async fn end_cancelled(&self, run: RunId) -> Result<Stopped, EngineError> {
        let _driving = self.take_to_end(run).await?;
        if let ended @ Stopped::Ended(_) = self.stopped(run).await? {
            return Ok(ended);
        }
        let (step, open) = self.stands(run).await?;
        if open || step != Step::Finish(Outcome::Cancelled) {
            self.take_up(run, SegmentReason::Resumed, None).await?;
        }
        while let (Step::Perform(effect @ Effect::Reconcile(_)), _) = self.stands(run).await? {
            let Act { command, texts } = self.reconcile(run, effect).await?;
            self.ledger
                .handle(run, &Caller::Driver, command, texts)
                .await?;
        }
        let command = Command::Finish {
            outcome: Outcome::Cancelled,
            active_ms: 0,
        };
        self.ledger
            .handle(run, &Caller::Driver, command, Texts::new())
            .await?;
        self.ledger.commit(run).await?;
        self.stopped(run).await
    }

    /// What became of an interrupted execution; in doubt where its tool cannot be asked.
    async fn reconcile(&self, run: RunId, effect: Effect) -> Result<Act, EngineError> {
        let brief = self
            .ledger
            .look(run, |state, contents| -> Result<Brief, BriefError> {
                let mut conversation = Conversation::new(state, contents)?;
                brief(state, contents, &mut conversation, effect)
            })
            .await?;
        let brief = brief.map_err(RunnerError::from)?;
        let Effect::Reconcile(call) = effect else {
            return Err(EngineError::Content("execution"));
        };
        let equipped = self.equip(run).await;
        Ok(match equipped {
            Ok((registry, _, _)) => {
                let none = Arc::new(NoModel);
                // Nothing is judged any more.
                let judging = Judging {
                    judges: Judges::default(),
                    level: self.level(),
                };
                let handler = LiveHandler::new(
                    Arc::new(registry),
                    none,
                    self.clock.clone(),
                    Heard::default(),
                    judging,
                );
                handler.perform(brief).await
            }
            Err(error) => Act {
                command: Command::RecordDoubt { call },
                texts: Texts::from([(String::from("detail"), Text::plain(error.to_string()))]),
            },
        })
    }
}

/// Where a run is ended there is no model to ask.
struct NoModel;

#[async_trait]
impl Model for NoModel {
    async fn complete(&self, _: &Request, _: &Heard) -> Result<Reply, ModelError> {
        Err(ModelError {
            kind: ModelFailure::Provider,
            detail: String::from("the run is being ended"),
            used: None,
            again: None,
        })
    }
}
