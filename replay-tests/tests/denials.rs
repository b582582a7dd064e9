//! A denial is a result of its own, worded apart from every other, and it is not asked about again.

use std::collections::BTreeSet;

use placet_engine::model::ReplyCall;
use placet_ledger::event::{Event, Outcome, RefusalKind};
use placet_ledger::id::{CallId, RunId};
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::run::{Close, Phase};
use placet_replay::facts::call;
use placet_replay::script::{self, Script};
use placet_replay::tools::Behaviour;
use placet_replay::world::{Drove, Options, World};
use serde_json::json;

fn set(key: &str, value: &str) -> ReplyCall {
    script::call("set", &json!({"key": key, "value": value}))
}

/// The refusals of a run: which call, why, and of which denied one.
async fn refusals(world: &World, run: RunId) -> Vec<(CallId, RefusalKind, Option<CallId>)> {
    let records = world.records(run).await.unwrap();
    let refused = records.iter().filter_map(|record| match record.event() {
        Event::CallRefused(refused) => Some((refused.call, refused.kind, refused.of)),
        _ => None,
    });
    refused.collect()
}

/// A run in which each batch is denied whole, until it no longer waits.
async fn denied_throughout(script: Script, options: Options) -> (World, RunId, usize) {
    let mut world = World::new().await.unwrap();
    let (run, mut drove) = world.run(script, options).await.unwrap();
    let mut denials = 0;
    while drove == Drove::Waits {
        denials += 1;
        world.deny(run, "no").await.unwrap();
        drove = world.resume(run).await.unwrap();
    }
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    (world, run, denials)
}

