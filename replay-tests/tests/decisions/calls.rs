//! Decisions about one call: proposed, gated, started, and what came of it.

use placet_ledger::budget::Limits;
use placet_ledger::containment::Level;
use placet_ledger::event::{Event, FailureKind, RefusalKind, SegmentEnd, Settlement, StartRefusal};
use placet_ledger::judge::Verdict;
use placet_ledger::run::{Command, Ended, Ending, Rejection};
use placet_replay::facts::{
    EXPIRY_MS, Fact, approved, asked, began, call, cancel_requested, cleared, expired, failed,
    in_doubt, interrupted, narrowed, not_begun, proposed, put_down, refused, settled, stale,
    started_with, succeeded, taken_up,
};
use placet_replay::scenario::{Scenario, given};
use std::collections::BTreeSet;

use super::{and, asks, begin, clears, gate, named, propose};

fn declines(kind: RefusalKind) -> Verdict {
    Verdict::Decline {
        kind,
        of: None,
        rule: None,
    }
}

#[test]
fn a_named_call_is_proposed_once_and_as_the_model_named_it() {
    given(named(&["set"]))
        .with(&["arguments", "preview"])
        .when(propose(1, "set"))
        .then([proposed(1).with(&["preview"])]);
    let again = Rejection::OutOfTurn("the call was proposed or refused before");
    given(and(named(&["set"]), [proposed(1)]))
        .with(&["arguments"])
        .when(propose(1, "set"))
        .then_rejected(&again);
    given(and(
        named(&["set"]),
        [refused(1, RefusalKind::BadArguments)],
    ))
    .with(&["arguments"])
    .when(propose(1, "set"))
    .then_rejected(&again);
    let other = Rejection::OutOfTurn("the model named another tool");
    for tools in [&["look"], &["?"]] {
        given(named(tools))
            .with(&["arguments"])
            .when(propose(1, "set"))
            .then_rejected(&other);
    }
    given(and(named(&["set"]), [narrowed(&["look"])]))
        .with(&["arguments"])
        .when(propose(1, "set"))
        .then([refused(1, RefusalKind::DeniedTool)]);
}

#[test]
fn calls_of_a_reply_come_to_their_verdicts_in_the_models_order() {
    let early = Rejection::OutOfTurn("an earlier call of the reply has no verdict yet");
    given(named(&["set", "act"]))
        .with(&["arguments"])
        .when(propose(2, "act"))
        .then_rejected(&early);
    given(and(named(&["set", "act"]), [proposed(1)]))
        .with(&["arguments"])
        .when(propose(2, "act"))
        .then_rejected(&early);
    given(named(&["set", "?"]))
        .when(Command::Refuse {
            call: call(2),
            kind: RefusalKind::UnknownTool,
        })
        .then_rejected(&early);
    given(and(named(&["set", "act"]), [proposed(1), asked(1)]))
        .with(&["arguments"])
        .when(propose(2, "act"))
        .then([proposed(2)]);
}

#[test]
fn a_driver_refuses_what_cannot_be_proposed_and_speaks_no_verdict_of_the_gate() {
    let refuse = |kind| Command::Refuse {
        call: call(1),
        kind,
    };
    for kind in [
        RefusalKind::UnknownTool,
        RefusalKind::HiddenHalf,
        RefusalKind::BadArguments,
        RefusalKind::DeniedTool,
        RefusalKind::OverLimit,
    ] {
        given(named(&["?"]))
            .with(&["detail"])
            .when(refuse(kind))
            .then([refused(1, kind).with(&["detail"])]);
    }
    for kind in [
        RefusalKind::RepeatOf,
        RefusalKind::Rule,
        RefusalKind::Nobody,
    ] {
        given(named(&["?"]))
            .when(refuse(kind))
            .then_rejected(&Rejection::OutOfTurn("that is for the gate to say"));
    }
    given(and(named(&["set"]), [proposed(1)]))
        .when(refuse(RefusalKind::BadArguments))
        .then_rejected(&Rejection::OutOfTurn(
            "the call was proposed or refused before",
        ));
}

