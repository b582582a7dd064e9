//! What another program may do between preview and change.

mod chain;
mod changing;
mod copy;
mod crash;
mod created;
mod relocate;
mod tree;
mod writer;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use placet_ledger::content::Media;
use serde_json::json;

use super::*;
use crate::tool::Draft;
use crate::tool::fs::tests::Bench;
use crate::workspace::{ClosedSet, Workspace};

const TEMPORARY: &str = ".placet-b3e41f07-c1.tmp";
const KEPT: &str = ".placet-b3e41f07-c1.kept";

fn call() -> (RunId, CallId) {
    let run = "b3e41f07-8c2d-4e6a-9f51-0a7d3c58e912".parse().unwrap();
    (run, CallId::FIRST)
}

fn job<'a>(bench: &'a Bench, draft: &'a Draft) -> Job<'a> {
    let arguments = &draft.execute_arguments;
    Job::new(&bench.files, call(), arguments, Some(&draft.precondition)).unwrap()
}

fn put(bench: &Bench, draft: &Draft) -> Result<Text, ToolError> {
    let content = draft.execute_arguments["content"].as_str().unwrap();
    job(bench, draft).put(content)
}

pub(super) fn stale<T: std::fmt::Debug>(result: Result<T, ToolError>, expected: &str) {
    match result {
        Err(ToolError::Stale { detail }) => assert!(detail.contains(expected), "{detail}"),
        other => panic!("expected stale, {expected}, found {other:?}"),
    }
}

/// Puts a new file with these bytes in place of another.
fn swap_in(path: &Path, content: &str) {
    let beside = path.with_extension("other");
    fs::write(&beside, content).unwrap();
    fs::rename(beside, path).unwrap();
}

/// Both ways to change a file: where the file system exchanges names, and where it cannot.
fn both_ways(test: impl Fn(Bench)) {
    for exchanges in [Exchanges::Yes, Exchanges::No] {
        let mut bench = Bench::new();
        bench.files.exchanges = exchanges;
        test(bench);
    }
}

#[test]
fn writes_what_was_previewed_and_reads_it_back() {
    both_ways(|bench| {
        let bench = bench.has("notes.txt", "milk\n");
        fs::set_permissions(bench.at("notes.txt"), fs::Permissions::from_mode(0o640)).unwrap();
        let draft = bench.write("notes.txt", "milk\neggs\n").unwrap();
        let result = put(&bench, &draft).unwrap();
        assert_eq!(result.media, Media::Json);
        assert_eq!(
            String::from_utf8(result.bytes).unwrap(),
            "{\"bytes\":10,\"digest\":\"ad3d5de9d0fcb9653f0aff65d0c3664f7730e84ee26985212df5e547cb025e9b\",\"path\":\"notes.txt\"}"
        );
        assert_eq!(bench.text("notes.txt"), "milk\neggs\n");
        assert_eq!(bench.names(), ["notes.txt"]);
        let mode = bench.at("notes.txt").metadata().unwrap().mode();
        assert_eq!(mode & 0o7777, 0o640);
        stale(put(&bench, &draft), "it is another file");
    });
}

#[test]
fn creates_and_removes() {
    both_ways(|bench| {
        let draft = bench.write("new", "x\n").unwrap();
        put(&bench, &draft).unwrap();
        assert_eq!(bench.text("new"), "x\n");
        let draft = bench.rm("new").unwrap();
        let result = job(&bench, &draft).remove().unwrap();
        let text = String::from_utf8(result.bytes).unwrap();
        assert!(text.starts_with("{\"bytes\":2,\"digest\":\""), "{text}");
        assert!(bench.names().is_empty());
        stale(job(&bench, &draft).remove(), "there is no new");
    });
}

#[test]
fn a_target_that_changed_is_stale_and_stays_as_it_is() {
    type Change = fn(&Bench);
    let changes: [(&str, Change); 7] = [
        ("another file", |bench| swap_in(&bench.at("a"), "old\n")),
        ("content", |bench| {
            fs::write(bench.at("a"), "new\n").unwrap();
        }),
        ("mode is 600", |bench| {
            fs::set_permissions(bench.at("a"), fs::Permissions::from_mode(0o600)).unwrap();
        }),
        ("2 hard links", |bench| {
            fs::hard_link(bench.at("a"), bench.at("b")).unwrap();
        }),
        ("there is no a", |bench| {
            fs::remove_file(bench.at("a")).unwrap();
        }),
        ("symbolic link", |bench| {
            fs::rename(bench.at("a"), bench.at("b")).unwrap();
            symlink("b", bench.at("a")).unwrap();
        }),
        ("a folder", |bench| {
            fs::remove_file(bench.at("a")).unwrap();
            fs::create_dir(bench.at("a")).unwrap();
        }),
    ];
    for (expected, change) in changes {
        both_ways(|bench| {
            let bench = bench.has("a", "old\n");
            let write = bench.write("a", "mine\n").unwrap();
            let remove = bench.rm("a").unwrap();
            change(&bench);
            let (names, before) = (bench.names(), fs::read(bench.at("a")).ok());
            stale(put(&bench, &write), expected);
            stale(job(&bench, &remove).remove(), expected);
            assert_eq!(
                (bench.names(), fs::read(bench.at("a")).ok()),
                (names, before)
            );
        });
    }
}

