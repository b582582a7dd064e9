//! The connection is cut at every message of whole runs, and the way is found again: to the same
//! owner, in this process, to another owner. The run comes to the same end by the same events, and
//! each effect happens once.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use placet_ledger::clock::{Clock, Stamps};
use placet_ledger::content::Salt;
use placet_ledger::error::LedgerError;
use placet_ledger::id::{CommandId, DriverId, EventId, StreamId, Version};
use placet_ledger::ledger::{Door, Ledger, Opener};
use placet_ledger::owner::Parts;
use placet_ledger::remote::socket;
use placet_ledger::store::memory::MemoryStore;
use placet_ledger::time::Timestamp;
use placet_replay::cut;
use placet_replay::play::{End, Play, plays};
use placet_replay::reach::{Owned, Reach, build, client_keys, within};
use placet_replay::stamps::CountingStamps;
use placet_replay::tools::Ran;
use placet_replay::world::ledger_id;
use tokio::runtime::Builder;

use super::proxy::{Cut, Proxy, Way};

/// Stamps of a world, but that records bear the ids of their commands, as those of a release do.
pub(super) struct Bearing(pub(super) Arc<CountingStamps>);

impl Stamps for Bearing {
    fn at(&self, stream: StreamId, version: Version, not_before: Timestamp) -> Timestamp {
        self.0.at(stream, version, not_before)
    }

    fn id(
        &self,
        stream: StreamId,
        version: Version,
        at: Timestamp,
        of: Option<CommandId>,
    ) -> EventId {
        let ms = u64::try_from(at.millis()).unwrap();
        of.map_or_else(
            || self.0.id(stream, version, at, None),
            |command| EventId::of_command(ms, command),
        )
    }

    fn driver(&self) -> DriverId {
        self.0.driver()
    }

    fn salt(&self, stream: StreamId, version: Version, name: &str, bytes: &[u8]) -> Salt {
        self.0.salt(stream, version, name, bytes)
    }
}

/// What a client finds whose connection was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The same owner, which goes on.
    Same,
    /// Nobody: it holds the ledger itself.
    Here,
    /// Another owner.
    Another,
}

struct Finding {
    parts: Box<dyn Fn() -> Parts + Send + Sync>,
    clock: Arc<dyn Clock>,
    proxy: Arc<Proxy>,
    then: Then,
    owned: Mutex<Option<Owned>>,
}

impl Finding {
    async fn connect(&self, owned: Owned) -> Result<Door, LedgerError> {
        let mut last = None;
        // The connection may be cut while who is trusted is read.
        for _ in 0..3 {
            let stream = socket::connect(owned.home.path()).unwrap();
            let (stream, keys) = (self.proxy.between(&stream), client_keys()?);
            match Door::connect(stream, &build(), &keys, self.clock.clone()).await {
                Ok(door) => {
                    *self.owned.lock().unwrap() = Some(owned);
                    return Ok(door);
                }
                Err(error) => last = Some(error),
            }
        }
        panic!("{last:?}");
    }
}

#[async_trait]
impl Opener for Finding {
    async fn open(&self) -> Result<Door, LedgerError> {
        let before = self.owned.lock().unwrap().take();
        match (before, self.then) {
            (Some(same), Then::Same) => self.connect(same).await,
            (Some(gone), Then::Here) => {
                drop(gone);
                Door::hold((self.parts)(), None, || {}).await
            }
            (before, _) => {
                drop(before);
                let owned = Owned::new((self.parts)()).await?;
                self.connect(owned).await
            }
        }
    }
}

/// What a played run came to.
#[derive(Debug, PartialEq)]
struct Came {
    end: End,
    ran: Vec<Ran>,
    /// The events of the whole log, journal and authority included.
    events: Vec<&'static str>,
}

async fn played(play: &Play, then: Then, cut: Option<Cut>) -> (Came, (usize, usize)) {
    let store = Arc::new(MemoryStore::new(ledger_id()));
    let world = play.world(store).await.unwrap();
    let proxy = Proxy::new(cut);
    let (store, judge) = (world.store().clone(), world.judge().clone());
    let (clock, stamps) = (
        world.clock.clone(),
        Arc::new(Bearing(world.stamps().clone())),
    );
    let parts = move || Parts {
        store: store.clone(),
        judge: judge.clone(),
        clock: clock.clone(),
        stamps: stamps.clone(),
        rows: None,
        snapshots: None,
    };
    let finding = Finding {
        parts: Box::new(parts),
        clock: world.clock.clone(),
        proxy: proxy.clone(),
        then,
        owned: Mutex::default(),
    };
    let ledger = Ledger::shared(Arc::new(finding)).await.unwrap();
    let mut world = world.with_ledger(ledger).unwrap();
    let told = |what: &str, error: &dyn std::fmt::Debug| -> ! {
        panic!("{}, {then:?}, {cut:?}: {what}: {error:?}", play.name)
    };
    let run = match play.start(&mut world).await {
        Ok(run) => run,
        Err(error) => told("it does not start", &error),
    };
    let end = match play.on(&mut world, run).await {
        Ok(end) => end,
        Err(error) => told("it does not come to its end", &error),
    };
    let log = cut::log(&**world.store()).await.unwrap();
    let events = log.iter().map(|record| record.event().name()).collect();
    let ran = world.tools.ran();
    (Came { end, ran, events }, proxy.counted())
}

/// Cuts a play at every message: before it comes to the owner, before its answer comes to the
/// client, and, where the owner goes on, while it is done.
fn cut_everywhere(name: &str, then: Then, again: Option<usize>) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let plays = plays();
    let found = plays.iter().find(|play| play.name == name).unwrap();
    let play = |cut| {
        let run = played(found, then, cut);
        within(Reach::HereAsUser, || runtime.block_on(run))
    };
    let (whole, (to_owner, to_client)) = play(None);
    assert!(to_owner > 20 && to_client > 20, "{to_owner} {to_client}");
    let mut cuts = vec![
        (Way::ToOwner, to_owner, false),
        (Way::ToClient, to_client, false),
    ];
    if (then, again) == (Then::Same, None) {
        cuts.push((Way::ToOwner, to_owner, true));
    }
    for (way, messages, after) in cuts {
        for number in 1..=messages {
            let cut = Cut {
                way,
                number,
                again,
                after,
            };
            let (came, _) = play(Some(cut));
            assert_eq!(came, whole, "{then:?}, {cut:?}");
        }
    }
}

#[test]
fn a_connection_to_an_owner_that_goes_on_may_be_cut_anywhere() {
    cut_everywhere("an amendment that is approved", Then::Same, None);
}

#[test]
fn an_owner_may_end_anywhere_and_its_client_holds_the_ledger_from_then_on() {
    cut_everywhere("an amendment that is approved", Then::Here, None);
}

#[test]
fn an_owner_may_end_anywhere_and_its_client_goes_on_with_the_next_one() {
    cut_everywhere("a question", Then::Another, None);
}

#[test]
fn what_is_brought_to_the_next_door_is_not_lost_where_that_one_shuts_as_well() {
    // Two messages tell who is trusted, one gives up the old connection: then come commands.
    cut_everywhere("a question", Then::Same, Some(4));
}
