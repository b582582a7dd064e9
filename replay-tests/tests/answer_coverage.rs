//! A set of answers covers every pending call exactly once, as it was displayed, and once: whatever
//! else is refused changes no run and is told in the journal.

use std::collections::BTreeMap;
use std::sync::Barrier;

use futures_executor::block_on;
use placet_ledger::answers::{AnswerSet, CoverageError};
use placet_ledger::approval::{Answer, CallAnswer, Channel};
use placet_ledger::digest::Digest;
use placet_ledger::error::LedgerError;
use placet_ledger::event::{AttemptKind, Event, Outcome};
use placet_ledger::id::{AnswerId, CallId, RunId};
use placet_ledger::ledger::Ledger;
use placet_ledger::run::{Caller, Rejection, RunState};
use placet_replay::facts::call;
use placet_replay::script::{self, Script};
use placet_replay::world::{Drove, Options, World, person};
use serde_json::json;

fn set_call(key: &str) -> placet_engine::model::ReplyCall {
    script::call("set", &json!({"key": key, "value": "1"}))
}

/// A world with a run that waits for two answers.
async fn two_pending() -> (World, RunId) {
    let mut world = World::new().await.unwrap();
    let script = Script::new()
        .calls([set_call("a"), set_call("b")])
        .says("Done.");
    let (run, drove) = world.run(script, Options::default()).await.unwrap();
    assert_eq!(drove, Drove::Waits);
    (world, run)
}

/// A set of approvals of these calls, of requests with these digests.
fn approvals(id: AnswerId, calls: &BTreeMap<CallId, Digest>) -> AnswerSet {
    let line = |(call, request): (&CallId, &Digest)| CallAnswer {
        call: *call,
        request: *request,
        answer: Answer::Approve,
        note: None,
    };
    AnswerSet::covering(id, calls, calls.iter().map(line)).unwrap()
}

/// How many refused attempts the journal tells of, all of them to answer this run.
async fn attempts(world: &World, run: RunId) -> usize {
    let journal = world.journal().await.unwrap();
    for record in &journal {
        let Event::AttemptRefused(attempt) = record.event() else {
            panic!("{} stands in the journal", record.event().name());
        };
        assert_eq!(attempt.kind, AttemptKind::Answer);
        assert_eq!(attempt.channel, Channel::Cli);
        assert_eq!((attempt.run, attempt.count), (Some(run), 1));
    }
    journal.len()
}

/// Answers with this set; it must be refused, add nothing to the run and one line to the journal.
async fn refused(world: &World, run: RunId, caller: &Caller, set: AnswerSet) -> Rejection {
    let before = (world.head(run).await.unwrap(), attempts(world, run).await);
    let error = world.ledger().answer(run, caller, set).await.unwrap_err();
    let LedgerError::Rejected(rejection) = error else {
        panic!("not a rejection: {error:?}");
    };
    assert_eq!(world.head(run).await.unwrap(), before.0);
    assert_eq!(attempts(world, run).await, before.1 + 1);
    assert_eq!(world.tools.executed(), 0);
    rejection
}

#[tokio::test]
async fn a_set_that_misses_a_call_changes_nothing() {
    let (world, run) = two_pending().await;
    let mut pending = world.pending(run).await.unwrap();
    pending.remove(&call(2));
    let set = approvals(world.answer_id(), &pending);
    let why = refused(&world, run, &person().unwrap(), set).await;
    let missing = CoverageError::Missing(vec![call(2)]);
    assert_eq!(why, Rejection::Coverage(missing));
    let set = approvals(world.answer_id(), &BTreeMap::new());
    let why = refused(&world, run, &person().unwrap(), set).await;
    let missing = CoverageError::Missing(vec![call(1), call(2)]);
    assert_eq!(why, Rejection::Coverage(missing));
}

#[tokio::test]
async fn a_set_with_an_unknown_call_changes_nothing() {
    let (world, run) = two_pending().await;
    let mut pending = world.pending(run).await.unwrap();
    pending.insert(call(3), pending[&call(2)]);
    let set = approvals(world.answer_id(), &pending);
    let why = refused(&world, run, &person().unwrap(), set).await;
    assert_eq!(why, Rejection::Coverage(CoverageError::Unknown(call(3))));
}

