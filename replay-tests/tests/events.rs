//! The catalogue of events: document and code say the same, every event is written and read, and no
//! record holds text of anybody else.

use std::collections::{BTreeMap, BTreeSet};

use placet_ledger::approval::{Actor, By, Channel};
use placet_ledger::content::Blobs;
use placet_ledger::digest::Digest;
use placet_ledger::envelope::{Envelope, Header};
use placet_ledger::event::{ApprovalGranted, AttemptKind, AttemptRefused, ClockStepped, Event};
use placet_ledger::id::{EventId, LedgerId, Name, RunId, StreamId, Version};
use placet_ledger::time::Timestamp;
use placet_replay::facts::{call, name};
use placet_replay::history::{self, History};
use placet_replay::source_tree::{Tree, documents};
use serde_json::Value;
use uuid::Uuid;

/// Every record of every canned run, and of the streams beside them.
async fn records() -> Vec<Envelope> {
    let mut records = Vec::new();
    for History { world, run, .. } in history::all().await.unwrap() {
        let recording = world.recording(run).await.unwrap();
        records.extend(recording.authority);
        records.extend(recording.run);
        records.extend(world.journal().await.unwrap());
    }
    records
}

/// An event of each kind: those that the canned runs have, and the few that they do not.
async fn samples() -> BTreeMap<&'static str, Vec<Event>> {
    let mut samples: BTreeMap<_, Vec<Event>> = BTreeMap::new();
    for record in records().await {
        let event = record.event().clone();
        samples.entry(event.name()).or_default().push(event);
    }
    let by_hand = [
        Event::ClockStepped(ClockStepped { step_ms: 6_000 }),
        Event::AttemptRefused(AttemptRefused {
            call: Some(call(1)),
            channel: Channel::Cli,
            count: 1,
            kind: AttemptKind::Answer,
            run: Some(RunId::new(Uuid::from_u128(1))),
        }),
    ];
    for event in by_hand {
        samples.entry(event.name()).or_default().push(event);
    }
    samples
}

