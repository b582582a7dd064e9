//! Replay: a run is driven again from its own record, through the same decisions, gate and fold,
//! without effects, and must come to the same bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use placet_ledger::answers::AnswerSet;
use placet_ledger::approval::{Actor, Answer, Assurance, By, CallAnswer, Channel};
use placet_ledger::authority::{AuthorityError, fold_authority};
use placet_ledger::clock::{Clock, Stamps};
use placet_ledger::content::{Blob, Blobs, Contents, Salt, Text, Texts};
use placet_ledger::envelope::Envelope;
use placet_ledger::error::LedgerError;
use placet_ledger::event::{ApprovalGranted, Event, Outcome, SegmentEnd};
use placet_ledger::id::{CallId, DriverId, EventId, RunId, StreamId, Version};
use placet_ledger::judge::Judge;
use placet_ledger::ledger::Ledger;
use placet_ledger::owner::Parts;
use placet_ledger::run::{Caller, Command, Start, Step, next};
use placet_ledger::store::memory::MemoryStore;
use placet_ledger::store::{Batch, EventStore, Expected};
use placet_ledger::time::Timestamp;

use crate::effects::{EffectHandler, RecordedHandler};
use crate::recording::Recording;
use crate::runner::{Runner, RunnerError};
use crate::stop::Stop;

/// Where a replay came to something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the replay differs from the record at version {version}: {detail}")]
pub struct Divergence {
    /// The first version that differs.
    pub version: Version,
    /// What was recorded there, verbatim.
    pub recorded: Option<String>,
    /// What the replay came to, or why it came to nothing.
    pub replayed: Option<String>,
    /// Both in a sentence.
    pub detail: String,
}

/// What a replay that came to the same bytes says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// How many records were compared.
    pub records: usize,
    /// How the run ended, if it did.
    pub outcome: Option<Outcome>,
}

/// Why a run cannot be replayed at all.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The authority stream does not fold.
    #[error("the authority stream of the record does not fold")]
    Authority(#[from] AuthorityError),
    /// There is no such run in the record.
    #[error("the record holds no run")]
    Empty,
    /// The records cannot be used.
    #[error("the record cannot be replayed")]
    Ledger(#[from] LedgerError),
    /// It differs.
    #[error(transparent)]
    Diverged(Box<Divergence>),
}

/// Hands back the stamps of the record.
struct RecordedStamps {
    at: BTreeMap<(StreamId, Version), (Timestamp, EventId)>,
    /// By their place, the contents that records name, each with its name there.
    named: BTreeMap<(StreamId, Version), Blobs>,
    contents: Contents,
}

impl RecordedStamps {
    fn new(recording: &Recording) -> Self {
        let place = |record: &Envelope| (record.stream(), record.version());
        let stamp = |record: &Envelope| (record.at(), record.header().id);
        let run = &recording.run;
        Self {
            at: run.iter().map(|r| (place(r), stamp(r))).collect(),
            named: run.iter().map(|r| (place(r), r.blobs().clone())).collect(),
            contents: recording.contents.clone(),
        }
    }

    fn says(&self, blob: &Blob, bytes: &[u8]) -> Option<Salt> {
        let content = self.contents.get(&blob.commitment)?;
        (*content.bytes == *bytes).then_some(content.salt)
    }
}

impl Stamps for RecordedStamps {
    fn at(&self, stream: StreamId, version: Version, not_before: Timestamp) -> Timestamp {
        self.at
            .get(&(stream, version))
            .map_or(not_before, |(at, _)| *at)
    }

    fn id(&self, stream: StreamId, version: Version, _: Timestamp) -> EventId {
        let recorded = self.at.get(&(stream, version)).map(|(_, id)| *id);
        recorded.unwrap_or_else(|| EventId::new(uuid::Uuid::nil()))
    }

    fn driver(&self) -> DriverId {
        // A replay takes runs up as the drivers of the record.
        DriverId::new(uuid::Uuid::nil())
    }

    fn salt(&self, stream: StreamId, version: Version, name: &str, bytes: &[u8]) -> Salt {
        // Equal texts in another form, or in another stream, have commitments of their own.
        let here = self.named.get(&(stream, version));
        let here = here.and_then(|blobs| self.says(blobs.get(name)?, bytes));
        let later = || {
            // A note goes by another name in the command than in the record, which may be one of
            // several that the command comes to.
            let records = self.named.range((stream, version)..);
            let mut blobs = records
                .take_while(|((of, _), _)| *of == stream)
                .flat_map(|(_, blobs)| blobs.values());
            blobs.find_map(|blob| self.says(blob, bytes))
        };
        here.or_else(later).unwrap_or(Salt([0; 32]))
    }
}

/// Time stands still in a replay: whatever matters is in the records.
struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH
    }

    fn monotonic_ms(&self) -> u64 {
        0
    }
}

