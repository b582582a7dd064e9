//! Rules that demand more than one approval by anyone: what people and programs are told of them,
//! and which answers count.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::World;

/// The rule of the documentation.
const KUBECTL: &str = r#"
[[rules]]
tool = "execute_command"
command = "kubectl delete"
require = { approvers = 2, from = ["alice@example.org", "bob@example.org"], signed = true }
reason = "two people for cluster deletes"
match = ["kubectl delete pod x", "kubectl --context prod delete pod x", "env kubectl delete pod x"]
not_match = ["kubectl get pods"]
"#;

const PEOPLE: &str = "2 approvals, from alice@example.org or bob@example.org, signed";

/// A world whose agent makes these calls in its first turn, with this config.
fn world(calls: &[(&str, &str)], config: &str) -> World {
    let turn = "[[turn]]\ntext = \"t\"\nusage = { input = 1, output = 1 }\n";
    let call = |(tool, arguments): &(&str, &str)| {
        format!("{{ tool = \"{tool}\", args_json = '''{arguments}''' }}")
    };
    let calls: Vec<_> = calls.iter().map(call).collect();
    let calls = calls.join(", ");
    let mut world = World::with_script(&format!("{turn}calls = [{calls}]\n{turn}"));
    let folder = world.path("person/.config/placet");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), config).unwrap();
    let kubectl = world.path("bin/kubectl");
    std::fs::create_dir_all(world.path("bin")).unwrap();
    std::fs::write(&kubectl, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&kubectl, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.search = format!("{}:/usr/bin:/bin", world.path("bin").display());
    world
}

/// The same with a run that waits, under the widest policy.
fn parked(calls: &[(&str, &str)], config: &str) -> World {
    let mut world = world(calls, config);
    world.start_with("Go.", &["--approval-policy", "high-risk"]);
    world
}

