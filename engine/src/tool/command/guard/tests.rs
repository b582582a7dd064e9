//! What is guarded, what differs after a command, and what could not be looked at.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use placet_ledger::steered::Steered;
use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
use tempfile::TempDir;

use super::*;

/// A workspace that holds these files, each with a line in it.
fn workspace(files: &[&str]) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for file in files {
        write(&root, file, "before\n");
    }
    (folder, root)
}

fn write(root: &Path, file: &str, text: &str) {
    fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
    fs::write(root.join(file), text).unwrap();
}

fn places(files: &[&str]) -> Vec<String> {
    let (_folder, root) = workspace(files);
    let guard = Guard::of(&root, &[]);
    assert_eq!(guard.unseen(&root), BTreeSet::new(), "{files:?}");
    guard.places.iter().map(|at| relative(&root, at)).collect()
}

/// What is told of a command that does this: `+` made, `~` changed, `-` removed.
fn told(files: &[&str], first: impl Fn(&Path), command: impl Fn(&Path)) -> String {
    let (_folder, root) = workspace(files);
    first(&root);
    let mut guard = Guard::of(&root, &[]);
    let before = guard.stamps(None, &[], &root);
    command(&root);
    let mut after = Guard::of(&root, &[]);
    let now = after.stamps(Some(&guard), &[], &root);
    let changes = now.changes_since(&before, &root);
    let signed = |sign: char, paths: Vec<String>| {
        let paths = paths.into_iter();
        paths.map(move |path| format!("{sign}{path}"))
    };
    let all = signed('+', changes.made).chain(signed('~', changes.changed));
    let all: Vec<_> = all.chain(signed('-', changes.removed)).collect();
    all.join(" ")
}

#[test]
fn what_of_a_store_steers_programs_or_leads_to_it_is_guarded() {
    for (above, names, expected) in [
        (".git", "HEAD index objects/ab/c refs/heads/main", ""),
        (".git", "commondir gitdir", "commondir gitdir"),
        (".git", "remotes/origin branches/x", "branches remotes"),
        (
            ".git",
            "rebase-merge/done rebase-apply/x sequencer/todo",
            "",
        ),
        (
            ".git",
            "config hooks/x info/attributes",
            "config hooks info",
        ),
        (
            ".git/worktrees/w",
            "HEAD commondir gitdir",
            "commondir gitdir",
        ),
        (
            ".git/worktrees/w",
            "HEAD config.worktree",
            "config.worktree",
        ),
        (".git/modules/a/b", "HEAD config hooks/x", "config hooks"),
        (".git/modules/a/modules/b", "HEAD commondir", "commondir"),
        (".hg", "sharedpath store/x", "sharedpath"),
        (".sl", "config hgrc store/x", "config hgrc"),
        (".jj/repo/store/git", "HEAD config", "config"),
        (
            "d/x",
            "HEAD objects/o refs/r commondir config",
            "commondir config",
        ),
        (
            "d/x",
            "HEAD objects/o refs/r hooks/h info/attributes",
            "hooks info",
        ),
        (
            "w",
            "HEAD commondir config.worktree",
            "commondir config.worktree",
        ),
        ("w", "HEAD objects/o config hooks/h", ""),
        (".", "HEAD objects/o refs/r config", "config"),
        ("a", ".envrc main.rs HEAD/x", ".envrc"),
        ("a", ".g\u{200c}it/config", ".g\\u{200c}it"),
    ] {
        let beneath = |name| {
            let path = format!("{above}/{name}");
            path.trim_start_matches("./").to_owned()
        };
        let files: Vec<_> = names.split(' ').map(beneath).collect();
        let files: Vec<_> = files.iter().map(String::as_str).collect();
        let expected: Vec<_> = expected.split_whitespace().map(beneath).collect();
        assert_eq!(places(&files), expected, "{above}: {names}");
    }
}

