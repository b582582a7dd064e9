//! Every canned run replays to the same bytes, and whatever is changed in what it observed is found
//! and named at its place.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use placet_engine::policy::Gate;
use placet_engine::recording::Recording;
use placet_engine::replay::{Divergence, ReplayError, Replayed, replay};
use placet_ledger::audit::{HeadPosition, verify};
use placet_ledger::content::{Content, Contents};
use placet_ledger::envelope::Envelope;
use placet_ledger::event::{ApprovalGranted, Class, Event};
use placet_ledger::id::Version;
use placet_ledger::judge::Judge;
use placet_ledger::policy::ApprovalPolicy;
use placet_replay::history::{self, History};
use placet_replay::script::{self, Script};
use placet_replay::tools::Behaviour;
use placet_replay::world::{Options, World};
use serde_json::json;

/// The event lists in the comments of the canned runs, by the function's name.
fn listed() -> BTreeMap<String, Vec<String>> {
    let mut lists = BTreeMap::new();
    let mut comment = String::new();
    let sources = [
        include_str!("../src/history/mod.rs"),
        include_str!("../src/history/commands.rs"),
        include_str!("../src/history/models.rs"),
        include_str!("../src/history/people.rs"),
    ];
    for line in sources.iter().flat_map(|source| source.lines()) {
        if let Some(text) = line.strip_prefix("///") {
            comment.push_str(text);
        } else if let Some(rest) = line.strip_prefix("pub async fn ") {
            let name = rest.split('(').next().unwrap().to_owned();
            let events = comment.split([' ', ',', '`']).filter(|word| {
                word.contains('.') && !word.ends_with('.') && !word.starts_with('.')
            });
            lists.insert(name, events.map(str::to_owned).collect());
            comment.clear();
        } else {
            comment.clear();
        }
    }
    lists
}

#[tokio::test]
async fn every_canned_run_is_what_its_comment_lists() {
    let mut lists = listed();
    lists.remove("all");
    for History { name, world, run } in history::all().await.unwrap() {
        let found = world.names(run).await.unwrap();
        let written = lists.remove(name).unwrap_or_default();
        assert_eq!(found, written, "{name}");
    }
    assert!(lists.is_empty(), "never made: {lists:?}");
}

async fn again(recording: &Recording) -> Result<Replayed, ReplayError> {
    replay(recording, Arc::new(Gate)).await
}

/// A replay of a canned run under the judge of its world.
async fn again_in(made: &History, recording: &Recording) -> Result<Replayed, ReplayError> {
    replay(recording, made.world.judge().clone()).await
}

#[tokio::test]
async fn every_canned_run_replays_to_the_same_bytes() {
    for made in history::all().await.unwrap() {
        let recording = made.recording().await.unwrap();
        let state = made.world.state(made.run).await.unwrap();
        let replayed = again_in(&made, &recording).await;
        let expected = Replayed {
            records: recording.run.len(),
            outcome: state.outcome(),
        };
        match replayed {
            Ok(replayed) => assert_eq!(replayed, expected, "{}", made.name),
            Err(error) => panic!("{}: {error:#?}", made.name),
        }
    }
}

#[tokio::test]
async fn every_canned_run_verifies() {
    for made in history::all().await.unwrap() {
        let judge: &dyn Judge = &**made.world.judge();
        let tail = made.world.store().tail().await.unwrap();
        let head = HeadPosition {
            size: tail.size,
            root: tail.root,
        };
        let report = verify(&**made.world.store(), Some(head), Some(judge)).await;
        assert!(report.ok, "{}: {:?}", made.name, report.findings);
    }
}

/// How a replay of a changed recording diverges.
async fn divergence(made: &History, recording: &Recording) -> Divergence {
    match again_in(made, recording).await {
        Err(ReplayError::Diverged(found)) => *found,
        other => panic!("no divergence: {other:?}"),
    }
}