#[tokio::test]
async fn a_set_that_names_a_call_twice_cannot_be_made() {
    let (world, run) = two_pending().await;
    let pending = world.pending(run).await.unwrap();
    let one = approvals(world.answer_id(), &pending);
    let lines = one.iter().chain(one.iter().take(1)).cloned();
    let doubled = AnswerSet::covering(world.answer_id(), &pending, lines);
    assert_eq!(doubled, Err(CoverageError::Doubled(call(1))));
}

#[tokio::test]
async fn an_answer_for_another_request_than_the_pending_one_changes_nothing() {
    let (world, run) = two_pending().await;
    let pending = world.pending(run).await.unwrap();
    let swapped = BTreeMap::from([(call(1), pending[&call(2)]), (call(2), pending[&call(1)])]);
    let set = approvals(world.answer_id(), &swapped);
    let why = refused(&world, run, &person().unwrap(), set).await;
    let changed = CoverageError::Changed {
        call: call(1),
        displayed: pending[&call(2)],
        pending: pending[&call(1)],
    };
    assert_eq!(why, Rejection::Coverage(changed));
}

#[tokio::test]
async fn an_answer_displayed_in_one_run_approves_nothing_in_another() {
    let (mut world, first) = two_pending().await;
    let script = Script::new().calls([set_call("a"), set_call("b")]);
    let (second, _) = world.run(script, Options::default()).await.unwrap();
    let pending = world.pending(first).await.unwrap();
    let set = approvals(world.answer_id(), &pending);
    let why = refused(&world, second, &person().unwrap(), set).await;
    assert!(matches!(
        why,
        Rejection::Coverage(CoverageError::Changed { .. })
    ));
}

#[tokio::test]
async fn no_driver_answers_for_a_person() {
    let (world, run) = two_pending().await;
    let set = approvals(world.answer_id(), &world.pending(run).await.unwrap());
    let why = refused(&world, run, &Caller::Driver, set).await;
    assert_eq!(why, Rejection::NotAPerson);
}

#[tokio::test]
async fn a_second_answer_is_told_who_was_first() {
    let (world, run) = two_pending().await;
    let second = approvals(world.answer_id(), &world.pending(run).await.unwrap());
    world.deny(run, "no").await.unwrap();
    let why = refused(&world, run, &person().unwrap(), second).await;
    assert_eq!(why, Rejection::AlreadyAnswered(vec![call(1), call(2)]));
}

#[tokio::test]
async fn an_answer_to_a_finished_run_is_told_how_it_ended() {
    let (mut world, run) = two_pending().await;
    let old = world.pending(run).await.unwrap();
    world.approve(run).await.unwrap();
    assert!(matches!(world.resume(run).await.unwrap(), Drove::Ended(_)));
    let set = approvals(world.answer_id(), &old);
    let error = world.ledger().answer(run, &person().unwrap(), set).await;
    assert!(matches!(
        error,
        Err(LedgerError::Rejected(Rejection::Finished(
            Outcome::Completed
        )))
    ));
    assert_eq!(attempts(&world, run).await, 1);
}

