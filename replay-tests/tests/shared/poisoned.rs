//! The disk fails under an owner: it lets go of the store, and whoever is next opens that anew and
//! goes on with the run, be it a client or the same process.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use std::{fs, thread};

use async_trait::async_trait;
use placet_ledger::content::{Commitment, Contents};
use placet_ledger::error::LedgerError;
use placet_ledger::id::{Position, StreamId, Version};
use placet_ledger::ledger::{Door, Ledger, Opener, Socket};
use placet_ledger::owner::Parts;
use placet_ledger::remote::socket;
use placet_ledger::store::sled::{FaultPoint, Faults, NoFaults, SledStore};
use placet_ledger::store::{
    AppendError, Appended, Batch, EventStore, Expected, ReadError, ReadStore, Stored, Tail, Unless,
};
use placet_replay::cut;
use placet_replay::play::{End, Play, is_passing, plays};
use placet_replay::reach::{Reach, build, client_keys, owner_keys, within};
use placet_replay::tools::Ran;
use placet_replay::world::{World, ledger_id};
use tempfile::TempDir;
use tokio::runtime::Builder;

use super::lost::Bearing;

/// A disk that fails when a place is reached for the last of so many times; it counts on.
struct Failing {
    at: FaultPoint,
    left: AtomicUsize,
}

impl Faults for Failing {
    fn reach(&self, point: FaultPoint) -> io::Result<()> {
        if point == self.at && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            return Err(io::Error::other("the disk fails in a test"));
        }
        Ok(())
    }

    fn room(&self, free_bytes: u64) -> u64 {
        free_bytes
    }
}

/// A disk that does not answer at one place until it may.
struct Hanging {
    left: AtomicUsize,
    may: Mutex<Receiver<()>>,
}

impl Faults for Hanging {
    fn reach(&self, point: FaultPoint) -> io::Result<()> {
        if point == FaultPoint::AfterFrame && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            let hung = self.may.lock().unwrap().recv();
            assert!(hung.is_err(), "it may once the sender is gone");
        }
        Ok(())
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(60)
    }

    fn room(&self, free_bytes: u64) -> u64 {
        free_bytes
    }
}

/// The store of whoever has it now; it does not keep anybody from opening it anew.
#[derive(Default)]
struct Lent(Mutex<Weak<SledStore>>);

impl Lent {
    fn store(&self) -> Result<Arc<SledStore>, ReadError> {
        let gone = || ReadError::Io(String::from("nobody has the store"));
        self.0.lock().unwrap().upgrade().ok_or_else(gone)
    }
}

#[async_trait]
impl EventStore for Lent {
    async fn append(
        &self,
        stream: StreamId,
        expected: Expected,
        batch: Batch,
        unless: &[Unless],
    ) -> Result<Appended, AppendError> {
        let store = self.store();
        let store = store.map_err(|error| AppendError::Poisoned(error.to_string()))?;
        store.append(stream, expected, batch, unless).await
    }
}

#[async_trait]
impl ReadStore for Lent {
    async fn read_run(
        &self,
        stream: StreamId,
        from: Version,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        self.store()?.read_run(stream, from, limit).await
    }

    async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
        self.store()?.read_all(from, limit).await
    }

    async fn tail(&self) -> Result<Tail, ReadError> {
        self.store()?.tail().await
    }

    async fn content(
        &self,
        stream: StreamId,
        commitments: &[Commitment],
    ) -> Result<Contents, ReadError> {
        self.store()?.content(stream, commitments).await
    }
}

/// What an owner over a store is made of.
type OverStore = Box<dyn Fn(Arc<SledStore>) -> Parts + Send>;

/// A home with a store, and who has it.
struct Home {
    folder: TempDir,
    lent: Arc<Lent>,
    /// Of the disk under whoever opens the store next.
    faults: Mutex<Arc<dyn Faults>>,
    parts: Mutex<Option<OverStore>>,
    /// Dropped once somebody finds the store locked and nobody who serves it.
    hangs: Mutex<Option<Sender<()>>>,
}

