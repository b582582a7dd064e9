//! Rules as people write them, what they say of calls, and what does not load.

mod demands;
mod loads;
mod shipped;

use std::collections::{BTreeMap, BTreeSet};

use placet_ledger::approval::{Assurance, Demands};

use super::{Judgement, Origin, Rules, Subject, strictest};

/// The rule of the documentation, word for word.
const KUBECTL: &str = include_str!("kubectl.toml");

fn rules(text: &str) -> Rules {
    Rules::from_toml(text, Origin::User).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn on_command(rules: &Rules, command: &str) -> Judgement {
    rules.judge(&Subject {
        tool: "execute_command",
        command: Some(command),
        links: None,
        paths: &[],
    })
}

fn on_paths(rules: &Rules, tool: &str, paths: &[&str]) -> Judgement {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    rules.judge(&Subject {
        tool,
        command: None,
        links: None,
        paths: &paths,
    })
}

fn deny(rule: &str) -> Judgement {
    Judgement::Deny {
        rule: rule.parse().unwrap(),
    }
}

fn several(quorum: u32) -> Demands {
    Demands {
        quorum,
        ..Demands::default()
    }
}

/// What the rule of the documentation demands.
fn of_kubectl() -> Demands {
    let people = ["alice@example.org", "bob@example.org"];
    Demands {
        assurance: Assurance::Signed,
        from: Some(people.map(|name| name.parse().unwrap()).into()),
        ..several(2)
    }
}

fn ask_for(rule: &str, demands: Demands, expires_ms: Option<u64>) -> Judgement {
    Judgement::Ask {
        rule: rule.parse().unwrap(),
        demands,
        expires_ms,
    }
}

fn ask(rule: &str, quorum: u32, expires_ms: Option<u64>) -> Judgement {
    ask_for(rule, several(quorum), expires_ms)
}

fn unreadable(rule: &str, quorum: u32, expires_ms: Option<u64>) -> Judgement {
    Judgement::Unreadable {
        rule: rule.parse().unwrap(),
        demands: several(quorum),
        expires_ms,
    }
}

fn allow(rule: &str, network: &[u16]) -> Judgement {
    Judgement::Allow {
        rule: rule.parse().unwrap(),
        network: network.iter().copied().collect::<BTreeSet<_>>(),
    }
}

#[test]
fn a_demand_asks_for_its_people_however_the_command_is_written() {
    let rules = rules(KUBECTL);
    let name = "rule:kubectl-delete";
    let people = || ask_for(name, of_kubectl(), None);
    for (command, expected) in [
        ("kubectl delete pod x", people()),
        ("kubectl --context prod delete pod x", people()),
        ("env kubectl delete pod x", people()),
        ("ls && kubectl get pods", people()),
        ("sh -c 'kubectl delete pod x'", people()),
        ("X=kubectl; $X delete pod x", people()),
        (
            "sh -c \"$CODE\"",
            Judgement::Unreadable {
                rule: "unreadable:rule:kubectl-delete".parse().unwrap(),
                demands: of_kubectl(),
                expires_ms: None,
            },
        ),
        ("kubectl get pods", Judgement::Silent),
        ("ls", Judgement::Silent),
    ] {
        assert_eq!(on_command(&rules, command), expected, "{command}");
    }
    let other = Subject {
        tool: "write_file",
        command: None,
        links: None,
        paths: &["kubectl delete".to_owned()],
    };
    assert_eq!(rules.judge(&other), Judgement::Silent);
}

#[test]
fn a_link_counts_as_the_file_that_it_leads_to() {
    let rules = rules("[[rules]]\ncommand='git tag'\neffect='deny'");
    let links = BTreeMap::from([("./x".to_owned(), "/usr/bin/git".to_owned())]);
    for (command, expected) in [
        ("./x tag v", deny("rule:git-tag")),
        ("nice ./x tag v", deny("rule:git-tag")),
        ("./x zz", unreadable("unreadable:rule:git-tag", 1, None)),
        ("./x status", Judgement::Silent),
        ("./y tag v", Judgement::Silent),
    ] {
        let subject = Subject {
            tool: "execute_command",
            command: Some(command),
            links: Some(&links),
            paths: &[],
        };
        assert_eq!(rules.judge(&subject), expected, "{command}");
    }
    let key = "./x push --force";
    assert!(super::shipped().destructive(key).is_none());
    assert!(super::shipped().destructive_with(key, &links).is_some());
    assert!(
        super::shipped()
            .destructive_with("./x push $X", &links)
            .is_some()
    );
}

#[test]
fn the_strictest_of_all_that_match_decides() {
    let all = rules(
        r#"
[[rules]]
command = "git"
effect = "allow"
[[rules]]
command = "git fetch"
effect = "allow"
network = [443, 22, 443]
[[rules]]
command = "git push"
effect = "ask"
require = { expires = "1h" }
[[rules]]
command = "git push origin"
require = { approvers = 3 }
[[rules]]
command = "rm"
effect = "deny"
[[rules]]
tool = "mkdir"
effect = "ask"
"#,
    );
    for (command, expected) in [
        ("git status", allow("rule:git", &[])),
        ("git fetch origin", allow("rule:git-fetch", &[22, 443])),
        ("git push", ask("rule:git-push", 1, Some(3_600_000))),
        (
            "git push origin main",
            ask("rule:git-push-origin", 3, Some(3_600_000)),
        ),
        ("git push origin; rm x", deny("rule:rm")),
        ("git status; rm x", deny("rule:rm")),
        ("/usr/bin/git status", Judgement::Silent),
        ("sudo git status", Judgement::Silent),
        ("cargo test", Judgement::Silent),
        (
            "eval $X",
            unreadable("unreadable:rule:git-push-origin", 3, Some(3_600_000)),
        ),
    ] {
        assert_eq!(on_command(&all, command), expected, "{command}");
    }
    assert_eq!(on_paths(&all, "mkdir", &["a"]), ask("rule:mkdir", 1, None));
}

#[test]
fn a_deny_beats_an_allow_in_whatever_order() {
    for text in [
        "[[rules]]\ncommand = 'yarn'\neffect = 'deny'\n\
            [[rules]]\ncommand = 'yarn test'\neffect = 'allow'",
        "[[rules]]\ncommand = 'yarn test'\neffect = 'allow'\n\
            [[rules]]\ncommand = 'yarn'\neffect = 'deny'",
    ] {
        let rules = rules(text);
        assert_eq!(on_command(&rules, "yarn test"), deny("rule:yarn"));
        assert_eq!(on_command(&rules, "./x/yarn test"), deny("rule:yarn"));
        let warnings = rules.warnings();
        let about: Vec<_> = warnings
            .iter()
            .map(|w| (w.rule.as_str(), w.what.as_str()))
            .collect();
        let what = "never speaks: rule:yarn denies all that it matches";
        let runs = "allows more than it says: yarn runs code of the workspace, which the agent can \
             write";
        assert_eq!(about, [("rule:yarn-test", what), ("rule:yarn-test", runs)]);
    }
}

#[test]
fn a_path_is_compared_whole_and_from_the_top() {
    // A pattern, a path, and whether an allow and a deny match it.
    for (glob, path, allows, denies) in [
        ("x", "x", true, true),
        ("x", "X", false, true),
        ("x", "x/a", false, true),
        ("x", "y/x", false, false),
        ("x/*", "x/a", true, true),
        ("x/*", "x/a/b", false, true),
        ("x/*", "x", false, false),
        ("x/**", "x/a/b", true, true),
        ("x/**", "x", false, true),
        ("*.key", "a.key", true, true),
        ("*.key", "x/a.key", false, false),
        ("*.key", "a.key/b", false, true),
        ("**/*.key", "a.key", true, true),
        ("**/*.key", "x/y/a.key", true, true),
        ("**/*.key", "x/a.key/b", false, true),
    ] {
        let said = |effect: &str| {
            let text = format!("[[rules]]\ntool='rm'\npath='{glob}'\neffect='{effect}'");
            on_paths(&rules(&text), "rm", &[path]) != Judgement::Silent
        };
        assert_eq!(
            (said("allow"), said("deny")),
            (allows, denies),
            "{glob}: {path}"
        );
    }
}

#[test]
fn paths_are_allowed_exactly_and_denied_widely() {
    let all = rules(
        r#"
[[rules]]
tool = "write_file"
path = "notes/*.md"
effect = "allow"
match = ["notes/a.md"]
not_match = ["notes/a/b.md", "notes/A.MD", "src/x.md"]
[[rules]]
path = "secrets/**"
effect = "deny"
match = ["secrets/a", "secrets", "Secrets/b/c", "./secrets/x"]
not_match = ["secret/a", "src/secrets.rs", "src/secrets/x"]
[[rules]]
tool = "rm"
path = "data"
require = { expires = "1h" }
match = ["data", "data/x/y", "DATA/x", "data./x"]
not_match = ["database", "src/data"]
"#,
    );
    for (tool, paths, expected) in [
        (
            "write_file",
            &["notes/a.md"][..],
            allow("rule:notes-.md", &[]),
        ),
        (
            "write_file",
            &["notes/a.md", "notes/b.md"],
            allow("rule:notes-.md", &[]),
        ),
        ("write_file", &["notes/a.md", "src/x"], Judgement::Silent),
        ("write_file", &["notes/A.MD"], Judgement::Silent),
        ("write_file", &[], Judgement::Silent),
        ("rm", &["notes/a.md"], Judgement::Silent),
        (
            "write_file",
            &["notes/a.md", "SECRETS/k"],
            deny("rule:secrets-all"),
        ),
        ("read_file", &["secrets/k"], deny("rule:secrets-all")),
        ("rm", &["data/x"], ask("rule:data", 1, Some(3_600_000))),
        ("write_file", &["data/x"], Judgement::Silent),
    ] {
        assert_eq!(on_paths(&all, tool, paths), expected, "{tool} {paths:?}");
    }
}

#[test]
fn recorded_and_current_rules_together_are_the_strictest_of_both() {
    let silent = || Judgement::Silent;
    for (recorded, current, expected) in [
        (silent(), silent(), silent()),
        (
            allow("a", &[443, 80]),
            allow("b", &[443]),
            allow("a", &[443]),
        ),
        (allow("a", &[]), silent(), silent()),
        (silent(), allow("a", &[]), silent()),
        (allow("a", &[]), ask("b", 1, None), ask("b", 1, None)),
        (
            allow("a", &[]),
            unreadable("b", 2, None),
            unreadable("b", 2, None),
        ),
        (deny("a"), allow("b", &[]), deny("a")),
        (ask("a", 2, None), deny("b"), deny("b")),
        (
            ask("a", 2, Some(9)),
            ask("b", 3, Some(5)),
            ask("b", 3, Some(5)),
        ),
        (
            ask("a", 2, Some(9)),
            ask("b", 1, None),
            ask("a", 2, Some(9)),
        ),
        (
            ask("a", 1, None),
            ask("b", 1, Some(5)),
            ask("a", 1, Some(5)),
        ),
        (
            unreadable("a", 1, None),
            ask("b", 1, None),
            ask("b", 1, None),
        ),
        (
            ask("a", 1, None),
            unreadable("b", 2, Some(1)),
            unreadable("b", 2, Some(1)),
        ),
        (silent(), deny("b"), deny("b")),
    ] {
        let found = strictest(recorded.clone(), current.clone());
        assert_eq!(found, expected, "{recorded:?} {current:?}");
    }
}

#[test]
fn what_a_workspace_says_only_ever_tightens() {
    for (judgement, workspace, expected) in [
        (allow("a", &[1]), Judgement::Silent, allow("a", &[1])),
        (Judgement::Silent, allow("w", &[]), Judgement::Silent),
        (deny("a"), allow("w", &[]), deny("a")),
        (allow("a", &[]), ask("w", 1, None), ask("w", 1, None)),
        (allow("a", &[]), deny("w"), deny("w")),
        (
            ask("a", 1, None),
            ask("w", 2, Some(1)),
            ask("w", 2, Some(1)),
        ),
    ] {
        let found = judgement.clone().narrowed_by(workspace.clone());
        assert_eq!(found, expected, "{judgement:?} {workspace:?}");
    }
}

#[test]
fn rules_have_one_recorded_text() {
    let written = rules(KUBECTL);
    let text = written.to_json().unwrap();
    assert_eq!(
        text,
        concat!(
            r#"[{"command":"kubectl delete","match":["kubectl delete pod x","#,
            r#""kubectl --context prod delete pod x","env kubectl delete pod x"],"#,
            r#""not_match":["kubectl get pods"],"reason":"two people for cluster deletes","#,
            r#""require":{"approvers":2,"from":["alice@example.org","bob@example.org"],"#,
            r#""signed":true},"tool":"execute_command"}]"#
        )
    );
    let read = Rules::parse_json(&text).unwrap();
    assert_eq!(read.to_json().unwrap(), text);
    assert_eq!(read.as_slice()[0].name(), written.as_slice()[0].name());
    assert_eq!(Rules::parse_json("[]").unwrap().to_json().unwrap(), "[]");
    assert!(Rules::parse_json("{\"rules\":[]}").unwrap().is_empty());
}

#[test]
fn names_are_short_and_no_two_are_the_same() {
    let long = "x".repeat(300);
    let text = format!(
        r#"
[[rules]]
command = "git push"
effect = "ask"
[[rules]]
command = "git push"
effect = "deny"
[[rules]]
command = "git-push"
effect = "deny"
[[rules]]
path = "\u00e4/**"
effect = "deny"
[[rules]]
path = "\u00f6\u00f6"
effect = "deny"
[[rules]]
path = "{long}"
effect = "deny"
[[rules]]
tool = "mcp.x.y"
effect = "deny"
"#
    );
    let rules = rules(&text);
    let names: Vec<_> = rules
        .as_slice()
        .iter()
        .map(|rule| rule.name().as_str())
        .collect();
    let cut = format!("rule:{}", "x".repeat(60));
    let wanted = [
        "rule:git-push",
        "rule:git-push:2",
        "rule:git-push:3",
        "rule:all",
        "rule::5",
        &cut,
        "rule:mcp.x.y",
    ];
    assert_eq!(names, wanted);
    let second = rules.as_slice()[1].name();
    assert_eq!(
        rules.get(second).map(super::Rule::effect),
        Some(super::Effect::Deny)
    );
}
