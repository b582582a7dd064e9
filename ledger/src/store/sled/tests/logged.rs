//! The log in front: what is in it alone, what is in it no more, and what lies beside it.

use std::io;
use std::time::Duration;

use super::*;
use crate::store::conformance::read_log;

/// Bytes of a content that lies in its entry: some seventeen of them fill a half.
const INLINE: usize = 60_000;

fn half(place: &Place, half: log::Half) -> PathBuf {
    folder::log(&place.home()).join(half.to_string())
}

/// Both halves as they are after they were emptied.
fn empty_log(place: &Place) {
    for path in [half(place, 0), half(place, 1)] {
        let length = fs::metadata(&path).unwrap().len();
        fs::write(&path, vec![0; usize::try_from(length).unwrap()]).unwrap();
    }
}

/// The newest epoch of each half that holds frames.
fn epochs(place: &Place) -> Vec<u64> {
    let of = |half| {
        let file = log::open(&folder::log(&place.home()), half, false).unwrap();
        let read = log::read(&file, 0).unwrap();
        read.frames.last().map(|frame| frame.epoch)
    };
    let mut epochs: Vec<_> = [0, 1].into_iter().filter_map(of).collect();
    epochs.sort_unstable();
    epochs
}

fn append_text(store: &SledStore, run: &mut Chain, length: usize, number: u8) {
    let text = vec![number; length];
    block_on(append(store, run, &[], |chain| {
        chain.record(chain::parked(), &[("text", &text)])
    }))
    .unwrap();
}

#[test]
fn halves_are_filled_by_turns_and_a_kill_at_any_time_loses_nothing() {
    let place = Place::new();
    let (store, mut run) = place.create();
    let mut newest = 0;
    for number in 0..80 {
        append_text(&store, &mut run, INLINE, number);
        if number % 8 != 7 {
            continue;
        }
        let acknowledged = block_on(read_log(&store, 256));
        let killed = place.copy();
        let found = epochs(&killed);
        assert!(found.last() >= Some(&newest), "{found:?} after {newest}");
        newest = found.last().copied().unwrap_or(newest);
        let after = killed.open();
        assert_eq!(block_on(check_log(&after)), acknowledged, "after {number}");
        block_on(append_one(&after, &mut run.clone()));
        drop(after);
        assert!(epochs(&killed).last() > Some(&newest));
    }
    assert!(
        newest > 3,
        "the halves were filled only up to epoch {newest}"
    );
    assert_no_blobs(&place);
}

#[test]
fn what_was_found_in_the_log_is_in_sled_before_anything_rests_on_it() {
    let place = Place::new();
    let (store, mut run) = place.create();
    for number in 0..3 {
        append_text(&store, &mut run, 300, number);
    }
    let acknowledged = block_on(read_log(&store, 256));
    let killed = place.copy();
    let lost = killed.copy();
    empty_log(&lost);
    // Without the log they are not there: sled had none of them.
    let (gone, _) = SledStore::open_read_only(&lost.home(), &lost.head()).unwrap();
    assert_eq!(block_on(gone.tail()).unwrap().size, 0);
    drop(killed.open());
    empty_log(&killed);
    let again = killed.open();
    assert_eq!(block_on(check_log(&again)), acknowledged);
}

#[test]
fn a_read_sees_the_same_before_and_after_it_was_moved() {
    let place = Place::new();
    let (store, mut run) = place.create();
    for number in 0..40 {
        append_text(&store, &mut run, 500, number);
    }
    let before = block_on(check_log(&store));
    store.settle();
    assert_eq!(block_on(check_log(&store)), before);
    append_text(&store, &mut run, 500, 40);
    let later = block_on(check_log(&store));
    assert_eq!((&later[..41], later.len()), (&before[..], 42));
    let page = block_on(store.read_run(run.stream(), Version::new(38), 2)).unwrap();
    assert_eq!(page[..], before[39..41]);
}

