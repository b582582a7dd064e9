//! What people say of one call beside approving or denying it: amended, taken back, replied to,
//! settled; each against every state that a call can be in.

use placet_ledger::answers::{AnswerSet, CoverageError};
use placet_ledger::approval::{Answer, CallAnswer};
use placet_ledger::digest::Digest;
use placet_ledger::event::{RefusalKind, SegmentEnd, Settlement};
use placet_ledger::id::AnswerId;
use placet_ledger::judge::Verdict;
use placet_ledger::run::{Command, Rejection, RunState};
use placet_replay::facts::{
    EXPIRY_MS, Fact, amended, approved, asked, began, call, cleared, denied, expired, failed,
    in_doubt, interrupted, narrowed, not_begun, parked, proposed, put_down, question, refused,
    replied_to, revoked, settled, settled_by_person, stale, succeeded,
};
use placet_replay::scenario::{Scenario, given};

use super::{amend, and, asks, begin, clears, gate, named};

const OTHER: Digest = Digest::from_bytes([9; 32]);

fn one(facts: impl IntoIterator<Item = Fact>) -> Vec<Fact> {
    and(named(&["set"]), [proposed(1)].into_iter().chain(facts))
}

fn asking(facts: impl IntoIterator<Item = Fact>) -> Vec<Fact> {
    let asked = [proposed(1), question(1)];
    and(named(&["ask_user"]), asked.into_iter().chain(facts))
}

fn revoke(number: u32) -> Command {
    Command::Revoke { call: call(number) }
}

/// A reply to what the call asks in this story.
fn reply(scenario: &Scenario) -> Command {
    let question = scenario
        .state()
        .and_then(|run| run.call(call(1))?.question());
    Command::Reply {
        call: call(1),
        request: question.map_or(OTHER, |asked| asked.digest),
    }
}

/// A person's word on the doubt of this story.
fn settle(scenario: &Scenario, verdict: Settlement) -> Command {
    let doubt = scenario.state().and_then(|run| run.call(call(1))?.doubt());
    Command::SettleDoubt {
        call: call(1),
        request: doubt.unwrap_or(OTHER),
        verdict,
    }
}

const fn out_of_turn(why: &'static str) -> Rejection {
    Rejection::OutOfTurn(why)
}

/// What each word comes to where the call has come so far; `None` is that it is recorded.
struct Row {
    so_far: &'static str,
    facts: Vec<Fact>,
    amend: Option<Rejection>,
    revoke: Option<Rejection>,
    reply: Option<Rejection>,
    settle: Option<Rejection>,
}

