//! Logs that no owner could have written do not fold: each rule of the fold, broken once.

use std::collections::BTreeSet;

use placet_ledger::approval::{Assurance, By, Demands};
use placet_ledger::budget::Limits;
use placet_ledger::digest::Digest;
use placet_ledger::event::{ApprovalGranted, Event, Outcome, SegmentEnd, Settlement, StartRefusal};
use placet_replay::facts::{
    EXPIRY_MS, Fact, amended, approved, asked, asked_for, began, call, called, called_again,
    cancel_requested, cleared, denied, expired, finished, in_doubt, last_word, name, narrowed,
    not_begun, prompted, proposed, put_down, question, refused, replied, replied_to, revoked,
    settled, settled_by_person, somebody, started, started_with, succeeded, taken_up, tightened,
    tool_allowed,
};
use placet_replay::scenario::{Scenario, can_follow, given};

const OTHER: Digest = Digest::from_bytes([9; 32]);

/// A run whose model replied with two calls of `set`.
fn named() -> Vec<Fact> {
    vec![started(), taken_up(1), called(), replied(&["set", "set"])]
}

fn and(mut facts: Vec<Fact>, more: impl IntoIterator<Item = Fact>) -> Vec<Fact> {
    facts.extend(more);
    facts
}

/// The first call waits for a person, the second is cleared.
fn waits() -> Vec<Fact> {
    and(named(), [proposed(1), asked(1), proposed(2), cleared(2)])
}

fn approved_and_ready() -> Vec<Fact> {
    and(waits(), [approved(1)])
}

/// Why a fact cannot stand after a story.
fn why(facts: Vec<Fact>, fact: &Fact) -> String {
    let story: Scenario = given(facts);
    let decided = fact.build(story.state());
    let event = decided.event.name();
    match can_follow(story.later(fact.later_ms()), decided.event, decided.blobs) {
        Err(why) => why,
        Ok(()) => panic!("{event} can stand there"),
    }
}

#[track_caller]
fn refused_because(facts: Vec<Fact>, fact: &Fact, because: &str) {
    let why = why(facts, fact);
    assert!(why.contains(because), "{why}");
}

#[test]
fn an_answer_to_another_request_does_not_fold() {
    let because = "the request digest is another one";
    let grants = approved(1).but(|event| {
        if let Event::ApprovalGranted(ApprovalGranted::ByPerson(grant)) = event {
            grant.request = OTHER;
        }
    });
    refused_because(waits(), &grants, because);
    let denies = denied(1).but(|event| {
        if let Event::ApprovalDenied(denial) = event {
            denial.request = OTHER;
        }
    });
    refused_because(waits(), &denies, because);
    let expires = expired(1).but(|event| {
        if let Event::ApprovalExpired(expiry) = event {
            expiry.request = OTHER;
        }
    });
    refused_because(waits(), &expires, because);
    refused_because(named(), &approved(1), because);
}

#[test]
fn a_verdict_or_a_start_for_another_proposal_does_not_fold() {
    let because = "the proposal digest is another one";
    let asks = asked(1).but(|event| {
        if let Event::ApprovalRequested(request) = event {
            request.proposal = OTHER;
        }
    });
    refused_because(and(named(), [proposed(1)]), &asks, because);
    let clears = cleared(1).but(|event| {
        if let Event::ApprovalGranted(ApprovalGranted::Automatic(grant)) = event {
            grant.proposal = OTHER;
        }
    });
    refused_because(and(named(), [proposed(1)]), &clears, because);
    let begins = began(1).but(|event| {
        if let Event::ExecutionStarted(start) = event {
            start.proposal = OTHER;
        }
    });
    refused_because(approved_and_ready(), &begins, because);
}

#[test]
fn a_policy_that_answers_and_a_person_who_is_no_answer_do_not_fold() {
    let by_policy = approved(1).but(|event| {
        if let Event::ApprovalGranted(ApprovalGranted::ByPerson(grant)) = event {
            grant.by = By::Policy {
                rule: name("policy:high-risk"),
            };
        }
    });
    refused_because(waits(), &by_policy, "only a person answers a request");
    let by_person = cleared(1).but(|event| {
        if let Event::ApprovalGranted(ApprovalGranted::Automatic(grant)) = event {
            grant.by = somebody();
        }
    });
    let facts = and(named(), [proposed(1)]);
    refused_because(facts, &by_person, "a person answers a request");
}