#[tokio::test]
async fn the_same_answer_again_is_answered_alike_and_recorded_once() {
    let (mut world, run) = two_pending().await;
    let set = world
        .answers(run, |at| match at {
            at if at == call(1) => (Answer::Approve, None),
            _ => (Answer::Deny, Some(String::from("not that"))),
        })
        .await
        .unwrap();
    let person = person().unwrap();
    world
        .ledger()
        .answer(run, &person, set.clone())
        .await
        .unwrap();
    let once = world.head(run).await.unwrap();
    world
        .ledger()
        .answer(run, &person, set.clone())
        .await
        .unwrap();
    world.restart().await.unwrap();
    world
        .ledger()
        .answer(run, &person, set.clone())
        .await
        .unwrap();
    assert_eq!(world.head(run).await.unwrap(), once);
    assert_eq!(attempts(&world, run).await, 0);
    // The same id with another verdict is another answer.
    let pending = set.iter().map(|line| (line.call, line.request)).collect();
    let other = approvals(set.id(), &pending);
    let why = refused(&world, run, &person, other).await;
    assert_eq!(why, Rejection::AlreadyAnswered(vec![call(1), call(2)]));
    // So is a part of it, and one that names a request that nobody displayed.
    let first = || set.iter().next().unwrap().clone();
    let part = [(call(1), first().request)].into();
    let part = AnswerSet::covering(set.id(), &part, [first()]).unwrap();
    let why = refused(&world, run, &person, part).await;
    assert_eq!(why, Rejection::AlreadyAnswered(vec![call(1), call(2)]));
    // And one that answers nothing at all.
    let none = AnswerSet::covering(set.id(), &BTreeMap::new(), []).unwrap();
    let why = refused(&world, run, &person, none).await;
    assert_eq!(why, Rejection::AlreadyAnswered(vec![call(1), call(2)]));
    let request = Digest::from_bytes([7; 32]);
    let forged = set
        .iter()
        .cloned()
        .map(|line| CallAnswer { request, ..line });
    let shown = [(call(1), request), (call(2), request)].into();
    let forged = AnswerSet::covering(set.id(), &shown, forged).unwrap();
    let why = refused(&world, run, &person, forged).await;
    assert_eq!(why, Rejection::AlreadyAnswered(vec![call(1), call(2)]));
}

#[tokio::test]
async fn a_set_of_an_earlier_batch_is_known_by_its_id() {
    let mut world = World::new().await.unwrap();
    let script = Script::new()
        .calls([set_call("a")])
        .calls([set_call("b")])
        .says("Done.");
    let (run, _) = world.run(script, Options::default()).await.unwrap();
    let first = approvals(world.answer_id(), &world.pending(run).await.unwrap());
    let person = person().unwrap();
    world
        .ledger()
        .answer(run, &person, first.clone())
        .await
        .unwrap();
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    let (head, pending) = (
        world.head(run).await.unwrap(),
        world.pending(run).await.unwrap(),
    );
    // Sent once more it is still the answer that was recorded, and says nothing of what waits.
    world
        .ledger()
        .answer(run, &person, first.clone())
        .await
        .unwrap();
    assert_eq!(world.head(run).await.unwrap(), head);
    assert_eq!(world.pending(run).await.unwrap(), pending);
    // Its id is taken: with it nobody answers what waits now, alone or beside the call of old.
    let taken = [
        pending.clone(),
        pending
            .iter()
            .map(|(at, request)| (*at, *request))
            .chain(first.iter().map(|line| (line.call, line.request)))
            .collect(),
    ];
    for (told, calls) in taken.iter().enumerate() {
        let error = world
            .ledger()
            .answer(run, &person, approvals(first.id(), calls))
            .await
            .unwrap_err();
        let LedgerError::Rejected(why) = error else {
            panic!("not a rejection: {error:?}");
        };
        // Told is what was answered under the id, not what is answered now.
        assert_eq!(why, Rejection::AlreadyAnswered(vec![call(1)]));
        assert_eq!(attempts(&world, run).await, told + 1);
    }
    // A new set that still names the call of old is refused whole.
    let both = approvals(world.answer_id(), &taken[1]);
    let error = world.ledger().answer(run, &person, both).await.unwrap_err();
    let old = Rejection::AlreadyAnswered(vec![call(1)]);
    assert!(matches!(&error, LedgerError::Rejected(why) if *why == old));
    assert_eq!(world.head(run).await.unwrap(), head);
    world.approve(run).await.unwrap();
    assert!(matches!(world.resume(run).await.unwrap(), Drove::Ended(_)));
}

