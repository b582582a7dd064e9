//! Sealing that stops at each of its steps.

use super::*;

const POINTS: [FaultPoint; 4] = [
    FaultPoint::TileWritten,
    FaultPoint::TilesPlaced,
    FaultPoint::TilesSynced,
    FaultPoint::RowsRemoved,
];

/// All that was acknowledged is there, can be sealed, and the store goes on.
fn assert_nothing_lost(case: &str, place: &Place, acknowledged: &[Stored], run: &Chain) {
    let store = place.small();
    let left = names(&folder::tile(&place.home()).join("new"));
    assert!(left.len() <= 2, "{case}: {left:?}");
    assert_eq!(block_on(check_log(&store)), acknowledged, "{case}");
    block_on(append_one(&store, &mut run.clone()));
    store.settle();
    assert_eq!(store.shared.tiles.sealed(), 5 * TILE, "{case}");
    let log = block_on(check_log(&store));
    assert_eq!(log[..acknowledged.len()], *acknowledged, "{case}");
    drop(store);
    assert!(names(&folder::tile(&place.home()).join("new")).is_empty());
    assert_eq!(block_on(check_log(&place.open())), log, "{case}");
}

#[test]
fn sealing_that_stops_anywhere_loses_nothing() {
    for point in POINTS {
        let (place, run, _) = two_runs(5 * RECORDS + 2);
        let acknowledged = block_on(read_log(&place.open(), 256));
        let killed = Place::new();
        let (from, to) = (place.0.path().to_owned(), killed.0.path().to_owned());
        let stop = Some((point, from, to));
        let store = place.open_with(Small {
            sealing: SMALL,
            stop,
        });
        store.settle();
        let mut next = run.clone();
        let answer = block_on(append(&store, &mut next, &[], |chain| chain.records(1)));
        assert!(
            matches!(answer, Err(AppendError::Poisoned(_))),
            "{point:?}: {answer:?}"
        );
        // Who reads on reads the same.
        assert_eq!(block_on(check_log(&store)), acknowledged, "{point:?}");
        drop(store);
        let unsynced = killed.copy();
        assert_nothing_lost(&format!("{point:?}, killed"), &killed, &acknowledged, &run);
        assert_nothing_lost(&format!("{point:?}, failed"), &place, &acknowledged, &run);
        // Names that were not synced may be gone after a power cut, or lead to nothing whole.
        if point <= FaultPoint::TilesPlaced {
            let torn = unsynced.copy();
            for path in files(&folder::tile(&torn.home())).into_keys() {
                fs::write(path, b"torn").unwrap();
            }
            assert_nothing_lost("torn", &torn, &acknowledged, &run);
            for path in files(&folder::tile(&unsynced.home())).into_keys() {
                fs::remove_file(path).unwrap();
            }
            assert_nothing_lost("gone", &unsynced, &acknowledged, &run);
        }
    }
}