impl Home {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            folder: tempfile::tempdir().unwrap(),
            lent: Arc::default(),
            faults: Mutex::new(Arc::new(NoFaults)),
            parts: Mutex::default(),
            hangs: Mutex::default(),
        })
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn head(&self) -> PathBuf {
        self.folder.path().join("head")
    }

    fn lend(&self, store: &Arc<SledStore>) {
        *self.lent.0.lock().unwrap() = Arc::downgrade(store);
    }

    async fn hold(&self) -> Result<Door, LedgerError> {
        let faults = std::mem::replace(&mut *self.faults.lock().unwrap(), Arc::new(NoFaults));
        let store = SledStore::open_with(&self.dir(), &self.head(), faults).unwrap();
        let store = Arc::new(store);
        self.lend(&store);
        let parts = self.parts.lock().unwrap().as_ref().unwrap()(store.clone());
        let served = Socket {
            listener: socket::bind(&self.dir()).unwrap(),
            build: build(),
            keys: owner_keys()?,
            inside: Box::new(|_| false),
        };
        let place = self.dir().join(socket::NAME);
        let close = move || {
            fs::remove_file(place).unwrap();
            store.close();
        };
        Door::hold(parts, Some(served), close).await
    }
}

/// Finds the way to the ledger of a home as a process does.
struct Finding(Arc<Home>);

#[async_trait]
impl Opener for Finding {
    async fn open(&self) -> Result<Door, LedgerError> {
        let home = &self.0;
        loop {
            // The store may be let go of between the two.
            if let (Ok(stream), Ok(store)) = (socket::connect(&home.dir()), home.lent.store()) {
                let clock = home.parts.lock().unwrap().as_ref().unwrap()(store).clock;
                let door = Door::connect(stream, &build(), &client_keys()?, clock).await;
                if let Ok(door) = door {
                    return Ok(door);
                }
            }
            if let Some(lock) = SledStore::try_lock(&home.dir(), &home.head()).unwrap() {
                drop(lock);
                return home.hold().await;
            }
            drop(home.hangs.lock().unwrap().take());
            thread::yield_now();
        }
    }
}

/// What a played run came to.
#[derive(Debug, PartialEq)]
struct Came {
    end: End,
    ran: Vec<Ran>,
    events: Vec<&'static str>,
}

async fn came(world: &World, end: End) -> Came {
    let log = cut::log(&**world.store()).await.unwrap();
    Came {
        end,
        ran: world.tools.ran(),
        events: log.iter().map(|record| record.event().name()).collect(),
    }
}

/// A new home, a world over its store, and that by the ledger of an owner whose disk may fail.
async fn begin(play: &Play, faults: Arc<dyn Faults>) -> (Arc<Home>, World, Ledger) {
    let home = Home::new();
    let store = SledStore::create(&home.dir(), ledger_id(), &home.head()).unwrap();
    let store = Arc::new(store);
    home.lend(&store);
    let world = play.world(home.lent.clone()).await.unwrap();
    store.close();
    drop(store);
    let (judge, clock) = (world.judge().clone(), world.clock.clone());
    let stamps = Arc::new(Bearing(world.stamps().clone()));
    *home.parts.lock().unwrap() = Some(Box::new(move |store| Parts {
        rows: Some(store.projections()),
        snapshots: Some(store.snapshots()),
        store,
        judge: judge.clone(),
        clock: clock.clone(),
        stamps: stamps.clone(),
    }));
    *home.faults.lock().unwrap() = faults;
    let owner = Ledger::shared(Arc::new(Finding(home.clone())))
        .await
        .unwrap();
    assert!(owner.is_owner());
    (home, world, owner)
}

/// A run that a client drives while the disk fails under the owner.
async fn by_a_client(play: &Play, faults: Arc<dyn Faults>, fails: bool) -> Came {
    let begun = begin(play, faults).await;
    driven_by_a_client(play, begun, fails).await
}

async fn driven_by_a_client(
    play: &Play,
    (home, world, owner): (Arc<Home>, World, Ledger),
    fails: bool,
) -> Came {
    let client = Ledger::shared(Arc::new(Finding(home.clone())))
        .await
        .unwrap();
    assert!(!client.is_owner());
    let mut world = world.with_ledger(client.clone()).unwrap();
    let run = play.start(&mut world).await.unwrap();
    let end = play.on(&mut world, run).await.unwrap();
    let came = came(&world, end).await;
    // Whoever had it before goes through the next one.
    let seen = owner.look(run, |state, _| state.outcome()).await.unwrap();
    assert_eq!(seen, came.end.outcome);
    assert_eq!((client.is_owner(), owner.is_owner()), (fails, !fails));
    came
}

