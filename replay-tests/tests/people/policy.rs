//! The live policy and tools allowed for good: what a change stops, and what it leaves as it is.

use placet_engine::engine::Stopped;
use placet_ledger::approval::Answer;
use placet_ledger::event::{Event, Outcome, RefusalKind, StartRefusal};
use placet_ledger::id::RunId;
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::run::{Close, Phase};
use placet_replay::facts::call;
use placet_replay::script::Script;
use placet_replay::tools::Behaviour;
use placet_replay::world::{Drove, Options, World};

use super::{act, driving_while, phase, set, two, unasked};

/// Why starts were refused, in order.
async fn start_refusals(world: &World, run: RunId) -> Vec<StartRefusal> {
    let records = world.records(run).await.unwrap();
    let refused = records.iter().filter_map(|record| match record.event() {
        Event::ExecutionRefused(refused) => Some(refused.reason),
        _ => None,
    });
    refused.collect()
}

/// The second call of two is queued, waits, and runs once it is approved.
async fn assert_stopped(world: &mut World, run: RunId) {
    assert_eq!(phase(world, run, 2).await, Phase::Pending);
    assert_eq!(world.tools.executions(call(2)), 0);
    assert_eq!(start_refusals(world, run).await, [StartRefusal::Policy]);
    world.approve(run).await.unwrap();
    let drove = world.drive(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    assert_eq!(world.tools.executions(call(2)), 1);
}

#[tokio::test]
async fn a_tightening_while_a_call_is_executed_stops_the_one_that_is_queued() {
    let mut world = World::new().await.unwrap();
    world.tools.behave(call(1), Behaviour::Waits);
    let run = world.start(two(), unasked()).await.unwrap();
    let tighten = async {
        let tightened = world.change_policy(run, ApprovalPolicy::False, Some("wait"));
        tightened.await.unwrap();
        world.tools.release();
    };
    let (drove, ()) = driving_while(&world, run, tighten).await;
    assert_eq!(drove.unwrap(), Stopped::Waits);
    assert_eq!(phase(&world, run, 1).await, Phase::Closed(Close::Succeeded));
    assert_stopped(&mut world, run).await;
}

#[tokio::test]
async fn a_tightening_after_a_crash_stops_the_queued_call_for_the_next_driver() {
    let mut world = World::new().await.unwrap();
    world.tools.behave(call(1), Behaviour::VanishesAfter);
    let (run, drove) = world.run(two(), unasked()).await.unwrap();
    assert_eq!(drove, Drove::Vanished);
    let tightened = world.change_policy(run, ApprovalPolicy::LowRisk, None);
    tightened.await.unwrap();
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    assert_eq!(world.tools.executions(call(1)), 1);
    assert_stopped(&mut world, run).await;
}

#[tokio::test]
async fn a_tightening_leaves_what_a_person_approved() {
    let mut world = World::new().await.unwrap();
    let options = Options {
        policy: ApprovalPolicy::LowRisk,
        ..Options::default()
    };
    let (run, _) = world.run(two(), options).await.unwrap();
    world.approve(run).await.unwrap();
    let tightened = world.change_policy(run, ApprovalPolicy::False, None);
    tightened.await.unwrap();
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    assert_eq!(world.tools.executed(), 2);
}

#[tokio::test]
async fn a_raise_answers_nothing_that_is_pending() {
    let mut world = World::new().await.unwrap();
    let (run, _) = world.run(two(), Options::default()).await.unwrap();
    let before = world.state(run).await.unwrap();
    let raised = world.change_policy(run, ApprovalPolicy::HighRisk, None);
    raised.await.unwrap();
    // Neither by itself nor by whoever drives next.
    assert_eq!(world.drive(run).await.unwrap(), Drove::Waits);
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    let after = world.state(run).await.unwrap();
    assert_eq!(before.pending(), after.pending());
    assert_eq!(before.set_code(), after.set_code());
    assert_eq!(after.policy(), ApprovalPolicy::HighRisk);
    assert_eq!(world.tools.executed(), 0);
}

#[tokio::test]
async fn neither_raise_nor_list_clears_what_a_person_denied() {
    let mut world = World::new().await.unwrap();
    let script = Script::new()
        .calls([set("a", "1"), set("b", "1")])
        .calls([set("a", "1"), set("a", "2")])
        .says("Done.");
    let (run, _) = world.run(script, Options::default()).await.unwrap();
    let verdict = |of| {
        let denied = of == call(1);
        let answer = if denied {
            Answer::Deny
        } else {
            Answer::ApproveAlways
        };
        (answer, None)
    };
    world.answer(run, verdict).await.unwrap();
    let raised = world.change_policy(run, ApprovalPolicy::HighRisk, None);
    raised.await.unwrap();
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let refused = Phase::Closed(Close::Refused(RefusalKind::RepeatOf));
    assert_eq!(phase(&world, run, 3).await, refused);
    assert_eq!(world.tools.value("a").as_deref(), Some("2"));
}

#[tokio::test]
async fn a_tool_that_is_allowed_for_good_still_asks_for_files_that_steer() {
    let mut world = World::new().await.unwrap();
    let script = Script::new()
        .calls([set("a", "1")])
        .calls([set("b", "2"), set(".git/hooks/pre-commit", "3"), act()])
        .says("Done.");
    let (run, _) = world.run(script, Options::default()).await.unwrap();
    let always = |_| (Answer::ApproveAlways, None);
    world.answer(run, always).await.unwrap();
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    let pending: Vec<_> = world.pending(run).await.unwrap().into_keys().collect();
    assert_eq!(pending, [call(3), call(4)], "c2 is cleared by the list");
    let state = world.state(run).await.unwrap();
    let rule = |number| {
        let asked = state.call(call(number)).unwrap().requested().unwrap();
        asked.rule.to_string()
    };
    assert_eq!(rule(3), "always:git");
    assert_eq!(rule(4), "policy:false");
}

#[tokio::test]
async fn an_approval_for_good_is_acknowledged_only_where_it_was_recorded() {
    use placet_ledger::answers::AnswerSet;
    use placet_ledger::approval::CallAnswer;
    use placet_ledger::run::Rejection;
    use placet_replay::world::{WorldError, person};

    let mut world = World::new().await.unwrap();
    let script = Script::new().calls([set("a", "1")]);
    let (run, _) = world.run(script, Options::default()).await.unwrap();
    let (pending, id) = (world.pending(run).await.unwrap(), world.answer_id());
    let set = |answer: Answer| {
        let line = |(&call, &request): (&_, &_)| CallAnswer {
            call,
            request,
            answer,
            note: None,
        };
        AnswerSet::covering(id, &pending, pending.iter().map(line)).unwrap()
    };
    let somebody = person().unwrap();
    let answer = |answer| world.ledger().answer(run, &somebody, set(answer));
    answer(Answer::Approve).await.unwrap();
    answer(Answer::Approve).await.unwrap();
    let error = WorldError::from(answer(Answer::ApproveAlways).await.unwrap_err());
    let rejection = error.rejection();
    assert!(
        matches!(rejection, Some(Rejection::AlreadyAnswered(_))),
        "{error}"
    );
    assert!(world.state(run).await.unwrap().allowlist().is_empty());
}

placet_replay::through_socket!(
    a_tightening_while_a_call_is_executed_stops_the_one_that_is_queued,
    a_tightening_after_a_crash_stops_the_queued_call_for_the_next_driver,
    a_tightening_leaves_what_a_person_approved,
    a_raise_answers_nothing_that_is_pending,
    neither_raise_nor_list_clears_what_a_person_denied,
    a_tool_that_is_allowed_for_good_still_asks_for_files_that_steer,
    an_approval_for_good_is_acknowledged_only_where_it_was_recorded,
);
