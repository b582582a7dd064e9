//! `placet grants`: which entries can be made, what they clear, and what taking them back does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use placet_ledger::approval::{Assurance, Channel};
use placet_ledger::authority::AuthorityCommand;
use placet_ledger::content::{Text, Texts};
use placet_ledger::error::LedgerError;
use placet_ledger::event::GrantKind;
use placet_ledger::ledger::local_principal;
use placet_ledger::run::{Caller, Rejection};
use serde_json::Value;

use crate::attended::{at, keys};
use crate::support::{World, over};

const RUN: [&str; 6] = [
    "run",
    "--model",
    "script:tidy.toml",
    "--workspace",
    "ws",
    "Go on.",
];

/// A world in which an agent makes these calls in one turn.
pub(crate) fn world(calls: &[(&str, Value)]) -> World {
    let calls: Vec<String> = calls
        .iter()
        .map(|(tool, args)| {
            format!("{{ id = \"p\", tool = \"{tool}\", args_json = '''{args}''' }}")
        })
        .collect();
    let script = format!(
        "[[turn]]\ntext = \"t\"\nusage = {{ input = 1, output = 1 }}\ncalls = [{}]\n\
         [[turn]]\ntext = \"Done.\"\nusage = {{ input = 1, output = 1 }}\n",
        calls.join(", ")
    );
    let mut world = World::with_script(&script);
    world.program = Some(PathBuf::from(env!("CARGO_BIN_EXE_placet")));
    world
}

pub(crate) fn command(text: &str) -> (&'static str, Value) {
    ("execute_command", serde_json::json!({"command": text}))
}

/// Makes an entry; its id.
pub(crate) fn add(world: &World, args: &[&str]) -> String {
    let added = world.call(&[&["grants", "add"], args].concat());
    assert_eq!(added.code, 0, "{}", added.stderr);
    added.stdout.trim_end().to_owned()
}

pub(crate) fn json(world: &World, args: &[&str]) -> Value {
    let output = world.call(&[&["--json"], args].concat());
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{}", output.stderr))
}

/// Starts a run that ends or waits; its exit code.
pub(crate) fn start(world: &mut World) -> u8 {
    let started = world.call(&[&["--json"], &RUN[..], &["--park"]].concat());
    let report: Value = serde_json::from_str(&started.stdout)
        .unwrap_or_else(|_| panic!("{}{}", started.stdout, started.stderr));
    world.runs.push(report["run"].as_str().unwrap().to_owned());
    started.code
}

