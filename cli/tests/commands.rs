//! `execute_command` from outside: what runs unasked, what asks, what comes of it, and that what
//! runs is what was shown. Commands are shut in by the real program, as far as this machine can.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::World;

/// A world in which an agent runs these commands, one a turn.
fn world(commands: &[&str]) -> World {
    let calls: Vec<_> = commands
        .iter()
        .map(|command| serde_json::json!({"command": command}))
        .collect();
    world_of(&calls)
}

/// The same with all arguments.
fn world_of(calls: &[Value]) -> World {
    let mut script = String::new();
    for arguments in calls {
        let turn = format!(
            "[[turn]]\ntext = \"t\"\nusage = {{ input = 1, output = 1 }}\n\
             calls = [{{ id = \"p\", tool = \"execute_command\", args_json = '''{arguments}''' }}]\n"
        );
        script.push_str(&turn);
    }
    script += "[[turn]]\ntext = \"Done.\"\nusage = { input = 1, output = 1 }\n";
    let mut world = World::with_script(&script);
    world.program = Some(PathBuf::from(env!("CARGO_BIN_EXE_placet")));
    world
}

/// Starts a run that ends or waits; its exit code.
fn start(world: &mut World, options: &[&str]) -> u8 {
    let args = [
        "--json",
        "run",
        "--model",
        "script:tidy.toml",
        "--workspace",
        "ws",
        "--park",
        "Go on.",
    ];
    let started = world.call(&[&args[..], options].concat());
    let report: Value = serde_json::from_str(&started.stdout).unwrap_or_else(|_| {
        panic!("{}{}", started.stdout, started.stderr);
    });
    world.runs.push(report["run"].as_str().unwrap().to_owned());
    started.code
}

/// Every record of these types with what it names, oldest first.
fn records(world: &World, types: &[&str]) -> Vec<Value> {
    let log: Value = serde_json::from_str(&world.call(&["--json", "audit", "log"]).stdout).unwrap();
    let events = log["events"].as_array().unwrap().iter();
    let wanted = events.filter(|event| types.iter().any(|name| event["record"]["type"] == *name));
    wanted
        .map(|event| {
            let position = format!("#{}", event["position"]);
            let shown = world.call(&["--json", "audit", "show", &position]);
            serde_json::from_str(&shown.stdout).unwrap()
        })
        .collect()
}

