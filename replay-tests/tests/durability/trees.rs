//! `kill -9` while folders are made, moved, copied and removed: whatever was half done is finished
//! or taken back, and nothing is left beside.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::kills::{Moment, assert_done_once, at_each, killed_at, moments};
use super::place::{Place, placet};

/// Every call of one reply is proposed before the first of them is executed.
const SCRIPT: &str = r#"
[[turn]]
calls = [
  { tool = "mkdir", args = { path = "new/deep/er", parents = true } },
  { tool = "mv", args = { from = "tree", to = "sub/moved", recursive = true } },
  { tool = "cp", args = { from = "original", to = "sub/copy", recursive = true } },
  { tool = "rm", args = { path = "gone", recursive = true } },
  { tool = "mv", args = { from = "a.txt", to = "sub/b.txt", overwrite = true } },
  { tool = "cp", args = { from = "old.txt", to = "copy.txt" } },
]
[[turn]]
text = "Done."
"#;

/// The calls that change what is in a folder.
const CALLS: &[&str] = &[
    "mkdirat",
    "renameat2",
    "unlinkat",
    "symlinkat",
    "fchmod",
    "fsync",
];

/// How many moments there are.
const MOMENTS: usize = 64;

/// A workspace with folders in it.
fn place() -> Place {
    let place = Place::with(SCRIPT);
    let work = place.root().join("work");
    for folder in ["tree", "original", "gone"] {
        let folder = work.join(folder);
        fs::create_dir_all(folder.join("inner/empty")).unwrap();
        fs::write(folder.join("one"), "1\n").unwrap();
        fs::write(folder.join("inner/two"), "2\n").unwrap();
        fs::write(folder.join("run"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(folder.join("run"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink("../a-file", folder.join("link")).unwrap();
    }
    fs::write(work.join("a-file"), "x\n").unwrap();
    symlink("../a-file", work.join("sub/a-file")).unwrap();
    place
}

/// Everything in a folder, by path.
fn everything(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(inner) = open.pop() {
        for entry in fs::read_dir(inner).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let mode = metadata.permissions().mode() & 0o7777;
            let what = if metadata.is_symlink() {
                format!("link {}", fs::read_link(&path).unwrap().display())
            } else if metadata.is_dir() {
                open.push(path.clone());
                format!("folder {mode:o}")
            } else {
                format!("file {mode:o} {}", fs::read_to_string(&path).unwrap())
            };
            let path = path.strip_prefix(folder).unwrap();
            found.insert(path.to_str().unwrap().to_owned(), what);
        }
    }
    found
}

/// What is to be in the workspace at the end.
fn everything_after() -> BTreeMap<String, String> {
    let place = place();
    let work = place.root().join("work");
    fs::create_dir_all(work.join("new/deep/er")).unwrap();
    fs::rename(work.join("tree"), work.join("sub/moved")).unwrap();
    fs::rename(work.join("gone"), work.join("sub/copy")).unwrap();
    fs::rename(work.join("a.txt"), work.join("sub/b.txt")).unwrap();
    fs::copy(work.join("old.txt"), work.join("copy.txt")).unwrap();
    everything(&work)
}

fn kill_and_resume(_: usize, moment: Moment) -> bool {
    let place = place();
    let case = format!("{moment:?}");
    let run = place.run(&["--approval-policy", "high-risk"]);
    let killed = killed_at(moment, &run).is_none();
    let mut last = match place.the_run() {
        Some(run) => placet(&place, &["runs", "resume", &run]),
        // Its start never was on disk, so it is started again.
        None => run,
    };
    let output = last.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{case}: {said}");
    assert_eq!(
        everything(&place.root().join("work")),
        everything_after(),
        "{case}"
    );
    assert_done_once(&case, &place);
    assert!(place.verify().ok, "{case}");
    killed
}

#[test]
fn folders_that_were_half_changed_when_it_was_killed_are_whole_after_it_resumes() {
    let place = place();
    let run = place.run(&["--approval-policy", "high-risk"]);
    let moments = moments(place.root(), &run, CALLS, MOMENTS);
    assert_eq!(everything(&place.root().join("work")), everything_after());
    let killed = at_each(&moments, kill_and_resume);
    assert!(
        killed > MOMENTS / 2,
        "only {killed} were killed before their end"
    );
}
