//! What every command meets: a run that is not there, has ended, or is driven by nobody.

use placet_ledger::containment::Level;
use std::collections::BTreeSet;
use std::mem::discriminant;

use placet_ledger::answers::AnswerSet;
use placet_ledger::digest::Digest;
use placet_ledger::event::{ModelFailure, Outcome, RefusalKind, SegmentEnd, Settlement};
use placet_ledger::judge::Verdict;
use placet_ledger::limits::PENDING_CALLS_MAX;
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::run::{Command, Ended, Ending, Rejection};
use placet_replay::facts::{
    ANSWER, asked, began, call, called, cleared, finished, last_word, name, proposed, put_down,
    started,
};
use placet_replay::scenario::{given, is_of_person, nothing};

use super::{STARTED_TEXTS, amend, and, call_model, driven, named, propose, reply, start, take_up};

/// A digest that no record has.
const SHOWN: Digest = Digest::from_bytes([9; 32]);

/// One command of each kind.
fn every_command() -> Vec<Command> {
    let pending = std::collections::BTreeMap::new();
    let empty = AnswerSet::covering(ANSWER, &pending, []).unwrap();
    let all = vec![
        start(),
        take_up(9),
        Command::PutDown {
            reason: SegmentEnd::Interrupted,
            active_ms: 0,
        },
        call_model(0),
        reply(&[]),
        Command::RecordModelFailure {
            kind: ModelFailure::Timeout,
            used: None,
            retry_ms: None,
        },
        propose(1, "set"),
        Command::Refuse {
            call: call(1),
            kind: RefusalKind::BadArguments,
        },
        Command::Gate { call: call(1) },
        Command::Begin {
            call: call(1),
            active_ms: 0,
            level: Level::of(BTreeSet::new()),
        },
        Command::RecordOutcome(Ended {
            exit: None,
            call: call(1),
            ending: Ending::Succeeded,
            duration_ms: 0,
        }),
        Command::RecordDoubt { call: call(1) },
        Command::Settle {
            call: call(1),
            verdict: Settlement::Done,
        },
        Command::Answer(empty),
        amend(1, "set"),
        Command::Revoke { call: call(1) },
        Command::Reply {
            call: call(1),
            request: SHOWN,
        },
        Command::SettleDoubt {
            call: call(1),
            request: SHOWN,
            verdict: Settlement::Done,
        },
        Command::Prompt,
        Command::ChangePolicy(ApprovalPolicy::HighRisk),
        Command::Expire,
        Command::Tighten(placet_ledger::budget::Limits::default()),
        Command::Narrow(vec![name("look")]),
        Command::Cancel,
        Command::Finish {
            outcome: Outcome::Completed,
            active_ms: 0,
        },
    ];
    for (index, one) in all.iter().enumerate() {
        let same = |other: &Command| discriminant(other) == discriminant(one);
        assert!(!all[index + 1..].iter().any(same), "{one:?} stands twice");
    }
    all
}

#[test]
fn a_driver_says_nothing_in_the_place_of_a_person() {
    let stories = || {
        [
            driven(),
            and(named(&["set"]), [proposed(1), asked(1)]),
            and(named(&["set"]), [proposed(1), cleared(1), began(1)]),
        ]
    };
    let mut told = 0;
    for command in every_command().into_iter().filter(is_of_person) {
        if matches!(command, Command::Start(_)) {
            continue;
        }
        for facts in stories() {
            given(facts)
                .from_driver()
                .when(command.clone())
                .then_rejected(&Rejection::NotAPerson);
        }
        told += 1;
    }
    assert_eq!(told, 10);
}

#[test]
fn a_run_that_was_never_started_takes_no_command_but_the_first() {
    for command in every_command() {
        if matches!(command, Command::Start(_)) {
            continue;
        }
        nothing()
            .when(command)
            .then_rejected(&Rejection::NotStarted);
    }
}