/// What the model was told of the last call of these outcomes.
fn result(world: &World, outcome: &str) -> String {
    let found = records(world, &[outcome]);
    let last = found.last().unwrap_or_else(|| {
        panic!("no {outcome}: {}", world.call(&["audit", "log"]).stdout);
    });
    last["content"]["result"]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The program of the last proposal.
fn program(world: &World) -> Value {
    let proposed = records(world, &["call.proposed"]);
    let text = proposed.last().unwrap()["content"]["program"]["text"]
        .as_str()
        .unwrap();
    serde_json::from_str(text).unwrap()
}

fn approve(world: &World) -> u8 {
    let run = world.runs.last().unwrap();
    world.call(&["runs", "approve", run]).code
}

/// Everything recorded holds and can be driven again.
fn holds(world: &World) {
    let verified = world.call(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    for run in &world.runs {
        let replayed = world.call(&["runs", "replay", run]);
        assert_eq!(replayed.code, 0, "{}{}", replayed.stdout, replayed.stderr);
    }
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_only_reads_runs_unasked_and_what_writes_asks() {
    let mut world = world(&["ls", "touch new.txt"]);
    assert_eq!(start(&mut world, &["--approval-policy", "read-only"]), 2);
    let told = result(&world, "execution.succeeded");
    assert!(told.starts_with("exit 0 after "), "{told}");
    assert!(
        told.contains("\nstdout: 18 bytes\nnotes.txt\nold.log\nstderr: nothing\n"),
        "{told}"
    );
    assert!(!world.path("ws/new.txt").exists());
    assert_eq!(approve(&world), 0);
    assert!(world.path("ws/new.txt").exists());
    assert_eq!(records(&world, &["execution.succeeded"]).len(), 2);
    // Nothing is left that tells of what runs.
    assert_eq!(
        fs::read_dir(world.path("data/placet/running"))
            .unwrap()
            .count(),
        0
    );
    holds(&world);
}

#[test]
fn without_a_policy_even_what_only_reads_asks() {
    let mut world = world(&["ls"]);
    assert_eq!(start(&mut world, &[]), 2);
    let refused = world.call(&["runs", "reject", world.run(), "--note", "no"]);
    assert_eq!(refused.code, 0, "{}", refused.stderr);
    assert!(records(&world, &["execution.started"]).is_empty());
}

#[test]
fn the_exit_status_and_both_outputs_are_told() {
    let mut world = world(&["echo out; echo err >&2; exit 7"]);
    assert_eq!(start(&mut world, &["--approval-policy", "high-risk"]), 0);
    let failed = records(&world, &["execution.failed"]);
    assert_eq!(failed[0]["record"]["body"]["exit"], 7);
    let told = result(&world, "execution.failed");
    assert!(told.starts_with("exit 7 after "), "{told}");
    assert!(
        told.contains("\nstdout: 4 bytes\nout\nstderr: 4 bytes\nerr\n"),
        "{told}"
    );
    holds(&world);
}

#[test]
fn a_command_that_takes_too_long_is_ended() {
    let mut world = world_of(&[serde_json::json!({
        "command": "echo begun; sleep 600; touch late", "timeout_s": 1,
    })]);
    assert_eq!(start(&mut world, &["--approval-policy", "high-risk"]), 0);
    let failed = records(&world, &["execution.failed"]);
    assert_eq!(failed[0]["record"]["body"]["kind"], "timeout");
    let told = result(&world, "execution.failed");
    assert!(told.contains("longer than the 1 s that it had"), "{told}");
    assert!(told.contains("begun"), "{told}");
    assert!(!world.path("ws/late").exists());
    holds(&world);
}

#[test]
fn much_output_is_cut_in_the_middle_and_says_so() {
    let mut world = world(&["echo first; seq 200000; echo last"]);
    assert_eq!(start(&mut world, &["--approval-policy", "high-risk"]), 0);
    let told = result(&world, "execution.succeeded");
    assert!(told.contains("\nfirst\n1\n2\n"), "{told:.200}");
    assert!(told.contains("\n[... 764"), "{}", told.len());
    assert!(told.contains(" bytes left out ...]\n"), "{}", told.len());
    assert!(
        told.ends_with("\n200000\nlast\nstderr: nothing\n"),
        "{}",
        told.len()
    );
}

#[test]
fn a_script_that_changed_since_it_was_shown_does_not_run() {
    for command in ["sh deploy.sh", "./deploy.sh", "true && sh deploy.sh"] {
        let mut world = world(&[command]);
        script(&world.path("ws/deploy.sh"), "#!/bin/sh\ntouch deployed\n");
        assert_eq!(start(&mut world, &[]), 2, "{command}");
        script(&world.path("ws/deploy.sh"), "#!/bin/sh\ntouch evil\n");
        assert_eq!(approve(&world), 0, "{command}");
        let told = result(&world, "execution.stale");
        assert!(
            told.contains("deploy.sh has changed since"),
            "{command}: {told}"
        );
        let ws = world.path("ws");
        assert!(
            !ws.join("evil").exists() && !ws.join("deployed").exists(),
            "{command}"
        );
    }
}

#[test]
fn a_script_that_is_as_it_was_shown_runs() {
    let mut world = world(&["./deploy.sh 'a b' \"it's\""]);
    script(
        &world.path("ws/deploy.sh"),
        "#!/bin/sh\nprintf '<%s>' \"$@\"\n",
    );
    assert_eq!(start(&mut world, &[]), 2);
    let shown = world.call(&["runs", "show", world.run()]).stdout;
    for word in [r#""./deploy.sh""#, r#""a b""#, r#""it's""#] {
        assert!(shown.contains(word), "{shown}");
    }
    assert_eq!(approve(&world), 0);
    let told = result(&world, "execution.succeeded");
    assert!(told.contains("<a b><it's>"), "{told}");
    holds(&world);
}

#[test]
fn a_program_of_another_folder_is_no_program_of_the_system() {
    // One that is put first on the path, and one of the workspace by the name of a harmless one.
    for (command, at, class) in [
        ("git status", "elsewhere/bin/git", "user"),
        ("./sed -n 1,5p notes.txt", "ws/sed", "workspace"),
    ] {
        let mut world = world(&[command]);
        script(&world.path(at), "#!/bin/sh\ntouch ran\n");
        world.search = world.path("elsewhere/bin").display().to_string();
        assert_eq!(
            start(&mut world, &["--approval-policy", "read-only"]),
            2,
            "{command}"
        );
        assert_eq!(program(&world)["path"], world.path(at).to_str().unwrap());
        let proposed = records(&world, &["call.proposed"]);
        assert_eq!(proposed[0]["record"]["body"]["program"], class);
        assert!(!world.path("ws/ran").exists());
        // What runs is what was shown, or nothing.
        script(&world.path(at), "#!/bin/sh\ntouch evil\n");
        assert_eq!(approve(&world), 0, "{command}");
        result(&world, "execution.stale");
        assert!(!world.path("ws/evil").exists(), "{command}");
    }
}

#[test]
fn a_repository_that_configures_a_program_asks() {
    for (config, code) in [
        ("[core]\nbare = false\nrepositoryformatversion = 0\n", 0),
        ("[core]\nfsmonitor = ./evil\n", 2),
    ] {
        let mut world = world(&["git status"]);
        for folder in ["objects", "refs/heads"] {
            fs::create_dir_all(world.path("ws/.git").join(folder)).unwrap();
        }
        fs::write(world.path("ws/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(world.path("ws/.git/config"), config).unwrap();
        script(&world.path("ws/evil"), "#!/bin/sh\ntouch ran\n");
        assert_eq!(
            start(&mut world, &["--approval-policy", "read-only"]),
            code,
            "{config}"
        );
        let runs = &program(&world)["repository"];
        if code == 2 {
            assert_eq!(runs, &serde_json::json!(["core.fsmonitor"]));
        }
        assert!(!world.path("ws/ran").exists());
    }
}

#[test]
fn what_lies_outside_the_workspace_asks() {
    for (command, code) in [
        ("cat notes.txt", 0),
        ("cat /etc/hostname", 0),
        ("cat ../tidy.toml", 2),
        ("cat link", 2),
        ("cat /etc/shadow", 2),
    ] {
        let mut world = world(&[command]);
        std::os::unix::fs::symlink("../tidy.toml", world.path("ws/link")).unwrap();
        assert_eq!(
            start(&mut world, &["--approval-policy", "read-only"]),
            code,
            "{command}"
        );
    }
}

#[test]
fn three_denials_of_one_key_refuse_the_fourth() {
    let mut world = world(&["touch a 1", "touch a 2", "touch a 3", "touch a 4"]);
    assert_eq!(start(&mut world, &[]), 2);
    for _ in 0..3 {
        let denied = world.call(&["runs", "reject", world.run(), "--note", "no"]);
        assert!(matches!(denied.code, 0 | 2), "{}", denied.stderr);
    }
    let refused = records(&world, &["call.refused"]);
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0]["record"]["body"]["kind"], "repeat_of");
}

#[test]
fn a_program_that_does_not_exist_is_told() {
    let mut world = world(&["sortt notes.txt", "./nothing", "ls a\u{1}b"]);
    assert_eq!(start(&mut world, &["--approval-policy", "high-risk"]), 0);
    let refused = records(&world, &["call.refused"]);
    let said = |index: usize| refused[index]["content"]["detail"]["text"].to_string();
    assert!(
        said(0).contains("no program sortt on the path"),
        "{}",
        said(0)
    );
    assert!(said(1).contains("no program at ./nothing"), "{}", said(1));
    assert!(said(2).contains("control character"), "{}", said(2));
}

#[test]
fn the_whole_list_for_commands_is_warned_of_and_clears_no_hazard() {
    let world = world(&["touch a", "echo x > b"]);
    let args = [
        "run",
        "--model",
        "script:tidy.toml",
        "--workspace",
        "ws",
        "--park",
        "Go on.",
        "--auto-approve-tools",
        "execute_command",
    ];
    let started = world.call(&args);
    assert_eq!(started.code, 2, "{}", started.stderr);
    assert!(
        started.stderr.contains("every command runs unasked"),
        "{}",
        started.stderr
    );
    assert!(world.path("ws/a").exists());
    assert!(!world.path("ws/b").exists());
}

#[test]
fn files_that_steer_programs_cannot_be_changed_unseen() {
    let mut world = world(&["echo evil > .envrc; echo evil > .npmrc; true"]);
    fs::write(world.path("ws/.envrc"), "kind\n").unwrap();
    assert_eq!(start(&mut world, &["--approval-policy", "high-risk"]), 0);
    let told = result(&world, "execution.succeeded");
    assert!(
        told.contains("it made a file that steers programs: .npmrc (a person"),
        "{told}"
    );
    let changed = fs::read_to_string(world.path("ws/.envrc")).unwrap() != "kind\n";
    assert_eq!(
        changed,
        told.contains("it changed a file that steers programs: .envrc"),
        "{told}"
    );
    assert!(world.path("ws/.npmrc").exists(), "nothing is taken away");
}

#[test]
fn what_a_command_left_to_steer_others_stands_on_every_later_card() {
    let mut world = world(&["echo evil > .npmrc; true", "touch a", "touch b"]);
    assert_eq!(start(&mut world, &[]), 2);
    let show = |world: &World| {
        let shown = world.call(&["--json", "runs", "show", world.run()]);
        serde_json::from_str::<Value>(&shown.stdout).unwrap()
    };
    assert_eq!(show(&world)["pending"][0]["steered"], Value::Null);
    let steered = serde_json::json!([{"call": "c1", "made": [".npmrc"]}]);
    for waiting in ["c2", "c3"] {
        assert_eq!(approve(&world), 2);
        let shown = show(&world);
        let card = &shown["pending"][0];
        assert_eq!(card["call"], waiting);
        assert_eq!(card["steered"], steered);
        assert_eq!(shown["steered"], steered);
        let page = world.call(&["runs", "show", world.run()]).stdout;
        let line = "  steered by     c1: look at these files first\n    | made .npmrc\n";
        assert!(page.contains(line), "{page}");
        let line = "  steers       c1: made .npmrc (look at that)\n";
        assert!(page.contains(line), "{page}");
    }
    let ended = world.call(&["--json", "runs", "approve", world.run()]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.code, &report["steered"]), (0, &steered));
    holds(&world);
}

#[test]
fn ways_around_what_is_guarded_are_told() {
    let mut world = world(&["ln -sf d/other .envrc; echo ../d >.git/commondir; \
        echo evil >d/bare/config; mkdir d/bare/hooks; echo evil >alias; true"]);
    for folder in [".git/objects", ".git/refs", "d/bare/objects", "d/bare/refs"] {
        fs::create_dir_all(world.path("ws").join(folder)).unwrap();
    }
    for file in [
        ".git/HEAD",
        "d/bare/HEAD",
        "d/bare/config",
        "d/real",
        "alias",
    ] {
        fs::write(world.path("ws").join(file), "kind\n").unwrap();
    }
    std::os::unix::fs::symlink("d/real", world.path("ws/.envrc")).unwrap();
    fs::hard_link(world.path("ws/alias"), world.path("ws/.npmrc")).unwrap();
    assert_eq!(start(&mut world, &["--approval-policy", "high-risk"]), 0);
    let told = result(&world, "execution.succeeded");
    assert!(
        told.contains("it made files that steer programs: .git/commondir, d/bare/hooks (a person"),
        "{told}"
    );
    // Where mounts hold the command, the configuration of the bare repository is as it was.
    let config = fs::read_to_string(world.path("ws/d/bare/config")).unwrap();
    let changed = match config.as_str() {
        "kind\n" => "it changed files that steer programs: .envrc, .npmrc (a person",
        _ => "it changed files that steer programs: .envrc, .npmrc, d/bare/config (a person",
    };
    assert!(told.contains(changed), "{told}");
    let proposed = records(&world, &["call.proposed"]);
    let said = proposed[0]["content"].to_string();
    assert!(
        said.contains("have other names, by which they can be changed: .npmrc."),
        "{said}"
    );
    holds(&world);
}

#[test]
fn of_more_steering_files_than_can_be_held_the_rest_is_counted() {
    let mut world = world(&["echo evil > d0999/.envrc; true"]);
    for number in 0..1_000 {
        let folder = world.path(&format!("ws/d{number:04}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(".envrc"), "kind\n").unwrap();
    }
    assert_eq!(start(&mut world, &["--approval-policy", "high-risk"]), 0);
    let told = result(&world, "execution.succeeded");
    assert!(
        told.contains("it changed a file that steers programs: d0999/.envrc"),
        "{told}"
    );
    // A folder and a file of each are mounted, where anything is.
    let rest = "488 more were only compared before and after";
    assert_eq!(told.contains(rest), !told.contains("mounts"), "{told}");
    let proposed = records(&world, &["call.proposed"]);
    let said = proposed[0]["content"].to_string();
    assert!(
        said.contains("488 more are only compared before and after"),
        "{said}"
    );
}

#[test]
fn git_goes_on_with_what_it_has_begun() {
    let own = "git -c user.name=a -c user.email=a@b";
    let mut world = world(&[
        &format!("git init -q -b main . && {own} commit --allow-empty -qm first"),
        &format!(
            "echo 1 >f && git add f && {own} commit -qm one && git checkout -qb side HEAD~ && \
             echo 2 >f && git add f && {own} commit -qm two && ! {own} rebase main >/dev/null"
        ),
        &format!("echo 3 >f && git add f && GIT_EDITOR=true {own} rebase --continue"),
    ]);
    assert_eq!(start(&mut world, &["--approval-policy", "high-risk"]), 0);
    let ended = records(&world, &["execution.succeeded", "execution.failed"]);
    let told: Vec<_> = ended
        .iter()
        .map(|event| event["content"]["result"]["text"].as_str().unwrap())
        .collect();
    for (told, left) in told.iter().zip([
        ".git/config",
        "it made a file that steers programs: .git/rebase-merge ",
        "it removed a file that steers programs: .git/rebase-merge ",
    ]) {
        assert!(told.starts_with("exit 0 ") && told.contains(left), "{told}");
    }
    assert_eq!(told.len(), 3);
}

#[test]
fn without_a_program_that_shuts_in_nothing_runs() {
    let mut world = world(&["touch a"]);
    world.program = None;
    assert_eq!(start(&mut world, &["--approval-policy", "high-risk"]), 0);
    let told = result(&world, "execution.failed");
    assert!(told.contains("can shut nothing in"), "{told}");
    assert!(!world.path("ws/a").exists());
}