#[tokio::test]
async fn there_is_a_sample_of_every_event() {
    let samples = samples().await;
    let missing: Vec<_> = Event::NAMES
        .iter()
        .filter(|name| !samples.contains_key(*name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(samples.len(), Event::NAMES.len());
}

#[tokio::test]
async fn the_document_and_the_code_list_the_same_events_and_classes() {
    let tree = Tree::of_workspace().unwrap();
    let document = tree.get("docs/EVENTS.md").unwrap();
    let rows = documents::event_rows(&document.text).unwrap();
    let written: Vec<_> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(written, Event::NAMES);
    let samples = samples().await;
    for row in rows {
        let classes: BTreeSet<_> = samples[row.name.as_str()]
            .iter()
            .map(|event| event.class().as_str().to_ascii_uppercase())
            .filter_map(|class| class.chars().next())
            .collect();
        let expected: BTreeSet<_> = row.classes.iter().copied().collect();
        assert_eq!(classes, expected, "{} in line {}", row.name, row.line);
    }
}

/// What the document says of an event's body, or of its content: field names, `[x]` optional.
fn fields(cell: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut depth = 0;
    // What stands in parentheses or braces explains.
    let plain: String = cell
        .chars()
        .filter(|c| {
            match c {
                '(' | '{' => depth += 1,
                ')' | '}' => depth -= 1,
                _ => return depth == 0,
            }
            false
        })
        .collect();
    let plain = plain.replace("[]", "");
    let words = plain
        .split([',', ';', ':'])
        .map(str::trim)
        .filter(|word| !word.is_empty() && !word.contains(' '));
    let (optional, required): (Vec<_>, Vec<_>) = words.partition(|word| word.starts_with('['));
    let bare = |words: Vec<&str>| {
        words
            .into_iter()
            .map(|word| word.trim_matches(['[', ']']).to_owned())
            .collect()
    };
    (bare(required), bare(optional))
}

#[tokio::test]
async fn every_body_has_the_fields_that_the_document_gives_it() {
    let tree = Tree::of_workspace().unwrap();
    let text = &tree.get("docs/EVENTS.md").unwrap().text;
    let samples = samples().await;
    let mut checked = 0;
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let Some(events) = samples.get(cells[0].trim_matches('`')) else {
            continue;
        };
        if cells.len() < 4 {
            continue;
        }
        let (required, optional) = fields(cells[2]);
        for event in events {
            let body = event.body().unwrap();
            let found: BTreeSet<String> = body.as_object().unwrap().keys().cloned().collect();
            let missing: Vec<_> = required.difference(&found).collect();
            // A grant is one of two kinds, and has the fields of one of them.
            let two = event.name() == "approval.granted";
            assert!(
                missing.is_empty() || two,
                "{}: without {missing:?}",
                event.name()
            );
            let extra: Vec<_> = found
                .iter()
                .filter(|field| !required.contains(*field) && !optional.contains(*field))
                .collect();
            assert!(extra.is_empty(), "{}: undocumented {extra:?}", event.name());
        }
        checked += 1;
    }
    assert_eq!(checked, Event::NAMES.len());
}

fn header() -> Header {
    Header {
        actor: Actor::Person {
            name: name("uid:1"),
        },
        at: Timestamp::EPOCH,
        cause: Some(EventId::new(Uuid::from_u128(4))),
        id: EventId::new(Uuid::from_u128(5)),
        ledger: LedgerId::new(Uuid::from_u128(6)),
        prev: Digest::from_bytes([7; 32]),
        stream: StreamId::new(Uuid::from_u128(8)),
        version: Version::new(9),
    }
}

#[tokio::test]
async fn every_event_is_read_as_it_was_written() {
    for (name, events) in samples().await {
        for event in events {
            let written = Envelope::write(header(), event.clone(), Blobs::new()).unwrap();
            let read = Envelope::parse(written.bytes().clone()).unwrap();
            assert_eq!(read, written);
            assert_eq!((read.event(), read.event().name()), (&event, name));
        }
    }
}

#[tokio::test]
async fn no_event_is_read_with_a_field_too_many_or_one_too_few() {
    for (name, events) in samples().await {
        let event = events[0].clone();
        let body = event.body().unwrap();
        let raw = Value::to_string;
        assert!(Event::parse(name, 1, &raw(&body)).is_ok(), "{name}");
        assert!(Event::parse(name, 2, &raw(&body)).is_err(), "{name}");
        let mut extra = body.clone();
        extra["zz_extra"] = Value::from(1);
        assert!(
            Event::parse(name, 1, &raw(&extra)).is_err(),
            "{name} with a field"
        );
        for field in body.as_object().unwrap().keys() {
            let mut fewer = body.clone();
            fewer.as_object_mut().unwrap().remove(field);
            let optional = [
                "kind",
                "of",
                "execute",
                "open",
                "call",
                "run",
                "request",
                "supersedes",
                "assessed",
                "demand",
                "exit",
                "expires_at",
                "missing",
                "model",
                "network",
                "plugin",
                "program",
                "prompt",
                "rule",
            ];
            let read = Event::parse(name, 1, &raw(&fewer));
            // What may be absent is an option in the payload, and is left out where it is none.
            let required = matches!(
                (name, field.as_str()),
                (
                    "approval.requested" | "question.asked",
                    "expires_at" | "rule"
                ) | ("run.started" | "model.called", "model")
            );
            let allowed = !required && optional.contains(&field.as_str())
                || matches!(event, Event::ModelReplied(_)) && field == "tool";
            assert!(read.is_err() || allowed, "{name} without {field}");
        }
    }
}

/// Words of closed lists that stand in records, in any place.
fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b"_-.".contains(&b))
}

/// Whether a string may stand in a record (docs/EVENTS.md, canonical bytes, rule 3).
fn may_stand(text: &str) -> bool {
    let is_media = ["text/plain", "text/x-diff", "application/json"].contains(&text);
    let is_decimal = text.parse::<placet_ledger::budget::Usd>().is_ok();
    is_word(text)
        || is_media
        || is_decimal
        || text.parse::<EventId>().is_ok()
        || text.parse::<placet_ledger::id::CallId>().is_ok()
        || text.parse::<Timestamp>().is_ok()
        || text.parse::<Digest>().is_ok()
        || text.parse::<Name>().is_ok()
}

