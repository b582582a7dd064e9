//! Rules of the user and of a workspace: how they come into force, what they do to calls, and
//! what people and programs are told of them.

use std::os::unix::fs::PermissionsExt;

use placet_engine::context::Conversation;
use placet_engine::model::Message;
use placet_ledger::content::Contents;
use placet_ledger::run::RunState;

use crate::support::{Output, World};

/// A script with one call a turn, of these tools and arguments.
fn script(calls: &[(&str, &str)]) -> String {
    let turn = "[[turn]]\ntext = \"t\"\nusage = { input = 1, output = 1 }\n";
    let call = |(tool, arguments): &(&str, &str)| {
        format!(
            "{turn}calls = [{{ id = \"p\", tool = \"{tool}\", args_json = '''{arguments}''' }}]\n"
        )
    };
    calls.iter().map(call).collect::<String>() + turn
}

const RM: (&str, &str) = ("rm", r#"{"path":"old.log"}"#);

const DENY_LOG: &str = "[[rules]]\npath = '*.log'\neffect = 'deny'\nreason = 'logs are evidence'\n";

/// A world whose agent makes these calls, with this config and workspace file.
fn world(calls: &[(&str, &str)], config: &str, workspace: &str) -> World {
    let mut world = World::with_script(&script(calls));
    configure(&world, config);
    std::fs::write(world.path("ws/placet.toml"), workspace).unwrap();
    // A program that not every machine has.
    let yarn = world.path("bin/yarn");
    std::fs::create_dir_all(world.path("bin")).unwrap();
    std::fs::write(&yarn, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&yarn, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.search = format!("{}:/usr/bin:/bin", world.path("bin").display());
    world
}

fn configure(world: &World, config: &str) {
    let folder = world.path("person/.config/placet");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), config).unwrap();
}

fn run(world: &World, options: &[&str]) -> Output {
    let args = [
        "run",
        "--model",
        "script:tidy.toml",
        "--workspace",
        "ws",
        "Go.",
    ];
    world.call(&[&args[..], options].concat())
}

fn log(world: &World) -> String {
    world.call(&["audit", "log"]).stdout
}

/// What the gate says of a call of a new run, in one word, and the rule that it names.
fn gate(world: &World, tool: &str, arguments: &str, options: &[&str]) -> (String, String) {
    let args = ["--json", "policy", "explain", "--workspace", "ws", "--park"];
    let call = [&args[..], options, &[tool, arguments]].concat();
    let explained = world.call(&call);
    assert_eq!(explained.code, 0, "{}", explained.stderr);
    let explained: serde_json::Value = serde_json::from_str(&explained.stdout).unwrap();
    let verdict = &explained["verdict"];
    let text = |name: &str| verdict[name].as_str().unwrap_or_default().to_owned();
    (text("kind"), text("rule"))
}

fn on_command(world: &World, command: &str, options: &[&str]) -> (String, String) {
    let arguments = serde_json::json!({ "command": command }).to_string();
    gate(world, "execute_command", &arguments, options)
}

