//! Windows in which people speak: what was said is there whole or not at all, and comes first.

use std::sync::Arc;

use placet_engine::engine::Narrowing;
use placet_engine::tool::Reconciled;
use placet_ledger::approval::Answer;
use placet_ledger::event::{Event, Outcome, RefusalKind, StartRefusal};
use placet_ledger::id::{CallId, RunId};
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::run::{Close, Phase, Rejection};
use placet_ledger::store::memory::MemoryStore;
use placet_replay::facts::call;
use placet_replay::faulty_store::{Fault, FaultyStore};
use placet_replay::people::Impatient;
use placet_replay::script::{self, Script};
use placet_replay::tools::Behaviour;
use placet_replay::world::{Drove, Options, World, WorldError, ledger_id, person};
use serde_json::{Value, json};

use super::{assert_settled, phase, two, unasked};

fn other() -> Value {
    json!({"key": "a", "value": "9"})
}

async fn waiting(world: &mut World) -> RunId {
    let (run, drove) = world.run(two(), Options::default()).await.unwrap();
    assert_eq!(drove, Drove::Waits);
    run
}

/// Answers to all that waits now, given later.
async fn approvals(world: &World, run: RunId) -> placet_ledger::answers::AnswerSet {
    let approve = |_| (Answer::Approve, None);
    world.answers(run, approve).await.unwrap()
}

#[tokio::test]
async fn w16_of_two_words_about_a_call_the_second_finds_what_the_first_did() {
    for first in ["denial", "approval", "amendment", "expiry", "revocation"] {
        let mut world = World::new().await.unwrap();
        let run = waiting(&mut world).await;
        let late = approvals(&world, run).await;
        match first {
            "denial" => world.deny(run, "no").await.unwrap(),
            "amendment" => {
                world.amend(run, CallId::FIRST, &other()).await.unwrap();
            }
            "expiry" => world.clock.advance_ms(Options::default().park_expiry_ms),
            _ => world.approve(run).await.unwrap(),
        }
        if first == "revocation" {
            world.revoke(run, CallId::FIRST, None).await.unwrap();
        }
        world.restart().await.unwrap();
        let before = world.names(run).await.unwrap();
        let answered = world.engine().answer(run, &person().unwrap(), late).await;
        let error = WorldError::from(answered.unwrap_err());
        let both = vec![call(1), call(2)];
        let expected = match first {
            "amendment" => Rejection::Superseded {
                call: call(1),
                by: call(3),
            },
            "expiry" => Rejection::Expired(call(1)),
            _ => Rejection::AlreadyAnswered(both),
        };
        assert_eq!(error.rejection(), Some(&expected), "{first}");
        if first != "expiry" {
            assert_eq!(world.names(run).await.unwrap(), before, "{first}");
        }
        assert_eq!(world.tools.executed(), 0, "{first}");
    }
}

/// Why starts were refused, in order.
async fn start_refusals(world: &World, run: RunId) -> Vec<StartRefusal> {
    let records = world.records(run).await.unwrap();
    let refused = records.iter().filter_map(|record| match record.event() {
        Event::ExecutionRefused(refused) => Some(refused.reason),
        _ => None,
    });
    refused.collect()
}

#[tokio::test]
async fn w17_a_grant_of_the_policy_is_judged_again_at_its_start() {
    let (mut world, run) = super::cut_before("execution.started", unasked()).await;
    assert_eq!(phase(&world, run, 1).await, Phase::Granted);
    let tightened = world.change_policy(run, ApprovalPolicy::ReadOnly, None);
    tightened.await.unwrap();
    // One after the other, as their turns come.
    for number in [1_u32, 2] {
        assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
        let refusals = start_refusals(&world, run).await;
        let times = usize::try_from(number).unwrap();
        assert_eq!(refusals, vec![StartRefusal::Policy; times]);
        assert_eq!(phase(&world, run, number).await, Phase::Pending);
        assert_eq!(world.tools.executions(call(number)), 0);
        world.approve(run).await.unwrap();
    }
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    assert_eq!(world.tools.executed(), 2);
}

#[tokio::test]
async fn w17_a_tool_that_was_taken_away_starts_nothing() {
    let (mut world, run) = super::cut_before("execution.started", unasked()).await;
    let narrowing = Narrowing {
        denied: vec![String::from("set")],
        ..Narrowing::default()
    };
    world.resume_narrowed(run, narrowing).await.unwrap();
    let refusals = start_refusals(&world, run).await;
    assert_eq!(refusals, [StartRefusal::List, StartRefusal::List]);
    let gone = Phase::Closed(Close::Refused(RefusalKind::DeniedTool));
    for number in [1, 2] {
        assert_eq!(phase(&world, run, number).await, gone);
    }
    assert_eq!(world.tools.executed(), 0);
}

