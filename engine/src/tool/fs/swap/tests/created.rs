//! What was created and is gone again before the outcome was written.

use std::fs;

use super::relocate::transfer;
use super::*;
use crate::tool::Reconciled;

/// One way to create something named `new`.
#[derive(Debug, Clone, Copy)]
enum Way {
    Write,
    Folder,
    Copy,
    CopyTree,
}

const WAYS: [Way; 4] = [Way::Write, Way::Folder, Way::Copy, Way::CopyTree];

fn draft(bench: &Bench, way: Way) -> Draft {
    match way {
        Way::Write => bench.write("new", "mine\n"),
        Way::Folder => bench.mkdir("new", false),
        Way::Copy => bench.cp("a", "new", ""),
        Way::CopyTree => bench.cp("old", "new", "r"),
    }
    .unwrap()
}

fn create(bench: &Bench, way: Way, draft: &Draft) {
    match way {
        Way::Write => put(bench, draft),
        Way::Folder => job(bench, draft).make_folder(),
        Way::Copy | Way::CopyTree => transfer(bench, draft).copy(),
    }
    .unwrap();
}

fn reconcile(bench: &Bench, way: Way, draft: &Draft) -> Reconciled {
    match way {
        Way::Write => job(bench, draft).reconcile_put("mine\n"),
        Way::Folder => job(bench, draft).reconcile_folder(),
        Way::Copy | Way::CopyTree => transfer(bench, draft).reconcile_copy(),
    }
    .unwrap()
}

fn lock(bench: &Bench) -> Lock {
    let real = format!("{}/new", bench.files.workspace.path());
    Lock::take(&bench.files.locks, &real).unwrap()
}

fn consume(bench: &Bench) {
    let new = bench.at("new");
    let gone = if new.is_dir() {
        fs::remove_dir_all(new)
    } else {
        fs::remove_file(new)
    };
    gone.unwrap();
}

/// A call of another run.
fn stranger() -> (RunId, CallId) {
    let run = "b3e41f07-8c2d-4e6a-9f51-0a7d3c58e913".parse().unwrap();
    (run, CallId::FIRST)
}

fn both_ways_of_each(test: impl Fn(&Bench, Way, &Draft)) {
    for way in WAYS {
        both_ways(|bench| {
            let bench = bench.has("a", "mine\n").has_folder("old").has("old/b", "x");
            let draft = draft(&bench, way);
            test(&bench, way, &draft);
        });
    }
}

#[test]
fn what_was_created_and_taken_away_is_in_doubt() {
    both_ways_of_each(|bench, way, draft| {
        assert_eq!(reconcile(bench, way, draft), Reconciled::NotDone, "{way:?}");
        create(bench, way, draft);
        consume(bench);
        assert_eq!(reconcile(bench, way, draft), Reconciled::Unknown, "{way:?}");
        assert_eq!(reconcile(bench, way, draft), Reconciled::Unknown, "{way:?}");
    });
}

#[test]
fn what_is_still_there_is_done() {
    both_ways_of_each(|bench, way, draft| {
        create(bench, way, draft);
        let found = reconcile(bench, way, draft);
        assert!(matches!(found, Reconciled::Done(_)), "{way:?}");
    });
}

#[test]
fn what_another_call_created_there_says_nothing_of_this_one() {
    both_ways_of_each(|bench, way, draft| {
        lock(bench).mark(stranger()).unwrap();
        assert_eq!(reconcile(bench, way, draft), Reconciled::NotDone, "{way:?}");
        create(bench, way, draft);
        consume(bench);
        // A later call has the same place, and its own note.
        lock(bench).mark(stranger()).unwrap();
        assert_eq!(reconcile(bench, way, draft), Reconciled::Unknown, "{way:?}");
    });
}

#[test]
fn a_note_that_was_cut_short_is_none_and_hides_none() {
    both_ways_of_each(|bench, way, draft| {
        drop(lock(bench));
        let files = fs::read_dir(&bench.files.locks).unwrap();
        let [file] = files
            .map(Result::unwrap)
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        let cut = "\nb3e41f07-8c2d-4e6a-9f51-0a7d3c58e912";
        fs::write(file.path(), cut).unwrap();
        assert_eq!(reconcile(bench, way, draft), Reconciled::NotDone, "{way:?}");
        create(bench, way, draft);
        consume(bench);
        assert_eq!(reconcile(bench, way, draft), Reconciled::Unknown, "{way:?}");
    });
}

#[test]
fn a_file_that_was_announced_and_not_moved_is_not_done() {
    for (exchanges, expected) in [
        (Exchanges::Yes, Reconciled::NotDone),
        // It may have had both names, and another program may have taken one.
        (Exchanges::Perhaps, Reconciled::Unknown),
        (Exchanges::No, Reconciled::Unknown),
    ] {
        let mut bench = Bench::new();
        bench.files.exchanges = exchanges;
        let draft = bench.write("new", "mine\n").unwrap();
        let bench = bench.has(TEMPORARY, "mine\n");
        lock(&bench).mark(call()).unwrap();
        assert_eq!(reconcile(&bench, Way::Write, &draft), expected);
        let bench = bench.has("new", "theirs");
        let bench = bench.has(TEMPORARY, "mine\n");
        assert_eq!(reconcile(&bench, Way::Write, &draft), expected);
    }
}

#[test]
fn a_folder_that_was_announced_and_not_moved_is_not_done() {
    both_ways(|bench| {
        let draft = bench.mkdir("new", false).unwrap();
        let bench = bench.has_folder(TEMPORARY);
        lock(&bench).mark(call()).unwrap();
        assert_eq!(reconcile(&bench, Way::Folder, &draft), Reconciled::NotDone);
        assert!(bench.names().is_empty());
    });
}
