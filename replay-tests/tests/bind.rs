//! An approval binds to all that was shown and all that will run: whatever of it is changed
//! afterwards, nothing is executed.

use std::sync::Arc;

use placet_ledger::approval::By;
use placet_ledger::content::{Commitment, Content, Salt};
use placet_ledger::digest::{Purpose, digest};
use placet_ledger::envelope::Envelope;
use placet_ledger::error::LedgerError;
use placet_ledger::event::{
    ApprovalGranted, Automatic, ByPerson, Event, ExecutionStarted, Settlement,
};
use placet_ledger::id::RunId;
use placet_ledger::policy::ApprovalPolicy;
use placet_replay::cut;
use placet_replay::facts::{EXPIRY_MS, call};
use placet_replay::facts::{
    Fact, approved, asked, began, called, cancel_requested, cleared as granted, denied, proposed,
    replied, settled, somebody, started, succeeded, taken_up,
};
use placet_replay::mutate::mutants;
use placet_replay::scenario::{can_follow, given};
use placet_replay::script::{self, Script};
use placet_replay::tampering_store::TamperingStore;
use placet_replay::world::{Drove, Options, World, WorldError, ledger_id};
use serde_json::json;

/// A run of which two calls are allowed and none is started.
struct Allowed {
    world: World,
    run: RunId,
    size: usize,
}

fn two() -> Script {
    let set = |key| script::call("set", &json!({"key": key, "value": "1"}));
    Script::new().calls([set("a"), set("b")]).says("Done.")
}

/// Allowed by a person, who was asked.
async fn answered() -> Allowed {
    let mut world = World::new().await.unwrap();
    let (run, drove) = world.run(two(), Options::default()).await.unwrap();
    assert_eq!(drove, Drove::Waits);
    world.approve(run).await.unwrap();
    let size = cut::log(&**world.store()).await.unwrap().len();
    Allowed { world, run, size }
}

/// Allowed by the policy.
async fn cleared() -> Allowed {
    let mut world = World::new().await.unwrap();
    let tools = world.tools.copy();
    let options = Options {
        policy: ApprovalPolicy::HighRisk,
        ..Options::default()
    };
    let (run, _) = world.run(two(), options).await.unwrap();
    let log = cut::log(&**world.store()).await.unwrap();
    let started = |record: &Envelope| matches!(record.event(), Event::ExecutionStarted(_));
    let size = log.iter().position(started).unwrap();
    let name = world.state(run).await.unwrap().started().model.clone();
    tools.add_model(name, world.model(run).unwrap().clone());
    let store = cut::prefix(&**world.store(), ledger_id(), size)
        .await
        .unwrap();
    let world = world.left(store, tools).await.unwrap();
    Allowed { world, run, size }
}

impl Allowed {
    /// The same again, over a store that can be changed, in a process that has folded the run.
    async fn again(&self) -> (World, Arc<TamperingStore>) {
        let copy = cut::prefix(&**self.world.store(), ledger_id(), self.size).await;
        let store = TamperingStore::new(copy.unwrap());
        let tools = self.world.tools.copy();
        let world = self.world.left(store.clone(), tools).await.unwrap();
        world.ledger().look(self.run, |_, _| ()).await.unwrap();
        (world, store)
    }

    async fn records(&self) -> Vec<Envelope> {
        let log = cut::log(&**self.world.store()).await.unwrap();
        log.into_iter().take(self.size).collect()
    }

    /// The records on which the execution of c1 rests, with their places in the log.
    async fn of_first_call(&self) -> Vec<(usize, Envelope)> {
        let about = |record: &Envelope| match record.event() {
            Event::CallProposed(event) => event.call == call(1),
            Event::ApprovalRequested(event) => event.call == call(1),
            Event::ApprovalGranted(event) => event.call() == call(1),
            _ => false,
        };
        let records = self.records().await.into_iter().enumerate();
        records.filter(|(_, record)| about(record)).collect()
    }
}

