//! Decisions about the run as a whole.

use placet_ledger::budget::{Limits, Usd};
use placet_ledger::event::{ModelFailure, OpenWhy, Outcome, SegmentEnd};
use placet_ledger::run::{Command, Rejection};
use placet_replay::facts::{
    asked, began, called, called_again, cancel_requested, cleared, finished, in_doubt, last_word,
    model_failed, name, narrowed, parked, proposed, put_down, replied, started, started_with,
    succeeded, taken_up, tightened,
};
use placet_replay::scenario::{given, nothing};

use super::{STARTED_TEXTS, and, call_model, driven, named, reply, start, take_up};

fn put(reason: SegmentEnd) -> Command {
    let active_ms = 0;
    Command::PutDown { reason, active_ms }
}

fn finish(outcome: Outcome) -> Command {
    let active_ms = 0;
    Command::Finish { outcome, active_ms }
}

#[test]
fn starts_a_run_once() {
    nothing()
        .with(&STARTED_TEXTS)
        .when(start())
        .then([started()]);
    given([started()])
        .with(&STARTED_TEXTS)
        .when(start())
        .then_rejected(&Rejection::Started);
}

#[test]
fn takes_a_run_up_and_ends_the_segment_of_a_lost_driver() {
    given([started()]).when(take_up(1)).then([taken_up(1)]);
    given(driven())
        .when(take_up(2))
        .then([put_down(SegmentEnd::Lost), taken_up(2)]);
    let twice = Rejection::OutOfTurn("the driver has the run already");
    given(driven()).when(take_up(1)).then_rejected(&twice);
}

#[test]
fn a_lost_segment_lasted_until_its_last_record() {
    let facts = and(driven(), [called().later(7)]);
    let lost = put_down(SegmentEnd::Lost).but(|event| {
        if let placet_ledger::event::Event::SegmentEnded(ended) = event {
            ended.active_ms = 7;
        }
    });
    given(facts)
        .later(1_000)
        .when(take_up(2))
        .then([lost, taken_up(2)]);
}

#[test]
fn parks_a_run_that_waits_for_approvals_and_no_other() {
    let waits = || and(named(&["set"]), [proposed(1), asked(1)]);
    given(waits())
        .when(put(SegmentEnd::Parked))
        .then([put_down(SegmentEnd::Parked), parked(&[1])]);
    let not = Rejection::OutOfTurn("the run does not wait for an approval or a reply");
    for facts in [
        driven(),
        and(named(&["set"]), [proposed(1), cleared(1)]),
        and(
            named(&["set"]),
            [proposed(1), cleared(1), began(1), in_doubt(1)],
        ),
        and(named(&["set", "set"]), [proposed(1), asked(1)]),
    ] {
        given(facts)
            .when(put(SegmentEnd::Parked))
            .then_rejected(&not);
    }
}

#[test]
fn a_driver_can_put_a_run_down_at_any_moment() {
    given(driven())
        .when(put(SegmentEnd::Interrupted))
        .then([put_down(SegmentEnd::Interrupted)]);
    given(and(
        named(&["set"]),
        [proposed(1), cleared(1), began(1), in_doubt(1)],
    ))
    .when(put(SegmentEnd::Waiting))
    .then([put_down(SegmentEnd::Waiting)]);
}

#[test]
fn only_the_end_of_a_run_ends_a_segment_as_finished() {
    let not = Rejection::OutOfTurn("a driver does not put a run down that way");
    for reason in [
        SegmentEnd::Finished,
        SegmentEnd::Cancelled,
        SegmentEnd::Lost,
    ] {
        given(driven()).when(put(reason)).then_rejected(&not);
    }
}

#[test]
fn calls_the_model_first_after_closed_calls_and_after_a_lost_attempt() {
    given(driven()).when(call_model(0)).then([called()]);
    let closed = [proposed(1), cleared(1), began(1), succeeded(1)];
    given(and(named(&["act"]), closed))
        .when(call_model(0))
        .then([called()]);
    given(and(
        driven(),
        [called(), put_down(SegmentEnd::Lost), taken_up(2)],
    ))
    .when(call_model(0))
    .then([called_again(2)]);
    let not = Rejection::OutOfTurn("the model is being asked");
    given(and(driven(), [called()]))
        .when(call_model(0))
        .then_rejected(&not);
}

