//! `placet inbox`: every call of every run that waits for a person.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use placet_ledger::id::RunId;
use placet_ledger::projection::Cursor;
use placet_ledger::view::{Card, RunEntry, inbox, inbox_needs};

use crate::answers::Prefixes;
use crate::commands::{attend, page};
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::reading::{self, Reading};
use crate::ui::card::{self, Look};
use crate::wire::approval::{CardOut, Inbox};
use crate::wiring::Wiring;

/// Show every pending call of every run, the oldest first
///
/// At a terminal the cards are walked one by one and answered.
///
/// Example: placet inbox
#[derive(Debug, Args)]
pub(crate) struct InboxArgs {
    /// Calls at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = page::limit)]
    limit: usize,

    /// Go on where the part before ended, by the cursor that it gave
    #[arg(long, value_name = "C")]
    after: Option<Cursor>,
}

/// Shows what waits for people, and asks the one at the terminal.
pub(crate) fn run(args: &InboxArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    if wiring.attended() && wiring.printer.data_is_shown() {
        return walked(wiring);
    }
    let reading = Reading::open(wiring)?;
    let (waiting, next) =
        wiring.block_on(page::pending(&reading, args.limit, args.after.as_ref()))?;
    let listed: BTreeSet<RunId> = waiting.iter().map(|row| row.run).collect();
    let (runs, broken) = wiring.block_on(reading.folded(listed.iter().copied()))?;
    let prefixes = wiring.block_on(reading.prefixes(listed))?;
    let mut contents = BTreeMap::new();
    for (run, wanted) in inbox_needs(&runs) {
        let read = wiring.block_on(reading.contents(run.stream(), &wanted));
        contents.insert(run, read);
    }
    let mut cards = inbox(&runs, &contents);
    let on_page = |card: &Card| {
        let mut waiting = waiting.iter();
        waiting.any(|row| (row.run, row.call) == (card.run, card.call))
    };
    let cut: BTreeSet<RunId> = cards
        .iter()
        .filter(|card| !on_page(card))
        .map(|card| card.run)
        .collect();
    cards.retain(on_page);
    if let Some(trusted) = wiring.block_on(reading.trusted()) {
        let told = |card: Card| {
            let state = runs.get(card.run).and_then(RunEntry::state);
            let known = state.zip(contents.get(&card.run));
            match known {
                Some((state, contents)) => trusted.told(card, state, contents),
                None => card,
            }
        };
        cards = cards.into_iter().map(told).collect();
    }
    reading.learn_reasons(wiring)?;
    let look = reading::look(wiring);
    if wiring.printer.json() {
        let pending = cards.into_iter().map(|card| {
            let reason = card
                .rule
                .as_ref()
                .and_then(|rule| look.reason(rule))
                .cloned();
            CardOut::of(card, look.now, reason)
        });
        let pending = pending.collect();
        let next = next.map(String::from);
        wiring.printer.value(&Inbox { pending, next })?;
        return broken.map_or(Ok(ExitStatus::Done), Err);
    }
    if cards.is_empty() {
        if broken.is_none() {
            wiring.printer.note("nothing waits for an answer");
        }
    } else {
        wiring
            .printer
            .data(&text(&cards, (&prefixes, &cut), &look))?;
        page::tell_of_more(wiring, next);
    }
    // Those that cannot be read are missing above.
    broken.map_or(Ok(ExitStatus::Done), Err)
}

/// Walks every card with the person at the terminal, and drives on the runs that got answers.
fn walked(wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let mut open = wiring.open()?;
    attend::inbox(wiring, &mut open)
}

/// The cards, and after the last one of a run how to answer them all; that is left out where only
/// some of them are on this page.
fn text(cards: &[Card], (prefixes, cut): (&Prefixes, &BTreeSet<RunId>), look: &Look) -> String {
    let last: BTreeMap<RunId, usize> = cards
        .iter()
        .enumerate()
        .map(|(index, card)| (card.run, index))
        .collect();
    let mut parts = Vec::new();
    for (index, one) in cards.iter().enumerate() {
        let prefix = prefixes.get(one.run);
        parts.push(card::card(one, &prefix, look) + &card::words(one, &prefix, look));
        let of_run = || cards.iter().filter(|card| card.run == one.run);
        let late = of_run().any(|card| card::is_expired(card, look));
        let set = of_run()
            .find_map(|card| card.set.as_deref())
            .filter(|_| !late && !cut.contains(&one.run));
        if let Some(set) = set.filter(|_| last.get(&one.run) == Some(&index)) {
            parts.push(card::answers(
                &prefix,
                set,
                &card::approvals(of_run()),
                look,
            ));
        }
    }
    parts.join("\n")
}
