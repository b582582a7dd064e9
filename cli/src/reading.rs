//! Reading a ledger: what every verb that changes nothing opens, whatever the store's state.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};

use placet_engine::clock::SystemClock;
use placet_engine::engine::nearly;
use placet_ledger::authority::{AuthorityState, Standing, fold_authority};
use placet_ledger::clock::Clock;
use placet_ledger::content::{Commitment, Contents};
use placet_ledger::envelope::Recorded;
use placet_ledger::error::LedgerError;
use placet_ledger::event::Event;
use placet_ledger::gate_input::Bench;
use placet_ledger::id::{LedgerId, Position, RunId, StreamId, Version};
use placet_ledger::lease;
use placet_ledger::ledger::Ledger;
use placet_ledger::projection::{Answer, Projector, Query, QueryError};
use placet_ledger::run::RunState;
use placet_ledger::store::pages::{each_of_log, each_of_stream, read_stream};
use placet_ledger::store::projections::MemoryRows;
use placet_ledger::store::sled::{OpenError, SledStore};
use placet_ledger::store::{ReadError, ReadStore};
use placet_ledger::time::Timestamp;
use placet_ledger::view::{Card, Projection, RunList};

use crate::answers::{self, Prefixes};
use crate::copied::Scratch;
use crate::error::{CommandError, Kind};
use crate::home::Home;
use crate::in_force;
use crate::ui::card::Look;
use crate::wire::runs::Driving;
use crate::wiring::Wiring;

/// A ledger that is open to be read.
pub(crate) struct Reading(Source);

/// Where it is read from.
enum Source {
    /// The ledger, held here or by another process.
    Ledger(Ledger),
    /// A store that takes no writes, with projections in memory; where it is a copy, with the
    /// folder of that.
    Store(Arc<SledStore>, Box<Projector>, Option<Scratch>),
}

impl Drop for Reading {
    fn drop(&mut self) {
        match &self.0 {
            Source::Ledger(ledger) => ledger.close(),
            Source::Store(store, ..) => store.close(),
        }
    }
}

impl Reading {
    /// Opens what is there, and says on standard error why it takes no writes, if it takes none.
    pub(crate) fn open(wiring: &mut Wiring<'_>) -> Result<Self, CommandError> {
        // Opening a store writes: where there is no room for that, whoever has it open already is
        // asked, or else a copy is read.
        if !wiring.home.has_room() {
            match Self::open_copied(wiring) {
                Err(error) if error.kind == Kind::Conflict => {}
                opened => return opened,
            }
        }
        let error = match wiring.reach() {
            Ok(ledger) => return Ok(Self(Source::Ledger(ledger))),
            Err(error) => error,
        };
        let cause = error.source.downcast_ref::<OpenError>();
        let by_a_copy = matches!(cause, Some(OpenError::CopyInUse { .. }));
        // Whatever forbids writing does not forbid reading.
        if error.kind != Kind::Integrity && error.kind != Kind::Failed && !by_a_copy {
            return Err(error);
        }
        if by_a_copy {
            say_closed(wiring, &error);
        }
        Self::open_as_it_is(wiring, &error)
    }

    /// Opens the ledger for what changes it, or says that it takes no writes.
    pub(crate) fn to_write(wiring: &mut Wiring<'_>) -> Result<Self, CommandError> {
        match wiring.reach() {
            Ok(ledger) => Ok(Self(Source::Ledger(ledger))),
            Err(error) if matches!(error.kind, Kind::Integrity | Kind::Failed) => {
                let what = format!("the ledger takes no writes: {}", error.message());
                Err(CommandError {
                    source: what.into(),
                    ..error
                })
            }
            Err(error) => Err(error),
        }
    }

    fn open_as_it_is(
        wiring: &mut Wiring<'_>,
        unreached: &CommandError,
    ) -> Result<Self, CommandError> {
        let head_dir = wiring.head_dir()?;
        match SledStore::open_read_only(&wiring.home.dir, &head_dir) {
            Ok((store, why)) => {
                let why = why.map(CommandError::from);
                // Opening found nothing, and its first records cannot be read.
                let damaged = (unreached.kind == Kind::Integrity).then_some(unreached);
                if let Some(error) = why.as_ref().or(damaged) {
                    say_closed(wiring, error);
                }
                Ok(Self::of_store(store, None))
            }
            // A home that may not be written to can still be copied and read.
            Err(OpenError::Io { .. }) => Self::open_copied(wiring),
            Err(error) => Err(error.into()),
        }
    }

    fn open_copied(wiring: &mut Wiring<'_>) -> Result<Self, CommandError> {
        let copied = wiring.open_copy()?;
        if let Some(why) = copied.why {
            say_closed(wiring, &CommandError::from(why));
        }
        Ok(Self::of_store(copied.store, Some(copied.scratch)))
    }

    fn of_store(store: SledStore, scratch: Option<Scratch>) -> Self {
        let store = Arc::new(store);
        let projector = Projector::new(store.clone(), Arc::new(MemoryRows::default()));
        Self(Source::Store(store, Box::new(projector), scratch))
    }