#[test]
fn the_gate_clears_asks_or_declines() {
    let waits = || given(and(named(&["set"]), [proposed(1)]));
    waits().gate_says(clears()).when(gate(1)).then([cleared(1)]);
    waits().gate_says(asks()).when(gate(1)).then([asked(1)]);
    waits()
        .gate_says(declines(RefusalKind::Nobody))
        .when(gate(1))
        .then([refused(1, RefusalKind::Nobody)]);
    let repeats = Verdict::Decline {
        kind: RefusalKind::RepeatOf,
        of: Some(call(7)),
        rule: None,
    };
    let of = refused(1, RefusalKind::RepeatOf).but(|event| {
        if let Event::CallRefused(refused) = event {
            refused.of = Some(call(7));
        }
    });
    waits().gate_says(repeats).when(gate(1)).then([of]);
}

#[test]
fn a_call_gets_one_verdict_and_none_without_the_gate() {
    given(and(named(&["set"]), [proposed(1)]))
        .when(gate(1))
        .then_rejected(&Rejection::OutOfTurn("the gate was not asked"));
    let not = Rejection::OutOfTurn("the call does not wait for a verdict");
    let answered = [
        named(&["set"]),
        and(named(&["set"]), [proposed(1), asked(1)]),
        and(named(&["set"]), [proposed(1), cleared(1)]),
    ];
    for facts in answered {
        given(facts)
            .gate_says(clears())
            .when(gate(1))
            .then_rejected(&not);
    }
}

/// One call, cleared by policy.
fn allowed() -> Vec<Fact> {
    and(named(&["set"]), [proposed(1), cleared(1)])
}

/// One call, approved by a person.
fn by_person() -> Vec<Fact> {
    and(named(&["set"]), [proposed(1), asked(1), approved(1)])
}

fn starting(facts: Vec<Fact>, verdict: Verdict) -> Scenario {
    given(facts).gate_says(verdict)
}

#[test]
fn an_allowed_call_starts_while_its_grant_holds() {
    starting(allowed(), clears())
        .when(begin(1))
        .then([began(1)]);
    for verdict in [clears(), asks(), declines(RefusalKind::Nobody)] {
        starting(by_person(), verdict)
            .when(begin(1))
            .then([began(1)]);
    }
}

#[test]
fn a_policy_grant_falls_with_the_policy_and_the_new_verdict_follows() {
    starting(allowed(), asks())
        .when(begin(1))
        .then([not_begun(1, StartRefusal::Policy), asked(1)]);
    starting(allowed(), declines(RefusalKind::Nobody))
        .when(begin(1))
        .then([
            not_begun(1, StartRefusal::Policy),
            refused(1, RefusalKind::Nobody),
        ]);
}

#[test]
fn a_grant_of_a_person_falls_to_rules_time_budget_and_narrower_tools_alone() {
    starting(by_person(), declines(RefusalKind::Rule))
        .when(begin(1))
        .then([
            not_begun(1, StartRefusal::Rule),
            refused(1, RefusalKind::Rule),
        ]);
    starting(by_person(), clears())
        .later(EXPIRY_MS)
        .when(begin(1))
        .then([not_begun(1, StartRefusal::Expired), expired(1)]);
    starting(by_person(), clears())
        .later(EXPIRY_MS - 1)
        .when(begin(1))
        .then([began(1)]);
    starting(
        and(by_person(), [narrowed(&["look"])]),
        declines(RefusalKind::DeniedTool),
    )
    .when(begin(1))
    .then([
        not_begun(1, StartRefusal::List),
        refused(1, RefusalKind::DeniedTool),
    ]);
    let capped = started_with(|body| {
        body.limits = Limits {
            duration_ms: Some(50),
            ..Limits::default()
        };
    });
    let mut facts = by_person();
    facts[0] = capped;
    let spent = Command::Begin {
        call: call(1),
        active_ms: 50,
        level: Level::of(BTreeSet::new()),
    };
    starting(facts, clears()).when(spent).then([
        not_begun(1, StartRefusal::Budget),
        refused(1, RefusalKind::OverLimit),
    ]);
}

