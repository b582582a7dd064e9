//! What does not load, with the words that say why; and what loads with a warning.

use super::super::{Origin, Rules};
use super::rules;

fn error(text: &str, origin: Origin) -> String {
    match Rules::from_toml(text, origin) {
        Ok(_) => panic!("loads: {text}"),
        Err(error) => error.to_string(),
    }
}

/// A rule and what is said of it.
const WRONG: &[(&str, &str)] = &[
    (
        "reason = 'x'",
        "rule 1 (): does nothing: a rule needs `effect`",
    ),
    ("effect = 'deny'", "names nothing"),
    ("command = 'rm'", "rule 1 (rm): does nothing"),
    (
        "command = 'rm'\npath = 'x'\neffect = 'deny'",
        "names more than one",
    ),
    (
        "command = 'rm'\neffect = 'alwyas'",
        "unknown variant `alwyas`",
    ),
    ("comand = 'rm'\neffect = 'deny'", "unknown field `comand`"),
    (
        "command = 'rm'\neffect = 'deny'\nrequire = { aprovers = 2 }",
        "unknown field",
    ),
    ("tool = 'a b'\neffect = 'deny'", "`tool` is no name"),
    (
        "command = '/bin/rm'\neffect = 'deny'",
        "expected the name of a program",
    ),
    (
        "command = '*'\neffect = 'allow'",
        "an allow matches commands by their key",
    ),
    (
        "command = 'git status --short'\neffect = 'allow'",
        "by their key",
    ),
    ("command = 'git && ls'\neffect = 'allow'", "by their key"),
    (
        "command = 'git push && x'\neffect = 'allow'",
        "by their key",
    ),
    (
        "path = '/etc/x'\neffect = 'deny'",
        "no path beneath the workspace",
    ),
    (
        "path = 'a/../b'\neffect = 'deny'",
        "no path beneath the workspace",
    ),
    (
        "path = ''\neffect = 'deny'",
        "no path beneath the workspace",
    ),
    ("path = 'a[b'\neffect = 'deny'", "`path`"),
    ("path = 'a'\neffect = 'allow'", "must name its tool"),
    ("tool = 'execute_command'\neffect = 'allow'", "too wide"),
    (
        "command = 'rm'\neffect = 'no-entry'",
        "belongs to shipped rules",
    ),
    (
        "command = 'rm'\neffect = 'deny'\nnetwork = [443]",
        "`network` belongs to an allow",
    ),
    (
        "tool = 'rm'\neffect = 'allow'\nnetwork = [443]",
        "`network` belongs to an allow",
    ),
    (
        "tool = 'read_file'\npath = '.env'\neffect = 'deny'",
        "`path`: read_file only reads",
    ),
    ("url = 'https://x.org/*'\neffect = 'allow'", "never allow"),
    (
        "url = 'https://x.org/*'\neffect = 'deny'",
        "makes no web requests",
    ),
    (
        "command = 'rm'\neffect = 'deny'\nrequire = { approvers = 2 }",
        "a rule that asks",
    ),
    (
        "command = 'ls'\neffect = 'allow'\nrequire = { approvers = 2 }",
        "a rule that asks",
    ),
    (
        "command = 'rm'\nrequire = { approvers = 0 }",
        "from 1 to 64, not 0",
    ),
    (
        "command = 'rm'\nrequire = { approvers = 65 }",
        "from 1 to 64, not 65",
    ),
    (
        "command = 'rm'\nrequire = { approvers = 2, from = ['uid:1'] }",
        "`require`: 2 approvals are wanted, and `from` names 1",
    ),
    (
        "command = 'rm'\nrequire = { from = [] }",
        "`require.from` names nobody",
    ),
    (
        "command = 'rm'\nrequire = { from = ['uid:1', 'a@b.org', 'uid:1'] }",
        "`require.from` names uid:1 twice",
    ),
    (
        "command = 'rm'\nrequire = { from = ['Alice Smith'] }",
        "`require.from`: \"Alice Smith\" is no name of a person: write one such as alice@",
    ),
    (
        "command = 'rm'\nrequire = { from = ['\u{430}lice@example.org'] }",
        "is no name of a person",
    ),
    (
        "command = 'rm'\nrequire = { from = [''] }",
        "is no name of a person",
    ),
    (
        "command = 'rm'\nrequire = { from = 'uid:1' }",
        "invalid type",
    ),
    (
        "command = 'rm'\nrequire = { assurance = 'sined' }",
        "`require.assurance` is same-user, token, passkey, signed or signed-touch, not \"sined\"",
    ),
    (
        "command = 'rm'\neffect = 'deny'\nrequire = { signed = true }",
        "`require` belongs to a rule that asks, not to one with the effect deny",
    ),
    (
        "command = 'ls'\neffect = 'allow'\nrequire = { not_starter = true }",
        "`require` belongs to a rule that asks, not to one with the effect allow",
    ),
    (
        "command = 'rm'\nrequire = { expires = 'soon' }",
        "such as 30m or 2h",
    ),
    (
        "command = 'rm'\nrequire = { expires = '0s' }",
        "such as 30m or 2h",
    ),
    (
        "tool = 'rm'\neffect = 'ask'\nmatch = ['x']",
        "need a `command` or a `path`",
    ),
];

