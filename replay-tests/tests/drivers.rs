//! One driver at a time: engines of several processes over one store, and under whom and where a
//! run is driven.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use placet_engine::engine::{Elsewhere, Engine, EngineError, Place, Stopped};
use placet_engine::leases::{Claimed, Driver, LeaseError, Leases, MemoryLeases};
use placet_engine::runner::RunnerError;
use placet_engine::stop::Stop;
use placet_ledger::answers::AnswerSet;
use placet_ledger::approval::Answer;
use placet_ledger::content::Texts;
use placet_ledger::error::LedgerError;
use placet_ledger::event::{Event, Outcome, SegmentReason};
use placet_ledger::id::{CallId, HostId, Principal, RunId};
use placet_ledger::ledger::Ledger;
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::run::{Caller, Command, Rejection};
use placet_replay::facts::{HOST, call};
use placet_replay::process;
use placet_replay::script::{self, Script};
use placet_replay::tools::{Behaviour, SimOutfit};
use placet_replay::world::{Drove, Options, World, person};
use serde_json::json;

fn two() -> Script {
    let set = |key: &str| script::call("set", &json!({"key": key, "value": "1"}));
    Script::new().calls([set("a"), set("b")]).says("Done.")
}

fn unasked() -> Options {
    Options {
        policy: ApprovalPolicy::HighRisk,
        ..Options::default()
    }
}

/// The engine of another process, with the leases that all share.
fn another(world: &World, ledger: Ledger) -> Engine {
    let shared = (&world.tools, &Stop::default());
    process::engine(ledger, &world.clock, shared, &world.leases).unwrap()
}

/// The engine of a process elsewhere.
fn elsewhere(world: &World, user: u32, host: HostId) -> Engine {
    let user: Principal = format!("uid:{user}").parse().unwrap();
    let place = Place { host, user };
    let outfit = Arc::new(SimOutfit(world.tools.clone()));
    let (ledger, clock) = (world.ledger().clone(), world.clock.clone());
    Engine::new(ledger, outfit, clock, place, Stop::default())
}

fn is_driven<T: std::fmt::Debug>(done: &Result<T, EngineError>) -> bool {
    let here = Elsewhere::Driven(Driver::Here);
    matches!(done, Err(EngineError::Elsewhere { why, .. }) if *why == here)
}

/// Drives a run until its first call is being executed, and does something else meanwhile.
async fn while_it_executes<T>(
    world: &World,
    run: RunId,
    other: impl Future<Output = T>,
) -> (Result<Stopped, EngineError>, T) {
    let drive = world.engine().drive(run, SegmentReason::Start, None);
    let other = async {
        world.tools.reached().notified().await;
        let done = other.await;
        world.tools.release();
        done
    };
    tokio::join!(Box::pin(drive), Box::pin(other))
}

