//! Contents under verification: each one that a record names is read once and compared.

use std::collections::{BTreeMap, BTreeSet};

use super::report::{ContentCounts, FindingKind, Findings, Place};
use crate::content::{Blob, Commitment, Content, Contents, size_class};
use crate::envelope::Envelope;
use crate::event::Event;
use crate::id::{Name, Position, StreamId};
use crate::policy::EXECUTE_COMMAND;

/// Contents that are read together.
const BATCH_CONTENTS_MAX: usize = 64;

/// Bytes of contents that are read together, unless a single one is larger.
const BATCH_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// A content that a record names, where nothing before it in its stream did.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) stream: StreamId,
    pub(super) blob: Blob,
    role: String,
    place: Place,
    /// Whether judging a decision again reads it.
    judged: bool,
}

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct ContentCheck {
    pub(super) counts: ContentCounts,
    streams: BTreeMap<StreamId, Held>,
    /// What [`ContentCheck::of`] lends for a stream that holds nothing.
    none: Contents,
}

#[derive(Debug, Default)]
struct Held {
    seen: BTreeSet<Commitment>,
    aims: Contents,
}

impl ContentCheck {
    /// What a record names and no record of its stream before it did.
    pub(super) fn wanted(&mut self, position: Position, envelope: &Envelope) -> Vec<Wanted> {
        let held = self.streams.entry(envelope.stream()).or_default();
        let place = Place {
            position: Some(position),
            run: Some(envelope.stream()),
            version: Some(envelope.version()),
        };
        envelope
            .blobs()
            .iter()
            .filter(|(_, blob)| held.seen.insert(blob.commitment))
            .map(|(role, blob)| Wanted {
                stream: envelope.stream(),
                blob: *blob,
                role: role.clone(),
                place,
                judged: is_judged(envelope.event(), role),
            })
            .collect()
    }

    /// Compares what was found under a commitment; the error says why there was nothing.
    pub(super) fn settle(
        &mut self,
        wanted: &Wanted,
        found: Result<&Content, String>,
        findings: &mut Findings,
    ) {
        let role = &wanted.role;
        let content = match found {
            Ok(content) => content,
            Err(why) => {
                self.counts.unreadable = self.counts.unreadable.saturating_add(1);
                let detail = format!("the content {role} cannot be read: {why}");
                findings.add(wanted.place, FindingKind::ContentMissing, detail);
                return;
            }
        };
        let length = u64::try_from(content.bytes.len()).unwrap_or(u64::MAX);
        let why = if content.commitment() != wanted.blob.commitment {
            "has another commitment than the record names"
        } else if size_class(length) != wanted.blob.size {
            "has another size than the record tells"
        } else {
            self.counts.readable = self.counts.readable.saturating_add(1);
            if wanted.judged {
                let held = self.streams.entry(wanted.stream).or_default();
                let commitment = wanted.blob.commitment;
                held.aims.insert_checked(commitment, content.clone());
            }
            return;
        };
        self.counts.unreadable = self.counts.unreadable.saturating_add(1);
        let detail = format!("the content {role} {why}");
        findings.add(wanted.place, FindingKind::ContentDiffers, detail);
    }

    /// Where the calls of a run aim: all that judging them again reads.
    pub(super) fn of(&self, stream: StreamId) -> &Contents {
        self.streams
            .get(&stream)
            .map_or(&self.none, |held| &held.aims)
    }

    /// Whether a record of the stream named this content.
    pub(super) fn named(&self, stream: StreamId, commitment: &Commitment) -> bool {
        self.streams
            .get(&stream)
            .is_some_and(|held| held.seen.contains(commitment))
    }

    /// Lets go of what is not needed once a run has ended.
    pub(super) fn forget_ended(&mut self, envelope: &Envelope) {
        if matches!(envelope.event(), Event::RunFinished(_)) {
            self.forget(envelope.stream());
        }
    }

    /// Lets go of a stream.
    pub(super) fn forget(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }

    /// Learns what was read of a stream there.
    pub(super) fn borrow(&mut self, other: &Self, stream: StreamId) {
        let held = Held {
            seen: BTreeSet::new(),
            aims: other.of(stream).clone(),
        };
        self.streams.insert(stream, held);
    }
}

/// Whether judging a decision again reads the content of this role.
fn is_judged(event: &Event, role: &str) -> bool {
    let runs = |tool: &Name| tool.as_str() == EXECUTE_COMMAND;
    let command = match event {
        Event::CallProposed(proposed) => runs(&proposed.tool),
        // What the model wrote may be word for word what is proposed: one content, first named
        // here.
        Event::ModelReplied(replied) if role.starts_with("arguments.") => {
            let mut tools = replied.calls.iter().filter_map(|call| call.tool.as_ref());
            return tools.any(runs);
        }
        _ => false,
    };
    match role {
        "precondition" | "narrowing" | "text" | "entry" => true,
        "arguments" | "execute_arguments" | "program" => command,
        _ => false,
    }
}

/// Cuts what is wanted into batches of one stream each.
pub(super) fn batches(wanted: Vec<Wanted>) -> Vec<Vec<Wanted>> {
    let mut batches: Vec<Vec<Wanted>> = Vec::new();
    let mut by_stream: BTreeMap<StreamId, Vec<Wanted>> = BTreeMap::new();
    for one in wanted {
        by_stream.entry(one.stream).or_default().push(one);
    }
    for of_stream in by_stream.into_values() {
        let mut batch: Vec<Wanted> = Vec::new();
        let mut bytes = 0_u64;
        for one in of_stream {
            bytes = bytes.saturating_add(one.blob.size);
            if !batch.is_empty() && (bytes > BATCH_BYTES_MAX || batch.len() >= BATCH_CONTENTS_MAX) {
                bytes = one.blob.size;
                batches.push(std::mem::take(&mut batch));
            }
            batch.push(one);
        }
        batches.push(batch);
    }
    batches
}
