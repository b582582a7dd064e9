//! The live handler: asks the model, lets tools propose, executes permits, reconciles.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::clock::Clock;
use placet_ledger::containment::Level;
use placet_ledger::content::{Text, Texts};
use placet_ledger::event::{FailureKind, RefusalKind, Settlement};
use placet_ledger::id::{CallId, Name};
use placet_ledger::limits::{CONTENT_BYTES_MAX, PENDING_CALLS_MAX};
use placet_ledger::permit::Permit;
use placet_ledger::precondition::Precondition;
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::run::{Command, Ended, Ending};
use placet_ledger::steered::{STEERING, Steered};
use placet_ledger::time::Timestamp;

use super::propose::{fits, json_text, refuse};
use super::{Act, Brief, EffectHandler, propose, timeout};
use crate::classify::{Assessed, Judges, Question, assess};
use crate::heard::Heard;
use crate::model::Model;
use crate::nearest::nearest;
use crate::record::ScopeTool;
use crate::stop::Halt;
use crate::tool::registry::{Lookup, Registry};
use crate::tool::{End, Interrupted, Output, Reconciled, ToolError};

/// Performs effects for real.
pub struct LiveHandler {
    pub(super) registry: Arc<Registry>,
    pub(super) model: Arc<dyn Model>,
    clock: Arc<dyn Clock>,
    pub(super) heard: Heard,
    judging: Judging,
    since_ms: u64,
}

/// How far this machine can shut in a process with these ports.
pub type Levels = Arc<dyn Fn(&BTreeSet<u16>) -> Level + Send + Sync>;

/// Who judges calls, and how far processes are shut in.
#[derive(Clone)]
pub struct Judging {
    /// Who judges.
    pub judges: Judges,
    /// How far this machine can shut in a process with these ports: found out where one is to be
    /// started.
    pub level: Levels,
}

impl LiveHandler {
    /// A handler for one segment, which begins now.
    pub fn new(
        registry: Arc<Registry>,
        model: Arc<dyn Model>,
        clock: Arc<dyn Clock>,
        heard: Heard,
        judging: Judging,
    ) -> Self {
        let since_ms = clock.monotonic_ms();
        Self {
            registry,
            model,
            clock,
            heard,
            judging,
            since_ms,
        }
    }

    /// A judgement, or that a model is to be asked for one.
    async fn assess(&self, question: &Question) -> Act {
        match assess(question, &self.judging.judges).await {
            Assessed::Judged(judged) => Act::from(judged.record(question)),
            Assessed::Ask {
                model,
                inputs,
                reserved,
            } => Act::bare(Command::CallJudge {
                call: question.call,
                model,
                context: inputs,
                reserved,
                active_ms: self.active_ms(),
            }),
        }
    }

    /// Waits until the model may be called again, or the run may be active no longer.
    async fn wait(&self, not_before: Option<Timestamp>, left_ms: Option<u64>) {
        let Some(at) = not_before else { return };
        let left = left_ms.map_or(u64::MAX, |ms| ms.saturating_sub(self.active_ms()));
        // Active time is counted in whole milliseconds: one more, and the cap is reached for sure.
        let ms = at.ms_since(self.clock.now()).min(left.saturating_add(1));
        if ms > 0 {
            self.clock.pause(ms).await;
        }
    }

    /// Why a name that is none of the run's tools is turned down. Only those are suggested.
    fn foreign(&self, call: CallId, name: &str, known: &[ScopeTool]) -> Act {
        let kind = match self.registry.visible(name) {
            Lookup::Tool(_) => RefusalKind::DeniedTool,
            Lookup::HiddenHalf => RefusalKind::HiddenHalf,
            Lookup::Unknown => RefusalKind::UnknownTool,
        };
        let names = known.iter().map(|tool| tool.name.as_str());
        let detail = match (kind, nearest(name, names)) {
            (RefusalKind::UnknownTool, Some(near)) => format!("Did you mean {near}?"),
            (_, _) => String::new(),
        };
        refuse(call, kind, detail)
    }
}

