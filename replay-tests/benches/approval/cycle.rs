//! The cycles themselves, over an engine with a scripted model and counted tools.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use placet_engine::engine::{NewRun, Stopped};
use placet_ledger::answers::AnswerSet;
use placet_ledger::approval::{Answer, CallAnswer};
use placet_ledger::content::Blob;
use placet_ledger::event::{Outcome, SegmentReason};
use placet_ledger::id::{Position, RunId};
use placet_ledger::limits::PAGE_RECORDS_MAX;
use placet_ledger::owner::Work;
use placet_ledger::store::sled::SledStore;
use placet_ledger::store::{EventStore, ReadStore, Stored};
use placet_replay::faulty_store::FaultyStore;
use placet_replay::script::{self, Script};
use placet_replay::world::{Drove, Options, World, ledger_id, person};
use serde_json::json;

use crate::measure::{bytes_below, cpu_time};

/// What the scripts of the peers propose, as one text.
const MEMO: &str = "the policy requires a second reviewer for amounts above the limit ";

fn script(calls: usize) -> Script {
    let script = (0..calls).fold(Script::new(), |script, number| {
        let arguments = json!({"key": format!("k{number:04}"), "value": MEMO.repeat(8)});
        script.calls([script::call("set", &arguments)])
    });
    script.says("Done.")
}

fn store(folder: &Path) -> Arc<dyn EventStore> {
    let (home, head) = (folder.join("home"), folder.join("head"));
    Arc::new(SledStore::create(&home, ledger_id(), &head).unwrap())
}

/// The events of each append of a run with three approvals, and how many of these appends come
/// before the second approval and up to the third.
pub(crate) async fn appends(folder: &Path) -> (Vec<Vec<&'static str>>, [usize; 2]) {
    let store = FaultyStore::new(store(folder));
    let mut world = World::over(store.clone()).await.unwrap();
    let sizes: Arc<Mutex<Vec<u64>>> = Arc::default();
    let taken = Arc::clone(&sizes);
    store.watch(move |size| taken.lock().unwrap().push(size));
    let (run, mut drove) = world.run(script(3), Options::default()).await.unwrap();
    let mut before = Vec::new();
    while drove == Drove::Waits {
        before.push(sizes.lock().unwrap().len());
        world.approve(run).await.unwrap();
        drove = world.drive(run).await.unwrap();
    }
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let mut named = Vec::new();
    let mut ends = sizes.lock().unwrap().clone();
    ends.push(store.tail().await.unwrap().size);
    for pair in ends.windows(2) {
        let count = usize::try_from(pair[1] - pair[0]).unwrap();
        let page = store.read_all(Position::new(pair[0]), count).await.unwrap();
        let name = |stored: Stored| stored.parse().unwrap().envelope.event().name();
        named.push(page.into_iter().map(name).collect());
    }
    (named, [before[1], before[2]])
}

/// Which cycles are gone through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cycles {
    /// How many in all.
    pub(crate) count: usize,
    /// Runs at once.
    pub(crate) at_once: usize,
    /// Approvals of one run: with one of them a cycle is all of its run, from its start to its
    /// end; with more it is an approval, from the answer until the next call waits.
    pub(crate) approvals: usize,
}

/// What they took.
pub(crate) struct Taken {
    /// Each of them.
    pub(crate) waits: Vec<Duration>,
    /// All of them together, by the clock.
    pub(crate) wall: Duration,
    /// The same, of all threads.
    pub(crate) cpu: Duration,
}

/// Goes through them.
pub(crate) async fn cycles(folder: &Path, asked: Cycles) -> Taken {
    let mut world = World::over(store(folder)).await.unwrap();
    let mut lanes: Vec<Vec<NewRun>> = (0..asked.at_once).map(|_| Vec::new()).collect();
    for number in 0..asked.count.div_ceil(asked.approvals) {
        let script = script(asked.approvals);
        let new = world.prepare(script, Options::default()).unwrap();
        lanes[number % asked.at_once].push(new);
    }
    let world = Arc::new(world);
    let (begun, cpu) = (Instant::now(), cpu_time());
    let lanes: Vec<_> = lanes
        .into_iter()
        .map(|runs| {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                let mut waits = Vec::new();
                for new in runs {
                    one(&world, new, asked.approvals, &mut waits).await;
                }
                waits
            })
        })
        .collect();
    let mut waits = Vec::with_capacity(asked.count);
    for lane in lanes {
        waits.extend(lane.await.unwrap());
    }
    Taken {
        waits,
        wall: begun.elapsed(),
        cpu: cpu_time().saturating_sub(cpu),
    }
}

/// One run from its start to its end, with so many approvals.
async fn one(world: &World, new: NewRun, approvals: usize, waits: &mut Vec<Duration>) {
    let engine = world.engine();
    let mut begun = Instant::now();
    let run = engine.start(&person().unwrap(), new).await.unwrap();
    let mut stopped = engine.drive(run, SegmentReason::Start, None).await.unwrap();
    for _ in 0..approvals {
        assert_eq!(stopped, Stopped::Waits);
        if approvals > 1 {
            begun = Instant::now();
        }
        approve(world, run).await;
        stopped = engine
            .drive(run, SegmentReason::Resumed, None)
            .await
            .unwrap();
        waits.push(begun.elapsed());
    }
    assert_eq!(stopped, Stopped::Ended(Outcome::Completed));
}