#[test]
fn a_deny_refuses_under_the_widest_policy_and_lists() {
    for (tool, arguments) in [
        RM,
        ("write_file", r#"{"path":"OLD.LOG","content":"x"}"#),
        ("mv", r#"{"from":"old.log","to":"new.txt"}"#),
    ] {
        let world = world(&[(tool, arguments)], DENY_LOG, "");
        let options = [
            "--approval-policy",
            "high-risk",
            "--auto-approve-tools",
            tool,
        ];
        let ran = run(&world, &options);
        assert_eq!(ran.code, 0, "{tool}: {}", ran.stderr);
        let kept = std::fs::read_to_string(world.path("ws/old.log")).unwrap();
        assert_eq!(kept, "debug 1\n", "{tool}");
        let log = log(&world);
        assert!(log.contains("rule rule:.log"), "{tool}: {log}");
        assert!(!log.contains("execution.started"), "{tool}: {log}");
        assert_eq!(world.call(&["audit", "verify", "--full"]).code, 0, "{tool}");
    }
}

#[test]
fn the_reason_of_a_rule_is_shown_where_it_acts() {
    let mut world = world(&[RM], DENY_LOG, "");
    let ran = run(&world, &["--json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    world.runs.push(report["run"].as_str().unwrap().to_owned());
    let shown = world.call(&["runs", "show", world.run()]).stdout;
    assert!(
        shown.contains("rule rule:.log: logs are evidence"),
        "{shown}"
    );

    let ask = "[[rules]]\ntool = 'rm'\neffect = 'ask'\nreason = 'look first'\n";
    let mut world = self::world(&[RM], ask, "");
    world.start_with("Go.", &["--approval-policy", "high-risk"]);
    let shown = world.call(&["runs", "show", world.run()]).stdout;
    assert!(shown.contains("asked by rule:rm\n"), "{shown}");
    assert!(shown.contains("reason         look first"), "{shown}");
    let inbox = world.call(&["--json", "inbox"]).stdout;
    assert!(inbox.contains(r#""reason":"look first""#), "{inbox}");
}

/// What the model was told came of its calls.
fn told(world: &World) -> Vec<String> {
    let mut told = Vec::new();
    world.in_ledger(async |ledger, run| {
        let look = |state: &RunState, contents: &Contents| {
            let mut conversation = Conversation::new(state, contents).unwrap();
            conversation.extend(state, contents).unwrap();
            for message in conversation.messages() {
                if let Message::Result { text, .. } = &**message {
                    told.push(text.clone());
                }
            }
        };
        ledger.look(run, look).await.unwrap();
    });
    told
}

/// Whether model, pages and JSON name the rule that forbids a call, and its reason.
fn is_forbidden_everywhere(world: &World, call: &str) {
    let said = "Not authorised: rule:.log forbids it: \"logs are evidence\". It was not run, and \
                asking again will not help.";
    assert_eq!(told(world)[0], said);
    let shown = world.call(&["--json", "runs", "show", world.run()]);
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let declined = &shown["declined"][0];
    assert_eq!(
        (&declined["call"], &declined["why"], &declined["rule"]),
        (&call.into(), &"rule".into(), &"rule:.log".into())
    );
    assert_eq!(declined["detail"], "logs are evidence");
    let page = world.call(&["runs", "show", world.run()]).stdout;
    for line in [
        &format!("{call} rm: rule:.log forbids it"),
        &format!("call.refused {call} rule rule:.log: logs are evidence"),
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    assert_eq!(world.call(&["runs", "replay", world.run()]).code, 0);
    assert_eq!(world.call(&["audit", "verify", "--full"]).code, 0);
}

#[test]
fn a_refusal_names_the_rule_and_its_reason_to_model_and_people() {
    let mut world = world(&[RM], DENY_LOG, "");
    let ran = run(&world, &[]);
    let line = "c1 rm: rule:.log forbids it: logs are evidence\n";
    assert!(ran.stdout.contains(line), "{}", ran.stdout);
    let ran = run(&world, &["--json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let declined = &report["declined"][0];
    assert_eq!(
        (&declined["rule"], &declined["detail"]),
        (&"rule:.log".into(), &"logs are evidence".into())
    );
    world.runs.push(report["run"].as_str().unwrap().to_owned());
    is_forbidden_everywhere(&world, "c1");
    // It is what the rule said then, whatever it says now.
    configure(&world, &DENY_LOG.replace("evidence", "sacred"));
    assert_eq!(run(&world, &[]).code, 0);
    is_forbidden_everywhere(&world, "c1");
}

#[test]
fn a_rule_that_forbids_what_was_approved_is_named_too() {
    let mut world = world(&[RM], "", "");
    world.start("Go.");
    configure(&world, DENY_LOG);
    let approved = world.call(&["runs", "approve", world.run()]);
    assert_eq!(approved.code, 0, "{}", approved.stderr);
    assert!(world.path("ws/old.log").exists());
    is_forbidden_everywhere(&world, "c1");
    let explained = [
        "--json",
        "policy",
        "explain",
        "--workspace",
        "ws",
        RM.0,
        RM.1,
    ];
    let explained = world.call(&explained).stdout;
    let explained: serde_json::Value = serde_json::from_str(&explained).unwrap();
    assert_eq!(explained["verdict"]["reason"], "logs are evidence");
}

#[test]
fn an_allow_runs_unasked_and_the_record_names_it() {
    let allow = "[[rules]]\ntool = 'rm'\npath = '*.log'\neffect = 'allow'\n";
    let world = world(&[RM], allow, "");
    let ran = run(&world, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("rules adopted: 1 rule, widens"),
        "{}",
        ran.stderr
    );
    assert!(!world.path("ws/old.log").exists());
    assert!(log(&world).contains("rule:.log"), "{}", log(&world));
    world.records_hold();
    // What is in force already is not adopted again.
    assert!(!run(&world, &[]).stderr.contains("rules adopted"));
}

#[test]
fn a_workspace_denies_and_asks_and_never_allows() {
    let all = ["--approval-policy", "high-risk"];
    for (rule, expected) in [
        ("tool = 'rm'\neffect = 'deny'", ("decline", "rule:rm")),
        ("tool = 'rm'\neffect = 'ask'", ("ask", "rule:rm")),
    ] {
        let world = world(&[RM], "", &format!("[[rules]]\n{rule}\n"));
        let (kind, by) = gate(&world, RM.0, RM.1, &all);
        assert_eq!((kind.as_str(), by.as_str()), expected);
    }
    let allows = "denied_tools = []\n\n[[rules]]\ntool = 'rm'\neffect = 'allow'\n";
    let world = world(&[RM], "", allows);
    let refused = run(&world, &[]);
    assert_eq!(refused.code, 64);
    let expected = "ws/placet.toml:3: rule 1 (rm): a file in the workspace may deny and ask, never";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    assert!(!world.path("data/placet").exists());
}

#[test]
fn what_is_wrong_in_a_config_names_its_line() {
    for (config, expected) in [
        ("containment = 'prefre'\n", "did you mean prefer?"),
        (
            "\n[[rules]]\ncomand = 'rm'\neffect = 'deny'\n",
            "did you mean command?",
        ),
        (
            "[[rules]]\ncommand = 'rm'\neffect = 'deny'\n\n[[rules]]\ncommand = 'ls'\n",
            "config.toml:5: rule 2 (ls): does nothing",
        ),
        (
            "[[rules]]\ncommand = 'rm'\neffect = 'deny'\nmatch = ['ls']\n",
            "config.toml:1: rule 1 (rm): `match`: \"ls\" is not matched",
        ),
        (
            "[[rules]]\ncommand = 'kubectl delete'\nrequire = { approvers = 0 }\n",
            "`require.approvers` is from 1 to 64, not 0",
        ),
    ] {
        let world = world(&[RM], config, "");
        let refused = run(&world, &[]);
        assert_eq!(refused.code, 64, "{config}");
        assert!(
            refused.stderr.contains(expected),
            "{config}: {}",
            refused.stderr
        );
        assert!(!world.path("data/placet").exists(), "{config}");
    }
    let world = world(&[RM], "", "containment = 'prefer'\n");
    let refused = run(&world, &[]);
    assert!(
        refused
            .stderr
            .contains("placet.toml:1: unknown variant `prefer`"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_tightening_binds_a_run_that_waits_and_a_widening_does_not() {
    let calls = [RM, ("write_file", r#"{"path":"b.log","content":"b"}"#)];
    let mut world = world(&calls, "", "");
    world.start("Go.");
    // Approved, but what is asked next is judged by the rules of now.
    configure(&world, DENY_LOG);
    let answered = world.call(&["runs", "approve", world.run()]);
    assert!(
        answered.stderr.contains("rules adopted: 1 rule, tightens"),
        "{}",
        answered.stderr
    );
    assert!(!world.path("ws/b.log").exists());
    assert!(log(&world).contains("rule rule:.log"), "{}", log(&world));
    assert_eq!(world.call(&["audit", "verify", "--full"]).code, 0);

    let mut world = self::world(&calls, "", "");
    world.start("Go.");
    configure(&world, "[[rules]]\ntool = 'write_file'\neffect = 'allow'\n");
    let answered = world.call(&["runs", "approve", world.run()]);
    assert!(
        answered.stderr.contains("rules adopted: 1 rule, widens"),
        "{}",
        answered.stderr
    );
    assert_eq!(answered.code, 2, "{}", answered.stderr);
    assert!(!world.path("ws/b.log").exists());
    // A run that is started after it has it.
    let (kind, by) = gate(&world, calls[1].0, calls[1].1, &[]);
    assert_eq!((kind.as_str(), by.as_str()), ("approve", "rule:write_file"));
    assert_eq!(world.call(&["runs", "replay", world.run()]).code, 0);
}

/// Rows of the field reports that rules answer.
#[test]
fn each_report_about_rules_has_its_answer() {
    let wide = ["--approval-policy", "high-risk"];
    let deny_rm = "[[rules]]\ncommand = 'rm'\neffect = 'deny'\n";
    for (id, config, command, options, expected) in [
        (
            "P024",
            "[[rules]]\ncommand = 'rm'\neffect = 'deny'\n[[rules]]\ncommand = 'rm'\neffect = 'allow'\n",
            "rm x",
            &wide[..],
            ("decline", "rule:rm"),
        ),
        (
            "P025",
            "[[rules]]\ncommand = 'yarn'\neffect = 'deny'\n",
            "yarn test",
            &wide[..],
            ("decline", "rule:yarn"),
        ),
        (
            "P035",
            "[[rules]]\ncommand = 'rm'\neffect = 'deny'\n[[rules]]\ncommand = 'ls'\neffect = 'allow'\n",
            "ls && rm x",
            &wide[..],
            ("decline", "rule:rm"),
        ),
        (
            "P043",
            "[[rules]]\ncommand = 'echo'\neffect = 'allow'\n",
            "echo hello && python3 -c \"print($(echo world))\"",
            &[],
            ("ask", "policy:false"),
        ),
        ("P070", "", "touch x", &[], ("ask", "policy:false")),
        (
            "P056",
            deny_rm,
            "env /bin/rm -rf x",
            &wide[..],
            ("decline", "rule:rm"),
        ),
        (
            "P210",
            deny_rm,
            "touch x",
            &wide[..],
            ("approve", "policy:high-risk"),
        ),
    ] {
        let world = world(&[], config, "");
        let (kind, by) = on_command(&world, command, options);
        assert_eq!((kind.as_str(), by.as_str()), expected, "{id}");
    }
}

#[test]
fn p074_an_unknown_policy_starts_nothing() {
    let world = world(&[RM], "[agents.default]\napproval_policy = 'alwyas'\n", "");
    assert_eq!(run(&world, &[]).code, 64);
    assert!(!world.path("data/placet").exists());
}

#[test]
fn p073_no_argument_selects_the_execute_half() {
    for extra in ["force", "approved"] {
        let arguments = format!(r#"{{"path":"old.log","{extra}":true}}"#);
        let world = world(&[("rm", &arguments)], "", "");
        run(&world, &["--approval-policy", "high-risk"]);
        assert!(world.path("ws/old.log").exists(), "{extra}");
        assert!(log(&world).contains("bad_arguments"), "{}", log(&world));
    }
}

#[test]
fn a_file_of_rules_is_checked_without_coming_into_force() {
    let world = World::new();
    let rules = "[[rules]]\ncommand = 'kubectl delete'\neffect = 'ask'\nrequire = { expires = '2h' }\n\
                 reason = 'people first'\nmatch = ['kubectl delete pod x']\nnot_match = ['kubectl get x']\n\
                 [[rules]]\ncommand = 'yarn'\neffect = 'deny'\n[[rules]]\ncommand = 'yarn test'\n\
                 effect = 'allow'\nnetwork = [443]\n";
    std::fs::write(world.path("rules.toml"), rules).unwrap();
    insta::assert_snapshot!(world.show(&["policy", "check", "rules.toml"]), @"
    rule:kubectl-delete:306
      asks for the command kubectl delete, wherever it stands, for 2h
      reason: people first
    rule:yarn
      denies the command yarn, wherever it stands
    rule:yarn-test
      allows the command yarn test, by its key, with TCP 443
      warning: it never speaks: rule:yarn denies all that it matches
      warning: it allows more than it says: yarn runs code of the workspace, which the agent can write
    3 rules, 2 examples as written
    -- stderr --
    -- exit 0 --
    ");
    let refused = world.call(&["policy", "check", "rules.toml", "--workspace"]);
    assert_eq!(refused.code, 64);
    assert!(
        refused.stderr.contains("rules.toml:11: rule 3 (yarn test)"),
        "{}",
        refused.stderr
    );
    assert_eq!(world.call(&["policy", "check", "none.toml"]).code, 4);
    assert!(!world.path("data/placet").exists());
    let checked = world.call(&["--json", "policy", "check", "rules.toml"]);
    let checked: serde_json::Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!(checked["rules"][2]["network"], serde_json::json!([443]));
    assert_eq!(checked["rules"][0]["expires"], "2h");
}

#[test]
fn an_explanation_tells_how_entries_and_rules_stand() {
    let config = "[[rules]]\ncommand = 'git status'\neffect = 'allow'\n\
                  [[rules]]\ncommand = 'curl'\neffect = 'ask'\nreason = 'no downloads'\n";
    let world = world(&[], config, "");
    let explain = [
        "policy",
        "explain",
        "--workspace",
        "ws",
        "--park",
        "execute_command",
        "--",
    ];
    let told = |command: &[&str]| {
        let shown = world.call(&[&explain[..], command].concat());
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        let lines = shown.stdout.lines().filter(|line| {
            ["key", "member", "rule", "at most", "tier"]
                .iter()
                .any(|name| line.starts_with(name))
        });
        lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(told(&["git", "push"]), @r"
        key      git push
        tier     not certain, since `git push` is not on the list: a plugin or a model judges where the policy asks for it, else it is high-risk
        at most  approve (unknown), by policy:high-risk, under high-risk
        ");
    insta::assert_snapshot!(told(&["git status && curl x.org"]), @r"
    key      none: no entry and no allow covers it
    tier     not certain, since a control operator: a plugin or a model judges where the policy asks for it, else it is high-risk
    member   git status: key git status, rule:git-status says allow
    member   curl x.org: key curl x.org, rule:curl says ask
    rule     allow by rule:git-status: does not cover it, the command has no key, so nothing that allows covers it
    rule     ask by rule:curl (no downloads)
    at most  ask a person (unknown), by rule:curl, under high-risk
    ");
    insta::assert_snapshot!(told(&["git push --force"]), @r"
    key      git push
    tier     not certain, since `git push` is not on the list: a plugin or a model judges where the policy asks for it, else it is high-risk
    rule     no-entry by rule:git-push-force
    at most  approve (unknown), by policy:high-risk, under high-risk
    ");
}

#[test]
fn a_rule_for_a_tool_that_nobody_has_is_an_error_and_not_a_rule_that_binds_nothing() {
    for (tool, hint) in [
        ("execute_comand", "did you mean execute_command?"),
        ("", "placet tools list names them all"),
    ] {
        let rule = format!("[[rules]]\ntool = '{tool}'\neffect = 'deny'\n");
        let world = world(&[RM], &rule, "");
        let shown = world.call(&["run", "go", "--model", "script:s.toml"]);
        assert_eq!(shown.code, 64, "{}", shown.stderr);
        assert!(shown.stderr.contains("config.toml:1"), "{}", shown.stderr);
        assert!(shown.stderr.contains(hint), "{}", shown.stderr);
    }
}