/// Drives, and holds that it failed with nothing executed and nothing started.
async fn assert_nothing_runs(case: &str, world: &mut World, store: &TamperingStore, run: RunId) {
    let drove = world.drive(run).await;
    assert!(drove.is_err(), "{case}: {drove:?}");
    assert_eq!(world.tools.executed(), 0, "{case}: {:?}", world.tools.ran());
    let rows = store.rows().await.unwrap();
    let started = |row: &placet_replay::tampering_store::Row| {
        matches!(row.record().unwrap().event(), Event::ExecutionStarted(_))
    };
    assert!(!rows.iter().any(started), "{case}: it was started");
}

#[tokio::test]
async fn with_nothing_changed_both_calls_run() {
    for allowed in [answered().await, cleared().await] {
        let (mut world, _) = allowed.again().await;
        world.drive(allowed.run).await.unwrap();
        assert_eq!(world.tools.executions(call(1)), 1);
        assert_eq!(world.tools.executions(call(2)), 1);
    }
}

#[tokio::test]
async fn a_change_of_any_field_of_any_record_under_an_execution_prevents_it() {
    for (allowed, records) in [(answered().await, 3), (cleared().await, 2)] {
        let of_call = allowed.of_first_call().await;
        assert_eq!(of_call.len(), records);
        let digests = other_digests(&allowed.records().await);
        for (at, record) in of_call {
            let mutants = mutants(&record, &digests);
            let name = record.event().name();
            assert!(mutants.len() > 20, "{name}: only {}", mutants.len());
            for mutant in mutants {
                let case = format!("{name}, {}", mutant.what);
                let (mut world, store) = allowed.again().await;
                let mut rows = store.rows().await.unwrap();
                rows[at].bytes = mutant.bytes;
                store.serve(rows);
                assert_nothing_runs(&case, &mut world, &store, allowed.run).await;
            }
        }
    }
}

/// Commitments and digests that stand elsewhere in the log, and so name something that is there.
fn other_digests(records: &[Envelope]) -> Vec<String> {
    let proposed = records.iter().rev().find(
        |record| matches!(record.event(), Event::CallProposed(event) if event.call == call(2)),
    );
    let proposed = proposed.unwrap();
    let blobs = proposed
        .blobs()
        .values()
        .map(|blob| blob.commitment.to_string());
    blobs.chain([proposed.digest().to_string()]).collect()
}

#[tokio::test]
async fn a_record_that_is_exchanged_for_one_of_another_call_prevents_the_execution() {
    let allowed = answered().await;
    let of_call = allowed.of_first_call().await;
    for (at, record) in &of_call {
        for other in 0..allowed.size {
            if other == *at {
                continue;
            }
            let (mut world, store) = allowed.again().await;
            let mut rows = store.rows().await.unwrap();
            rows[*at].bytes = rows[other].bytes.clone();
            store.serve(rows);
            let case = format!("{} became record {other}", record.event().name());
            assert_nothing_runs(&case, &mut world, &store, allowed.run).await;
        }
        let (mut world, store) = allowed.again().await;
        let mut rows = store.rows().await.unwrap();
        rows.remove(*at);
        store.serve(rows);
        let case = format!("{} is gone", record.event().name());
        assert_nothing_runs(&case, &mut world, &store, allowed.run).await;
    }
}

#[tokio::test]
async fn a_change_of_any_content_that_was_shown_or_will_run_prevents_the_execution() {
    let allowed = answered().await;
    let (_, proposed) = allowed.of_first_call().await.swap_remove(0);
    let names: Vec<_> = proposed.blobs().keys().cloned().collect();
    assert_eq!(
        names,
        [
            "arguments",
            "execute_arguments",
            "message",
            "precondition",
            "preview"
        ]
    );
    let stream = allowed.run.stream();
    for (name, blob) in proposed.blobs() {
        let commitment: Commitment = blob.commitment;
        let read = allowed.world.store().content(stream, &[commitment]).await;
        let genuine = read.unwrap().get(&commitment).unwrap().clone();
        let longer = [&genuine.bytes[..], b" "].concat();
        let evil = json!({"key": "a", "to": "evil"}).to_string().into_bytes();
        for (what, served) in [
            ("is gone", None),
            ("has a space more", Some(Content::new(genuine.salt, longer))),
            ("is another", Some(Content::new(genuine.salt, evil))),
            (
                "has another salt",
                Some(Content::new(Salt([7; 32]), genuine.bytes.clone())),
            ),
        ] {
            let case = format!("{name} {what}");
            let (mut world, store) = allowed.again().await;
            store.serve_content(commitment, served.clone());
            assert_nothing_runs(&case, &mut world, &store, allowed.run).await;
            // As a process that finds the store like that.
            let (mut world, store) = allowed.again().await;
            store.serve_content(commitment, served);
            world.restart().await.unwrap();
            assert_nothing_runs(&case, &mut world, &store, allowed.run).await;
        }
    }
}