#[tokio::test]
async fn a_call_with_equal_arguments_is_refused_without_asking() {
    let script = Script::new()
        .calls([set("a", "1")])
        .calls([set("a", "1")])
        .calls([script::raw_call("set", r#"{ "value" : "1", "key" : "a" }"#)])
        .says("Done.");
    let (world, run, denials) = denied_throughout(script, Options::default()).await;
    assert_eq!(denials, 1, "only the first was asked about");
    let of = Some(call(1));
    let expected = [
        (call(2), RefusalKind::RepeatOf, of),
        (call(3), RefusalKind::RepeatOf, of),
    ];
    assert_eq!(refusals(&world, run).await, expected);
    assert_eq!(world.tools.executed(), 0);
}

#[tokio::test]
async fn a_call_with_other_arguments_or_of_another_tool_is_asked_about() {
    let script = Script::new()
        .calls([set("a", "1")])
        .calls([set("a", "2"), set("b", "1")])
        .calls([script::call("note", &json!({"text": "a"}))])
        .calls([script::call("act", &json!({"what": "a"}))])
        .says("Done.");
    let (world, run, denials) = denied_throughout(script, Options::default()).await;
    assert_eq!(denials, 4);
    assert_eq!(refusals(&world, run).await, []);
}

#[tokio::test]
async fn an_approved_call_may_be_repeated() {
    let mut world = World::new().await.unwrap();
    let script = Script::new()
        .calls([set("a", "1")])
        .calls([set("a", "1")])
        .says("Done.");
    let (run, _) = world.run(script, Options::default()).await.unwrap();
    world.approve(run).await.unwrap();
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    assert_eq!(world.pending(run).await.unwrap().len(), 1);
}

#[tokio::test]
async fn after_three_denials_at_one_target_the_fourth_is_refused() {
    let script = Script::new()
        .calls([set("a", "1")])
        .calls([set("a", "2")])
        .calls([set("a", "3"), set("b", "1")])
        .calls([set("a", "4"), set("b", "2")])
        .says("Done.");
    let (world, run, denials) = denied_throughout(script, Options::default()).await;
    assert_eq!(denials, 4, "b is asked about a second time");
    let expected = [(call(5), RefusalKind::RepeatOf, Some(call(3)))];
    assert_eq!(refusals(&world, run).await, expected);
}

#[tokio::test]
async fn denials_at_several_targets_do_not_add_up() {
    let script = Script::new()
        .calls([set("a", "1"), set("b", "1"), set("c", "1")])
        .calls([set("a", "2")])
        .says("Done.");
    let (world, run, denials) = denied_throughout(script, Options::default()).await;
    assert_eq!(denials, 2);
    assert_eq!(refusals(&world, run).await, []);
}

#[tokio::test]
async fn a_denied_call_has_no_execution_beside_approved_ones() {
    let mut world = World::new().await.unwrap();
    let script = Script::new()
        .calls([set("a", "1"), set("b", "1"), set("c", "1")])
        .says("Done.");
    let (run, _) = world.run(script, Options::default()).await.unwrap();
    let verdict = |at| {
        if at == call(2) {
            (placet_ledger::approval::Answer::Deny, None)
        } else {
            (placet_ledger::approval::Answer::Approve, None)
        }
    };
    world.answer(run, verdict).await.unwrap();
    world.resume(run).await.unwrap();
    let executed: Vec<_> = (1..=3).map(|n| world.tools.executions(call(n))).collect();
    assert_eq!(executed, [1, 0, 1]);
    assert_eq!(world.tools.value("b"), None);
}

#[tokio::test]
async fn the_note_of_the_approver_is_told_to_the_model() {
    let mut world = World::new().await.unwrap();
    let script = Script::new().calls([set("a", "1")]).says("Done.");
    let (run, _) = world.run(script, Options::default()).await.unwrap();
    world.deny(run, "keep a as it is").await.unwrap();
    world.resume(run).await.unwrap();
    let told = world.told(run);
    assert_eq!(
        told,
        [
            "Not authorised. The approver turned this down: \"keep a as it is\". It was not run; do \
          not repeat it."
        ]
    );
}

/// What the model is told in a run of one call that goes that way.
async fn told(prepare: impl AsyncFn(&mut World) -> RunId) -> (Phase, String) {
    let mut world = World::new().await.unwrap();
    let run = prepare(&mut world).await;
    let state = world.state(run).await.unwrap();
    let last = state.calls().next_back().unwrap().phase();
    (last, world.told(run).pop().unwrap())
}

async fn one(world: &mut World, first: ReplyCall, options: Options) -> (RunId, Drove) {
    let script = Script::new().calls([first]).says("Done.");
    world.run(script, options).await.unwrap()
}

fn unasked() -> Options {
    Options {
        policy: ApprovalPolicy::HighRisk,
        ..Options::default()
    }
}

async fn behaving(world: &mut World, behaviour: Behaviour) -> RunId {
    world.tools.behave(call(1), behaviour);
    one(world, set("a", "1"), unasked()).await.0
}

/// How a call ended, what the model has to be told, and how both were found.
type Result = (Phase, &'static str, (Phase, String));

/// Calls that were executed.
async fn executed() -> Vec<Result> {
    let fails = || Behaviour::Fails(String::from("it is locked"));
    vec![
        (
            Phase::Closed(Close::Succeeded),
            "a is set.",
            told(async |world| one(world, set("a", "1"), unasked()).await.0).await,
        ),
        (
            Phase::Closed(Close::Failed),
            "Failed: it is locked",
            told(async |world| behaving(world, fails()).await).await,
        ),
        (
            Phase::Closed(Close::Failed),
            "Failed: refused: it may not be done",
            told(async |world| behaving(world, Behaviour::Refused).await).await,
        ),
        (
            Phase::Closed(Close::Stale),
            "Stale: the target has changed. Nothing was changed. Look at the target again before \
             you propose anew.",
            told(async |world| behaving(world, Behaviour::Stale).await).await,
        ),
    ]
}

/// Calls that a person turned down or did not answer.
async fn unanswered() -> Vec<Result> {
    vec![
        (
            Phase::Closed(Close::Denied),
            "Not authorised. The approver turned this down. It was not run; do not repeat it.",
            told(async |world| {
                let (run, _) = one(world, set("a", "1"), Options::default()).await;
                world.deny(run, "").await.unwrap();
                world.resume(run).await.unwrap();
                run
            })
            .await,
        ),
        (
            Phase::Closed(Close::Expired),
            "Expired: nobody answered in time. It was not run.",
            told(async |world| {
                let (run, _) = one(world, set("a", "1"), Options::default()).await;
                world.approve(run).await.unwrap();
                world.clock.advance_ms(Options::default().park_expiry_ms);
                world.resume(run).await.unwrap();
                run
            })
            .await,
        ),
    ]
}

/// Calls that were not even asked about.
async fn refused() -> Vec<Result> {
    let refused = |kind| Phase::Closed(Close::Refused(kind));
    let nobody = || Options {
        attendance: Attendance::Nobody,
        ..Options::default()
    };
    let withheld = || Options {
        denied: vec![String::from("set")],
        ..Options::default()
    };
    vec![
        (
            refused(RefusalKind::Nobody),
            "Not authorised: it needs an approval, and nobody is there to give one. It was not \
             run.",
            told(async |world| one(world, set("a", "1"), nobody()).await.0).await,
        ),
        (
            refused(RefusalKind::UnknownTool),
            "Error: there is no such tool. Did you mean look?",
            told(async |world| {
                let call = script::call("lookk", &json!({}));
                one(world, call, Options::default()).await.0
            })
            .await,
        ),
        (
            refused(RefusalKind::HiddenHalf),
            "Error: that name cannot be called.",
            told(async |world| {
                let call = script::call("set_execute", &json!({}));
                one(world, call, Options::default()).await.0
            })
            .await,
        ),
        (
            refused(RefusalKind::DeniedTool),
            "Error: this run does not have that tool.",
            told(async |world| one(world, set("a", "1"), withheld()).await.0).await,
        ),
        (
            refused(RefusalKind::BadArguments),
            "Error: no proposal could be made of this. refused: nobody may change it",
            told(async |world| one(world, set("forbidden", "1"), unasked()).await.0).await,
        ),
        (
            refused(RefusalKind::RepeatOf),
            "Not authorised: the approver turned the same down before. It was not asked again; \
             do not repeat it.",
            told(async |world| {
                let script = Script::new()
                    .calls([set("a", "1")])
                    .calls([set("a", "1")])
                    .says("Done.");
                let (run, _) = world.run(script, Options::default()).await.unwrap();
                world.deny(run, "no").await.unwrap();
                world.resume(run).await.unwrap();
                run
            })
            .await,
        ),
    ]
}

#[tokio::test]
async fn every_kind_of_result_has_words_of_its_own() {
    let mut all = Box::pin(executed()).await;
    all.extend(Box::pin(unanswered()).await);
    all.extend(Box::pin(refused()).await);
    for (phase, words, (found_phase, found)) in &all {
        assert_eq!(phase, found_phase, "{found}");
        assert_eq!(words, found);
    }
    // Told apart by their first words already.
    let kinds: BTreeSet<_> = all
        .iter()
        .map(|(_, words, _)| words.chars().take(24).collect::<String>())
        .collect();
    assert_eq!(kinds.len(), all.len(), "{kinds:?}");
}

#[tokio::test]
async fn calls_over_the_limit_of_a_reply_are_told_that_they_are() {
    let mut world = World::new().await.unwrap();
    let many = (0..70).map(|number| script::call("look", &json!({"key": number.to_string()})));
    let script = Script::new().calls(many).says("Done.");
    let (run, drove) = world.run(script, Options::default()).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let told = world.told(run);
    assert_eq!(told.len(), 64);
    assert_eq!(
        told.last().unwrap(),
        "Refused: this is over a limit of the run. A reply may hold at most 63 calls; this one \
         and 6 after it were not looked at."
    );
    assert_eq!(world.tools.executed(), 63);
}

#[tokio::test]
async fn a_raise_or_a_list_does_not_clear_what_a_person_denied() {
    for options in [
        Options {
            policy: ApprovalPolicy::LowRisk,
            ..Options::default()
        },
        Options {
            allowlist: vec![String::from("note")],
            ..Options::default()
        },
    ] {
        // What is cleared is never asked about, so nothing of it can be denied in the first place.
        let script = Script::new()
            .calls([script::call("note", &json!({"text": "a"})), set("a", "1")])
            .calls([set("a", "1")])
            .says("Done.");
        let (world, run, denials) = denied_throughout(script, options).await;
        assert_eq!(denials, 1);
        assert_eq!(refusals(&world, run).await.len(), 1);
        assert_eq!(world.tools.executions(call(1)), 1);
    }
}
