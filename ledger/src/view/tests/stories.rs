//! Cards and gate input where calls aim at one target, where some were denied before, and in doubt.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::{authority, bench, call, recorded};
use crate::approval::{Actor, Assurance, By, Channel};
use crate::audit::tests::example::{contents, run};
use crate::budget::{Tokens, Usd};
use crate::containment::Containment;
use crate::content::{Blob, Blobs, Content, Contents, Media, Salt, size_class};
use crate::digest::Digest;
use crate::envelope::{Envelope, Header};
use crate::event::{
    ApprovalDenied, ApprovalRequested, CallProposed, DoubtReason, Event, ExecutionInDoubt,
    ModelCalled, ModelReplied, ModelTask, NamedCall, Stop,
};
use crate::gate_input::{Hypothetical, Terms, gate_input, gate_needs};
use crate::id::{AnswerId, CallId, EventId, Version};
use crate::precondition::PreconditionKind;
use crate::risk::DeclaredRisk;
use crate::run::{RunState, evolve};
use crate::view::{Card, CardKind, DeniedBefore, Quorum};

/// The worked example up to some size, and what a test adds to it.
struct Story {
    state: RunState,
    contents: Contents,
}

impl Story {
    /// Up to where `rm` of `old.log` was denied and the model is called again.
    fn new() -> Self {
        Self::at(22)
    }

    fn at(size: usize) -> Self {
        let mut state = None;
        for recorded in recorded(size).into_iter().skip(2) {
            state = Some(evolve(state, &recorded.envelope).unwrap());
        }
        Self {
            state: state.unwrap(),
            contents: contents(),
        }
    }

    fn add(&mut self, event: Event, blobs: Blobs) -> Digest {
        let head = self.state.head();
        let header = Header {
            actor: Actor::Engine,
            at: head.at,
            cause: None,
            id: EventId::new(uuid::Uuid::nil()),
            ledger: self.state.ledger(),
            prev: head.digest,
            stream: run().stream(),
            version: head.version.next().unwrap(),
        };
        let envelope = Envelope::write(header, event, blobs).unwrap();
        self.state = evolve(Some(self.state.clone()), &envelope).unwrap();
        envelope.digest()
    }

    fn blob(&mut self, text: &str) -> Blob {
        Blob {
            commitment: self
                .contents
                .insert(Content::new(Salt([99; 32]), text.as_bytes())),
            media: Media::Json,
            size: size_class(text.len() as u64),
        }
    }

    fn reply(&mut self, calls: &[(&str, &str)]) {
        let named = |&(id, tool): &(&str, &str)| NamedCall {
            call: call(id),
            tool: Some(tool.parse().unwrap()),
        };
        let reply = ModelReplied {
            attempt: 1,
            calls: calls.iter().map(named).collect(),
            cost_usd: Usd::ZERO,
            stop: Stop::ToolCalls,
            used: Tokens::default(),
        };
        self.add(Event::ModelReplied(reply), Blobs::new());
    }

    fn call_model(&mut self) {
        let called = ModelCalled {
            attempt: 1,
            context: Digest::from_bytes([0; 32]),
            model: "script:tidy.toml".parse().unwrap(),
            reserved: Tokens::default(),
            reserved_usd: Usd::ZERO,
            task: ModelTask::Turn,
        };
        self.add(Event::ModelCalled(called), Blobs::new());
    }

    /// Proposes a call on `old.log`, with the precondition of the example and these arguments.
    fn propose(&mut self, id: &str, tool: &str, arguments: Blob) {
        let rm = self.state.call(call("c2")).unwrap().proposed().unwrap();
        let precondition = rm.precondition.unwrap();
        let event = CallProposed {
            missing: BTreeSet::new(),
            network: BTreeSet::new(),
            program: None,
            call: call(id),
            containment: Containment::InProcess,
            definition: rm.definition,
            execute: rm.execute.clone(),
            precondition: PreconditionKind::File,
            risk: DeclaredRisk::HighRisk,
            supersedes: None,
            tool: tool.parse().unwrap(),
        };
        let blobs = Blobs::from([
            (String::from("arguments"), arguments),
            (String::from("precondition"), precondition),
        ]);
        self.add(Event::CallProposed(event), blobs);
    }