#[test]
fn a_spent_cap_ends_the_run_in_place_of_a_model_call() {
    let caps = [
        (
            Limits {
                iterations: Some(1),
                ..Limits::default()
            },
            0,
        ),
        (
            Limits {
                tokens: Some(210),
                ..Limits::default()
            },
            0,
        ),
        (
            Limits {
                duration_ms: Some(50),
                ..Limits::default()
            },
            50,
        ),
    ];
    for (limits, active_ms) in caps {
        let facts = [
            started_with(move |body| body.limits = limits),
            taken_up(1),
            called(),
            replied(&["act"]),
            proposed(1),
            cleared(1),
            began(1),
            succeeded(1),
        ];
        let ended = put_down(SegmentEnd::Finished).but(move |event| {
            if let placet_ledger::event::Event::SegmentEnded(ended) = event {
                ended.active_ms = active_ms;
            }
        });
        given(facts)
            .when(call_model(active_ms))
            .then([ended, finished(Outcome::Budget, &[])]);
    }
}

#[test]
fn a_cap_of_no_money_binds_once_money_was_spent() {
    for (cap, spent, goes_on) in [(0, 0, true), (0, 1, false), (5, 4, true), (5, 5, false)] {
        let limits = Limits {
            cost_usd: Some(Usd::from_micros(cap)),
            ..Limits::default()
        };
        let costly = replied(&["?"]).but(move |event| {
            if let placet_ledger::event::Event::ModelReplied(reply) = event {
                reply.cost_usd = Usd::from_micros(spent);
            }
        });
        let facts = [
            started_with(move |body| body.limits = limits),
            taken_up(1),
            called(),
            costly,
            placet_replay::facts::refused(1, placet_ledger::event::RefusalKind::UnknownTool),
        ];
        let then = given(facts).when(call_model(0));
        if goes_on {
            then.then_named(&["model.called"]);
        } else {
            then.then_named(&["segment.ended", "run.finished"]);
        }
    }
}

#[test]
fn records_the_reply_that_is_due() {
    given(and(driven(), [called()]))
        .with(&["arguments.c1", "arguments.c2"])
        .when(reply(&["set", "?"]))
        .then([replied(&["set", "?"])]);
    let not = Rejection::OutOfTurn("no reply of the model is due");
    given(driven()).when(reply(&[])).then_rejected(&not);
    let stale = [called(), put_down(SegmentEnd::Lost), taken_up(2)];
    given(and(driven(), stale))
        .when(reply(&[]))
        .then_rejected(&not);
}

#[test]
fn a_failed_model_fails_the_run() {
    let failure = Command::RecordModelFailure {
        kind: ModelFailure::Provider,
        used: None,
        retry_ms: None,
    };
    given(and(driven(), [called()]))
        .with(&["detail"])
        .when(failure.clone())
        .then([model_failed().with(&["detail"])])
        .when(finish(Outcome::Failed))
        .then([
            put_down(SegmentEnd::Finished),
            finished(Outcome::Failed, &[]),
        ]);
    let not = Rejection::OutOfTurn("no reply of the model is due");
    given(driven()).when(failure).then_rejected(&not);
}

#[test]
fn what_a_failed_attempt_reserved_stays_spent_unless_it_says_what_it_used() {
    let spent = |used| {
        let failure = Command::RecordModelFailure {
            kind: ModelFailure::Cut,
            used,
            retry_ms: None,
        };
        let scenario = given(and(driven(), [called()]))
            .when(failure)
            .then_named(&["model.failed"]);
        scenario.state().unwrap().usage().tokens
    };
    assert_eq!(spent(None), 200);
    let used = super::spend(3, 4);
    assert_eq!(spent(Some(used)), 7);
}

#[test]
fn ends_a_run_as_its_last_reply_says_and_in_no_other_way() {
    let done = || and(driven(), [called(), last_word()]);
    given(done()).when(finish(Outcome::Completed)).then([
        put_down(SegmentEnd::Finished),
        finished_with_text(Outcome::Completed),
    ]);
    let not = Rejection::OutOfTurn("the run does not end that way now");
    for outcome in [
        Outcome::Failed,
        Outcome::Cancelled,
        Outcome::Budget,
        Outcome::Expired,
    ] {
        given(done()).when(finish(outcome)).then_rejected(&not);
    }
}

