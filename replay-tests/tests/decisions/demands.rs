//! Decisions about calls that demand more than one approval by anyone: which answers count, and
//! what is recorded.

use placet_ledger::approval::{Answer, Assurance, Demands, Miss, Unmet};
use placet_ledger::event::{ApprovalGranted, Event, StartRefusal};
use placet_ledger::judge::Verdict;
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::run::Rejection;
use placet_replay::facts::{
    Fact, amended, approved, asked, asked_for, began, call, cleared, denied, name, not_begun,
    proposed, tool_allowed,
};
use placet_replay::scenario::{Scenario, given};
use serde_json::json;

use super::{and, asks, begin, gate, named};

/// The person of every story, who starts its run and amends its calls.
const STARTER: &str = "uid:1000";

const OTHER: &str = "uid:2000";

const ALICE: &str = "alice@example.org";

fn demands(change: impl Fn(&mut Demands)) -> Demands {
    let mut demands = Demands::default();
    change(&mut demands);
    demands
}

fn several(quorum: u32) -> Demands {
    demands(|one| one.quorum = quorum)
}

fn from(names: &[&str]) -> Demands {
    demands(|one| one.from = Some(names.iter().map(|text| name(text)).collect()))
}

fn at_least(assurance: Assurance) -> Demands {
    demands(|one| one.assurance = assurance)
}

fn not_starter() -> Demands {
    demands(|one| one.not_starter = true)
}

fn not_amender() -> Demands {
    demands(|one| one.not_amender = true)
}

/// All that a rule can demand at once.
fn everything() -> Demands {
    Demands {
        quorum: 2,
        assurance: Assurance::Signed,
        not_amender: true,
        not_starter: true,
        ..from(&[ALICE, "bob@example.org"])
    }
}

/// A call that waits for such approvals.
fn pending(demands: &Demands) -> Vec<Fact> {
    and(
        named(&["set"]),
        [proposed(1), asked_for(1, demands.clone())],
    )
}

/// A call that was amended, and waits for such approvals.
fn pending_amended(demands: &Demands) -> Vec<Fact> {
    and(
        pending(&Demands::default()),
        [amended(2, 1), asked_for(2, demands.clone())],
    )
}

/// One of these stories before it is answered, and the call that waits in it.
type Story = (fn(&Demands) -> Vec<Fact>, u32);

const PLAIN: Story = (pending, 1);
const AMENDED: Story = (pending_amended, 2);

/// A story, what its call demands, who approves, and what that misses.
fn table() -> Vec<(Story, Demands, &'static str, Assurance, Option<Miss>)> {
    use Assurance::{Passkey, SameUser, Signed, SignedTouch, Token};
    vec![
        (PLAIN, Demands::default(), STARTER, SameUser, None),
        (PLAIN, several(2), STARTER, SameUser, Some(Miss::Several)),
        (PLAIN, several(2), ALICE, SignedTouch, Some(Miss::Several)),
        (PLAIN, from(&[STARTER]), STARTER, SameUser, None),
        (PLAIN, from(&[OTHER, STARTER]), STARTER, SameUser, None),
        (PLAIN, from(&[OTHER]), STARTER, SameUser, Some(Miss::From)),
        (PLAIN, from(&[ALICE]), STARTER, SameUser, Some(Miss::From)),
        (PLAIN, from(&[ALICE]), ALICE, Token, None),
        (PLAIN, from(&[]), ALICE, SignedTouch, Some(Miss::Nobody)),
        (
            PLAIN,
            at_least(Token),
            STARTER,
            SameUser,
            Some(Miss::Assurance),
        ),
        (PLAIN, at_least(Token), ALICE, Token, None),
        (
            PLAIN,
            at_least(Signed),
            STARTER,
            SameUser,
            Some(Miss::Assurance),
        ),
        (
            PLAIN,
            at_least(Signed),
            ALICE,
            Passkey,
            Some(Miss::Assurance),
        ),
        (PLAIN, at_least(Signed), ALICE, SignedTouch, None),
        (
            PLAIN,
            at_least(SignedTouch),
            ALICE,
            Signed,
            Some(Miss::Assurance),
        ),
        (PLAIN, not_starter(), STARTER, SameUser, Some(Miss::Starter)),
        (
            PLAIN,
            not_starter(),
            STARTER,
            SignedTouch,
            Some(Miss::Starter),
        ),
        (PLAIN, not_starter(), OTHER, SameUser, None),
        (AMENDED, not_starter(), OTHER, SameUser, None),
        // Nobody amended the call.
        (PLAIN, not_amender(), STARTER, SameUser, None),
        (
            AMENDED,
            not_amender(),
            STARTER,
            SameUser,
            Some(Miss::Amender),
        ),
        (AMENDED, not_amender(), OTHER, SameUser, None),
        (AMENDED, Demands::default(), STARTER, SameUser, None),
        (PLAIN, everything(), STARTER, SameUser, Some(Miss::Several)),
    ]
}