#[test]
fn each_change_of_a_guarded_place_is_told() {
    let nothing = |_: &Path| {};
    let linked = |root: &Path| symlink("d/real", root.join(".envrc")).unwrap();
    assert_eq!(
        told(&[".envrc", "a"], nothing, |root| write(root, "a", "x")),
        ""
    );
    let same = |root: &Path| write(root, ".envrc", "before\n");
    assert_eq!(told(&[".envrc"], nothing, same), "");
    let evil = |root: &Path| write(root, ".envrc", "evil\n");
    assert_eq!(told(&[".envrc"], nothing, evil), "~.envrc");
    assert_eq!(told(&[], nothing, evil), "+.envrc");
    let gone = |root: &Path| fs::remove_file(root.join(".envrc")).unwrap();
    assert_eq!(told(&[".envrc"], nothing, gone), "-.envrc");
    let runs = |root: &Path| {
        let mode = fs::Permissions::from_mode(0o777);
        fs::set_permissions(root.join(".git/hooks/x"), mode).unwrap();
    };
    assert_eq!(told(&[".git/hooks/x"], nothing, runs), "~.git/hooks/x");
    let replaced = |root: &Path| {
        fs::remove_file(root.join(".envrc")).unwrap();
        symlink("d/other", root.join(".envrc")).unwrap();
    };
    let files = ["d/real", "d/other"];
    assert_eq!(told(&files, linked, replaced), "~.envrc");
    assert_eq!(
        told(&files, linked, |root| write(root, "d/real", "evil\n")),
        "~.envrc"
    );
    assert_eq!(
        told(&[], linked, |root| write(root, "d/real", "evil\n")),
        "~.envrc"
    );
    let folder = |root: &Path| symlink("d", root.join(".husky")).unwrap();
    let hooks = |root: &Path| {
        write(root, "d/real", "evil\n");
        write(root, "d/new/hook", "evil\n");
    };
    assert_eq!(told(&files, folder, hooks), "+.husky/new ~.husky/real");
    let common = |root: &Path| write(root, ".git/commondir", "../d\n");
    assert_eq!(told(&[".git/HEAD"], nothing, common), "+.git/commondir");
    let bare = |root: &Path| {
        for file in ["x/HEAD", "x/objects/o", "x/refs/r"] {
            write(root, file, "x");
        }
    };
    assert_eq!(told(&["x/config"], nothing, bare), "+x/config");
    let other = |root: &Path| fs::hard_link(root.join("a"), root.join(".envrc")).unwrap();
    assert_eq!(
        told(&["a"], other, |root| write(root, "a", "evil\n")),
        "~.envrc"
    );
    let large = |root: &Path| write(root, ".envrc", &"x".repeat(2 << 20));
    let as_large = |root: &Path| write(root, ".envrc", &"y".repeat(2 << 20));
    assert_eq!(told(&[], large, as_large), "~.envrc");
}

#[test]
fn what_git_writes_itself_is_told_and_not_held() {
    let nothing = |_: &Path| {};
    for store in [".git", ".git/worktrees/w", ".git/modules/m"] {
        let head = format!("{store}/HEAD");
        let begun = format!("{store}/rebase-merge");
        let todo = format!("{begun}/git-rebase-todo");
        let evil = |root: &Path| write(root, &todo, "exec evil\n");
        assert_eq!(told(&[&head], nothing, evil), format!("+{begun}"));
        assert_eq!(told(&[&head, &todo], nothing, evil), format!("~{todo}"));
    }
    let evil = |root: &Path| write(root, ".git/sequencer/todo", "pick evil\n");
    assert_eq!(told(&[".git/HEAD"], nothing, evil), "+.git/sequencer");
}

#[test]
fn as_many_as_can_be_mounted_are_held_and_the_rest_is_counted() {
    let (_folder, root) = workspace(&["a/b/.npmrc", "a/b/.envrc", "c/.envrc", ".envrc", "d/x"]);
    let guard = Guard::of(&root, &[]);
    let held = |at_most| {
        let (held, rest) = guard.held_by(&root, at_most);
        let held: Vec<_> = held.iter().map(|at| relative(&root, at)).collect();
        (held.join(" "), rest)
    };
    let told = |held: &str, rest| (held.to_owned(), rest);
    assert_eq!(held(0), told("", 4));
    assert_eq!(held(2), told(".envrc", 3));
    assert_eq!(held(3), told(".envrc c/.envrc", 2));
    // The folders on the way count once.
    assert_eq!(held(6), told(".envrc c/.envrc a/b/.envrc", 1));
    assert_eq!(held(7), told(".envrc c/.envrc a/b/.envrc a/b/.npmrc", 0));
}