#[tokio::test]
async fn whoever_comes_while_a_run_is_driven_hears_so_and_does_nothing() {
    let mut world = World::new().await.unwrap();
    world.tools.behave(call(1), Behaviour::Waits);
    let run = world.start(two(), unasked()).await.unwrap();
    // With a ledger of its own, and with one that all share.
    let own = another(&world, world.another_ledger().await.unwrap());
    let shared = another(&world, world.ledger().clone());
    let others = async {
        let mut heard = Vec::new();
        for engine in [&own, &shared] {
            assert_eq!(engine.driver(run).unwrap(), Some(Driver::Here));
            heard.push(engine.drive(run, SegmentReason::Resumed, None).await);
            let taken = engine.take_over(run).await;
            assert!(matches!(taken, Err(EngineError::Lease { .. })), "{taken:?}");
        }
        heard
    };
    let (drove, heard) = while_it_executes(&world, run, others).await;
    assert_eq!(drove.unwrap(), Stopped::Ended(Outcome::Completed));
    assert!(heard.iter().all(is_driven), "{heard:?}");
    for number in [1, 2] {
        assert_eq!(world.tools.executions(call(number)), 1);
    }
    assert_eq!(world.engine().driver(run).unwrap(), None);
    let names = world.names(run).await.unwrap();
    let segments = names.iter().filter(|name| **name == "segment.started");
    assert_eq!(segments.count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_processes_that_race_to_drive_an_answered_run_one_does() {
    for _ in 0..10 {
        let mut world = World::new().await.unwrap();
        let (run, drove) = world.run(two(), Options::default()).await.unwrap();
        assert_eq!(drove, Drove::Waits);
        world.approve(run).await.unwrap();
        let mut engines = Vec::new();
        for _ in 0..8 {
            engines.push(another(&world, world.another_ledger().await.unwrap()));
        }
        let drives = engines.into_iter().map(|engine| {
            tokio::spawn(async move { engine.drive(run, SegmentReason::Answered, None).await })
        });
        let drives: Vec<_> = drives.collect();
        let mut ended = 0;
        for drive in drives {
            match drive.await.unwrap() {
                Ok(Stopped::Ended(Outcome::Completed)) => ended += 1,
                // Who comes later has read what the first one changed since, and acts on nothing.
                Err(
                    EngineError::Elsewhere { .. }
                    | EngineError::Runner(RunnerError::TakenOver)
                    | EngineError::Ledger(
                        LedgerError::Conflict
                        | LedgerError::Rejected(Rejection::Finished(Outcome::Completed)),
                    ),
                ) => {}
                other => panic!("{other:?}"),
            }
        }
        assert!(ended > 0);
        for number in [1, 2] {
            assert_eq!(world.tools.executions(call(number)), 1);
        }
    }
}

#[tokio::test]
async fn a_driver_whose_segment_is_not_open_any_more_ends_and_does_nothing_more() {
    let mut world = World::new().await.unwrap();
    world.tools.behave(call(1), Behaviour::Waits);
    let run = world.start(two(), unasked()).await.unwrap();
    let ledger = world.ledger().clone();
    let other = ledger.new_driver().await.unwrap();
    let take_up = async {
        let command = Command::TakeUp {
            attendance: Attendance::Park,
            driver: other,
            host: HOST,
            reason: SegmentReason::TakenOver,
        };
        let taken = ledger.handle(run, &Caller::Driver, command, Texts::new());
        taken.await.unwrap();
        ledger.commit(run).await.unwrap();
    };
    let (drove, ()) = while_it_executes(&world, run, take_up).await;
    let taken = matches!(drove, Err(EngineError::Runner(RunnerError::TakenOver)));
    assert!(taken, "{drove:?}");
    assert_eq!(world.tools.executions(call(2)), 0);
    let open = |state: &placet_ledger::run::RunState| state.segment().map(|open| open.driver);
    let open = ledger.look(run, |state, _| open(state)).await.unwrap();
    assert_eq!(open, Some(other), "somebody else's segment is put down");
}

#[tokio::test]
async fn a_wish_that_a_run_end_is_heeded_by_the_driver_of_another_process() {
    let mut world = World::new().await.unwrap();
    world.tools.behave(call(1), Behaviour::Waits);
    let run = world.start(two(), unasked()).await.unwrap();
    let other = another(&world, world.ledger().clone());
    let somebody = person().unwrap();
    let note = Some(String::from("enough"));
    let cancel = other.cancel(run, &somebody, note);
    let (drove, cancelled) = while_it_executes(&world, run, cancel).await;
    assert!(is_driven(&cancelled), "{cancelled:?}");
    assert_eq!(drove.unwrap(), Stopped::Ended(Outcome::Cancelled));
    assert_eq!(world.tools.executions(call(1)), 1);
    assert_eq!(world.tools.executions(call(2)), 0);
}

#[tokio::test]
async fn a_policy_that_another_process_changes_counts_at_the_drivers_next_start() {
    let mut world = World::new().await.unwrap();
    world.tools.behave(call(1), Behaviour::Waits);
    let run = world.start(two(), unasked()).await.unwrap();
    let other = another(&world, world.ledger().clone());
    let somebody = person().unwrap();
    let lower = other.change_policy(run, &somebody, ApprovalPolicy::False, None);
    let (drove, lowered) = while_it_executes(&world, run, lower).await;
    lowered.unwrap();
    assert_eq!(drove.unwrap(), Stopped::Waits);
    assert_eq!(world.tools.executions(call(2)), 0);
}

/// What is said in the moment between the end of a segment and the end of its lease.
type Words = Arc<Mutex<Option<(Ledger, RunId, AnswerSet)>>>;

/// Leases at whose end somebody speaks who found the run driven.
struct Talking {
    leases: MemoryLeases,
    words: Words,
}

struct Ending {
    words: Words,
    _claimed: Claimed,
}

impl Drop for Ending {
    fn drop(&mut self) {
        let Some((ledger, run, set)) = self.words.lock().unwrap().take() else {
            return;
        };
        let somebody = person().unwrap();
        let answer = pin!(ledger.answer(run, &somebody, set));
        let polled = answer.poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Ok(()))));
    }
}