#[test]
fn what_is_wrong_is_named() {
    for (text, expected) in WRONG {
        let found = error(&format!("[[rules]]\n{text}"), Origin::User);
        assert!(found.contains(expected), "{text}: {found}");
    }
    let found = error(
        "[[rules]]\ncommand='rm'\neffect='ask'\n[[rules]]\ncommand='a b'",
        Origin::User,
    );
    assert!(found.starts_with("rule 2 (a b):"), "{found}");
    let people: Vec<_> = (0..65).map(|uid| format!("'uid:{uid}'")).collect();
    let from = |names: &[String]| {
        format!(
            "[[rules]]\ncommand='rm'\nrequire={{from=[{}]}}",
            names.join(",")
        )
    };
    rules(&from(&people[..64]));
    assert!(error(&from(&people), Origin::User).contains("names more than 64 people"));
    assert!(error("[[rule]]\ncommand='rm'", Origin::User).contains("unknown field `rule`"));
}

#[test]
fn a_workspace_may_deny_and_ask_alone() {
    let may = "[[rules]]\ncommand = 'rm'\neffect = 'deny'\n[[rules]]\ntool = 'mv'\neffect = 'ask'";
    assert_eq!(
        Rules::from_toml(may, Origin::Workspace)
            .unwrap()
            .as_slice()
            .len(),
        2
    );
    for effect in ["allow", "no-entry"] {
        let text = format!("{may}\n[[rules]]\ncommand = 'ls'\neffect = '{effect}'");
        let found = error(&text, Origin::Workspace);
        assert!(found.starts_with("rule 3 (ls):"), "{found}");
    }
}

#[test]
fn examples_are_tried_when_rules_load() {
    for (examples, expected) in [
        (
            "match = ['kubectl get x']",
            "`match`: \"kubectl get x\" is not matched",
        ),
        (
            "match = ['sh -c x']",
            "`match`: \"sh -c x\" asks only because",
        ),
        (
            "not_match = ['sudo kubectl delete x']",
            "`not_match`: \"sudo kubectl delete x\" is matched",
        ),
        (
            "not_match = ['$X delete']",
            "`not_match`: \"$X delete\" asks",
        ),
    ] {
        let text = format!("[[rules]]\ncommand = 'kubectl delete'\neffect = 'deny'\n{examples}");
        let found = error(&text, Origin::User);
        assert!(found.contains(expected), "{found}");
    }
    for (examples, loads) in [
        ("match = ['git status -s']", true),
        ("match = ['/usr/bin/git status']", false),
        (
            "not_match = ['sudo git status', 'git statusx', 'git status; ls']",
            true,
        ),
        ("not_match = ['git  status']", false),
    ] {
        let text = format!("[[rules]]\ncommand = 'git status'\neffect = 'allow'\n{examples}");
        assert_eq!(
            Rules::from_toml(&text, Origin::User).is_ok(),
            loads,
            "{examples}"
        );
    }
}