/// A run that the owner drives itself, and takes up again where it is told that it failed.
async fn by_the_owner(play: &Play, faults: Arc<dyn Faults>) -> (End, usize) {
    let (_home, world, owner) = begin(play, faults).await;
    let mut world = world.with_ledger(owner.clone()).unwrap();
    let mut failed = 0;
    let mut run = play.start(&mut world).await.unwrap();
    let end = loop {
        match play.on(&mut world, run).await {
            Ok(end) => break end,
            Err(error) if is_passing(&error) && failed == 0 => failed += 1,
            Err(error) => panic!("{error:?}"),
        }
        owner.refresh_authority().await.unwrap();
        if world.records(run).await.unwrap().is_empty() {
            // Its first record was never acknowledged: whoever asked for it asks again.
            run = play.start(&mut world).await.unwrap();
        }
    };
    assert!(owner.is_owner());
    (end, failed)
}

fn failing(at: FaultPoint, nth: usize) -> Arc<Failing> {
    let left = AtomicUsize::new(nth);
    Arc::new(Failing { at, left })
}

const POINTS: [FaultPoint; 3] = [
    FaultPoint::BeforeFrame,
    FaultPoint::AfterFrame,
    FaultPoint::BeforeAnswer,
];

/// Does something with a play for every commit of it, and the place at which that fails.
fn fail_everywhere(work: &impl AsyncFn(&Play, FaultPoint, usize, &Came)) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let plays = plays();
    let found = plays.iter().find(|play| play.name == "a question").unwrap();
    let counting = failing(FaultPoint::BeforeFrame, usize::MAX);
    within(Reach::HereAsUser, || {
        let whole = runtime.block_on(by_a_client(found, counting.clone(), false));
        let commits = usize::MAX - counting.left.load(Ordering::SeqCst);
        assert!(commits > 5, "{commits}");
        for at in POINTS {
            for nth in 1..=commits {
                runtime.block_on(work(found, at, nth, &whole));
            }
        }
    });
}

#[test]
fn a_client_goes_on_as_the_owner_where_the_disk_failed_under_the_one_before() {
    fail_everywhere(&async |play, at, nth, whole| {
        let came = by_a_client(play, failing(at, nth), true).await;
        assert_eq!(came, *whole, "{at:?} {nth}");
    });
}

#[test]
fn an_owner_under_which_the_disk_failed_opens_its_store_anew() {
    fail_everywhere(&async |play, at, nth, whole| {
        let (end, failed) = by_the_owner(play, failing(at, nth)).await;
        assert_eq!(end, whole.end, "{at:?} {nth}");
        assert!(failed > 0, "{at:?} {nth}");
    });
}

#[test]
fn a_store_stays_locked_until_a_disk_that_hangs_has_answered() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let plays = plays();
    let play = plays.iter().find(|play| play.name == "a question").unwrap();
    within(Reach::HereAsUser, || {
        runtime.block_on(async {
            let whole = by_a_client(play, Arc::new(NoFaults), false).await;
            let (sender, may) = channel();
            let hanging = Hanging {
                left: AtomicUsize::new(3),
                may: Mutex::new(may),
            };
            let begun = begin(play, Arc::new(hanging)).await;
            *begun.0.hangs.lock().unwrap() = Some(sender);
            let home = begun.0.clone();
            // What was on its way to the disk is found there, and not done again.
            assert_eq!(driven_by_a_client(play, begun, true).await, whole);
            assert!(home.hangs.lock().unwrap().is_none());
        });
    });
}

#[test]
fn what_the_owners_own_process_had_staged_is_lost_and_said_to_be() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let plays = plays();
    let play = plays.iter().find(|play| play.name == "a question").unwrap();
    within(Reach::HereAsUser, || {
        runtime.block_on(async {
            let faults = failing(FaultPoint::AfterFrame, 1);
            let (_home, world, owner) = begin(play, faults).await;
            let mut world = world.with_ledger(owner.clone()).unwrap();
            let staged = play.start(&mut world).await.unwrap();
            assert!(world.records(staged).await.unwrap().is_empty());
            let other = play.start(&mut world).await.unwrap();
            let error = play.on(&mut world, other).await.unwrap_err();
            assert!(is_passing(&error), "{error:?}");
            let lost = owner.commit(staged).await;
            assert!(matches!(lost, Err(LedgerError::Conflict)), "{lost:?}");
            let gone = owner.look(staged, |_, _| ()).await;
            assert!(matches!(gone, Err(LedgerError::NoRun(_))), "{gone:?}");
            // What was on its way to the disk is there: the other run goes on.
            let end = play.on(&mut world, other).await.unwrap();
            assert_eq!(end, by_a_client(play, Arc::new(NoFaults), false).await.end);
        });
    });
}
