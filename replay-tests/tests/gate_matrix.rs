//! The gate, every row written out: tier, policy, who is there, list, pair, repetition, offer.
//!
//! What `gate` says for each row is printed into the same table and compared whole.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use placet_engine::policy::gate;
use placet_ledger::approval::By;
use placet_ledger::containment::Level;
use placet_ledger::event::RefusalKind;
use placet_ledger::id::{CallId, Name};
use placet_ledger::judge::{GateInput, RulesInput, Verdict};
use placet_ledger::policy::{ApprovalPolicy, Attendance, ContainmentRule};
use placet_ledger::risk::DeclaredRisk;

const TIERS: [DeclaredRisk; 4] = [
    DeclaredRisk::ReadOnly,
    DeclaredRisk::LowRisk,
    DeclaredRisk::HighRisk,
    DeclaredRisk::Unknown,
];

const POLICIES: [ApprovalPolicy; 4] = [
    ApprovalPolicy::False,
    ApprovalPolicy::ReadOnly,
    ApprovalPolicy::LowRisk,
    ApprovalPolicy::HighRisk,
];

/// Rules files that hold no rules.
const NO_RULES: RulesInput<'static> = RulesInput {
    recorded: Ok(b"[]"),
    current: Ok(b"[]"),
    narrowing: None,
};

const ATTENDANCES: [Attendance; 3] = [Attendance::Person, Attendance::Park, Attendance::Nobody];

const fn attendance(who: Attendance) -> &'static str {
    match who {
        Attendance::Person => "person",
        Attendance::Park => "park",
        Attendance::Nobody => "nobody",
    }
}

fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Approve { by, tier, .. } => match by {
            By::Policy { rule } | By::Rule { rule } => format!("clears {rule} {tier}"),
            By::List { tool } => format!("clears list:{tool} {tier}"),
            By::Grant { grant } => format!("clears {grant} {tier}"),
            By::Person { .. } | By::Tool => format!("clears by {by:?} {tier}"),
        },
        Verdict::Ask {
            rule,
            demands,
            tier,
            expires_ms: _,
        } => {
            // What rules demand is looked at where rules are.
            assert!(demands.is_number(), "{demands}");
            format!("asks {rule} {tier} of {}", demands.quorum)
        }
        Verdict::Question => String::from("puts the question"),
        Verdict::Unjudged => String::from("is judged first"),
        Verdict::Decline { kind, of, .. } => match of {
            Some(of) => format!("declines {kind:?} {of}"),
            None => format!("declines {kind:?}"),
        },
    }
}

/// The table as the gate fills it in.
#[expect(clippy::too_many_lines, reason = "one table, a line a column")]
fn table() -> String {
    let tool: Name = "act".parse().unwrap();
    let listed = BTreeSet::from([tool.clone()]);
    let (other, denied) = (BTreeSet::from(["other".parse().unwrap()]), CallId::FIRST);
    let mut table = String::new();
    for declared in TIERS {
        for policy in POLICIES {
            for who in ATTENDANCES {
                for (paired, on_list) in
                    [(false, false), (false, true), (true, false), (true, true)]
                {
                    let input = GateInput {
                        tool: &tool,
                        paired,
                        question: false,
                        reach: Some(vec![String::from("src/main.rs")]),
                        declared,
                        policy,
                        allowlist: if on_list { &listed } else { &other },
                        offered: true,
                        attendance: who,
                        repeats: None,
                        command: None,
                        level: Level::IN_PROCESS,
                        weaker: false,
                        containment: ContainmentRule::Prefer,
                        assessed: None,
                        judgeable: true,
                        plugin: false,
                        rules: NO_RULES,
                        grants: Vec::new(),
                    };
                    let steers = GateInput {
                        reach: Some(vec!["a".into(), ".git/hooks/pre-commit".into()]),
                        ..input.clone()
                    };
                    let unread = GateInput {
                        reach: None,
                        ..input.clone()
                    };
                    let question = GateInput {
                        question: true,
                        ..steers.clone()
                    };
                    let repeats = GateInput {
                        repeats: Some(denied),
                        ..question.clone()
                    };
                    let withheld = GateInput {
                        offered: false,
                        ..repeats.clone()
                    };
                    let row = format!(
                        "{:9} | {:9} | {:6} | {:5} | {:4}",
                        declared.as_str(),
                        policy.as_str(),
                        attendance(who),
                        if paired { "pair" } else { "plain" },
                        if on_list { "list" } else { "" },
                    );
                    for (what, input) in [
                        ("", input),
                        ("steers", steers),
                        ("unread", unread),
                        ("question", question),
                        ("repeats", repeats),
                        ("withheld", withheld),
                    ] {
                        let says = verdict(&gate(&input));
                        writeln!(table, "{row} | {what:8} | {says}").unwrap();
                    }
                }
            }
        }
    }
    table
}

