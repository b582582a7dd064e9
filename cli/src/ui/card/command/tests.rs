//! What a card tells of a command, whatever the command holds.

use placet_ledger::digest::Digest;
use serde_json::json;

use super::*;
use crate::ui::card::tests::{look, sample};
use crate::ui::card::{card, facts};
use crate::ui::text::is_hidden;

fn git(argv: &[&str]) -> CardProgram {
    CardProgram {
        argv: argv.iter().map(ToString::to_string).collect(),
        path: "/usr/bin/git".into(),
        digest: Digest::from_bytes([3; 32]),
        class: ProgramClass::System,
        shell: false,
        outside: Vec::new(),
        repository: Vec::new(),
    }
}

/// The card of a command with these words.
fn of(command: &str, argv: &[&str]) -> Card {
    Card {
        tool: EXECUTE.parse().unwrap(),
        arguments: Some(json!({"command": command})),
        message: None,
        preview: None,
        program: Some(git(argv)),
        containment: Containment::Full,
        ..sample()
    }
}

const EXECUTE: &str = "execute_command";

fn fact(card: &Card, name: &str) -> Option<String> {
    let facts = facts(card, &look(false));
    let found = facts.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value)
}

#[test]
fn a_card_tells_what_a_command_runs_and_reaches() {
    let git = of("git push", &["git", "push"]);
    insta::assert_snapshot!(card(&git, "b3e41f", &look(false)), @r#"
    c3 execute_command of run b3e41f: may it run?
      tier           high-risk, asked by policy:false
      program        "/usr/bin/git" (of the system, 0303030303), without a shell
      network        no network
      containment    full
      expires        2026-12-01T10:30:00Z (in 90 min)
      allowlist key  "git push"
      what would run
        command "git push"
      request        0202020202020202020202020202020202020202020202020202020202020202
    "#);
}

#[test]
fn whose_program_it_is_and_how_it_is_shut_in_is_told_in_words() {
    let git = || of("git push", &["git", "push"]);
    let program = |change: fn(&mut CardProgram)| {
        let mut card = git();
        card.program.as_mut().map(change);
        card
    };
    let partial = || Card {
        containment: Containment::Partial,
        missing: [Part::Network, Part::Landlock].into(),
        ..git()
    };
    for (card, name, value) in [
        (
            program(|git| git.class = ProgramClass::User),
            "program",
            "\"/usr/bin/git\" (not the system's: people can change it, 0303030303), \
             without a shell",
        ),
        (
            program(|git| git.class = ProgramClass::Workspace),
            "program",
            "\"/usr/bin/git\" (in the workspace, where the agent can change it, 0303030303), \
             without a shell",
        ),
        (
            program(|git| git.shell = true),
            "program",
            "\"/usr/bin/git\" (of the system, 0303030303), through sh",
        ),
        (
            program(|git| git.outside = vec!["/etc/x\u{202e}".into()]),
            "reaches out",
            "\"/etc/x\\u{202e}\"",
        ),
        (
            program(|git| git.repository = vec!["core.pager".into()]),
            "may also run",
            "\"core.pager\", as the repository says",
        ),
        (
            Card {
                network: [8000, 443].into(),
                ..git()
            },
            "network",
            "TCP 443, 8000",
        ),
        (
            partial(),
            "network",
            "open: this machine cannot shut it off",
        ),
        (
            partial(),
            "containment",
            "partial: without network, landlock",
        ),
        (
            Card {
                tier: Some(DeclaredRisk::Unknown),
                ..git()
            },
            "judged",
            "by nothing: whatever it is, it asks",
        ),
    ] {
        assert_eq!(fact(&card, name).as_deref(), Some(value), "{name}");
    }
}

#[test]
fn what_judged_a_command_is_told_and_a_models_words_stay_behind_the_margin() {
    let judged = |source, model: Option<&str>, reason: &str| Card {
        judged: Some(CardJudged {
            source,
            model: model.map(|model| model.parse().unwrap()),
            reason: Some(reason.into()),
        }),
        ..of("git push", &["git", "push"])
    };
    for (card, value) in [
        (judged(RiskSource::Rule, None, "plain"), "by rule: plain"),
        (judged(RiskSource::Plugin, None, "x"), "by the plugin"),
        (
            judged(RiskSource::Model, Some("haiku"), "x"),
            "by model haiku",
        ),
        (
            judged(RiskSource::Floor, None, "it holds a hazard"),
            "by nothing, so high-risk: it holds a hazard",
        ),
    ] {
        assert_eq!(fact(&card, "judged").as_deref(), Some(value));
    }
    let hostile = "fine\n  tier           read-only\u{1b}[2J";
    let shown = card(
        &judged(RiskSource::Model, Some("haiku"), hostile),
        "b3e41f",
        &look(false),
    );
    let part = "  judged so, as\n    | fine\n    |   tier           read-only\\x1b[2J\n";
    assert!(shown.contains(part), "{shown}");
}

#[test]
fn a_command_without_a_key_says_why() {
    for command in ["git push; rm -rf .", "git push > log", "$X", "ls\nrm x"] {
        let value = fact(&of(command, &[]), "allowlist key").unwrap();
        assert!(value.starts_with("none: "), "{command:?}: {value}");
        assert!(value.len() > "none: ".len(), "{command:?}");
    }
    for (command, value) in [
        ("git push origin main", "\"git push\""),
        (
            "git push --force",
            "\"git push\", but no grant covers a variant that destroys",
        ),
        (
            "sudo apt install x",
            "\"sudo apt\"; to grant it needs --force: it acts as another user",
        ),
    ] {
        assert_eq!(
            fact(&of(command, &[]), "allowlist key").as_deref(),
            Some(value)
        );
    }
    let other = Card {
        tool: "write_file".parse().unwrap(),
        ..of("git push", &[])
    };
    assert_eq!(fact(&other, "allowlist key"), None);
}

#[test]
fn the_words_of_a_command_stand_one_by_one_behind_the_margin() {
    let words = Card {
        preview: Some("\"git\"\n\"a\nb\u{202e}\"\n".into()),
        ..of("git 'a\nb\u{202e}'", &["git", "a\nb\u{202e}"])
    };
    let shown = card(&words, "b3e41f", &look(false));
    let part = "  words\n    | \"git\"\n    | \"a\n    | b\\u{202e}\"\n";
    assert!(shown.contains(part), "{shown}");
}

#[test]
fn the_end_of_a_long_command_is_on_its_card_and_no_hidden_character_is() {
    let long = format!("git push {}; rm -rf .\u{202e}\u{7}", "a".repeat(5_000));
    let shown = card(&of(&long, &["sh", "-c", &long]), "b3e41f", &look(false));
    let joined: String = shown
        .lines()
        .filter_map(|line| line.strip_prefix("    | ").or(line.strip_prefix("    > ")))
        .collect();
    assert!(joined.contains("; rm -rf .\\u{202e}\\x07"), "{joined}");
    let of_a = joined.chars().filter(|c| *c == 'a').count();
    assert!(of_a >= 5_000, "{of_a}");
    assert!(!shown.chars().any(|c| c != '\n' && is_hidden(c)));
}
