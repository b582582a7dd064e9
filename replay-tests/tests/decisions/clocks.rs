//! The two clocks of what waits: a row's, which closes one call, and the park's, which ends the
//! run.

use placet_ledger::event::{Event, OpenWhy, Outcome, SegmentEnd};
use placet_ledger::judge::Verdict;
use placet_ledger::run::{Command, Rejection};
use placet_replay::facts::{
    EXPIRY_MS, Fact, approved, asked, began, call, cleared, expired, finished, in_doubt, parked,
    proposed, put_down, question,
};
use placet_replay::scenario::{Scenario, given};

use super::{and, asks, clears, gate, named};

/// For how long the row of these stories waits.
const ROW_MS: u64 = EXPIRY_MS / 4;

fn asks_for(ms: u64) -> Verdict {
    match asks() {
        Verdict::Ask {
            rule,
            demands,
            tier,
            expires_ms: _,
        } => Verdict::Ask {
            rule,
            demands,
            tier,
            expires_ms: Some(ms),
        },
        other => other,
    }
}

/// As [`asked`], by a row that waits so much shorter than the park.
fn asked_shortly(number: u32) -> Fact {
    asked(number).but(|event| {
        if let Event::ApprovalRequested(asked) = event {
            let micros =
                asked.expires_at.micros() - i64::try_from(EXPIRY_MS - ROW_MS).unwrap() * 1000;
            asked.expires_at = placet_ledger::time::Timestamp::from_micros(micros).unwrap();
        }
    })
}

/// One call of a row that waits shortly, one that waits as the park, and a question; parked.
fn three() -> Vec<Fact> {
    and(
        named(&["set", "act", "ask_user"]),
        [
            proposed(1),
            asked_shortly(1),
            proposed(2),
            asked(2),
            proposed(3),
            question(3),
            put_down(SegmentEnd::Parked),
            parked(&[1, 2, 3]),
        ],
    )
}

#[test]
fn a_row_may_wait_shorter_than_the_park_and_never_longer() {
    for (row_ms, fact) in [
        (ROW_MS, asked_shortly(1)),
        (EXPIRY_MS, asked(1)),
        (EXPIRY_MS * 2, asked(1)),
    ] {
        given(and(named(&["set"]), [proposed(1)]))
            .gate_says(asks_for(row_ms))
            .when(gate(1))
            .then([fact]);
    }
    // Both count from the reply that named the call, however late the verdict is.
    given(and(named(&["set"]), [proposed(1)]))
        .later(ROW_MS / 2)
        .gate_says(asks_for(ROW_MS))
        .when(gate(1))
        .then([asked_shortly(1)]);
    given(and(named(&["ask_user"]), [proposed(1)]))
        .gate_says(Verdict::Question)
        .when(gate(1))
        .then([question(1)]);
}

#[test]
fn the_clock_of_a_row_closes_its_call_alone_and_the_run_goes_on() {
    given(three())
        .later(ROW_MS - 1)
        .when(Command::Expire)
        .then_rejected(&Rejection::NotExpired);
    let rest = given(three())
        .later(ROW_MS)
        .when(Command::Expire)
        .then([expired(1)]);
    assert_eq!(rest.state().unwrap().pending().len(), 1);
    rest.clone()
        .when(Command::Expire)
        .then_rejected(&Rejection::NotExpired);
    // The one that is left is answered as ever.
    rest.when_answered(&[(2, true)]).then([approved(2)]);
}

#[test]
fn the_clock_of_the_park_closes_all_that_waits_and_ends_the_run() {
    given(three()).later(EXPIRY_MS).when(Command::Expire).then([
        expired(1),
        expired(2),
        expired(3),
        finished(Outcome::Expired, &[]),
    ]);
    given(and(three(), [expired(1).later(ROW_MS)]))
        .later(EXPIRY_MS - ROW_MS)
        .when(Command::Expire)
        .then([expired(2), expired(3), finished(Outcome::Expired, &[])]);
}

#[test]
fn an_answer_after_the_clock_of_a_row_is_too_late_for_the_whole_set() {
    let two = || {
        and(
            named(&["set", "act"]),
            [proposed(1), asked_shortly(1), proposed(2), asked(2)],
        )
    };
    given(two())
        .later(ROW_MS - 1)
        .when_answered(&[(1, true), (2, true)])
        .then([approved(1), approved(2)]);
    given(two())
        .later(ROW_MS)
        .when_answered(&[(1, true), (2, true)])
        .then_rejected(&Rejection::Expired(call(1)));
}

#[test]
fn what_was_granted_and_not_begun_is_left_open_by_the_end() {
    let half = and(
        named(&["set", "ask_user"]),
        [
            proposed(1),
            cleared(1),
            proposed(2),
            question(2),
            put_down(SegmentEnd::Parked),
            parked(&[2]),
        ],
    );
    given(half).later(EXPIRY_MS).when(Command::Expire).then([
        expired(2),
        finished(Outcome::Expired, &[(1, OpenWhy::NotStarted)]),
    ]);
}

#[test]
fn nothing_expires_that_does_not_wait_for_an_answer() {
    let rows: [fn() -> Vec<Fact>; 5] = [
        || named(&["set"]),
        || and(named(&["set"]), [proposed(1)]),
        || and(named(&["set"]), [proposed(1), cleared(1)]),
        || and(named(&["set"]), [proposed(1), cleared(1), began(1)]),
        || {
            let doubt = [proposed(1), cleared(1), began(1), in_doubt(1)];
            and(named(&["set"]), doubt)
        },
    ];
    for facts in rows {
        let story: Scenario = given(facts());
        story
            .later(EXPIRY_MS)
            .when(Command::Expire)
            .then_rejected(&Rejection::NotExpired);
    }
}

#[test]
fn a_late_start_of_what_a_person_approved_is_void_by_the_clock_that_it_was_asked_under() {
    use placet_ledger::event::StartRefusal;
    use placet_replay::facts::not_begun;

    let approved_one = |fact: Fact| and(named(&["set"]), [proposed(1), fact, approved(1)]);
    given(approved_one(asked_shortly(1)))
        .later(ROW_MS - 1)
        .gate_says(clears())
        .when(super::begin(1))
        .then([began(1)]);
    given(approved_one(asked_shortly(1)))
        .later(ROW_MS)
        .gate_says(clears())
        .when(super::begin(1))
        .then([not_begun(1, StartRefusal::Expired), expired(1)]);
}
