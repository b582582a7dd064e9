//! Conversations that became too long: the model sees a summary, the record has everything, and a
//! replay comes to the same bytes.

use placet_engine::model::{Again, Message, Request};
use placet_engine::record::Terms;
use placet_ledger::budget::Tokens;
use placet_ledger::event::{Event, ModelFailure, ModelTask, Outcome};
use placet_replay::recording;
use placet_replay::script::Script;
use placet_replay::world::{Drove, World};

use super::{events, failure, note, options, reply, terms};

const NONE: Tokens = Tokens::new(0, 0);

/// Terms of a model with so small a context.
fn small(context_tokens: u64) -> Terms {
    Terms {
        context_tokens: Some(context_tokens),
        output_tokens: Some(500),
        ..terms()
    }
}

/// A run of so many turns, each of which notes something.
fn long(turns: usize) -> Script {
    let mut script = Script::new();
    for turn in 0..turns {
        let text = format!("turn {turn}: {}", "x".repeat(60));
        script = script.reply(reply(vec![note(&text)], NONE));
    }
    script.says("Done.")
}

fn texts(request: &Request) -> Vec<String> {
    let text = |message: &std::sync::Arc<Message>| match &**message {
        Message::System(text) => format!("system: {text}"),
        Message::User(text) => format!("user: {text}"),
        Message::Assistant { text, calls } => format!("assistant: {text} {}", calls.len()),
        Message::Result { id, text } => format!("{id}: {text}"),
    };
    request.messages.iter().map(text).collect()
}

/// The model of the test sums up as often as it is asked.
fn summaries(mut script: Script, count: usize) -> Script {
    for number in 1..=count {
        let mut summary = reply(Vec::new(), Tokens::new(700, 40));
        summary.text = format!("Summary {number}: notes were made.");
        script = script.sums_up(Ok(summary));
    }
    script
}

#[tokio::test]
async fn a_run_of_500_turns_with_three_summaries_replays_to_the_same_bytes() {
    let mut world = World::new().await.unwrap();
    let script = summaries(long(500), 9);
    let (run, drove) = world.run(script, options(small(8_000))).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let events = events(&world, run).await;
    let compacted: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::ContextCompacted(event) => Some((event.from, event.to)),
            _ => None,
        })
        .collect();
    assert_eq!(compacted.len(), 3, "{compacted:?}");
    // Each stands for everything from the first reply on, and for more than the one before.
    assert!(
        compacted
            .windows(2)
            .all(|two| two[0].0 == two[1].0 && two[0].1 < two[1].1)
    );
    let replies = events
        .iter()
        .filter(|event| matches!(event, Event::ModelReplied(_)));
    assert_eq!(replies.count(), 501);
    // No request was longer than the context.
    let model = world.model(run).unwrap();
    for request in model.requests().iter().chain(&model.asked_to_sum_up()) {
        let bytes: usize = texts(request).iter().map(String::len).sum();
        assert!(bytes / 3 < 8_000, "{bytes} bytes");
    }
    let recording = world.recording(run).await.unwrap();
    let replayed = recording::replay(&recording).await.unwrap();
    assert_eq!(replayed.outcome, Some(Outcome::Completed));
}

