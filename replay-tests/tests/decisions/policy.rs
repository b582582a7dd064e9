//! Decisions about the live policy, tools allowed for good, further messages, and the wish that the
//! run end.

use placet_ledger::approval::Answer;
use placet_ledger::event::{RefusalKind, SegmentEnd, Settlement, StartRefusal};
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::run::{Command, Ended, Ending, Rejection, RunState, Step, next};
use placet_replay::facts::{
    Fact, approved, asked, began, call, called, cancel_requested, cleared, denied, in_doubt,
    last_word, model_failed, name, narrowed, not_begun, policy_changed, prompted, proposed,
    put_down, question, refused, replied_to, started, started_with, succeeded, taken_up,
    tool_allowed,
};
use placet_replay::scenario::given;

use super::{and, asks, begin, call_model, clears, driven, named};

fn change(policy: ApprovalPolicy) -> Command {
    Command::ChangePolicy(policy)
}

fn one(facts: impl IntoIterator<Item = Fact>) -> Vec<Fact> {
    and(named(&["set"]), [proposed(1)].into_iter().chain(facts))
}

/// A run in each state in which a person may say something about it.
fn everywhere() -> Vec<Vec<Fact>> {
    vec![
        vec![started()],
        driven(),
        and(driven(), [called()]),
        and(driven(), [called(), model_failed()]),
        named(&["set"]),
        one([]),
        one([asked(1)]),
        one([asked(1), approved(1)]),
        one([cleared(1)]),
        one([cleared(1), began(1)]),
        one([cleared(1), began(1), in_doubt(1)]),
        one([cleared(1), began(1), succeeded(1)]),
        one([asked(1), denied(1)]),
        and(named(&["ask_user"]), [proposed(1), question(1)]),
    ]
}

#[test]
fn the_policy_is_changed_at_any_time_and_once() {
    for facts in everywhere() {
        let changed = given(facts)
            .when(change(ApprovalPolicy::HighRisk))
            .then([policy_changed(ApprovalPolicy::HighRisk)]);
        changed
            .when(change(ApprovalPolicy::HighRisk))
            .then_nothing();
    }
    given([started()])
        .with(&["reason"])
        .when(change(ApprovalPolicy::ReadOnly))
        .then([policy_changed(ApprovalPolicy::ReadOnly).with(&["reason"])]);
    given([started()])
        .when(change(ApprovalPolicy::False))
        .then_nothing();
    given([started()])
        .with(&["note"])
        .when(change(ApprovalPolicy::ReadOnly))
        .then_rejected(&Rejection::Text(String::from("note")));
    given([started(), cancel_requested()])
        .when(change(ApprovalPolicy::ReadOnly))
        .then([policy_changed(ApprovalPolicy::ReadOnly)]);
}

#[test]
fn a_raise_answers_nothing_that_is_pending() {
    let story = given(one([asked(1)]));
    let before = story.state().map(|run| (run.pending(), run.set_code()));
    let raised = story
        .when(change(ApprovalPolicy::HighRisk))
        .then([policy_changed(ApprovalPolicy::HighRisk)]);
    let after = raised.state().map(|run| (run.pending(), run.set_code()));
    assert_eq!(before, after);
    assert_eq!(raised.state().map(next), Some(Step::Await(vec![call(1)])));
    let pending = Rejection::OutOfTurn("the call is not allowed, or was started");
    raised
        .gate_says(clears())
        .when(begin(1))
        .then_rejected(&pending);
}

