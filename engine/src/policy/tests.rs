//! Rules before the gate: no way to write a command that one is about gets past it.

use std::collections::BTreeSet;

use placet_ledger::approval::{Assurance, By, Demands};
use placet_ledger::containment::{Level, Part};
use placet_ledger::digest::{Purpose, digest};
use placet_ledger::id::Name;
use placet_ledger::judge::{CommandInput, GateInput, RulesInput, Verdict};
use placet_ledger::policy::{ApprovalPolicy, Attendance, ContainmentRule};
use placet_ledger::program::Program;
use placet_ledger::risk::DeclaredRisk;

use super::gate;
use super::rules::{SHIPPED, shipped};
use crate::shell::wide::tests::RULES;
use crate::shell::wide::tests::respelled::respellings;

/// What the gate says of a command whose tool is on the list of the run.
fn verdict(command: &str, policy: ApprovalPolicy, rules: &str, narrowing: Option<&str>) -> Verdict {
    judged((command, None), policy, rules, narrowing)
}

/// The same of a command with its program.
fn judged(
    (command, program): (&str, Option<Program>),
    policy: ApprovalPolicy,
    rules: &str,
    narrowing: Option<&str>,
) -> Verdict {
    let tool: Name = "execute_command".parse().unwrap();
    let allowlist = match policy {
        ApprovalPolicy::HighRisk => BTreeSet::from([tool.clone()]),
        ApprovalPolicy::False | ApprovalPolicy::ReadOnly | ApprovalPolicy::LowRisk => {
            BTreeSet::new()
        }
    };
    gate(&GateInput {
        tool: &tool,
        paired: true,
        question: false,
        reach: Some(Vec::new()),
        declared: DeclaredRisk::Unknown,
        policy,
        allowlist: &allowlist,
        offered: true,
        attendance: Attendance::Park,
        repeats: None,
        command: Some(CommandInput {
            text: Some(command.to_owned()),
            class: None,
            program,
            network: BTreeSet::new(),
        }),
        level: Level::IN_PROCESS,
        weaker: false,
        containment: ContainmentRule::Prefer,
        assessed: None,
        judgeable: true,
        plugin: false,
        rules: RulesInput {
            recorded: Ok(rules.as_bytes()),
            current: Ok(rules.as_bytes()),
            narrowing: narrowing.map(|text| Ok(text.as_bytes())),
        },
        grants: Vec::new(),
    })
}

