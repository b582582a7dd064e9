//! Who judges a command, when anybody is asked at all, and what comes of it.

mod asking;
mod plugin;
mod records;
mod words;

use placet_engine::classify::Judges;
use placet_ledger::event::{Event, Outcome, RefusalKind, RiskAssessed};
use placet_ledger::id::RunId;
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::run::{Close, Phase};
use placet_replay::facts::call;
use placet_replay::judges::{Does, ModelJudge};
use placet_replay::script::{self, Script};
use placet_replay::world::{Drove, Options, World};
use serde_json::json;

/// What became of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    /// It ran, unasked.
    Ran,
    /// A person is asked.
    Asked,
    /// It was turned down.
    Refused(RefusalKind),
}

/// A run that wants one command, driven until it waits or ends.
async fn run_of(judges: Judges, command: &str, options: Options) -> (World, RunId) {
    let mut world = World::new().await.unwrap();
    world.tools.offer_commands();
    world.tools.judge_by(judges);
    let wanted = script::call("execute_command", &json!({ "command": command }));
    let script = Script::new().calls([wanted]).says("Done.");
    let (run, drove) = world.run(script, options).await.unwrap();
    assert!(
        matches!(drove, Drove::Waits | Drove::Ended(Outcome::Completed)),
        "{drove:?}"
    );
    (world, run)
}

/// What became of the one call of a run.
async fn came(world: &World, run: RunId) -> Came {
    let state = world.state(run).await.unwrap();
    let came = match state.call(call(1)).unwrap().phase() {
        Phase::Pending => Came::Asked,
        Phase::Closed(Close::Refused(kind)) => Came::Refused(kind),
        Phase::Closed(Close::Succeeded) => Came::Ran,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        world.tools.executions(call(1)),
        usize::from(came == Came::Ran)
    );
    came
}

/// How the call of a run was judged, with the reason.
async fn judged(world: &World, run: RunId) -> Option<(RiskAssessed, String)> {
    let records = world.records(run).await.unwrap();
    let contents = world.recording(run).await.unwrap().contents;
    records.iter().find_map(|record| match record.event() {
        Event::RiskAssessed(event) => {
            let blob = record.blobs().get("reason").unwrap();
            let reason = contents.bytes(&blob.commitment).unwrap();
            Some((event.clone(), String::from_utf8(reason.to_vec()).unwrap()))
        }
        _ => None,
    })
}

fn under(policy: ApprovalPolicy, attendance: Attendance) -> Options {
    Options {
        policy,
        attendance,
        ..Options::default()
    }
}

const POLICIES: [ApprovalPolicy; 4] = [
    ApprovalPolicy::False,
    ApprovalPolicy::ReadOnly,
    ApprovalPolicy::LowRisk,
    ApprovalPolicy::HighRisk,
];

/// Commands, what the model says of them, how often it is asked under each policy, and under which
/// policies they run.
const ROWS: [(&str, &str, [usize; 4], [bool; 4]); 9] = [
    (
        "cargo test",
        "read-only",
        [0, 1, 1, 0],
        [false, true, true, true],
    ),
    (
        "cargo test",
        "low-risk",
        [0, 1, 1, 0],
        [false, false, true, true],
    ),
    (
        "cargo test",
        "high-risk",
        [0, 1, 1, 0],
        [false, false, false, true],
    ),
    // Plainly read-only by rule.
    ("pwd", "high-risk", [0, 0, 0, 0], [false, true, true, true]),
    // Hazards.
    (
        "cargo test > a",
        "read-only",
        [0, 0, 0, 0],
        [false, false, false, true],
    ),
    (
        "cargo $(pwd)",
        "read-only",
        [0, 0, 0, 0],
        [false, false, false, true],
    ),
    (
        "cargo 'test",
        "read-only",
        [0, 0, 0, 0],
        [false, false, false, true],
    ),
    // Clearly changing.
    (
        "rm -rf target",
        "read-only",
        [0, 0, 0, 0],
        [false, false, false, true],
    ),
    (
        "ls && git push",
        "low-risk",
        [0, 0, 0, 0],
        [false, false, false, true],
    ),
];

#[tokio::test]
async fn a_command_runs_or_asks_by_its_tier_and_the_model_is_asked_only_where_that_decides() {
    for (command, word, asked, runs) in ROWS {
        for (number, policy) in POLICIES.into_iter().enumerate() {
            for (attendance, otherwise) in [
                (Attendance::Person, Came::Asked),
                (Attendance::Park, Came::Asked),
                (Attendance::Nobody, Came::Refused(RefusalKind::Nobody)),
            ] {
                let model = ModelJudge::new(Does::says(word));
                let judges = model.judges().unwrap();
                let (world, run) = run_of(judges, command, under(policy, attendance)).await;
                let which = format!("{command:?} {word} {policy} {attendance:?}");
                let expected = if runs[number] { Came::Ran } else { otherwise };
                assert_eq!(came(&world, run).await, expected, "{which}");
                assert_eq!(model.asked().len(), asked[number], "{which}");
            }
        }
    }
}

#[tokio::test]
async fn a_command_of_4000_characters_is_judged_and_one_of_4001_is_not() {
    for (characters, asked) in [(4_000, 1), (4_001, 0)] {
        let command = format!("cargo test {}", "\u{e9}".repeat(characters - 11));
        let model = ModelJudge::new(Does::says("read-only"));
        let options = under(ApprovalPolicy::LowRisk, Attendance::Park);
        let (world, run) = run_of(model.judges().unwrap(), &command, options).await;
        assert_eq!(model.asked().len(), asked, "{characters}");
        let expected = [Came::Asked, Came::Ran][asked];
        assert_eq!(came(&world, run).await, expected, "{characters}");
    }
}

#[tokio::test]
async fn without_a_model_what_no_rule_knows_is_high_risk() {
    let options = under(ApprovalPolicy::LowRisk, Attendance::Park);
    let (world, run) = run_of(Judges::default(), "cargo test", options).await;
    assert_eq!(came(&world, run).await, Came::Asked);
}
