//! A client that was written by somebody else: what it forges changes no run, gives no permit,
//! keeps nobody else from being served, and is counted in the journal.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use placet_ledger::answers::AnswerSet;
use placet_ledger::approval::{Answer, CallAnswer};
use placet_ledger::containment::Level;
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::event::{AttemptKind, Event};
use placet_ledger::id::RunId;
use placet_ledger::remote::socket;
use placet_ledger::run::Command;
use placet_replay::cut;
use placet_replay::facts::call;
use placet_replay::reach::{Owned, Reach, SOCKET_KEY, within};
use placet_replay::script::{self, Script};
use placet_replay::world::{Drove, Options, World};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::proxy;

/// A connection that says whatever it wants.
struct Raw(UnixStream);

fn part(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap();
    [&length.to_be_bytes()[..], bytes].concat()
}

fn framed(message: &Value, attachments: &[&[u8]]) -> Vec<u8> {
    let header = json!({"attachments": attachments.len(), "message": message});
    let mut bytes = part(header.to_string().as_bytes());
    for attachment in attachments {
        bytes.extend(part(attachment));
    }
    bytes
}

/// The header of a message, if one comes before the other side closes.
fn header(mut from: &UnixStream) -> Option<Value> {
    let message = proxy::message(&mut from)?;
    let length = u32::from_be_bytes(message[..4].try_into().unwrap());
    let end = 4 + usize::try_from(length).unwrap();
    let header: Value = serde_json::from_slice(&message[4..end]).unwrap();
    Some(header["message"].clone())
}

impl Raw {
    fn connect(owned: &Owned) -> Self {
        Self(socket::connect(owned.home.path()).unwrap())
    }

    fn say(&mut self, message: &Value, attachments: &[&[u8]]) -> Option<Value> {
        // The other side may close before all was said.
        drop(self.0.write_all(&framed(message, attachments)));
        header(&self.0)
    }

    /// Says hello with this key, as what speaks this; gives back the last word of the owner.
    fn hello(&mut self, key: [u8; 32], build: &Value) -> Option<Value> {
        let nonce = Digest::from_bytes([9; 32]);
        let hello = json!({"build": build, "nonce": nonce});
        let said = self.say(&hello, &[])?;
        let owner: Digest = serde_json::from_value(said["nonce"].clone()).unwrap();
        let parts = [&key[..], nonce.as_bytes(), owner.as_bytes()].concat();
        self.say(&json!({"proof": digest(Purpose::SocketPeer, &parts)}), &[])
    }

    fn at_home(owned: &Owned) -> Self {
        let mut raw = Self::connect(owned);
        let welcome = raw.hello(SOCKET_KEY, &build()).unwrap();
        assert!(welcome["welcome"].is_u64(), "{welcome}");
        raw
    }

    fn ask(&mut self, ask: &Value, attachments: &[&[u8]]) -> Option<Value> {
        let answer = self.say(&json!({"number": 1, "ask": ask}), attachments)?;
        Some(answer["reply"].clone())
    }
}

fn build() -> Value {
    json!({"protocol": 1, "format": 1, "release": "0.1.0"})
}

/// A run that waits for two answers, its owner, and what the log was.
struct Place {
    world: World,
    run: RunId,
    owned: Owned,
    /// Every record outside of the journal.
    log: Vec<Vec<u8>>,
}

impl Place {
    async fn new() -> Self {
        let mut world = World::new().await.unwrap();
        let set = |key| script::call("set", &json!({"key": key, "value": "1"}));
        let script = Script::new().calls([set("a"), set("b")]).says("Done.");
        let (run, drove) = world.run(script, Options::default()).await.unwrap();
        assert_eq!(drove, Drove::Waits);
        let owned = Owned::new(world.parts()).await.unwrap();
        let mut place = Self {
            world,
            run,
            owned,
            log: Vec::new(),
        };
        place.log = place.read().await.0;
        place
    }

    /// What is in the log outside of the journal, and what the journal counts.
    async fn read(&self) -> (Vec<Vec<u8>>, Vec<AttemptKind>) {
        let (mut log, mut attempts) = (Vec::new(), Vec::new());
        for record in cut::log(&**self.world.store()).await.unwrap() {
            match record.event() {
                Event::AttemptRefused(attempt) => attempts.push(attempt.kind),
                _ => log.push(record.bytes().to_vec()),
            }
        }
        (log, attempts)
    }

