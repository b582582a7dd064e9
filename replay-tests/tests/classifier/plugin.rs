//! A plugin judges before the model: each word, everything that is none, and what it may not lower.

use placet_engine::classify::Judges;
use placet_engine::model::ReplyCall;
use placet_ledger::digest::{Purpose, digest};
use placet_ledger::event::{RefusalKind, RiskSource};
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::risk::RiskTier;
use placet_replay::judges::{Does, ModelJudge, PluginJudge, pinned, with_plugin};
use placet_replay::script::{self, Script};
use placet_replay::world::{Options, World};
use serde_json::json;

use super::{Came, came, judged, run_of, under};

const REFUSED: Came = Came::Refused(RefusalKind::Rule);

fn options(policy: ApprovalPolicy) -> Options {
    Options {
        config: with_plugin(),
        ..under(policy, Attendance::Park)
    }
}

fn only(plugin: std::sync::Arc<PluginJudge>) -> Judges {
    Judges {
        plugin: Some(plugin),
        classifier: None,
    }
}

/// What becomes of a command under low-risk, with the source and the tier.
async fn said(does: Does, command: &str) -> (Came, RiskSource, RiskTier, String) {
    let judges = only(PluginJudge::new(does));
    let (world, run) = run_of(judges, command, options(ApprovalPolicy::LowRisk)).await;
    let (event, reason) = judged(&world, run).await.unwrap();
    (came(&world, run).await, event.source, event.tier, reason)
}