const DELETE: (&str, &str) = ("execute_command", r#"{"command":"kubectl delete pod x"}"#);
const RM: (&str, &str) = ("rm", r#"{"path":"old.log"}"#);
const RM_NOTES: (&str, &str) = ("rm", r#"{"path":"notes.txt"}"#);

fn value(world: &World, args: &[&str]) -> Value {
    let said = world.call(&[&["--json"][..], args].concat());
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {}", said.stderr))
}

/// How many records of this kind there are.
fn count(world: &World, kind: &str) -> usize {
    let log = world.call(&["audit", "log"]);
    assert_eq!(log.code, 0, "{}", log.stderr);
    log.stdout.matches(kind).count()
}

#[test]
fn what_nobody_can_approve_is_asked_shown_and_can_only_be_denied() {
    let world = parked(&[DELETE], KUBECTL);
    let run = world.run();
    let shown = world.call(&["runs", "show", run]).stdout;
    for expected in [
        "asked by rule:kubectl-delete:",
        "reason         two people for cluster deletes\n",
        &format!("needs          {PEOPLE}\n"),
        "no approval    nobody can give that in this release: only a denial is accepted\n",
        &format!(", needs {PEOPLE}, expires"),
        "runs reject",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    assert!(!shown.contains("runs approve"), "{shown}");
    let card = &value(&world, &["inbox"])["pending"][0];
    assert_eq!(card["quorum"], json!({"need": 2, "have": 0}));
    let people = json!(["alice@example.org", "bob@example.org"]);
    let require = json!({"assurance": "signed", "from": people});
    assert_eq!(card["require"], require);

    let refused = world.call(&["runs", "approve", run]);
    assert_eq!(refused.code, 3);
    let why = format!(
        "c1 needs {PEOPLE}; an approval by uid:1000 (same-user) does not count, since this \
         release cannot collect the approvals of several people; it can be denied\n  \
         hint: placet runs reject RUN CALL --note WHY turns it down\n"
    );
    assert!(refused.stderr.ends_with(&why), "{}", refused.stderr);
    let refused = world.call(&["--json", "runs", "approve", run]);
    assert_eq!(refused.code, 3);
    assert!(
        refused.stderr.contains(r#""code":"refused""#),
        "{}",
        refused.stderr
    );
    assert_eq!(count(&world, "approval.requested"), 1);
    assert_eq!(count(&world, "approval.granted"), 0);

    let rejected = world.call(&["runs", "reject", run, "--note", "not today"]);
    assert_eq!(rejected.code, 0, "{}", rejected.stderr);
    assert_eq!(count(&world, "approval.denied"), 1);
    assert_eq!(count(&world, "execution.started"), 0);
    world.records_hold();
    let verified = world.call(&["audit", "verify", "--full"]);
    assert_eq!(verified.code, 0, "{}", verified.stdout);
    let replayed = world.call(&["runs", "replay", run]);
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
}

#[test]
fn the_answer_to_a_whole_set_falls_with_one_approval_that_does_not_count() {
    let config = "[[rules]]\npath = '*.log'\nrequire = { signed = true }\n\
                  [[rules]]\ntool = 'rm'\neffect = 'ask'\n";
    let world = parked(&[RM_NOTES, RM], config);
    let run = world.run();
    let shown = world.call(&["runs", "show", run]).stdout;
    // The command lines that are offered are those that are accepted.
    assert!(
        shown.contains(
            "approve RUN c1 --reject c2 --set"
                .replace("RUN", &run[..6])
                .as_str()
        ),
        "{shown}"
    );
    assert!(
        !shown.contains("runs approve RUN --set".replace("RUN", &run[..6]).as_str()),
        "{shown}"
    );
    let refused = world.call(&["runs", "approve", run]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("c2 needs 1 approval, signed;"),
        "{}",
        refused.stderr
    );
    assert_eq!(count(&world, "approval.granted"), 0);
    assert!(world.path("ws/notes.txt").exists());
    let answered = world.call(&[
        "runs", "approve", run, "c1", "--reject", "c2", "--note", "no",
    ]);
    assert_eq!(answered.code, 0, "{}", answered.stderr);
    assert!(!world.path("ws/notes.txt").exists());
    assert!(world.path("ws/old.log").exists());
    world.records_hold();
}

#[test]
fn who_started_a_run_or_amended_a_call_does_not_count_where_a_rule_says_so() {
    for (field, amends) in [("not_starter", false), ("not_amender", true)] {
        let config = format!("[[rules]]\ntool = 'rm'\nrequire = {{ {field} = true }}\n");
        let mut world = parked(&[RM], &config);
        let run = world.run().to_owned();
        let mut call = "c1";
        if amends {
            std::fs::write(world.path("arguments.json"), RM_NOTES.1).unwrap();
            let amended = ["runs", "amend", &run, "c1", "--args", "arguments.json"];
            assert_eq!(world.call(&amended).code, 2);
            call = "c2";
        }
        let refused = world.call(&["runs", "approve", &run, call]);
        assert_eq!(refused.code, 3, "{field}: {}", refused.stderr);
        let what = if amends {
            "amended the call"
        } else {
            "started the run"
        };
        let why = format!(
            "{call} needs 1 approval, not by who {what}; an approval by uid:1000 (same-user) does \
             not count, since its author {what}; it can be denied"
        );
        assert!(refused.stderr.contains(&why), "{field}: {}", refused.stderr);
        // Somebody else counts.
        world.uid = 2000;
        let approved = world.call(&["runs", "approve", &run, call]);
        assert_eq!(approved.code, 0, "{field}: {}", approved.stderr);
        // Whoever approves does not run the agent's commands; who started the run does.
        assert!(world.path("ws/old.log").exists(), "{field}");
        world.uid = 1000;
        let resumed = world.call(&["runs", "resume", &run]);
        assert_eq!(resumed.code, 0, "{field}: {}", resumed.stderr);
        assert_eq!(world.path("ws/old.log").exists(), amends, "{field}");
        assert_eq!(world.path("ws/notes.txt").exists(), !amends, "{field}");
        world.records_hold();
        assert_eq!(
            world.call(&["audit", "verify", "--full"]).code,
            0,
            "{field}"
        );
        assert_eq!(world.call(&["runs", "replay", &run]).code, 0, "{field}");
    }
}

#[test]
fn a_user_of_this_machine_approves_what_names_that_user() {
    let config = "[[rules]]\ntool = 'rm'\nrequire = { from = ['uid:2000', 'bob@example.org'] }\n";
    let mut world = parked(&[RM], config);
    let run = world.run().to_owned();
    let shown = world.call(&["runs", "show", &run]).stdout;
    assert!(
        shown.contains("needs          1 approval, from bob@example.org or uid:2000\n"),
        "{shown}"
    );
    assert!(!shown.contains("no approval"), "{shown}");
    let refused = world.call(&["runs", "approve", &run]);
    assert_eq!(refused.code, 3);
    assert!(
        refused.stderr.contains("since it is not by one of them"),
        "{}",
        refused.stderr
    );
    world.uid = 2000;
    assert_eq!(world.call(&["runs", "approve", &run]).code, 0);
    assert!(world.path("ws/old.log").exists());
    world.uid = 1000;
    assert_eq!(world.call(&["runs", "resume", &run]).code, 0);
    assert!(!world.path("ws/old.log").exists());
    world.records_hold();
}

#[test]
fn a_file_in_the_workspace_demands_as_well_and_its_demands_add_up() {
    let world = world(
        &[RM],
        "[[rules]]\ntool = 'rm'\nrequire = { from = ['uid:1000'] }\n",
    );
    let narrowing = "[[rules]]\npath = '*.log'\nrequire = { from = ['uid:2000'], signed = true }\n";
    std::fs::write(world.path("ws/placet.toml"), narrowing).unwrap();
    let explain = [
        "policy",
        "explain",
        "--workspace",
        "ws",
        "--park",
        RM.0,
        RM.1,
    ];
    let explained = value(&world, &explain);
    assert_eq!(explained["verdict"]["quorum"], 1);
    assert_eq!(
        explained["verdict"]["require"],
        json!({"assurance": "signed", "from": []})
    );
    assert_eq!(
        explained["rules"][0]["require"],
        json!({"from": ["uid:1000"]})
    );
    let said = world.call(&explain).stdout;
    for expected in [
        "rm: ask a person (high-risk), by rule:.log, needs 1 approval, from nobody: its rules \
         name different people, signed\n",
        "ask by rule:rm, needs 1 approval, from uid:1000\n",
        "ask by rule:.log of the workspace, needs 1 approval, from uid:2000, signed\n",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn a_check_says_what_is_demanded_and_that_nobody_can_give_it() {
    let world = World::new();
    let more = "[[rules]]\ncommand = 'yarn'\nrequire = { from = ['uid:7'], expires = '2h' }\n";
    std::fs::write(world.path("rules.toml"), format!("{KUBECTL}{more}")).unwrap();
    let checked = world.call(&["policy", "check", "rules.toml"]);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    for expected in [
        format!(
            "  asks for the command kubectl delete, wherever it stands, needs {PEOPLE}\n  \
             reason: two people for cluster deletes\n  \
             warning: it needs {PEOPLE}: nobody can give that in this release, so only denials \
             will be accepted\n"
        ),
        String::from(
            "  asks for the command yarn, wherever it stands, for 2h, needs 1 approval, from \
             uid:7\n2 rules",
        ),
    ] {
        assert!(checked.stdout.contains(&expected), "{}", checked.stdout);
    }
    let rules = &value(&world, &["policy", "check", "rules.toml"])["rules"];
    assert_eq!(rules[0]["quorum"], 2);
    let people = json!(["alice@example.org", "bob@example.org"]);
    assert_eq!(
        rules[0]["require"],
        json!({"assurance": "signed", "from": people})
    );
    assert_eq!(
        (&rules[1]["quorum"], &rules[1]["require"]),
        (&Value::Null, &json!({"from": ["uid:7"]}))
    );
}

#[test]
fn a_demand_that_cannot_be_meant_names_its_line() {
    for (require, what) in [
        ("from = []", "`require.from` names nobody"),
        (
            "approvers = 3, from = ['uid:1']",
            "3 approvals are wanted, and `from` names 1",
        ),
        (
            "assurance = 'touch'",
            "`require.assurance` is same-user, token, passkey",
        ),
    ] {
        let config = format!("[[rules]]\ntool = 'rm'\nrequire = {{ {require} }}\n");
        let world = world(&[RM], &config);
        let refused = world.call(&["run", "--model", "script:tidy.toml", "--park", "Go."]);
        assert_eq!(refused.code, 64, "{}", refused.stderr);
        assert!(
            refused.stderr.contains("config.toml:1: rule 1 (rm): "),
            "{}",
            refused.stderr
        );
        assert!(refused.stderr.contains(what), "{}", refused.stderr);
    }
}
