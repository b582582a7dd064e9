//! A verdict is a record, bound to one proposal: replayed, counted, and judged by again.

use std::sync::Arc;

use placet_engine::policy::{Gate, gate};
use placet_ledger::audit::verify;
use placet_ledger::event::{Event, RiskSource};
use placet_ledger::judge::{GateInput, Judge, Judged, Verdict};
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::risk::RiskTier;
use placet_replay::facts::call;
use placet_replay::judges::{Does, ModelJudge, PluginJudge, with_plugin};
use placet_replay::recording;
use placet_replay::script::{self, Script};
use placet_replay::world::{Options, World};
use serde_json::json;

use super::{Came, came, judged, run_of, under};

fn low() -> Options {
    under(ApprovalPolicy::LowRisk, Attendance::Park)
}

#[tokio::test]
async fn a_verdict_names_model_prompt_endpoint_and_its_proposal() {
    let model = ModelJudge::new(Does::says("low-risk"));
    let (world, run) = run_of(model.judges().unwrap(), "cargo test", low()).await;
    let (event, _) = judged(&world, run).await.unwrap();
    let state = world.state(run).await.unwrap();
    let proposed = state.call(call(1)).unwrap().proposed().unwrap();
    assert_eq!(event.proposal, proposed.digest);
    assert_eq!(
        event.model.map(|name| name.to_string()),
        Some("judge".to_owned())
    );
    assert_eq!(event.prompt, Some(placet_engine::classify::PROMPT_VERSION));
    assert_eq!(event.source, RiskSource::Model);
    let records = world.records(run).await.unwrap();
    let record = records
        .iter()
        .find(|record| matches!(record.event(), Event::RiskAssessed(_)));
    assert!(record.unwrap().blobs().contains_key("endpoint"));
}

#[tokio::test]
async fn a_replay_uses_the_recorded_verdict_and_asks_nobody() {
    for (does, command) in [
        (Does::says("low-risk"), "cargo test"),
        (Does::says("no word"), "cargo test"),
        (Does::says("low-risk"), "rm a"),
        (Does::says("low-risk"), "cargo test > a"),
        (Does::says("low-risk"), "pwd"),
    ] {
        let model = ModelJudge::new(does);
        let (world, run) = run_of(model.judges().unwrap(), command, low()).await;
        let asked = model.asked().len();
        let recording = world.recording(run).await.unwrap();
        recording::replay(&recording).await.unwrap();
        assert_eq!(model.asked().len(), asked, "{command}");
    }
    for word in ["read-only", "high-risk", "ask", "deny", "pass", "what"] {
        for command in ["cargo test", "cargo test > a", "pwd"] {
            let plugin = PluginJudge::new(Does::says(word));
            let judges = placet_engine::classify::Judges {
                plugin: Some(plugin.clone()),
                classifier: None,
            };
            let options = Options {
                config: with_plugin(),
                ..low()
            };
            let (world, run) = run_of(judges, command, options).await;
            let recording = world.recording(run).await.unwrap();
            let replayed = recording::replay(&recording).await;
            assert!(replayed.is_ok(), "{word} {command}: {:?}", replayed.err());
            assert_eq!(plugin.asked().len(), 1, "{word} {command}");
        }
    }
}

#[tokio::test]
async fn an_amended_command_is_not_covered_by_the_verdict_on_the_first() {
    let model = ModelJudge::new(Does::says("low-risk"));
    let options = under(ApprovalPolicy::ReadOnly, Attendance::Park);
    let (world, run) = run_of(model.judges().unwrap(), "cargo test", options).await;
    assert_eq!(came(&world, run).await, Came::Asked);
    let other = json!({"command": "cargo build"});
    let amended = world.amend(run, call(1), &other).await.unwrap();
    let state = world.state(run).await.unwrap();
    assert!(state.call(amended).unwrap().assessed().is_none());
    assert_eq!(model.asked().len(), 1);
    assert_eq!(world.tools.executed(), 0);
}

#[tokio::test]
async fn each_command_is_judged_by_itself_and_in_its_turn() {
    let model = ModelJudge::new(Does::says("low-risk"));
    let mut world = World::new().await.unwrap();
    world.tools.offer_commands();
    world.tools.judge_by(model.judges().unwrap());
    let wanted = |command: &str| script::call("execute_command", &json!({"command": command}));
    let commands = ["cargo test", "pwd", "cargo check", "cargo test"];
    let script = Script::new().calls(commands.map(wanted)).says("Done.");
    world.run(script, low()).await.unwrap();
    let asked: Vec<_> = model
        .asked()
        .into_iter()
        .map(|asked| (asked.command, asked.judged_before))
        .collect();
    let expected = [("cargo test", 0), ("cargo check", 1), ("cargo test", 2)];
    assert_eq!(
        asked,
        expected.map(|(text, before)| (text.to_owned(), before))
    );
    assert_eq!(world.tools.executed(), 4);
}

/// A judge who takes every judged call for one that only reads.
#[derive(Debug)]
struct Lenient;

impl Judge for Lenient {
    fn judge(&self, input: &GateInput<'_>) -> Verdict {
        let mut input = input.clone();
        input.assessed = input.assessed.map(|judged| Judged {
            tier: RiskTier::ReadOnly,
            ..judged
        });
        gate(&input)
    }
}

#[tokio::test]
async fn verification_judges_again_and_finds_another_tier() {
    for (lenient, word, findings) in [
        (false, "high-risk", 0),
        (false, "low-risk", 0),
        (true, "high-risk", 1),
    ] {
        let model = ModelJudge::new(Does::says(word));
        let mut world = World::new().await.unwrap();
        if lenient {
            world = world.judged_by(Arc::new(Lenient)).await.unwrap();
        }
        world.tools.offer_commands();
        world.tools.judge_by(model.judges().unwrap());
        let wanted = script::call("execute_command", &json!({"command": "cargo test"}));
        let script = Script::new().calls([wanted]).says("Done.");
        world.run(script, low()).await.unwrap();
        let report = verify(&**world.store(), None, Some(&Gate)).await;
        assert_eq!(report.findings.len(), findings, "{:?}", report.findings);
    }
}
