//! `placet grants list`: what runs unasked in every run, and how often it did.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use placet_engine::policy::CommandEntry;
use placet_ledger::approval::By;
use placet_ledger::authority::{Grant, fold_authority};
use placet_ledger::envelope::{Envelope, Recorded};
use placet_ledger::error::LedgerError;
use placet_ledger::event::{ApprovalGranted, Event};
use placet_ledger::id::GrantId;
use placet_ledger::time::Timestamp;

use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::reading::{self, Reading};
use crate::ui::{table, text, timeline};
use crate::wire::grants::{GrantList, GrantOut};
use crate::wiring::Wiring;

/// List what runs unasked in every run
///
/// With the calls that each entry cleared so far.
///
/// Example: placet grants list
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Also what was revoked or is over
    #[arg(long)]
    all: bool,
}

/// How often a grant cleared a call, and when it last did.
#[derive(Debug, Clone, Copy, Default)]
struct Uses {
    count: u64,
    last: Option<Timestamp>,
}

/// Lists grants.
pub(crate) fn run(args: &ListArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let reading = Reading::open(wiring)?;
    let mut authority: Vec<Envelope> = Vec::new();
    let mut uses: BTreeMap<GrantId, Uses> = BTreeMap::new();
    wiring.block_on(reading.each(|recorded| {
        count(&mut uses, &recorded);
        let envelope = recorded.envelope;
        if envelope.stream() == envelope.header().ledger.authority() {
            authority.push(envelope);
        }
        true
    }))?;
    let state = fold_authority(&authority).map_err(LedgerError::from)?;
    let wanted: BTreeSet<_> = state.grants().values().map(|grant| grant.entry).collect();
    let contents = wiring.block_on(reading.contents(state.ledger().authority(), &wanted));
    let now = reading::now();
    let shown = state.grants().iter();
    let shown = shown.filter(|(_, grant)| args.all || grant.holds(now));
    let grants: Vec<GrantOut> = shown
        .map(|(id, grant)| {
            let entry = contents.bytes(&grant.entry).and_then(CommandEntry::read);
            let uses = uses.get(id).copied().unwrap_or_default();
            out(*id, grant, entry, uses)
        })
        .collect();
    if wiring.printer.json() {
        wiring.printer.value(&GrantList { grants })?;
    } else if grants.is_empty() {
        wiring.printer.note("nothing is granted to every run");
    } else {
        let page = page(&grants, now);
        wiring.printer.data(&page)?;
    }
    Ok(ExitStatus::Done)
}

fn count(uses: &mut BTreeMap<GrantId, Uses>, recorded: &Recorded) {
    if let Event::ApprovalGranted(ApprovalGranted::Automatic(granted)) = recorded.envelope.event()
        && let By::Grant { grant } = &granted.by
    {
        let uses = uses.entry(*grant).or_default();
        uses.count = uses.count.saturating_add(1);
        uses.last = Some(recorded.envelope.at());
    }
}

fn out(id: GrantId, grant: &Grant, entry: Option<CommandEntry>, uses: Uses) -> GrantOut {
    let revoked_at = grant.revoked.as_ref().map(|(_, at)| *at);
    GrantOut {
        grant: id,
        kind: grant.kind,
        entry,
        by: grant.by.clone(),
        at: grant.at,
        expires_at: grant.expires_at,
        revoked_at,
        uses: Some(uses.count),
        last_used_at: uses.last,
        already: false,
    }
}

const COLUMNS: [&str; 9] = [
    "GRANT",
    "KEY",
    "PROGRAM",
    "PORTS",
    "BY",
    "SINCE",
    "UNTIL",
    "USES",
    "LAST USED",
];

fn page(grants: &[GrantOut], now: Timestamp) -> String {
    let rows: Vec<Vec<String>> = grants.iter().map(|grant| row(grant, now)).collect();
    table::table(&COLUMNS, &rows)
}

fn row(grant: &GrantOut, now: Timestamp) -> Vec<String> {
    let unreadable = || String::from("(unreadable)");
    let entry = grant.entry.as_ref();
    let until = match (grant.revoked_at, grant.expires_at) {
        (Some(at), _) => format!("revoked {}", timeline::time(at)),
        (None, Some(at)) if now >= at => format!("over since {}", timeline::time(at)),
        (None, Some(at)) => timeline::time(at),
        (None, None) => String::from("-"),
    };
    let ports = entry.map(|entry| entry.network.iter().map(ToString::to_string).collect());
    let ports = ports.map(|ports: Vec<String>| ports.join(","));
    vec![
        grant.grant.to_string(),
        entry.map_or_else(unreadable, |entry| text::marked(&entry.key)),
        entry.map_or_else(unreadable, |entry| text::marked(&entry.path)),
        ports
            .filter(|ports| !ports.is_empty())
            .unwrap_or_else(|| String::from("none")),
        text::marked(&grant.by_whom()),
        timeline::time(grant.at),
        until,
        grant.uses.unwrap_or_default().to_string(),
        grant
            .last_used_at
            .map_or_else(|| String::from("-"), timeline::time),
    ]
}