#[tokio::test]
async fn w17_a_grant_that_expired_before_its_start_is_void() {
    let mut world = World::new().await.unwrap();
    let (run, _) = world.run(two(), Options::default()).await.unwrap();
    world.approve(run).await.unwrap();
    world.clock.advance_ms(86_400_000);
    world.resume(run).await.unwrap();
    assert_eq!(world.tools.executed(), 0);
    assert_eq!(phase(&world, run, 1).await, Phase::Closed(Close::Expired));
    assert_eq!(phase(&world, run, 2).await, Phase::Closed(Close::Expired));
}

#[tokio::test]
async fn w27_a_cancelled_run_starts_nothing_more_and_says_what_became_of_what_was_started() {
    for (behaviour, reconciled, open) in [
        (
            Behaviour::VanishesAfter,
            None,
            Phase::Closed(Close::Succeeded),
        ),
        (Behaviour::VanishesBefore, None, Phase::Granted),
        (
            Behaviour::VanishesBefore,
            Some(Reconciled::Unknown),
            Phase::InDoubt,
        ),
    ] {
        let mut world = World::new().await.unwrap();
        world.tools.behave(call(1), behaviour.clone());
        if let Some(answer) = reconciled {
            world.tools.reconcile_as(call(1), answer);
        }
        let (run, _) = world.run(two(), unasked()).await.unwrap();
        let ended = world.cancel(run, "enough").await.unwrap();
        assert_eq!(ended, Drove::Ended(Outcome::Cancelled), "{behaviour:?}");
        assert_eq!(world.tools.executed(), 1, "{behaviour:?}");
        assert_eq!(phase(&world, run, 1).await, open, "{behaviour:?}");
        assert_eq!(phase(&world, run, 2).await, Phase::Granted, "{behaviour:?}");
        assert_settled(&world, run, &format!("{behaviour:?}")).await;
    }
}

#[tokio::test]
async fn w27_a_process_that_dies_while_it_cancels_leaves_a_run_that_ends() {
    for fault in [Fault::DiesAfter, Fault::DiesBefore] {
        for append in 0..4 {
            let store = FaultyStore::new(Arc::new(MemoryStore::new(ledger_id())));
            let mut world = World::over(store.clone()).await.unwrap();
            world.tools.behave(call(1), Behaviour::VanishesAfter);
            let (run, drove) = world.run(two(), unasked()).await.unwrap();
            assert_eq!(drove, Drove::Vanished);
            store.fail(store.appends() + append, 1, fault);
            let ended = tokio::select! {
                ended = world.cancel(run, "enough") => Some(ended.unwrap()),
                () = store.died() => None,
            };
            let case = format!("{fault:?} at {append}: {ended:?}");
            store.heal();
            world.restart().await.unwrap();
            if world.state(run).await.unwrap().is_cancelling() {
                let drove = world.drive(run).await.unwrap();
                assert_eq!(drove, Drove::Ended(Outcome::Cancelled), "{case}");
            } else {
                // Nobody was told that the wish was heard, so it is said again.
                assert_eq!((append, fault, ended), (0, Fault::DiesBefore, None));
                world.cancel(run, "enough").await.unwrap();
            }
            let closed = Phase::Closed(Close::Succeeded);
            assert_eq!(phase(&world, run, 1).await, closed, "{case}");
            assert_eq!(phase(&world, run, 2).await, Phase::Granted, "{case}");
            assert_eq!(world.tools.executed(), 1, "{case}");
            assert_settled(&world, run, &case).await;
        }
    }
}

/// An amendment that stands, or the call that it was to replace as it was, and nothing in between.
async fn assert_whole(case: &str, world: &World, run: RunId, before: &[&str]) {
    let state = world.state(run).await.unwrap();
    let names = world.names(run).await.unwrap();
    let pending: Vec<_> = state.pending().into_keys().collect();
    if names == before {
        assert_eq!(pending, [call(1), call(2)], "{case}");
    } else {
        let added = ["call.proposed", "approval.requested"];
        assert_eq!(names[before.len()..], added, "{case}");
        assert_eq!(pending, [call(2), call(3)], "{case}");
    }
}