    /// Nothing came of it but this note in the journal, and others are served.
    async fn assert_nothing(&self, before: usize, kind: Option<AttemptKind>, what: &str) {
        let mut other = Raw::at_home(&self.owned);
        let tail = other.ask(&json!({"tail": {}}), &[]).unwrap();
        assert!(tail["tail"]["size"].is_u64(), "{what}: {tail}");
        let (log, attempts) = self.read().await;
        assert!(log == self.log, "{what}: a record came of it");
        assert_eq!(
            attempts[before..],
            kind.into_iter().collect::<Vec<_>>(),
            "{what}"
        );
        assert_eq!(self.world.tools.executed(), 0, "{what}");
    }

    async fn attempts(&self) -> usize {
        self.read().await.1.len()
    }

    fn set(&self, request: Digest, calls: &[u32]) -> Value {
        let line = |number: &u32| CallAnswer {
            call: call(*number),
            request,
            answer: Answer::Approve,
            note: None,
        };
        let pending = calls
            .iter()
            .map(|number| (call(*number), request))
            .collect();
        let lines = calls.iter().map(line).collect::<Vec<_>>();
        let set = AnswerSet::covering(self.world.answer_id(), &pending, lines).unwrap();
        serde_json::to_value(set).unwrap()
    }
}

fn sending() -> Value {
    json!({"id": "00000000-0000-4000-8000-000000000001", "again": false, "since": null})
}

fn within_place(work: impl AsyncFn(Place)) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    within(Reach::HereAsUser, || {
        runtime.block_on(async { work(Place::new().await).await });
    });
}

/// Every message that a client may send, with nothing forged in it.
fn messages(place: &Place) -> Vec<Value> {
    let (run, stream) = (place.run, place.run.stream());
    let set = place.set(Digest::from_bytes([3; 32]), &[1, 2]);
    vec![
        json!({"tail": {}}),
        json!({"read_run": {"stream": stream, "from": 0, "limit": 10}}),
        json!({"read_all": {"from": 0, "limit": 10}}),
        json!({"contents": {"stream": stream, "commitments": []}}),
        json!({"news": {"run": run, "known": null}}),
        json!({"left": {"seat": 0}}),
        json!({"driver": {"run": run}}),
        json!({"new_driver": {}}),
        json!({"commit": {"run": run}}),
        json!({"expire": {"run": run}}),
        json!({"unjudged": {"run": run, "call": call(1)}}),
        json!({"note_refused": {"run": run, "channel": "cli"}}),
        json!({"answer": {"run": run, "channel": "cli", "set": set}}),
        json!({"act": {"run": run, "channel": "cli", "command": Command::Prompt, "texts": [],
            "sending": sending()}}),
        json!({"handle": {"run": run, "by": "driver", "seen": 0, "command": Command::Expire,
            "texts": [], "sending": sending()}}),
        json!({"begin": {"run": run, "call": call(1), "active_ms": 0,
            "level": Level::of(BTreeSet::new()), "sending": sending()}}),
    ]
}

#[test]
fn a_field_more_than_a_message_has_is_no_message_and_closes_the_connection() {
    within_place(async |place| {
        let forged = [
            ("actor", json!({"person": {"name": "alice"}})),
            ("at", json!("2026-12-01T00:00:00Z")),
            ("id", json!("00000000-0000-4000-8000-000000000009")),
            ("prev", json!(Digest::from_bytes([1; 32]))),
            ("by", json!({"person": "alice"})),
            ("verdict", json!({"approve": {}})),
            ("envelope", json!({})),
            ("permit", json!({})),
        ];
        let mut tried = 0;
        for (number, message) in messages(&place).into_iter().enumerate() {
            let (field, value) = &forged[number % forged.len()];
            let (name, body) = message.as_object().unwrap().iter().next().unwrap();
            let mut body = body.clone();
            if body.get(field).is_some() {
                continue;
            }
            body[field] = value.clone();
            let before = place.attempts().await;
            let mut raw = Raw::at_home(&place.owned);
            assert_eq!(
                raw.ask(&json!({name: body}), &[]),
                None,
                "{name} with {field}"
            );
            let frame = Some(AttemptKind::Frame);
            place
                .assert_nothing(before, frame, &format!("{name} with {field}"))
                .await;
            tried += 1;
        }
        assert!(tried > 12, "{tried}");
    });
}

