//! Asking the person at the terminal: gathers the cards, has them walked, and tells the answers
//! of each run. An amendment is recorded at once, and the walk goes on with the new card.

use std::collections::{BTreeMap, BTreeSet};

use placet_engine::engine::{EngineError, nearly};
use placet_ledger::approval::{By, Channel};
use placet_ledger::error::LedgerError;
use placet_ledger::event::SegmentReason;
use placet_ledger::id::{CallId, RunId};
use placet_ledger::projection::{ANSWER_ROWS_MAX, Answer, Page, Query};
use placet_ledger::run::Caller;
use placet_ledger::view::{Card, CardKind};

use super::send::{Answers, answers};
use super::talk::{self, Amendment, End};
use super::{Drive, elsewhere, offer, watch};
use crate::answers;
use crate::commands::runs::prefix_of;
use crate::error::CommandError;
use crate::open::Open;
use crate::reading;
use crate::ui::card::{self, screen::Beside};
use crate::ui::dialog::frame::Shown;
use crate::ui::dialog::{Asked, Asks, Kept, Walk};
use crate::ui::run_page::budget;
use crate::ui::text;
use crate::unusable::cannot;
use crate::wiring::Wiring;

/// Whose cards are walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those of one run.
    Run(RunId),
    /// All of them, oldest first.
    Inbox,
}

/// What came of asking a person.
pub(super) enum Asking {
    /// Answers, by run; they are to be sent.
    Answers(BTreeMap<RunId, Answers>),
    /// Everything goes on waiting, for somebody else.
    Parked,
    /// There is nothing to ask, or nothing that was not left waiting before.
    Left,
    /// The person wants to stop.
    Stopped,
}

/// Has the cards walked; what was decided about cards that stay the same is in `kept`.
pub(super) fn ask(
    wiring: &mut Wiring<'_>,
    open: &mut Open,
    scope: Scope,
    kept: &mut Kept,
) -> Result<Asking, CommandError> {
    let mut said = None;
    let mut draft = None;
    loop {
        let by = wiring.caller_by(Channel::Terminal)?;
        let shown = wiring.block_on(cards(open, scope, &by))?;
        let shown = in_time(wiring, shown);
        let asked: Vec<Asked> = shown.iter().map(asked).collect();
        if kept.left_all(&asked) {
            return Ok(Asking::Left);
        }
        let Some(mut walk) = Walk::new(asked, kept) else {
            return Ok(Asking::Left);
        };
        if let Some(said) = said.take() {
            walk.tell(said);
        }
        let end = walk_through(wiring, &mut walk, &shown, draft.take())?;
        *kept = walk.keep();
        match end {
            End::Send => {
                let answers = answers(&walk, &shown)?;
                return Ok(if answers.is_empty() {
                    Asking::Left
                } else {
                    Asking::Answers(answers)
                });
            }
            End::Park => return Ok(Asking::Parked),
            End::Stop => return Ok(Asking::Stopped),
            End::Amend(amendment) => {
                said = Some(match amend(wiring, open, &amendment)? {
                    Ok(call) => format!("{} is now {call}, asked for anew", amendment.call),
                    Err(why) => {
                        draft = Some(amendment);
                        format!("{why}; e opens your text again")
                    }
                });
            }
        }
    }
}

fn walk_through(
    wiring: &mut Wiring<'_>,
    walk: &mut Walk,
    shown: &[Shown],
    draft: Option<Amendment>,
) -> Result<End, CommandError> {
    let mut look = reading::look(wiring);
    look.color = wiring.printer.color_beside();
    let io = wiring.printer.io();
    let stop = io.stop.clone();
    let Some(terminal) = io.terminal.as_deref_mut() else {
        return Ok(End::Park);
    };
    talk::talk(terminal, walk, shown, (&look, &stop), draft).map_err(cannot("use the terminal"))
}

