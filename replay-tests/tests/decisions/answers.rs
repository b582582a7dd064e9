//! Decisions about answers, and about what nobody answered in time.

use placet_ledger::answers::{AnswerSet, CoverageError};
use placet_ledger::approval::{Answer, CallAnswer};
use placet_ledger::event::{OpenWhy, Outcome, SegmentEnd};
use placet_ledger::run::{Command, Rejection};
use placet_replay::facts::{
    ANSWER, EXPIRY_MS, Fact, approved, asked, began, call, cleared, denied, expired, finished,
    in_doubt, parked, proposed, put_down, started_with,
};
use placet_replay::scenario::given;

use super::{and, driven, named};

/// Two calls that wait for a person, in a run that is parked.
fn two_pending() -> Vec<Fact> {
    and(
        named(&["set", "act"]),
        [
            proposed(1),
            asked(1),
            proposed(2),
            asked(2),
            put_down(SegmentEnd::Parked),
            parked(&[1, 2]),
        ],
    )
}

/// A set that covers what was pending after these facts.
fn set(facts: Vec<Fact>) -> AnswerSet {
    let scenario = given(facts);
    let pending = scenario.state().unwrap().pending();
    let lines: Vec<_> = pending
        .iter()
        .map(|(call, request)| CallAnswer {
            call: *call,
            request: *request,
            answer: Answer::Approve,
            note: None,
        })
        .collect();
    AnswerSet::covering(ANSWER, &pending, lines).unwrap()
}

#[test]
fn a_set_of_answers_is_recorded_whole_and_in_call_order() {
    given(two_pending())
        .when_answered(&[(2, false), (1, true)])
        .then([approved(1), denied(2)]);
    given(two_pending())
        .with(&["note.c2"])
        .when_answered(&[(1, true), (2, false)])
        .then([approved(1), denied(2).text_of("note", "note.c2")]);
}

#[test]
fn a_note_for_a_call_that_is_not_answered_has_no_place() {
    given(two_pending())
        .with(&["note.c3"])
        .when_answered(&[(1, true), (2, true)])
        .then_rejected(&Rejection::Text(String::from("note.c3")));
}

#[test]
fn only_a_person_answers() {
    given(two_pending())
        .from_driver()
        .when_answered(&[(1, true), (2, true)])
        .then_rejected(&Rejection::NotAPerson);
}

#[test]
fn a_set_that_covered_something_else_is_turned_down() {
    let one = || and(named(&["set"]), [proposed(1), asked(1)]);
    given(two_pending())
        .when(Command::Answer(set(driven())))
        .then_rejected(&Rejection::Coverage(CoverageError::Missing(vec![
            call(1),
            call(2),
        ])));
    // The same call of another history has another request.
    let other = given(one()).state().unwrap().pending()[&call(1)];
    let changed = and(
        vec![started_with(|body| body.tools = 4)],
        named(&["set"]).into_iter().skip(1),
    );
    let changed = and(changed, [proposed(1), asked(1)]);
    let pending = given(one()).state().unwrap().pending();
    let set_of_other = set(changed);
    let displayed = set_of_other.iter().next().unwrap().request;
    assert_ne!(pending[&call(1)], displayed);
    given(one())
        .when(Command::Answer(set_of_other))
        .then_rejected(&Rejection::Coverage(CoverageError::Changed {
            call: call(1),
            displayed,
            pending: other,
        }));
}

#[test]
fn a_set_that_misses_or_invents_a_call_is_turned_down() {
    let one = and(named(&["set", "act"]), [proposed(1), asked(1)]);
    given(two_pending())
        .when(Command::Answer(set(one)))
        .then_rejected(&Rejection::Coverage(CoverageError::Missing(vec![call(2)])));
    let one = and(named(&["set", "act"]), [proposed(1), asked(1)]);
    given(one)
        .when(Command::Answer(set(two_pending())))
        .then_rejected(&Rejection::Coverage(CoverageError::Unknown(call(2))));
}

#[test]
fn the_second_of_two_answers_is_told_that_it_is_late() {
    given(and(two_pending(), [approved(1), denied(2)]))
        .when(Command::Answer(set(two_pending())))
        .then_rejected(&Rejection::AlreadyAnswered(vec![call(1), call(2)]));
}

#[test]
fn there_is_no_answer_where_nothing_waits() {
    given(driven())
        .when(Command::Answer(set(driven())))
        .then_rejected(&Rejection::NothingPending);
}

#[test]
fn an_answer_counts_until_its_time_is_over() {
    given(two_pending())
        .later(EXPIRY_MS - 1)
        .when_answered(&[(1, true), (2, true)])
        .then([approved(1), approved(2)]);
    given(two_pending())
        .later(EXPIRY_MS)
        .when_answered(&[(1, true), (2, true)])
        .then_rejected(&Rejection::Expired(call(1)));
}

#[test]
fn an_approval_that_nobody_gave_in_time_ends_the_run() {
    given(two_pending())
        .later(EXPIRY_MS)
        .when(Command::Expire)
        .then([expired(1), expired(2), finished(Outcome::Expired, &[])]);
    let half = and(
        named(&["set", "act"]),
        [proposed(1), cleared(1), proposed(2), asked(2)],
    );
    let lasted = put_down(SegmentEnd::Finished);
    given(half).later(EXPIRY_MS).when(Command::Expire).then([
        expired(2),
        lasted,
        finished(Outcome::Expired, &[(1, OpenWhy::NotStarted)]),
    ]);
}

#[test]
fn nothing_expires_before_its_time_or_without_a_question() {
    given(two_pending())
        .later(EXPIRY_MS - 1)
        .when(Command::Expire)
        .then_rejected(&Rejection::NotExpired);
    given(and(
        named(&["set"]),
        [proposed(1), cleared(1), began(1), in_doubt(1)],
    ))
    .later(EXPIRY_MS)
    .when(Command::Expire)
    .then_rejected(&Rejection::NotExpired);
}