#[test]
fn an_approval_is_recorded_only_where_it_is_all_that_is_demanded() {
    for ((story, number), demands, who, assurance, miss) in table() {
        for answer in [Answer::Approve, Answer::ApproveAlways] {
            let then = given(story(&demands))
                .from_person(who, assurance)
                .when_told([(number, answer)]);
            match miss {
                Some(miss) => then.then_rejected(&Rejection::Unmet {
                    call: call(number),
                    unmet: Box::new(Unmet {
                        demands: demands.clone(),
                        by: name(who),
                        assurance,
                        miss,
                    }),
                }),
                None if answer == Answer::Approve => {
                    then.then([by(approved(number), who, assurance)]);
                }
                None => {
                    then.then([
                        by(approved(number), who, assurance),
                        by(tool_allowed("set"), who, assurance),
                    ]);
                }
            }
        }
        // A denial is held to nothing.
        given(story(&demands))
            .from_person(who, assurance)
            .when_answered(&[(number, false)])
            .then([by(denied(number), who, assurance)]);
    }
}

/// The same fact by another person.
fn by(fact: Fact, who: &'static str, assurance: Assurance) -> Fact {
    fact.but(move |event| {
        let by = match event {
            Event::ApprovalGranted(ApprovalGranted::ByPerson(grant)) => &mut grant.by,
            Event::ApprovalDenied(denial) => &mut denial.by,
            Event::ToolAllowed(allowed) => &mut allowed.by,
            other => panic!("{} is by nobody", other.name()),
        };
        let placet_ledger::approval::By::Person {
            assurance: known,
            principal,
            ..
        } = by
        else {
            panic!("by no person");
        };
        *known = assurance;
        *principal = name(who);
    })
}

#[test]
fn one_approval_that_does_not_count_turns_the_whole_set_down() {
    let two = || {
        and(
            named(&["set", "act"]),
            [
                proposed(1),
                asked(1),
                proposed(2),
                asked_for(2, at_least(Assurance::Signed)),
            ],
        )
    };
    let unmet = Rejection::Unmet {
        call: call(2),
        unmet: Box::new(Unmet {
            demands: at_least(Assurance::Signed),
            by: name(STARTER),
            assurance: Assurance::SameUser,
            miss: Miss::Assurance,
        }),
    };
    for first in [true, false] {
        given(two())
            .when_answered(&[(1, first), (2, true)])
            .then_rejected(&unmet);
    }
    given(two())
        .when_answered(&[(1, true), (2, false)])
        .then([approved(1), denied(2)]);
    assert_eq!(
        unmet.to_string(),
        "c2 needs 1 approval, signed; an approval by uid:1000 (same-user) does not count, since \
         it is not sure enough who gave it; it can be denied"
    );
}

fn demanding(demands: Demands) -> Verdict {
    Verdict::Ask {
        rule: name("policy:false"),
        demands,
        tier: DeclaredRisk::HighRisk,
        expires_ms: None,
    }
}

fn gated(story: Vec<Fact>, number: u32, demands: &Demands) -> Scenario {
    given(story)
        .gate_says(demanding(demands.clone()))
        .when(gate(number))
        .then([asked_for(number, demands.clone())])
}

#[test]
fn what_is_demanded_is_recorded_and_folded() {
    let demands = everything();
    let story = gated(and(named(&["set"]), [proposed(1)]), 1, &demands);
    let found = story.state().unwrap().call(call(1)).unwrap();
    assert_eq!(found.requested().unwrap().demands, demands);
    let body = story.records().last().unwrap().event().body().unwrap();
    let of = |field: &str| body.get(field).cloned();
    assert_eq!(of("quorum"), Some(json!(2)));
    assert_eq!(of("assurance"), Some(json!("signed")));
    assert_eq!(of("from"), Some(json!([ALICE, "bob@example.org"])));
    assert_eq!(of("not_amender"), Some(json!(true)));
    assert_eq!(of("not_starter"), Some(json!(true)));
    // What is no demand leaves no trace; that nobody may approve does.
    let story = gated(and(named(&["set"]), [proposed(1)]), 1, &Demands::default());
    let body = story.records().last().unwrap().event().body().unwrap();
    for field in ["assurance", "from", "not_amender", "not_starter"] {
        assert_eq!(body.get(field), None, "{field}");
    }
    let story = gated(and(named(&["set"]), [proposed(1)]), 1, &from(&[]));
    let body = story.records().last().unwrap().event().body().unwrap();
    assert_eq!(body.get("from"), Some(&json!([])));
    assert_eq!(story.folded().as_ref(), story.state());
}

#[test]
fn an_amended_call_has_the_demands_of_its_own_verdict() {
    let amended = |demands: &Demands| and(pending(demands), [amended(2, 1)]);
    // The old demands fall with the old call, and new ones come with the new one.
    let story = gated(amended(&everything()), 2, &Demands::default());
    story.when_answered(&[(2, true)]).then([approved(2)]);
    let story = gated(amended(&Demands::default()), 2, &several(2));
    assert!(story.when_answered(&[(2, true)]).is_rejected());
}

#[test]
fn a_grant_is_held_to_what_was_recorded_and_a_new_verdict_to_its_own() {
    // A person's grant met what was demanded when it was asked for.
    given(and(pending(&not_amender()), [approved(1)]))
        .gate_says(demanding(several(2)))
        .when(begin(1))
        .then([began(1)]);
    // An automatic one falls, and people are asked for all that is demanded now.
    given(and(named(&["set"]), [proposed(1), cleared(1)]))
        .gate_says(demanding(several(2)))
        .when(begin(1))
        .then([not_begun(1, StartRefusal::Policy), asked_for(1, several(2))]);
    given(and(named(&["set"]), [proposed(1), cleared(1)]))
        .gate_says(asks())
        .when(begin(1))
        .then([not_begun(1, StartRefusal::Policy), asked(1)]);
}
