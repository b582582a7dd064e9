//! A commit that stops at each of its steps.

use std::io;
use std::time::Duration;

use super::*;
use crate::store::conformance::read_log;
use crate::store::head::Head;

/// Fails at one point of the first commit that gets there, and keeps what lay on disk by then.
struct Stop {
    at: FaultPoint,
    from: PathBuf,
    /// Where what lay on disk is copied to.
    to: PathBuf,
}

impl Faults for Stop {
    fn reach(&self, point: FaultPoint) -> io::Result<()> {
        if point != self.at {
            return Ok(());
        }
        copy_all(&self.from, &self.to);
        Err(io::Error::other("stopped by a test"))
    }

    fn room(&self, free_bytes: u64) -> u64 {
        free_bytes
    }
}

/// Appends never pause for long enough.
struct Busy;

impl Faults for Busy {
    fn reach(&self, _: FaultPoint) -> io::Result<()> {
        Ok(())
    }

    fn room(&self, free_bytes: u64) -> u64 {
        free_bytes
    }

    fn idle(&self) -> Duration {
        Duration::from_hours(1)
    }
}

/// A disk on which nothing is free.
struct Full;

impl Faults for Full {
    fn reach(&self, _: FaultPoint) -> io::Result<()> {
        Ok(())
    }

    fn room(&self, _: u64) -> u64 {
        0
    }
}

#[test]
fn nothing_is_started_without_room_for_its_outcome() {
    let place = Place::new();
    let (store, mut run) = place.create();
    drop(store);
    let store = place.open_with(Full);
    let expected = run.expected();
    let started = run.clone().record(chain::started(), &[]);
    assert_eq!(
        block_on(store.append(run.stream(), expected, started, &[])),
        Err(AppendError::NoRoom { free_bytes: 0 })
    );
    block_on(append_one(&store, &mut run));
}

const POINTS: [FaultPoint; 4] = [
    FaultPoint::BeforeFrame,
    FaultPoint::AfterFrame,
    FaultPoint::AfterSync,
    FaultPoint::BeforeAnswer,
];

/// Opens what a stopped commit left: what was acknowledged is there, the rest whole or not at all.
fn check_left(place: &Place, at: FaultPoint, acknowledged: &[Stored], batch: &Batch, run: &Chain) {
    let store = place.open();
    let log = block_on(check_log(&store));
    assert_eq!(log[..acknowledged.len()], *acknowledged, "{at:?}");
    let more = log.len() - acknowledged.len();
    assert!(
        [0, batch.records.len()].contains(&more),
        "{at:?} left {more}"
    );
    if at == FaultPoint::BeforeFrame {
        assert_eq!(more, 0);
    }
    if at >= FaultPoint::AfterSync {
        assert_eq!(more, batch.records.len(), "{at:?}");
    }
    let again = store.append(run.stream(), run.expected(), batch.clone(), &[]);
    assert_eq!(block_on(again).unwrap().replayed, more > 0, "{at:?}");
    let mut next = run.clone();
    for record in &batch.records {
        next = next.after(record);
    }
    block_on(append_one(&store, &mut next));
    block_on(check_log(&store));
}

#[test]
fn a_commit_that_stops_anywhere_leaves_all_or_nothing() {
    let large = vec![b'x'; 3_000_000];
    for (at, text) in POINTS
        .iter()
        .flat_map(|at| [(*at, &large[..9]), (*at, &large)])
    {
        let place = Place::new();
        let (store, mut run) = place.create();
        block_on(append(&store, &mut run, &[], |chain| chain.records(5))).unwrap();
        drop(store);
        let killed = Place::new();
        let store = place.open_with(Stop {
            at,
            from: place.0.path().to_owned(),
            to: killed.0.path().to_owned(),
        });
        let acknowledged = block_on(read_log(&store, 256));
        let tail = block_on(store.tail()).unwrap();
        let mut batch = run.clone().records(2);
        let mut next = run.clone();
        next.records(2);
        chain::extend(&mut batch, next.record(chain::started(), &[("text", text)]));

        let answer = block_on(store.append(run.stream(), run.expected(), batch.clone(), &[]));
        assert!(
            matches!(answer, Err(AppendError::Unknown(_))),
            "{at:?}: {answer:?}"
        );
        let later = block_on(store.append(run.stream(), run.expected(), batch.clone(), &[]));
        assert!(
            matches!(later, Err(AppendError::Poisoned(_))),
            "{at:?}: {later:?}"
        );
        assert_eq!(block_on(read_log(&store, 256)), acknowledged, "{at:?}");
        assert_eq!(block_on(store.tail()).unwrap(), tail);
        drop(store);
        check_left(&killed, at, &acknowledged, &batch, &run);
        check_left(&place, at, &acknowledged, &batch, &run);
    }
}

#[test]
fn what_waits_behind_a_fault_is_refused() {
    let place = Place::new();
    let (store, run) = place.create();
    drop(store);
    let killed = Place::new();
    let store = place.open_with(Stop {
        at: FaultPoint::AfterFrame,
        from: place.0.path().to_owned(),
        to: killed.0.path().to_owned(),
    });
    let mut chain = run;
    let mut appends = Vec::new();
    for _ in 0..8 {
        let expected = chain.expected();
        let batch = chain.records(1);
        appends.push(store.append(chain.stream(), expected, batch, &[]));
    }
    let polled: Vec<_> = appends.iter_mut().map(poll_once).collect();
    // The later ones may have been refused at once.
    let wait = |(append, polled)| match polled {
        Poll::Ready(answer) => answer,
        Poll::Pending => block_on::<Result<Appended, AppendError>>(append),
    };
    let answers: Vec<_> = appends.into_iter().zip(polled).map(wait).collect();
    assert!(matches!(answers[0], Err(AppendError::Unknown(_))));
    for answer in answers {
        assert!(
            matches!(
                answer,
                Err(AppendError::Unknown(_) | AppendError::Poisoned(_))
            ),
            "{answer:?}"
        );
    }
}

#[test]
fn a_head_is_written_before_the_answer_where_something_rests_on_it() {
    let place = Place::new();
    let (store, mut run) = place.create();
    drop(store);
    let store = place.open_with(Busy);
    let size = || Head::read(&place.head()).unwrap().size();
    block_on(append_one(&store, &mut run));
    assert_eq!(size(), 1);
    // What starts, and what takes away.
    for (event, after) in [(chain::started(), 3), (chain::tightened(), 5)] {
        block_on(append(&store, &mut run, &[], |chain| {
            chain.record(event, &[])
        }))
        .unwrap();
        assert_eq!(size(), after);
        block_on(append_one(&store, &mut run));
        assert_eq!(size(), after);
    }
    store.close();
    assert_eq!(size(), 6);
    let later = block_on(append(&store, &mut run, &[], |chain| chain.records(1)));
    assert!(matches!(later, Err(AppendError::Poisoned(_))), "{later:?}");
    assert_eq!(block_on(check_log(&store)).len(), 6);
}