/// Drives a run again and compares what it comes to with its record, byte for byte.
pub async fn replay(recording: &Recording, judge: Arc<dyn Judge>) -> Result<Replayed, ReplayError> {
    let authority = fold_authority(&recording.authority)?;
    let first = recording.run.first().ok_or(ReplayError::Empty)?;
    let run = first.stream().run();
    let store = Arc::new(MemoryStore::new(authority.ledger()));
    let named = recording
        .authority
        .iter()
        .flat_map(|record| record.blobs().values());
    let contents = named.filter_map(|blob| {
        Some((
            blob.commitment,
            recording.contents.get(&blob.commitment)?.clone(),
        ))
    });
    let batch = Batch {
        records: recording.authority.clone(),
        contents: contents.collect(),
    };
    let stream = authority.ledger().authority();
    store
        .append(stream, Expected::Start, batch, &[])
        .await
        .map_err(LedgerError::from)?;
    let parts = Parts {
        store,
        judge,
        clock: Arc::new(StoppedClock),
        stamps: Arc::new(RecordedStamps::new(recording)),
    };
    let ledger = Ledger::open(parts).await?;
    let handler = Arc::new(RecordedHandler::new(
        recording.run.clone(),
        recording.contents.clone(),
    ));
    let runner = Runner::new(ledger.clone(), handler.clone(), run, None);
    Replay {
        recording,
        run,
        ledger,
        handler,
        runner,
    }
    .drive()
    .await
}

struct Replay<'a> {
    recording: &'a Recording,
    run: RunId,
    ledger: Ledger,
    handler: Arc<RecordedHandler>,
    runner: Runner,
}