#[test]
fn a_bit_that_flips_in_a_frame_is_named_or_ends_the_log_before_the_last_one() {
    let place = Place::new();
    let (store, mut run) = place.create();
    for number in 0..3 {
        append_text(&store, &mut run, 100, number);
    }
    let log_before = block_on(read_log(&store, 256));
    let killed = place.copy();
    let bytes = fs::read(half(&killed, 0)).unwrap();
    let file = log::open(&folder::log(&killed.home()), 0, false).unwrap();
    let frames = log::read(&file, 0).unwrap().frames;
    let mut lengths = frames
        .iter()
        .map(|frame| usize::try_from(frame.length).unwrap());
    let end = lengths.clone().sum::<usize>();
    let last = end - lengths.next_back().unwrap();
    for at in (0..end).step_by(end / 40) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x04;
        fs::write(half(&killed, 0), flipped).unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let opened = SledStore::open_copy(&killed.home(), &killed.head(), scratch.path());
        let (store, finding) = opened.unwrap();
        if at < last {
            let found = finding.unwrap().to_string();
            assert_eq!(
                found, "the store is damaged: its log is broken",
                "byte {at}"
            );
        } else {
            assert!(finding.is_none(), "byte {at}: {finding:?}");
            let left = block_on(read_log(&store, 256));
            assert_eq!(left[..], log_before[..left.len()], "byte {at}");
            assert_eq!(left.len() + 1, log_before.len(), "byte {at}");
        }
    }
}

/// A disk that does not come back until it is let go.
struct Stuck {
    reached: Mutex<Sender<()>>,
    go: Mutex<Receiver<()>>,
}

impl Faults for Stuck {
    fn reach(&self, point: FaultPoint) -> io::Result<()> {
        if point == FaultPoint::AfterFrame {
            self.reached.lock().unwrap().send(()).unwrap();
            // An error means that the test let go of it.
            let _ignored = self.go.lock().unwrap().recv();
        }
        Ok(())
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(3)
    }

    fn room(&self, free_bytes: u64) -> u64 {
        free_bytes
    }
}

#[test]
fn a_sync_that_does_not_come_back_closes_the_store_and_tells_whoever_waits() {
    let place = Place::new();
    let (store, run) = place.create();
    drop(store);
    let (reached, waiting) = channel();
    let (release, go) = channel();
    let (reached, go) = (Mutex::new(reached), Mutex::new(go));
    let store = place.open_with(Stuck { reached, go });
    let batch = run.clone().records(1);
    let append = || store.append(run.stream(), run.expected(), batch.clone(), &[]);
    // The committer is still stuck when this is answered.
    let answer = block_on(append());
    assert!(matches!(answer, Err(AppendError::Unknown(_))), "{answer:?}");
    waiting.recv().unwrap();
    let later = block_on(append());
    assert!(matches!(later, Err(AppendError::Poisoned(_))), "{later:?}");
    drop(release);
    drop(store);
    let again = place.open();
    let answer = block_on(again.append(run.stream(), run.expected(), batch.clone(), &[]));
    assert!(answer.unwrap().replayed, "the frame was written");
}

#[test]
fn large_contents_lie_in_files_and_what_no_record_names_is_dropped() {
    let place = Place::new();
    let (store, mut run) = place.create();
    append_text(&store, &mut run, 200_000, 7);
    append_text(&store, &mut run, 200, 8);
    let content = folder::content(&place.home());
    let names = || fs::read_dir(&content).unwrap().count();
    assert_eq!(names(), 1);
    let mut refused = run.with_prev(crate::digest::Digest::from_bytes([1; 32]));
    let text = vec![9; 200_000];
    let answer = append(&store, &mut refused, &[], |chain| {
        chain.record(chain::parked(), &[("text", &text)])
    });
    assert_eq!(block_on(answer), Err(AppendError::Mismatch));
    assert_eq!(names(), 2);
    let before = block_on(check_log(&store));
    drop(store);
    fs::write(content.join("half.new"), b"half").unwrap();
    let store = place.open();
    assert_eq!(names(), 1);
    assert_eq!(block_on(check_log(&store)), before);
    assert_no_blobs(&place);
}

#[test]
fn a_log_without_one_of_its_files_is_damage() {
    for half in 0..2 {
        let place = Place::new();
        drop(place.create());
        fs::remove_file(self::half(&place, half)).unwrap();
        let error = SledStore::open_read_only(&place.home(), &place.head()).unwrap_err();
        let log = place.home().join("log").join(half.to_string());
        let wanted = format!("the store is damaged: its log {} is missing", log.display());
        assert_eq!(error.to_string(), wanted);
    }
}
