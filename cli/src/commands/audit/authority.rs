//! What records about authority say beside their facts: what is granted, and which rules.

use std::collections::BTreeSet;

use placet_engine::policy::CommandEntry;
use placet_ledger::content::{Blob, Contents};
use placet_ledger::envelope::Recorded;
use placet_ledger::event::Event;
use placet_ledger::view::Row;

use crate::reading::Reading;
use crate::ui::text::{self, Letters};
use crate::wire::log::EventOut;

/// Digits of a digest that tell it from others at a glance.
const DIGITS: usize = 10;

/// The entry that a record grants.
fn entry(recorded: &Recorded) -> Option<&Blob> {
    match recorded.envelope.event() {
        Event::GrantAdded(_) => recorded.envelope.blobs().get("entry"),
        _ => None,
    }
}

/// The entries that these records grant, as far as they can be read.
pub(super) async fn contents(reading: &Reading, records: &[Recorded]) -> Contents {
    let granting = || records.iter().filter(|record| entry(record).is_some());
    let Some(first) = granting().next() else {
        return Contents::default();
    };
    let wanted: BTreeSet<_> = granting()
        .filter_map(entry)
        .map(|blob| blob.commitment)
        .collect();
    reading.contents(first.envelope.stream(), &wanted).await
}

/// A record, with its entry where it grants one.
pub(super) fn event(
    recorded: &Recorded,
    contents: &Contents,
) -> Result<EventOut, serde_json::Error> {
    match entry(recorded) {
        Some(_) => EventOut::whole(recorded, contents),
        None => EventOut::facts(recorded),
    }
}

/// Its row, with what it grants, or with the commitment to the rules that it brings into force.
pub(super) fn told(mut row: Row, recorded: &Recorded, contents: &Contents) -> Row {
    if let Some(blob) = entry(recorded) {
        let bytes = contents.bytes(&blob.commitment);
        let entry = bytes.and_then(CommandEntry::read);
        row.summary.push_str(": ");
        let entry = entry.map_or_else(|| String::from("(unreadable)"), |entry| words(&entry));
        row.summary.push_str(&entry);
    }
    if let Event::RulesAdopted(_) = recorded.envelope.event()
        && let Some(blob) = recorded.envelope.blobs().get("text")
    {
        let commitment: String = blob.commitment.to_string().chars().take(DIGITS).collect();
        row.summary.push_str(", rules ");
        row.summary.push_str(&commitment);
    }
    row
}

/// An entry in words.
fn words(entry: &CommandEntry) -> String {
    let (key, path) = (
        text::quoted(&entry.key, Letters::Marked),
        text::quoted(&entry.path, Letters::Marked),
    );
    let digest = entry.digest.map(|digest| {
        let digest: String = digest.to_string().chars().take(DIGITS).collect();
        format!(" ({digest})")
    });
    let ports: Vec<_> = entry.network.iter().map(u16::to_string).collect();
    let network = if ports.is_empty() {
        String::from("no network")
    } else {
        format!("TCP {}", ports.join(", "))
    };
    format!("{key} by {path}{}, {network}", digest.unwrap_or_default())
}
