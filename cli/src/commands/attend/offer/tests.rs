//! What may be granted beside an approval, and what may not.

use placet_ledger::digest::Digest;
use placet_ledger::view::CardProgram;
use serde_json::json;

use super::*;
use crate::ui::card::tests::sample;

fn of(command: &str, class: ProgramClass, rule: &str) -> Card {
    Card {
        tool: EXECUTE_COMMAND.parse().unwrap(),
        rule: Some(rule.parse().unwrap()),
        arguments: Some(json!({"command": command})),
        network: [443].into(),
        program: Some(CardProgram {
            argv: Vec::new(),
            path: "/usr/bin/git".into(),
            digest: Digest::from_bytes([3; 32]),
            class,
            shell: false,
            outside: Vec::new(),
            repository: Vec::new(),
        }),
        ..sample()
    }
}

#[test]
fn a_command_with_a_key_offers_an_entry_for_it_as_shown() {
    let system = of("git push origin main", ProgramClass::System, "policy:false");
    assert_eq!(always(&system), Always::Command);
    let entry = entry(&system).unwrap();
    assert_eq!(
        (entry.key.as_str(), entry.path.as_str()),
        ("git push", "/usr/bin/git")
    );
    assert_eq!((entry.digest, entry.network), (None, [443].into()));
    let user = of("git push", ProgramClass::User, "policy:low-risk");
    let entry = super::entry(&user).unwrap();
    assert_eq!(entry.digest, Some(Digest::from_bytes([3; 32])));
}

#[test]
fn what_no_entry_should_cover_offers_none_and_says_why() {
    let system = ProgramClass::System;
    for (command, class, rule, why) in [
        ("git push; ls", system, "policy:false", "no allowlist key"),
        ("git push > x", system, "policy:false", "no allowlist key"),
        (
            "bash x",
            system,
            "policy:false",
            "runs whatever it is given",
        ),
        (
            "sudo ls",
            system,
            "policy:false",
            "runs whatever it is given",
        ),
        (
            "npm test",
            system,
            "policy:false",
            "runs whatever it is given",
        ),
        (
            "git --version",
            system,
            "policy:false",
            "runs whatever it is given",
        ),
        ("git push --force", system, "policy:false", "destroys"),
        (
            "git push",
            ProgramClass::Workspace,
            "policy:false",
            "in the workspace",
        ),
        (
            "git push",
            system,
            "containment:partial",
            "whatever is granted",
        ),
        ("git push", system, "plugin", "whatever is granted"),
        ("git push", system, "always:git", "whatever is granted"),
    ] {
        let always = always(&of(command, class, rule));
        let Always::Nothing(said) = always else {
            panic!("{command}: {always:?}");
        };
        assert!(said.contains(why), "{command}: {said}");
    }
}

#[test]
fn every_other_tool_offers_itself_unless_its_rule_asks_always() {
    assert_eq!(always(&sample()), Always::Tool);
    let git = Card {
        rule: Some("always:git".parse().unwrap()),
        ..sample()
    };
    assert_eq!(always(&git), Always::Nothing("this rule asks always"));
}
