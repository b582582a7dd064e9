//! `kill -9` while history leaves sled for tiles: windows W34 and W35 of the event format's table.

use std::path::Path;
use std::process::Command;

use futures_executor::block_on;
use placet_ledger::store::Stored;
use placet_ledger::store::conformance::check_log;
use placet_ledger::store::sled::SledStore;
use tempfile::TempDir;

use super::kills::{Moment, at_each, moments, output_until};
use super::place::example;

/// The calls of sealing, and those around it.
const CALLS: &[&str] = &[
    "fsync",
    "fdatasync",
    "mkdir",
    "openat",
    "pwrite64",
    "rename",
    "sync_file_range",
    "write",
];

const MOMENTS: usize = 40;

/// Five appends, which fill nine tiles.
fn append(root: &Path) -> Command {
    let mut command = Command::new(example("append"));
    command.arg(root).args(["5", "500"]).current_dir(root);
    command
}

/// All that lies in a store, which is whole.
fn log(root: &Path) -> Vec<Stored> {
    let scratch = tempfile::tempdir().unwrap();
    let (home, head) = (root.join("home"), root.join("head"));
    let (store, why) = SledStore::open_copy(&home, &head, scratch.path()).unwrap();
    assert!(why.is_none(), "{why:?}");
    block_on(check_log(&store))
}

/// The end of a store that nobody killed, most of which is in tiles.
fn whole() -> (TempDir, Vec<Stored>) {
    let folder = tempfile::tempdir().unwrap();
    let status = append(folder.path()).output().unwrap().status;
    assert!(status.success());
    let tiles = folder.path().join("home/tile/entries");
    assert_eq!(std::fs::read_dir(tiles).unwrap().count(), 9);
    let log = log(folder.path());
    (folder, log)
}

/// Kills it at this moment, and holds that all that was acknowledged is there and that it goes on
/// to the same end. Says whether it was killed in time.
fn kill_and_go_on(moment: Moment, whole: &[Stored]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let output = output_until(moment, &append(root));
    let acknowledged = String::from_utf8_lossy(&output.stdout)
        .matches("ack ")
        .count();
    if root.join("head").exists() && root.join("home").exists() {
        let found = log(root);
        assert_eq!(found[..], whole[..found.len()], "{moment:?}");
        assert!(
            found.len() >= acknowledged * 500,
            "{moment:?}: {acknowledged} were acknowledged"
        );
    } else {
        // It was killed while it made the store: half a one is never taken for a whole one.
        assert_eq!(acknowledged, 0, "{moment:?}");
        return true;
    }
    let again = append(root).output().unwrap();
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.success(), "{moment:?}: {said}");
    assert_eq!(log(root), whole, "{moment:?}");
    output.status.code().is_none()
}

#[test]
fn a_store_that_is_killed_while_it_seals_has_lost_nothing_and_goes_on() {
    let (folder, whole) = whole();
    let root = tempfile::tempdir().unwrap();
    let moments = moments(root.path(), &append(root.path()), CALLS, MOMENTS);
    let killed = at_each(&moments, |_, moment| kill_and_go_on(moment, &whole));
    assert!(
        killed > MOMENTS / 2,
        "only {killed} were killed before their end"
    );
    drop(folder);
}
