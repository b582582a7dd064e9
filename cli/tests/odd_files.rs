//! A pipe, a socket, a folder or a link in the place of a file of a home: no verb waits for it, and
//! what is wrong is said. And reading where a disk is full.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{CWD, Mode, mkfifoat};

use crate::holes::sealed;
use crate::support::World;

/// Seconds after which a process has waited for something: far more than any of them takes.
const WAITED_S: &str = "60";

/// Stands for the first run in what is called.
const RUN: &str = "RUN";

/// One that looks at everything, one that writes and drives, and those that read.
const VERBS: [&[&str]; 5] = [
    &["doctor"],
    &["runs", "resume", RUN],
    &["audit", "log", "--limit", "2000"],
    &["runs", "show", RUN],
    &["audit", "verify", "--records"],
];

/// Calls the program with a bound: its exit code, and all that it said.
#[expect(clippy::disallowed_methods, reason = "the program itself is looked at")]
pub(crate) fn bounded(world: &World, args: &[&str]) -> (i32, String) {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", WAITED_S, env!("CARGO_BIN_EXE_placet")]);
    command.args(args).env_clear().current_dir(&world.cwd);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    for (name, folder) in [
        ("HOME", "person"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_DATA_HOME", "data"),
        ("TMPDIR", ""),
    ] {
        command.env(name, world.path(folder));
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    // Killed by the bound, it has no code of its own.
    let code = output.status.code().unwrap_or(137);
    assert_ne!(code, 137, "{args:?} waited: {said}");
    (code, said)
}

/// One of each kind of file of a home, and of what lies beside its head file.
fn kinds(world: &World) -> Vec<PathBuf> {
    let home = world.path("data/placet");
    let mut found = Vec::new();
    let names = [
        "ledger",
        "owner",
        "keys",
        "ledger.key",
        "socket.key",
        "host",
        "socket",
        "log/0",
        "log/1",
        "sled/db",
        "sled/conf",
        "tile/entries/001",
        "tile/content/002",
    ];
    found.extend(names.map(|name| home.join(name)));
    let first = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().collect();
        names.sort_by_key(|name| name.as_ref().unwrap().path());
        names.first().map(|name| name.as_ref().unwrap().path())
    };
    found.extend(first(&home.join("content")));
    let head = first(&world.path("state/placet")).unwrap();
    found.extend(["head", "home"].map(|name| head.join(name)));
    let run = &world.runs[0];
    fs::create_dir_all(home.join("snapshots")).unwrap();
    found.push(home.join("snapshots").join(run));
    found.push(home.join("driving").join(run));
    found.push(home.join("running").join(format!("{run}-c1")));
    found.push(world.path("person/.config/placet/config.toml"));
    found
}

/// Puts something in the place of a file for a while.
fn with(world: &World, path: &Path, put: &dyn Fn(&Path), work: impl FnOnce()) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let there = fs::symlink_metadata(path).is_ok();
    let away = world.path("kept-by-the-test");
    if there {
        fs::rename(path, &away).unwrap();
    }
    put(path);
    work();
    match fs::symlink_metadata(path) {
        Ok(odd) if odd.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
    if there {
        fs::rename(&away, path).unwrap();
    }
}

/// No verb waits, and somebody says what is wrong: `doctor`, or a verb that fails.
fn nothing_waits(put: &dyn Fn(&Path), verbs: &[&[&str]]) {
    let sealed = sealed();
    let paths = kinds(&sealed.world);
    none_waits(&sealed.world, &paths, put, verbs);
}

fn none_waits(world: &World, paths: &[PathBuf], put: &dyn Fn(&Path), verbs: &[&[&str]]) {
    let run = world.runs[0].as_str();
    for path in paths {
        with(world, path, put, || {
            let verbs = verbs.iter().map(|args| {
                let args = args.iter().map(|arg| if *arg == RUN { run } else { *arg });
                args.collect::<Vec<_>>()
            });
            let said: Vec<_> = verbs.map(|args| bounded(world, &args)).collect();
            let is_socket = path.ends_with("socket");
            let name = path.display().to_string();
            let named = said.iter().any(|(_, said)| said.contains(&name));
            let failed = said.iter().any(|(code, _)| matches!(code, 1 | 6));
            assert!(named || is_socket, "{name}: {said:#?}");
            assert!(failed || is_socket, "{name}: {said:#?}");
        });
    }
    // All is well again.
    let (code, said) = bounded(world, &["audit", "verify", "--records"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_named_and_not_waited_for() {
    nothing_waits(
        &|path| mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).unwrap(),
        &VERBS,
    );
}

#[test]
fn a_pipe_in_the_place_of_a_folder_is_named_and_not_waited_for() {
    let sealed = sealed();
    let home = sealed.world.path("data/placet");
    let names = [
        "sled",
        "log",
        "tile",
        "tile/entries",
        "tile/content",
        "tile/new",
        "content",
        "driving",
        "running",
        "locks",
    ];
    let paths = names.map(|name| home.join(name));
    let put = |path: &Path| mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).unwrap();
    none_waits(&sealed.world, &paths, &put, &VERBS[..2]);
}

#[test]
fn a_socket_in_the_place_of_a_file_is_named_and_not_waited_for() {
    nothing_waits(
        &|path| {
            // A path may be longer than the name of a socket can be.
            let here = tempfile::tempdir().unwrap();
            let short = here.path().join("s");
            drop(UnixListener::bind(&short).unwrap());
            fs::rename(short, path).unwrap();
        },
        &VERBS[..2],
    );
}

#[test]
fn a_folder_in_the_place_of_a_file_is_named_and_not_waited_for() {
    nothing_waits(&|path| fs::create_dir(path).unwrap(), &VERBS[..2]);
}

#[test]
fn a_link_to_something_endless_is_named_and_not_read() {
    nothing_waits(&|path| symlink("/dev/zero", path).unwrap(), &VERBS[..2]);
}

/// What a person wants done, and hears why it is not: which file it is and what to do.
#[test]
fn an_error_of_a_file_of_the_home_names_it_and_says_what_to_do() {
    let world = World::parked_as_user();
    let home = world.path("data/placet");
    let heads: Vec<_> = fs::read_dir(world.path("state/placet")).unwrap().collect();
    let head = heads[0].as_ref().unwrap().path();
    let puts: [&dyn Fn(&Path); 2] = [&|path| fs::create_dir(path).unwrap(), &|path| {
        symlink("/dev/zero", path).unwrap();
    }];
    for (path, told) in [
        (
            home.join("owner"),
            "opening the note of the owner failed at",
        ),
        (home.join("keys"), "the keys of the store in"),
        (home.join("sled/db"), "sled"),
        (head.join("head"), "opening the head file"),
        (head.join("home"), "cannot note which home it is for in"),
        (home.join("host"), "cannot read the host id in"),
    ] {
        for put in puts {
            with(&world, &path, put, || {
                let (code, said) = bounded(&world, &["runs", "resume", &world.runs[0]]);
                if code == 2 {
                    // The file is made anew in the place of a link.
                    return;
                }
                assert!([1, 6].contains(&code), "{}: {code}: {said}", path.display());
                let place = path.display().to_string();
                for told in [told, &place, "hint: "] {
                    assert!(said.contains(told), "{told}: {said}");
                }
            });
        }
    }
    let head = names_below(&head);
    assert!(
        !head.iter().any(|name| name.starts_with("home.")),
        "{head:?}"
    );
}

fn names_below(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// Reads a home on a disk without a free byte, and compares it with what it was.
#[cfg(feature = "system-tests")]
const ON_A_FULL_DISK: &str = r#"
set -eu
mkdir full
mount -t tmpfs -o size=64m tmpfs full
cp -a data state full/
mkdir full/person
cat /dev/zero >full/rest 2>/dev/null || true
test "$(df --output=avail full | tail -n 1)" -eq 0
export HOME=$PWD/full/person XDG_DATA_HOME=$PWD/full/data XDG_STATE_HOME=$PWD/full/state
export TMPDIR=$PWD/full
for verb in "audit log --limit 2000" "runs show $RUN" "runs list" inbox "audit verify --records" \
  "audit export --run $RUN"; do
  code=0
  "$PLACET" $verb >out 2>err || code=$?
  echo "$verb: exit $code"
  test "$code" -eq 0 || cat err
done
"$PLACET" doctor >out 2>err || true
grep -E '^(fail|warn) +(ledger|tiles|space)' out | cut -c1-15 || true
diff -r data full/data && diff -r state full/state && echo unchanged
"#;

#[cfg(feature = "system-tests")]
#[test]
#[expect(clippy::disallowed_methods, reason = "the program itself is looked at")]
fn a_full_disk_can_be_read() {
    let sealed = sealed();
    let world = &sealed.world;
    let run = &world.runs[0];
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", ON_A_FULL_DISK]);
    command
        .env("PLACET", env!("CARGO_BIN_EXE_placet"))
        .env("RUN", run);
    command
        .env_remove("PLACET_HOME")
        .current_dir(world.dir.path());
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let said = said.replace(run, "RUN");
    let expected = "\
        audit log --limit 2000: exit 0\n\
        runs show RUN: exit 0\n\
        runs list: exit 0\n\
        inbox: exit 0\n\
        audit verify --records: exit 0\n\
        audit export --run RUN: exit 0\n\
        fail  space    \n\
        unchanged\n";
    assert_eq!(
        said,
        expected,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