#[test]
fn nothing_starts_before_every_call_of_the_reply_has_its_verdict_and_answer() {
    let not = Rejection::OutOfTurn("another call of the reply comes first");
    let siblings = [
        and(named(&["set", "set"]), [proposed(1), cleared(1)]),
        and(
            named(&["set", "set"]),
            [proposed(1), cleared(1), proposed(2)],
        ),
        and(
            named(&["set", "set"]),
            [proposed(1), cleared(1), proposed(2), asked(2)],
        ),
        and(
            named(&["set", "set"]),
            [proposed(1), cleared(1), proposed(2), cleared(2), began(1)],
        ),
        and(
            named(&["set", "set"]),
            [
                proposed(1),
                cleared(1),
                proposed(2),
                cleared(2),
                began(1),
                in_doubt(1),
            ],
        ),
    ];
    for (number, facts) in [1, 1, 1, 2, 2].into_iter().zip(siblings) {
        starting(facts, clears())
            .when(begin(number))
            .then_rejected(&not);
    }
}

#[test]
fn executions_start_in_the_models_order() {
    let both = || {
        and(
            named(&["set", "set"]),
            [proposed(1), cleared(1), proposed(2), cleared(2)],
        )
    };
    let not = Rejection::OutOfTurn("another call of the reply comes first");
    starting(both(), clears())
        .when(begin(2))
        .then_rejected(&not);
    starting(both(), clears()).when(begin(1)).then([began(1)]);
    starting(and(both(), [began(1), succeeded(1)]), clears())
        .when(begin(2))
        .then([began(2)]);
}

#[test]
fn nothing_starts_once_the_run_is_being_cancelled() {
    starting(and(allowed(), [cancel_requested()]), clears())
        .when(begin(1))
        .then_rejected(&Rejection::OutOfTurn("the run is being cancelled"));
}

#[test]
fn nothing_starts_twice_or_without_a_grant() {
    let not = Rejection::OutOfTurn("the call is not allowed, or was started");
    for facts in [
        and(named(&["set"]), [proposed(1)]),
        and(named(&["set"]), [proposed(1), asked(1)]),
        and(allowed(), [began(1)]),
        and(allowed(), [began(1), succeeded(1)]),
        and(allowed(), [began(1), failed(1)]),
        and(allowed(), [began(1), settled(1, Settlement::Done)]),
    ] {
        starting(facts, clears()).when(begin(1)).then_rejected(&not);
    }
}

#[test]
fn a_call_that_was_provably_not_done_may_be_tried_again() {
    let facts = and(allowed(), [began(1), settled(1, Settlement::NotDone)]);
    let scenario = starting(facts, clears()).when(begin(1)).then([began(1)]);
    assert_eq!(
        scenario.state().unwrap().call(call(1)).unwrap().attempts(),
        2
    );
}

#[test]
fn each_way_an_execution_ends_is_an_event_of_its_own() {
    let ended = |ending| {
        Command::RecordOutcome(Ended {
            exit: None,
            call: call(1),
            ending,
            duration_ms: 0,
        })
    };
    for (ending, fact) in [
        (Ending::Succeeded, succeeded(1)),
        (Ending::Failed(FailureKind::Tool), failed(1)),
        (Ending::Stale, stale(1)),
        (Ending::Interrupted, interrupted(1)),
    ] {
        given(and(allowed(), [began(1)]))
            .with(&["result"])
            .when(ended(ending))
            .then([fact.with(&["result"])]);
        given(allowed())
            .when(ended(ending))
            .then_rejected(&Rejection::OutOfTurn("the call is not being executed"));
        given(and(allowed(), [began(1), succeeded(1)]))
            .when(ended(ending))
            .then_rejected(&Rejection::OutOfTurn("the call is not being executed"));
    }
}

#[test]
fn what_nobody_knows_is_doubt_and_what_the_tool_knows_is_settled() {
    let lost = || {
        and(
            allowed(),
            [began(1), put_down(SegmentEnd::Lost), taken_up(2)],
        )
    };
    given(lost())
        .when(Command::RecordDoubt { call: call(1) })
        .then([in_doubt(1)]);
    for verdict in [Settlement::Done, Settlement::NotDone] {
        let settle = Command::Settle {
            call: call(1),
            verdict,
        };
        given(lost())
            .when(settle.clone())
            .then([settled(1, verdict)]);
        given(allowed())
            .when(settle)
            .then_rejected(&Rejection::OutOfTurn("the call is not being executed"));
    }
    given(allowed())
        .when(Command::RecordDoubt { call: call(1) })
        .then_rejected(&Rejection::OutOfTurn("the call is not being executed"));
}
