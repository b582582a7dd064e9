//! `placet runs reply`: answer a question that the agent asked.

use clap::Args;
use placet_ledger::digest::Digest;
use placet_ledger::event::SegmentReason;
use placet_ledger::id::CallId;
use placet_ledger::run::{Call, Close, Phase, Rejection, RunState};

use super::said::{self, Onward};
use super::verdicts::rejected;
use crate::commands::runs::find;
use crate::commands::words;
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// Answer a question that the agent asked, then drive the run on
///
/// A reply is information for the agent: it approves nothing.
///
/// Example: placet runs reply b3e41f "the one of last year"
#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct ReplyArgs {
    /// The run, by the first digits of its id
    run: String,

    /// The call that asks; may be left out where only one does
    call: Option<CallId>,

    /// What you reply; - reads it from standard input
    text: String,

    /// The digest of the question that was displayed; another question is not answered
    #[arg(long, value_name = "DIGEST")]
    request: Option<Digest>,

    #[command(flatten)]
    onward: Onward,
}

/// Replies to a question.
pub(crate) fn run(args: ReplyArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let text = words::text(args.text, "the reply", wiring)?;
    let mut open = wiring.open()?;
    let run = find(wiring, &open, &args.run)?;
    let (call, request) = (args.call, args.request);
    let meant = |state: &RunState| question(state, call, request);
    said::record(wiring, &open, run, meant, async |asked, caller| {
        Ok(open.engine.reply(run, caller, asked, text).await?)
    })?;
    let next = args.onward.next();
    said::go_on(wiring, &mut open, run, SegmentReason::Answered, next)
}

/// The question that is meant, and its digest as it was displayed.
fn question(
    state: &RunState,
    named: Option<CallId>,
    displayed: Option<Digest>,
) -> Result<(CallId, Digest), CommandError> {
    let call = match named {
        Some(named) => state
            .call(named)
            .ok_or_else(|| rejected(Rejection::UnknownCall(named)))?,
        None => only(state)?,
    };
    let asked = call.question().map(|asked| asked.digest);
    let asked = asked.ok_or_else(|| {
        let why = "the call does not ask a question";
        rejected(Rejection::OutOfTurn(why)).hint("placet runs show RUN shows what waits")
    })?;
    if call.phase() == Phase::Closed(Close::Answered) {
        return Err(rejected(Rejection::AlreadyAnswered(vec![call.id()])));
    }
    Ok((call.id(), displayed.unwrap_or(asked)))
}

/// The one question that waits.
fn only(state: &RunState) -> Result<&Call, CommandError> {
    let waits = |call: &&Call| call.phase() == Phase::Asked;
    let waiting: Vec<&Call> = state.awaited().filter(waits).collect();
    match waiting[..] {
        [one] => Ok(one),
        [] => Err(nothing(state)),
        [first, ..] => {
            let calls: Vec<_> = waiting.iter().map(|call| call.id().to_string()).collect();
            let what = format!("several questions wait: {}", calls.join(", "));
            let hint = format!("name the one: placet runs reply RUN {} TEXT", first.id());
            Err(CommandError::new(Kind::Refused, what).hint(hint))
        }
    }
}

/// Why there is no question; that somebody else was first is another error.
fn nothing(state: &RunState) -> CommandError {
    let last = state.calls().rfind(|call| call.question().is_some());
    let answered = last.filter(|call| call.phase() == Phase::Closed(Close::Answered));
    let rejection = match (answered, state.outcome()) {
        (Some(call), _) => Rejection::AlreadyAnswered(vec![call.id()]),
        (None, Some(outcome)) => Rejection::Finished(outcome),
        (None, None) => Rejection::OutOfTurn("the run has no question that waits for a reply"),
    };
    rejected(rejection)
}