fn strings<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(fields) => {
            for (key, field) in fields {
                found.push(key);
                strings(field, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[tokio::test]
async fn every_string_of_every_record_is_ours() {
    let mut names = BTreeSet::new();
    for record in records().await {
        names.insert(record.event().name());
        let value: Value = serde_json::from_slice(record.bytes()).unwrap();
        let mut found = Vec::new();
        strings(&value, &mut found);
        for text in found {
            assert!(may_stand(text), "{}: {text:?}", record.event().name());
        }
        assert!(!value.to_string().contains(":null"), "{value}");
    }
    assert!(names.len() >= Event::NAMES.len() - 2, "{names:?}");
}

/// Words that people, the model and tools use in the canned runs; each is content.
const SAID: [&str; 22] = [
    "Do it.",
    "You are tested.",
    "Done.",
    "Nothing to do.",
    "leave b alone",
    "go on",
    "not needed",
    "it is locked",
    "the provider is not well",
    "lokk",
    "theirs",
    "is set",
    "has changed since",
    "/simulated",
    "not even so",
    "I was too quick",
    "Which letter?",
    "Take the first letter.",
    "I looked myself",
    "And be quick.",
    "I have seen enough",
    "AGENTS.md",
];

#[tokio::test]
async fn no_word_of_people_models_or_tools_stands_in_a_record() {
    let mut contents = String::new();
    for History { world, run, .. } in history::all().await.unwrap() {
        let recording = world.recording(run).await.unwrap();
        for record in &recording.run {
            let text = String::from_utf8(record.bytes().to_vec()).unwrap();
            for said in SAID {
                assert!(!text.contains(said), "{said:?} stands in {text}");
            }
        }
        for (_, content) in recording.contents.iter() {
            contents.push_str(&String::from_utf8_lossy(&content.bytes));
        }
    }
    for said in SAID {
        let kept = contents.contains(said) || ["theirs"].contains(&said);
        assert!(kept, "{said:?} is said in no canned run");
    }
}

#[tokio::test]
async fn every_size_in_a_record_is_a_class_and_no_content_is_named_by_its_bare_hash() {
    for History { world, run, .. } in history::all().await.unwrap() {
        let recording = world.recording(run).await.unwrap();
        let mut records = String::new();
        for record in &recording.run {
            records.push_str(&String::from_utf8_lossy(record.bytes()));
            for blob in record.blobs().values() {
                let content = recording.contents.get(&blob.commitment).unwrap();
                let length = content.bytes.len() as u64;
                assert_eq!(blob.size, placet_ledger::content::size_class(length));
            }
        }
        for (_, content) in recording.contents.iter() {
            let purpose = placet_ledger::digest::Purpose::File;
            let bare = placet_ledger::digest::digest(purpose, &content.bytes);
            assert!(!records.contains(&bare.to_string()));
        }
    }
}

#[tokio::test]
async fn each_record_names_who_caused_it() {
    for record in records().await {
        let actor = &record.header().actor;
        let person = matches!(actor, Actor::Person { .. });
        let expected = match record.event() {
            Event::RunStarted(_)
            | Event::ApprovalDenied(_)
            | Event::ApprovalGranted(ApprovalGranted::ByPerson(_))
            | Event::LimitsTightened(_)
            | Event::ToolsNarrowed(_)
            | Event::RunCancelRequested(_)
            | Event::PromptAdded(_)
            | Event::ApprovalRevoked(_)
            | Event::QuestionAnswered(_)
            | Event::PolicyChanged(_)
            | Event::ToolAllowed(_)
            | Event::LedgerCreated(_)
            | Event::GrantAdded(_)
            | Event::GrantRevoked(_)
            | Event::RulesAdopted(_) => person,
            Event::CallProposed(proposed) => person == proposed.supersedes.is_some(),
            Event::ExecutionSettled(settled) => person == settled.by.is_person(),
            Event::ApprovalExpired(_) => *actor == Actor::Clock,
            Event::ApprovalRequested(_) | Event::QuestionAsked(_) => *actor == Actor::Policy,
            Event::ApprovalGranted(ApprovalGranted::Automatic(grant)) => match grant.by {
                By::List { .. } | By::Grant { .. } => *actor == Actor::Allowlist,
                By::Policy { .. } | By::Rule { .. } | By::Person { .. } | By::Tool => {
                    *actor == Actor::Policy
                }
            },
            _ => matches!(actor, Actor::Engine | Actor::Policy),
        };
        assert!(expected, "{} by {actor:?}", record.event().name());
    }
}