#[test]
fn a_folder_that_was_replaced_is_stale() {
    let bench = Bench::new();
    fs::create_dir(bench.at("src")).unwrap();
    let bench = bench.has("src/a", "old\n");
    let drafts = [
        bench.write("src/a", "x").unwrap(),
        bench.write("src/new", "x").unwrap(),
    ];
    fs::rename(bench.at("src"), bench.at("was")).unwrap();
    stale(put(&bench, &drafts[0]), "there is no folder src");
    symlink("was", bench.at("src")).unwrap();
    for draft in &drafts {
        stale(put(&bench, draft), "src is not a folder");
    }
    fs::remove_file(bench.at("src")).unwrap();
    fs::create_dir(bench.at("src")).unwrap();
    fs::hard_link(bench.at("was/a"), bench.at("src/a")).unwrap();
    for draft in &drafts {
        stale(put(&bench, draft), "its folder is another one");
    }
    assert_eq!(fs::read_dir(bench.at("src")).unwrap().count(), 1);
}

#[test]
fn another_workspace_at_the_same_path_is_stale() {
    let mut bench = Bench::new().has("a", "old\n");
    let draft = bench.write("a", "x").unwrap();
    fs::rename(bench.at(""), bench.folder.path().join("was")).unwrap();
    stale(put(&bench, &draft), "the workspace was moved");
    fs::create_dir(bench.at("")).unwrap();
    fs::write(bench.at("a"), "old\n").unwrap();
    stale(put(&bench, &draft), "the workspace was moved");
    let workspace = Workspace::open(&bench.at(""), ClosedSet::new()).unwrap();
    bench.files.workspace = std::sync::Arc::new(workspace);
    stale(put(&bench, &draft), "the workspace is another folder");
    let crashed = job(&bench, &draft).reconcile_put("x").unwrap();
    assert_eq!(crashed, crate::tool::Reconciled::Unknown);
}

#[test]
fn creation_never_overwrites() {
    type Appear = fn(&Path);
    let appearances: [Appear; 3] = [
        |path| fs::write(path, "theirs").unwrap(),
        |path| symlink("nowhere", path).unwrap(),
        |path| fs::create_dir(path).unwrap(),
    ];
    for appear in appearances {
        both_ways(|bench| {
            let draft = bench.write("new", "mine").unwrap();
            appear(&bench.at("new"));
            stale(put(&bench, &draft), "something of that name");
            // Also where it appears after that was checked.
            let job = job(&bench, &draft);
            let target = job.target().unwrap();
            job.beside(&target.folder, b"mine", Likeness::New).unwrap();
            assert_eq!(
                job.move_to(&target.folder, TEMPORARY, "new"),
                Err(Errno::EXIST)
            );
            fs::remove_file(bench.at(TEMPORARY)).unwrap();
            assert_eq!(bench.names(), ["new"]);
        });
    }
}

#[test]
fn what_came_out_unexpectedly_goes_back() {
    let bench = Bench::new().has("a", "old\n");
    let draft = bench.write("a", "mine\n").unwrap();
    let job = job(&bench, &draft);
    let target = job.target().unwrap();
    let own = job
        .beside(&target.folder, b"mine\n", Likeness::New)
        .unwrap();
    swap_in(&bench.at("a"), "theirs\n");
    job.exchange(&target).unwrap();
    let difference = job.difference(&target.folder, TEMPORARY).unwrap();
    let error = job.take_back(&target, (own.node, own.digest), &difference);
    stale(Err::<(), _>(error), "it is another file");
    assert_eq!(bench.text("a"), "theirs\n");
    assert_eq!(bench.names(), ["a"]);
}

#[test]
fn of_two_versions_the_newest_stays_and_the_older_is_kept() {
    let bench = Bench::new().has("a", "old\n");
    let draft = bench.write("a", "mine\n").unwrap();
    let job = job(&bench, &draft);
    let target = job.target().unwrap();
    let own = job
        .beside(&target.folder, b"mine\n", Likeness::New)
        .unwrap();
    swap_in(&bench.at("a"), "older\n");
    job.exchange(&target).unwrap();
    swap_in(&bench.at("a"), "newest\n");
    let error = job.take_back(&target, (own.node, own.digest), "it is another file");
    stale(Err::<(), _>(error), KEPT);
    assert_eq!(bench.text("a"), "newest\n");
    assert_eq!(bench.text(KEPT), "older\n");
    assert_eq!(bench.names(), [KEPT, "a"]);
}