#[tokio::test]
async fn a_process_that_finds_a_record_changed_before_the_last_one_does_not_drive_the_run() {
    let allowed = answered().await;
    let mut records = allowed.of_first_call().await;
    records.retain(|(at, _)| at + 1 < allowed.size);
    for (at, record) in records {
        for mutant in mutants(&record, &[]) {
            let (mut world, store) = allowed.again().await;
            let mut rows = store.rows().await.unwrap();
            rows[at].bytes = mutant.bytes;
            store.serve(rows);
            world.restart().await.unwrap();
            let error = world.drive(allowed.run).await.unwrap_err();
            let case = format!("{}, {}: {error}", record.event().name(), mutant.what);
            assert!(
                matches!(error, WorldError::Ledger(LedgerError::Quarantined { .. })),
                "{case}"
            );
            assert_eq!(world.tools.executed(), 0, "{case}");
        }
    }
}

/// Facts, after which one more is forged.
fn forged(facts: Vec<Fact>, forgery: &Fact) -> Result<(), String> {
    let scenario = given(facts);
    let decided = forgery.build(scenario.state());
    can_follow(scenario, decided.event, decided.blobs)
}

/// A run with two calls, both asked about.
fn asked_twice() -> Vec<Fact> {
    let (first, second) = (proposed(1), proposed(2));
    let begin = [started(), taken_up(1), called(), replied(&["set", "set"])];
    begin
        .into_iter()
        .chain([first, asked(1), second, asked(2)])
        .collect()
}

fn after(more: impl IntoIterator<Item = Fact>) -> Vec<Fact> {
    asked_twice().into_iter().chain(more).collect()
}