#[expect(clippy::too_many_lines, reason = "the whole table is written out")]
fn table() -> Vec<Row> {
    let never = || Some(Rejection::from(CoverageError::Unknown(call(1))));
    let answered = || Some(Rejection::AlreadyAnswered(vec![call(1)]));
    let not_approved = || Some(out_of_turn("nobody approved it"));
    let started = || Some(out_of_turn("its execution has started"));
    let over = || Some(out_of_turn("the call is over"));
    let no_question = || Some(out_of_turn("the call does not ask a question"));
    let no_doubt = || Some(out_of_turn("the call is not in doubt"));
    let row = |so_far, facts, amend, revoke| Row {
        so_far,
        facts,
        amend,
        revoke,
        reply: no_question(),
        settle: no_doubt(),
    };
    vec![
        row("named", named(&["set"]), never(), not_approved()),
        row("proposed", one([]), never(), not_approved()),
        row(
            "pending",
            one([asked(1)]),
            None,
            Some(out_of_turn("it is not approved yet: deny it instead")),
        ),
        Row {
            reply: None,
            ..row(
                "asks a question",
                asking([]),
                Some(out_of_turn(
                    "a question has no arguments to amend: reply to it",
                )),
                not_approved(),
            )
        },
        row(
            "granted by the policy",
            one([cleared(1)]),
            never(),
            Some(out_of_turn(
                "no person approved it: tighten the policy instead",
            )),
        ),
        row(
            "granted by a person",
            one([asked(1), approved(1)]),
            answered(),
            None,
        ),
        row(
            "granted again after an attempt that was not made",
            one([
                asked(1),
                approved(1),
                began(1),
                settled(1, Settlement::NotDone),
            ]),
            answered(),
            None,
        ),
        row("executing", one([cleared(1), began(1)]), never(), started()),
        row(
            "executing by a person's approval",
            one([asked(1), approved(1), began(1)]),
            answered(),
            started(),
        ),
        Row {
            settle: None,
            ..row(
                "in doubt",
                one([cleared(1), began(1), in_doubt(1)]),
                never(),
                started(),
            )
        },
        row(
            "succeeded",
            one([cleared(1), began(1), succeeded(1)]),
            never(),
            over(),
        ),
        row(
            "failed",
            one([cleared(1), began(1), failed(1)]),
            never(),
            over(),
        ),
        row(
            "stale",
            one([asked(1), approved(1), began(1), stale(1)]),
            answered(),
            over(),
        ),
        row(
            "interrupted",
            one([cleared(1), began(1), interrupted(1)]),
            never(),
            over(),
        ),
        row("denied", one([asked(1), denied(1)]), answered(), over()),
        row(
            "refused",
            one([refused(1, RefusalKind::RepeatOf)]),
            never(),
            over(),
        ),
        row("expired", one([asked(1), expired(1)]), never(), over()),
        Row {
            reply: Some(Rejection::Expired(call(1))),
            ..row(
                "a question that expired",
                asking([expired(1)]),
                never(),
                over(),
            )
        },
        Row {
            reply: answered(),
            ..row(
                "a question that was answered",
                asking([replied_to(1)]),
                never(),
                over(),
            )
        },
        row(
            "taken back",
            one([asked(1), approved(1), revoked(1)]),
            answered(),
            over(),
        ),
        row(
            "superseded",
            one([asked(1), amended(2, 1), asked(2)]),
            Some(Rejection::Superseded {
                call: call(1),
                by: call(2),
            }),
            over(),
        ),
        row(
            "settled by its tool",
            one([cleared(1), began(1), settled(1, Settlement::Done)]),
            never(),
            over(),
        ),
        Row {
            settle: answered(),
            ..row(
                "settled by a person",
                one([
                    cleared(1),
                    began(1),
                    in_doubt(1),
                    settled_by_person(1, Settlement::NotDone),
                ]),
                never(),
                over(),
            )
        },
    ]
}

#[track_caller]
fn check(so_far: &str, scenario: Scenario, command: Command, expected: Option<&Rejection>) {
    let told = format!("{so_far}: {command:?}");
    let then = scenario.when(command);
    assert_eq!(then.is_rejected(), expected.is_some(), "{told}");
    if let Some(why) = expected {
        then.then_rejected(why);
    }
}

#[test]
fn each_word_is_for_calls_that_have_come_just_so_far() {
    let table = table();
    for row in &table {
        let accepted = [&row.amend, &row.revoke, &row.reply, &row.settle];
        let accepted = accepted.iter().filter(|why| why.is_none()).count();
        assert!(accepted <= 1, "{}: no call takes two words", row.so_far);
    }
    for Row {
        so_far,
        facts,
        amend: amends,
        revoke: revokes,
        reply: replies,
        settle: settles,
    } in table
    {
        let story = given(facts);
        let tool = story.state().and_then(|run| run.call(call(1))?.tool());
        let amend = amend(1, tool.unwrap().as_str());
        let (reply, settle) = (reply(&story), settle(&story, Settlement::Done));
        let with_arguments = story.clone().with(&["arguments"]);
        check(so_far, with_arguments, amend, amends.as_ref());
        check(so_far, story.clone(), revoke(1), revokes.as_ref());
        check(
            so_far,
            story.clone().with(&["text"]),
            reply,
            replies.as_ref(),
        );
        check(so_far, story, settle, settles.as_ref());
    }
}

#[test]
fn an_amendment_is_a_proposal_in_the_place_of_the_pending_call() {
    let story = given(one([asked(1), put_down(SegmentEnd::Parked), parked(&[1])]))
        .with(&["arguments", "message", "preview", "precondition"])
        .when(amend(1, "set"))
        .then([amended(2, 1).with(&["message", "preview", "precondition"])]);
    let run = story.state().unwrap();
    assert_eq!(run.call(call(1)).unwrap().superseded_by(), Some(call(2)));
    assert_eq!(run.call(call(2)).unwrap().named(), call(1));
    let batch: Vec<_> = run.batch().map(placet_ledger::run::Call::id).collect();
    assert_eq!(batch, [call(2)], "one result for one id of the provider");
    assert!(run.pending().is_empty(), "until the gate has spoken");
}