/// Records an amendment and drives the run to where it waits again; or says why there is none.
fn amend(
    wiring: &mut Wiring<'_>,
    open: &mut Open,
    amendment: &Amendment,
) -> Result<Result<CallId, String>, CommandError> {
    let Amendment { run, call, text } = amendment;
    let caller = wiring.caller_by(Channel::Terminal)?;
    let amended = open.engine.amend(*run, &caller, *call, text.as_bytes());
    match wiring.block_on(amended) {
        Ok(amended) => {
            let how = Drive {
                reason: SegmentReason::Answered,
                attendance: None,
                events: false,
                said: true,
            };
            if let Err(why) = watch::drive(wiring, open, *run, how)? {
                elsewhere(wiring, open, *run, &why)?;
            }
            Ok(Ok(amended))
        }
        Err(
            error @ (EngineError::NoProposal(_) | EngineError::Ledger(LedgerError::Rejected(_))),
        ) => {
            let why = CommandError::from(error).message();
            Ok(Err(text::inline(&why)))
        }
        Err(error) => Err(error.into()),
    }
}

fn asked(shown: &Shown) -> Asked {
    let card = &shown.card;
    let asks = match card.kind {
        CardKind::Approval => Asks::Approval {
            always: offer::always(card),
            miss: shown.miss,
        },
        CardKind::Question => Asks::Question,
        CardKind::InDoubt => Asks::InDoubt,
    };
    Asked {
        run: card.run,
        call: card.call,
        request: card.request,
        asks,
    }
}

/// Without what is too late to answer, which is told.
fn in_time(wiring: &mut Wiring<'_>, shown: Vec<Shown>) -> Vec<Shown> {
    let look = reading::look(wiring);
    let late = |shown: &Shown| card::is_expired(&shown.card, &look);
    let (late, shown): (Vec<Shown>, Vec<Shown>) = shown.into_iter().partition(late);
    let late: BTreeSet<&str> = late
        .iter()
        .map(|shown| shown.beside.prefix.as_str())
        .collect();
    for run in late {
        let what = format!("nobody answered run {run} in time: its next command ends it");
        wiring.printer.note(&what);
    }
    shown
}

/// The cards that wait for a person, before the one that would answer them.
pub(super) async fn cards(
    open: &Open,
    scope: Scope,
    by: &Caller,
) -> Result<Vec<Shown>, CommandError> {
    if let Scope::Run(run) = scope {
        return cards_of(open, (run, prefix_of(open, run).await?), by).await;
    }
    let order = waiting(open).await?;
    let waiting: BTreeSet<RunId> = order.iter().map(|(run, _)| *run).collect();
    let mut shown = Vec::new();
    for run in waiting {
        shown.extend(cards_of(open, (run, prefix_of(open, run).await?), by).await?);
    }
    let place = |shown: &Shown| {
        let card = (shown.card.run, shown.card.call);
        let place = order.iter().position(|known| *known == card);
        // What came since the list was read stands last.
        place.unwrap_or(order.len())
    };
    shown.sort_by_key(place);
    Ok(shown)
}

/// Every call that waits for a person, the oldest first.
async fn waiting(open: &Open) -> Result<Vec<(RunId, CallId)>, CommandError> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let limit = ANSWER_ROWS_MAX;
        let query = Query::Pending {
            page: Page { after, limit },
        };
        let Answer::Pending { pending, next } = open.ledger.query(query).await? else {
            return Err(answers::unexpected());
        };
        all.extend(pending.into_iter().map(|row| (row.run, row.call)));
        if next.is_none() {
            return Ok(all);
        }
        after = next;
    }
}

async fn cards_of(
    open: &Open,
    (run, prefix): (RunId, String),
    by: &Caller,
) -> Result<Vec<Shown>, CommandError> {
    let by = by.person();
    let look = open.ledger.look_with(run, |state, contents, bench| {
        let left = state.usage().remaining(state.limits());
        let beside = Beside {
            prefix,
            budget: budget(&(*state.limits()).into(), &left.into()),
        };
        let person = by.as_ref().and_then(By::person);
        let miss = |call| Some(state.accepts(call, person?).err()?.miss);
        let shown = state.batch().filter_map(|call| {
            Some(Shown {
                card: Card {
                    nearly: nearly(state, contents, bench, call.id()),
                    ..Card::of(state, call, contents)?
                },
                beside: beside.clone(),
                miss: miss(call),
            })
        });
        shown.collect()
    });
    Ok(look.await?)
}