#[test]
fn no_respelling_of_a_denied_command_is_approved() {
    let mut past = Vec::new();
    for rule in RULES {
        for effect in ["deny", "ask"] {
            let text = format!(r#"[{{"command":"{rule}","effect":"{effect}"}}]"#);
            let allowed = "[]";
            for command in respellings(rule) {
                let of_user = verdict(&command, ApprovalPolicy::HighRisk, &text, None);
                let of_workspace =
                    verdict(&command, ApprovalPolicy::HighRisk, allowed, Some(&text));
                for said in [of_user, of_workspace] {
                    if !matches!(said, Verdict::Decline { .. } | Verdict::Ask { .. }) {
                        past.push(format!("{effect} {rule}: {command}: {said:?}"));
                    }
                }
            }
        }
    }
    assert!(past.is_empty(), "{}", past.join("\n"));
}

#[test]
fn no_respelling_of_a_demanded_command_does_with_less() {
    let demands = Demands {
        quorum: 2,
        assurance: Assurance::Signed,
        from: Some(
            ["a@b.org", "c@d.org"]
                .map(|name| name.parse().unwrap())
                .into(),
        ),
        not_amender: true,
        not_starter: true,
    };
    let mut past = Vec::new();
    for rule in RULES {
        let require = concat!(
            r#"{"approvers":2,"from":["a@b.org","c@d.org"],"signed":true,"#,
            r#""not_amender":true,"not_starter":true,"expires":"1h"}"#
        );
        let text = format!(r#"[{{"command":"{rule}","require":{require}}}]"#);
        for command in respellings(rule) {
            let of_user = verdict(&command, ApprovalPolicy::HighRisk, &text, None);
            let of_workspace = verdict(&command, ApprovalPolicy::HighRisk, "[]", Some(&text));
            for said in [of_user, of_workspace] {
                let all = matches!(
                    &said,
                    Verdict::Ask {
                        demands: asked,
                        expires_ms: Some(3_600_000),
                        ..
                    } if *asked == demands
                );
                if !all {
                    past.push(format!("{rule}: {command}: {said:?}"));
                }
            }
        }
    }
    assert!(past.is_empty(), "{}", past.join("\n"));
}

/// What the gate says of a call that asks always, or since it is shut in less than it must be.
fn verdict_on_paths(paths: &[&str], level: Level, rules: &str, plugin: bool) -> Verdict {
    let tool: Name = "write_file".parse().unwrap();
    let allowlist = BTreeSet::from([tool.clone()]);
    gate(&GateInput {
        tool: &tool,
        paired: true,
        question: false,
        reach: Some(paths.iter().map(|path| (*path).to_owned()).collect()),
        declared: DeclaredRisk::HighRisk,
        policy: ApprovalPolicy::HighRisk,
        allowlist: &allowlist,
        offered: true,
        attendance: Attendance::Park,
        repeats: None,
        command: None,
        level,
        weaker: false,
        containment: ContainmentRule::Require,
        assessed: None,
        judgeable: false,
        plugin,
        rules: RulesInput {
            recorded: Ok(rules.as_bytes()),
            current: Ok(rules.as_bytes()),
            narrowing: None,
        },
        grants: Vec::new(),
    })
}

#[test]
fn what_rules_demand_holds_whichever_row_asks() {
    let rules = r#"[{"tool":"write_file","require":{"signed":true,"expires":"1h"}}]"#;
    let full = || Level::IN_PROCESS;
    let less = || Level::of(BTreeSet::from([Part::Network]));
    for (paths, level, plugin, row) in [
        (&["notes.txt"][..], full(), false, "rule:write_file"),
        (&["notes.txt"], less(), false, "rule:write_file"),
        (&[".envrc"], full(), false, "always:environment"),
        (&["notes.txt"], full(), true, "plugin"),
    ] {
        let said = verdict_on_paths(paths, level, rules, plugin);
        let Verdict::Ask {
            rule,
            demands,
            expires_ms,
            ..
        } = said
        else {
            panic!("{row}: {said:?}");
        };
        assert_eq!(rule.as_str(), row);
        assert_eq!(demands.assurance, Assurance::Signed, "{row}");
        assert_eq!(expires_ms, Some(3_600_000), "{row}");
    }
}

#[test]
fn no_respelling_of_what_shipped_rules_keep_out_is_allowed_by_a_rule() {
    let shipped: Vec<serde_json::Value> = serde_json::from_str(SHIPPED).unwrap();
    for rule in &shipped {
        let rule = rule["command"].as_str().unwrap();
        let (program, _) = rule.split_once(' ').unwrap_or((rule, ""));
        let mut rules = shipped.clone();
        rules.push(serde_json::json!({"command": program, "effect": "allow"}));
        let rules = serde_json::to_string(&rules).unwrap();
        let command = format!("{} y", rule.replace('*', "x"));
        let said = verdict(&command, ApprovalPolicy::False, &rules, None);
        let by_rule = matches!(
            &said,
            Verdict::Approve {
                by: By::Rule { .. },
                ..
            }
        );
        assert!(!by_rule, "{rule}: {command}: {said:?}");
    }
}

/// Keys, and commands under them that name another program.
const NAMES_A_PROGRAM: &[(&str, &str)] = &[
    ("git push", "git push --receive-pack=x o"),
    ("git push", "git push --receive-pack x o"),
    ("git push", "git push --receive-pac=x o"),
    ("git push", "git push --rece x o"),
    ("git push", "git push o --rec=x"),
    ("git push", "git push --exec=x o"),
    ("git push", "git push --exe x o"),
    ("git push", "git push --e=x o"),
    ("git fetch", "git fetch --upload-pack=x o"),
    ("git fetch", "git fetch --upload-pack x o"),
    ("git fetch", "git fetch --upl=x o"),
    ("git pull", "git pull --upload-pack=x o"),
    ("git pull", "git pull --upl x o"),
    ("git clone", "git clone --upload-pack=x o"),
    ("git clone", "git clone --upl=x o"),
    ("git clone", "git clone -u x o"),
    ("git clone", "git clone -ux o"),
    ("git clone", "git clone -qu x o"),
    ("git clone", "git clone -c a.b=c o"),
    ("git clone", "git clone -ca.b=c o"),
    ("git clone", "git clone --config a.b=c o"),
    ("git clone", "git clone --conf=a.b=c o"),
    ("git clone", "git clone --template=x o"),
    ("git clone", "git clone --tem x o"),
    ("git ls-remote", "git ls-remote --upload-pack=x o"),
    ("git ls-remote", "git ls-remote --upl=x o"),
    ("git ls-remote", "git ls-remote --exec=x o"),
    ("git ls-remote", "git ls-remote --exe x o"),
    ("git archive", "git archive --remote=o --exec=x HEAD"),
    ("git archive", "git archive --remote=o --e=x HEAD"),
    ("git send-email", "git send-email --smtp-server=/x a"),
    ("git send-email", "git send-email --sendmail-cmd=x a"),
    ("git send-email", "git send-email --to-cmd x a"),
    ("git send-email", "git send-email --cc-cmd x a"),
    ("git send-email", "git send-email --header-cmd=x a"),
    ("sort", "sort --compress-program=x a"),
    ("sort", "sort --compress-prog x a"),
    ("sort", "sort --compress=x a"),
    ("split", "split --filter=x a"),
    ("split", "split --filt x a"),
    ("tar", "tar -I x -cf a b"),
    ("tar", "tar -cIx -f a b"),
    ("tar", "tar --use-compress-program=x -cf a b"),
    ("tar", "tar --use=x -cf a b"),
    ("tar", "tar --to-command=x -xf a"),
    ("tar", "tar --to-c x -xf a"),
    (
        "tar",
        "tar --checkpoint=1 --checkpoint-action=exec=x -cf a b",
    ),
    ("tar", "tar --checkpoint-act=exec=x -cf a b"),
    ("tar", "tar -F x -cf a b"),
    ("tar", "tar --info-script=x -cf a b"),
    ("tar", "tar --new-volume-scr=x -cf a b"),
    ("tar", "tar --rsh-command=x -cf a b"),
    ("tar", "tar --rmt-comm=x -cf a b"),
    ("rsync", "rsync -e x a b"),
    ("rsync", "rsync -ave x a b"),
    ("rsync", "rsync --rsh=x a b"),
    ("rsync", "rsync --rsh x a b"),
    ("rsync", "rsync --rsync-path=x a b"),
];

#[test]
fn no_entry_of_a_key_covers_words_that_name_another_program() {
    for (key, command) in NAMES_A_PROGRAM {
        assert!(is_allowed(key, key), "{key}");
        assert!(!is_allowed(key, command), "{command}");
    }
    for (key, command) in [
        ("git push", "git push -u origin main"),
        ("git push", "git push --recurse-submodules=check o"),
        ("git fetch", "git fetch --prune --tags o"),
        ("git pull", "git pull --rebase o"),
        ("git clone", "git clone --depth 1 --branch main o"),
        ("git ls-remote", "git ls-remote --exit-code --heads o"),
        ("git archive", "git archive --format=tar HEAD"),
        ("sort", "sort -u --check a"),
        ("split", "split -l 5 a"),
        ("rsync", "rsync -av --exclude x --recursive a b"),
        ("curl", "curl -fsS -o x https://a"),
    ] {
        assert!(is_allowed(key, command), "{command}");
    }
}

#[test]
fn a_link_to_a_denied_program_is_denied() {
    let rules = r#"[{"command":"git tag","effect":"deny"}]"#;
    let program = |words: &[(&str, &str)]| Program {
        argv: Vec::new(),
        digest: digest(Purpose::File, b""),
        links: words
            .iter()
            .map(|(word, path)| (String::from(*word), String::from(*path)))
            .collect(),
        outside: Vec::new(),
        path: String::from("/usr/bin/git"),
        repository: Vec::new(),
        shell: false,
    };
    let said = |command: &str, words: &[(&str, &str)]| {
        judged(
            (command, Some(program(words))),
            ApprovalPolicy::HighRisk,
            rules,
            None,
        )
    };
    let linked = said("./x tag v", &[("./x", "/usr/bin/git")]);
    assert!(matches!(linked, Verdict::Decline { .. }), "{linked:?}");
    let apart = said("./x tag v", &[]);
    assert!(matches!(apart, Verdict::Approve { .. }), "{apart:?}");
}

/// Whether a rule that allows a key, and an entry for it, let a command run unasked.
fn is_allowed(key: &str, command: &str) -> bool {
    let mut rules: Vec<serde_json::Value> = serde_json::from_str(SHIPPED).unwrap();
    rules.push(serde_json::json!({"command": key, "effect": "allow"}));
    let rules = serde_json::to_string(&rules).unwrap();
    let said = verdict(command, ApprovalPolicy::False, &rules, None);
    let by_rule = matches!(
        &said,
        Verdict::Approve {
            by: By::Rule { .. },
            ..
        }
    );
    let by_entry = shipped().destructive(command).is_none();
    assert_eq!(by_rule, by_entry, "{command}: {said:?}");
    by_rule
}