#[tokio::test]
async fn each_word_counts_alone_or_in_json() {
    let (by, floor) = (RiskSource::Plugin, RiskSource::Floor);
    for (word, came, source, tier) in [
        ("read-only", Came::Ran, by, RiskTier::ReadOnly),
        ("low-risk", Came::Ran, by, RiskTier::LowRisk),
        ("high-risk", Came::Asked, by, RiskTier::HighRisk),
        ("ask", Came::Asked, by, RiskTier::HighRisk),
        ("deny", REFUSED, by, RiskTier::HighRisk),
        ("pass", Came::Asked, floor, RiskTier::HighRisk),
    ] {
        for text in [
            word.to_owned(),
            format!("{word}\n"),
            format!("{{\"verdict\": \"{word}\"}}\n"),
            format!("{{\"reason\": \"so\", \"verdict\": \"{word}\"}}"),
        ] {
            let (found, from, judged, _) = said(Does::says(&text), "cargo test").await;
            assert_eq!((found, from, judged), (came, source, tier), "{text:?}");
        }
    }
    let (.., reason) = said(Does::says(r#"{"verdict":"deny","reason":"so"}"#), "ls").await;
    assert_eq!(reason, "so");
}

#[tokio::test(start_paused = true)]
async fn whatever_is_no_word_is_high_risk_with_the_reason() {
    for (does, says) in [
        (Does::says(""), "it wrote"),
        (Does::says("Read-only"), "it wrote"),
        (Does::says("read-only\n\n"), "it wrote"),
        (Does::says(" read-only"), "it wrote"),
        (Does::says("read-only\r\n"), "it wrote"),
        (Does::says("read-only\nlow-risk\n"), "it wrote"),
        (Does::says("allow"), "it wrote"),
        (Does::says("\"read-only\""), "it wrote"),
        (Does::says(r#"{"verdict":"allow"}"#), "it wrote"),
        (Does::says(r#"{"verdict":"read-only","and":1}"#), "it wrote"),
        (
            Does::says(r#"{"verdict":"deny","verdict":"read-only"}"#),
            "it wrote",
        ),
        (Does::says(r#"{"verdict":"read-only"} x"#), "it wrote"),
        (Does::says(r#"["read-only"]"#), "it wrote"),
        (Does::Exits(0), "it wrote"),
        (Does::Exits(1), "status 1"),
        (Does::Exits(127), "status 127"),
        (Does::Exits(-1), "status -1"),
        (
            Does::Fails("it was ended by signal 9".to_owned()),
            "signal 9",
        ),
        (Does::Hangs, "within 2000 ms"),
    ] {
        // A plainly read-only command is raised as well.
        for command in ["cargo test", "pwd"] {
            let (came, source, tier, reason) = said(does.clone(), command).await;
            let expected = (Came::Asked, RiskSource::Plugin, RiskTier::HighRisk);
            assert_eq!((came, source, tier), expected, "{does:?} {command}");
            assert!(reason.starts_with("the plugin is unsure: "), "{reason}");
            assert!(reason.contains(says), "{does:?}: {reason}");
        }
    }
}

#[tokio::test]
async fn a_changed_or_missing_plugin_is_unsure() {
    let other = digest(Purpose::File, b"another");
    let changed = PluginJudge::with_digest(Does::says("read-only"), other);
    for judges in [only(changed.clone()), Judges::default()] {
        let options = options(ApprovalPolicy::LowRisk);
        let (world, run) = run_of(judges, "cargo test", options).await;
        assert_eq!(came(&world, run).await, Came::Asked);
        let (event, reason) = judged(&world, run).await.unwrap();
        assert_eq!(event.source, RiskSource::Plugin);
        assert_eq!(reason, "the plugin is unsure: it is not there");
    }
    assert!(changed.asked().is_empty());
}

#[tokio::test]
async fn a_status_of_2_denies() {
    let (came, source, ..) = said(Does::Exits(2), "pwd").await;
    assert_eq!((came, source), (REFUSED, RiskSource::Plugin));
}

#[tokio::test]
async fn a_plugin_lowers_no_hazard_and_raises_all() {
    for (command, word, expected) in [
        ("cargo test > a", "read-only", Came::Asked),
        ("cargo $(pwd)", "low-risk", Came::Asked),
        ("cargo test > a", "deny", REFUSED),
        ("cargo test > a", "pass", Came::Asked),
        ("rm a", "low-risk", Came::Ran),
        ("pwd", "pass", Came::Ran),
        ("pwd", "high-risk", Came::Asked),
        ("pwd", "ask", Came::Asked),
        ("pwd", "deny", REFUSED),
    ] {
        let (found, ..) = said(Does::says(word), command).await;
        assert_eq!(found, expected, "{command} {word}");
    }
}

#[tokio::test]
async fn deny_and_ask_beat_every_policy_and_list() {
    for policy in super::POLICIES {
        for (word, expected) in [("deny", REFUSED), ("ask", Came::Asked)] {
            for allowlist in [vec![], vec![String::from("execute_command")]] {
                let plugin = PluginJudge::new(Does::says(word));
                let options = Options {
                    allowlist: allowlist.clone(),
                    ..options(policy)
                };
                let (world, run) = run_of(only(plugin.clone()), "pwd", options).await;
                let found = came(&world, run).await;
                assert_eq!(found, expected, "{word} {policy} {allowlist:?}");
                assert_eq!(plugin.asked().len(), 1);
            }
        }
    }
}

/// What becomes of a call of another tool than the one that runs commands.
async fn of_tool(wanted: ReplyCall, word: &str, policy: ApprovalPolicy) -> (Came, usize) {
    let mut world = World::new().await.unwrap();
    let plugin = PluginJudge::new(Does::says(word));
    world.tools.judge_by(only(plugin.clone()));
    let script = Script::new().calls([wanted]).says("Done.");
    let (run, _) = world.run(script, options(policy)).await.unwrap();
    (came(&world, run).await, plugin.asked().len())
}

#[tokio::test]
async fn a_tool_that_says_how_risky_it_is_is_raised_and_never_lowered() {
    let set = || script::call("set", &json!({"key": "a", "value": "1"}));
    let note = || script::call("note", &json!({"text": "a"}));
    let look = || script::call("look", &json!({"key": "a"}));
    let (low, high) = (ApprovalPolicy::LowRisk, ApprovalPolicy::HighRisk);
    for (wanted, word, policy, expected) in [
        (set(), "read-only", low, (Came::Asked, 1)),
        (set(), "pass", high, (Came::Ran, 1)),
        (set(), "deny", high, (REFUSED, 1)),
        (set(), "ask", high, (Came::Asked, 1)),
        (note(), "pass", low, (Came::Ran, 1)),
        (note(), "high-risk", low, (Came::Asked, 1)),
        (note(), "read-only", low, (Came::Ran, 1)),
        // What only reads is nobody's question.
        (look(), "deny", low, (Came::Ran, 0)),
    ] {
        let found = of_tool(wanted.clone(), word, policy).await;
        assert_eq!(found, expected, "{} {word} {policy}", wanted.name);
    }
}

#[tokio::test]
async fn what_it_passes_on_the_model_judges_and_what_it_says_the_model_does_not() {
    for (word, asked, expected) in [("pass", 1, Came::Ran), ("high-risk", 0, Came::Asked)] {
        let model = ModelJudge::new(Does::says("low-risk"));
        let judges = Judges {
            plugin: Some(PluginJudge::new(Does::says(word))),
            ..model.judges().unwrap()
        };
        let options = options(ApprovalPolicy::LowRisk);
        let (world, run) = run_of(judges, "cargo test", options).await;
        assert_eq!(came(&world, run).await, expected, "{word}");
        assert_eq!(model.asked().len(), asked, "{word}");
    }
}

#[tokio::test]
async fn it_is_told_what_would_run_and_what_is_known_of_it() {
    let plugin = PluginJudge::new(Does::says("pass"));
    let options = options(ApprovalPolicy::LowRisk);
    let (world, run) = run_of(only(plugin.clone()), "cargo test | head", options).await;
    let state = world.state(run).await.unwrap();
    let proposed = state.call(super::call(1)).unwrap().proposed().unwrap();
    let asked = plugin.asked().remove(0);
    assert_eq!(asked["proposal"], proposed.digest.to_string());
    assert_eq!(asked["run"], run.to_string());
    assert_eq!(asked["call"], "c1");
    assert_eq!(asked["tool"], "execute_command");
    assert_eq!(asked["tier"], "high-risk");
    assert_eq!(asked["workspace"], "/simulated");
    assert_eq!(asked["arguments"], json!({"command": "cargo test | head"}));
    assert_eq!(asked["command"]["text"], "cargo test | head");
    assert_eq!(asked["command"]["hazards"], json!([]));
    assert_eq!(asked["command"]["key"], json!(null));
    assert_eq!(state.started().plugin, Some(pinned()));
}