#[tokio::test]
async fn after_a_summary_the_model_sees_its_own_words_and_a_persons_and_the_newest_replies() {
    let mut world = World::new().await.unwrap();
    let script = summaries(long(60), 5);
    let (run, _) = world.run(script, options(small(2_000))).await.unwrap();
    let model = world.model(run).unwrap();
    let asked = model.asked_to_sum_up();
    let told = texts(&asked[0]);
    assert!(told[1].contains("A person:\n| Do it.\n"), "{}", told[1]);
    assert!(told[1].contains("The agent called note as c1:\n| {\"text\":\"turn 0:"));
    assert!(asked[0].tools.is_empty());
    let first = model.requests().into_iter().map(|request| texts(&request));
    let first = first
        .into_iter()
        .find(|texts| texts.len() > 2 && texts[2].contains("Summary 1"));
    let shown = first.unwrap();
    assert_eq!(shown[0], "system: You are tested.");
    assert_eq!(shown[1], "user: Do it.");
    assert_eq!(shown[2], "assistant: Summary 1: notes were made. 0");
    assert!(shown[3].starts_with("user: (The conversation before this point was made shorter"));
    // What was kept goes on with a whole reply, and the calls in it are the newest ones.
    assert!(
        shown[4].starts_with("assistant: I go on. 1"),
        "{}",
        shown[4]
    );
    assert!(shown[5].starts_with('c'), "{}", shown[5]);
    // Nothing of the record changed: the first result is still there.
    let state = world.state(run).await.unwrap();
    assert!(state.calls().next().unwrap().result().is_some());
}

#[tokio::test]
async fn what_a_person_said_stays_word_for_word_before_the_summary() {
    let mut world = World::new().await.unwrap();
    let mut script = Script::new();
    for _ in 0..40 {
        script = script.reply(reply(vec![note(&"z".repeat(200))], NONE));
    }
    let script = summaries(script.says("Done."), 5);
    let run = world.start(script, options(small(2_500))).await.unwrap();
    // Nobody drives it yet.
    world.prompt(run, "Never touch the garden.").await.unwrap();
    world.drive(run).await.unwrap();
    let model = world.model(run).unwrap();
    let after = model.requests().into_iter().map(|request| texts(&request));
    let shown = after
        .into_iter()
        .find(|texts| texts.iter().any(|t| t.contains("Summary 1")));
    let shown = shown.unwrap();
    assert_eq!(shown[1], "user: Do it.");
    assert_eq!(shown[2], "user: Never touch the garden.");
    assert!(shown[3].contains("Summary 1"), "{}", shown[3]);
}

#[tokio::test]
async fn a_summary_that_fails_is_tried_again_and_its_use_counts() {
    let mut world = World::new().await.unwrap();
    let again = failure(ModelFailure::Provider, Some(NONE), Some(Again::default()));
    let mut empty = reply(Vec::new(), Tokens::new(100, 1));
    empty.text = String::from(" \n");
    let script = long(30)
        .sums_up(Err(again))
        .vanishes_summing_up()
        .sums_up(Ok(empty));
    let script = summaries(script, 1);
    let (run, drove) = world.run(script, options(small(1_800))).await.unwrap();
    assert_eq!(drove, Drove::Vanished);
    assert_eq!(
        world.drive(run).await.unwrap(),
        Drove::Ended(Outcome::Completed)
    );
    let events = events(&world, run).await;
    let mut attempts = Vec::new();
    let mut lost = 0;
    for event in &events {
        if let Event::ModelCalled(called) = event
            && called.task == ModelTask::Compact
        {
            attempts.push(called.attempt);
            lost = if called.attempt == 2 {
                called.reserved.total()
            } else {
                lost
            };
        }
    }
    assert_eq!(attempts, [1, 2, 3, 4]);
    // What the lost attempt had set aside, the empty one's words and the summary's.
    let state = world.state(run).await.unwrap();
    assert_eq!(state.usage().tokens, lost + 101 + 740 + 15);
    // Summaries are no turns.
    assert_eq!(state.usage().iterations, 31);
    let recording = world.recording(run).await.unwrap();
    recording::replay(&recording).await.unwrap();
}

#[tokio::test]
async fn a_summary_that_cannot_be_had_ends_the_run_and_says_why() {
    let mut world = World::new().await.unwrap();
    let script = long(40).sums_up(Err(failure(ModelFailure::Provider, Some(NONE), None)));
    let (run, drove) = world.run(script, options(small(1_800))).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Failed));
    let state = world.state(run).await.unwrap();
    assert!(state.failure().is_some());
    let recording = world.recording(run).await.unwrap();
    recording::replay(&recording).await.unwrap();
}