    fn ask(&mut self, id: &str) -> Digest {
        let proposed = self.state.call(call(id)).unwrap().proposed().unwrap();
        let asked = ApprovalRequested {
            assessed: None,
            assurance: Assurance::SameUser,
            containment: None,
            missing: BTreeSet::new(),
            authority: Version::new(1),
            call: call(id),
            expires_at: self.state.head().at.plus_ms(1000),
            from: None,
            not_amender: false,
            not_starter: false,
            proposal: proposed.digest,
            quorum: 1,
            rule: "policy:false".parse().unwrap(),
            rules: self.state.started().rules,
            tier: DeclaredRisk::HighRisk,
        };
        self.add(Event::ApprovalRequested(asked), Blobs::new())
    }

    fn deny(&mut self, id: &str, request: Digest) {
        let denied = ApprovalDenied {
            answer: AnswerId::new(uuid::Uuid::nil()),
            authority: Version::new(1),
            by: By::Person {
                assurance: Assurance::SameUser,
                channel: Channel::Cli,
                principal: "uid:1000".parse().unwrap(),
            },
            call: call(id),
            request,
        };
        self.add(Event::ApprovalDenied(denied), Blobs::new());
    }

    fn card(&self, id: &str) -> Card {
        let call = self.state.call(call(id)).unwrap();
        Card::of(&self.state, call, &self.contents).unwrap()
    }

    fn repeats(&self, id: &str) -> Option<CallId> {
        let authority = authority();
        let bench = bench(&authority, &self.contents, &self.state);
        gate_input(&self.state, &self.contents, bench, call(id))
            .unwrap()
            .repeats
    }

    /// What a call that nobody made would repeat, if it were like this one.
    fn would_repeat(&self, id: &str) -> Option<CallId> {
        let proposed = self.state.call(call(id)).unwrap().proposed().unwrap();
        let bytes = |blob: Blob| self.contents.bytes(&blob.commitment).unwrap();
        let alike = Hypothetical {
            tool: &proposed.tool,
            paired: proposed.execute.is_some(),
            declared: proposed.declared,
            arguments: bytes(proposed.arguments),
            execute_arguments: proposed.execute_arguments.map(bytes),
            precondition: proposed.precondition.map(bytes),
            program: proposed.runs.map(bytes),
            class: proposed.program,
            network: &proposed.network,
            level: &proposed.level,
        };
        let authority = authority();
        let bench = bench(&authority, &self.contents, &self.state);
        let real = gate_input(&self.state, &self.contents, bench, call(id)).unwrap();
        let grants = bench.grants();
        let terms = Terms::of(&self.state, &self.contents, bench, &grants, real.offered);
        let repeats = alike.repeats(&self.state, &self.contents);
        let input = alike.input(terms, real.repeats);
        assert_eq!(format!("{input:?}"), format!("{real:?}"));
        repeats
    }
}

fn note(id: &str, note: Option<&str>) -> DeniedBefore {
    DeniedBefore {
        call: call(id),
        note: note.map(str::to_owned),
    }
}