#[tokio::test]
async fn w30_an_amendment_is_there_whole_or_not_at_all_whatever_fails() {
    let mut stood = 0_usize;
    for fault in Fault::ALL {
        for times in [1, 8] {
            let store = FaultyStore::new(Arc::new(MemoryStore::new(ledger_id())));
            let mut world = World::over(store.clone()).await.unwrap();
            let run = waiting(&mut world).await;
            let old = approvals(&world, run).await;
            let before = world.names(run).await.unwrap();
            store.fail(store.appends(), times, fault);
            let other = other();
            let amended = tokio::select! {
                amended = world.amend(run, CallId::FIRST, &other) => amended.ok(),
                () = store.died() => None,
            };
            let case = format!("{fault:?} x {times}: {amended:?}");
            store.heal();
            world.restart().await.unwrap();
            assert_whole(&case, &world, run, &before).await;
            let stands = world.names(run).await.unwrap() != before;
            assert!(stands || amended.is_none(), "{case}: it was acknowledged");
            let answered = world.engine().answer(run, &person().unwrap(), old).await;
            assert_eq!(answered.is_ok(), !stands, "{case}: {answered:?}");
            stood += usize::from(stands);
        }
    }
    assert!(stood > 4, "only {stood} amendments stood");
}

#[tokio::test]
async fn w30_a_raise_that_comes_first_clears_the_amendment_and_not_what_it_replaces() {
    let mut world = World::new().await.unwrap();
    let run = waiting(&mut world).await;
    let raised = world.change_policy(run, ApprovalPolicy::HighRisk, None);
    raised.await.unwrap();
    world.amend(run, CallId::FIRST, &other()).await.unwrap();
    assert_eq!(phase(&world, run, 3).await, Phase::Granted);
    assert_eq!(phase(&world, run, 2).await, Phase::Pending);
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    assert_eq!(world.tools.executed(), 0, "c2 is not answered");
}

#[tokio::test]
async fn w50_a_machine_that_slept_over_an_expiry_takes_no_answer_and_ends_the_run() {
    let mut world = World::new().await.unwrap();
    let (run, _) = world.run(two(), Options::default()).await.unwrap();
    let answers = world
        .answers(run, |_| (Answer::Approve, None))
        .await
        .unwrap();
    world.clock.advance_ms(86_400_000);
    let error = world
        .engine()
        .answer(run, &person().unwrap(), answers)
        .await
        .unwrap_err();
    let error = WorldError::from(error);
    assert!(
        matches!(error.rejection(), Some(Rejection::Expired(_))),
        "{error}"
    );
    assert_eq!(
        world.resume(run).await.unwrap(),
        Drove::Ended(Outcome::Expired)
    );
    assert_eq!(world.tools.executed(), 0);
}

#[tokio::test]
async fn w50_no_word_of_people_counts_after_a_sleep_over_the_expiry() {
    for word in ["amend", "reply"] {
        let mut world = World::new().await.unwrap();
        let ask = script::call("ask_user", &json!({"question": "Which?"}));
        let set = script::call("set", &json!({"key": "a", "value": "1"}));
        let script = Script::new().calls([ask, set]);
        let (run, _) = world.run(script, Options::default()).await.unwrap();
        world.clock.advance_ms(86_400_000);
        let refused = match word {
            "amend" => world.amend(run, call(2), &other()).await.map(|_| ()),
            _ => world.reply(run, call(1), "either").await,
        };
        let expired = Rejection::Finished(Outcome::Expired);
        assert_eq!(refused.unwrap_err().rejection(), Some(&expired), "{word}");
        let names = world.names(run).await.unwrap();
        assert_eq!(
            names[names.len() - 3..],
            ["approval.expired", "approval.expired", "run.finished"]
        );
    }
}

#[tokio::test]
async fn w50_a_sleep_over_the_expiry_of_a_row_leaves_the_rest_to_be_answered() {
    let judge = Impatient {
        tool: "act",
        expires_ms: 1_000,
    };
    let world = World::new().await.unwrap();
    let mut world = world.judged_by(Arc::new(judge)).await.unwrap();
    let act = script::call("act", &json!({"what": "it"}));
    let set = script::call("set", &json!({"key": "a", "value": "1"}));
    let script = Script::new().calls([act, set]).says("Done.");
    let (run, _) = world.run(script, Options::default()).await.unwrap();
    let late = approvals(&world, run).await;
    world.clock.advance_ms(1_000);
    let answered = world.engine().answer(run, &person().unwrap(), late).await;
    let error = WorldError::from(answered.unwrap_err());
    assert_eq!(error.rejection(), Some(&Rejection::Expired(call(1))));
    assert_eq!(phase(&world, run, 1).await, Phase::Closed(Close::Expired));
    world.approve(run).await.unwrap();
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    assert_eq!(world.tools.executions(call(1)), 0);
    assert_eq!(world.tools.executions(call(2)), 1);
    assert_eq!(
        world.told(run)[0],
        "Expired: nobody answered in time. It was not run."
    );
}