impl Replay<'_> {
    async fn drive(mut self) -> Result<Replayed, ReplayError> {
        let records = self.recording.run.len();
        let mut done = 0;
        while done < records {
            self.handler.seek(done);
            let moved = self.advance(done).await;
            let now = self.length().await?;
            self.compare(done, now).await?;
            if let Err(error) = moved {
                return Err(self.diverged(done.max(now), None, &error.to_string()));
            }
            if now == done {
                let detail = "nothing more happens, but the record goes on";
                return Err(self.diverged(done, None, detail));
            }
            done = now;
        }
        let outcome = self
            .ledger
            .look(self.run, |state, _| state.outcome())
            .await?;
        Ok(Replayed { records, outcome })
    }

    /// How many records the replayed run has.
    async fn length(&self) -> Result<usize, ReplayError> {
        let head = self
            .ledger
            .look(self.run, |state, _| state.head().version)
            .await;
        match head {
            Ok(version) => Ok(usize::try_from(version.get()).unwrap_or(usize::MAX) + 1),
            Err(LedgerError::NoRun(_)) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Feeds in what is given at this place, or lets the engine take its own next step.
    async fn advance(&mut self, done: usize) -> Result<(), RunnerError> {
        match self.given(done) {
            Some((caller, command, texts)) => {
                self.ledger
                    .handle(self.run, &caller, command, texts)
                    .await?;
            }
            None => match self.broken_off(done).await? {
                Some(call) => {
                    let active_ms = self.handler.active_ms();
                    let begun = self
                        .ledger
                        .begin_execution(self.run, call, active_ms)
                        .await?;
                    // Nothing more of this attempt is recorded here, so nothing is made of it.
                    drop(begun);
                }
                None => {
                    self.runner.step(&Stop::default()).await?;
                }
            },
        }
        Ok(self.ledger.commit(self.run).await?)
    }

    /// The call that starts at this place and has no outcome in the record after it: its driver
    /// died, or somebody else's record came between.
    async fn broken_off(&self, at: usize) -> Result<Option<CallId>, LedgerError> {
        let record = |at| self.recording.run.get(at).map(Envelope::event);
        let Some(Event::ExecutionStarted(started)) = record(at) else {
            return Ok(None);
        };
        let ended = match record(at.saturating_add(1)) {
            Some(
                Event::ExecutionSucceeded(_)
                | Event::ExecutionFailed(_)
                | Event::ExecutionStale(_)
                | Event::ExecutionInterrupted(_)
                | Event::ExecutionInDoubt(_),
            ) => true,
            Some(_) | None => false,
        };
        let step = self.ledger.look(self.run, |state, _| next(state)).await?;
        Ok((!ended && step == Step::Execute(started.call)).then_some(started.call))
    }

    /// The command of whoever stands outside, if that made the next record.
    fn given(&self, at: usize) -> Option<(Caller, Command, Texts)> {
        let record = self.recording.run.get(at)?;
        let texts = self.texts(record);
        let driver = |command| Some((Caller::Driver, command, Texts::new()));
        match record.event() {
            Event::RunStarted(event) => {
                let start = Start {
                    agent: event.agent.clone(),
                    attendance: event.attendance,
                    binary: event.binary.clone(),
                    http_approval: event.http_approval,
                    limits: event.limits,
                    model: event.model.clone(),
                    park_expiry_ms: event.park_expiry_ms,
                    policy: event.policy,
                    tool_allowlist: event.tool_allowlist.clone(),
                    tools: event.tools,
                };
                Some((starter(record), Command::Start(start), texts))
            }
            Event::SegmentStarted(event) => driver(Command::TakeUp {
                attendance: event.attendance,
                driver: event.driver,
                host: event.host,
                reason: event.reason,
            }),
            Event::SegmentEnded(event) => match event.reason {
                SegmentEnd::Lost => self.given(at + 1),
                SegmentEnd::Parked | SegmentEnd::Waiting | SegmentEnd::Interrupted => {
                    let (reason, active_ms) = (event.reason, event.active_ms);
                    driver(Command::PutDown { reason, active_ms })
                }
                // Nothing pending is left behind by a run that ends by itself.
                SegmentEnd::Cancelled | SegmentEnd::Finished => None,
            },
            Event::ApprovalGranted(ApprovalGranted::ByPerson(_)) | Event::ApprovalDenied(_) => {
                self.answers(at)
            }
            Event::ApprovalExpired(_) => driver(Command::Expire),
            Event::LimitsTightened(event) => {
                Some((person(&event.by), Command::Tighten(event.limits), texts))
            }
            Event::ToolsNarrowed(event) => Some((
                person(&event.by),
                Command::Narrow(event.tools.clone()),
                texts,
            )),
            Event::RunCancelRequested(event) => Some((person(&event.by), Command::Cancel, texts)),
            Event::ModelCalled(_)
            | Event::ModelReplied(_)
            | Event::ModelFailed(_)
            | Event::CallProposed(_)
            | Event::CallRefused(_)
            | Event::ApprovalRequested(_)
            | Event::ApprovalGranted(ApprovalGranted::Automatic(_))
            | Event::ExecutionStarted(_)
            | Event::ExecutionRefused(_)
            | Event::ExecutionSucceeded(_)
            | Event::ExecutionFailed(_)
            | Event::ExecutionStale(_)
            | Event::ExecutionInterrupted(_)
            | Event::ExecutionInDoubt(_)
            | Event::ExecutionSettled(_)
            | Event::RunParked(_)
            | Event::RunFinished(_)
            | Event::LedgerCreated(_)
            | Event::RulesAdopted(_)
            | Event::ClockStepped(_)
            | Event::AttemptRefused(_) => None,
        }
    }

    /// The whole set of answers of which the record at this place is the first.
    fn answers(&self, at: usize) -> Option<(Caller, Command, Texts)> {
        let mut lines = Vec::new();
        let mut texts = Texts::new();
        let mut set = None;
        for record in self.recording.run.get(at..)? {
            let (id, by, call, request, answer) = match record.event() {
                Event::ApprovalGranted(ApprovalGranted::ByPerson(event)) => (
                    event.answer,
                    &event.by,
                    event.call,
                    event.request,
                    Answer::Approve,
                ),
                Event::ApprovalDenied(event) => (
                    event.answer,
                    &event.by,
                    event.call,
                    event.request,
                    Answer::Deny,
                ),
                _ => break,
            };
            if set.as_ref().is_some_and(|(first, _)| *first != id) {
                break;
            }
            set.get_or_insert_with(|| (id, person(by)));
            if let Some(note) = self.texts(record).remove("note") {
                texts.insert(format!("note.{call}"), note);
            }
            lines.push(CallAnswer {
                call,
                request,
                answer,
                note: None,
            });
        }
        let (id, caller) = set?;
        let pending = lines.iter().map(|line| (line.call, line.request)).collect();
        let set = AnswerSet::covering(id, &pending, lines).ok()?;
        Some((caller, Command::Answer(set), texts))
    }

    fn texts(&self, record: &Envelope) -> Texts {
        let text = |name: &String, blob: &Blob| {
            let bytes = self.recording.contents.bytes(&blob.commitment)?.to_vec();
            Some((
                name.clone(),
                Text {
                    media: blob.media,
                    bytes,
                },
            ))
        };
        record
            .blobs()
            .iter()
            .filter_map(|(name, blob)| text(name, blob))
            .collect()
    }

    /// Compares what was just replayed with the record.
    async fn compare(&self, from: usize, to: usize) -> Result<(), ReplayError> {
        let stream = self.run.stream();
        for index in from..to {
            let version = Version::new(u32::try_from(index).unwrap_or(u32::MAX));
            let page = self.ledger.store().read_run(stream, version, 1).await;
            let Some(replayed) = page.map_err(LedgerError::from)?.pop() else {
                break;
            };
            let recorded = self.recording.run.get(index);
            if recorded.is_none_or(|recorded| **recorded.bytes() != *replayed.bytes) {
                let replayed = String::from_utf8_lossy(&replayed.bytes).into_owned();
                let detail = match recorded {
                    Some(recorded) => format!("recorded {}", recorded.event().name()),
                    None => String::from("the record has ended"),
                };
                return Err(self.diverged(index, Some(replayed), &detail));
            }
        }
        Ok(())
    }

    fn diverged(&self, at: usize, replayed: Option<String>, detail: &str) -> ReplayError {
        let recorded = self.recording.run.get(at);
        ReplayError::Diverged(Box::new(Divergence {
            version: Version::new(u32::try_from(at).unwrap_or(u32::MAX)),
            recorded: recorded.map(|r| String::from_utf8_lossy(r.bytes()).into_owned()),
            replayed,
            detail: detail.to_owned(),
        }))
    }
}

/// Who started a run, as its record's header says.
fn starter(record: &Envelope) -> Caller {
    match &record.header().actor {
        Actor::Person { name } => Caller::Person {
            principal: name.clone(),
            channel: Channel::Cli,
            assurance: Assurance::SameUser,
        },
        Actor::Policy | Actor::Allowlist | Actor::Engine | Actor::Clock => Caller::Driver,
    }
}

fn person(by: &By) -> Caller {
    match by {
        By::Person {
            assurance,
            channel,
            principal,
        } => Caller::Person {
            principal: principal.clone(),
            channel: *channel,
            assurance: *assurance,
        },
        By::Policy { .. } | By::List { .. } | By::Tool => Caller::Driver,
    }
}