#[test]
fn a_tightening_stops_what_the_policy_cleared_and_nothing_that_a_person_approved() {
    let tightened = || policy_changed(ApprovalPolicy::False);
    let high = || started_with(|body| body.policy = ApprovalPolicy::HighRisk);
    let queued = |facts: Vec<Fact>| {
        let rest = named(&["set"]).into_iter().skip(1).chain([proposed(1)]);
        and(and(vec![high()], rest), facts)
    };
    given(queued(vec![cleared(1), tightened()]))
        .gate_says(asks())
        .when(begin(1))
        .then([not_begun(1, StartRefusal::Policy), asked(1)]);
    given(queued(vec![asked(1), approved(1), tightened()]))
        .gate_says(asks())
        .when(begin(1))
        .then([began(1)]);
    // What has begun is left to come to its end.
    given(queued(vec![cleared(1), began(1), tightened()]))
        .when(Command::RecordOutcome(Ended {
            exit: None,
            call: call(1),
            ending: Ending::Succeeded,
            duration_ms: 0,
        }))
        .then([succeeded(1)]);
    // And what was provably not done asks before it is tried again.
    let not_done = placet_replay::facts::settled(1, Settlement::NotDone);
    given(queued(vec![cleared(1), began(1), tightened(), not_done]))
        .gate_says(asks())
        .when(begin(1))
        .then([not_begun(1, StartRefusal::Policy), asked(1)]);
}

#[test]
fn an_approval_for_good_allows_the_tool_from_there_on() {
    let two = || {
        and(
            named(&["set", "set"]),
            [proposed(1), asked(1), proposed(2), asked(2)],
        )
    };
    let always = Answer::ApproveAlways;
    given(two())
        .when_told([(1, always), (2, Answer::Deny)])
        .then([approved(1), denied(2), tool_allowed("set")]);
    given(two()).when_told([(1, always), (2, always)]).then([
        approved(1),
        approved(2),
        tool_allowed("set"),
    ]);
    // What is allowed already is not said again.
    given(and(two(), [tool_allowed("set")]))
        .when_told([(1, always), (2, Answer::Approve)])
        .then([approved(1), approved(2)]);
    let mixed = and(
        named(&["set", "act"]),
        [proposed(1), asked(1), proposed(2), asked(2)],
    );
    let told = given(mixed).when_told([(1, always), (2, always)]).then([
        approved(1),
        approved(2),
        tool_allowed("act"),
        tool_allowed("set"),
    ]);
    let list = told.state().map(|run| run.allowlist().clone()).unwrap();
    assert_eq!(list, [name("act"), name("set")].into());
    let gone = Rejection::OutOfTurn("the run no longer has the tool");
    given(and(two(), [narrowed(&["look"])]))
        .when_told([(1, always), (2, Answer::Approve)])
        .then_rejected(&gone);
    given(and(two(), [narrowed(&["look"])]))
        .when_told([(1, Answer::Approve), (2, Answer::Approve)])
        .then([approved(1), approved(2)]);
}

#[test]
fn no_approval_for_good_allows_every_command() {
    let two = || {
        and(
            named(&["execute_command", "set"]),
            [proposed(1), asked(1), proposed(2), asked(2)],
        )
    };
    let by_key = Rejection::OutOfTurn("a command is allowed by its key: placet grants add");
    given(two())
        .when_told([(1, Answer::ApproveAlways), (2, Answer::Deny)])
        .then_rejected(&by_key);
    given(two())
        .when_told([(1, Answer::Approve), (2, Answer::ApproveAlways)])
        .then([approved(1), approved(2), tool_allowed("set")]);
}

#[test]
fn a_message_is_added_where_no_call_is_open_and_opens_a_turn() {
    for facts in [
        vec![started()],
        driven(),
        and(driven(), [called(), put_down(SegmentEnd::Interrupted)]),
        and(driven(), [called(), model_failed()]),
        and(driven(), [called(), last_word()]),
        one([cleared(1), began(1), succeeded(1)]),
        one([asked(1), denied(1)]),
        one([refused(1, RefusalKind::Nobody)]),
        and(
            named(&["ask_user"]),
            [proposed(1), question(1), replied_to(1)],
        ),
    ] {
        let told = given(facts)
            .with(&["text"])
            .when(Command::Prompt)
            .then([prompted()]);
        let prepare = placet_ledger::run::Effect::Prepare { attempt: 1 };
        assert_eq!(told.state().map(next), Some(Step::Perform(prepare)));
    }
}