#[test]
fn what_is_closed_is_not_compared() {
    let (_folder, root) = workspace(&[".placet/home/log", ".placet/x"]);
    let closed = [root.join(".placet/home")];
    let mut guard = Guard::of(&root, &closed);
    let before = guard.stamps(None, &closed, &root);
    write(&root, ".placet/home/log", "more\n");
    let now = Guard::of(&root, &closed).stamps(Some(&guard), &closed, &root);
    assert_eq!(now.changes_since(&before, &root), Steered::default());
}

#[test]
fn sockets_are_covered_while_somebody_listens() {
    let (_folder, root) = workspace(&["a/b/x", ".git/HEAD"]);
    let beneath = |name: &str| {
        let own = root.file_name().unwrap().to_str().unwrap();
        root.join(format!("{name}-{own}.sock"))
    };
    let paths = [beneath("a/b/one"), beneath(".git/two"), beneath("three")];
    let bind = |path| UnixListener::bind(path).unwrap();
    let [first, second, third] = paths.each_ref().map(bind);
    let listening = || Guard::of(&root, &[]).listening();
    let mut expected = paths.to_vec();
    expected.sort();
    assert_eq!(listening(), expected);
    drop(second);
    drop(third);
    assert_eq!(listening(), paths[..1]);
    drop(first);
    assert!(listening().is_empty());
}

#[test]
fn files_with_other_names_are_known() {
    let (_folder, root) = workspace(&["a", ".git/hooks/x", ".npmrc"]);
    fs::hard_link(root.join("a"), root.join(".envrc")).unwrap();
    fs::hard_link(root.join(".git/hooks/x"), root.join("b")).unwrap();
    let linked = Guard::of(&root, &[]).linked(&[], &root);
    assert_eq!(linked, [".envrc", ".git/hooks/x"]);
}

#[test]
fn what_is_too_much_is_told_and_what_lies_nearest_is_seen() {
    let (_folder, root) = workspace(&["a/b/.npmrc", "a/x", "c/.envrc", ".envrc"]);
    let unseen = |at_most| {
        let guard = Guard::of_entries(&root, &[], at_most);
        let nearest = guard.places.contains(&root.join(".envrc"));
        let unseen: Vec<_> = guard.unseen(&root).into_iter().collect();
        (unseen.join(" "), nearest)
    };
    assert_eq!(unseen(7), (String::new(), true));
    assert_eq!(unseen(6), (String::from("a/b"), true));
    assert_eq!(unseen(3), (String::from("a c"), true));
    assert_eq!(unseen(0), (String::from("the workspace"), false));
}

#[test]
fn what_lies_too_deep_is_told() {
    let (_folder, root) = workspace(&[]);
    let name = "d".repeat(250);
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = open(&root, flags, Mode::empty()).unwrap();
    for _ in 0..20 {
        mkdirat(&at, &name, Mode::RWXU).unwrap();
        at = openat(&at, &name, flags, Mode::empty()).unwrap();
    }
    let unseen = Guard::of(&root, &[]).unseen(&root);
    assert_eq!(unseen.len(), 1);
    assert!(unseen.iter().all(|place| place.starts_with(&name)));
}

#[test]
fn a_folder_that_cannot_be_read_is_told() {
    let (_folder, root) = workspace(&["sub/.envrc", ".git/config"]);
    let set = |mode| {
        for folder in ["sub", ".git"] {
            fs::set_permissions(root.join(folder), fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o000);
    // Root reads it all the same.
    let expected: &[&str] = match root.join("sub").read_dir() {
        Ok(_) => &[],
        Err(_) => &[".git", "sub"],
    };
    let unseen: Vec<_> = Guard::of(&root, &[]).unseen(&root).into_iter().collect();
    set(0o700);
    assert_eq!(unseen, expected);
}