#[tokio::test]
async fn a_late_answer_is_told_so_and_ends_the_run_as_expired() {
    let (world, run) = two_pending().await;
    let set = approvals(world.answer_id(), &world.pending(run).await.unwrap());
    world.clock.advance_ms(Options::default().park_expiry_ms);
    let late = world.ledger().answer(run, &person().unwrap(), set).await;
    let Err(LedgerError::Rejected(why)) = late else {
        panic!("{late:?}");
    };
    assert_eq!(why, Rejection::Expired(call(1)));
    let state = world.state(run).await.unwrap();
    assert_eq!(state.outcome(), Some(Outcome::Expired));
    let names = world.names(run).await.unwrap();
    let end = ["approval.expired", "approval.expired", "run.finished"];
    assert_eq!(names[names.len() - 3..], end);
    assert_eq!(attempts(&world, run).await, 1);
}

#[tokio::test]
async fn a_clock_that_was_set_back_does_not_bring_an_answer_back_in_time() {
    let (mut world, run) = two_pending().await;
    let set = approvals(world.answer_id(), &world.pending(run).await.unwrap());
    let expiry = Options::default().park_expiry_ms;
    world.clock.advance_ms(expiry);
    // Another run's records make the log as late as that.
    let last = Script::new().says("Done.");
    world.run(last, Options::default()).await.unwrap();
    world.clock.step_back_ms(expiry);
    let fresh = world.another_ledger().await.unwrap();
    let late = fresh.answer(run, &person().unwrap(), set).await;
    assert!(matches!(late, Err(LedgerError::Rejected(_))), "{late:?}");
    let state = world.state(run).await.unwrap();
    assert_eq!(state.outcome(), Some(Outcome::Expired));
}

#[tokio::test]
async fn a_word_of_the_approver_is_kept_with_its_call() {
    let (world, run) = two_pending().await;
    world.deny(run, "keep the log").await.unwrap();
    let recording = world.recording(run).await.unwrap();
    let notes: Vec<_> = recording
        .run
        .iter()
        .filter(|record| record.event().name() == "approval.denied")
        .map(|record| record.blobs()["note"].commitment)
        .map(|commitment| recording.contents.text(&commitment).unwrap())
        .collect();
    assert_eq!(notes, ["keep the log", "keep the log"]);
}

/// Two answers at once, from ledgers that may or may not be the same process; how each fared.
async fn race(one_process: bool) -> (World, RunId, [Result<(), LedgerError>; 2]) {
    let (world, run) = two_pending().await;
    let first = world.ledger().clone();
    let second: Ledger = if one_process {
        first.clone()
    } else {
        world.another_ledger().await.unwrap()
    };
    let pending = world.pending(run).await.unwrap();
    let approve = approvals(world.answer_id(), &pending);
    let denials = approve.iter().cloned().map(|line| CallAnswer {
        answer: Answer::Deny,
        ..line
    });
    let deny = AnswerSet::covering(world.answer_id(), &pending, denials).unwrap();
    let barrier = Barrier::new(2);
    let answer = |ledger: &Ledger, set: AnswerSet| {
        barrier.wait();
        block_on(ledger.answer(run, &person().unwrap(), set))
    };
    let results = std::thread::scope(|scope| {
        let approving = scope.spawn(|| answer(&first, approve));
        let denying = scope.spawn(|| answer(&second, deny));
        [approving.join().unwrap(), denying.join().unwrap()]
    });
    (world, run, results)
}

#[tokio::test]
async fn of_two_racing_answers_exactly_one_wins_and_the_other_is_told() {
    for round in 0..40 {
        let (world, run, results) = race(round % 2 == 0).await;
        let told: Vec<_> = results.iter().filter_map(|r| r.as_ref().err()).collect();
        let [LedgerError::Rejected(Rejection::AlreadyAnswered(calls))] = told[..] else {
            panic!("round {round}: {results:?}");
        };
        assert_eq!(calls[..], [call(1), call(2)]);
        let names = world.names(run).await.unwrap();
        let counted = |name: &str| names.iter().filter(|found| **found == name).count();
        let verdicts = (counted("approval.granted"), counted("approval.denied"));
        let expected = if results[0].is_ok() { (2, 0) } else { (0, 2) };
        assert_eq!(verdicts, expected, "round {round}");
        assert_eq!(attempts(&world, run).await, 1, "round {round}");
        let state = world.state(run).await.unwrap();
        assert_eq!(RunState::pending(&state), BTreeMap::new());
    }
}

