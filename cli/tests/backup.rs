//! `backup` and `restore`: of a ledger in use, of one that is lost, and what is refused.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;

use placet_ledger::store::sled::SledStore;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Output, World, spawn};

fn kill(child: &mut Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    child.wait().unwrap();
}

fn value(output: &Output) -> Value {
    assert_eq!(output.code, 0, "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

fn backup(world: &World, dir: &str) -> Value {
    value(&world.call(&["--json", "backup", dir]))
}

/// The home goes, and its key was kept.
fn lose(world: &World) {
    fs::copy(world.path("data/placet/ledger.key"), world.path("kept.key")).unwrap();
    fs::remove_dir_all(world.path("data/placet")).unwrap();
}

fn restore(world: &World, dir: &str) -> Output {
    world.call(&["--json", "restore", dir, "--key", "kept.key"])
}

/// What lies where homes and head files are.
fn left(world: &World) -> Vec<String> {
    let mut names = Vec::new();
    for folder in ["data", "state/placet"] {
        let Ok(entries) = fs::read_dir(world.path(folder)) else {
            continue;
        };
        names.extend(entries.map(|entry| entry.unwrap().path().display().to_string()));
    }
    names.sort();
    names
}

fn head(world: &World) -> String {
    let ledger = SledStore::ledger_at(&world.path("data/placet")).unwrap();
    ledger.to_string()
}

#[test]
fn a_ledger_is_restored_and_driven_on() {
    let world = World::parked();
    let log = world.call(&["--json", "audit", "log"]).stdout;
    let made = backup(&world, "copy");
    let verified = value(&world.call(&["--json", "audit", "verify"]));
    assert_eq!(made["size"], verified["size"]);
    assert_eq!(made["root"], verified["root"]);
    lose(&world);
    let restored = value(&restore(&world, "copy"));
    assert_eq!(
        (&restored["size"], &restored["root"]),
        (&made["size"], &made["root"])
    );
    assert_eq!(restored["key"], true);
    assert_eq!(value(&world.call(&["--json", "audit", "verify"])), verified);
    assert_eq!(world.call(&["--json", "audit", "log"]).stdout, log);
    let run = world.run().to_owned();
    let approved = world.call(&["runs", "approve", &run]);
    assert_eq!(approved.code, 0, "{}", approved.stderr);
    assert_eq!(
        fs::read(world.path("ws/notes.txt")).unwrap(),
        b"milk\neggs\n"
    );
    world.records_hold();
    // Restored elsewhere, where no head file tells of it.
    let copied = backup(&world, "other");
    lose_all(&world);
    assert_eq!(value(&restore(&world, "other"))["root"], copied["root"]);
    world.records_hold();
}

/// The home and all head files.
fn lose_all(world: &World) {
    lose(world);
    fs::remove_dir_all(world.path("state")).unwrap();
}

#[test]
fn a_backup_is_made_while_others_use_the_ledger() {
    let world = World::parked_as_user();
    let run = world.run();
    // Another process holds the ledger, and a third one drives a run through it.
    let mut holder = spawn(&world, &["runs", "watch", run]);
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("run.parked")));
    let mut driver = spawn(&world, &["runs", "approve", run]);
    let made = backup(&world, "copy");
    assert_eq!(driver.wait().unwrap().code(), Some(0));
    assert!(lines.any(|line| line.unwrap().contains("run.finished")));
    holder.wait().unwrap();
    // It is a beginning of the log, wherever it was cut.
    let log: Value = value(&world.call(&["--json", "audit", "log"]));
    lose_all(&world);
    value(&restore(&world, "copy"));
    let copied: Value = value(&world.call(&["--json", "audit", "log"]));
    let (log, copied) = (
        log["events"].as_array().unwrap(),
        copied["events"].as_array().unwrap(),
    );
    assert_eq!(made["size"], copied.len());
    assert_eq!(log[..copied.len()], copied[..]);
    world.records_hold();
}