#[test]
fn an_approval_that_is_not_what_was_demanded_does_not_fold() {
    let change: [fn(&mut Demands); 5] = [
        |demands| demands.quorum = 2,
        |demands| demands.assurance = Assurance::Signed,
        |demands| demands.from = Some(BTreeSet::from([name("uid:2000")])),
        |demands| demands.from = Some(BTreeSet::new()),
        |demands| demands.not_starter = true,
    ];
    for change in change {
        let mut demands = Demands::default();
        change(&mut demands);
        let waits = || and(named(), [proposed(1), asked_for(1, demands.clone())]);
        let because = "the approval is not what the call demands";
        refused_because(waits(), &approved(1), because);
        // It can still be denied.
        given(and(waits(), [denied(1)]));
    }
    let demands = Demands {
        not_amender: true,
        ..Demands::default()
    };
    let story = and(named(), [proposed(1), asked(1), amended(3, 1)]);
    let story = and(story, [asked_for(3, demands)]);
    refused_because(story, &approved(3), "not what the call demands");
}

#[test]
fn an_answer_or_a_start_after_its_time_does_not_fold() {
    for answer in [approved(1).later(EXPIRY_MS), denied(1).later(EXPIRY_MS)] {
        refused_because(waits(), &answer, "the answer is too late");
    }
    let late = began(1).later(EXPIRY_MS);
    refused_because(approved_and_ready(), &late, "the grant has expired");
}

#[test]
fn an_answer_twice_or_to_what_does_not_wait_does_not_fold() {
    let because = "the call is not that far";
    refused_because(approved_and_ready(), &approved(1), because);
    refused_because(approved_and_ready(), &denied(1), because);
    refused_because(and(waits(), [denied(1)]), &approved(1), because);
    refused_because(and(waits(), [denied(1)]), &asked(1), because);
    refused_because(waits(), &cleared(1), because);
}

#[test]
fn a_start_of_what_was_denied_done_or_begun_does_not_fold() {
    let not = "the call is not that far";
    refused_because(and(waits(), [denied(1)]), &began(1), not);
    let done = and(approved_and_ready(), [began(1), succeeded(1)]);
    refused_because(done, &began(1), not);
    let open = "another call of the reply is without a verdict, or being executed";
    refused_because(and(approved_and_ready(), [began(1)]), &began(1), open);
    refused_because(and(approved_and_ready(), [began(1)]), &began(2), open);
    let doubt = and(approved_and_ready(), [began(1), in_doubt(1)]);
    refused_because(doubt, &began(2), open);
    let order = "an earlier call of the reply comes first";
    refused_because(approved_and_ready(), &began(2), order);
    let cancelled = and(approved_and_ready(), [cancel_requested()]);
    refused_because(cancelled, &began(1), "the run is being cancelled");
}

#[test]
fn a_start_outside_its_segment_or_out_of_count_does_not_fold() {
    let closed = and(approved_and_ready(), [put_down(SegmentEnd::Interrupted)]);
    refused_because(closed, &began(1), "its segment is not open");
    let second = began(1).but(|event| {
        if let Event::ExecutionStarted(start) = event {
            start.attempt = 2;
        }
    });
    refused_because(
        approved_and_ready(),
        &second,
        "attempts are counted one by one",
    );
}

#[test]
fn an_outcome_without_its_execution_does_not_fold() {
    let because = "no such attempt is being executed";
    for outcome in [succeeded(1), in_doubt(1), settled(1, Settlement::Done)] {
        refused_because(approved_and_ready(), &outcome, because);
        let done = and(approved_and_ready(), [began(1), succeeded(1)]);
        refused_because(done, &outcome, because);
    }
}

#[test]
fn calls_that_are_proposed_out_of_order_or_as_another_tool_do_not_fold() {
    let order = "an earlier call of the reply has no verdict yet";
    refused_because(named(), &proposed(2), order);
    refused_because(and(named(), [proposed(1)]), &proposed(2), order);
    let other = proposed(1).but(|event| {
        if let Event::CallProposed(proposal) = event {
            proposal.tool = name("act");
        }
    });
    refused_because(named(), &other, "the tool is not the one that was named");
    let unknown = vec![started(), taken_up(1), called(), replied(&["?"])];
    refused_because(
        unknown,
        &proposed(1),
        "the tool is not the one that was named",
    );
    let kind = placet_ledger::event::RefusalKind::BadArguments;
    let twice = and(named(), [refused(1, kind)]);
    refused_because(twice, &refused(1, kind), "the call is not that far");
}

