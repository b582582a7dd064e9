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
use placet_ledger::projection::{Answer, Projector, Query};
use placet_ledger::run::RunState;
use placet_ledger::store::pages::{each_of_log, each_of_stream, read_stream};
use placet_ledger::store::projections::MemoryRows;
use placet_ledger::store::sled::{OpenError, SledStore};
use placet_ledger::store::{ReadError, ReadStore};
use placet_ledger::time::Timestamp;
use placet_ledger::view::{Card, Projection, RunList};

use crate::answers::{self, Prefixes};
use crate::error::{CommandError, Kind};
use crate::home::{Home, Scratch};
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
            warn_of(wiring, &error);
        }
        Self::open_as_it_is(wiring)
    }

    fn open_as_it_is(wiring: &mut Wiring<'_>) -> Result<Self, CommandError> {
        let head_dir = wiring.head_dir()?;
        let temporary = wiring.temporary();
        let home = &wiring.home.dir;
        let (store, why, scratch) = match SledStore::open_read_only(home, &head_dir) {
            Ok((store, why)) => (store, why, None),
            // A home that may not be written to can still be copied and read.
            Err(OpenError::Io { .. }) => {
                let scratch = Scratch::make(&wiring.home, &temporary)?;
                let (store, why) = SledStore::open_copy(home, &head_dir, scratch.dir())?;
                (store, why, Some(scratch))
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(why) = why {
            warn_of(wiring, &why.into());
        }
        let store = Arc::new(store);
        let projector = Projector::new(store.clone(), Arc::new(MemoryRows::default()));
        Ok(Self(Source::Store(store, Box::new(projector), scratch)))
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
            Source::Store(_, projector, _) => {
                projector.query(&query).await.map_err(LedgerError::from)
            }
        };
        Ok(answer?)
    }

    /// The run whose id begins with these digits.
    pub(crate) async fn find(&self, prefix: &str) -> Result<RunId, CommandError> {
        let prefix = prefix.to_owned();
        answers::run(self.query(Query::Find { prefix }).await?)
    }

    /// How runs are named in commands.
    pub(crate) async fn prefixes(
        &self,
        runs: impl IntoIterator<Item = RunId>,
    ) -> Result<Prefixes, CommandError> {
        let runs: BTreeSet<RunId> = runs.into_iter().collect();
        let runs: Vec<RunId> = runs.into_iter().collect();
        let query = Query::Prefixes { runs: runs.clone() };
        Ok(Prefixes::of(
            runs,
            answers::prefixes(self.query(query).await?)?,
        ))
    }

    /// These runs alone, folded.
    pub(crate) async fn folded(
        &self,
        wanted: impl IntoIterator<Item = RunId>,
    ) -> Result<RunList, CommandError> {
        let mut runs = RunList::new();
        // What they begin from is in the first record of the log.
        self.each(|first| {
            runs.apply(&first);
            false
        })
        .await?;
        for run in wanted {
            let read = each_of_stream(self.store(), run.stream(), Version::ZERO, |recorded| {
                runs.apply(&recorded);
                Ok::<_, ReadError>(())
            });
            read.await.map_err(damaged)?;
        }
        Ok(runs)
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

    /// Every record of one stream, in order.
    pub(crate) async fn stream(&self, stream: StreamId) -> Result<Vec<Recorded>, CommandError> {
        let read = read_stream(self.store(), stream, Version::ZERO).await;
        read.map_err(damaged)
    }

    /// Learns why rules are there, those in force and those before.
    pub(crate) fn learn_reasons(&self, wiring: &mut Wiring<'_>) -> Result<(), CommandError> {
        let stream = self.ledger().authority();
        let records = wiring.block_on(self.stream(stream))?;
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

fn warn_of(wiring: &mut Wiring<'_>, error: &CommandError) {
    let printer = &mut wiring.printer;
    printer.warn(&format!("the ledger takes no writes: {}", error.message()));
    for hint in &error.hints {
        printer.warn(&format!("  hint: {hint}"));
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