#[test]
fn a_backup_that_is_killed_leaves_nothing_that_looks_whole() {
    let world = World::parked();
    let mut child = spawn(&world, &["backup", "copy"]);
    let begun = |name: &str| name.starts_with("copy.new-");
    let names = || {
        let entries = fs::read_dir(world.dir.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<Vec<_>>()
    };
    while !names().iter().any(|name| begun(name)) && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    kill(&mut child);
    if world.path("copy").exists() {
        // It was quicker.
        lose(&world);
        value(&restore(&world, "copy"));
        return;
    }
    let half = names().into_iter().find(|name| begun(name)).unwrap();
    fs::copy(world.path("data/placet/ledger.key"), world.path("kept.key")).unwrap();
    for half in [half.clone(), format!("{half}/whole")] {
        let refused = world.call(&["--home", "new", "restore", &half, "--key", "kept.key"]);
        // Whoever makes anything beside it removes what was left: it is gone by then.
        assert_eq!(refused.code, 4, "{}", refused.stderr);
        assert!(!world.path("new").exists());
    }
    // It stands in nobody's way, and the next one removes it.
    backup(&world, "copy");
    let half: Vec<_> = names().into_iter().filter(|name| begun(name)).collect();
    assert_eq!(half, Vec::<String>::new());
}

#[test]
fn a_backup_that_is_not_as_it_was_made_restores_nothing() {
    let world = World::parked();
    backup(&world, "copy");
    lose(&world);
    let before = left(&world);
    let refused = |what: &str| {
        let output = restore(&world, "copy");
        assert_eq!(output.code, 6, "{}", output.stderr);
        assert!(output.stderr.contains(what), "{}", output.stderr);
        assert_eq!(left(&world), before);
    };
    let keys = world.path("copy/store/keys");
    let bytes = fs::read(&keys).unwrap();
    let mut flipped = bytes.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    fs::write(&keys, flipped).unwrap();
    refused("store/keys is another than was written");
    fs::remove_file(&keys).unwrap();
    refused("store/keys is missing");
    fs::write(world.path("outside"), &bytes).unwrap();
    std::os::unix::fs::symlink(world.path("outside"), &keys).unwrap();
    refused("store/keys is a link");
    fs::remove_file(&keys).unwrap();
    fs::write(&keys, &bytes).unwrap();
    value(&restore(&world, "copy"));
}

#[test]
fn a_ledger_that_is_there_is_not_restored_over() {
    let mut world = World::parked();
    backup(&world, "copy");
    fs::copy(world.path("data/placet/ledger.key"), world.path("kept.key")).unwrap();
    let over = restore(&world, "copy");
    assert_eq!(over.code, 3, "{}", over.stderr);
    // Nor beside it.
    let beside = world.call(&["--home", "new", "restore", "copy", "--key", "kept.key"]);
    assert_eq!(beside.code, 3, "{}", beside.stderr);
    assert!(beside.stderr.contains("still lies in"), "{}", beside.stderr);
    assert!(!world.path("new").exists());
    world.start("Once more.");
    world.records_hold();
}

#[test]
fn a_place_where_another_ledger_was_is_not_taken() {
    let world = World::parked();
    let theirs = World::parked();
    value(&theirs.call(&["--json", "backup", world.path("copy").to_str().unwrap()]));
    lose(&world);
    let before = left(&world);
    let refused = world.call(&["restore", "copy"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let told = "there was another ledger at";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
    assert_eq!(left(&world), before);
}

#[test]
fn an_older_backup_is_refused_beside_a_newer_head_file() {
    let world = World::parked();
    let made = backup(&world, "copy");
    let run = world.run();
    assert_eq!(world.call(&["runs", "cancel", run, "--note", "no"]).code, 0);
    let verified = value(&world.call(&["--json", "audit", "verify"]));
    let ledger = head(&world);
    lose(&world);
    let before = left(&world);
    let refused = restore(&world, "copy");
    assert_eq!(refused.code, 6);
    let told = format!(
        "the backup has {} records, and this ledger had {}",
        made["size"], verified["size"]
    );
    assert!(refused.stderr.contains(&told), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("--accept-loss"),
        "{}",
        refused.stderr
    );
    assert_eq!(left(&world), before);
    let unknown = world.call(&["restore", "copy", "--accept-loss"]);
    assert_eq!(unknown.code, 64, "{}", unknown.stderr);
    assert!(world.path("state/placet").join(ledger).exists());
}

#[test]
fn another_key_is_refused_and_one_that_is_lost_is_told() {
    let world = World::parked();
    backup(&world, "copy");
    fs::rename(world.path("data/placet"), world.path("old")).unwrap();
    let before = left(&world);
    for (key, code) in [("old/recovery.key", 3), ("tidy.toml", 64), ("nowhere", 64)] {
        let refused = world.call(&["restore", "copy", "--key", key]);
        assert_eq!(refused.code, code, "{key}: {}", refused.stderr);
        assert_eq!(left(&world), before, "{key}");
    }
    let restored = world.call(&["restore", "copy"]);
    assert_eq!(restored.code, 0, "{}", restored.stderr);
    let told = "without its ledger.key one process alone can use this ledger at a time";
    assert!(restored.stderr.contains(told), "{}", restored.stderr);
    assert!(!world.path("data/placet/ledger.key").exists());
    world.records_hold();
    let run = world.run();
    assert_eq!(world.call(&["runs", "approve", run]).code, 0);
}

#[test]
fn a_backup_goes_where_nothing_is() {
    let world = World::parked();
    fs::create_dir(world.path("used")).unwrap();
    fs::write(world.path("used/mine"), "mine").unwrap();
    for (dir, what) in [
        ("used", "already"),
        ("data/placet/copy", "lies in the home"),
    ] {
        let refused = world.call(&["backup", dir]);
        assert_eq!(refused.code, 3, "{}", refused.stderr);
        assert!(refused.stderr.contains(what), "{}", refused.stderr);
    }
    let nowhere = world.call(&["backup", "no/such/folder"]);
    assert_eq!(nowhere.code, 1, "{}", nowhere.stderr);
    let shown = world.call(&["backup", "copy"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let bytes: u64 = sizes(&world.path("copy/store"));
    assert!(
        shown.stdout.contains(&format!("  bytes  {bytes}\n")),
        "{}",
        shown.stdout
    );
}

fn sizes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| match entry.metadata().unwrap() {
            meta if meta.is_dir() => sizes(&entry.path()),
            meta => meta.len(),
        })
        .sum()
}

#[test]
fn what_a_restore_that_is_killed_leaves_is_removed_by_the_next_one() {
    let world = World::parked();
    backup(&world, "copy");
    let ledger = head(&world);
    lose_all(&world);
    let begun = || {
        left(&world)
            .iter()
            .any(|name| name.contains("/placet.new-"))
    };
    let mut child = spawn(&world, &["restore", "copy", "--key", "kept.key"]);
    while !begun() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    kill(&mut child);
    if world.path("data/placet").exists() {
        // It was quicker.
        lose_all(&world);
    }
    value(&restore(&world, "copy"));
    let at = |name: &str| world.path(name).display().to_string();
    let there = [at("data/placet"), at(&format!("state/placet/{ledger}"))];
    assert_eq!(left(&world), there);
    world.records_hold();
}

/// What a call that runs leaves in its home: this process watches over it.
fn marked(world: &World) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let start = stat.rsplit(')').next().unwrap().split(' ').nth(20).unwrap();
    let mark = serde_json::json!({
        "pid": std::process::id(),
        "start": start.parse::<u64>().unwrap(),
        "boot": placet_ledger::process::boot().unwrap(),
        "namespace": placet_ledger::process::namespace().unwrap(),
        "temporary": world.path("of-the-call"),
    });
    let path = world.path("data/placet/running/call");
    fs::write(path, mark.to_string()).unwrap();
}

#[test]
fn nothing_is_restored_from_inside_of_a_run() {
    let world = World::parked();
    backup(&world, "copy");
    let ledger = head(&world);
    fs::remove_dir_all(world.path("state/placet").join(ledger)).unwrap();
    let restore = || world.call(&["--home", "new", "restore", "copy"]);
    marked(&world);
    let refused = restore();
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let told = "nothing is granted from inside of a run";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
    assert!(!world.path("new").exists());
    fs::remove_file(world.path("data/placet/running/call")).unwrap();
    assert_eq!(restore().code, 0);
}

#[test]
fn a_backup_that_is_nowhere_is_not_found() {
    let world = World::new();
    let refused = world.call(&["restore", "nowhere"]);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    assert!(refused.stderr.contains("there is no backup at"));
    assert!(!world.path("data/placet").exists());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the program itself is looked at")]
fn a_restore_says_nothing_of_folders_that_it_made_itself() {
    let world = World::parked();
    backup(&world, "copy");
    lose_all(&world);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_placet"));
    command.args(["restore", "copy", "--key", "kept.key"]);
    let output = crate::read_only::at(&mut command, &world).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    // That others had access, for one.
    assert_eq!(said, "");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the program itself is looked at")]
fn a_disk_that_is_full_is_told_as_that() {
    let world = World::parked();
    fs::create_dir(world.path("full")).unwrap();
    // A small disk that only this process sees.
    let script = "mount -t tmpfs -o size=600k none full || exit 77; exec \"$0\" backup full/copy";
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
    command.arg(env!("CARGO_BIN_EXE_placet"));
    let Ok(output) = crate::read_only::at(&mut command, &world).output() else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("unshare") || output.status.code() == Some(77) {
        // This machine lets nobody mount anything.
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the backup was not made"), "{said}");
    assert!(said.contains("make room there"), "{said}");
}
