//! The embedded store beyond the contract: groups, sizes, faults, and what lies on disk.

mod anchored;
mod copies;
mod damage;
mod faults;
mod kept;
mod logged;
mod opening;
mod sealed;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Waker};

use tempfile::TempDir;

use super::rows::{Rows, RowsError};
use super::*;
use crate::event::{Event, RunParked};
use crate::id::CallId;
use crate::limits::{CONTENT_BYTES_MAX, RECORD_BYTES_MAX};
use crate::store::conformance::chain::{self, Chain};
use crate::store::conformance::{append, append_one, block_on, check_log};

/// A home and a folder for its head file.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn head(&self) -> PathBuf {
        self.0.path().join("head")
    }

    /// A new ledger with one record, and a run without any.
    fn create(&self) -> (SledStore, Chain) {
        let ledger = LedgerId::new(uuid::Uuid::from_u64_pair(5, 5));
        let store = SledStore::create(&self.home(), ledger, &self.head()).unwrap();
        let mut authority = Chain::authority(ledger);
        let begun = append(&store, &mut authority, &[], |chain| {
            chain.record(chain::created(), &[])
        });
        block_on(begun).unwrap();
        let run = Chain::run(ledger, &authority.digest(), 1);
        (store, run)
    }

    /// The rows of a store that is closed. A process that another test starts just now has the
    /// descriptors of this one until it is another program, locks among them.
    fn rows(&self) -> Rows {
        loop {
            match Rows::open(&folder::sled(&self.home())) {
                Err(RowsError::Locked) => thread::yield_now(),
                opened => return opened.unwrap(),
            }
        }
    }

    fn open(&self) -> SledStore {
        SledStore::open(&self.home(), &self.head()).unwrap()
    }

    fn open_with(&self, faults: impl Faults + 'static) -> SledStore {
        SledStore::open_with(&self.home(), &self.head(), Arc::new(faults)).unwrap()
    }

    /// All of it as it lies there now.
    fn copy(&self) -> Self {
        let copy = Self::new();
        copy_all(self.0.path(), copy.0.path());
        copy
    }
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for (path, target) in fs::read_dir(from).unwrap().map(|entry| {
        let entry = entry.unwrap();
        (entry.path(), to.join(entry.file_name()))
    }) {
        if path.is_dir() {
            copy_all(&path, &target);
        } else {
            fs::copy(path, target).unwrap();
        }
    }
}

/// Every file below a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            let bytes = fs::read(&path).unwrap();
            all.insert(path, bytes);
        }
    }
    all
}

/// Holds each group until it is let go, and counts them.
struct Gate {
    reached: Mutex<Sender<()>>,
    go: Mutex<Receiver<()>>,
}

impl Gate {
    fn new() -> (Self, Receiver<()>, Sender<()>) {
        let (reached, waiting) = channel();
        let (release, go) = channel();
        let (reached, go) = (Mutex::new(reached), Mutex::new(go));
        (Self { reached, go }, waiting, release)
    }
}

impl Faults for Gate {
    fn reach(&self, point: FaultPoint) -> io::Result<()> {
        if point == FaultPoint::BeforeFrame {
            self.reached.lock().unwrap().send(()).unwrap();
            self.go.lock().unwrap().recv().unwrap();
        }
        Ok(())
    }

    fn room(&self, free_bytes: u64) -> u64 {
        free_bytes
    }
}

fn poll_once<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Poll<T> {
    let mut context = Context::from_waker(Waker::noop());
    std::pin::Pin::new(future).poll(&mut context)
}

#[test]
fn what_waits_is_committed_in_one_group() {
    let place = Place::new();
    let (store, run) = place.create();
    drop(store);
    let (gate, reached, go) = Gate::new();
    let store = place.open_with(gate);
    let ledger = run.ledger();
    let genesis = |number| {
        let mut authority = Chain::authority(ledger);
        authority.record(chain::created(), &[]);
        Chain::run(ledger, &authority.digest(), number)
    };
    let mut chains: Vec<_> = (1..=20).map(genesis).collect();
    let mut appends: Vec<_> = chains
        .iter_mut()
        .map(|chain| {
            let expected = chain.expected();
            let batch = chain.records(2);
            store.append(chain.stream(), expected, batch, &[])
        })
        .collect();
    assert!(poll_once(&mut appends[0]).is_pending());
    reached.recv().unwrap();
    for append in &mut appends[1..] {
        assert!(poll_once(append).is_pending());
    }
    go.send(()).unwrap();
    go.send(()).unwrap();
    for (append, number) in appends.into_iter().zip(0..) {
        assert_eq!(
            block_on(append).unwrap().first,
            Position::new(1 + 2 * number)
        );
    }
    reached.recv().unwrap();
    assert!(reached.try_recv().is_err(), "there was a third group");
    assert_eq!(block_on(check_log(&store)).len(), 41);
    drop(go);
}