#[tokio::test]
async fn processes_that_are_refused_by_turns_are_each_told_why() {
    let (world, run) = two_pending().await;
    let other = world.another_ledger().await.unwrap();
    for _ in 0..3 {
        for ledger in [world.ledger(), &other] {
            let set = approvals(world.answer_id(), &BTreeMap::new());
            let told = ledger.answer(run, &person().unwrap(), set).await;
            assert!(
                matches!(told, Err(LedgerError::Rejected(Rejection::Coverage(_)))),
                "{told:?}"
            );
        }
    }
    assert_eq!(attempts(&world, run).await, 6);
}

#[tokio::test]
async fn two_processes_that_answer_too_late_are_both_told_so() {
    for round in 0..20 {
        let (world, run) = two_pending().await;
        let pending = world.pending(run).await.unwrap();
        let ledgers = [
            world.ledger().clone(),
            world.another_ledger().await.unwrap(),
        ];
        let sets = [(); 2].map(|()| approvals(world.answer_id(), &pending));
        world.clock.advance_ms(Options::default().park_expiry_ms);
        let barrier = Barrier::new(2);
        let results: Vec<_> = std::thread::scope(|scope| {
            let answering: Vec<_> = ledgers
                .iter()
                .zip(sets)
                .map(|(ledger, set)| {
                    scope.spawn(|| {
                        barrier.wait();
                        block_on(ledger.answer(run, &person().unwrap(), set))
                    })
                })
                .collect();
            answering
                .into_iter()
                .map(|one| one.join().unwrap())
                .collect()
        });
        for result in &results {
            let told = matches!(
                result,
                Err(LedgerError::Rejected(
                    Rejection::Expired(_) | Rejection::Finished(Outcome::Expired)
                ))
            );
            assert!(told, "round {round}: {results:?}");
        }
        assert_eq!(attempts(&world, run).await, 2);
    }
}

#[tokio::test]
async fn guessing_fills_no_journal_whichever_processes_guess() {
    let (mut world, run) = two_pending().await;
    let person = person().unwrap();
    let empty = || AnswerSet::covering(AnswerId::new(uuid::Uuid::nil()), &BTreeMap::new(), []);
    for _ in 0..64 {
        refused(&world, run, &person, empty().unwrap()).await;
        world.restart().await.unwrap();
    }
    let more = world.ledger().answer(run, &person, empty().unwrap());
    assert!(more.await.is_err());
    assert_eq!(attempts(&world, run).await, 64);
    world.clock.advance_ms(3_600_000);
    refused(&world, run, &person, empty().unwrap()).await;
    assert_eq!(attempts(&world, run).await, 65);
}

placet_replay::through_socket!(
    a_set_that_misses_a_call_changes_nothing,
    a_set_with_an_unknown_call_changes_nothing,
    a_set_that_names_a_call_twice_cannot_be_made,
    an_answer_for_another_request_than_the_pending_one_changes_nothing,
    an_answer_displayed_in_one_run_approves_nothing_in_another,
    no_driver_answers_for_a_person,
    a_second_answer_is_told_who_was_first,
    an_answer_to_a_finished_run_is_told_how_it_ended,
    the_same_answer_again_is_answered_alike_and_recorded_once,
    a_set_of_an_earlier_batch_is_known_by_its_id,
    a_late_answer_is_told_so_and_ends_the_run_as_expired,
    a_clock_that_was_set_back_does_not_bring_an_answer_back_in_time,
    a_word_of_the_approver_is_kept_with_its_call,
    of_two_racing_answers_exactly_one_wins_and_the_other_is_told,
    processes_that_are_refused_by_turns_are_each_told_why,
    two_processes_that_answer_too_late_are_both_told_so,
    guessing_fills_no_journal_whichever_processes_guess,
);
