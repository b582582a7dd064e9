//! Cards as text: what they show, what they warn of, and what no agent can draw on them.

use std::collections::BTreeSet;

use placet_ledger::containment::Containment;
use placet_ledger::digest::Digest;
use placet_ledger::view::{DeniedBefore, Quorum};
use serde_json::json;

use super::*;
use crate::ui::text::is_hidden;

pub(crate) fn look(color: bool) -> Look {
    Look {
        color,
        width: 80,
        now: "2026-12-01T09:00:00.000000Z".parse().unwrap(),
        program: "placet".into(),
        reasons: BTreeMap::new(),
    }
}

pub(crate) fn sample() -> Card {
    Card {
        run: "b3e41f07-8c2d-4e6a-9f51-0a7d3c58e912".parse().unwrap(),
        call: "c3".parse().unwrap(),
        kind: CardKind::Approval,
        tool: "write_file".parse().unwrap(),
        tier: Some(placet_ledger::risk::DeclaredRisk::HighRisk),
        rule: Some("policy:false".parse().unwrap()),
        proposal: Digest::from_bytes([1; 32]),
        request: Some(Digest::from_bytes([2; 32])),
        set: Some("0123456789".into()),
        arguments: Some(json!({"content": "milk\neggs\n", "path": "notes.txt", "mode": 420})),
        arguments_given: None,
        preview: Some("@@ -1 +1,2 @@\n milk\n+eggs\n-old\n".into()),
        message: Some("Write notes.txt.".into()),
        detail: None,
        requested_at: Some("2026-12-01T08:00:00.000000Z".parse().unwrap()),
        expires_at: Some("2026-12-01T10:30:00.000000Z".parse().unwrap()),
        quorum: Some(Quorum { need: 1, have: 0 }),
        demands: Demands::default(),
        containment: Containment::InProcess,
        missing: BTreeSet::new(),
        network: BTreeSet::new(),
        program: None,
        judged: None,
        supersedes: None,
        depends_on: None,
        amended_before: None,
        denied_before: Vec::new(),
        steered: Vec::new(),
        steered_more: 0,
        nearly: None,
        unreadable: Vec::new(),
    }
}

