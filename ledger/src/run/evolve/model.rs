//! What becomes of a state by talking to models: intents, replies, failures, summaries.

use super::Evolved;
use crate::budget::{Spend, Usd};
use crate::envelope::Envelope;
use crate::event::{
    ContextCompacted, ModelCalled, ModelFailed, ModelReplied, ModelTask, RiskAssessed, RiskSource,
};
use crate::id::CallId;
use crate::limits::PENDING_CALLS_MAX;
use crate::run::call::{Call, Phase};
use crate::run::next::{Effect, Step, next};
use crate::run::state::{Reply, RunState};
use crate::run::turn::{Aside, AsideStands, Compacted, Retry, Turn};

impl RunState {
    pub(super) fn driven(&self) -> Result<u32, &'static str> {
        self.segment
            .as_ref()
            .map(|segment| segment.epoch)
            .ok_or("no segment is open")
    }

    pub(super) fn model_called(&mut self, event: &ModelCalled) -> Evolved {
        let epoch = self.driven()?;
        if self.is_asking() {
            return Err("a model is being asked");
        }
        let reserved = Spend {
            cost_usd: event.reserved_usd,
            tokens: event.reserved,
        };
        match event.task {
            ModelTask::Turn => {
                self.turn_called(event, reserved, epoch)?;
            }
            ModelTask::Classify(call) => {
                self.is_to_be_judged(call)?;
                self.asked_beside(event, reserved, epoch)?;
            }
            ModelTask::Compact => {
                self.is_to_be_prepared()?;
                self.asked_beside(event, reserved, epoch)?;
            }
        }
        self.usage.reserve(reserved);
        Ok(())
    }

    /// Whether the model may be asked for the next turn; which attempt it would be.
    fn is_to_be_prepared(&self) -> Result<u32, &'static str> {
        if self.batch().any(|call| !call.is_closed()) {
            return Err("a call is open");
        }
        if self.cancelling {
            return Err("the run is being cancelled");
        }
        match next(self) {
            Step::Perform(Effect::Prepare { attempt }) => Ok(attempt),
            _ => Err("the model is not to be called"),
        }
    }

    fn turn_called(&mut self, event: &ModelCalled, reserved: Spend, epoch: u32) -> Evolved {
        if self.is_to_be_prepared()? != event.attempt {
            return Err("attempts are counted one by one");
        }
        if self.usage.blocks_turn(&self.limits, reserved).is_some() {
            return Err("no cap has room for it");
        }
        self.aside = None;
        self.turn = Turn::Called {
            attempt: event.attempt,
            epoch,
            reserved,
        };
        self.usage.iterations = self.usage.iterations.saturating_add(1);
        Ok(())
    }

    /// Whether a model may be asked how risky a call is.
    fn is_to_be_judged(&self, call: CallId) -> Evolved {
        let waits = |call: &Call| call.phase == Phase::Proposed && call.assessed.is_none();
        if self.cancelling {
            return Err("the run is being cancelled");
        }
        match self.batch().find(|open| open.id == call).map(waits) {
            Some(true) => Ok(()),
            Some(false) | None => Err("the call does not wait for a verdict"),
        }
    }

    /// A call of a model that is no turn.
    fn asked_beside(&mut self, event: &ModelCalled, reserved: Spend, epoch: u32) -> Evolved {
        if self.next_attempt(event.task) != Some(event.attempt) {
            return Err("attempts are counted one by one");
        }
        if self.usage.blocks_spending(&self.limits, reserved).is_some() {
            return Err("no cap has room for it");
        }
        self.aside = Some(Aside {
            task: event.task,
            attempt: event.attempt,
            stands: AsideStands::Called { epoch, reserved },
        });
        Ok(())
    }

    /// Ends the open call of a model for this task: what was set aside becomes what was used, where
    /// that is known.
    fn settle_aside(&mut self, task: ModelTask, used: Option<Spend>) -> Evolved {
        let epoch = self.driven()?;
        match &self.aside {
            Some(Aside {
                task: open,
                stands:
                    AsideStands::Called {
                        epoch: of,
                        reserved,
                    },
                ..
            }) if *open == task && *of == epoch => {
                if let Some(used) = used {
                    self.usage.settle(*reserved, used);
                }
                Ok(())
            }
            Some(_) | None => Err("no such call of the model is open"),
        }
    }

    fn settle_turn(&mut self, attempt: u32, used: Option<Spend>) -> Evolved {
        let epoch = self.driven()?;
        match self.turn {
            Turn::Called {
                attempt: open,
                epoch: caller,
                reserved,
            } if open == attempt && caller == epoch => {
                if let Some(used) = used {
                    self.usage.settle(reserved, used);
                }
                Ok(())
            }
            Turn::Ready | Turn::Called { .. } | Turn::Replied { .. } | Turn::Failed { .. } => {
                Err("no such call of the model is open")
            }
        }
    }

    pub(super) fn model_replied(&mut self, event: &ModelReplied, envelope: &Envelope) -> Evolved {
        let used = event.took();
        self.settle_turn(event.attempt, Some(used))?;
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
            let last = envelope.header().id;
            batch.push(Call::new(named.call, named.tool.clone(), received, last));
        }
        self.replies.push(Reply {
            text: envelope.blobs().get("reply").copied(),
            provider: envelope.blobs().get("provider").copied(),
            calls: batch.iter().map(|call| call.id).collect(),
            used: event.used,
            version: envelope.version(),
        });
        self.calls
            .extend(batch.into_iter().map(|call| (call.id, call)));
        self.turn = Turn::Replied {
            stop: event.stop,
            id: envelope.header().id,
            at: envelope.at(),
            reply: envelope.blobs().get("reply").copied(),
        };
        Ok(())
    }

    pub(super) fn model_failed(&mut self, event: &ModelFailed, envelope: &Envelope) -> Evolved {
        if event.used.is_none() && event.cost_usd != Usd::ZERO {
            return Err("a cost without what was used");
        }
        let used = event.took();
        let detail = envelope.blobs().get("detail").copied();
        let again = event.retry_ms.map(|ms| envelope.at().plus_ms(ms));
        let epoch = self.driven()?;
        if let Some(aside) = self.aside.as_ref().filter(|aside| aside.is_open_in(epoch)) {
            let (task, attempt) = (aside.task, aside.attempt);
            if task != ModelTask::Compact || attempt != event.attempt {
                return Err("no such call of the model is open");
            }
            self.settle_aside(task, used)?;
            self.aside = Some(Aside {
                task,
                attempt,
                stands: AsideStands::Failed {
                    detail,
                    retry: again,
                },
            });
            return Ok(());
        }
        self.settle_turn(event.attempt, used)?;
        self.turn = Turn::Failed {
            detail,
            retry: again.map(|at| Retry {
                attempt: event.attempt,
                at,
            }),
        };
        Ok(())
    }

    /// A verdict of a model ends the call of it; nobody else's rests on one.
    pub(super) fn settle_judgement(&mut self, event: &RiskAssessed) -> Evolved {
        match event.source {
            RiskSource::Model => {
                if event.used.is_none() && event.cost_usd != Usd::ZERO {
                    return Err("a cost without what was used");
                }
                let used = event.took();
                self.settle_aside(ModelTask::Classify(event.call), used)?;
                self.aside = None;
                Ok(())
            }
            RiskSource::Rule | RiskSource::Plugin | RiskSource::Floor if self.is_asking() => {
                Err("a model is being asked")
            }
            RiskSource::Rule | RiskSource::Plugin | RiskSource::Floor => {
                if event.used.is_some() || event.cost_usd != Usd::ZERO {
                    return Err("no model was asked");
                }
                Ok(())
            }
        }
    }

    pub(super) fn context_compacted(
        &mut self,
        event: &ContextCompacted,
        envelope: &Envelope,
    ) -> Evolved {
        let used = event.took();
        self.settle_aside(ModelTask::Compact, Some(used))?;
        let first = self.replies.first().map(|reply| reply.version);
        let last = self
            .replies
            .iter()
            .position(|reply| reply.version == event.to);
        let (Some(last), true) = (last, first == Some(event.from)) else {
            return Err("these are no replies of the run");
        };
        let replies = last.saturating_add(1);
        if replies <= self.compacted.map_or(0, |compacted| compacted.replies) {
            return Err("nothing more is made shorter");
        }
        self.aside = None;
        self.compacted = Some(Compacted {
            replies,
            summary: envelope.blobs().get("summary").copied(),
            version: envelope.version(),
        });
        Ok(())
    }
}