#[test]
fn replies_without_a_call_of_the_model_and_calls_out_of_turn_do_not_fold() {
    let none = "no such call of the model is open";
    refused_because(vec![started(), taken_up(1)], &last_word(), none);
    let answered = vec![started(), taken_up(1), called(), last_word()];
    refused_because(answered, &last_word(), none);
    let twice = vec![started(), taken_up(1), called()];
    refused_because(twice, &called_again(2), "a model is being asked");
    refused_because(
        vec![started(), taken_up(1)],
        &called_again(2),
        "counted one by one",
    );
    refused_because(waits(), &called(), "a call is open");
    let cancelled = vec![started(), taken_up(1), cancel_requested()];
    refused_because(cancelled, &called(), "the run is being cancelled");
    let gap = replied(&["set"]).but(|event| {
        if let Event::ModelReplied(reply) = event {
            reply.calls[0].call = call(2);
        }
    });
    let asked_once = vec![started(), taken_up(1), called()];
    refused_because(asked_once, &gap, "call ids rise one by one");
}

#[test]
fn segments_that_overlap_or_end_as_others_do_not_fold() {
    let open = vec![started(), taken_up(1)];
    refused_because(open, &taken_up(2), "a segment is open");
    let closed = vec![started(), taken_up(1), put_down(SegmentEnd::Interrupted)];
    let because = "no such segment is open";
    refused_because(closed, &put_down(SegmentEnd::Interrupted), because);
    let skips = taken_up(1).but(|event| {
        if let Event::SegmentStarted(segment) = event {
            segment.epoch = 2;
        }
    });
    refused_because(vec![started()], &skips, "segments are counted one by one");
}

#[test]
fn what_widens_a_run_does_not_fold() {
    let capped = || {
        started_with(|body| {
            body.limits = Limits {
                tokens: Some(5),
                ..Limits::default()
            };
        })
    };
    for limits in [
        Limits::default(),
        Limits {
            tokens: Some(6),
            ..Limits::default()
        },
    ] {
        refused_because(vec![capped()], &tightened(limits), "a cap became wider");
    }
    let fewer = vec![started(), narrowed(&["look"])];
    refused_because(fewer, &narrowed(&["look", "set"]), "a tool came back");
}

#[test]
fn nothing_stands_after_the_end_and_no_end_in_the_middle() {
    let ended = || {
        vec![
            started(),
            cancel_requested(),
            finished(Outcome::Cancelled, &[]),
        ]
    };
    for fact in [
        taken_up(1),
        cancel_requested(),
        finished(Outcome::Failed, &[]),
    ] {
        refused_because(ended(), &fact, "the run has ended");
    }
    let open = vec![started(), taken_up(1)];
    let end = finished(Outcome::Completed, &[]);
    refused_because(open, &end, "a segment is open");
    let lost = [began(1), put_down(SegmentEnd::Lost)];
    let executing = and(approved_and_ready(), lost);
    refused_because(executing, &end, "a call is being executed");
    refused_because(
        vec![started()],
        &started(),
        "it does not belong there in a run",
    );
}

#[test]
fn a_run_ends_as_what_remains_to_be_done_says() {
    let early = "the run does not end that way here";
    for outcome in [Outcome::Completed, Outcome::Failed, Outcome::Cancelled] {
        refused_because(vec![started()], &finished(outcome, &[]), early);
    }
    refused_because(vec![started()], &finished(Outcome::Expired, &[]), early);
    let stopped = || and(approved_and_ready(), [put_down(SegmentEnd::Interrupted)]);
    refused_because(stopped(), &finished(Outcome::Budget, &[]), early);
    let cancelled = and(stopped(), [cancel_requested()]);
    let end = finished(Outcome::Cancelled, &[]);
    refused_because(cancelled, &end, "these are not the calls that were left");
}

#[test]
fn an_amendment_of_what_does_not_wait_or_out_of_count_does_not_fold() {
    let far = "the call is not that far";
    refused_because(waits(), &amended(3, 2), far);
    refused_because(approved_and_ready(), &amended(3, 1), far);
    let twice = and(waits(), [amended(3, 1), asked(3)]);
    refused_because(
        twice,
        &amended(4, 1),
        "the call is none of the newest reply",
    );
    refused_because(waits(), &amended(4, 1), "call ids rise one by one");
    let late = amended(3, 1).later(EXPIRY_MS);
    refused_because(waits(), &late, "the amendment is too late");
    let other = amended(3, 1).but(|event| {
        if let Event::CallProposed(proposal) = event {
            proposal.tool = name("act");
        }
    });
    refused_because(waits(), &other, "the tool is not the one that was named");
}

