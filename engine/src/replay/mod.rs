//! Replay: a run is driven again from its own record, through the same decisions, gate and fold,
//! without effects, and must come to the same bytes.

mod given;
mod stamps;

use std::collections::BTreeSet;
use std::sync::Arc;

use placet_ledger::authority::{AuthorityError, fold_authority};
use placet_ledger::content::Contents;
use placet_ledger::envelope::Envelope;
use placet_ledger::error::LedgerError;
use placet_ledger::event::{Event, Outcome};
use placet_ledger::id::{CallId, RunId, StreamId, Version};
use placet_ledger::judge::Judge;
use placet_ledger::ledger::Ledger;
use placet_ledger::owner::Parts;
use placet_ledger::run::{Step, next};
use placet_ledger::store::memory::MemoryStore;
use placet_ledger::store::{Batch, EventStore, Expected, ReadStore};

use crate::effects::{EffectHandler, RecordedHandler};
use crate::recording::Recording;
use crate::runner::{Runner, RunnerError};
use crate::stop::Halt;
use stamps::{RecordedStamps, StoppedClock};

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

/// Drives a run again and compares what it comes to with its record, byte for byte.
pub async fn replay(recording: &Recording, judge: Arc<dyn Judge>) -> Result<Replayed, ReplayError> {
    let authority = fold_authority(&recording.authority)?;
    let first = recording.run.first().ok_or(ReplayError::Empty)?;
    let run = first.stream().run();
    let store = Arc::new(MemoryStore::new(authority.ledger()));
    let known = first.event().authority().unwrap_or_default();
    let mut trusted = Trusted {
        stream: authority.ledger().authority(),
        records: &recording.authority,
        contents: &recording.contents,
        done: 0,
    };
    trusted.feed(&*store, known).await?;
    let parts = Parts {
        store: store.clone(),
        judge,
        clock: Arc::new(StoppedClock),
        stamps: Arc::new(RecordedStamps::new(recording)),
        rows: None,
        snapshots: None,
    };
    let ledger = Ledger::open(parts).await?;
    let handler = Arc::new(RecordedHandler::new(
        recording.run.clone(),
        recording.contents.clone(),
    ));
    let runner = Runner::new(ledger.clone(), handler.clone(), run, None);
    let replay = Replay {
        recording,
        run,
        ledger,
        handler,
        runner,
        store,
        trusted,
    };
    Box::pin(replay.drive()).await
}

/// The authority stream, fed in as far as it was when the next thing was decided.
struct Trusted<'a> {
    stream: StreamId,
    records: &'a [Envelope],
    contents: &'a Contents,
    done: usize,
}

impl Trusted<'_> {
    /// Appends the records up to a version. Says whether there were any.
    async fn feed(&mut self, store: &dyn EventStore, upto: Version) -> Result<bool, LedgerError> {
        let news = self.records.get(self.done..).unwrap_or_default();
        let news: Vec<_> = news
            .iter()
            .take_while(|record| record.version() <= upto)
            .cloned()
            .collect();
        let before = self
            .done
            .checked_sub(1)
            .and_then(|last| self.records.get(last));
        let expected = before.map_or(Expected::Start, |record| Expected::Head {
            version: record.version(),
            digest: record.digest(),
        });
        self.done = self.done.saturating_add(news.len());
        if news.is_empty() {
            return Ok(false);
        }
        let named = news.iter().flat_map(|record| record.blobs().values());
        let contents = named.filter_map(|blob| {
            let content = self.contents.get(&blob.commitment)?.clone();
            Some((blob.commitment, content))
        });
        let contents = contents.collect();
        let batch = Batch {
            records: news,
            contents,
        };
        store.append(self.stream, expected, batch, &[]).await?;
        Ok(true)
    }
}

struct Replay<'a> {
    recording: &'a Recording,
    run: RunId,
    ledger: Ledger,
    handler: Arc<RecordedHandler>,
    runner: Runner,
    store: Arc<MemoryStore>,
    trusted: Trusted<'a>,
}

impl Replay<'_> {
    async fn drive(mut self) -> Result<Replayed, ReplayError> {
        let records = self.recording.run.len();
        let mut done = 0;
        while done < records {
            self.handler.seek(done);
            let decided_on = self.recording.run.get(done).map(Envelope::event);
            let decided_on = decided_on.and_then(Event::authority).unwrap_or_default();
            if self.trusted.feed(&*self.store, decided_on).await? {
                self.ledger.refresh_authority().await?;
            }
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
                    let (active_ms, level) = (
                        self.handler.active_ms(),
                        self.handler.level(&BTreeSet::new()),
                    );
                    let begun = self
                        .ledger
                        .begin_execution(self.run, call, active_ms, level)
                        .await?;
                    // Nothing more of this attempt is recorded here, so nothing is made of it.
                    drop(begun);
                }
                None => {
                    self.runner.step(&Halt::default()).await?;
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

    /// Compares what was just replayed with the record.
    async fn compare(&self, from: usize, to: usize) -> Result<(), ReplayError> {
        let stream = self.run.stream();
        for index in from..to {
            let version = Version::new(u32::try_from(index).unwrap_or(u32::MAX));
            let page = self.ledger.read_run(stream, version, 1).await;
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
