//! The head file while a store is open: it follows what was acknowledged, and no answer waits.

use std::io;

use super::*;
use crate::store::head::Head;

fn head(place: &Place) -> u64 {
    Head::read(&place.head()).unwrap().size()
}

#[test]
fn what_was_acknowledged_cannot_be_cut_off_the_log_of_a_store_that_was_not_closed() {
    let place = Place::new();
    let (store, mut run) = place.create();
    block_on(append_one(&store, &mut run));
    let earlier = place.copy();
    block_on(append(&store, &mut run, &[], |chain| chain.records(3))).unwrap();
    assert_eq!(store.anchored(5), 5);
    assert_eq!(head(&place), 5);
    // As it lies there when the process is killed, and with the log of before.
    let killed = place.copy();
    let (home, heads) = (killed.home(), killed.head());
    fs::remove_dir_all(home.join("log")).unwrap();
    copy_all(&earlier.home().join("log"), &home.join("log"));
    let refused = SledStore::open(&home, &heads).unwrap_err();
    assert_eq!(
        format!("{refused:?}"),
        "Behind { store_size: 2, head_size: 5 }"
    );
    // Nor does it go back where it is written again and again.
    for size in 6..9 {
        block_on(append_one(&store, &mut run));
        assert_eq!(store.anchored(size), size);
    }
    drop(store);
    assert_eq!(block_on(check_log(&place.open())).len(), 8);
}

/// What becomes of a head that is written behind the answers.
struct Behind<F>(F);

impl<F: Fn() -> io::Result<()> + Send + Sync> Faults for Behind<F> {
    fn reach(&self, point: FaultPoint) -> io::Result<()> {
        if point == FaultPoint::HeadBehind {
            return (self.0)();
        }
        Ok(())
    }

    fn room(&self, free_bytes: u64) -> u64 {
        free_bytes
    }
}

#[test]
fn no_answer_waits_while_the_head_is_written_behind_it() {
    let place = Place::new();
    let (store, mut run) = place.create();
    drop(store);
    let (reached, waiting) = channel();
    let (release, go) = channel::<()>();
    let (reached, go) = (Mutex::new(reached), Mutex::new(go));
    let store = place.open_with(Behind(move || {
        reached.lock().unwrap().send(()).unwrap();
        // Until the test lets it go.
        let _released = go.lock().unwrap().recv();
        Ok(())
    }));
    block_on(append_one(&store, &mut run));
    waiting.recv().unwrap();
    for _ in 0..5 {
        block_on(append_one(&store, &mut run));
    }
    assert_eq!(head(&place), 1);
    drop(release);
    assert_eq!(store.anchored(7), 7);
}

#[test]
fn a_head_that_cannot_be_written_closes_the_store_though_nobody_waits() {
    let place = Place::new();
    let (store, mut run) = place.create();
    drop(store);
    let store = place.open_with(Behind(|| Err(io::Error::other("the disk is gone"))));
    let mut acknowledged = 1;
    let reason = loop {
        let expected = run.expected();
        let batch = run.records(1);
        match block_on(store.append(run.stream(), expected, batch, &[])) {
            Ok(_) => acknowledged += 1,
            Err(AppendError::Poisoned(reason)) => break reason,
            Err(error) => panic!("{error:?}"),
        }
    };
    assert_eq!(reason, "writing the head was stopped: the disk is gone");
    assert!(acknowledged > 1);
    drop(store);
    // What was acknowledged by then is there.
    let log = block_on(check_log(&place.open()));
    assert_eq!(log.len(), acknowledged);
}