pub(crate) fn write_program(world: &World, name: &str, text: &str) {
    let path = world.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_entry_is_made_listed_and_revoked() {
    let world = World::new();
    let id = add(
        &world,
        &["touch", "--network", "8000,443", "--expires", "8h"],
    );
    let listed = json(&world, &["grants", "list"]);
    let grant = &listed["grants"][0];
    assert_eq!(grant["grant"], id.as_str());
    assert_eq!(
        (&grant["kind"], &grant["key"]),
        (&"command".into(), &"touch".into())
    );
    assert_eq!(grant["network"], serde_json::json!([443, 8000]));
    assert!(grant["path"].as_str().unwrap().starts_with('/'));
    assert_eq!(
        (&grant["by"], &grant["uses"]),
        (&"uid:1000".into(), &0.into())
    );
    assert!(grant["expires_at"].is_string() && grant["at"].is_string());
    assert!(grant.get("digest").is_none() && grant.get("last_used_at").is_none());
    let shown = world.call(&["grants", "list"]).stdout;
    assert!(
        shown.contains("443,8000") && shown.contains("uid:1000"),
        "{shown}"
    );
    let log = json(&world, &["audit", "log", "--type", "grant.added"]);
    let position = format!("#{}", log["events"][0]["position"]);
    let entry = world.call(&["audit", "show", &position]).stdout;
    assert!(entry.contains("\"key\":\"touch\""), "{entry}");
    assert!(entry.contains("same-user"), "{entry}");

    let revoke = ["grants", "revoke", &id, "--note", "over"];
    assert_eq!(world.call(&revoke).code, 0);
    assert_eq!(world.call(&revoke).code, 3);
    let unknown = world.call(&["grants", "revoke", "g99"]);
    assert_eq!(unknown.code, 4, "{}", unknown.stderr);
    assert!(unknown.stderr.contains("placet grants list"));
    assert_eq!(
        json(&world, &["grants", "list"])["grants"],
        serde_json::json!([])
    );
    let all = json(&world, &["grants", "list", "--all"]);
    assert!(all["grants"][0]["revoked_at"].is_string());
    assert_eq!(world.call(&["audit", "verify"]).code, 0);
}

#[test]
fn what_is_no_key_or_lets_by_too_much_is_refused_and_nothing_is_recorded() {
    let mut world = World::new();
    world.cwd = world.path("ws");
    write_program(&world, "ws/deploy.sh", "#!/bin/sh\n");
    for (args, code, said) in [
        (
            &["git push --force"][..],
            64,
            "an entry is a key such as `git push`",
        ),
        (&["ls -la"], 64, "placet grants add \"ls\""),
        (&["ls; rm x"], 64, "has no key"),
        (&["ls > x"], 64, "has no key"),
        (&["$SHELL"], 64, "has no key"),
        (&[""], 64, "has no key"),
        (&["sh"], 3, "runs whatever code it is given"),
        (&["env"], 3, "runs whatever program its words name"),
        (&["find ."], 3, "--force"),
        (&["./deploy.sh"], 3, "lies in the workspace"),
        (&["no-such-program"], 4, "no-such-program"),
        (&["--url", "https://example.org/*"], 64, "no web tools"),
        (&["ls", "--network", "0"], 64, "--network"),
        (&["ls", "--network", "70000"], 64, "--network"),
        (&["ls", "--expires", "0s"], 64, "--expires"),
        (&[], 64, "COMMAND"),
    ] {
        let refused = world.call(&[&["grants", "add"], args].concat());
        assert_eq!(refused.code, code, "{args:?}: {}", refused.stderr);
        assert!(
            refused.stderr.contains(said),
            "{args:?}: {}",
            refused.stderr
        );
    }
    assert_eq!(world.call(&["grants", "list"]).code, 4, "there is a ledger");
    for key in ["sh", "./deploy.sh"] {
        let forced = world.call(&["grants", "add", key, "--force"]);
        assert_eq!(forced.code, 0, "{}", forced.stderr);
        assert!(forced.stderr.contains("warning: "), "{}", forced.stderr);
    }
    let listed = json(&world, &["grants", "list"]);
    assert!(listed["grants"][1]["digest"].is_string(), "{listed}");
}

#[test]
fn what_an_entry_clears_runs_unasked_and_is_counted() {
    let mut world = world(&[command("touch new.txt")]);
    let id = add(&world, &["touch"]);
    assert_eq!(start(&mut world), 0);
    assert!(world.path("ws/new.txt").exists());
    let grant = &json(&world, &["grants", "list"])["grants"][0];
    assert_eq!(grant["uses"], 1);
    assert!(grant["last_used_at"].is_string());
    let log = json(
        &world,
        &["audit", "log", "--approver", &id, "--verdict", "granted"],
    );
    assert_eq!(log["events"].as_array().unwrap().len(), 1);
    let shown = world.call(&["runs", "show", world.run()]).stdout;
    assert!(shown.contains(&format!("by grant {id}")), "{shown}");
    assert_eq!(world.call(&["audit", "verify"]).code, 0);
}

#[test]
fn destructive_variants_and_longer_commands_than_the_key_still_ask() {
    for (text, code) in [
        ("git push --force", 2),
        ("git push origin :x", 2),
        ("git pull", 2),
        ("git push origin main; ls", 2),
        ("git push origin main", 0),
    ] {
        let mut world = world(&[command(text)]);
        add(&world, &["git push"]);
        assert_eq!(start(&mut world), code, "{text}");
    }
}

#[test]
fn a_program_that_changed_since_asks() {
    let mut world = world(&[command("deploy now")]);
    write_program(&world, "bin/deploy", "#!/bin/sh\necho one\n");
    world.search = format!("{}:/usr/bin:/bin", world.path("bin").display());
    world.cwd = world.path("ws");
    add(&world, &["deploy"]);
    world.cwd = world.path("");
    assert_eq!(start(&mut world), 0);
    write_program(&world, "bin/deploy", "#!/bin/sh\necho two\n");
    assert_eq!(start(&mut world), 2);
}

#[test]
fn a_revoked_entry_clears_nothing_that_was_not_started() {
    let write = serde_json::json!({"path": "b.txt", "content": "b"});
    let mut world = world(&[command("touch new.txt"), ("write_file", write)]);
    let id = add(&world, &["touch"]);
    assert_eq!(start(&mut world), 2);
    let pending = json(&world, &["inbox"])["pending"].clone();
    assert_eq!(pending.as_array().unwrap().len(), 1, "{pending}");
    assert_eq!(world.call(&["grants", "revoke", &id]).code, 0);
    assert_eq!(world.call(&["runs", "approve", world.run()]).code, 2);
    assert!(!world.path("ws/new.txt").exists());
    let card = json(&world, &["inbox"])["pending"][0].clone();
    assert_eq!(card["key"], "touch new.txt", "{card}");
    assert_eq!(card["network"], serde_json::json!([]));
    assert!(card["program"]["path"].is_string(), "{card}");
    assert_eq!(world.call(&["runs", "approve", world.run()]).code, 0);
    assert!(world.path("ws/new.txt").exists());
    assert_eq!(world.call(&["audit", "verify"]).code, 0);
}

#[test]
fn a_person_grants_the_key_of_a_command_beside_approving_it() {
    let mut world = world(&[command("touch new.txt")]);
    let (output, log) = at(&world, keys("t>"), Vec::new(), &RUN);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let screen = &log.frames[1];
    assert!(
        screen.contains("t always this command (\"touch new.txt\")"),
        "{screen}"
    );
    let said = "\"touch new.txt\" runs unasked in every run from now on";
    assert!(output.stderr.contains(said), "{}", output.stderr);
    assert!(
        output.stderr.contains("grants revoke g"),
        "{}",
        output.stderr
    );
    let grants = json(&world, &["grants", "list"])["grants"].clone();
    assert_eq!(
        (&grants[0]["key"], &grants[0]["uses"]),
        (&"touch new.txt".into(), &0.into())
    );
    // The call itself was approved by the person, and no tool was.
    let log = json(&world, &["audit", "log", "--approver", "uid:1000"]);
    let types = log["events"].as_array().unwrap().iter();
    let types: Vec<_> = types.map(|event| event["record"]["type"].clone()).collect();
    assert_eq!(types, ["grant.added", "approval.granted"]);
    assert_eq!(start(&mut world), 0);
    let again = &json(&world, &["grants", "list"])["grants"][0]["uses"];
    assert_eq!(*again, 1);
}

#[test]
fn a_command_without_a_key_offers_no_grant_and_says_why() {
    let world = world(&[command("touch a; touch b")]);
    let (output, log) = at(&world, keys("ta>"), Vec::new(), &RUN);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let said = log
        .frames
        .iter()
        .any(|frame| frame.contains("t does nothing here: no grant"));
    assert!(said, "{:#?}", log.frames);
    assert_eq!(
        json(&world, &["grants", "list"])["grants"],
        serde_json::json!([])
    );
}

#[test]
fn the_very_same_entry_is_added_once() {
    let world = World::new();
    let id = add(&world, &["touch"]);
    let again = world.call(&["grants", "add", "touch"]);
    let said = format!("{id} is there already: nothing was added\n");
    assert_eq!(
        (again.code, again.stdout.trim_end(), again.stderr.as_str()),
        (0, &*id, &*said)
    );
    let shown = json(&world, &["grants", "add", "touch"]);
    assert_eq!(
        (&shown["grant"], &shown["already"], &shown["by"]),
        (&id.as_str().into(), &true.into(), &"uid:1000".into())
    );
    assert!(shown.get("uses").is_none(), "{shown}");
    // Another scope, other ports or another time is another grant.
    let others = [
        add(&world, &["touch a.txt"]),
        add(&world, &["touch", "--network", "443"]),
        add(&world, &["touch", "--expires", "8h"]),
    ];
    assert!(!others.contains(&id), "{others:?}");
    assert_eq!(add(&world, &["touch", "--network", "443"]), others[1]);
    // What was taken back allows nothing, so that it is granted anew.
    assert_eq!(world.call(&["grants", "revoke", &id]).code, 0);
    let anew = add(&world, &["touch"]);
    assert_ne!(anew, id);
    let log = json(&world, &["audit", "log", "--type", "grant.added"]);
    assert_eq!(log["events"].as_array().unwrap().len(), 5);
}

#[test]
fn an_entry_for_a_program_that_changed_is_another_one() {
    let mut world = World::new();
    write_program(&world, "bin/deploy", "#!/bin/sh\necho one\n");
    world.search = format!("{}:/usr/bin:/bin", world.path("bin").display());
    world.cwd = world.path("ws");
    let first = add(&world, &["deploy"]);
    assert_eq!(add(&world, &["deploy"]), first);
    write_program(&world, "bin/deploy", "#!/bin/sh\necho two\n");
    assert_ne!(add(&world, &["deploy"]), first);
}

#[test]
fn of_two_processes_that_grant_the_same_one_does() {
    let world = World::parked();
    world.in_store(async |store| {
        let (first, second) = (over(store.clone()).await, over(store).await);
        let caller = Caller::Person {
            principal: local_principal(1000).unwrap(),
            channel: Channel::Cli,
            assurance: Assurance::SameUser,
        };
        let entry = || {
            let text = Text::json(br#"{"key":"ls","path":"/usr/bin/ls"}"#.to_vec());
            Texts::from([(String::from("entry"), text)])
        };
        let grant = AuthorityCommand::Grant {
            kind: GrantKind::Command,
            expires_at: None,
        };
        first.authorise(&caller, grant, entry()).await.unwrap();
        // It decided on what it knew, and decides anew on what came in between.
        let error = second.authorise(&caller, grant, entry()).await.unwrap_err();
        let there = matches!(error, LedgerError::Rejected(Rejection::AlreadyGranted(_)));
        assert!(there, "{error}");
        assert_eq!(second.authority().grants().len(), 1);
    });
    assert_eq!(world.call(&["audit", "verify"]).code, 0);
}

#[test]
fn the_log_tells_what_was_granted_and_which_rules_came_into_force() {
    let world = World::new();
    let id = add(
        &world,
        &["touch", "--network", "8000,443", "--expires", "8h"],
    );
    let added = ["audit", "log", "--type", "grant.added"];
    let row = world.call(&added).stdout;
    let begin = format!("grant.added {id} (command), by uid:1000 (cli, same-user), until 2");
    assert!(row.contains(&begin), "{row}");
    assert!(row.contains(": \"touch\" by \"/"), "{row}");
    assert!(row.trim_end().ends_with(", TCP 443, 8000"), "{row}");
    let csv = world.call(&[&added[..], &["--csv"]].concat()).stdout;
    assert!(csv.contains("TCP 443, 8000"), "{csv}");
    let event = json(&world, &added)["events"][0].clone();
    let entry = event["content"]["entry"]["text"].as_str().unwrap();
    let entry: Value = serde_json::from_str(entry).unwrap();
    assert_eq!(
        (&entry["key"], &entry["network"]),
        (&"touch".into(), &serde_json::json!([443, 8000]))
    );
    assert!(event["record"]["body"]["expires_at"].is_string(), "{event}");

    let adopted = ["audit", "log", "--type", "rules.adopted"];
    let event = json(&world, &adopted)["events"][0]["record"].clone();
    assert_eq!(event["body"]["change"], "first", "{event}");
    let commitment = event["blobs"]["text"]["commitment"].as_str();
    let commitment = commitment.unwrap_or_else(|| panic!("{event}"));
    let row = world.call(&adopted).stdout;
    let end = format!("rules.adopted first, rules {}", &commitment[..10]);
    assert!(row.trim_end().ends_with(&end), "{row}");
}