#[test]
fn the_same_messages_without_it_are_answered() {
    within_place(async |place| {
        for message in messages(&place) {
            let mut raw = Raw::at_home(&place.owned);
            let reply = raw.ask(&message, &[]);
            assert!(reply.is_some(), "{message}");
        }
        assert_eq!(place.world.tools.executed(), 0);
    });
}

#[test]
fn what_is_no_message_is_counted_and_closes_the_connection() {
    within_place(async |place| {
        let run = place.run;
        let record = place.log.last().unwrap().clone();
        let garbage: Vec<(&str, Vec<u8>)> = vec![
            ("no JSON", part(b"}{")),
            ("not UTF-8", part(&[0xff; 32])),
            ("no message", framed(&json!({}), &[])),
            (
                "a message of no kind",
                framed(&json!({"number": 1, "ask": {"append": {}}}), &[]),
            ),
            (
                "a record",
                framed(&serde_json::from_slice(&record).unwrap(), &[]),
            ),
            (
                "a verdict of the gate",
                framed(
                    &json!({"number": 1, "ask": {"handle": {
                "run": run, "by": "gate", "seen": null, "command": {"gate": {"call": call(1)}},
                "texts": [], "sending": sending()}}}),
                    &[],
                ),
            ),
            ("a header without an end", u32::MAX.to_be_bytes().to_vec()),
            (
                "an attachment without an end",
                [
                    part(br#"{"attachments":1,"message":{"number":1,"ask":{"tail":{}}}}"#),
                    u32::MAX.to_be_bytes().to_vec(),
                ]
                .concat(),
            ),
            (
                "too many attachments",
                part(br#"{"attachments":4097,"message":{"number":1,"ask":{"tail":{}}}}"#),
            ),
            (
                "fewer than none",
                part(br#"{"attachments":-1,"message":{"number":1,"ask":{"tail":{}}}}"#),
            ),
        ];
        for (what, bytes) in garbage {
            let before = place.attempts().await;
            let mut raw = Raw::at_home(&place.owned);
            raw.0.write_all(&bytes).unwrap();
            assert_eq!(header(&raw.0), None, "{what}");
            place
                .assert_nothing(before, Some(AttemptKind::Frame), what)
                .await;
        }
    });
}

#[test]
fn half_a_message_is_none_and_nobody_waits_for_the_rest() {
    within_place(async |place| {
        let whole = framed(
            &json!({"number": 1, "ask": {"commit": {"run": place.run}}}),
            &[b"abc"],
        );
        for end in [1, 4, 20, whole.len() - 1] {
            let before = place.attempts().await;
            let mut raw = Raw::at_home(&place.owned);
            raw.0.write_all(&whole[..end]).unwrap();
            raw.0.shutdown(Shutdown::Write).unwrap();
            assert_eq!(header(&raw.0), None, "{end}");
            place.assert_nothing(before, None, "half a message").await;
        }
    });
}

/// What does not fit the run, with what the journal counts of it.
fn misfits(place: &Place) -> Vec<(&'static str, Option<AttemptKind>, Value)> {
    let run = place.run;
    let foreign = place.set(Digest::from_bytes([3; 32]), &[1, 2]);
    let others = place.set(Digest::from_bytes([3; 32]), &[7, 8]);
    let begin = Command::Begin {
        call: call(1),
        active_ms: 0,
        level: Level::of(BTreeSet::new()),
    };
    let handle = |by: Value, command: &Value| {
        json!({"handle": {"run": run, "by": by,
            "seen": null, "command": command, "texts": [], "sending": sending()}})
    };
    let answer = json!({"answer": foreign});
    let begin = serde_json::to_value(begin).unwrap();
    let begins = |id: &str, again: bool| {
        json!({"begin": {"run": run, "call": call(1),
            "active_ms": 0, "level": Level::of(BTreeSet::new()),
            "sending": {"id": id, "again": again, "since": null}}})
    };
    let id = "00000000-0000-4000-8000-000000000002";
    let (answered, permit) = (Some(AttemptKind::Answer), Some(AttemptKind::Permit));
    vec![
        (
            "an answer to other requests",
            answered,
            json!({"answer": {"run": run, "channel": "cli", "set": foreign}}),
        ),
        (
            "an answer about other calls",
            answered,
            json!({"answer": {"run": run, "channel": "cli", "set": others}}),
        ),
        (
            "an answer that is staged",
            answered,
            handle(json!({"person": "cli"}), &answer),
        ),
        (
            "an answer of a driver",
            answered,
            handle(json!("driver"), &answer),
        ),
        (
            "a start that is staged",
            permit,
            handle(json!("driver"), &begin),
        ),
        ("a start of what waits", None, begins(id, false)),
        ("a start that was never sent before", None, begins(id, true)),
        (
            "a verdict on what waits",
            None,
            handle(json!("driver"), &json!({"gate": {"call": call(1)}})),
        ),
        (
            "texts that are not attached",
            None,
            json!({"act": {"run": run, "channel": "cli",
                "command": Command::Prompt, "texts": [["text", "text/plain"]],
                "sending": sending()}}),
        ),
        ("the way of another one", None, json!({"left": {"seat": 0}})),
    ]
}

#[test]
fn answers_starts_and_texts_that_do_not_fit_are_refused() {
    within_place(async |place| {
        for (what, kind, ask) in misfits(&place) {
            let before = place.attempts().await;
            let mut raw = Raw::at_home(&place.owned);
            let reply = raw.ask(&ask, &[]);
            let refused = reply
                .as_ref()
                .is_some_and(|reply| reply.get("failed").is_some());
            let is_left = ask.get("left").is_some();
            assert!(refused || is_left, "{what}: {reply:?}");
            place.assert_nothing(before, kind, what).await;
        }
    });
}

#[test]
fn whoever_does_not_have_the_key_or_speaks_otherwise_is_not_served() {
    within_place(async |place| {
        let before = place.attempts().await;
        let mut raw = Raw::connect(&place.owned);
        let refused = raw.hello([6; 32], &build()).unwrap();
        assert!(refused["refused"].is_string(), "{refused}");
        assert_eq!(raw.ask(&json!({"tail": {}}), &[]), None);
        place
            .assert_nothing(before, Some(AttemptKind::Frame), "another key")
            .await;
        for (protocol, format) in [(2, 1), (1, 2), (0, 0)] {
            let before = place.attempts().await;
            let mut raw = Raw::connect(&place.owned);
            let other = json!({"protocol": protocol, "format": format, "release": "9.9.9"});
            assert_eq!(raw.hello(SOCKET_KEY, &other), None);
            place.assert_nothing(before, None, "another build").await;
        }
    });
}

#[test]
fn a_proof_is_of_one_connection_alone() {
    within_place(async |place| {
        let nonce = Digest::from_bytes([9; 32]);
        let hello = json!({"build": build(), "nonce": nonce});
        let mut first = Raw::connect(&place.owned);
        let said = first.say(&hello, &[]).unwrap();
        let owner: Digest = serde_json::from_value(said["nonce"].clone()).unwrap();
        let proof = [&SOCKET_KEY[..], nonce.as_bytes(), owner.as_bytes()].concat();
        let proof = json!({"proof": digest(Purpose::SocketPeer, &proof)});
        assert!(first.say(&proof, &[]).unwrap()["welcome"].is_u64());
        let before = place.attempts().await;
        let mut second = Raw::connect(&place.owned);
        second.say(&hello, &[]).unwrap();
        let refused = second.say(&proof, &[]).unwrap();
        assert!(refused["refused"].is_string(), "{refused}");
        place
            .assert_nothing(before, Some(AttemptKind::Frame), "an old proof")
            .await;
    });
}

#[test]
fn neither_many_connections_nor_one_that_reads_nothing_hold_up_others_or_the_end() {
    within_place(async |place| {
        let mut lazy: Vec<_> = (0..5).map(|_| Raw::at_home(&place.owned)).collect();
        let all = json!({"number": 1, "ask": {"read_all": {"from": 0, "limit": 256}}});
        for raw in &mut lazy {
            raw.0.set_nonblocking(true).unwrap();
            // Until its answers fill the connection and it is not read from any more.
            while raw.0.write_all(&framed(&all, &[])).is_ok() {}
        }
        let many: Vec<_> = (0..200).map(|_| Raw::connect(&place.owned)).collect();
        let served = |raw: &mut Raw| raw.hello(SOCKET_KEY, &build()).is_some();
        let mut many = many;
        let count = many
            .iter_mut()
            .take(60)
            .filter_map(|raw| served(raw).then_some(()))
            .count();
        assert_eq!(count, 60);
        drop(many);
        let Place { owned, world, .. } = place;
        drop(owned);
        assert_eq!(world.tools.executed(), 0);
        let mut rest = Vec::new();
        lazy[0].0.set_nonblocking(false).unwrap();
        drop(lazy[0].0.read_to_end(&mut rest));
        let _kept: Arc<_> = world.store().clone();
    });
}