#[test]
fn a_record_is_read_without_its_examples_and_with_shipped_effects() {
    let text =
        r#"[{"command":"rm","effect":"deny","match":["ls"]},{"command":"ls","effect":"no-entry"}]"#;
    assert_eq!(Rules::parse_json(text).unwrap().as_slice().len(), 2);
    for wrong in [
        "",
        "null",
        "[1]",
        "[{\"command\":\"rm\"}]",
        "[{\"command\":\"rm\",\"effect\":\"deny\",\"effect\":\"ask\"}]",
        "[{\"command\":\"rm\",\"effect\":\"deny\",\"later\":1}]",
        "{\"rules\":[],\"later\":1}",
        "[] []",
    ] {
        assert!(Rules::parse_json(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_never_speaks_is_warned_about() {
    for (text, expected) in [
        ("[[rules]]\ncommand='kubectl delete'\neffect='ask'", vec![]),
        (
            "[[rules]]\ncommand='rm'\nrequire={approvers=2}\n\
                [[rules]]\ncommand='mv'\nrequire={signed=true,from=['a@b.org']}\n\
                [[rules]]\ncommand='cp'\nrequire={from=['a@b.org']}\n\
                [[rules]]\ncommand='dd'\n\
                require={from=['uid:7'],not_starter=true,not_amender=true}\n\
                [[rules]]\ncommand='dd'\nrequire={from=['uid:8']}",
            vec![
                "rule:rm needs 2 approvals: nobody can give that in this release, so only \
                    denials will be accepted",
                "rule:mv needs 1 approval, from a@b.org, signed: nobody can give that in this \
                    release, so only denials will be accepted",
                "rule:cp needs 1 approval, from a@b.org: nobody can give that in this release, so \
                    only denials will be accepted",
            ],
        ),
        (
            "[[rules]]\ncommand='rm'\neffect='ask'\n[[rules]]\ncommand='rm'\neffect='ask'",
            vec!["rule:rm:2 says what rule:rm says"],
        ),
        (
            "[[rules]]\ntool='execute_command'\neffect='deny'\n\
                [[rules]]\ntool='execute_command'\ncommand='git push'\neffect='ask'",
            vec!["rule:git-push never speaks: rule:execute_command denies all that it matches"],
        ),
        (
            "[[rules]]\ncommand='git push'\neffect='ask'\n[[rules]]\ncommand='git'\neffect='allow'",
            vec![
                "rule:git allows more than it says: git can be told by its own settings to run \
                 any program",
            ],
        ),
        (
            "[[rules]]\npath='a/**'\neffect='ask'\n\
                [[rules]]\ntool='rm'\npath='a/b'\neffect='allow'",
            vec![
                "rule:a-all binds what writes and removes, not what tools read or commands touch",
                "rule:a-b never speaks: rule:a-all asks for all that it matches",
            ],
        ),
        (
            "[[rules]]\ncommand='python3'\neffect='allow'\n\
                [[rules]]\ncommand='sudo apt'\neffect='allow'",
            vec![
                "rule:python3 allows more than it says: python3 runs whatever code it is given",
                "rule:sudo-apt allows more than it says: sudo acts as another user",
            ],
        ),
        (
            "[[rules]]\ncommand='logsave'\neffect='allow'\n\
                [[rules]]\ncommand='npm test'\neffect='allow'",
            vec![
                "rule:logsave allows more than it says: logsave can be told by its words to run \
                 other programs",
                "rule:npm-test allows more than it says: npm runs code of the workspace, which \
                 the agent can write",
            ],
        ),
        (
            "[[rules]]\ncommand='rm'\neffect='allow'\nmatch=['rm x', 'rm -rf x', 'rm *']",
            vec![
                "rule:rm does not let its example \"rm -rf x\" run: rule:rm-r keeps it out",
                "rule:rm does not let its example \"rm *\" run: rule:rm-r keeps it out",
            ],
        ),
    ] {
        let warnings = rules(text).warnings();
        let found: Vec<_> = warnings
            .iter()
            .map(|w| format!("{} {}", w.rule, w.what))
            .collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn what_is_not_certain_to_tighten_widens() {
    use placet_ledger::event::Change::{Tightens, Widens};
    const ALLOW: &str = "[[rules]]\ncommand='git'\neffect='allow'\n";
    const PORTS: &str = "[[rules]]\ncommand='git'\neffect='allow'\nnetwork=[443]\n";
    const FETCH: &str = "[[rules]]\ncommand='git fetch'\neffect='allow'\n";
    const DENY: &str = "[[rules]]\ncommand='rm'\neffect='deny'\n";
    const ASK: &str = "[[rules]]\ncommand='rm'\neffect='ask'\n";
    const SOON: &str = "[[rules]]\ncommand='rm'\neffect='ask'\nrequire={expires='1h'}\n";
    const TWO: &str = "[[rules]]\ncommand='rm'\nrequire={approvers=2}\n";
    const SIGNED: &str = "[[rules]]\ncommand='rm'\nrequire={approvers=2,signed=true}\n";
    for (before, after, expected) in [
        (String::new(), String::new(), Tightens),
        (String::new(), DENY.into(), Tightens),
        (String::new(), ALLOW.into(), Widens),
        (DENY.into(), String::new(), Widens),
        (ASK.into(), String::new(), Widens),
        (ALLOW.into(), String::new(), Tightens),
        (ALLOW.into(), format!("{DENY}{ALLOW}"), Tightens),
        (ALLOW.into(), PORTS.into(), Widens),
        // Without the longer allow, the shorter one gives its ports.
        (format!("{PORTS}{FETCH}"), PORTS.into(), Widens),
        (format!("{ALLOW}{FETCH}"), ALLOW.into(), Tightens),
        (ASK.into(), DENY.into(), Widens),
        (ASK.into(), SOON.into(), Widens),
        (ASK.into(), TWO.into(), Widens),
        (TWO.into(), SIGNED.into(), Widens),
        (TWO.into(), ASK.into(), Widens),
        (SIGNED.into(), SIGNED.into(), Tightens),
        (TWO.into(), format!("{TWO}{SIGNED}"), Tightens),
        (
            ASK.into(),
            format!("{ASK}reason='r'\nmatch=['rm x']\n"),
            Tightens,
        ),
    ] {
        let found = rules(&after).change_from(&rules(&before));
        assert_eq!(found, expected, "{before} -> {after}");
    }
}