#[test]
fn an_amendment_is_gated_as_any_call_although_nobody_drives() {
    let story = || {
        given(one([
            asked(1),
            put_down(SegmentEnd::Parked),
            parked(&[1]),
            amended(2, 1),
        ]))
    };
    story().gate_says(asks()).when(gate(2)).then([asked(2)]);
    story().gate_says(clears()).when(gate(2)).then([cleared(2)]);
    story()
        .gate_says(Verdict::Decline {
            kind: RefusalKind::RepeatOf,
            of: None,
            rule: None,
        })
        .when(gate(2))
        .then([refused(2, RefusalKind::RepeatOf)]);
    let unasked = Rejection::OutOfTurn("the gate was not asked");
    story().when(gate(2)).then_rejected(&unasked);
    let gated = Rejection::OutOfTurn("the call does not wait for a verdict");
    story()
        .and(&asked(2))
        .gate_says(asks())
        .when(gate(2))
        .then_rejected(&gated);
}

#[test]
fn an_amendment_keeps_its_tool_which_the_run_must_still_have() {
    let other = Rejection::OutOfTurn("an amendment keeps the tool of its call");
    given(one([asked(1)]))
        .with(&["arguments"])
        .when(amend(1, "act"))
        .then_rejected(&other);
    let gone = Rejection::OutOfTurn("the run no longer has the tool");
    given(one([asked(1), narrowed(&["look"])]))
        .with(&["arguments"])
        .when(amend(1, "set"))
        .then_rejected(&gone);
}

#[test]
fn an_amendment_takes_its_place_in_the_models_order() {
    let facts = || {
        and(
            named(&["set", "act"]),
            [
                proposed(1),
                asked(1),
                proposed(2),
                asked(2),
                amended(3, 1),
                asked(3),
                approved(2),
                approved(3),
            ],
        )
    };
    let first = Rejection::OutOfTurn("another call of the reply comes first");
    given(facts())
        .gate_says(asks())
        .when(begin(2))
        .then_rejected(&first);
    given(facts())
        .gate_says(asks())
        .when(begin(3))
        .then([began(3)]);
}

#[test]
fn an_answer_to_what_was_amended_says_what_stands_in_its_place() {
    let two = |more: Vec<Fact>| {
        let asked = [proposed(1), asked(1), proposed(2), asked(2)];
        and(and(named(&["set", "act"]), asked), more)
    };
    let pending = given(two(Vec::new())).state().unwrap().pending();
    let line = |(&call, &request): (&_, &_)| CallAnswer {
        call,
        request,
        answer: Answer::Approve,
        note: None,
    };
    // Another set than that of the story, in which the rest was answered meanwhile.
    let id = AnswerId::new(uuid::Uuid::from_u128(0xb));
    let old = AnswerSet::covering(id, &pending, pending.iter().map(line)).unwrap();
    for facts in [
        two(vec![amended(3, 1), asked(3)]),
        two(vec![amended(3, 1), cleared(3)]),
        two(vec![amended(3, 1), asked(3), approved(2), denied(3)]),
    ] {
        given(facts)
            .when(Command::Answer(old.clone()))
            .then_rejected(&Rejection::Superseded {
                call: call(1),
                by: call(3),
            });
    }
}

#[test]
fn an_approval_that_is_taken_back_is_a_denial_and_starts_nothing() {
    let approved_one = || one([asked(1), approved(1)]);
    given(approved_one()).when(revoke(1)).then([revoked(1)]);
    let story = given(approved_one())
        .with(&["note"])
        .when(revoke(1))
        .then([revoked(1).with(&["note"])]);
    let denied: Vec<_> = story.state().unwrap().denied().collect();
    assert_eq!(denied.len(), 1);
    let closed = Rejection::OutOfTurn("the call is not allowed, or was started");
    story
        .gate_says(clears())
        .when(begin(1))
        .then_rejected(&closed);
}

