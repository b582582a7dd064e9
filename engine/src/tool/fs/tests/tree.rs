//! What is shown of a folder with everything in it, and which folders have no listing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;

use super::*;

/// Every way in which a folder is proposed to be changed.
fn each(bench: &Bench, path: &str) -> Vec<Result<Draft, ToolError>> {
    vec![
        bench.rm_tree(path),
        bench.mv(path, "to", "r"),
        bench.cp(path, "to", "r"),
    ]
}

#[test]
fn each_entry_is_shown() {
    let bench = Bench::new()
        .has_folder("old/sub/empty")
        .has("old/sub/file", "12345")
        .has("old/sub-file", "")
        .has("old/run", "#!")
        .has_link("old/link", "sub/file")
        .has_mode("old/sub/file", 0o600)
        .has_mode("old/run", 0o755)
        .has_mode("old/sub-file", 0o644);
    for folder in ["old", "old/sub", "old/sub/empty"] {
        fs::set_permissions(bench.at(folder), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let lines = [
        "link    777          8 link -> sub/file",
        "file    755          2 run",
        "folder  755          0 sub/",
        "file    644          0 sub-file",
        "folder  755          0 sub/empty/",
        "file    600          5 sub/file",
    ];
    let listing = |mark: &str| -> String {
        let ends = lines.iter().flat_map(|line| {
            [
                mark, *line, "
",
            ]
        });
        ends.collect()
    };
    let draft = bench.rm_tree("./old/").unwrap();
    assert_eq!(
        draft.message,
        "Remove the folder old and everything in it (6 entries, 15 bytes)."
    );
    assert_eq!(
        draft.preview.unwrap(),
        format!("--- a/old/\n+++ /dev/null\n{}", listing("-"))
    );
    assert_eq!(
        draft.execute_arguments,
        json!({"path": "old", "recursive": true})
    );
    let draft = bench.mv("old", "new", "r").unwrap();
    assert_eq!(
        draft.message,
        "Move the folder old with everything in it to new (6 entries, 15 bytes)."
    );
    assert_eq!(
        draft.preview.unwrap(),
        format!("rename from old/\nrename to new/\n{}", listing(" "))
    );
    let draft = bench.cp("old", "new", "r").unwrap();
    assert_eq!(
        draft.preview.unwrap(),
        format!("copy from old/\ncopy to new/\n{}", listing("+"))
    );
    assert_eq!(bench.names(), ["old"], "proposing changes nothing");
}

#[test]
fn entries_of_a_tree_are_never_shown_alike() {
    let bench = Bench::new()
        .has_folder("old")
        .has_link("old/a", "b -> c")
        .has_link("old/a -> b", "c")
        .has_link("old/d\u{202e}", r"d\u{202e}");
    assert_eq!(
        bench.rm_tree("old").unwrap().preview.unwrap(),
        "--- a/old/\n+++ /dev/null\n-link    777          6 a -> b -> c\n-link    777          1 \
         a -\\x3e b -> c\n-link    777          9 d\\u{202e} -> d\\\\u{202e}\n"
    );
}

#[test]
fn the_listing_of_a_folder_is_its_precondition() {
    let bench = Bench::new()
        .has_folder("old/sub/empty")
        .has("old/sub-file", "x")
        .has("old/sub/file", "x")
        .has_link("old/link", "sub/file")
        .has_mode("old", 0o750);
    let draft = bench.cp("old", "new", "r").unwrap();
    let Precondition::Transfer { source, target } = draft.precondition else {
        panic!("a copy is a transfer");
    };
    assert!(matches!(*target, Precondition::Absent { .. }));
    let Precondition::Tree { entries, mode, .. } = *source else {
        panic!("a folder is a tree");
    };
    assert_eq!(mode, 0o750);
    let paths: Vec<_> = entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["link", "sub", "sub-file", "sub/empty", "sub/file"]);
    let digests = entries
        .iter()
        .filter(|entry| entry.digest.is_some())
        .count();
    assert_eq!(digests, 3, "each file and each link");
}

#[test]
fn a_folder_needs_leave() {
    let bench = Bench::new().has_folder("old").has("old/a", "x");
    for result in [
        bench.rm("old"),
        bench.mv("old", "to", ""),
        bench.cp("old", "to", "o"),
    ] {
        said(result, "old is a folder (1 entry, 1 byte): set recursive");
    }
    let bench = Bench::new().has("a", "x");
    for result in each(&bench, "a/") {
        said(result, "a is not a folder");
    }
    for result in each(&bench, ".") {
        said(
            result,
            "the path . is a folder, the workspace itself: name something in it",
        );
    }
}

#[test]
fn a_tree_of_too_many_entries_is_an_error() {
    let bench = Bench::new().has_folder("old/sub");
    for number in 0..999 {
        fs::write(bench.at(&format!("old/sub/{number:04}")), "").unwrap();
    }
    for draft in each(&bench, "old") {
        assert_eq!(draft.unwrap().preview.unwrap().lines().count(), 1_002);
    }
    fs::write(bench.at("old/sub/one-more"), "").unwrap();
    for result in each(&bench, "old") {
        said(result, "old has more than 1000 entries");
    }
    said(bench.rm("old"), "old is a folder: set recursive");
    let bench = Bench::new().has_folder(&format!("old/{}", "d/".repeat(130)));
    for result in each(&bench, "old") {
        said(result, "more than 128 deep");
    }
}

#[test]
fn special_files_are_refused_and_do_not_hang() {
    let bench = Bench::new().has_folder("old/sub");
    pipe(&bench.at("old/sub/pipe"));
    for result in each(&bench, "old") {
        said(result, "old/sub/pipe is a pipe");
    }
    fs::remove_file(bench.at("old/sub/pipe")).unwrap();
    let _socket = UnixListener::bind(bench.at("old/sub/socket")).unwrap();
    for result in each(&bench, "old") {
        said(result, "old/sub/socket is a socket");
    }
    for name in ["pipe", "socket"] {
        let bench = Bench::new();
        if name == "pipe" {
            pipe(&bench.at(name));
        } else {
            UnixListener::bind(bench.at(name)).unwrap();
        }
        said(bench.mv(name, "to", ""), &format!("{name} is a {name}"));
        said(bench.cp(name, "to", "o"), &format!("{name} is a {name}"));
    }
}

#[test]
fn names_that_no_listing_can_show_are_refused() {
    for (name, shown) in [
        (&b"a\nb"[..], "a\\nb"),
        (b"a\x1b[2J", "a\\u{1b}[2J"),
        (b"a\xff", "a\\xff"),
        ("a\u{9b}b".as_bytes(), "a\\u{9b}b"),
    ] {
        let bench = Bench::new().has_folder("old/sub");
        fs::write(bench.at("old/sub").join(OsStr::from_bytes(name)), "").unwrap();
        for result in each(&bench, "old") {
            said(
                result,
                &format!("the name of old/sub/{shown} has control characters"),
            );
        }
        let bench = Bench::new().has_folder("old");
        symlink(OsStr::from_bytes(name), bench.at("old/link")).unwrap();
        for result in each(&bench, "old") {
            said(result, "the name of what old/link leads to");
        }
    }
}

#[test]
fn a_folder_above_something_closed_is_refused() {
    let home = |bench: &Bench| bench.folder.path().join("home");
    let bench = Bench::new().has_folder("old/sub");
    fs::write(home(&bench).join("key"), "secret").unwrap();
    fs::hard_link(home(&bench).join("key"), bench.at("old/sub/innocent")).unwrap();
    for result in each(&bench, "old") {
        said(result, "closed: old/sub/innocent belongs to placet");
    }
    for result in each(&bench, "old/sub/innocent") {
        said(result, "closed:");
    }
    let bench = Bench::new().has_folder("old/sub").has("a", "x");
    fs::rename(home(&bench), bench.at("old/sub/home")).unwrap();
    for path in ["old", "old/sub", "old/sub/home"] {
        for result in each(&bench, path) {
            said(result, "closed: old/sub/home belongs to placet");
        }
    }
    for verb in [Verb::Move, Verb::Copy] {
        said(bench.transfer(verb, "a", "old/sub/home/a", "o"), "closed:");
        said(bench.transfer(verb, "a", "old/sub/home", "o"), "closed:");
    }
}

#[test]
fn set_id_and_sticky_bits_are_not_handed_on() {
    for path in ["old", "old/sub", "old/sub/file"] {
        let bench = Bench::new()
            .has_folder("old/sub")
            .has("old/sub/file", "x")
            .has_mode(path, 0o4755);
        for result in [bench.mv("old", "to", "r"), bench.cp("old", "to", "r")] {
            said(result, &format!("refused: {path} has set-id"));
        }
        assert!(bench.rm_tree("old").is_ok());
    }
    let bench = Bench::new()
        .has("a", "x")
        .has_mode("a", 0o2755)
        .has("b", "y");
    for (from, to) in [("a", "to"), ("b", "a")] {
        for result in [bench.mv(from, to, "o"), bench.cp(from, to, "o")] {
            said(result, "refused: a has set-id");
        }
    }
}

#[test]
fn other_names_of_its_files_are_told() {
    let bench = Bench::new().has_folder("old").has("old/a", "x");
    fs::hard_link(bench.at("old/a"), bench.at("b")).unwrap();
    let message = bench.rm_tree("old").unwrap().message;
    assert!(
        message.ends_with("Files in it with other hard links, which keep their content: 1."),
        "{message}"
    );
}

#[test]
fn a_folder_that_cannot_be_emptied_is_not_proposed() {
    let bench = Bench::new()
        .has_folder("old/sub")
        .has("old/sub/a", "x")
        .has_mode("old/sub", 0o555);
    // Modes do not bind root.
    let is_bound = fs::write(bench.at("old/sub/b"), "").is_err();
    if is_bound {
        said(
            bench.rm_tree("old"),
            "old/sub cannot be written, so what is in it",
        );
    }
    fs::set_permissions(bench.at("old/sub"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(bench.rm_tree("old").is_ok());
}

#[test]
fn another_mount_is_not_changed_from_here() {
    let bench = Bench::new();
    let root = Workspace::open(Path::new("/"), ClosedSet::new()).unwrap();
    let files = Files::new(Arc::new(root), bench.files.locks.clone());
    let transfer = |verb, from: &str, to: &str| {
        let arguments = json!({"from": from, "overwrite": true, "recursive": true, "to": to});
        super::super::transfer::draft(&files, verb, &arguments)
    };
    let temporary = bench.at("");
    let to = temporary.join("to").to_str().unwrap().to_owned();
    let rm = json!({"path": "/proc", "recursive": true});
    said(remove::draft(&files, &rm), "is on another mount");
    for verb in [Verb::Move, Verb::Copy] {
        said(transfer(verb, "/proc", &to), "is on another mount");
        said(transfer(verb, "/proc/version", &to), "is on another mount");
        said(
            transfer(verb, "/etc/hostname", "/proc/to"),
            "is on another mount",
        );
    }
    let mkdir = json!({"parents": true, "path": "/proc/a/b"});
    said(
        super::super::make::draft(&files, &mkdir),
        "is on another mount",
    );
    let stat = super::super::stat::stat(&files, &json!({"path": "/proc"}));
    said(stat, "is on another mount");
}

#[test]
fn a_folder_above_a_link_that_leads_to_something_closed_is_refused() {
    let bench = Bench::new().has_folder("above/sub");
    let home = bench.folder.path().join("home");
    symlink(&home, bench.at("above/sub/way")).unwrap();
    let mut closed = ClosedSet::new();
    closed
        .close_folder(&bench.at("above/sub/way/placet"))
        .unwrap();
    let workspace = Workspace::open(&bench.at(""), closed).unwrap();
    let files = Files::new(Arc::new(workspace), bench.folder.path().join("locks"));
    let bench = Bench { files, ..bench };
    for path in ["above", "above/sub"] {
        for refused in each(&bench, path) {
            said(refused, "closed: above/sub/way belongs to placet");
        }
    }
    said(bench.rm("above/sub/way"), "closed:");
    said(bench.mv("above/sub/way", "to", ""), "closed:");
    said(bench.write("above/sub/way", "x"), "closed:");
}