#[async_trait]
impl Leases for Talking {
    async fn claim(&self, run: RunId) -> Result<Claimed, LeaseError> {
        let (claimed, words) = (self.leases.claim(run).await?, self.words.clone());
        Ok(Claimed::by(Ending {
            words,
            _claimed: claimed,
        }))
    }

    async fn take_over(&self, run: RunId) -> Result<Claimed, LeaseError> {
        self.leases.take_over(run).await
    }

    fn who(&self, run: RunId) -> Result<Option<Driver>, LeaseError> {
        self.leases.who(run)
    }
}

#[tokio::test]
async fn an_answer_that_comes_while_the_run_is_put_down_is_not_forgotten() {
    for attendance in [Attendance::Park, Attendance::Person] {
        let mut world = World::new().await.unwrap();
        let (run, drove) = world.run(two(), Options::default()).await.unwrap();
        assert_eq!(drove, Drove::Waits);
        let words = Words::default();
        let leases = Talking {
            leases: world.leases.clone(),
            words: words.clone(),
        };
        let ledger = world.another_ledger().await.unwrap();
        let engine = another(&world, ledger.clone()).leased_by(Arc::new(leases));
        // The run is taken up once more, so that it is put down again.
        let take_up = Command::TakeUp {
            attendance,
            driver: ledger.new_driver().await.unwrap(),
            host: HOST,
            reason: SegmentReason::Resumed,
        };
        let taken = ledger.handle(run, &Caller::Driver, take_up, Texts::new());
        taken.await.unwrap();
        ledger.commit(run).await.unwrap();
        let set = world.answers(run, |_| (Answer::Approve, None));
        *words.lock().unwrap() = Some((ledger, run, set.await.unwrap()));
        let drove = engine.drive(run, SegmentReason::Resumed, None).await;
        assert_eq!(drove.unwrap(), Stopped::Ended(Outcome::Completed));
        let executed: BTreeSet<_> = [1, 2].map(|n| world.tools.executions(call(n))).into();
        assert_eq!(executed, BTreeSet::from([1]));
    }
}

#[tokio::test]
async fn two_processes_drive_a_run_in_turns() {
    let set = |key: &str| [script::call("set", &json!({"key": key, "value": "1"}))];
    let script = Script::new()
        .calls(set("a"))
        .calls(set("b"))
        .calls(set("c"))
        .says("Done.");
    let mut world = World::new().await.unwrap();
    let (run, drove) = world.run(script, Options::default()).await.unwrap();
    assert_eq!(drove, Drove::Waits);
    let other = another(&world, world.ledger().clone());
    for engine in [&other, world.engine(), &other] {
        // Nobody holds a run that waits.
        assert_eq!(engine.driver(run).unwrap(), None);
        world.approve(run).await.unwrap();
        engine
            .drive(run, SegmentReason::Answered, None)
            .await
            .unwrap();
    }
    // What the first one had rendered for the model is not what it goes on from by itself.
    assert_eq!(world.told(run), ["a is set.", "b is set.", "c is set."]);
    let drove = world
        .engine()
        .drive(run, SegmentReason::Resumed, None)
        .await;
    assert_eq!(drove.unwrap(), Stopped::Ended(Outcome::Completed));
    assert_eq!(world.tools.executed(), 3);
    let recording = world.recording(run).await.unwrap();
    placet_replay::replay(&recording).await.unwrap();
}

