//! Plays in which people say more than yes or no, each word at a point that the folded run tells.

use placet_engine::model::ReplyCall;
use placet_ledger::event::Settlement;
use placet_ledger::id::CallId;
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::run::{Call, Phase, RunState, Turn};
use placet_ledger::time::Timestamp;
use serde_json::json;

use super::{Play, Word, play, set};
use crate::facts;
use crate::people::Impatient;
use crate::script::{Script, call};
use crate::tools::{Behaviour, Tools};

/// The call with this number, where it has come so far.
fn at(run: &RunState, number: u32, phase: Phase) -> Option<CallId> {
    let found = run.call(facts::call(number))?;
    (found.phase() == phase).then_some(found.id())
}

fn begun(run: &RunState, number: u32) -> bool {
    let found = run.call(facts::call(number));
    found.is_some_and(|call| call.attempts() > 0)
}

fn two() -> Script {
    let calls = [set("a", "1"), set("b", "2")];
    Script::new().calls(calls).says("Done.")
}

fn first_dies_after(tools: &Tools) {
    tools.behave(CallId::FIRST, Behaviour::VanishesAfter);
}

fn amends(run: &RunState, _: Timestamp) -> Option<Word> {
    let pending = at(run, 1, Phase::Pending)?;
    Some(Word::Amend(pending, json!({"key": "a", "value": "9"})))
}

fn takes_back(run: &RunState, _: Timestamp) -> Option<Word> {
    let granted = at(run, 1, Phase::Granted)?;
    Some(Word::Revoke(granted))
}

fn replies(run: &RunState, _: Timestamp) -> Option<Word> {
    Some(Word::Reply(at(run, 1, Phase::Asked)?))
}

/// A doubt is settled, and then there is something to add.
fn settles(run: &RunState, _: Timestamp) -> Option<Word> {
    if let Some(doubt) = at(run, 1, Phase::InDoubt) {
        return Some(Word::Settle(doubt, Settlement::NotDone));
    }
    let over = run.batch().next().is_some() && run.batch().all(Call::is_closed);
    let idle = over && run.segment().is_none() && run.later().is_empty();
    idle.then_some(Word::Prompt)
}

fn cancels_an_execution(run: &RunState, _: Timestamp) -> Option<Word> {
    (begun(run, 1) && !run.is_cancelling()).then_some(Word::Cancel)
}

fn cancels_a_thought(run: &RunState, _: Timestamp) -> Option<Word> {
    let thinks = matches!(run.turn(), Turn::Called { .. });
    (thinks && !run.is_cancelling()).then_some(Word::Cancel)
}

fn raises(run: &RunState, _: Timestamp) -> Option<Word> {
    let asked = run.policy() == ApprovalPolicy::False && at(run, 1, Phase::Pending).is_some();
    asked.then_some(Word::Policy(ApprovalPolicy::HighRisk))
}

fn tightens(run: &RunState, _: Timestamp) -> Option<Word> {
    let queued = begun(run, 1) && at(run, 2, Phase::Granted).is_some();
    let cleared = run.policy() == ApprovalPolicy::HighRisk && queued;
    cleared.then_some(Word::Policy(ApprovalPolicy::False))
}

fn lets_the_first_expire(run: &RunState, now: Timestamp) -> Option<Word> {
    let pending = at(run, 1, Phase::Pending)?;
    let due = run.call(pending)?.expires_at()?;
    (run.segment().is_none() && now < due).then_some(Word::Wait(due))
}

fn lets_a_grant_expire(run: &RunState, now: Timestamp) -> Option<Word> {
    let granted = at(run, 1, Phase::Granted)?;
    let due = run.call(granted)?.grant()?.expires_at?;
    (now < due).then_some(Word::Wait(due))
}

fn asking() -> Script {
    let ask = call("ask_user", &json!({"question": "Which?"}));
    Script::new().calls([ask, set("a", "1")]).says("Done.")
}

fn act() -> ReplyCall {
    call("act", &json!({"what": "it"}))
}

/// Every play of this kind.
pub fn spoken() -> Vec<Play> {
    let mut plays = about_calls();
    plays.extend(about_the_run());
    plays.extend(about_time());
    plays
}

fn about_calls() -> Vec<Play> {
    vec![
        Play {
            says: amends,
            ..play("an amendment that is approved", two)
        },
        Play {
            says: amends,
            denied: &[3],
            ..play("an amendment that is denied", two)
        },
        Play {
            says: takes_back,
            ..play("an approval that is taken back", two)
        },
        Play {
            says: replies,
            ..play("a question", asking)
        },
        Play {
            policy: ApprovalPolicy::HighRisk,
            prepare: first_dies_after,
            says: settles,
            ..play("a doubt that is settled, and a message", || {
                Script::new().calls([act(), set("a", "1")]).says("Done.")
            })
        },
        Play {
            always: &[1],
            ..play("a tool that is allowed for good", || {
                let first = [act(), set("a", "1")];
                Script::new().calls(first).calls([act()]).says("Done.")
            })
        },
    ]
}

fn about_the_run() -> Vec<Play> {
    vec![
        Play {
            policy: ApprovalPolicy::HighRisk,
            prepare: first_dies_after,
            says: cancels_an_execution,
            loose: &[1],
            ..play("an end in an execution", two)
        },
        Play {
            says: cancels_a_thought,
            ..play("an end while the model thinks", || {
                Script::new().vanishes().says("Never said.")
            })
        },
        Play {
            says: raises,
            ..play("a raise while a call waits", super::two_turns)
        },
        Play {
            policy: ApprovalPolicy::HighRisk,
            prepare: first_dies_after,
            says: tightens,
            ..play("a tightening with a queued call", two)
        },
    ]
}

fn about_time() -> Vec<Play> {
    let shortly = Impatient {
        tool: "set",
        expires_ms: 1_000,
    };
    vec![
        Play {
            judge: Some(shortly),
            slow: true,
            says: lets_the_first_expire,
            ..play("a call that nobody answers in the time of its row", || {
                Script::new().calls([set("a", "1"), act()]).says("Done.")
            })
        },
        Play {
            slow: true,
            says: lets_the_first_expire,
            ..play("a run that nobody answers in time", two)
        },
        Play {
            slow: true,
            says: lets_a_grant_expire,
            ..play("approvals that are not begun in time", two)
        },
    ]
}