#[test]
fn a_retry_in_the_same_group_is_a_replay_and_a_rival_a_conflict() {
    let place = Place::new();
    let (store, run) = place.create();
    drop(store);
    let (gate, reached, go) = Gate::new();
    let store = place.open_with(gate);
    let batch = run.clone().records(2);
    let rival = run.tagged(3).records(1);
    let mut blocker = Chain::authority(run.ledger());
    blocker.record(chain::created(), &[]);
    let expected = blocker.expected();
    let block = blocker.record(chain::adopted(), &[]);
    let mut first = store.append(blocker.stream(), expected, block, &[]);
    assert!(poll_once(&mut first).is_pending());
    reached.recv().unwrap();
    let append = |batch: &Batch| store.append(run.stream(), run.expected(), batch.clone(), &[]);
    let mut appends = [append(&batch), append(&batch), append(&rival)];
    for append in &mut appends {
        assert!(poll_once(append).is_pending());
    }
    go.send(()).unwrap();
    go.send(()).unwrap();
    let [original, retry, rival] = appends.map(block_on);
    let original = original.unwrap();
    assert!(!original.replayed);
    let replayed = true;
    assert_eq!(
        retry,
        Ok(Appended {
            replayed,
            ..original
        })
    );
    let actual = Some(Version::new(1));
    assert_eq!(rival, Err(AppendError::Conflict { actual }));
    block_on(first).unwrap();
    assert_eq!(block_on(check_log(&store)).len(), 4);
}

#[test]
fn a_queue_that_is_full_is_busy() {
    let place = Place::new();
    let (store, run) = place.create();
    drop(store);
    let (gate, reached, go) = Gate::new();
    let store = place.open_with(gate);
    let text = vec![b'x'; CONTENT_BYTES_MAX];
    let mut chain = run.clone();
    let mut appends = Vec::new();
    for _ in 0..4 {
        let expected = chain.expected();
        let batch = chain.record(chain::parked(), &[("text", &text)]);
        appends.push(store.append(chain.stream(), expected, batch, &[]));
    }
    let answers: Vec<_> = appends.iter_mut().map(poll_once).collect();
    assert!(answers[..3].iter().all(Poll::is_pending));
    assert_eq!(answers[3], Poll::Ready(Err(AppendError::Busy)));
    appends.pop();
    reached.recv().unwrap();
    (0..3).for_each(|_| go.send(()).unwrap());
    for append in appends {
        block_on(append).unwrap();
    }
    drop(go);
}

/// A record of the largest size there is.
fn largest(chain: &mut Chain) -> Batch {
    let call = |digits: u32| CallId::FIRST.plus(10_u32.pow(digits - 1) - 1).unwrap();
    let parked = |pending: Vec<CallId>| Event::RunParked(RunParked { pending });
    let with = |count: usize, first: u32, second: u32| {
        let mut pending = vec![call(9); count];
        pending.extend([call(first), call(second)]);
        parked(pending)
    };
    let length = |event: &Event| {
        let batch = chain.clone().record(event.clone(), &[]);
        batch.records[0].bytes().len()
    };
    let empty = length(&with(0, 1, 1));
    let left = RECORD_BYTES_MAX - empty;
    let (count, more) = (left / 13, u32::try_from(left % 13).unwrap());
    let event = with(count, 1 + more.min(8), 1 + more.saturating_sub(8));
    assert_eq!(length(&event), RECORD_BYTES_MAX);
    chain.record(event, &[])
}

#[test]
fn the_largest_records_and_contents_come_back() {
    let place = Place::new();
    let (store, mut run) = place.create();
    let text: Vec<u8> = (0..CONTENT_BYTES_MAX)
        .map(|at| at.to_le_bytes()[0] ^ at.to_le_bytes()[1])
        .collect();
    block_on(append(&store, &mut run, &[], |chain| {
        let mut batch = largest(chain);
        chain::extend(&mut batch, chain.records(3));
        chain::extend(
            &mut batch,
            chain.record(chain::parked(), &[("text", &text)]),
        );
        chain::extend(&mut batch, largest(chain));
        batch
    }))
    .unwrap();
    let before = block_on(check_log(&store));
    drop(store);
    let store = place.open();
    assert_eq!(block_on(check_log(&store)), before);
    assert_no_blobs(&place);
}