#[test]
fn a_card_tells_earlier_denials_and_earlier_calls_of_the_same_target() {
    let mut story = Story::new();
    story.reply(&[("c4", "write_file"), ("c5", "rm")]);
    let write = story.blob(r#"{"content":"","path":"old.log"}"#);
    let remove = story.blob(r#"{"path":"./old.log"}"#);
    story.propose("c4", "write_file", write);
    story.ask("c4");
    story.propose("c5", "rm", remove);
    story.ask("c5");
    let (first, second) = (story.card("c4"), story.card("c5"));
    assert_eq!((first.depends_on, &first.denied_before), (None, &vec![]));
    assert_eq!(second.depends_on, Some(call("c4")));
    assert_eq!(second.denied_before, [note("c2", Some("keep the log"))]);
    assert_eq!(
        second.arguments,
        Some(serde_json::json!({"path": "./old.log"}))
    );
    assert_eq!(second.set, story.state.set_code());
    assert!(second.unreadable.is_empty());
}

#[test]
fn a_card_says_what_it_cannot_read_of_earlier_calls() {
    let mut story = Story::new();
    story.reply(&[("c4", "rm")]);
    let arguments = story.blob(r#"{"path":"./old.log"}"#);
    story.propose("c4", "rm", arguments);
    story.ask("c4");
    let denied = story.state.call(call("c2")).unwrap();
    let lost = denied.note().unwrap().commitment;
    let left = story.contents.iter().filter(|(held, _)| **held != lost);
    story.contents = left.fold(Contents::default(), |mut left, (held, content)| {
        left.insert_checked(*held, content.clone());
        left
    });
    let card = story.card("c4");
    assert_eq!(card.denied_before, [note("c2", None)]);
    assert_eq!(card.unreadable, ["c2.note"]);
}

#[test]
fn equal_arguments_repeat_a_denied_call_of_the_same_tool() {
    let mut story = Story::new();
    story.reply(&[("c4", "rm"), ("c5", "write_file")]);
    let denied = story.state.call(call("c2")).unwrap();
    let arguments = denied.proposed().unwrap().arguments;
    story.propose("c4", "rm", arguments);
    assert_eq!(story.repeats("c4"), Some(call("c2")));
    story.ask("c4");
    story.propose("c5", "write_file", arguments);
    assert_eq!(story.repeats("c5"), None);
    assert_eq!(story.repeats("c2"), None);
    assert_eq!(story.would_repeat("c4"), Some(call("c2")));
    assert_eq!(story.would_repeat("c5"), None);
    assert_eq!(story.would_repeat("c2"), Some(call("c2")));
}

#[test]
fn the_third_denial_of_a_target_is_the_last_that_is_asked_for() {
    let mut story = Story::new();
    for (id, arguments) in [("c4", "{\"n\":4}"), ("c5", "{\"n\":5}")] {
        story.reply(&[(id, "rm")]);
        let arguments = story.blob(arguments);
        story.propose(id, "rm", arguments);
        assert_eq!(story.repeats(id), None);
        let request = story.ask(id);
        story.deny(id, request);
        story.call_model();
    }
    story.reply(&[("c6", "rm"), ("c7", "write_file")]);
    let arguments = story.blob("{\"n\":6}");
    story.propose("c6", "rm", arguments);
    assert_eq!(story.repeats("c6"), Some(call("c5")));
    story.ask("c6");
    story.propose("c7", "write_file", arguments);
    assert_eq!(story.repeats("c7"), None);
    assert_eq!(story.would_repeat("c6"), Some(call("c5")));
    assert_eq!(story.would_repeat("c7"), None);
    let needs = gate_needs(&story.state, call("c6"));
    let some: BTreeMap<_, _> = needs
        .iter()
        .map(|held| (*held, story.contents.get(held).unwrap().clone()))
        .collect();
    let mut contents = Contents::default();
    for (held, content) in some {
        contents.insert_checked(held, content);
    }
    story.contents = contents;
    assert_eq!(story.repeats("c6"), Some(call("c5")));
}

#[test]
fn a_call_in_doubt_has_a_card_that_no_answer_can_name() {
    let mut story = Story::at(18);
    let doubt = ExecutionInDoubt {
        attempt: 1,
        call: call("c1"),
        reason: DoubtReason::Unknown,
    };
    story.add(Event::ExecutionInDoubt(doubt), Blobs::new());
    let card = story.card("c1");
    assert_eq!(card.kind, CardKind::InDoubt);
    let doubt = story.state.call(call("c1")).unwrap().doubt();
    assert!(doubt.is_some());
    // What a person's word on it names; no answer to an approval does.
    assert_eq!((card.request, &card.set), (doubt, &None));
    assert_eq!(card.quorum, Some(Quorum { need: 1, have: 1 }));
    assert_eq!(card.message.unwrap(), "Write notes.txt: 1 line added.");
    let granted = story.state.call(call("c3")).unwrap();
    assert_eq!(Card::of(&story.state, granted, &story.contents), None);
}