#[test]
fn a_card_shows_what_would_run_and_how_it_was_judged() {
    insta::assert_snapshot!(card(&sample(), "b3e41f", &look(false)), @r#"
    c3 write_file of run b3e41f: may it run?
      tier           high-risk, asked by policy:false
      containment    in-process
      expires        2026-12-01T10:30:00Z (in 90 min)
      what would run
        mode 420
        path "notes.txt"
        content
        | milk
        | eggs
        |
      message
        | Write notes.txt.
      diff
        | @@ -1 +1,2 @@
        |  milk
        | +eggs
        | -old
        |
      request        0202020202020202020202020202020202020202020202020202020202020202
    "#);
}

#[test]
fn what_approvals_must_be_is_told_where_one_by_anyone_is_not_enough() {
    let never = "nobody can give that in this release: only a denial is accepted";
    let from = |name: &str| Demands {
        from: Some([name.parse().unwrap()].into()),
        ..Demands::default()
    };
    let two = Demands {
        quorum: 2,
        ..Demands::default()
    };
    for (demands, needs, approval) in [
        (Demands::default(), None, None),
        (two, Some("2 approvals"), Some(never)),
        (from("uid:7"), Some("1 approval, from uid:7"), None),
        (
            from("a@b.org"),
            Some("1 approval, from a@b.org"),
            Some(never),
        ),
    ] {
        let card = Card {
            demands,
            ..sample()
        };
        let facts = facts(&card, &look(false));
        let told = |name: &str| {
            let fact = facts.iter().find(|(known, _)| *known == name);
            fact.map(|(_, value)| value.as_str())
        };
        assert_eq!((told("needs"), told("no approval")), (needs, approval));
    }
}

#[test]
fn whatever_is_to_be_known_of_a_call_is_told_in_words() {
    let call = || Some("c1".parse().unwrap());
    let always = |row: &str| Card {
        rule: Some(format!("always:{row}").parse().unwrap()),
        ..sample()
    };
    let (supersedes, depends_on, amended_before) = (call(), call(), call());
    for (card, name, words) in [
        (
            always("git"),
            "asks always",
            "a file that steers git, whatever the policy",
        ),
        (
            always("unreadable-target"),
            "asks always",
            "a target that cannot be read, whatever the policy",
        ),
        (
            Card {
                supersedes,
                ..sample()
            },
            "in place of",
            "c1, to which a person gave these arguments",
        ),
        (
            Card {
                depends_on,
                ..sample()
            },
            "depends on",
            "c1 is about the same place: once it ran, this one is stale",
        ),
        (
            Card {
                amended_before,
                ..sample()
            },
            "changed before",
            "c1 asked for the same, and a person changed it",
        ),
    ] {
        // Right after how it was judged, so that no small screen leaves it out first.
        let facts = facts(&card, &look(false));
        assert_eq!(facts[1], (name, words.to_owned()));
    }
    let names = facts(&sample(), &look(false));
    assert!(names.iter().all(|(name, _)| *name != "asks always"));
}

#[test]
fn a_card_warns_of_what_an_approver_must_know() {
    let given = json!({"path": "./notes.txt", "list": ["a\u{202e}", 1]});
    let denied = DeniedBefore {
        call: "c1".parse().unwrap(),
        note: Some("keep\nthe log".into()),
    };
    let warned = Card {
        expires_at: Some("2026-12-01T08:30:00.000000Z".parse().unwrap()),
        arguments_given: Some(given),
        depends_on: Some("c2".parse().unwrap()),
        amended_before: None,
        denied_before: vec![denied],
        arguments: None,
        preview: None,
        unreadable: vec!["arguments".into(), "preview".into()],
        ..sample()
    };
    insta::assert_snapshot!(card(&warned, "b3e41f", &look(false)), @r#"
    c3 write_file of run b3e41f: may it run?
      tier           high-risk, asked by policy:false
      depends on     c2 is about the same place: once it ran, this one is stale
      unreadable     arguments, preview: do not approve what you cannot see
      containment    in-process
      expires        2026-12-01T08:30:00Z (expired: an answer is too late)
      denied before  c1 on the same target
        | keep
        | the log
      what would run cannot be read
      arguments as given
        list ["a\u{202e}",1]
        path "./notes.txt"
      message
        | Write notes.txt.
      request        0202020202020202020202020202020202020202020202020202020202020202
    "#);
}

#[test]
fn a_call_in_doubt_is_not_asked_about() {
    let doubt = Card {
        kind: CardKind::InDoubt,
        request: None,
        set: None,
        ..sample()
    };
    let shown = card(&doubt, "b3e41f", &look(false));
    assert!(
        shown.starts_with("c3 write_file of run b3e41f: in doubt"),
        "{shown}"
    );
    assert_eq!(approvals([&doubt]), Approvals::default());
}

#[test]
fn only_a_diff_and_the_title_have_colour() {
    let shown = card(&sample(), "b3e41f", &look(true));
    assert!(shown.contains("    | \x1b[32m+eggs\x1b[0m\n"));
    assert!(shown.contains("    | \x1b[31m-old\x1b[0m\n"));
    assert!(shown.contains("    | \x1b[36m@@ -1 +1,2 @@\x1b[0m\n"));
    let codes = [GREEN, RED, CYAN, BOLD, PLAIN];
    let bare = codes
        .iter()
        .fold(shown, |text, code| text.replace(code, ""));
    assert_eq!(bare, card(&sample(), "b3e41f", &look(false)));
}

#[test]
fn letters_beyond_ascii_are_marked_in_paths_and_kept_in_text() {
    let preview = "--- a/caf\u{e9}\n+++ b/caf\u{e9}\n@@ -1 +1 @@\n-caf\u{e9}\n";
    let named = Card {
        arguments: Some(json!({"content": "caf\u{e9}", "path": "caf\u{e9}"})),
        message: Some("Write caf\u{e9}.".into()),
        preview: Some(preview.into()),
        ..sample()
    };
    let shown = card(&named, "b3e41f", &look(false));
    assert!(shown.contains("content \"caf\u{e9}\""));
    assert!(shown.contains("path \"caf\\xe9\""));
    assert!(shown.contains("| Write caf\\xe9.\n"));
    assert!(shown.contains("| --- a/caf\\xe9\n    | +++ b/caf\\xe9\n"));
    assert!(shown.contains("| -caf\u{e9}\n"));
}

#[test]
fn no_text_of_an_agent_reaches_the_screen_as_it_is_or_without_a_margin() {
    let fixture = include_str!("../../../tests/fixtures/hostile.json");
    let texts: Vec<String> = serde_json::from_str(fixture).unwrap();
    let ours = card(&sample(), "b3e41f", &look(false));
    let ours: Vec<&str> = ours
        .lines()
        .filter(|line| !line.starts_with("    "))
        .collect();
    for text in texts {
        let hostile = Card {
            arguments: Some(json!({"content": text, "path": text, text.clone(): [text]})),
            preview: Some(text.clone()),
            message: Some(text.clone()),
            ..sample()
        };
        let shown = card(&hostile, "b3e41f", &look(false));
        assert!(
            !shown.chars().any(|c| c != '\n' && is_hidden(c)),
            "{text:?}"
        );
        let outside: Vec<&str> = shown
            .lines()
            .filter(|line| !line.starts_with("    "))
            .collect();
        assert_eq!(outside, ours, "{text:?}");
    }
}

#[test]
fn the_command_lines_name_every_call() {
    let cards = |denied_only: &[&str], calls: &[&str]| {
        let card = |call: &&str| Card {
            call: call.parse().unwrap(),
            demands: Demands {
                quorum: if denied_only.contains(call) { 2 } else { 1 },
                ..Demands::default()
            },
            ..sample()
        };
        let cards: Vec<Card> = calls.iter().map(card).collect();
        answers("b3e41f", "0123456789", &approvals(&cards), &look(false))
    };
    let all = ["c3", "c4", "c5"];
    insta::assert_snapshot!(cards(&[], &all), @r#"
    set code 0123456789: it stands for every request of b3e41f above
      placet runs approve b3e41f --set 0123456789
      placet runs reject b3e41f --set 0123456789 --note "why"
      placet runs approve b3e41f c3 c4 --reject c5 --set 0123456789 --note "why"
    "#);
    assert_eq!(cards(&[], &all[..1]).lines().count(), 3);
    // Of what can only be denied no approval is offered.
    insta::assert_snapshot!(cards(&["c3", "c5"], &all), @r#"
    set code 0123456789: it stands for every request of b3e41f above
      placet runs reject b3e41f --set 0123456789 --note "why"
      placet runs approve b3e41f c4 --reject c3 c5 --set 0123456789 --note "why"
    "#);
    insta::assert_snapshot!(cards(&all, &all), @r#"
    set code 0123456789: it stands for every request of b3e41f above
      placet runs reject b3e41f --set 0123456789 --note "why"
    "#);
}

#[test]
fn spans_are_told_in_their_largest_unit() {
    for (ms, told) in [
        (0, "0 s"),
        (119_999, "119 s"),
        (120_000, "2 min"),
        (7_200_000, "2 h"),
        (172_800_000, "2 days"),
    ] {
        assert_eq!(span(ms), told);
    }
}

#[test]
fn changed_words_are_set_apart_where_there_is_colour_and_no_mark_splits_an_escape() {
    let preview = "@@ -1 +1 @@\n-keep the \u{1b}[31mlog file\n+keep the \u{1b}[32mlog file\n";
    let changed = Card {
        preview: Some(preview.into()),
        ..sample()
    };
    let shown = card(&changed, "b3e41f", &look(true));
    let old = "| \x1b[31m-keep the \\x1b[\x1b[1;4m31mlog\x1b[22;24m file\x1b[0m\n";
    assert!(shown.contains(old), "{shown:?}");
    let new = "| \x1b[32m+keep the \\x1b[\x1b[1;4m32mlog\x1b[22;24m file\x1b[0m\n";
    assert!(shown.contains(new), "{shown:?}");
    let plain = card(&changed, "b3e41f", &look(false));
    assert!(!plain.contains('\u{1b}'));
}

#[test]
fn no_row_of_an_argument_is_wider_than_the_screen() {
    let name = "\u{1b}n".repeat(64);
    let wide = Card {
        arguments: Some(json!({name.clone(): "x", "y": name, "z": [name]})),
        ..sample()
    };
    for width in [30, 40, 80] {
        let look = Look {
            width,
            ..look(false)
        };
        let shown = card(&wide, "b3e41f", &look);
        let part = shown.split("  what would run\n").nth(1).unwrap();
        let part = part.split("\n  message").next().unwrap();
        for row in part.lines() {
            assert!(row.len() < width, "{row}");
            assert!(row.starts_with("    "), "{row}");
        }
    }
}
