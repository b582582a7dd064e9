//! A home and a state folder that cannot be changed are evidence like any other.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::World;

/// Copies a folder as it is now; sockets are left out.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy(&entry.path(), &target);
        } else if kind.is_file() {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Gives everything below to a user, with modes for files and folders.
fn give(path: &Path, user: u32, (file, folder): (u32, u32)) {
    let is_folder = fs::symlink_metadata(path).unwrap().is_dir();
    if is_folder {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user, (file, folder));
        }
    }
    std::os::unix::fs::chown(path, Some(user), Some(user)).unwrap();
    let mode = if is_folder { folder } else { file };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Calls the program as a user who is not root.
#[expect(clippy::disallowed_methods, reason = "the program itself is looked at")]
fn call(world: &World, user: u32, args: &[&str]) -> Output {
    let mut command = Command::new("setpriv");
    let user = [format!("--reuid={user}"), format!("--regid={user}")];
    command.args(user).args(["--clear-groups", "--"]);
    command.arg(world.path("program")).args(args);
    at(&mut command, world).output().unwrap()
}

/// Has a process of the program find its folders in a world.
pub(crate) fn at<'a>(command: &'a mut Command, world: &World) -> &'a mut Command {
    command.env_clear().current_dir(world.dir.path());
    command.env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
    for (name, folder) in [
        ("HOME", "person"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_DATA_HOME", "data"),
        ("TMPDIR", "tmp"),
    ] {
        command.env(name, world.path(folder));
    }
    command
}

#[test]
fn what_cannot_be_changed_can_be_read_and_verified() {
    const NOBODY: u32 = 65_534;
    let world = World::parked();
    if !rustix::process::geteuid().is_root() {
        // Only root can be somebody else.
        return;
    }
    fs::create_dir(world.path("tmp")).unwrap();
    fs::hard_link(env!("CARGO_BIN_EXE_placet"), world.path("program"))
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_placet"), world.path("program")).map(drop))
        .unwrap();
    for (path, mode) in [(world.dir.path(), 0o755), (&world.path("tmp"), 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let doctor = || {
        let looked = call(&world, NOBODY, &["doctor"]);
        let said = String::from_utf8(looked.stdout).unwrap();
        let line = said.lines().find(|line| line.contains("  writing"));
        (looked.status.code(), line.unwrap_or(&said).to_owned())
    };
    for folder in ["data", "state"] {
        give(&world.path(folder), NOBODY, (0o600, 0o700));
    }
    let (code, writing) = doctor();
    assert!(writing.starts_with("ok"), "{code:?}: {writing}");
    // The head files alone, then everything.
    for modes in [[(0o600, 0o700), (0o400, 0o500)], [(0o400, 0o500); 2]] {
        for (folder, modes) in ["data", "state"].into_iter().zip(modes) {
            give(&world.path(folder), NOBODY, modes);
        }
        for args in [
            &["audit", "verify"][..],
            &["audit", "log"],
            &["runs", "list"],
            &["runs", "show", world.run()],
            &["inbox"],
            &["audit", "export", "--run", world.run()],
        ] {
            let output = call(&world, NOBODY, args);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{args:?} {modes:?}: {said}");
            assert!(!said.contains("WARN"), "{args:?}: {said}");
            let shown = String::from_utf8_lossy(&output.stdout);
            assert!(!shown.contains("cannot"), "{args:?}: {shown}");
        }
        let (code, writing) = doctor();
        assert_eq!(code, Some(1), "{modes:?}: {writing}");
        let head = world.path("state/placet").display().to_string();
        let home = world.path("data/placet").display().to_string();
        let named = if modes[0] == modes[1] { home } else { head };
        let said = format!("cannot write to {named}");
        assert!(
            writing.starts_with("fail") && writing.contains(&said),
            "{writing}"
        );
        // What records something says what it lacks, and finds no damage.
        let run = world.run();
        let refused = call(&world, NOBODY, &["runs", "reject", run, "--note", "no"]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{modes:?}: {said}");
        assert!(said.contains(&named), "{modes:?}: {said}");
        assert!(said.contains("must be yours"), "{modes:?}: {said}");
    }
    // Where nothing can be written for temporary files either, the copy lies in memory.
    give(&world.path("tmp"), 0, (0o600, 0o700));
    let verified = call(&world, NOBODY, &["audit", "verify"]);
    let said = String::from_utf8_lossy(&verified.stderr);
    assert_eq!(verified.status.code(), Some(0), "{said}");
}