/// The contents, with another text in one of them under its old commitment.
fn changed(contents: &Contents, at: &placet_ledger::content::Commitment) -> Contents {
    let mut all = Contents::default();
    for (commitment, content) in contents.iter() {
        let mut content = content.clone();
        if commitment == at {
            let mut bytes = content.bytes.to_vec();
            match bytes.last_mut() {
                Some(last) => *last ^= 1,
                None => bytes.push(b'x'),
            }
            content = Content::new(content.salt, bytes);
        }
        all.insert_checked(*commitment, content);
    }
    all
}

#[tokio::test]
async fn a_changed_byte_in_any_observed_content_diverges_where_it_was_observed() {
    let mut seen = 0;
    for made in history::all().await.unwrap() {
        let recording = made.recording().await.unwrap();
        let mut known = BTreeSet::new();
        for record in &recording.run {
            for (name, blob) in record.blobs() {
                // A content that was there before is no observation of this record.
                if !known.insert(blob.commitment) || record.event().class() == Class::Derived {
                    continue;
                }
                let contents = changed(&recording.contents, &blob.commitment);
                let changed = Recording {
                    contents,
                    ..recording.clone()
                };
                let found = divergence(&made, &changed).await;
                let at = (made.name, record.event().name(), name);
                assert_eq!(found.version, record.version(), "{at:?}: {found:?}");
                assert!(found.recorded.is_some());
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "only {seen} contents were observed");
}

/// A record written again, with one thing in its bytes replaced.
fn edited(record: &Envelope, from: &str, to: &str) -> Envelope {
    let text = String::from_utf8(record.bytes().to_vec()).unwrap();
    let other = text.replacen(from, to, 1);
    assert_ne!(other, text, "{from} is not in it");
    Envelope::parse(other.into_bytes()).unwrap()
}

#[tokio::test]
async fn a_changed_fact_diverges_where_it_stands_or_in_the_record_after_it() {
    let edits = [
        ("model.called", "\"attempt\":1", "\"attempt\":2"),
        (
            "call.proposed",
            "\"risk\":\"high-risk\"",
            "\"risk\":\"low-risk\"",
        ),
        ("approval.requested", "\"quorum\":1", "\"quorum\":2"),
        (
            "approval.requested",
            "\"policy:false\"",
            "\"policy:read-only\"",
        ),
        ("execution.started", "\"attempt\":1", "\"attempt\":2"),
        (
            "execution.succeeded",
            "\"duration_ms\":0",
            "\"duration_ms\":5",
        ),
        ("run.finished", "\"completed\"", "\"failed\""),
        ("run.parked", "[\"c1\"]", "[\"c2\"]"),
    ];
    let made = history::approved_pair().await.unwrap();
    let recording = made.recording().await.unwrap();
    for (name, from, to) in edits {
        let at = recording
            .run
            .iter()
            .position(|record| record.event().name() == name)
            .unwrap();
        let mut changed = recording.clone();
        changed.run[at] = edited(&changed.run[at], from, to);
        let found = divergence(&made, &changed).await;
        let at = u32::try_from(at).unwrap();
        // What was only observed comes out as it was told; the next record no longer follows it.
        let places = [Version::new(at), Version::new(at + 1)];
        assert!(places.contains(&found.version), "{name}: {found:?}");
    }
}

#[tokio::test]
async fn a_record_that_is_left_out_or_put_in_is_found() {
    let made = history::approved_pair().await.unwrap();
    let recording = made.recording().await.unwrap();
    for at in 1..recording.run.len() {
        let mut shorter = recording.clone();
        shorter.run.remove(at);
        if at + 1 == recording.run.len() {
            // Without its last record it is a run that has not ended.
            continue;
        }
        let found = divergence(&made, &shorter).await;
        assert!(found.version.get() as usize <= at, "{at}: {found:?}");
    }
}

/// Whether these two, one after the other, are always of one append.
fn is_one_append(before: &Event, after: &Event) -> bool {
    match (before, after) {
        (Event::CallProposed(proposed), _) => proposed.supersedes.is_some(),
        (Event::SegmentEnded(_), Event::SegmentStarted(started)) => started.epoch > 1,
        (Event::ExecutionRefused(_), _)
        | (Event::ApprovalExpired(_), Event::ApprovalExpired(_) | Event::SegmentEnded(_)) => true,
        (Event::ApprovalGranted(ApprovalGranted::ByPerson(_)) | Event::ApprovalDenied(_), _) => {
            matches!(
                after,
                Event::ApprovalGranted(ApprovalGranted::ByPerson(_))
                    | Event::ApprovalDenied(_)
                    | Event::ToolAllowed(_)
            )
        }
        (_, _) => false,
    }
}

#[tokio::test]
async fn a_run_cut_between_two_appends_replays_as_far_as_it_goes() {
    for made in history::all().await.unwrap() {
        let recording = made.recording().await.unwrap();
        // What one command comes to is one append: these stand behind another record of theirs.
        let second = |record: &Envelope| {
            let name = record.event().name();
            ["run.parked", "run.finished"].contains(&name)
        };
        for cut in 1..recording.run.len() {
            let [before, after] = [&recording.run[cut - 1], &recording.run[cut]];
            let event = before.event().name();
            if second(after) || is_one_append(before.event(), after.event()) {
                continue;
            }
            let mut shorter = recording.clone();
            shorter.run.truncate(cut);
            let replayed = again_in(&made, &shorter).await;
            match replayed {
                Ok(replayed) => assert_eq!(replayed.records, cut),
                Err(error) => panic!("{} cut after {cut} ({event}): {error:#?}", made.name),
            }
        }
    }
}

#[tokio::test]
async fn another_gate_is_a_divergence_and_no_crash() {
    struct Lenient;

    impl Judge for Lenient {
        fn judge(
            &self,
            input: &placet_ledger::judge::GateInput<'_>,
        ) -> placet_ledger::judge::Verdict {
            placet_engine::policy::gate(&placet_ledger::judge::GateInput {
                policy: ApprovalPolicy::HighRisk,
                ..input.clone()
            })
        }
    }
    let made = history::approved_pair().await.unwrap();
    let recording = made.recording().await.unwrap();
    let found = match replay(&recording, Arc::new(Lenient)).await {
        Err(ReplayError::Diverged(found)) => *found,
        other => panic!("{other:?}"),
    };
    assert_eq!(found.version, Version::new(5));
    assert!(found.recorded.unwrap().contains("approval.requested"));
    assert!(found.replayed.unwrap().contains("approval.granted"));
}

#[tokio::test]
async fn texts_that_are_equal_in_another_form_or_stream_keep_their_own_commitments() {
    let mut world = World::new().await.unwrap();
    // The prompt, the arguments, the result and the rules of the ledger are the same bytes.
    let arguments = json!({"key": "a"});
    let options = Options {
        prompt: arguments.to_string(),
        ..Options::default()
    };
    let said = Behaviour::Says(arguments.to_string());
    world.tools.behave(placet_ledger::id::CallId::FIRST, said);
    let script = Script::new()
        .calls([
            script::call("look", &arguments),
            script::raw_call("look", "{\"rules\":[]}"),
        ])
        .says("{\"rules\":[]}");
    let (run, _) = world.run(script, options).await.unwrap();
    let recording = world.recording(run).await.unwrap();
    if let Err(error) = again(&recording).await {
        panic!("{error:#?}");
    }
}

#[tokio::test]
async fn what_a_person_did_while_a_call_was_executed_replays_at_its_place() {
    let mut world = World::new().await.unwrap();
    let dies = Behaviour::VanishesAfter;
    world.tools.behave(placet_ledger::id::CallId::FIRST, dies);
    let set = script::call("set", &json!({"key": "a", "value": "1"}));
    let options = Options {
        policy: ApprovalPolicy::HighRisk,
        ..Options::default()
    };
    let script = Script::new().calls([set]).says("Done.");
    let (run, _) = world.run(script, options).await.unwrap();
    world.cancel(run, "enough").await.unwrap();
    let names = world.names(run).await.unwrap();
    let end = [
        "execution.started",
        "run.cancel_requested",
        "segment.ended",
        "segment.started",
        "execution.settled",
        "segment.ended",
        "run.finished",
    ];
    assert_eq!(names[names.len() - end.len()..], end);
    let recording = world.recording(run).await.unwrap();
    if let Err(error) = again(&recording).await {
        panic!("{error:#?}");
    }
}
