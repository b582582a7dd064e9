//! Which files a contained program can read and write.

use std::fs;
use std::os::unix::fs::symlink;

use placet_ledger::containment::Part;

use super::Place;

#[test]
fn a_program_writes_its_workspace() {
    let place = Place::new();
    place.says("echo milk > notes.txt; mkdir deep; mv notes.txt deep/; echo x > .git/index");
    assert_eq!(
        fs::read(place.path("work/deep/notes.txt")).unwrap(),
        b"milk\n"
    );
}

#[test]
fn a_program_writes_nothing_else() {
    let place = Place::new();
    if !place.has(Part::Mounts) && !place.has(Part::Landlock) {
        return;
    }
    let outside = place.path("running").display().to_string();
    for folder in [
        "/usr",
        "/etc",
        "/opt",
        "/",
        "/var",
        "/proc/self",
        outside.as_str(),
    ] {
        let said = place.says(&format!(
            "(echo x > {folder}/planted) 2>/dev/null || echo refused"
        ));
        assert_eq!(said, "refused", "{folder}");
    }
    assert!(!place.path("running/planted").exists());
}

#[test]
fn the_home_is_not_there() {
    let place = Place::new();
    if !place.has(Part::Mounts) && !place.has(Part::Landlock) {
        return;
    }
    let key = place.path("home/.ssh/id").display().to_string();
    symlink(&key, place.path("work/link")).unwrap();
    for script in [
        format!("cat {key}"),
        "cat link".to_owned(),
        "cat ../home/.ssh/id".to_owned(),
        format!("ln {key} hard && cat hard"),
        format!("ls {}", place.path("home").display()),
        format!("cat /proc/1/root{key}"),
        format!("cat /proc/{}/root{key}", std::process::id()),
    ] {
        let said = place.says(&format!("({script}) 2>/dev/null || echo refused"));
        assert_eq!(said, "refused", "{script}");
    }
}

#[test]
fn the_rest_of_the_machine_is_not_there() {
    let place = Place::new();
    if !place.has(Part::Mounts) {
        return;
    }
    for path in [
        "/run", "/home", "/root", "/var/run", "/sys", "/.host", "/dev/tty", "/dev/pts",
    ] {
        let said = place.says(&format!("test -e {path} && echo there || echo not there"));
        assert_eq!(said, "not there", "{path}");
    }
    let beside = place.path("running").display().to_string();
    assert_eq!(
        place.says(&format!("test -e {beside} || echo hidden")),
        "hidden"
    );
    // Root owns these, and would need no privilege to read them.
    assert_eq!(place.says("cat /etc/shadow 2>/dev/null; echo"), "");
}

#[test]
fn closed_files_of_the_workspace_stay_as_they_are() {
    let place = Place::new();
    if !place.has(Part::Mounts) {
        return;
    }
    for script in [
        "echo x > .git/config",
        "echo x >> .git/config",
        "echo x > .git/hooks/pre-commit",
        "rm -rf .git/hooks",
        "rm -f .git/config",
        "mv .git/config .git/other",
        "mv .git elsewhere",
        "echo x > .git/new && mv -f .git/new .git/config",
        "chmod 777 .git/config",
        "touch -d 2001-01-01 .git/config",
        "ln .git/config writable && echo x > writable",
    ] {
        let said = place.says(&format!("({script}) 2>/dev/null || echo refused"));
        assert_eq!(said, "refused", "{script}");
    }
    assert_eq!(
        fs::read(place.path("work/.git/config")).unwrap(),
        b"[core]\n"
    );
    assert_eq!(
        fs::read_dir(place.path("work/.git/hooks")).unwrap().count(),
        0
    );
}

#[test]
fn hidden_files_of_the_workspace_are_covered() {
    let place = Place::new();
    if !place.has(Part::Mounts) {
        return;
    }
    fs::create_dir(place.path("work/keys")).unwrap();
    fs::write(place.path("work/keys/id"), "secret").unwrap();
    fs::write(place.path("work/token"), "secret").unwrap();
    let mut job =
        place.shell("cat token keys/id; mv keys other; mv token other; cat other/id; true");
    job.hidden = vec![place.path("work/keys"), place.path("work/token")];
    let ran = place.run(&job);
    assert_eq!(super::place::text(&ran.stdout.head), "");
    assert_eq!(fs::read(place.path("work/token")).unwrap(), b"secret");
}