impl LiveHandler {
    /// Asks the tool itself what became of an execution that has no outcome.
    async fn reconcile(&self, tool: &Name, interrupted: Interrupted<'_>) -> Act {
        let call = interrupted.call;
        let found = match self.registry.visible(tool.as_str()) {
            Lookup::Tool(found) => found.execute().map(|executing| (found, executing)),
            Lookup::HiddenHalf | Lookup::Unknown => None,
        };
        let Some((found, executing)) = found else {
            return doubt(call, String::from("the tool is not there to be asked"));
        };
        let asked = executing.reconcile(interrupted);
        match timeout(found.spec().timeout_ms(), asked).await {
            Some(Ok(Reconciled::Done(result))) => {
                let command = Command::Settle {
                    call,
                    verdict: Settlement::Done,
                };
                Act {
                    command,
                    texts: result_text(result),
                }
            }
            Some(Ok(Reconciled::NotDone)) => Act::bare(Command::Settle {
                call,
                verdict: Settlement::NotDone,
            }),
            Some(Ok(Reconciled::Unknown)) => doubt(call, left_where(&interrupted)),
            Some(Err(ToolError::InDoubt { detail })) => doubt(call, detail),
            Some(Err(error)) => doubt(call, error.to_string()),
            None => doubt(call, String::from("the tool took too long to look")),
        }
    }
}

/// Where a person may look for what an execution left, that its tool cannot tell by itself.
fn left_where(interrupted: &Interrupted<'_>) -> String {
    let places = interrupted.precondition.map(Precondition::places);
    let places = places.unwrap_or_default().join(" and ");
    if places.is_empty() {
        return String::from("the tool cannot tell whether it took effect");
    }
    let run: String = interrupted.run.to_string().chars().take(8).collect();
    format!(
        "what is at {places} is neither as it was before nor as it would be after; what this call \
         set aside is beside it, under a name that begins with .placet-{run}-{}",
        interrupted.call
    )
}

/// A doubt, with what is known.
fn doubt(call: CallId, detail: String) -> Act {
    Act {
        command: Command::RecordDoubt { call },
        texts: Texts::from([(String::from("detail"), Text::plain(detail))]),
    }
}

#[async_trait]
impl EffectHandler for LiveHandler {
    async fn perform(&self, brief: Brief) -> Act {
        match brief {
            Brief::Prepare {
                compact,
                context,
                reserved,
                not_before,
                left_ms,
            } => {
                self.wait(not_before, left_ms).await;
                Act::bare(Command::CallModel {
                    compact,
                    context,
                    reserved,
                    active_ms: self.active_ms(),
                })
            }
            Brief::Compact {
                request,
                replies,
                calling,
            } => self.compact(&request, replies, calling).await,
            Brief::Complete {
                request,
                tools,
                next_call,
                calling,
            } => {
                let known = (&*tools, next_call);
                self.complete(request, known, calling).await
            }
            Brief::Propose {
                call,
                over: Some(over),
                ..
            } => refuse(call, RefusalKind::OverLimit, too_many(over)),
            Brief::Propose {
                call,
                tool: None,
                foreign,
                known,
                ..
            } => self.foreign(call, &foreign, &known),
            Brief::Propose {
                call,
                tool: Some(tool),
                offered,
                arguments,
                ..
            } => match self.registry.visible(tool.as_str()) {
                Lookup::Tool(found) if offered => propose(call, found, &arguments).await,
                Lookup::Tool(_) => refuse(call, RefusalKind::DeniedTool, String::new()),
                Lookup::HiddenHalf | Lookup::Unknown => self.foreign(call, tool.as_str(), &[]),
            },
            Brief::Assess(question) => self.assess(&question).await,
            Brief::Reconcile {
                run,
                call,
                tool,
                arguments,
                precondition,
            } => {
                let interrupted = Interrupted {
                    run,
                    call,
                    arguments: &arguments,
                    precondition: precondition.as_ref(),
                };
                self.reconcile(&tool, interrupted).await
            }
        }
    }