#[test]
fn every_row_of_the_gate_is_as_written() {
    let written = include_str!("gate_matrix.txt");
    let (written, found): (Vec<_>, Vec<_>) = (
        written
            .lines()
            .filter(|line| !line.starts_with('#'))
            .collect(),
        table().lines().map(str::to_owned).collect(),
    );
    assert_eq!(found.len(), 4 * 4 * 3 * 4 * 6);
    let wrong: Vec<_> = (0..found.len().max(written.len()))
        .filter(|&row| written.get(row).copied() != found.get(row).map(String::as_str))
        .map(|row| {
            format!(
                "row {row}\n  {:?}\n  {:?}",
                written.get(row),
                found.get(row)
            )
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "written, then found:\n{}",
        wrong.join("\n")
    );
}

/// One question to the gate, with nobody's list in the way.
fn asked(paired: bool, declared: DeclaredRisk, policy: ApprovalPolicy, who: Attendance) -> Verdict {
    let tool: Name = "act".parse().unwrap();
    gate(&GateInput {
        tool: &tool,
        paired,
        question: false,
        reach: Some(Vec::new()),
        declared,
        policy,
        allowlist: &BTreeSet::new(),
        offered: true,
        attendance: who,
        repeats: None,
        command: None,
        level: Level::IN_PROCESS,
        weaker: false,
        containment: ContainmentRule::Prefer,
        assessed: None,
        judgeable: true,
        plugin: false,
        rules: NO_RULES,
        grants: Vec::new(),
    })
}

#[test]
fn calls_clear_or_ask_as_the_table_of_tools_says() {
    const C: &str = "clears";
    const A: &str = "asks";
    let rows = [
        (
            "plain read-only",
            false,
            DeclaredRisk::ReadOnly,
            [C, C, C, C],
        ),
        ("plain low-risk", false, DeclaredRisk::LowRisk, [A, A, C, C]),
        (
            "plain high-risk",
            false,
            DeclaredRisk::HighRisk,
            [A, A, A, C],
        ),
        ("plain unjudged", false, DeclaredRisk::Unknown, [A, A, A, C]),
        ("pair read-only", true, DeclaredRisk::ReadOnly, [A, C, C, C]),
        ("pair low-risk", true, DeclaredRisk::LowRisk, [A, A, C, C]),
        ("pair high-risk", true, DeclaredRisk::HighRisk, [A, A, A, C]),
        ("pair unjudged", true, DeclaredRisk::Unknown, [A, A, A, C]),
    ];
    for (row, paired, declared, expected) in rows {
        for (policy, expected) in POLICIES.into_iter().zip(expected) {
            let found = match asked(paired, declared, policy, Attendance::Park) {
                Verdict::Approve { .. } => C,
                Verdict::Ask { .. } => A,
                Verdict::Unjudged => "is judged first",
                Verdict::Question | Verdict::Decline { .. } => "declines",
            };
            assert_eq!(found, expected, "{row} under {policy}");
        }
    }
}

#[test]
fn nothing_is_approved_because_nobody_is_there() {
    for paired in [false, true] {
        for declared in TIERS {
            for policy in POLICIES {
                let there = asked(paired, declared, policy, Attendance::Person);
                let parked = asked(paired, declared, policy, Attendance::Park);
                let nobody = asked(paired, declared, policy, Attendance::Nobody);
                assert_eq!(there, parked);
                let expected = match &there {
                    Verdict::Ask { .. } => Verdict::Decline {
                        kind: RefusalKind::Nobody,
                        of: None,
                        rule: None,
                    },
                    Verdict::Approve { .. }
                    | Verdict::Question
                    | Verdict::Decline { .. }
                    | Verdict::Unjudged => there.clone(),
                };
                assert_eq!(nobody, expected, "{paired} {declared} {policy}");
            }
        }
    }
}

#[test]
fn no_policy_list_or_attendance_clears_what_a_person_denied_or_the_run_lost() {
    let rows = include_str!("gate_matrix.txt");
    let closed = rows
        .lines()
        .filter(|row| row.contains("| repeats") || row.contains("| withheld"));
    let found: BTreeSet<_> = closed
        .map(|row| row.rsplit('|').next().unwrap().trim())
        .collect();
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        ["declines DeniedTool", "declines RepeatOf c1"]
    );
}

#[test]
fn no_policy_list_or_tier_clears_a_file_that_steers_programs_or_a_question() {
    let rows = include_str!("gate_matrix.txt");
    let of = |what: &str| {
        let rows = rows.lines().filter(|row| row.contains(what));
        let says = rows.map(|row| row.rsplit('|').next().unwrap().trim());
        let rule = |says: &'static str| says.split(' ').take(2).collect::<Vec<_>>().join(" ");
        says.map(rule).collect::<BTreeSet<_>>()
    };
    let found = |what| of(what).into_iter().collect::<Vec<_>>();
    assert_eq!(found("| steers"), ["asks always:git", "declines Nobody"]);
    let unread = ["asks always:unreadable-target", "declines Nobody"];
    assert_eq!(found("| unread"), unread);
    assert_eq!(found("| question"), ["declines Nobody", "puts the"]);
}

#[test]
fn a_policy_that_is_no_word_of_ours_is_an_error() {
    for (text, policy) in [
        ("false", ApprovalPolicy::False),
        ("read-only", ApprovalPolicy::ReadOnly),
        ("low-risk", ApprovalPolicy::LowRisk),
        ("high-risk", ApprovalPolicy::HighRisk),
        ("true", ApprovalPolicy::HighRisk),
    ] {
        assert_eq!(text.parse::<ApprovalPolicy>(), Ok(policy));
    }
    for wrong in [
        "",
        "False",
        "yes",
        "1",
        "read only",
        "readonly",
        "high",
        "unknown",
        " true",
    ] {
        assert!(wrong.parse::<ApprovalPolicy>().is_err(), "{wrong:?}");
        let json = serde_json::to_string(wrong).unwrap();
        assert!(
            serde_json::from_str::<ApprovalPolicy>(&json).is_err(),
            "{wrong:?}"
        );
    }
}

#[test]
fn tiers_are_ordered_and_nothing_counts_as_stricter_than_what_nobody_judged() {
    assert!(TIERS.is_sorted());
    assert!(POLICIES.is_sorted());
    assert_eq!(DeclaredRisk::Unknown.known(), None);
}
