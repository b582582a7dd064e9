//! A pipe, a socket, a folder or a device where a person names a file or a folder: no verb waits
//! for it or reads it without end, and what it is is said.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, Mode, mkfifoat};

use crate::odd_files::bounded;
use crate::support::World;

/// Stands for what is named.
const ODD: &str = "ODD";

/// Stands for the run.
const RUN: &str = "RUN";

/// Verbs that read a file.
const FILES: [&[&str]; 9] = [
    &["--home", "new", "restore", "copy", "--key", ODD],
    &["audit", "verify", ODD],
    &["runs", "replay", ODD],
    &["runs", "answer", RUN, "--file", ODD],
    &["runs", "amend", RUN, "c2", "--args", ODD],
    &["policy", "check", ODD],
    &["policy", "check", "--workspace", ODD],
    &["--config", ODD, "runs", "approve", RUN],
    &["run", "--model", "script:ODD", "--workspace", "ws", "Tidy."],
];

/// Verbs that read a folder, or make something that must not be there yet.
const FOLDERS: [&[&str]; 6] = [
    &["--home", "new", "restore", ODD],
    &["backup", ODD],
    &["--home", ODD, "runs", "list"],
    &[
        "run",
        "--model",
        "script:tidy.toml",
        "--workspace",
        ODD,
        "Tidy.",
    ],
    &["man", ODD],
    &["audit", "export", "--run", RUN, "--out", ODD],
];

/// What is put there, with the words for it.
const KINDS: [(&str, &str); 5] = [
    ("pipe", "it is a pipe and no file"),
    ("socket", "it is a socket and no file"),
    ("folder", "it is a folder and no file"),
    ("endless", "it is a device and no file"),
    ("waiting", "it is a pipe and no file"),
];

fn world() -> World {
    let world = World::parked_as_user();
    let made = world.call(&["backup", "copy"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    // A restore goes on where the ledger of the backup is gone.
    fs::rename(world.path("data"), world.path("away")).unwrap();
    fs::create_dir(world.path("odd")).unwrap();
    let at = |name: &str| world.path("odd").join(name);
    mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
    drop(UnixListener::bind(at("socket")).unwrap());
    fs::create_dir(at("folder")).unwrap();
    symlink("/dev/zero", at("endless")).unwrap();
    symlink("pipe", at("waiting")).unwrap();
    world
}

/// Calls a verb with something odd: what it came to.
fn call(world: &World, verb: &[&str], name: &str) -> (i32, String) {
    let restores = verb.contains(&"restore");
    let (from, to) = (world.path("away"), world.path("data"));
    if !restores {
        fs::rename(&from, &to).unwrap();
    }
    let odd = format!("odd/{name}");
    let words = verb.iter().map(|word| match *word {
        RUN => world.run().to_owned(),
        word => word.replace(ODD, &odd),
    });
    let words: Vec<_> = words.collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let done = bounded(world, &words);
    if !restores {
        fs::rename(to, from).unwrap();
    }
    done
}

#[test]
fn what_is_named_and_no_file_is_said_to_be_none() {
    let world = world();
    for (name, what) in KINDS {
        for verb in FILES {
            let (code, said) = call(&world, verb, name);
            assert!(![0, 6].contains(&code), "{verb:?} {name}: {code}: {said}");
            assert!(said.contains(what), "{verb:?} {name}: {said}");
            // The path of a script is that behind every link.
            let path = world.path("odd").join(name);
            let named = [path.canonicalize().unwrap(), path];
            let named = named.map(|path| said.contains(path.to_str().unwrap()));
            assert_ne!(named, [false; 2], "{verb:?} {name}: {said}");
        }
        assert!(!world.path("new").exists(), "{name}");
    }
}

#[test]
fn what_is_named_and_no_folder_is_said_to_be_none() {
    let world = world();
    for (name, _) in KINDS.into_iter().filter(|(name, _)| *name != "folder") {
        for verb in FOLDERS {
            let (code, said) = call(&world, verb, name);
            assert_ne!(code, 0, "{verb:?} {name}: {said}");
            let path = format!("odd/{name}");
            assert!(said.contains(&path), "{verb:?} {name}: {said}");
        }
        assert!(!world.path("new").exists(), "{name}");
    }
}

#[test]
fn a_key_that_is_larger_than_any_is_not_read() {
    let world = world();
    fs::write(world.path("odd/large"), vec![0; 5000]).unwrap();
    let (code, said) = call(&world, FILES[0], "large");
    assert_eq!(code, 64, "{said}");
    assert!(said.contains("it has more than 4096 bytes"), "{said}");
    // A key may lie behind a link.
    symlink(
        world.path("away/placet/ledger.key"),
        world.path("odd/linked"),
    )
    .unwrap();
    let (code, said) = call(&world, FILES[0], "linked");
    assert_eq!(code, 0, "{said}");
}
