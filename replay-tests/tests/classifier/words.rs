//! Only exact words lower a command: every other reply, and none, is high-risk.

use placet_ledger::event::RiskSource;
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::risk::RiskTier;
use placet_replay::judges::{Does, ModelJudge};

use super::{Came, came, judged, run_of, under};

/// What comes of a command that the model says this of, under low-risk.
async fn said(does: Does) -> (Came, RiskTier, String) {
    let model = ModelJudge::new(does);
    let options = under(ApprovalPolicy::LowRisk, Attendance::Park);
    let (world, run) = run_of(model.judges().unwrap(), "cargo test", options).await;
    assert_eq!(model.asked().len(), 1);
    let (event, reason) = judged(&world, run).await.unwrap();
    assert_eq!(event.source, RiskSource::Model);
    (came(&world, run).await, event.tier, reason)
}

#[tokio::test]
async fn exact_words_count() {
    for (reply, tier, expected) in [
        ("read-only", RiskTier::ReadOnly, Came::Ran),
        ("low-risk", RiskTier::LowRisk, Came::Ran),
        ("high-risk", RiskTier::HighRisk, Came::Asked),
    ] {
        let (came, judged, reason) = said(Does::says(reply)).await;
        assert_eq!((came, judged), (expected, tier), "{reply:?}");
        assert_eq!(reason, "as the model says", "{reply:?}");
    }
}

/// Replies that are not exact.
const OTHERS: &[&str] = &[
    "",
    " ",
    "\n",
    "\t\n",
    "read-only\n",
    "low-risk\n",
    " low-risk",
    "low-risk\n\n",
    "low-risk\r\n",
    "\u{c}low-risk",
    "Read-only",
    "READ-ONLY",
    "Read-Only",
    "read-Only",
    "Low-risk",
    "LOW-RISK",
    "read-only.",
    "read-only!",
    "read-only?",
    "read-only,",
    "read-only;",
    "read-only:",
    ".read-only",
    "-read-only",
    "read-only-",
    "read--only",
    "read only",
    "readonly",
    "read_only",
    "read/only",
    "read -only",
    "read- only",
    "r ead-only",
    "lowrisk",
    "low risk",
    "low_risk",
    "low",
    "read",
    "only",
    "risk",
    "`read-only`",
    "```\nread-only\n```",
    "'read-only'",
    "\"read-only\"",
    "(read-only)",
    "[read-only]",
    "<read-only>",
    "{read-only}",
    "*read-only*",
    "**read-only**",
    "_read-only_",
    "# read-only",
    "- read-only",
    "> read-only",
    "| read-only",
    "{\"verdict\":\"read-only\"}",
    "[\"read-only\"]",
    "read-only\nread-only",
    "read-only\nlow-risk",
    "read-only low-risk",
    "read-only or low-risk",
    "read-only, because it only lists files",
    "The answer is read-only",
    "Answer: read-only",
    "verdict: read-only",
    "verdict=read-only",
    "It is low-risk",
    "not read-only",
    "read-only\n\nIt only reads.",
    "Sure!\nread-only",
    "high-risk\nread-only",
    "read-only\nhigh-risk",
    "low-risk\u{200b}",
    "\u{200b}low-risk",
    "low\u{200b}-risk",
    "\u{feff}read-only",
    "read-only\u{feff}",
    "read\u{2010}only",
    "read\u{2011}only",
    "read\u{2013}only",
    "read\u{2212}only",
    "read\u{ad}-only",
    "\u{ff52}\u{ff45}\u{ff41}\u{ff44}-\u{ff4f}\u{ff4e}\u{ff4c}\u{ff59}",
    "re\u{430}d-only",
    "read-\u{43e}nly",
    "l\u{43e}w-risk",
    "\u{a0}read-only",
    "read-only\u{a0}",
    "\u{2003}read-only",
    "read-only\u{2028}",
    "\u{b}read-only",
    "read-only\0",
    "\0read-only",
    "read-only\u{1b}[0m",
    "\u{202e}read-only",
    "read-only\u{e0020}",
    "yes",
    "1",
];

#[tokio::test]
async fn every_other_reply_is_high_risk() {
    let long = [
        "read-only ".repeat(100_000),
        format!("{}x", "read-only".repeat(120_000)),
        format!("read-only{}x", " ".repeat(1_000_000)),
    ];
    let others = OTHERS.iter().map(|reply| (*reply).to_owned()).chain(long);
    for reply in others {
        let shown: String = reply.chars().take(40).collect();
        let (came, tier, reason) = said(Does::Says(reply)).await;
        assert_eq!((came, tier), (Came::Asked, RiskTier::HighRisk), "{shown:?}");
        assert!(reason.starts_with("the model "), "{shown:?}: {reason}");
        assert!(reason.len() < 3_000, "{shown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_and_a_model_that_takes_too_long_are_high_risk_with_the_reason() {
    for (does, says) in [
        (
            Does::Fails("no route".to_owned()),
            "the model failed: no route",
        ),
        (Does::Hangs, "the model gave no answer within 8000 ms"),
    ] {
        let (came, tier, reason) = said(does).await;
        assert_eq!((came, tier), (Came::Asked, RiskTier::HighRisk), "{says}");
        assert_eq!(reason, says);
    }
}
