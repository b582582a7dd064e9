//! A first creation that is killed before the home has its name: the next one removes what it left,
//! the head file outside of the home too, and nothing that may be somebody's.

use std::fs;
use std::path::{Path, PathBuf};

use placet_ledger::id::LedgerId;
use placet_ledger::staging::Staging;
use placet_ledger::store::sled::SledStore;
use rustix::process::{Pid, Signal, kill_process};

use crate::read_only::copy;
use crate::support::{World, spawn};

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Where heads are, of what ledgers.
fn heads(world: &World) -> Vec<String> {
    names(&world.path("state/placet"))
}

/// The ledger in the home.
fn made(world: &World) -> String {
    let ledger = SledStore::ledger_at(&world.path("data/placet")).unwrap();
    ledger.to_string()
}

/// A creation as one leaves it that is killed once it has made the head file: where it lies, and
/// the head file's folder. `alive` keeps it at work.
fn left(world: &World) -> (Staging, PathBuf, String) {
    fs::create_dir_all(world.path("data")).unwrap();
    let staging = Staging::beside(&world.path("data/placet")).unwrap();
    let ledger = LedgerId::new("00000000-0000-4000-8000-000000000005".parse().unwrap());
    staging.note(&ledger.to_string()).unwrap();
    let head = world.path("state/placet").join(ledger.to_string());
    let home = staging.path().join("home");
    SledStore::create(&home, ledger, &head).unwrap().close();
    let place = staging.path().to_owned();
    (staging, place, ledger.to_string())
}

fn kill(world: &World, staging: Staging) {
    let (place, kept) = (staging.path().to_owned(), world.path("kept"));
    copy(&place, &kept);
    drop(staging);
    fs::rename(kept, place).unwrap();
}

#[test]
fn what_a_killed_creation_left_is_removed_by_the_next_one() {
    let mut world = World::new();
    let (staging, _, ledger) = left(&world);
    kill(&world, staging);
    assert_eq!(heads(&world), [ledger]);
    // Whoever only looks leaves it to whoever makes the next one.
    assert_eq!(world.call(&["runs", "list"]).code, 4);
    assert_eq!(names(&world.path("data")).len(), 1);
    world.start("Tidy up.");
    assert_eq!(names(&world.path("data")), ["placet"]);
    assert_eq!(heads(&world), [made(&world)]);
    world.records_hold();
}

#[test]
fn what_may_be_somebodys_is_not_removed() {
    type Change = fn(&World, &Path, &Path);
    let changes: [Change; 4] = [
        // It got its name, and was moved since.
        |world, staged, _| fs::rename(staged.join("home"), world.path("moved")).unwrap(),
        // It was opened.
        |_, _, head| fs::write(head.join("home"), "/home/x").unwrap(),
        // Something else lies there.
        |_, _, head| fs::write(head.join("notes"), "mine").unwrap(),
        // It tells of no ledger.
        |_, staged, _| fs::write(staged.join("made-elsewhere"), "../..").unwrap(),
    ];
    for change in changes {
        let mut world = World::new();
        let (staging, place, ledger) = left(&world);
        kill(&world, staging);
        change(&world, &place, &world.path("state/placet").join(&ledger));
        world.start("Tidy up.");
        let mut both = [ledger, made(&world)];
        both.sort();
        assert_eq!(heads(&world), both);
        assert_eq!(names(&world.path("data")), ["placet"]);
    }
    // Somebody is at work on it.
    let mut world = World::new();
    let (staging, place, ledger) = left(&world);
    world.start("Tidy up.");
    assert!(place.join("home").exists() && heads(&world).contains(&ledger));
    drop(staging);
}

#[test]
fn a_run_that_is_killed_while_it_makes_its_ledger_stands_in_nobodys_way() {
    let mut world = World::new();
    let args = [
        "run",
        "--model",
        "script:tidy.toml",
        "--workspace",
        "ws",
        "--park",
        "Tidy.",
    ];
    let mut child = spawn(&world, &args);
    while heads(&world).is_empty() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    world.start("Tidy up.");
    assert_eq!(names(&world.path("data")), ["placet"]);
    assert_eq!(heads(&world), [made(&world)]);
}