fn assert_no_blobs(place: &Place) {
    let blobs = fs::read_dir(place.home().join("sled/blobs")).unwrap();
    assert_eq!(
        blobs.count(),
        0,
        "sled moved a page to a file that it never syncs"
    );
}

#[test]
fn rows_of_nearly_the_largest_size_never_leave_the_file() {
    let place = Place::new();
    let (store, mut run) = place.create();
    let text = vec![b'x'; 6_700];
    for _ in 0..2_000 {
        block_on(append(&store, &mut run, &[], |chain| {
            chain.record(chain::parked_with(6_300), &[("text", &text)])
        }))
        .unwrap();
    }
    assert_no_blobs(&place);
    drop(store);
    let store = place.open();
    assert_no_blobs(&place);
    assert_eq!(block_on(store.tail()).unwrap().size, 2_001);
}

#[test]
fn sled_writes_each_unit_about_once() {
    const RECORDS: u64 = 3_000;
    let place = Place::new();
    let (store, mut run) = place.create();
    let text = vec![b'x'; 1_000];
    for _ in 0..RECORDS {
        block_on(append(&store, &mut run, &[], |chain| {
            chain.record(chain::parked_with(300), &[("text", &text)])
        }))
        .unwrap();
    }
    store.settle();
    drop(store);
    let tail = block_on(place.open().tail()).unwrap();
    let rows = place.rows();
    let units = blocks::between(&rows, 0, tail.size).unwrap();
    let bytes: usize = units.iter().map(|unit| unit.bytes.len()).sum();
    drop(rows);
    let written = fs::metadata(folder::sled_file(&place.home())).unwrap();
    // Three times as much, were leaves split that are full.
    let percent = written.len() * 100 / bytes as u64;
    assert!(percent < 160, "{percent} %");
}

#[test]
fn each_stream_has_a_key_of_its_own_beyond_those_drawn_at_once() {
    const STREAMS: u64 = 1_100;
    let place = Place::new();
    let (mut store, run) = place.create();
    let ledger = run.ledger();
    let mut authority = Chain::authority(ledger);
    authority.record(chain::created(), &[]);
    for number in 0..STREAMS {
        let mut chain = Chain::run(ledger, &authority.digest(), number);
        block_on(append_one(&store, &mut chain));
        if number % 500 == 499 {
            drop(store);
            store = place.open();
        }
    }
    // A first append that fails keeps its ordinal from everybody else.
    let mut failed = Chain::run(ledger, &authority.digest(), STREAMS);
    let mut lost = failed.with_prev(crate::digest::Digest::from_bytes([1; 32]));
    let answer = append(&store, &mut lost, &[], |chain| chain.records(1));
    assert_eq!(block_on(answer), Err(AppendError::Mismatch));
    let mut other = Chain::run(ledger, &authority.digest(), STREAMS + 1);
    block_on(append_one(&store, &mut other));
    block_on(append_one(&store, &mut failed));
    assert_eq!(block_on(check_log(&store)).len() as u64, 1 + STREAMS + 2);
    drop(store);
    assert_eq!(
        block_on(check_log(&place.open())).len() as u64,
        1 + STREAMS + 2
    );
}

#[test]
fn files_are_for_their_owner_alone_and_tell_no_content() {
    let place = Place::new();
    let (store, mut run) = place.create();
    let secret = b"the secret of this run is kept under its key";
    block_on(append(&store, &mut run, &[], |chain| {
        chain.record(chain::parked(), &[("text", secret)])
    }))
    .unwrap();
    fs::set_permissions(place.home().join("keys"), PermissionsExt::from_mode(0o644)).unwrap();
    drop(store);
    let store = place.open();
    block_on(check_log(&store));
    store.close();
    for (path, bytes) in files(place.0.path()) {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        let folder = fs::metadata(path.parent().unwrap()).unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
        let found = bytes.windows(12).any(|part| part == &secret[..12]);
        assert!(!found, "{} holds a content in clear", path.display());
    }
}