    /// The store.
    pub(crate) fn store(&self) -> &dyn ReadStore {
        match &self.0 {
            Source::Ledger(ledger) => ledger,
            Source::Store(store, ..) => &**store,
        }
    }

    /// Which ledger it is.
    fn ledger(&self) -> LedgerId {
        match &self.0 {
            Source::Ledger(ledger) => ledger.ledger(),
            Source::Store(store, ..) => store.ledger(),
        }
    }

    /// Who drives a run; of a copy it is not known that nobody does.
    pub(crate) fn driving(&self, home: &Home, run: RunId) -> Driving {
        let copied = matches!(self.0, Source::Store(.., Some(_)));
        match lease::who(&home.driving(), run) {
            Ok(Some(held)) => Driving::By(held.by.as_ref().into()),
            Ok(None) if !copied => Driving::Nobody,
            Ok(None) | Err(_) => Driving::Unknown,
        }
    }

    /// Answers from projections.
    pub(crate) async fn query(&self, query: Query) -> Result<Answer, CommandError> {
        let answer = match &self.0 {
            Source::Ledger(ledger) => ledger.query(query).await,
            Source::Store(store, projector, _) => match projector.query(&query).await {
                // Rows that were kept may tell of what the log has lost.
                Err(QueryError::Read(ReadError::Damaged { .. })) => {
                    let kept = MemoryRows::copy(&*store.projections()).map_err(damaged)?;
                    let projector = Projector::new(store.clone(), Arc::new(kept));
                    projector.query(&query).await.map_err(LedgerError::from)
                }
                answer => answer.map_err(LedgerError::from),
            },
        };
        Ok(answer?)
    }

    /// The run whose id begins with these digits.
    pub(crate) async fn find(&self, prefix: &str) -> Result<RunId, CommandError> {
        let query = Query::Find {
            prefix: prefix.to_owned(),
        };
        let error = match self.query(query).await {
            Ok(answer) => return answers::run(answer),
            Err(error) => error,
        };
        // A whole id can be looked for in the log itself, whatever is lost elsewhere in it.
        if let (Kind::Integrity, Ok(run)) = (error.kind, prefix.parse::<RunId>()) {
            let first = self.store().read_run(run.stream(), Version::ZERO, 1).await;
            if first.is_ok_and(|first| !first.is_empty()) {
                return Ok(run);
            }
        }
        Err(error)
    }

    /// How runs are named in commands.
    pub(crate) async fn prefixes(
        &self,
        runs: impl IntoIterator<Item = RunId>,
    ) -> Result<Prefixes, CommandError> {
        let runs: BTreeSet<RunId> = runs.into_iter().collect();
        let runs: Vec<RunId> = runs.into_iter().collect();
        let query = Query::Prefixes { runs: runs.clone() };
        match self.query(query).await {
            Ok(answer) => Ok(Prefixes::of(runs, answers::prefixes(answer)?)),
            // Then they have their whole ids.
            Err(error) if error.kind == Kind::Integrity => Ok(Prefixes::of(runs, Vec::new())),
            Err(error) => Err(error),
        }
    }