fn finished_with_text(outcome: Outcome) -> placet_replay::facts::Fact {
    finished(outcome, &[]).text_of("text", "reply")
}

#[test]
fn no_driver_ends_a_run_as_spent_or_expired_by_its_own_word() {
    let not = Rejection::OutOfTurn("the run does not end that way now");
    for outcome in [Outcome::Budget, Outcome::Expired, Outcome::Completed] {
        given(driven()).when(finish(outcome)).then_rejected(&not);
        let waits = and(named(&["set"]), [proposed(1), asked(1)]);
        given(waits).when(finish(outcome)).then_rejected(&not);
    }
}

#[test]
fn a_cancelled_run_ends_with_its_open_calls_listed() {
    let facts = and(
        named(&["act", "set", "set"]),
        [proposed(1), cleared(1), proposed(2), asked(2)],
    );
    given(facts)
        .with(&["note"])
        .when(Command::Cancel)
        .then([cancel_requested().with(&["note"])])
        .when(finish(Outcome::Cancelled))
        .then_named(&["segment.ended", "run.finished"]);
    let open = &[
        (1, OpenWhy::NotStarted),
        (2, OpenWhy::Pending),
        (3, OpenWhy::NotGated),
    ];
    let facts = and(
        named(&["act", "set", "set"]),
        [
            proposed(1),
            cleared(1),
            proposed(2),
            asked(2),
            cancel_requested(),
        ],
    );
    given(facts).when(finish(Outcome::Cancelled)).then([
        put_down(SegmentEnd::Cancelled),
        finished(Outcome::Cancelled, open),
    ]);
}

#[test]
fn a_run_is_cancelled_once_and_only_by_a_person() {
    given([started(), cancel_requested()])
        .when(Command::Cancel)
        .then_nothing();
    given([started()])
        .from_driver()
        .when(Command::Cancel)
        .then_rejected(&Rejection::NotAPerson);
}

#[test]
fn caps_become_stricter_and_never_wider() {
    let caps = Limits {
        cost_usd: Some(Usd::from_micros(10)),
        duration_ms: Some(10),
        iterations: Some(10),
        tokens: Some(10),
    };
    let run = || given([started_with(move |body| body.limits = caps)]);
    let stricter = Limits {
        tokens: Some(9),
        ..caps
    };
    let only_tokens = Limits {
        tokens: Some(9),
        ..Limits::default()
    };
    run()
        .when(Command::Tighten(only_tokens))
        .then([tightened(stricter)]);
    run().when(Command::Tighten(caps)).then_nothing();
    run()
        .when(Command::Tighten(Limits::default()))
        .then_nothing();
    let none = Limits::default();
    for (wider, what) in [
        (
            Limits {
                cost_usd: Some(Usd::from_micros(11)),
                ..none
            },
            "max-cost-usd",
        ),
        (
            Limits {
                duration_ms: Some(11),
                ..none
            },
            "max-duration",
        ),
        (
            Limits {
                iterations: Some(11),
                ..none
            },
            "max-iterations",
        ),
        (
            Limits {
                tokens: Some(11),
                ..none
            },
            "max-tokens",
        ),
    ] {
        run()
            .when(Command::Tighten(wider))
            .then_rejected(&Rejection::Widened(what));
    }
    run()
        .from_driver()
        .when(Command::Tighten(only_tokens))
        .then_rejected(&Rejection::NotAPerson);
}

#[test]
fn tools_become_fewer_and_never_more() {
    let narrow = |tools: &[&str]| Command::Narrow(tools.iter().map(|tool| name(tool)).collect());
    given([started()])
        .when(narrow(&["note", "look", "look"]))
        .then([narrowed(&["look", "note"])]);
    let fewer = || given([started(), narrowed(&["look", "note"])]);
    fewer().when(narrow(&["note", "look"])).then_nothing();
    fewer().when(narrow(&["note"])).then([narrowed(&["note"])]);
    fewer()
        .when(narrow(&["act", "note"]))
        .then_rejected(&Rejection::ToolWidened(name("act")));
    fewer()
        .from_driver()
        .when(narrow(&["note"]))
        .then_rejected(&Rejection::NotAPerson);
}
