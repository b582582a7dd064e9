//! The recorded handler: hands back what the record of a run observed. No live handler stands
//! behind it, so that a replay cannot touch anything.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use placet_ledger::budget::{Cap, Spend, Tokens, Usd};
use placet_ledger::containment::{Level, Part};
use placet_ledger::content::{Blobs, Contents, Text, Texts};
use placet_ledger::envelope::Envelope;
use placet_ledger::event::{
    CallProposed, Event, FailureKind, ModelTask, RefusalKind, RiskSource, StartRefusal,
};
use placet_ledger::id::CallId;
use placet_ledger::permit::Permit;
use placet_ledger::run::{Assessment, Command, Ended, Ending, Proposal};

use super::{Act, Brief, EffectHandler};
use crate::classify::Question;
use crate::stop::Halt;

/// Effects as they are recorded.
pub struct RecordedHandler {
    records: Vec<Envelope>,
    contents: Contents,
    at: AtomicUsize,
}

impl RecordedHandler {
    /// The effects of this run.
    pub fn new(records: Vec<Envelope>, contents: Contents) -> Self {
        Self {
            records,
            contents,
            at: AtomicUsize::new(0),
        }
    }

    /// Moves to the version that the replay has come to.
    pub fn seek(&self, version: usize) {
        self.at.store(version, Ordering::Relaxed);
    }

    fn next(&self) -> Option<&Envelope> {
        self.records.get(self.at.load(Ordering::Relaxed))
    }

    /// How far a process could be shut in when a start was refused for that.
    fn asked_weaker(&self) -> Option<Level> {
        let after = self.at.load(Ordering::Relaxed).saturating_add(1);
        match self.records.get(after).map(Envelope::event) {
            Some(Event::ApprovalRequested(asked)) => {
                Level::recorded(asked.containment?, &asked.missing)
            }
            // Nobody was there to be asked: how weak it was is not recorded.
            _ => Some(Level::of(Part::ALL.into())),
        }
    }

    /// What was set aside for the call of a model that is recorded next. An estimate that found no
    /// room is not recorded; the largest has none.
    fn reserved(&self) -> Option<Spend> {
        match self.next().map(Envelope::event) {
            Some(Event::ModelCalled(event)) => Some(Spend {
                cost_usd: event.reserved_usd,
                tokens: event.reserved,
            }),
            _ => self.ended_by_cap(),
        }
    }

    /// What would not have fitted into the cap that ended the run.
    fn ended_by_cap(&self) -> Option<Spend> {
        let after = self.records.get(self.at.load(Ordering::Relaxed)..)?;
        let cap = after.iter().find_map(|record| match record.event() {
            Event::RunFinished(event) => event.cap,
            _ => None,
        });
        let all = Usd::from_micros(u64::MAX);
        let (cost_usd, tokens) = match cap? {
            Cap::Cost => (all, 0),
            Cap::Tokens => (Usd::ZERO, u64::MAX),
            Cap::Duration | Cap::Iterations => (Usd::ZERO, 0),
        };
        Some(Spend {
            cost_usd,
            tokens: Tokens::new(tokens, 0),
        })
    }

    /// That a model is asked about a call, where that is recorded next.
    fn asks(&self, question: &Question) -> Option<Act> {
        match self.next()?.event() {
            Event::ModelCalled(event) if event.task == ModelTask::Classify(question.call) => {
                Some(Act::bare(Command::CallJudge {
                    call: question.call,
                    model: event.model.clone(),
                    context: event.context,
                    reserved: self.reserved()?,
                    active_ms: self.active_ms(),
                }))
            }
            _ => None,
        }
    }

    /// The summary of so many replies that is recorded next.
    fn summary(&self, replies: usize) -> Act {
        let record = self.next();
        match record.map(Envelope::event) {
            Some(Event::ContextCompacted(event)) => Act {
                command: Command::RecordSummary {
                    replies,
                    used: event.took(),
                },
                texts: record.map(|r| self.texts(r.blobs())).unwrap_or_default(),
            },
            _ => self.observed().unwrap_or_else(|| {
                // Nothing of the kind is recorded here: whatever this yields is the divergence.
                let (used, texts) = (Spend::default(), Texts::new());
                Act::from((Command::RecordSummary { replies, used }, texts))
            }),
        }
    }

    fn texts(&self, blobs: &Blobs) -> Texts {
        let text = |name: &String, blob: &placet_ledger::content::Blob| {
            let bytes = self.contents.bytes(&blob.commitment)?.to_vec();
            Some((
                name.clone(),
                Text {
                    media: blob.media,
                    bytes,
                },
            ))
        };
        blobs
            .iter()
            .filter_map(|(name, blob)| text(name, blob))
            .collect()
    }