#[tokio::test]
async fn a_run_is_driven_under_its_user_and_on_its_host_alone() {
    let mut world = World::new().await.unwrap();
    let script = Script::new()
        .calls([script::call("set", &json!({"key": "a", "value": "1"}))])
        .says("Done.");
    let (run, _) = world.run(script, Options::default()).await.unwrap();
    let there = HostId::new(uuid::Uuid::from_u128(9));
    let starter: Principal = "uid:1000".parse().unwrap();
    let size = world.names(run).await.unwrap().len();
    let rows = [
        (2000, HOST, Elsewhere::User(Some(starter.clone()))),
        (0, HOST, Elsewhere::User(Some(starter.clone()))),
        (1000, there, Elsewhere::Host),
        (2000, there, Elsewhere::User(Some(starter))),
    ];
    for (user, host, expected) in &rows {
        let engine = elsewhere(&world, *user, *host);
        for refused in [
            engine.may_drive(run).await,
            engine.take_over(run).await.map(|_| ()),
            engine.park(run).await,
        ] {
            match refused {
                Err(EngineError::Elsewhere { why, .. }) => assert_eq!(why, *expected),
                other => panic!("{user}: {other:?}"),
            }
        }
    }
    assert_eq!(world.names(run).await.unwrap().len(), size);
    // What is said there is recorded, and drives nothing there.
    let engine = elsewhere(&world, 2000, HOST);
    let set = world.answers(run, |_| (Answer::Approve, None));
    let somebody = person().unwrap();
    engine
        .answer(run, &somebody, set.await.unwrap())
        .await
        .unwrap();
    for (user, host, expected) in rows {
        let engine = elsewhere(&world, user, host);
        match engine.drive(run, SegmentReason::Answered, None).await {
            Err(EngineError::Elsewhere { why, .. }) => assert_eq!(why, expected),
            other => panic!("{user}: {other:?}"),
        }
    }
    assert_eq!(world.tools.executed(), 0);
    assert_eq!(world.names(run).await.unwrap().len(), size + 1);
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    assert_eq!(world.tools.executions(CallId::FIRST), 1);
}

#[tokio::test]
async fn a_run_that_nobody_drove_yet_has_no_host() {
    let mut world = World::new().await.unwrap();
    let run = world.start(two(), unasked()).await.unwrap();
    let there = HostId::new(uuid::Uuid::from_u128(9));
    let engine = elsewhere(&world, 1000, there);
    let drove = engine.drive(run, SegmentReason::Start, None).await;
    assert_eq!(drove.unwrap(), Stopped::Ended(Outcome::Completed));
    assert_eq!(world.state(run).await.unwrap().host(), Some(there));
}

#[tokio::test]
async fn a_run_that_another_user_cancels_is_ended_by_its_own() {
    let mut world = World::new().await.unwrap();
    world.tools.behave(call(1), Behaviour::VanishesBefore);
    let (run, drove) = world.run(two(), unasked()).await.unwrap();
    assert_eq!(drove, Drove::Vanished);
    let engine = elsewhere(&world, 2000, HOST);
    let somebody = person().unwrap();
    let cancelled = engine.cancel(run, &somebody, None).await;
    let user = matches!(
        cancelled,
        Err(EngineError::Elsewhere {
            why: Elsewhere::User(_),
            ..
        })
    );
    assert!(user, "{cancelled:?}");
    assert!(world.state(run).await.unwrap().is_cancelling());
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Cancelled));
    assert_eq!(world.tools.executions(call(2)), 0);
}

#[tokio::test]
async fn what_was_taken_over_and_only_waits_is_let_go() {
    let mut world = World::new().await.unwrap();
    let (run, _) = world.run(two(), Options::default()).await.unwrap();
    assert!(!world.engine().take_over(run).await.unwrap());
    assert!(world.engine().driver(run).unwrap().is_some());
    assert_eq!(world.drive(run).await.unwrap(), Drove::Waits);
    assert_eq!(world.engine().driver(run).unwrap(), None);
    // What is driven on is driven under the lease that was taken.
    world.approve(run).await.unwrap();
    assert!(!world.engine().take_over(run).await.unwrap());
    let drove = world
        .engine()
        .drive(run, SegmentReason::TakenOver, None)
        .await;
    assert_eq!(drove.unwrap(), Stopped::Ended(Outcome::Completed));
    assert_eq!(world.engine().driver(run).unwrap(), None);
    let records = world.records(run).await.unwrap();
    let mut reasons = records.iter().filter_map(|record| match record.event() {
        Event::SegmentStarted(started) => Some(started.reason),
        _ => None,
    });
    assert_eq!(reasons.next_back(), Some(SegmentReason::TakenOver));
}