/// One forgery: what it is, what went before, the event, and whether it may stand there.
type Forgery = (&'static str, Vec<Fact>, Fact, bool);

/// A start of c1 with this change.
fn begun(change: fn(&mut ExecutionStarted)) -> Fact {
    began(1).but(move |event| {
        if let Event::ExecutionStarted(body) = event {
            change(body);
        }
    })
}

/// An approval of c1 by a person with this change.
fn by_person(change: fn(&mut ByPerson)) -> Fact {
    approved(1).but(move |event| {
        if let Event::ApprovalGranted(ApprovalGranted::ByPerson(body)) = event {
            change(body);
        }
    })
}

/// An automatic grant of c1 with this change.
fn automatic(change: fn(&mut Automatic)) -> Fact {
    granted(1).but(move |event| {
        if let Event::ApprovalGranted(ApprovalGranted::Automatic(body)) = event {
            change(body);
        }
    })
}

/// Both calls are approved.
fn both() -> Vec<Fact> {
    after([approved(1), approved(2)])
}

/// Both calls are approved, and c1 was begun.
fn begun_once(more: impl IntoIterator<Item = Fact>) -> Vec<Fact> {
    let facts = both().into_iter().chain([began(1)]);
    facts.chain(more).collect()
}

/// A run with one call, of which nothing was said yet.
fn proposed_once() -> Vec<Fact> {
    let begin = [started(), taken_up(1), called(), replied(&["set"])];
    begin.into_iter().chain([proposed(1)]).collect()
}

fn forged_starts() -> Vec<Forgery> {
    vec![
        ("a start", both(), began(1), true),
        ("a start of what is pending", asked_twice(), began(1), false),
        (
            "a start while another call is pending",
            after([approved(1)]),
            began(1),
            false,
        ),
        (
            "a start of what was denied",
            after([denied(1), approved(2)]),
            began(1),
            false,
        ),
        (
            "another proposal",
            both(),
            begun(|e| e.proposal = digest(Purpose::Proposal, b"x")),
            false,
        ),
        ("another epoch", both(), begun(|e| e.epoch = 7), false),
        ("a later attempt", both(), begun(|e| e.attempt = 2), false),
        ("an attempt 0", both(), begun(|e| e.attempt = 0), false),
        (
            "an unknown call",
            both(),
            begun(|e| e.call = call(9)),
            false,
        ),
        (
            "a cancelled run",
            after([approved(1), approved(2), cancel_requested()]),
            began(1),
            false,
        ),
    ]
}

fn forged_repeats() -> Vec<Forgery> {
    vec![
        ("a second start", begun_once([]), began(1), false),
        ("two at once", begun_once([]), began(2), false),
        (
            "a start of what is done",
            begun_once([succeeded(1)]),
            began(1),
            false,
        ),
        (
            "a second start after not done",
            begun_once([settled(1, Settlement::NotDone)]),
            began(1),
            true,
        ),
        (
            "a second start after done",
            begun_once([settled(1, Settlement::Done)]),
            began(1),
            false,
        ),
        ("an outcome of nothing", both(), succeeded(1), false),
    ]
}

fn forged_grants() -> Vec<Forgery> {
    vec![
        ("an answer", asked_twice(), approved(1), true),
        (
            "another request",
            asked_twice(),
            by_person(|e| e.request = digest(Purpose::Event, b"x")),
            false,
        ),
        (
            "an answer of the policy",
            asked_twice(),
            by_person(|e| {
                e.by = By::Policy {
                    rule: "policy:high-risk".parse().unwrap(),
                }
            }),
            false,
        ),
        (
            "an answer to another call",
            asked_twice(),
            by_person(|e| e.call = call(2)),
            false,
        ),
        ("an answer twice", after([approved(1)]), approved(1), false),
        (
            "an answer to what was denied",
            after([denied(1)]),
            approved(1),
            false,
        ),
        (
            "an answer to what was never asked",
            proposed_once(),
            approved(1),
            false,
        ),
    ]
}

fn forged_automatics() -> Vec<Forgery> {
    vec![
        ("an automatic grant", proposed_once(), granted(1), true),
        (
            "an automatic grant of what is pending",
            asked_twice(),
            granted(1),
            false,
        ),
        (
            "an automatic grant of another proposal",
            proposed_once(),
            automatic(|e| e.proposal = digest(Purpose::Proposal, b"x")),
            false,
        ),
        (
            "an automatic grant by a person",
            proposed_once(),
            automatic(|e| e.by = somebody()),
            false,
        ),
        (
            "a request of another proposal",
            proposed_once(),
            asked(1).but(|event| {
                if let Event::ApprovalRequested(body) = event {
                    body.proposal = digest(Purpose::Proposal, b"x");
                }
            }),
            false,
        ),
    ]
}

#[test]
fn no_forged_event_folds() {
    let starts = forged_starts().into_iter().chain(forged_repeats());
    let grants = forged_grants().into_iter().chain(forged_automatics());
    for (name, facts, forgery, stands) in starts.chain(grants) {
        let folded = forged(facts, &forgery);
        assert_eq!(folded.is_ok(), stands, "{name}: {folded:?}");
    }
}

#[test]
fn no_answer_and_no_start_folds_after_the_expiry() {
    for (later, stands) in [(EXPIRY_MS - 1, true), (EXPIRY_MS, false)] {
        for (facts, forgery) in [(asked_twice(), approved(1)), (both(), began(1))] {
            let scenario = given(facts).later(later);
            let decided = forgery.build(scenario.state());
            let folded = can_follow(scenario, decided.event, decided.blobs);
            assert_eq!(folded.is_ok(), stands, "{later}: {folded:?}");
        }
    }
}

placet_replay::through_socket!(
    with_nothing_changed_both_calls_run,
    a_record_that_is_exchanged_for_one_of_another_call_prevents_the_execution,
    a_change_of_any_content_that_was_shown_or_will_run_prevents_the_execution,
    a_process_that_finds_a_record_changed_before_the_last_one_does_not_drive_the_run,
);