#[test]
fn no_message_is_added_while_calls_are_open_or_the_model_is_asked() {
    let open = || Rejection::CallsOpen(vec![call(1)]);
    for facts in [
        named(&["set"]),
        one([]),
        one([asked(1)]),
        one([cleared(1)]),
        one([asked(1), approved(1)]),
        one([cleared(1), began(1)]),
        one([cleared(1), began(1), in_doubt(1)]),
        and(named(&["ask_user"]), [proposed(1), question(1)]),
    ] {
        given(facts)
            .with(&["text"])
            .when(Command::Prompt)
            .then_rejected(&open());
    }
    let several = and(named(&["set", "set", "set"]), [proposed(1), cleared(1)]);
    given(several)
        .with(&["text"])
        .when(Command::Prompt)
        .then_rejected(&Rejection::CallsOpen(vec![call(1), call(2), call(3)]));
    let asked = Rejection::OutOfTurn("the model is being asked");
    given(and(driven(), [called()]))
        .with(&["text"])
        .when(Command::Prompt)
        .then_rejected(&asked);
    let ending = Rejection::OutOfTurn("the run is being cancelled");
    given(and(driven(), [cancel_requested()]))
        .with(&["text"])
        .when(Command::Prompt)
        .then_rejected(&ending);
    given(driven())
        .when(Command::Prompt)
        .then_rejected(&Rejection::Text(String::from("text")));
    given(driven())
        .with(&["text", "note"])
        .when(Command::Prompt)
        .then_rejected(&Rejection::Text(String::from("note")));
}

#[test]
fn denials_before_a_message_are_no_longer_counted_and_stay_denials() {
    let story = given(one([asked(1), denied(1)]));
    let lately = |run: &RunState| run.denied_lately().count();
    assert_eq!(story.state().map(lately), Some(1));
    let told = story.and(&prompted());
    assert_eq!(told.state().map(lately), Some(0));
    assert_eq!(told.state().map(|run| run.denied().count()), Some(1));
}

#[test]
fn a_run_is_cancelled_at_any_time_and_once() {
    for facts in everywhere() {
        let ending = given(facts)
            .when(Command::Cancel)
            .then([cancel_requested()]);
        ending.when(Command::Cancel).then_nothing();
    }
    given([started()])
        .with(&["note"])
        .when(Command::Cancel)
        .then([cancel_requested().with(&["note"])]);
}

#[test]
fn a_run_that_is_being_cancelled_begins_nothing_and_hears_what_had_begun() {
    let ending = Rejection::OutOfTurn("the run is being cancelled");
    for facts in [
        one([cleared(1), cancel_requested()]),
        one([asked(1), approved(1), cancel_requested()]),
    ] {
        given(facts)
            .gate_says(clears())
            .when(begin(1))
            .then_rejected(&ending);
    }
    let no_model = Rejection::OutOfTurn("the model is not to be called now");
    for facts in [
        and(driven(), [cancel_requested()]),
        one([cleared(1), began(1), succeeded(1), cancel_requested()]),
    ] {
        given(facts).when(call_model(0)).then_rejected(&no_model);
    }
    let ended = |ending| {
        Command::RecordOutcome(Ended {
            exit: None,
            call: call(1),
            ending,
            duration_ms: 0,
        })
    };
    let executing = || given(one([cleared(1), began(1), cancel_requested()]));
    executing()
        .when(ended(Ending::Succeeded))
        .then([succeeded(1)]);
    executing()
        .when(ended(Ending::Interrupted))
        .then([placet_replay::facts::interrupted(1)]);
    executing()
        .when(Command::RecordDoubt { call: call(1) })
        .then([in_doubt(1)]);
    // Somebody takes it up only to end it.
    let lost = and(driven(), [cancel_requested()]);
    given(lost)
        .when(super::take_up(2))
        .then([put_down(SegmentEnd::Lost), taken_up(2)]);
}