#[test]
fn our_file_is_not_dropped_once_another_program_wrote_into_it() {
    let bench = Bench::new().has("a", "old\n");
    let draft = bench.write("a", "mine\n").unwrap();
    let job = job(&bench, &draft);
    let target = job.target().unwrap();
    let own = job
        .beside(&target.folder, b"mine\n", Likeness::New)
        .unwrap();
    swap_in(&bench.at("a"), "theirs\n");
    job.exchange(&target).unwrap();
    fs::write(bench.at("a"), "mine\nand more\n").unwrap();
    let error = job.take_back(&target, (own.node, own.digest), "it is another file");
    stale(Err::<(), _>(error), KEPT);
    assert_eq!(bench.text(KEPT), "mine\nand more\n");
    assert_eq!(bench.text("a"), "theirs\n");
}

#[test]
fn what_was_set_aside_wrongly_moves_back() {
    both_ways(|bench| {
        let bench = bench.has("a", "old\n");
        let draft = bench.rm("a").unwrap();
        let job = job(&bench, &draft);
        let target = job.target().unwrap();
        swap_in(&bench.at("a"), "theirs\n");
        job.move_to(&target.folder, "a", TEMPORARY).unwrap();
        stale(
            Err::<(), _>(job.move_back(&target, &target.folder, "x")),
            "x",
        );
        assert_eq!(
            (bench.text("a").as_str(), bench.names().len()),
            ("theirs\n", 1)
        );
        job.move_to(&target.folder, "a", TEMPORARY).unwrap();
        fs::write(bench.at("a"), "newer\n").unwrap();
        stale(
            Err::<(), _>(job.move_back(&target, &target.folder, "x")),
            KEPT,
        );
        assert_eq!(bench.text(KEPT), "theirs\n");
        assert_eq!(bench.text("a"), "newer\n");
    });
}

#[test]
fn a_leftover_is_never_written_over() {
    let bench = Bench::new().has("a", "old\n").has(TEMPORARY, "precious");
    let draft = bench.write("a", "mine\n").unwrap();
    let removal = bench.rm("a").unwrap();
    assert!(matches!(put(&bench, &draft), Err(ToolError::Failed { .. })));
    assert!(matches!(
        job(&bench, &removal).remove(),
        Err(ToolError::Failed { .. })
    ));
    assert_eq!(bench.text(TEMPORARY), "precious");
    assert_eq!(bench.text("a"), "old\n");
}

#[test]
fn a_call_needs_a_precondition_for_its_own_path() {
    let bench = Bench::new().has("a", "old\n");
    let draft = bench.write("a", "mine\n").unwrap();
    let other = json!({"content": "mine\n", "path": "b"});
    for (arguments, precondition) in [
        (&draft.execute_arguments, None),
        (&other, Some(&draft.precondition)),
        (&json!({"path": 1}), Some(&draft.precondition)),
    ] {
        assert!(Job::new(&bench.files, call(), arguments, precondition).is_err());
    }
}

#[test]
fn a_lock_that_is_held_ends_in_an_error() {
    let bench = Bench::new().has("a", "old\n");
    let real = bench.at("a");
    let real = real.to_str().unwrap();
    let held = Lock::take(&bench.files.locks, real).unwrap();
    let error = Lock::take_within(&bench.files.locks, real, 2).unwrap_err();
    assert!(error.to_string().contains("another call"), "{error}");
    drop(held);
    Lock::take(&bench.files.locks, real).unwrap();
}

#[test]
fn user_attributes_are_kept() {
    use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

    let bench = Bench::new().has("a", "old\n");
    let file = fs::File::open(bench.at("a")).unwrap();
    if fsetxattr(&file, "user.note", b"kept", XattrFlags::empty()).is_err() {
        return;
    }
    put(&bench, &bench.write("a", "mine\n").unwrap()).unwrap();
    let file = fs::File::open(bench.at("a")).unwrap();
    let mut value = [0_u8; 16];
    let length = fgetxattr(&file, "user.note", value.as_mut_slice()).unwrap();
    assert_eq!(&value[..length], b"kept");
}

#[test]
fn owner_and_access_list_are_kept() {
    use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

    let bench = Bench::new().has("a", "old\n");
    let file = fs::File::open(bench.at("a")).unwrap();
    // Owner rw, user 1 rw, group r, mask rw, others nothing: the group must not gain the mask.
    let entries: [(u16, u16, u32); 5] = [
        (1, 6, u32::MAX),
        (2, 6, 1),
        (4, 4, u32::MAX),
        (16, 6, u32::MAX),
        (32, 0, u32::MAX),
    ];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    let name = "system.posix_acl_access";
    let owned = std::os::unix::fs::chown(bench.at("a"), Some(1), Some(1));
    if owned.is_err() || fsetxattr(&file, name, &list, XattrFlags::empty()).is_err() {
        return;
    }
    put(&bench, &bench.write("a", "mine\n").unwrap()).unwrap();
    let file = fs::File::open(bench.at("a")).unwrap();
    let metadata = file.metadata().unwrap();
    assert_eq!(
        (metadata.uid(), metadata.gid(), metadata.mode() & 0o777),
        (1, 1, 0o660)
    );
    let mut found = [0_u8; 64];
    let length = fgetxattr(&file, name, found.as_mut_slice()).unwrap();
    assert_eq!(&found[..length], list);
}
