//! What a card offers to clear beside its call: its tool in this run, or an entry for commands of
//! its key in every run.

use placet_engine::policy::rules::shipped;
use placet_engine::policy::{CommandEntry, allowlist};
use placet_engine::steering::asks_always;
use placet_ledger::id::Name;
use placet_ledger::policy::EXECUTE_COMMAND;
use placet_ledger::program::ProgramClass;
use placet_ledger::view::Card;

use crate::ui::card;
use crate::ui::dialog::Always;

/// Rows of the gate that an entry comes before.
const CLEARED: &str = "policy:";

/// What a card of a pending approval offers.
pub(super) fn always(card: &Card) -> Always {
    let rule = card.rule.as_ref().map(Name::as_str);
    if card.tool.as_str() == EXECUTE_COMMAND {
        return match entry(card) {
            Ok(_) => Always::Command,
            Err(why) => Always::Nothing(why),
        };
    }
    match rule {
        Some(rule) if asks_always(rule).is_none() => Always::Tool,
        Some(_) | None => Always::Nothing("this rule asks always"),
    }
}

/// The entry that would have cleared a command, or why none is offered.
pub(super) fn entry(card: &Card) -> Result<CommandEntry, &'static str> {
    let rule = card.rule.as_ref().map(Name::as_str);
    if !rule.is_some_and(|rule| rule.starts_with(CLEARED)) {
        return Err("this rule asks, whatever is granted");
    }
    let key = card::key(card).ok_or("the command cannot be read")?;
    let key = key.map_err(|_| "no grant can cover it: it has no allowlist key")?;
    let program = card.program.as_ref().ok_or("its program cannot be read")?;
    if program.class == ProgramClass::Workspace {
        return Err("its program lies in the workspace, where the agent can change it");
    }
    if allowlist::caution(&key).is_some() {
        return Err("such a program runs whatever it is given: placet grants add --force");
    }
    let destroys = |command: &str| shipped().destructive(command).is_some();
    if card.command().is_none_or(destroys) {
        return Err("such a variant destroys, or names another program, and no grant covers it");
    }
    let program = (program.path.clone(), program.class, program.digest);
    Ok(CommandEntry::new(key, program, card.network.clone()))
}

#[cfg(test)]
mod tests;