    async fn execute(&self, permit: Permit, halt: &Halt) -> Act {
        let call = permit.call();
        let since_ms = self.clock.monotonic_ms();
        let found = match self.registry.visible(permit.tool().as_str()) {
            Lookup::Tool(tool) => tool.execute().map(|executing| (tool, executing)),
            Lookup::HiddenHalf | Lookup::Unknown => None,
        };
        let Some((tool, executing)) = found else {
            // The registry was compared with the run's scope before it was taken up.
            return doubt(call, String::from("the tool is not there"));
        };
        let reads = tool.spec().risk == DeclaredRisk::ReadOnly;
        let work = timeout(tool.spec().timeout_ms(), executing.execute(permit, halt));
        let outcome = tokio::select! {
            biased;
            outcome = work => Some(outcome),
            () = halt.raised(), if reads => None,
        };
        let duration_ms = self.clock.monotonic_ms().saturating_sub(since_ms);
        let Some(outcome) = outcome else {
            return Act::bare(Command::RecordOutcome(Ended {
                call,
                ending: Ending::Interrupted,
                duration_ms,
                exit: None,
            }));
        };
        let (ending, result) = match outcome {
            Some(Ok(output)) => return ended(call, duration_ms, output),
            Some(Err(ToolError::Stale { detail })) => (Ending::Stale, Text::plain(detail)),
            Some(Err(ToolError::InDoubt { detail })) => return doubt(call, detail),
            Some(Err(error @ (ToolError::Refused { .. } | ToolError::Failed { .. }))) => (
                Ending::Failed(FailureKind::Tool),
                Text::plain(error.to_string()),
            ),
            None if reads => {
                let text = Text::plain("it took too long and was stopped");
                (Ending::Failed(FailureKind::Timeout), text)
            }
            // What changes things may still be at it.
            None => {
                let what = "it took too long, and may still be at it";
                return doubt(call, what.to_owned());
            }
        };
        let command = Command::RecordOutcome(Ended {
            call,
            ending,
            duration_ms,
            exit: None,
        });
        Act {
            command,
            texts: result_text(result),
        }
    }

    fn level(&self, ports: &BTreeSet<u16>) -> Level {
        (self.judging.level)(ports)
    }

    fn active_ms(&self) -> u64 {
        self.clock.monotonic_ms().saturating_sub(self.since_ms)
    }
}

/// What a tool that came to an end yielded, as it is recorded.
fn ended(call: CallId, duration_ms: u64, output: Output) -> Act {
    let steering = steering_text(output.steered);
    let (ending, exit) = match output.end {
        End::Done => (Ending::Succeeded, None),
        End::Exited(0) => (Ending::Succeeded, Some(0)),
        End::Exited(status) => (Ending::Failed(FailureKind::Tool), Some(status)),
        End::TimedOut => (Ending::Failed(FailureKind::Timeout), None),
        End::Stopped => (Ending::Interrupted, None),
        End::Unknown => {
            let text = String::from_utf8_lossy(&output.result.bytes);
            let mut act = doubt(call, text.into_owned());
            act.texts.extend(steering);
            return act;
        }
    };
    let command = Command::RecordOutcome(Ended {
        call,
        ending,
        duration_ms,
        exit,
    });
    let mut texts = result_text(output.result);
    texts.extend(steering);
    Act { command, texts }
}

/// What is said of the last call of a reply that has more than are handled.
fn too_many(over: usize) -> String {
    format!(
        "A reply may hold at most {} calls; this one and {over} after it were not looked at.",
        PENDING_CALLS_MAX.saturating_sub(1)
    )
}

/// What became of files that steer programs, as it is recorded, where something did.
fn steering_text(steered: Steered) -> Option<(String, Text)> {
    if steered.is_empty() {
        return None;
    }
    Some((String::from(STEERING), json_text(&steered.bounded())))
}

/// A result as it is recorded: what is larger than a content may be is cut, and says so. The effect
/// has happened by then, and its outcome must not be lost.
fn result_text(mut result: Text) -> Texts {
    if !fits(&result.bytes) {
        let note = "\n(cut: the result was larger than 16 MiB)";
        let mut kept = CONTENT_BYTES_MAX.saturating_sub(note.len());
        // Not in the middle of a character.
        let continues = |byte: &u8| byte & 0xc0 == 0x80;
        while kept > 0 && result.bytes.get(kept).is_some_and(continues) {
            kept = kept.saturating_sub(1);
        }
        result.bytes.truncate(kept);
        result.bytes.extend_from_slice(note.as_bytes());
    }
    Texts::from([(String::from("result"), result)])
}
