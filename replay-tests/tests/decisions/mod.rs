//! Every command against the states that it meets: what it comes to, and every reason for which it
//! comes to nothing.

mod answers;
mod calls;
mod clocks;
mod demands;
mod lifecycle;
mod policy;
mod rejections;
mod words;

use placet_ledger::approval::{By, Demands};
use placet_ledger::budget::{Spend, Tokens, Usd};
use placet_ledger::containment::Level;
use placet_ledger::digest::{Purpose, digest};
use placet_ledger::event::{SegmentReason, Stop};
use placet_ledger::judge::Verdict;
use placet_ledger::policy::ContainmentRule;
use placet_ledger::policy::{ApprovalPolicy, Attendance, HttpApproval};
use placet_ledger::precondition::PreconditionKind;
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::run::{Command, Proposal, Start};
use placet_replay::facts::{
    EXPIRY_MS, Fact, HOST, RESERVED, call, called, context, driver, name, replied, started,
    taken_up,
};
use std::collections::BTreeSet;

fn start() -> Command {
    Command::Start(Start {
        containment: ContainmentRule::Prefer,
        plugin: None,
        agent: name("default"),
        attendance: Attendance::Park,
        binary: name("0.1.0"),
        http_approval: HttpApproval::Allow,
        limits: placet_ledger::budget::Limits::default(),
        model: name("script"),
        park_expiry_ms: EXPIRY_MS,
        policy: ApprovalPolicy::False,
        tool_allowlist: Vec::new(),
        tools: 5,
    })
}

const STARTED_TEXTS: [&str; 4] = ["prompt", "scope", "system", "workspace"];

fn take_up(number: u128) -> Command {
    Command::TakeUp {
        attendance: Attendance::Park,
        driver: driver(number),
        host: HOST,
        reason: SegmentReason::Start,
    }
}

fn call_model(active_ms: u64) -> Command {
    Command::CallModel {
        compact: false,
        context: context(),
        reserved: RESERVED,
        active_ms,
    }
}

/// So many tokens, for nothing.
fn spend(input: u64, output: u64) -> Spend {
    Spend {
        cost_usd: Usd::ZERO,
        tokens: Tokens::new(input, output),
    }
}

fn reply(tools: &[&str]) -> Command {
    let named = |tool: &&str| (*tool != "?").then(|| name(tool));
    Command::RecordReply {
        calls: tools.iter().map(named).collect(),
        stop: if tools.is_empty() {
            Stop::End
        } else {
            Stop::ToolCalls
        },
        used: spend(10, 5),
    }
}

fn proposal(number: u32, tool: &str) -> Proposal {
    Proposal {
        call: call(number),
        level: Level::IN_PROCESS,
        network: BTreeSet::new(),
        program: None,
        definition: digest(Purpose::Tool, tool.as_bytes()),
        execute: (tool == "set").then(|| name("set_execute")),
        precondition: PreconditionKind::None,
        risk: DeclaredRisk::HighRisk,
        tool: name(tool),
    }
}

fn propose(number: u32, tool: &str) -> Command {
    Command::Propose(proposal(number, tool))
}

fn amend(number: u32, tool: &str) -> Command {
    Command::Amend(proposal(number, tool))
}

fn gate(number: u32) -> Command {
    Command::Gate { call: call(number) }
}

fn begin(number: u32) -> Command {
    Command::Begin {
        call: call(number),
        active_ms: 0,
        level: Level::of(BTreeSet::new()),
    }
}

fn asks() -> Verdict {
    Verdict::Ask {
        rule: name("policy:false"),
        demands: Demands::default(),
        tier: DeclaredRisk::HighRisk,
        expires_ms: None,
    }
}

fn clears() -> Verdict {
    Verdict::Approve {
        by: By::Policy {
            rule: name("policy:high-risk"),
        },
        tier: DeclaredRisk::HighRisk,
        network: BTreeSet::new(),
    }
}

/// A run that was taken up.
fn driven() -> Vec<Fact> {
    vec![started(), taken_up(1)]
}

/// A run whose model replied with calls of these tools.
fn named(tools: &'static [&'static str]) -> Vec<Fact> {
    let mut facts = driven();
    facts.extend([called(), replied(tools)]);
    facts
}

/// The first facts, then the others.
fn and(mut facts: Vec<Fact>, more: impl IntoIterator<Item = Fact>) -> Vec<Fact> {
    facts.extend(more);
    facts
}
