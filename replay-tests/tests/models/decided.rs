//! Which calls of a model are decided on when, and what came of them.

use placet_ledger::budget::{Limits, Spend, Tokens, Usd};
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::event::{ModelFailure, RiskSource, SegmentEnd};
use placet_ledger::id::CallId;
use placet_ledger::risk::RiskTier;
use placet_ledger::run::{Assessment, Command, Effect, Rejection, RunState, Step, next};
use placet_replay::facts::{
    Fact, RESERVED, call, called, context, name, proposed, put_down, refused, replied, started,
    started_with, taken_up,
};
use placet_replay::scenario::given;

fn spend(tokens: u64) -> Spend {
    Spend {
        cost_usd: Usd::ZERO,
        tokens: Tokens::new(tokens, 0),
    }
}

fn judge(number: u32) -> Command {
    Command::CallJudge {
        call: call(number),
        model: name("judge"),
        context: digest(Purpose::Inputs, b"i"),
        reserved: RESERVED,
        active_ms: 0,
    }
}

fn verdict(proposal: Digest, source: RiskSource, used: Option<Spend>) -> Command {
    Command::Assess(Assessment {
        call: CallId::FIRST,
        demand: None,
        inputs: digest(Purpose::Inputs, b"i"),
        model: Some(name("judge")),
        prompt: Some(1),
        proposal,
        source,
        tier: RiskTier::LowRisk,
        used,
    })
}

fn model(compact: bool) -> Command {
    Command::CallModel {
        compact,
        context: context(),
        reserved: RESERVED,
        active_ms: 0,
    }
}

fn summary(replies: usize) -> Command {
    Command::RecordSummary {
        replies,
        used: spend(7),
    }
}

/// A run with one proposed call.
fn one_proposed() -> Vec<Fact> {
    vec![
        started(),
        taken_up(1),
        called(),
        replied(&["set"]),
        proposed(1),
    ]
}

/// A run whose one call was turned down.
fn one_over() -> Vec<Fact> {
    use placet_ledger::event::RefusalKind::UnknownTool;
    vec![
        started(),
        taken_up(1),
        called(),
        replied(&["?"]),
        refused(1, UnknownTool),
    ]
}

fn proposal_of(state: &RunState) -> Digest {
    state
        .call(CallId::FIRST)
        .unwrap()
        .proposed()
        .unwrap()
        .digest
}

#[test]
fn a_verdict_of_a_model_needs_that_it_was_asked_and_pays_for_it() {
    let before = given(one_proposed());
    let proposal = proposal_of(before.state().unwrap());
    let not = Rejection::OutOfTurn("a verdict of somebody else is due");
    given(one_proposed())
        .when(verdict(proposal, RiskSource::Model, None))
        .then_rejected(&not);
    for (used, tokens) in [(Some(spend(9)), 24), (None, 215)] {
        let asked = given(one_proposed())
            .when(judge(1))
            .then_named(&["model.called"]);
        assert_eq!(asked.state().unwrap().usage().tokens, 215);
        // Nobody else's word comes in between, and no second model is asked.
        let told = asked.when(verdict(proposal, RiskSource::Model, used));
        let told = told.then_named(&["risk.assessed"]);
        let state = told.state().unwrap();
        assert_eq!(state.usage().tokens, tokens);
        assert_eq!(state.usage().iterations, 1);
        assert!(!state.is_asking());
    }
    let asked = || {
        given(one_proposed())
            .when(judge(1))
            .then_named(&["model.called"])
    };
    asked()
        .when(verdict(proposal, RiskSource::Floor, None))
        .then_rejected(&not);
    let waits = Rejection::OutOfTurn("the call does not wait for a verdict");
    asked().when(judge(1)).then_rejected(&waits);
    asked()
        .when(Command::Gate { call: call(1) })
        .then_rejected(&Rejection::OutOfTurn("a model is being asked about it"));
}

#[test]
fn a_judgement_that_was_lost_is_asked_for_again_and_stays_paid() {
    let lost = given(one_proposed())
        .when(judge(1))
        .then_named(&["model.called"])
        .and(&put_down(SegmentEnd::Lost))
        .and(&taken_up(2));
    let again = lost.when(judge(1)).then_named(&["model.called"]);
    let state = again.state().unwrap();
    assert_eq!(state.aside().unwrap().attempt, 2);
    assert_eq!(state.usage().tokens, 415);
}

#[test]
fn a_judgement_that_no_cap_has_room_for_is_not_asked_for() {
    let limits = Limits {
        tokens: Some(214),
        ..Limits::default()
    };
    let mut facts = one_proposed();
    facts[0] = started_with(move |body| body.limits = limits);
    given(facts)
        .when(judge(1))
        .then_rejected(&Rejection::OutOfTurn("no cap has room for a judgement"));
}

#[test]
fn a_summary_is_due_only_where_one_was_asked_for_and_covers_more_than_the_last() {
    let none = Rejection::OutOfTurn("no summary is due");
    given(one_over()).when(summary(1)).then_rejected(&none);
    let asked = || {
        given(one_over())
            .when(model(true))
            .then_named(&["model.called"])
    };
    assert_eq!(
        next(asked().state().unwrap()),
        Step::Perform(Effect::Compact { attempt: 1 })
    );
    let busy = Rejection::OutOfTurn("the model is being asked");
    asked()
        .with(&["text"])
        .when(Command::Prompt)
        .then_rejected(&busy);
    let nothing = Rejection::OutOfTurn("nothing more is made shorter");
    for replies in [0, 2] {
        asked()
            .with(&["summary"])
            .when(summary(replies))
            .then_rejected(&nothing);
    }
    let made = asked()
        .with(&["summary"])
        .when(summary(1))
        .then_named(&["context.compacted"]);
    let state = made.state().unwrap();
    assert_eq!(state.compacted().unwrap().replies, 1);
    assert_eq!(state.usage().tokens, 15 + 7);
    assert_eq!(next(state), Step::Perform(Effect::Prepare { attempt: 1 }));
    made.when(model(true))
        .then_named(&["model.called"])
        .with(&["summary"])
        .when(summary(1))
        .then_rejected(&nothing);
}

#[test]
fn no_summary_is_asked_for_while_a_call_is_open() {
    let not = Rejection::OutOfTurn("the model is not to be called now");
    given(one_proposed()).when(model(true)).then_rejected(&not);
}

#[test]
fn a_failure_after_which_the_same_is_asked_again_says_when() {
    let failed = |retry_ms| Command::RecordModelFailure {
        kind: ModelFailure::Network,
        used: Some(spend(0)),
        retry_ms,
    };
    let again = given([started(), taken_up(1), called()])
        .when(failed(Some(1_500)))
        .then_named(&["model.failed"]);
    let step = Step::Perform(Effect::Prepare { attempt: 2 });
    assert_eq!(next(again.state().unwrap()), step);
    let again = again.when(model(false)).then_named(&["model.called"]);
    assert_eq!(again.state().unwrap().usage().tokens, 200);
    assert_eq!(again.state().unwrap().usage().iterations, 2);
}