#[test]
fn toolchains_of_the_home_can_be_read_and_nothing_else_of_it() {
    let mut place = Place::new();
    fs::create_dir_all(place.path("home/.cargo/bin")).unwrap();
    fs::write(place.path("home/.cargo/bin/tool"), "a tool").unwrap();
    fs::write(place.path("home/.cargo/credentials.toml"), "secret").unwrap();
    place.container = place.container.clone().with_home(Some(place.path("home")));
    let home = place.path("home").display().to_string();
    let mut job = place.shell(&format!(
        "cat {home}/.cargo/bin/tool; cat {home}/.cargo/credentials.toml {home}/.ssh/id; \
         echo x > {home}/.cargo/bin/tool; echo; echo $CARGO_HOME"
    ));
    job.hidden = Vec::new();
    let said = super::place::text(&place.run(&job).stdout.head);
    if place.has(Part::Mounts) || place.has(Part::Landlock) {
        assert_eq!(said, format!("a tool\n{home}/.cargo\n"));
    }
}

#[test]
fn credentials_beside_toolchains_are_covered() {
    let secrets = [
        ".dotnet/corefx/cryptography/key",
        ".local/share/uv/credentials/token",
        ".opam/plugins/opam-publish/token",
    ];
    for parts in [&[][..], &[Part::Mounts]] {
        let mut place = Place::without(parts.iter().copied());
        if !place.has(Part::Mounts) && !place.has(Part::Landlock) {
            continue;
        }
        for secret in secrets {
            let path = place.path("home").join(secret);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "secret").unwrap();
        }
        place.container = place.container.clone().with_home(Some(place.path("home")));
        for secret in secrets {
            let path = place.path("home").join(secret).display().to_string();
            let mut job = place.shell(&format!("cat {path} 2>/dev/null || echo refused"));
            job.hidden = Vec::new();
            let said = super::place::text(&place.run(&job).stdout.head);
            assert_eq!(said, "refused\n", "{secret} {parts:?}");
        }
    }
}

#[test]
fn what_others_cannot_read_of_the_settings_is_covered() {
    let place = Place::new();
    if !place.has(Part::Mounts) {
        return;
    }
    // What is covered is empty, and the cover is everybody's to read.
    let closed = r"find /etc \( -type d ! -perm -o=x -o -type f ! -perm -o=r \) \
                  ! -path /etc 2>/dev/null; true";
    let found = place.says(closed);
    let own = rustix::process::geteuid().as_raw();
    let mine = |path: &&str| {
        use std::os::unix::fs::MetadataExt;
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|found| found.is_file() && found.uid() == own)
    };
    let bare: Vec<_> = found.lines().filter(mine).collect();
    assert_eq!(bare, Vec::<&str>::new());
}

#[test]
fn no_file_lends_its_owners_rights() {
    let place = Place::new();
    if !place.has(Part::Syscalls) {
        return;
    }
    let said = place.attempt(&["modes"]);
    for line in said.lines() {
        let (name, errno) = line.split_once(' ').unwrap();
        let open = name.ends_with("plain") || name == "unused";
        let expected = if open { "0" } else { "1" };
        assert_eq!(errno, expected, "{name}");
    }
    assert!(said.lines().count() >= 15, "{said}");
    assert!(!place.path("work/lending").exists());
    assert!(!place.path("work/device").exists());
    fs::write(place.path("work/tool"), "").unwrap();
    for mode in ["4755", "2755", "6755", "u+s", "g+s"] {
        let said = place.says(&format!("chmod {mode} tool 2>/dev/null || echo refused"));
        assert_eq!(said, "refused", "{mode}");
    }
    assert_eq!(place.says("chmod 1755 tool && echo fine"), "fine");
}

#[test]
fn modes_and_times_of_the_machines_nodes_stay() {
    let place = Place::new();
    if !place.has(Part::Mounts) {
        return;
    }
    let said = place.attempt(&["nodes"]);
    let (mut refused, read_only) = (0, "30");
    for line in said.lines() {
        let (name, errno) = line.split_once(' ').unwrap();
        if name == "written" {
            assert_eq!(errno, "1", "devices are written to all the same");
        } else {
            assert_eq!(errno, read_only, "{name}");
            refused += 1;
        }
    }
    assert!(refused >= 30, "{said}");
}
