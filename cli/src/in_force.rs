//! The rules in force: the shipped ones and the user's, and how a ledger comes to record them.

use std::collections::BTreeMap;

use placet_engine::policy::rules::{Rules, shipped};
use placet_ledger::authority::AuthorityCommand;
use placet_ledger::content::{Text, Texts};
use placet_ledger::event::Change;
use placet_ledger::gate_input::Bench;
use placet_ledger::id::Name;
use placet_ledger::ledger::Ledger;
use placet_ledger::run::Caller;

use crate::config::Config;
use crate::error::{CommandError, Kind};

/// The rules that a config brings into force: the shipped ones, then the user's.
pub(crate) fn rules(config: &Config) -> Result<Rules, CommandError> {
    let rules = config.rules.clone().behind(shipped().clone());
    rules.map_err(CommandError::usage)
}

/// The text of rules as it is recorded.
pub(crate) fn text(rules: &Rules) -> Result<Vec<u8>, CommandError> {
    let text = rules.to_json();
    text.map(String::into_bytes)
        .map_err(|error| CommandError::new(Kind::Failed, error))
}

/// Brings the rules of a config into force where others are; says in a line what it did.
pub(crate) async fn adopt(
    ledger: &Ledger,
    config: &Config,
    caller: &Caller,
) -> Result<Option<String>, CommandError> {
    let (after, before) = (rules(config)?, ledger.look_at_authority(recorded));
    let text = text(&after)?;
    if before.as_deref() == Some(&text[..]) {
        return Ok(None);
    }
    let read = |text: &[u8]| Rules::parse_json(std::str::from_utf8(text).ok()?).ok();
    let change = match before.as_deref().map(read) {
        None if ledger.authority().rules().is_none() => Change::First,
        Some(Some(before)) => after.change_from(&before),
        // What was in force cannot be read.
        None | Some(None) => Change::Widens,
    };
    let texts = Texts::from([(String::from("text"), Text::json(text))]);
    let adopt = AuthorityCommand::Adopt(change);
    ledger.authorise(caller, adopt, texts).await?;
    let rules = match config.rules.as_slice().len() {
        1 => String::from("1 rule"),
        number => format!("{number} rules"),
    };
    Ok(Some(format!("rules adopted: {rules}, {}", word(change))))
}

fn recorded(bench: Bench<'_>) -> Option<Vec<u8>> {
    let commitment = bench.standing.state.rules()?;
    let text = bench.standing.contents.bytes(&commitment);
    text.map(<[u8]>::to_vec)
}

const fn word(change: Change) -> &'static str {
    match change {
        Change::First => "first",
        Change::Tightens => "tightens",
        Change::Widens => "widens",
    }
}

/// Why the rules that are in force now are there, by their names.
pub(crate) fn reasons_now(ledger: &Ledger) -> BTreeMap<Name, String> {
    reasons(ledger.look_at_authority(recorded).as_deref())
}

/// Why rules are there, by their names, from their recorded texts; later ones win.
pub(crate) fn reasons<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> BTreeMap<Name, String> {
    let mut reasons = BTreeMap::new();
    for text in texts {
        let text = std::str::from_utf8(text).ok();
        let Some(rules) = text.and_then(|text| Rules::parse_json(text).ok()) else {
            continue;
        };
        for rule in rules.as_slice() {
            if let Some(reason) = rule.reason() {
                reasons.insert(rule.name().clone(), reason.to_owned());
            }
        }
    }
    reasons
}
