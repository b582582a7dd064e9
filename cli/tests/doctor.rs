//! `doctor`: what it finds, what it says, and that it changes nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use placet_ledger::store::sled::SledStore;

use crate::support::World;

/// A world of whoever runs the test, with a run that waits.
fn world() -> World {
    let mut world = World::parked();
    world.uid = fs::metadata(world.dir.path()).unwrap().uid();
    world
}

/// What is printed, without the room on this machine's disk.
fn doctor(world: &World, args: &[&str]) -> String {
    without_room(&world.show(&[args, &["doctor"]].concat()))
}

fn without_room(text: &str) -> String {
    let Some((before, after)) = text.split_once(" MiB free") else {
        return text.to_owned();
    };
    let digits = before.trim_end_matches(|c: char| c.is_ascii_digit());
    format!("{digits}<n> MiB free{after}")
}

/// The checks that did not come out ok, with the exit code.
fn findings(world: &World) -> (u8, Vec<String>) {
    let shown = world.call(&["--json", "doctor"]);
    let doctor: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let checks = doctor["checks"].as_array().unwrap();
    let word = |check: &serde_json::Value, key: &str| check[key].as_str().unwrap().to_owned();
    let found: Vec<_> = checks
        .iter()
        // How far commands are shut in depends on the machine.
        .filter(|check| check["status"] != "ok" && check["check"] != "sandbox")
        .map(|check| format!("{} {}", word(check, "status"), word(check, "check")))
        .collect();
    let fails = found.iter().any(|line| line.starts_with("fail"));
    assert_eq!(doctor["ok"].as_bool(), Some(!fails), "{}", shown.stdout);
    assert_eq!(shown.code == 0, !fails, "{}", shown.stdout);
    (shown.code, found)
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Every file and folder below one: its name, mode, change time and bytes.
fn everything(folder: &Path) -> Vec<(String, u32, i64, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let bytes = if meta.is_file() {
            fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        let name = path.display().to_string();
        let changed = if meta.is_file() { meta.ctime_nsec() } else { 0 };
        all.push((name, meta.mode(), changed, bytes));
        if meta.is_dir() {
            all.extend(everything(&path));
        }
    }
    all.sort();
    all
}

#[test]
fn a_machine_without_a_ledger_is_well_and_stays_as_it_is() {
    let mut world = World::new();
    world.uid = fs::metadata(world.dir.path()).unwrap().uid();
    let before = everything(world.dir.path());
    insta::assert_snapshot!(doctor(&world, &[]), @r"
    ok    home           <dir>/data/placet (the default)
    ok    folders above  nobody else can write to them
    ok    head folders   nobody else can write to them
    ok    ledger         none yet: placet run makes one
    ok    writing        nothing forbids to write to home and head folders
    ok    space          <n> MiB free where the home is
    ok    config         none at <dir>/person/.config/placet/config.toml: the defaults hold
    ok    workspace      no <dir>/placet.toml: nothing is denied
    ok    terminal       input or errors are no terminal: nobody is asked; output is none; columns unknown
    warn  sandbox        none: nothing shuts a command in; answers have the assurance same-user
                         hint: a command can do whatever you can, your keys and this ledger included: approve none that you would not type yourself
    -- stderr --
    -- exit 0 --
    ");
    assert_eq!(everything(world.dir.path()), before);
}

#[test]
fn a_home_is_looked_at_and_not_changed() {
    let world = world();
    mode(&world.path("data/placet/host"), 0o640);
    let before = everything(world.dir.path());
    insta::assert_snapshot!(doctor(&world, &[]), @r"
    ok    home           <dir>/data/placet (the default)
    ok    folders above  nobody else can write to them
    ok    head folders   nobody else can write to them
    warn  access         others have access to <dir>/data/placet/host
                         hint: take it away: chmod -R go-rwx; a verb that opens the ledger does so too
    ok    key files      keys, ledger.key, host
    warn  recovery key   recovery.key still lies in the home
                         hint: move it to a safe place offline; it alone can replace a stolen ledger key
    ok    ledger         <id>, format 1, 14 records
    ok    clock          not behind the newest record
    ok    tiles          all there, and as long as they were
    ok    head file      agrees, at 14 records
    ok    writing        nothing forbids to write to home and head folders
    ok    space          <n> MiB free where the home is
    ok    config         none at <dir>/person/.config/placet/config.toml: the defaults hold
    ok    workspace      no <dir>/placet.toml: nothing is denied
    ok    terminal       input or errors are no terminal: nobody is asked; output is none; columns unknown
    warn  sandbox        none: nothing shuts a command in; answers have the assurance same-user
                         hint: a command can do whatever you can, your keys and this ledger included: approve none that you would not type yourself
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(without_room(&world.json(&["doctor"])), @r#"
    {
      "checks": [
        {
          "check": "home",
          "detail": "<dir>/data/placet (the default)",
          "status": "ok"
        },
        {
          "check": "folders_above",
          "detail": "nobody else can write to them",
          "status": "ok"
        },
        {
          "check": "head_folders",
          "detail": "nobody else can write to them",
          "status": "ok"
        },
        {
          "check": "access",
          "detail": "others have access to <dir>/data/placet/host",
          "hint": "take it away: chmod -R go-rwx; a verb that opens the ledger does so too",
          "status": "warn"
        },
        {
          "check": "key_files",
          "detail": "keys, ledger.key, host",
          "status": "ok"
        },
        {
          "check": "recovery_key",
          "detail": "recovery.key still lies in the home",
          "hint": "move it to a safe place offline; it alone can replace a stolen ledger key",
          "status": "warn"
        },
        {
          "check": "ledger",
          "detail": "<id>, format 1, 14 records",
          "status": "ok"
        },
        {
          "check": "clock",
          "detail": "not behind the newest record",
          "status": "ok"
        },
        {
          "check": "tiles",
          "detail": "all there, and as long as they were",
          "status": "ok"
        },
        {
          "check": "head_file",
          "detail": "agrees, at 14 records",
          "status": "ok"
        },
        {
          "check": "writing",
          "detail": "nothing forbids to write to home and head folders",
          "status": "ok"
        },
        {
          "check": "space",
          "detail": "<n> MiB free where the home is",
          "status": "ok"
        },
        {
          "check": "config",
          "detail": "none at <dir>/person/.config/placet/config.toml: the defaults hold",
          "status": "ok"
        },
        {
          "check": "workspace",
          "detail": "no <dir>/placet.toml: nothing is denied",
          "status": "ok"
        },
        {
          "check": "terminal",
          "detail": "input or errors are no terminal: nobody is asked; output is none; columns unknown",
          "status": "ok"
        },
        {
          "check": "sandbox",
          "detail": "none: nothing shuts a command in; answers have the assurance same-user",
          "hint": "a command can do whatever you can, your keys and this ledger included: approve none that you would not type yourself",
          "status": "warn"
        }
      ],
      "level": "none, same-user",
      "missing": [
        "processes",
        "mounts",
        "network",
        "landlock",
        "syscalls",
        "limits"
      ],
      "ok": true
    }
    -- stderr --
    -- exit 0 --
    "#);
    assert!(
        everything(world.dir.path()) == before,
        "something was changed"
    );
}

#[test]
fn a_recovery_key_that_was_moved_is_not_missed() {
    let world = world();
    assert_eq!(findings(&world), (0, vec!["warn recovery_key".into()]));
    fs::remove_file(world.path("data/placet/recovery.key")).unwrap();
    assert_eq!(findings(&world), (0, Vec::new()));
    for name in ["keys", "ledger.key", "host"] {
        let (from, to) = (world.path("data/placet").join(name), world.path("away"));
        fs::rename(&from, &to).unwrap();
        let (code, found) = findings(&world);
        assert!(found.contains(&"fail key_files".into()), "{name} {found:?}");
        assert_eq!(code, if name == "keys" { 6 } else { 1 }, "{found:?}");
        symlink(&to, &from).unwrap();
        assert!(
            findings(&world).1.contains(&"fail key_files".into()),
            "{name}"
        );
        fs::remove_file(&from).unwrap();
        fs::rename(&to, &from).unwrap();
    }
}

#[test]
fn a_way_in_for_others_is_told() {
    let mut world = world();
    fs::remove_file(world.path("data/placet/recovery.key")).unwrap();
    for (path, open, closed, what) in [
        ("data/placet", 0o750, 0o700, "warn access"),
        ("data/placet/ledger.key", 0o644, 0o600, "warn access"),
        ("data", 0o770, 0o700, "fail folders_above"),
        ("state/placet", 0o703, 0o700, "fail head_folders"),
    ] {
        mode(&world.path(path), open);
        let code = u8::from(what.starts_with("fail"));
        assert_eq!(findings(&world), (code, vec![what.into()]), "{path}");
        mode(&world.path(path), closed);
    }
    // A folder like /tmp keeps what others put there apart.
    mode(&world.path("data"), 0o1777);
    assert_eq!(findings(&world), (0, Vec::new()));
    // Another user than the one whose files they are.
    world.uid += 1;
    let (code, found) = findings(&world);
    assert_eq!(code, 1);
    assert!(found.contains(&"fail access".into()), "{found:?}");
}

#[test]
fn a_ledger_in_use_is_looked_at_through_its_holder() {
    let world = world();
    let (mut holder, _lines) = crate::watch::holding(&world, world.run());
    let (code, found) = findings(&world);
    let shown = world.call(&["doctor"]).stdout;
    let told = format!("records, in use by process {}", holder.id());
    assert!(shown.contains(&told), "{shown}");
    assert!(shown.contains("ok    head file"), "{shown}");
    assert!(!found.iter().any(|one| one.contains("ledger")), "{found:?}");
    assert_eq!(code, 0);
    holder.kill().unwrap();
    holder.wait().unwrap();
}

#[test]
fn rights_of_others_to_the_head_file_are_told() {
    let world = world();
    let ledger = SledStore::ledger_at(&world.path("data/placet")).unwrap();
    let head = world
        .path("state/placet")
        .join(ledger.to_string())
        .join("head");
    mode(&head, 0o666);
    let shown = world.call(&["doctor"]);
    let told = format!("others have access to {}", head.display());
    assert!(shown.stdout.contains(&told), "{}", shown.stdout);
}

#[test]
fn a_ledger_whose_holder_does_not_answer_is_not_looked_at() {
    let world = world();
    let home = world.path("data/placet");
    let ledger = SledStore::ledger_at(&home).unwrap();
    let head_dir = world.path("state/placet").join(ledger.to_string());
    let store = SledStore::open(&home, &head_dir).unwrap();
    let shown = world.call(&["doctor"]);
    let pid = std::process::id();
    let told = format!("in use by process {pid}: it was not looked at");
    assert!(shown.stdout.contains(&told), "{}", shown.stdout);
    assert_eq!(shown.code, 0);
    drop(store);
}

#[test]
fn a_ledger_that_is_not_as_it_was_written_is_told_with_its_own_exit_code() {
    type Damage = fn(&World);
    let damages: [(&str, Damage); 5] = [
        ("fail head_file", |world| {
            let state = world.path("state/placet");
            fs::rename(state, world.path("away")).unwrap();
            fs::create_dir_all(world.path("state/placet")).unwrap();
        }),
        ("fail ledger", |world| {
            let folder = world.path("data/placet/sled");
            fs::remove_file(folder.join("db")).unwrap();
        }),
        ("fail ledger", |world| {
            fs::write(world.path("data/placet/sled/db"), [7; 4096]).unwrap();
        }),
        ("fail ledger", |world| {
            fs::write(world.path("data/placet/ledger"), "none\n").unwrap();
        }),
        ("fail ledger", |world| {
            fs::remove_dir_all(world.path("data/placet")).unwrap();
        }),
    ];
    for (what, damage) in damages {
        let world = world();
        damage(&world);
        let (code, found) = findings(&world);
        assert_eq!(code, 6, "{found:?}");
        assert!(found.contains(&what.into()), "{what}: {found:?}");
    }
}

#[test]
fn what_is_said_of_a_lost_file_is_true_of_that_one() {
    for (name, check, said) in [
        ("ledger.key", "key_files", "no backup holds it"),
        ("host", "key_files", "segment.started"),
        (
            "keys",
            "key_files",
            "a backup has its contents under keys of its own",
        ),
        ("HEAD/head", "head_file", "no backup holds it"),
    ] {
        let world = world();
        let ledger = SledStore::ledger_at(&world.path("data/placet")).unwrap();
        let path = match name.strip_prefix("HEAD/") {
            Some(name) => world
                .path("state/placet")
                .join(ledger.to_string())
                .join(name),
            None => world.path("data/placet").join(name),
        };
        fs::remove_file(&path).unwrap();
        let hints = hints(&world, check);
        assert!(hints.contains(said), "{name}: {hints}");
        assert!(
            !hints.contains("from a backup of this home"),
            "{name}: {hints}"
        );
    }
    // Something else in their place is told with what brings them back.
    for (name, said) in [
        ("home", "makes it anew"),
        ("holder", "makes it anew"),
        ("head", "no backup holds it"),
    ] {
        let world = world();
        let ledger = SledStore::ledger_at(&world.path("data/placet")).unwrap();
        let path = world
            .path("state/placet")
            .join(ledger.to_string())
            .join(name);
        drop(fs::remove_file(&path));
        fs::create_dir(&path).unwrap();
        let hints = hints(&world, "home_files");
        assert!(hints.contains(said), "{name}: {hints}");
        let failing = failing(&world, "home_files").remove(0);
        let told = format!("{} is a folder", path.display());
        assert!(failing.contains(&told), "{failing}");
    }
    for name in ["socket", "socket.key", "recovery.key"] {
        let world = world();
        let path = world.path("data/placet").join(name);
        drop(fs::remove_file(&path));
        fs::create_dir(&path).unwrap();
        mode(&path, 0o700);
        let (code, found) = findings(&world);
        assert_eq!(code, 1);
        assert!(
            found.contains(&String::from("fail home_files")),
            "{name}: {found:?}"
        );
    }
}

/// What can be done about a check that fails.
fn hints(world: &World, check: &str) -> String {
    let shown = world.call(&["--json", "doctor"]);
    let doctor: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let mut checks = doctor["checks"].as_array().unwrap().iter();
    let of = checks.find(|one| one["check"] == check && one["status"] == "fail");
    of.unwrap()["hint"].as_str().unwrap().to_owned()
}

#[test]
fn a_config_that_cannot_be_read_is_told_with_the_rest() {
    let world = world();
    fs::write(
        world.path("config.toml"),
        "[agents.reader]\n[agents.writer]\n",
    )
    .unwrap();
    fs::write(world.path("placet.toml"), "denied_tools = [\"rm\"]\n").unwrap();
    insta::assert_snapshot!(doctor(&world, &["--config", "config.toml"]), @r"
    ok    home           <dir>/data/placet (the default)
    ok    folders above  nobody else can write to them
    ok    head folders   nobody else can write to them
    ok    access         the home and all in it are yours alone
    ok    key files      keys, ledger.key, host
    warn  recovery key   recovery.key still lies in the home
                         hint: move it to a safe place offline; it alone can replace a stolen ledger key
    ok    ledger         <id>, format 1, 14 records
    ok    clock          not behind the newest record
    ok    tiles          all there, and as long as they were
    ok    head file      agrees, at 14 records
    ok    writing        nothing forbids to write to home and head folders
    ok    space          <n> MiB free where the home is
    ok    config         <dir>/config.toml, agents: reader, writer
    ok    workspace      <dir>/placet.toml, denied: rm
    ok    terminal       input or errors are no terminal: nobody is asked; output is none; columns unknown
    warn  sandbox        none: nothing shuts a command in; answers have the assurance same-user
                         hint: a command can do whatever you can, your keys and this ledger included: approve none that you would not type yourself
    -- stderr --
    -- exit 0 --
    ");
    fs::write(world.path("config.toml"), "[agent.reader]\n").unwrap();
    fs::write(
        world.path("placet.toml"),
        "allowed_tools = [\"\\u001b[2J\"]\n",
    )
    .unwrap();
    insta::assert_snapshot!(doctor(&world, &["--config", "config.toml"]), @"
    ok    home           <dir>/data/placet (the default)
    ok    folders above  nobody else can write to them
    ok    head folders   nobody else can write to them
    ok    access         the home and all in it are yours alone
    ok    key files      keys, ledger.key, host
    warn  recovery key   recovery.key still lies in the home
                         hint: move it to a safe place offline; it alone can replace a stolen ledger key
    ok    ledger         <id>, format 1, 14 records
    ok    clock          not behind the newest record
    ok    tiles          all there, and as long as they were
    ok    head file      agrees, at 14 records
    ok    writing        nothing forbids to write to home and head folders
    ok    space          <n> MiB free where the home is
    fail  config         <dir>/config.toml:1: unknown field `agent`, expected one of `agents`, `containment`, `rules`, `classifier`, `plugin`, `models`, `prices`
                         hint: did you mean agents?
    fail  workspace      <dir>/placet.toml:1: unknown field `allowed_tools`, expected one of `denied_tools`, `containment`, `rules`
                         hint: did you mean denied_tools?; a file in the workspace may hold denied_tools, rules that deny or ask, and containment = 'require': nothing that grants
    ok    terminal       input or errors are no terminal: nobody is asked; output is none; columns unknown
    warn  sandbox        none: nothing shuts a command in; answers have the assurance same-user
                         hint: a command can do whatever you can, your keys and this ledger included: approve none that you would not type yourself
    -- stderr --
    -- exit 1 --
    ");
}

/// What is said of a check that fails.
fn failing(world: &World, check: &str) -> Vec<String> {
    let shown = world.call(&["--json", "doctor"]);
    let doctor: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let checks = doctor["checks"].as_array().unwrap().iter();
    let of = checks.filter(|one| one["check"] == check && one["status"] == "fail");
    of.map(|one| one["detail"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_config_that_run_refuses_fails() {
    let mut world = World::new();
    world.cwd = world.path("ws");
    let folder = world.path("person/.config/placet");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("bad.toml"), "[[turn]]\nwrong = 1\n").unwrap();
    let judge = |path: &Path| {
        fs::write(path, "#!/bin/sh\necho pass\n").unwrap();
        format!("[plugin]\ncommand = \"{}\"\n", path.display())
    };
    let (inside, outside) = (judge(&world.path("ws/judge")), judge(&world.path("judge")));
    let digest = |digit: &str| format!("digest = \"{}\"\n", digit.repeat(64));
    let (missing, changed) = (digest("1"), format!("{outside}{}", digest("2")));
    let missing = format!("[plugin]\ncommand = \"/none/judge\"\n{missing}");
    let script = world.path("tidy.toml").display().to_string();
    let given = format!("script:{script}");
    let given = ["--model", given.as_str()];
    for (config, options, says) in [
        (
            "[classifier]\nmodel = 'gpt'\n",
            &given[..],
            "cannot use the classifier \"gpt\"",
        ),
        (
            "[classifier]\nmodel = 'script:none'\n",
            &given,
            "cannot read the script",
        ),
        (
            "[classifier]\nmodel = 'script:bad.toml'\n",
            &given,
            "cannot use the classifier script:",
        ),
        (&missing, &given, "cannot read the plugin"),
        (&inside, &given, "lies in the workspace"),
        (&outside, &given, "is not pinned by a digest"),
        (
            &changed,
            &given,
            "is another file than the one that was pinned",
        ),
        (
            "[agents.a]\ndenied_tools = ['rn']\n",
            &["--agent", "a", given[0], given[1]],
            "there is no tool \"rn\"",
        ),
        (
            "[agents.a]\nmodel = 'script:none'\n",
            &["--agent", "a"],
            "cannot read the script",
        ),
        (
            "[agents.a]\nmodel = 'openai:x'\n",
            &["--agent", "a"],
            "the variable OPENAI_API_KEY is not set",
        ),
        (
            "[agents.a]\nmodel = 'script:bad.toml'\n",
            &["--agent", "a"],
            "cannot use the model",
        ),
        ("[agents.'a b']\n", &["--agent", "a b"], "a b"),
        (
            "[[rules]]\ntool = 'rn'\neffect = 'deny'\n",
            &given,
            "no tool has the name `rn`",
        ),
    ] {
        fs::write(folder.join("config.toml"), config).unwrap();
        let found = failing(&world, "config");
        assert_eq!(found.len(), 1, "{config}: {found:?}");
        assert!(found[0].contains(says), "{config}: {found:?}");
        let place = folder.join("config.toml").display().to_string();
        assert!(found[0].starts_with(&place), "{found:?}");
        let run = world.call(&[&["run", "Go."], options].concat());
        assert_ne!(run.code, 0, "{config}");
        assert!(run.stderr.contains(says), "{config}: {}", run.stderr);
        assert!(!world.path("data").exists(), "{config}");
    }
    let pinned = placet_ledger::digest::digest(
        placet_ledger::digest::Purpose::File,
        b"#!/bin/sh\necho pass\n",
    );
    let fine = format!(
        "{outside}digest = \"{pinned}\"\n[agents.a]\nmodel = \"script:{script}\"\n\
         denied_tools = ['rm']\n"
    );
    fs::write(folder.join("config.toml"), fine).unwrap();
    assert_eq!(failing(&world, "config"), [""; 0]);
    assert_eq!(world.call(&["run", "--agent", "a", "Go."]).code, 0);
    // Every one of them is told, not the first alone.
    let two = "[agents.a]\ndenied_tools = ['rn']\n[agents.b]\nmodel = 'x'\n";
    fs::write(folder.join("config.toml"), two).unwrap();
    assert_eq!(failing(&world, "config").len(), 2);
}

#[test]
fn a_workspace_file_that_run_refuses_fails() {
    let mut world = World::new();
    world.cwd = world.path("ws");
    fs::write(world.path("ws/placet.toml"), "denied_tools = ['rn']\n").unwrap();
    let found = failing(&world, "workspace");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].ends_with("placet.toml: there is no tool \"rn\""),
        "{found:?}"
    );
    let run = world.call(&["run", "Go.", "--model", "script:../tidy.toml"]);
    assert_eq!(run.code, 64);
    assert!(
        run.stderr.contains("there is no tool \"rn\""),
        "{}",
        run.stderr
    );
}

#[test]
fn a_home_that_cannot_be_named_is_told() {
    let mut world = world();
    world.env_not_utf8.insert(String::from("PLACET_HOME"));
    insta::assert_snapshot!(doctor(&world, &[]), @r"
    fail  home       the environment variable PLACET_HOME is not UTF-8
                     hint: name a folder whose path is UTF-8
    ok    config     none at <dir>/person/.config/placet/config.toml: the defaults hold
    ok    workspace  no <dir>/placet.toml: nothing is denied
    ok    terminal   input or errors are no terminal: nobody is asked; output is none; columns unknown
    warn  sandbox    none: nothing shuts a command in; answers have the assurance same-user
                     hint: a command can do whatever you can, your keys and this ledger included: approve none that you would not type yourself
    -- stderr --
    -- exit 1 --
    ");
}

#[test]
fn flags_of_later_releases_do_not_exist() {
    let world = world();
    assert_eq!(world.call(&["doctor", "--accept-loss"]).code, 64);
}