#[test]
fn nothing_of_what_was_amended_or_taken_back_folds() {
    let amended = || and(waits(), [amended(3, 1), asked(3)]);
    let none = "the call is none of the newest reply";
    for fact in [approved(1), denied(1), expired(1), began(1)] {
        refused_because(amended(), &fact, none_or_open(&fact, none));
    }
    let revoked = || and(approved_and_ready(), [revoked(1)]);
    let far = "the call is not that far";
    for fact in [approved(1), began(1), expired(1)] {
        refused_because(revoked(), &fact, far);
    }
}

/// A start is turned down because of what waits before its own call is looked at.
fn none_or_open(fact: &Fact, none: &'static str) -> &'static str {
    let story = given(and(waits(), [amended(3, 1), asked(3)]));
    match fact.build(story.state()).event {
        Event::ExecutionStarted(_) => "another call of the reply is without a verdict",
        _ => none,
    }
}

#[test]
fn an_approval_that_no_person_gave_or_that_was_used_is_not_taken_back() {
    let because = "the request digest is another one";
    refused_because(waits(), &revoked(2), because);
    let far = "the call is not that far";
    refused_because(waits(), &revoked(1), far);
    refused_because(and(approved_and_ready(), [began(1)]), &revoked(1), far);
    let void = [not_begun(1, StartRefusal::Policy), cleared(1)];
    let by_policy = and(approved_and_ready(), void);
    refused_because(by_policy, &revoked(1), "no person approved the call");
}

#[test]
fn a_question_is_asked_and_replied_to_and_nothing_else() {
    let asking = || {
        let named = replied(&["ask_user", "set"]);
        vec![started(), taken_up(1), called(), named, proposed(1)]
    };
    refused_because(asking(), &asked(1), "a question asks for no approval");
    let by_policy = "nothing but a person answers a question";
    refused_because(asking(), &cleared(1), by_policy);
    let plain = and(named(), [proposed(1)]);
    refused_because(plain, &question(1), "the call is no question");
    let asked = || and(asking(), [question(1)]);
    refused_because(asked(), &approved(1), "too late");
    refused_because(asked(), &denied(1), "too late");
    let late = replied_to(1).later(EXPIRY_MS);
    refused_because(asked(), &late, "the reply is too late");
    let other = replied_to(1).but(|event| {
        if let Event::QuestionAnswered(reply) = event {
            reply.request = OTHER;
        }
    });
    refused_because(asked(), &other, "the request digest is another one");
    let twice = and(asked(), [replied_to(1)]);
    refused_because(twice, &replied_to(1), "the call is not that far");
}

#[test]
fn a_doubt_is_settled_by_a_person_who_names_it() {
    let doubt = || and(approved_and_ready(), [began(1), in_doubt(1)]);
    let done = || settled_by_person(1, Settlement::Done);
    let far = "the call is not that far";
    refused_because(approved_and_ready(), &done(), far);
    refused_because(and(approved_and_ready(), [began(1)]), &done(), far);
    refused_because(and(doubt(), [done()]), &done(), far);
    for request in [None, Some(OTHER)] {
        let other = done().but(move |event| {
            if let Event::ExecutionSettled(settled) = event {
                settled.request = request;
            }
        });
        refused_because(doubt(), &other, "the doubt is another one");
    }
    let second = done().but(|event| {
        if let Event::ExecutionSettled(settled) = event {
            settled.attempt = 2;
        }
    });
    refused_because(doubt(), &second, "no such attempt is in doubt");
}

#[test]
fn a_message_in_the_middle_of_something_does_not_fold() {
    refused_because(waits(), &prompted(), "a call is open");
    let asked = vec![started(), taken_up(1), called()];
    refused_because(asked, &prompted(), "the model is being asked");
    let ending = vec![started(), cancel_requested()];
    refused_because(ending, &prompted(), "the run is being cancelled");
}

#[test]
fn a_tool_that_was_taken_away_is_not_allowed_for_good() {
    let fewer = vec![started(), narrowed(&["look"])];
    let because = "the run does not have the tool";
    refused_because(fewer, &tool_allowed("set"), because);
}

#[test]
fn the_clock_of_a_row_does_not_end_a_run() {
    let parked = [put_down(SegmentEnd::Waiting), expired(1)];
    let early = finished(Outcome::Expired, &[]);
    let because = "the run does not end that way here";
    refused_because(and(waits(), parked), &early, because);
}
