//! What is open to whoever is inside of a run.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::*;
use crate::answers::AnswerSet;
use crate::approval::CallAnswer;
use crate::digest::Digest;
use crate::id::{AnswerId, CommandId};
use crate::policy::ApprovalPolicy;
use crate::projection::{DecisionFilter, Page, Query, RunFilter};

fn sending() -> Sending {
    Sending {
        id: CommandId::new(Uuid::from_u128(1)),
        again: false,
        since: None,
    }
}

fn answer(run: RunId, answers: [Answer; 2]) -> Ask {
    let request = Digest::from_bytes([1; 32]);
    let calls = [CallId::FIRST, "c2".parse().unwrap()];
    let pending = BTreeMap::from(calls.map(|call| (call, request)));
    let line = |(call, answer)| CallAnswer {
        call,
        request,
        answer,
        note: None,
    };
    let lines: Vec<_> = calls.into_iter().zip(answers).map(line).collect();
    let id = AnswerId::new(Uuid::from_u128(2));
    let set = AnswerSet::covering(id, &pending, lines).unwrap();
    let channel = Channel::Cli;
    Ask::Answer { run, channel, set }
}

#[test]
fn whoever_is_inside_of_a_run_denies_takes_back_and_ends_and_grants_nothing() {
    let run = RunId::new(Uuid::from_u128(3));
    let act = |command| Ask::Act {
        run,
        channel: Channel::Cli,
        command: Box::new(command),
        texts: Vec::new(),
        sending: sending(),
    };
    let call = CallId::FIRST;
    let handle = Ask::Handle {
        run,
        by: Speaker::Driver,
        seen: None,
        command: Box::new(Command::Expire),
        texts: Vec::new(),
        sending: sending(),
    };
    for (ask, granting) in [
        (answer(run, [Answer::Deny, Answer::Deny]), false),
        (answer(run, [Answer::Deny, Answer::Approve]), true),
        (answer(run, [Answer::ApproveAlways, Answer::Deny]), true),
        (act(Command::Cancel), false),
        (act(Command::Revoke { call }), false),
        (act(Command::Prompt), true),
        (act(Command::ChangePolicy(ApprovalPolicy::False)), true),
        (handle, true),
        (Ask::Backup {}, true),
        (Ask::Commit { run }, true),
        (Ask::NewDriver {}, true),
        (Ask::Tail {}, false),
        (Ask::Driver { run }, false),
        (Ask::Expire { run }, false),
        (Ask::Left { seat: 0 }, false),
    ] {
        let found = matches!(grants(&ask), Grants::Yes(_));
        assert_eq!(found, granting, "{ask:?}");
    }
}

#[test]
fn whoever_is_inside_of_a_run_may_ask_and_not_rebuild() {
    let page = || Page {
        after: None,
        limit: 1,
    };
    let filter = RunFilter::default();
    for (query, is_open) in [
        (Query::Pending { page: page() }, true),
        (
            Query::Runs {
                filter,
                page: page(),
            },
            true,
        ),
        (
            Query::Decisions {
                filter: DecisionFilter::default(),
                page: page(),
            },
            true,
        ),
        (
            Query::Allowed {
                tool: "memory".parse().unwrap(),
                agent: "default".parse().unwrap(),
                by: None,
                page: page(),
            },
            true,
        ),
        (
            Query::Who {
                tool: None,
                since: None,
            },
            true,
        ),
        (
            Query::Find {
                prefix: String::new(),
            },
            true,
        ),
        (Query::Prefixes { runs: Vec::new() }, true),
        (Query::Rebuild {}, false),
    ] {
        let text = format!("{query:?}");
        let granting = matches!(grants(&Ask::Query { query }), Grants::Yes(None));
        assert_eq!(granting, !is_open, "{text}");
    }
}