    /// These runs alone, folded; without those that cannot be read, and why the first of them
    /// cannot.
    pub(crate) async fn folded(
        &self,
        wanted: impl IntoIterator<Item = RunId>,
    ) -> Result<(RunList, Option<CommandError>), CommandError> {
        let (mut runs, mut broken) = (RunList::new(), None);
        // What they begin from is in the first record of the log.
        self.each(|first| {
            runs.apply(&first);
            false
        })
        .await?;
        for run in wanted {
            match self.stream(run.stream()).await {
                Ok(records) => records.iter().for_each(|record| runs.apply(record)),
                Err(error) if error.kind == Kind::Integrity => {
                    broken.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok((runs, broken))
    }

    /// Every record in order of position, until one is not wanted any more.
    pub(crate) async fn each(
        &self,
        take: impl FnMut(Recorded) -> bool,
    ) -> Result<(), CommandError> {
        self.each_from(Position::ZERO, take).await
    }

    /// The same from a position on.
    pub(crate) async fn each_from(
        &self,
        from: Position,
        take: impl FnMut(Recorded) -> bool,
    ) -> Result<(), CommandError> {
        let read = each_of_log(self.store(), from, take).await;
        read.map_err(damaged)
    }

    /// The record at a position.
    pub(crate) async fn record(&self, position: Position) -> Result<Recorded, CommandError> {
        let page = self.store().read_all(position, 1).await.map_err(damaged)?;
        let stored = page.into_iter().next().ok_or_else(|| {
            damaged(ReadError::Damaged {
                position: Some(position),
                detail: String::from("the record is missing"),
            })
        })?;
        stored.parse().map_err(damaged)
    }

    /// Every record of one stream in order, until one is not wanted any more; where one cannot be
    /// read, those before it are given all the same.
    pub(crate) async fn each_of_stream(
        &self,
        stream: StreamId,
        mut take: impl FnMut(Recorded) -> bool,
    ) -> Result<(), CommandError> {
        let mut on = true;
        let read = each_of_stream(self.store(), stream, Version::ZERO, |recorded| {
            on = on && take(recorded);
            if on { Ok(()) } else { Err(Stop::Enough) }
        });
        match read.await {
            Ok(()) | Err(Stop::Enough) => Ok(()),
            Err(Stop::Read(error)) => Err(damaged(error)),
        }
    }

    /// Every record of one stream, in order.
    pub(crate) async fn stream(&self, stream: StreamId) -> Result<Vec<Recorded>, CommandError> {
        let read = read_stream(self.store(), stream, Version::ZERO).await;
        read.map_err(damaged)
    }

    /// Learns why rules are there, those in force and those before.
    pub(crate) fn learn_reasons(&self, wiring: &mut Wiring<'_>) -> Result<(), CommandError> {
        let stream = self.ledger().authority();
        let records = match wiring.block_on(self.stream(stream)) {
            Ok(records) => records,
            Err(error) if error.kind == Kind::Integrity => {
                let what = format!("why rules are there cannot be read: {}", error.message());
                wiring.printer.warn(&what);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let text = |record: &Recorded| {
            let adopted = matches!(record.envelope.event(), Event::RulesAdopted(_));
            let text = record.envelope.blobs().get("text").copied();
            text.filter(|_| adopted)
        };
        let texts: Vec<_> = records.iter().filter_map(text).collect();
        let wanted = texts.iter().map(|blob| blob.commitment).collect();
        let contents = wiring.block_on(self.contents(stream, &wanted));
        let texts = texts
            .iter()
            .filter_map(|blob| contents.bytes(&blob.commitment));
        wiring.reasons = in_force::reasons(texts);
        Ok(())
    }

    /// Who and what is trusted now, as far as it can be read.
    pub(crate) async fn trusted(&self) -> Option<Trusted> {
        let stream = self.ledger().authority();
        let records = self.stream(stream).await.ok()?;
        let state = fold_authority(records.iter().map(|record| &record.envelope)).ok()?;
        let blobs = records
            .iter()
            .flat_map(|record| record.envelope.blobs().values());
        let wanted = blobs.map(|blob| blob.commitment).collect();
        let contents = self.contents(stream, &wanted).await;
        Some(Trusted { state, contents })
    }

    /// The contents of a stream that can be read, of those that are wanted.
    pub(crate) async fn contents(
        &self,
        stream: StreamId,
        wanted: &BTreeSet<Commitment>,
    ) -> Contents {
        let all: Vec<_> = wanted.iter().copied().collect();
        if let Ok(contents) = self.store().content(stream, &all).await {
            return contents;
        }
        // One that is lost hides no other.
        let mut contents = Contents::default();
        for commitment in all {
            if let Ok(one) = self.store().content(stream, &[commitment]).await {
                contents.extend(one);
            }
        }
        contents
    }
}

/// Why no more of a stream is read.
enum Stop {
    /// It is enough.
    Enough,
    /// It cannot be read.
    Read(ReadError),
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// Says why a ledger takes no writes.
fn say_closed(wiring: &mut Wiring<'_>, error: &CommandError) {
    let what = format!("the ledger takes no writes: {}", error.message());
    wiring.printer.warn(&what);
    for hint in &error.hints {
        wiring.printer.warn(&format!("  hint: {hint}"));
    }
}

/// Who and what is trusted.
pub(crate) struct Trusted {
    state: AuthorityState,
    contents: Contents,
}

impl Trusted {
    /// The card with the entry that nearly covers its call.
    pub(crate) fn told(&self, card: Card, state: &RunState, contents: &Contents) -> Card {
        let standing = Standing {
            state: &self.state,
            contents: &self.contents,
        };
        let bench = Bench {
            standing,
            at: now(),
            weaker: None,
        };
        Card {
            nearly: nearly(state, contents, bench, card.call),
            ..card
        }
    }
}

/// What a store that cannot be read means to a person.
pub(crate) fn damaged(error: ReadError) -> CommandError {
    LedgerError::from(error).into()
}

/// The time now.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

/// How cards are shown by this process.
pub(crate) fn look(wiring: &mut Wiring<'_>) -> Look {
    Look {
        color: wiring.printer.color(),
        width: wiring.printer.width(),
        now: now(),
        program: wiring.program(),
        reasons: wiring.reasons.clone(),
    }
}

/// Does something that may panic, on whatever thread; a panic is an answer, and nothing is written
/// about it.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    static QUIET: AtomicUsize = AtomicUsize::new(0);
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if QUIET.load(Ordering::Relaxed) == 0 {
                before(info);
            }
        }));
    });
    QUIET.fetch_add(1, Ordering::Relaxed);
    let done = catch_unwind(AssertUnwindSafe(work));
    QUIET.fetch_sub(1, Ordering::Relaxed);
    done.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "it panicked".to_owned())
    })
}