async fn approve(world: &World, run: RunId) {
    let pending = world.pending(run).await.unwrap();
    let line = |(&call, &request): (&_, &_)| CallAnswer {
        call,
        request,
        answer: Answer::Approve,
        note: None,
    };
    let lines: Vec<_> = pending.iter().map(line).collect();
    let set = AnswerSet::covering(world.answer_id(), &pending, lines).unwrap();
    world
        .engine()
        .answer(run, &person().unwrap(), set)
        .await
        .unwrap();
}

/// What one run with many approvals came to.
pub(crate) struct History {
    waits: Vec<Duration>,
    work: Vec<(u64, u64)>,
    disk: u64,
    /// What takes it: each part of the home.
    parts: Vec<(String, u64)>,
    /// Bytes of all records, and of all contents as they are sealed.
    given: (u64, u64),
}

/// One run with so many approvals in a row.
pub(crate) async fn history(folder: &Path, approvals: usize) -> History {
    let mut world = World::over(store(folder)).await.unwrap();
    let options = Options::default();
    let (run, mut drove) = world.run(script(approvals), options).await.unwrap();
    let (mut waits, mut work) = (Vec::new(), Vec::new());
    while drove == Drove::Waits {
        let (begun, before) = (Instant::now(), world.ledger().work());
        world.approve(run).await.unwrap();
        drove = world.drive(run).await.unwrap();
        waits.push(begun.elapsed());
        work.push(less(world.ledger().work(), before));
    }
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let given = given(&**world.store()).await;
    drop(world);
    let disk = bytes_below(folder);
    let parts = fs::read_dir(folder.join("home")).unwrap().map(|part| {
        let part = part.unwrap().path();
        let bytes = if part.is_dir() {
            bytes_below(&part)
        } else {
            part.metadata().unwrap().len()
        };
        (part.file_name().unwrap().display().to_string(), bytes)
    });
    let mut parts: Vec<_> = parts.collect();
    parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    History {
        waits,
        work,
        disk,
        parts,
        given,
    }
}

/// Bytes of all records, and of all contents as they are sealed.
async fn given(store: &dyn EventStore) -> (u64, u64) {
    // Salt and length before a content, format, generation, nonce and tag around it.
    let sealed = |blob: &Blob| blob.size + 40 + 27 + 16;
    let mut contents = BTreeMap::new();
    let mut records = 0;
    let size = store.tail().await.unwrap().size;
    let mut next = 0;
    while next < size {
        let page = store.read_all(Position::new(next), PAGE_RECORDS_MAX).await;
        for stored in page.unwrap() {
            next += 1;
            records += stored.bytes.len() as u64;
            let envelope = stored.parse().unwrap().envelope;
            let named = envelope.blobs().values();
            contents.extend(named.map(|blob| ((envelope.stream(), blob.commitment), sealed(blob))));
        }
    }
    (records, contents.into_values().sum())
}

const fn less(after: Work, before: Work) -> (u64, u64) {
    (
        after.records_read - before.records_read,
        after.events_folded - before.events_folded,
    )
}

impl History {
    /// The median of the ten cycles up to one.
    fn around(&self, number: usize) -> Duration {
        let last = &self.waits[number.saturating_sub(10)..number];
        crate::percentile(&mut last.to_vec(), 0.5)
    }

    /// The tenth, and the last that proposes another call.
    fn places(&self) -> [usize; 2] {
        [10, self.waits.len() - 1]
    }

    pub(crate) fn text(&self) -> String {
        let mut lines = vec![
            "| approval of one run | records read | events folded | time |".to_owned(),
            "|---|---|---|---|".to_owned(),
        ];
        lines.extend(self.places().map(|number| {
            let (read, folded) = self.work[number - 1];
            let time = crate::short(self.around(number));
            format!("| {number} | {read} | {folded} | {time} |")
        }));
        let mib = |bytes: u64| bytes as f64 / 1024.0 / 1024.0;
        let (count, (records, contents)) = (self.waits.len(), self.given);
        let (disk, records, contents) = (mib(self.disk), mib(records), mib(contents));
        lines.push(format!(
            "\n{count} approvals: {disk:.1} MiB on disk for {records:.1} MiB of records and \
             {contents:.1} MiB of sealed contents"
        ));
        let parts = self.parts.iter().take(3);
        lines.extend(parts.map(|(part, bytes)| format!("- {part}: {:.1} MiB", mib(*bytes))));
        lines.join("\n")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        let [early, late] = self.places();
        let ms = |number| self.around(number).as_secs_f64() * 1e3;
        json!({
            "peer": "placet", "mode": "history", "k": self.waits.len(), "at_10_ms": ms(early),
            "at_last_ms": ms(late), "bytes": self.disk,
        })
    }
}