#[test]
fn a_run_that_has_ended_takes_no_command_at_all() {
    let ended = || {
        and(
            driven(),
            [
                called(),
                last_word(),
                put_down(SegmentEnd::Finished),
                finished(Outcome::Completed, &[]).text_of("text", "reply"),
            ],
        )
    };
    for command in every_command() {
        let why = match command {
            Command::Start(_) => Rejection::Started,
            _ => Rejection::Finished(Outcome::Completed),
        };
        given(ended()).when(command).then_rejected(&why);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table, a row a command")]
fn a_run_that_nobody_drives_takes_no_command_of_a_driver() {
    // Everything that could be next, so that nothing but the missing driver stands in the way.
    let put = || put_down(SegmentEnd::Interrupted);
    let undriven = || {
        vec![
            (vec![started()], call_model(0)),
            (and(driven(), [called(), put()]), reply(&[])),
            (
                and(driven(), [called(), put()]),
                Command::RecordModelFailure {
                    kind: ModelFailure::Timeout,
                    used: None,
                    retry_ms: None,
                },
            ),
            (and(named(&["set"]), [put()]), propose(1, "set")),
            (
                and(named(&["?"]), [put()]),
                Command::Refuse {
                    call: call(1),
                    kind: RefusalKind::UnknownTool,
                },
            ),
            (
                and(named(&["set"]), [proposed(1), put()]),
                Command::Gate { call: call(1) },
            ),
            (
                and(named(&["set"]), [proposed(1), cleared(1), put()]),
                Command::Begin {
                    call: call(1),
                    active_ms: 0,
                    level: Level::of(BTreeSet::new()),
                },
            ),
            (
                and(named(&["set"]), [proposed(1), cleared(1), began(1), put()]),
                Command::RecordOutcome(Ended {
                    exit: None,
                    call: call(1),
                    ending: Ending::Succeeded,
                    duration_ms: 0,
                }),
            ),
            (
                and(named(&["set"]), [proposed(1), cleared(1), began(1), put()]),
                Command::RecordDoubt { call: call(1) },
            ),
            (
                and(named(&["set"]), [proposed(1), cleared(1), began(1), put()]),
                Command::Settle {
                    call: call(1),
                    verdict: Settlement::Done,
                },
            ),
            (
                vec![started()],
                Command::PutDown {
                    reason: SegmentEnd::Interrupted,
                    active_ms: 0,
                },
            ),
        ]
    };
    let verdict = Verdict::Decline {
        kind: RefusalKind::Nobody,
        of: None,
        rule: None,
    };
    for (facts, command) in undriven() {
        given(facts)
            .with(&["arguments"])
            .gate_says(verdict.clone())
            .when(command)
            .then_rejected(&Rejection::NotDriven);
    }
}

#[test]
fn a_call_that_the_model_did_not_name_is_unknown() {
    let commands = [
        propose(9, "set"),
        Command::Refuse {
            call: call(9),
            kind: RefusalKind::UnknownTool,
        },
        Command::Gate { call: call(9) },
        Command::Begin {
            call: call(9),
            active_ms: 0,
            level: Level::of(BTreeSet::new()),
        },
        Command::RecordOutcome(Ended {
            exit: None,
            call: call(9),
            ending: Ending::Stale,
            duration_ms: 0,
        }),
        Command::RecordDoubt { call: call(9) },
        Command::Settle {
            call: call(9),
            verdict: Settlement::NotDone,
        },
        amend(9, "set"),
        Command::Revoke { call: call(9) },
        Command::Reply {
            call: call(9),
            request: SHOWN,
        },
        Command::SettleDoubt {
            call: call(9),
            request: SHOWN,
            verdict: Settlement::Done,
        },
    ];
    for command in commands {
        given(and(named(&["set"]), [proposed(1), asked(1)]))
            .when(command)
            .then_rejected(&Rejection::UnknownCall(call(9)));
    }
}

#[test]
fn a_run_is_started_by_a_person() {
    nothing()
        .from_driver()
        .with(&STARTED_TEXTS)
        .when(start())
        .then_rejected(&Rejection::NotAPerson);
}

#[test]
fn a_record_has_exactly_the_texts_that_it_names() {
    let text = |name: &str| Rejection::Text(name.to_owned());
    nothing()
        .with(&["prompt", "scope", "system"])
        .when(start())
        .then_rejected(&text("workspace"));
    nothing()
        .with(&["prompt", "scope", "system", "workspace", "secret"])
        .when(start())
        .then_rejected(&text("secret"));
    given(and(driven(), [called()]))
        .when(reply(&["set"]))
        .then_rejected(&text("arguments.c1"));
    given(and(driven(), [called()]))
        .with(&["arguments.c1", "arguments.c2"])
        .when(reply(&["set"]))
        .then_rejected(&text("arguments.c2"));
    given(named(&["set"]))
        .when(propose(1, "set"))
        .then_rejected(&text("arguments"));
    given(named(&["set"]))
        .with(&["arguments", "result"])
        .when(propose(1, "set"))
        .then_rejected(&text("result"));
    given(and(named(&["set"]), [proposed(1), cleared(1), began(1)]))
        .with(&["note"])
        .when(Command::RecordOutcome(Ended {
            exit: None,
            call: call(1),
            ending: Ending::Succeeded,
            duration_ms: 0,
        }))
        .then_rejected(&text("note"));
    given([started()])
        .with(&["reason"])
        .when(Command::Cancel)
        .then_rejected(&text("reason"));
}

#[test]
fn a_reply_may_name_as_many_calls_as_a_person_can_be_asked_about() {
    let most = vec!["set"; PENDING_CALLS_MAX];
    let names: Vec<String> = (1..=PENDING_CALLS_MAX + 1)
        .map(|number| format!("arguments.c{number}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    given(and(driven(), [called()]))
        .with(&names[..PENDING_CALLS_MAX])
        .when(reply(&most))
        .then_named(&["model.replied"]);
    let over = vec!["set"; PENDING_CALLS_MAX + 1];
    given(and(driven(), [called()]))
        .with(&names)
        .when(reply(&over))
        .then_rejected(&Rejection::Exhausted("calls in one reply"));
}