#[test]
fn words_count_until_their_time_is_over() {
    let late = Rejection::Expired(call(1));
    let pending = || given(one([asked(1)])).with(&["arguments"]);
    pending()
        .later(EXPIRY_MS - 1)
        .when(amend(1, "set"))
        .then([amended(2, 1)]);
    pending()
        .later(EXPIRY_MS)
        .when(amend(1, "set"))
        .then_rejected(&late);
    let asking = || given(asking([])).with(&["text"]);
    asking()
        .later(EXPIRY_MS - 1)
        .when(reply(&asking()))
        .then([replied_to(1)]);
    asking()
        .later(EXPIRY_MS)
        .when(reply(&asking()))
        .then_rejected(&late);
    // What was approved may be taken back and what is in doubt settled for as long as it is so.
    given(one([asked(1), approved(1)]))
        .later(EXPIRY_MS)
        .when(revoke(1))
        .then([revoked(1)]);
    let doubt = given(one([cleared(1), began(1), in_doubt(1)]));
    doubt
        .clone()
        .later(EXPIRY_MS)
        .when(settle(&doubt, Settlement::Done))
        .then([settled_by_person(1, Settlement::Done)]);
}

#[test]
fn a_reply_is_to_the_question_that_was_displayed_and_approves_nothing() {
    let story = given(and(
        asking([]).into_iter().take(2).collect(),
        named(&["ask_user", "set"]).into_iter().skip(2),
    ))
    .and(&proposed(1))
    .and(&question(1))
    .and(&proposed(2))
    .and(&asked(2));
    let displayed = reply(&story);
    let now = story.state().unwrap().call(call(1)).unwrap().question();
    let other = Command::Reply {
        call: call(1),
        request: OTHER,
    };
    story
        .clone()
        .with(&["text"])
        .when(other)
        .then_rejected(&Rejection::Coverage(CoverageError::Changed {
            call: call(1),
            displayed: OTHER,
            pending: now.unwrap().digest,
        }));
    let before = story.state().unwrap().pending();
    assert_eq!(before.len(), 1, "a question is no approval");
    let told = story.with(&["text"]).when(displayed).then([replied_to(1)]);
    assert_eq!(told.state().map(RunState::pending), Some(before));
}

#[test]
fn a_doubt_is_settled_once_and_leads_to_no_other_attempt() {
    for verdict in [Settlement::Done, Settlement::NotDone] {
        let story = given(one([cleared(1), began(1), in_doubt(1)]));
        let (word, now) = (settle(&story, verdict), story.state().unwrap());
        let pending = now.call(call(1)).unwrap().doubt().unwrap();
        let other = Command::SettleDoubt {
            call: call(1),
            request: OTHER,
            verdict,
        };
        story
            .clone()
            .when(other)
            .then_rejected(&Rejection::Coverage(CoverageError::Changed {
                call: call(1),
                displayed: OTHER,
                pending,
            }));
        let told = story
            .with(&["note"])
            .when(word)
            .then([settled_by_person(1, verdict).with(&["note"])]);
        let closed = Rejection::OutOfTurn("the call is not allowed, or was started");
        told.gate_says(clears())
            .when(begin(1))
            .then_rejected(&closed);
    }
}

#[test]
fn each_word_has_exactly_its_texts() {
    let text = |name: &str| Rejection::Text(name.to_owned());
    let pending = || given(one([asked(1)]));
    let asking = || given(asking([]));
    let doubt = || given(one([cleared(1), began(1), in_doubt(1)]));
    let granted = || given(one([asked(1), approved(1)]));
    for (story, command, missing) in [
        (pending(), amend(1, "set"), "arguments"),
        (asking(), reply(&asking()), "text"),
    ] {
        story.when(command).then_rejected(&text(missing));
    }
    for (story, command) in [
        (pending().with(&["arguments"]), amend(1, "set")),
        (asking().with(&["text"]), reply(&asking())),
        (doubt(), settle(&doubt(), Settlement::Done)),
        (granted(), revoke(1)),
    ] {
        story
            .with(&["secret"])
            .when(command)
            .then_rejected(&text("secret"));
    }
}

#[test]
fn a_call_whose_grant_was_void_waits_for_its_new_verdict_alone() {
    use placet_ledger::event::StartRefusal;

    let story = given(one([cleared(1), not_begun(1, StartRefusal::Policy)]));
    let unapproved = Rejection::OutOfTurn("nobody approved it");
    story.clone().when(revoke(1)).then_rejected(&unapproved);
    story.gate_says(asks()).when(gate(1)).then([asked(1)]);
}
