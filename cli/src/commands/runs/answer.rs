//! `placet runs answer`: a mixed set of answers from a file.

use std::path::PathBuf;

use clap::Args;
use placet_ledger::answers::AnswerSet;
use placet_ledger::approval::{Answer, CallAnswer};
use placet_ledger::digest::Digest;
use placet_ledger::id::{AnswerId, CallId};
use placet_ledger::run::{Rejection, RunState};
use serde::Deserialize;

use super::verdicts::{self, Next, rejected};
use crate::commands::run::Attend;
use crate::commands::runs::find;
use crate::commands::words::{self, Object};
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// The most bytes a file of answers may have: 64 calls with long notes.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;

/// Answer pending calls from a file, then drive the run on
///
/// The file holds {"answers":[{"call":"c1","approve":true},{"call":"c2","deny":"why"}]}; "request",
/// the digest that was displayed, binds an answer to it.
///
/// Example: placet runs answer b3e41f --file answers.json
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The run, by the first digits of its id
    run: String,

    /// The file; - reads standard input
    #[arg(long, value_name = "F")]
    file: PathBuf,

    /// Whether somebody at the terminal is asked from now on [default: as recorded]
    #[arg(long, value_enum, value_name = "WHEN")]
    attend: Option<Attend>,

    /// Record the answer and leave the run to somebody else
    #[arg(long)]
    no_resume: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerFile {
    answers: Vec<Object<AnswerLine>>,
    #[serde(default)]
    set: Option<String>,
    #[serde(default)]
    answer: Option<AnswerId>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerLine {
    call: CallId,
    request: Option<Digest>,
    approve: Option<bool>,
    deny: Option<String>,
    note: Option<String>,
}

/// Answers pending calls from a file.
pub(crate) fn run(args: &AnswerArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let file = read(args, wiring)?;
    let approves = file
        .answers
        .iter()
        .any(|Object(line)| line.approve.is_some());
    let mut open = verdicts::open(wiring, approves)?;
    let run = find(wiring, &open, &args.run)?;
    let next = Next {
        resume: !args.no_resume,
        attend: args.attend,
    };
    verdicts::answer(wiring, &mut open, run, |state| cover(state, &file), next)
}

fn read(args: &AnswerArgs, wiring: &mut Wiring<'_>) -> Result<AnswerFile, CommandError> {
    let bytes = words::bytes(&args.file, "the answers", ANSWER_BYTES_MAX, wiring)?;
    let form = "the file of answers does not have the form {\"answers\":[{\"call\":\"c1\",\"approve\":true},..]}";
    serde_json::from_slice(&bytes)
        .map(|Object(file)| file)
        .map_err(|error| CommandError::usage(format!("{form}: {error}")))
}

impl AnswerLine {
    /// The verdict, and the words that go with it.
    fn verdict(&self) -> Result<(Answer, Option<String>), CommandError> {
        match (self.approve, self.deny.as_deref()) {
            (Some(true), None) => Ok((Answer::Approve, self.note.clone())),
            (None, Some(why)) if !why.is_empty() => {
                let words = [Some(why), self.note.as_deref()];
                let words: Vec<&str> = words.into_iter().flatten().collect();
                Ok((Answer::Deny, Some(words.join("\n"))))
            }
            (Some(_) | None, _) => {
                let call = self.call;
                let what = format!("{call}: give either \"approve\": true or \"deny\": \"why\"");
                Err(CommandError::usage(what))
            }
        }
    }
}

fn cover(state: &RunState, file: &AnswerFile) -> Result<AnswerSet, CommandError> {
    let lines = file.answers.iter().map(|Object(line)| {
        let (answer, note) = line.verdict()?;
        let known = state.call(line.call).and_then(|call| call.requested());
        let request = line.request.or(known.map(|asked| asked.digest));
        Ok(CallAnswer {
            call: line.call,
            // A call that nobody was asked about is unknown, whatever digest it is given.
            request: request.unwrap_or(Digest::from_bytes([0; 32])),
            answer,
            note,
        })
    });
    let lines: Vec<CallAnswer> = lines.collect::<Result<_, CommandError>>()?;
    let id = file
        .answer
        .unwrap_or_else(|| AnswerId::new(uuid::Uuid::new_v4()));
    if state.answered_in(id).next().is_some() {
        // The same set again is answered as the first time, whatever is pending now: the ledger
        // tells whether it is the same.
        let given = lines.iter().map(|line| (line.call, line.request)).collect();
        return AnswerSet::covering(id, &given, lines).map_err(|error| rejected(error.into()));
    }
    let superseded = lines.iter().find_map(|line| {
        let by = state.call(line.call)?.superseded_by()?;
        let call = line.call;
        Some(Rejection::Superseded { call, by })
    });
    if let Some(superseded) = superseded {
        return Err(rejected(superseded));
    }
    let answered = |call: &CallId| {
        state
            .call(*call)
            .is_some_and(|call| call.answered().is_some())
    };
    let answered: Vec<CallId> = lines
        .iter()
        .map(|line| line.call)
        .filter(answered)
        .collect();
    if !answered.is_empty() {
        return Err(rejected(Rejection::AlreadyAnswered(answered)));
    }
    let pending = verdicts::pending(state, file.set.as_deref())?;
    AnswerSet::covering(id, &pending, lines).map_err(|error| rejected(error.into()))
}