    /// The command that made the next record, if that record observed something.
    fn observed(&self) -> Option<Act> {
        let record = self.next()?;
        let texts = self.texts(record.blobs());
        let command = match record.event() {
            Event::ModelReplied(event) => Command::RecordReply {
                calls: event.calls.iter().map(|call| call.tool.clone()).collect(),
                stop: event.stop,
                used: event.took(),
            },
            Event::ModelFailed(event) => Command::RecordModelFailure {
                kind: event.kind,
                used: event.took(),
                retry_ms: event.retry_ms,
            },
            Event::CallProposed(event) => Command::Propose(proposal(event.call, event)),
            Event::RiskAssessed(event) => Command::Assess(Assessment {
                call: event.call,
                demand: event.demand,
                inputs: event.inputs,
                model: event.model.clone(),
                prompt: event.prompt,
                proposal: event.proposal,
                source: event.source,
                tier: event.tier,
                used: event.took(),
            }),
            Event::CallRefused(event) => Command::Refuse {
                call: event.call,
                kind: event.kind,
            },
            Event::ExecutionInDoubt(event) => Command::RecordDoubt { call: event.call },
            Event::ExecutionSettled(event) => Command::Settle {
                call: event.call,
                verdict: event.verdict,
            },
            event => Command::RecordOutcome(ended(event)?),
        };
        Some(Act { command, texts })
    }
}

/// Whether a judgement was somebody's, a plugin's or a model's.
fn is_said(act: &Act) -> bool {
    match &act.command {
        Command::Assess(assessment) => match assessment.source {
            RiskSource::Plugin | RiskSource::Model => true,
            RiskSource::Rule | RiskSource::Floor => false,
        },
        _ => false,
    }
}

/// A proposal as it is recorded, for a call.
pub(crate) fn proposal(call: CallId, event: &CallProposed) -> Proposal {
    Proposal {
        call,
        // What does not fit is refused when it is folded.
        level: Level::recorded(event.containment, &event.missing).unwrap_or(Level::IN_PROCESS),
        network: event.network.clone(),
        program: event.program,
        definition: event.definition,
        execute: event.execute.clone(),
        precondition: event.precondition,
        risk: event.risk,
        tool: event.tool.clone(),
    }
}

/// How an execution ended, if that is what an event says.
fn ended(event: &Event) -> Option<Ended> {
    let (body, ending) = match event {
        Event::ExecutionSucceeded(body) => (body, Ending::Succeeded),
        Event::ExecutionFailed(body) => {
            (body, Ending::Failed(body.kind.unwrap_or(FailureKind::Tool)))
        }
        Event::ExecutionStale(body) => (body, Ending::Stale),
        Event::ExecutionInterrupted(body) => (body, Ending::Interrupted),
        _ => return None,
    };
    Some(Ended {
        call: body.call,
        ending,
        duration_ms: body.duration_ms,
        exit: body.exit,
    })
}

#[async_trait]
impl EffectHandler for RecordedHandler {
    async fn perform(&self, brief: Brief) -> Act {
        match brief {
            Brief::Prepare {
                compact,
                context,
                reserved,
                ..
            } => {
                let active_ms = self.active_ms();
                Act::bare(Command::CallModel {
                    compact,
                    context,
                    reserved: self.reserved().unwrap_or(reserved),
                    active_ms,
                })
            }
            Brief::Compact { replies, .. } => self.summary(replies),
            Brief::Complete { .. } => self.observed().unwrap_or_else(|| {
                // Nothing of the kind is recorded here: whatever this yields is the divergence.
                let calls = Vec::new();
                let stop = placet_ledger::event::Stop::Other;
                let used = Spend::default();
                Act::bare(Command::RecordReply { calls, stop, used })
            }),
            Brief::Propose { call, .. } => self.observed().unwrap_or_else(|| {
                Act::bare(Command::Refuse {
                    call,
                    kind: RefusalKind::UnknownTool,
                })
            }),
            // What a rule says is worked out again; what somebody said is handed back.
            Brief::Assess(question) => match (self.observed(), self.asks(&question)) {
                (Some(act), _) if is_said(&act) => act,
                (_, Some(act)) => act,
                (_, None) => Act::from(question.unsaid().record(&question)),
            },
            Brief::Reconcile { call, .. } => self
                .observed()
                .unwrap_or_else(|| Act::bare(Command::RecordDoubt { call })),
        }
    }

    async fn execute(&self, permit: Permit, _: &Halt) -> Act {
        let call = permit.call();
        // The permit exists because its start has just been recorded at this place.
        self.seek(self.at.load(Ordering::Relaxed).saturating_add(1));
        self.observed()
            .unwrap_or_else(|| Act::bare(Command::RecordDoubt { call }))
    }

    fn level(&self, _: &BTreeSet<u16>) -> Level {
        let recorded = match self.next().map(Envelope::event) {
            Some(Event::ExecutionStarted(event)) => {
                Level::recorded(event.containment, &event.missing)
            }
            Some(Event::ExecutionRefused(event)) => (event.reason == StartRefusal::Containment)
                .then(|| self.asked_weaker())
                .flatten(),
            _ => None,
        };
        recorded.unwrap_or_else(|| Level::of(BTreeSet::new()))
    }

    fn active_ms(&self) -> u64 {
        match self.next().map(Envelope::event) {
            Some(Event::SegmentEnded(event)) => event.active_ms,
            Some(Event::ExecutionRefused(event)) if event.reason == StartRefusal::Budget => {
                u64::MAX
            }
            _ => 0,
        }
    }
}
