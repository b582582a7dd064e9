//! Who drives a run: verbs about one that another process drives, that another user started, or
//! that was started on another host, and taking a run over.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use placet::terminal::{Happening, Key, Size, Terminal};
use placet_engine::stop::Stop;
use placet_ledger::lease::claim;
use placet_ledger::store::sled::SledStore;
use serde_json::{Value, json};

use crate::support::World;

/// Names the folder of leases, and the run, to a copy of these tests that plays a driver.
const HELD: &str = "PLACET_TEST_HELD";

/// Names the home, and the folder of the head file, to one that has the ledger as well.
const LEDGER: &str = "PLACET_TEST_LEDGER";
const HEAD: &str = "PLACET_TEST_HEAD";

/// The driver, in a process of its own: holds a run until it is ended. As a test it does nothing.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment tells the copy from the test"
)]
fn driver() {
    let Ok(held) = std::env::var(HELD) else {
        return;
    };
    // Whoever has the ledger itself is told where it lies.
    let ledger = std::env::var(LEDGER).ok().map(PathBuf::from);
    let store = ledger.map(|home| {
        let head = PathBuf::from(std::env::var(HEAD).unwrap());
        SledStore::open(&home, &head).unwrap()
    });
    let path = Path::new(&held);
    let run = path.file_name().unwrap().to_str().unwrap();
    let lease = claim(path.parent().unwrap(), run.parse().unwrap()).unwrap();
    println!("driving");
    let mut rest = String::new();
    std::io::stdin().read_to_string(&mut rest).unwrap();
    drop((lease, store));
}

/// A process that holds a run.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn lease(world: &World) -> PathBuf {
    world.path("data/placet/driving").join(world.run())
}

impl Other {
    fn drives(world: &World) -> Self {
        Self::holds(&lease(world))
    }

    /// One that has the ledger, too, as every driver has that no other process serves.
    fn has_all(world: &World, lease: &Path) -> Self {
        let home = world.path("data/placet");
        let ledger = SledStore::ledger_at(&home).unwrap();
        let head = world.path("state/placet").join(ledger.to_string());
        Self::start(lease, &[(LEDGER, &home), (HEAD, &head)])
    }

    fn holds(path: &Path) -> Self {
        Self::start(path, &[])
    }

    #[expect(clippy::disallowed_methods, reason = "a driver that can be ended")]
    fn start(path: &Path, places: &[(&str, &Path)]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .envs(places.iter().copied())
            .args(["--exact", "driving::driver", "--nocapture"])
            .env(HELD, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("driving\n") {
            assert!(stdout.read_line(&mut said).unwrap() > 0, "{said}");
        }
        Self(child)
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// What was shown, with a word for its pid.
    fn named(&self, shown: &str) -> String {
        shown.replace(&self.0.id().to_string(), "<pid>")
    }
}

/// The names of all events of the run, in order.
fn events(world: &World) -> Vec<String> {
    let log = world.call(&["--json", "audit", "log", "--run", world.run()]);
    let log: Value = serde_json::from_str(&log.stdout).unwrap();
    let name = |event: &Value| event["record"]["type"].as_str().unwrap().to_owned();
    log["events"].as_array().unwrap().iter().map(name).collect()
}

fn json(world: &World, args: &[&str]) -> Value {
    let output = world.call(&[&["--json"], args].concat());
    serde_json::from_str(&output.stdout).unwrap()
}

/// A run whose calls are approved and that nobody drove on.
fn approved() -> World {
    let world = World::parked();
    let approve = ["runs", "approve", world.run(), "--no-resume"];
    assert_eq!(world.call(&approve).code, 0);
    world
}

fn is_done(world: &World) -> bool {
    !world.path("ws/old.log").exists()
}

#[test]
fn a_run_that_another_process_drives_is_not_resumed() {
    let world = approved();
    let mut other = Other::drives(&world);
    let before = events(&world);
    let resume = ["runs", "resume", world.run(), "--max-tokens", "5000"];
    let shown = other.named(&world.show(&resume));
    insta::assert_snapshot!(shown, @r"
    -- stderr --
    error: the run <run1> is driven by process <pid>
      hint: placet runs resume RUN --take-over ends that process and goes on here
    -- exit 5 --
    ");
    assert_eq!(events(&world), before, "nothing is made stricter");
    assert!(other.is_alive() && !is_done(&world));
    // A driver that is gone holds up nobody, whatever its file says.
    drop(other);
    assert!(lease(&world).exists());
    assert_eq!(world.call(&resume).code, 0);
    assert!(is_done(&world));
    assert!(!lease(&world).exists());
}

#[test]
fn what_is_said_about_a_run_that_another_process_drives_is_recorded() {
    let world = World::parked();
    let other = Other::drives(&world);
    let approve = ["runs", "approve", world.run()];
    let shown = other.named(&world.show(&approve));
    insta::assert_snapshot!(shown, @"
    run <run1> waiting
      last text
        | I add the eggs and drop the log.
    driven by process <pid>: placet runs show <run1>
    -- stderr --
    the run <run1> is driven by process <pid>
      hint: placet runs show <run1> tells how it goes on
    calls: 3 not started; 1 model call, 31 tokens in, 58 out, 0 USD, <n> ms active
    -- exit 0 --
    ");
    assert!(!is_done(&world));
    let granted = |world: &World| {
        let names = events(world).into_iter();
        names.filter(|name| name == "approval.granted").count()
    };
    assert_eq!(granted(&world), 3, "one of them by policy");
    for (args, code) in [
        (&["runs", "reject", "--note", "no"][..], 0),
        (&["runs", "approve", "--no-resume"], 0),
        (&["runs", "policy", "low-risk"], 0),
        (&["runs", "cancel", "--note", "enough"], 0),
    ] {
        let world = World::parked();
        let mut other = Other::drives(&world);
        let (verb, rest) = args.split_at(2);
        let output = world.call(&[verb, &[world.run()], rest].concat());
        assert_eq!(output.code, code, "{args:?} {}", output.stderr);
        assert!(other.is_alive() && !is_done(&world), "{args:?}");
        let last = events(&world).pop().unwrap();
        assert!(
            [
                "approval.denied",
                "approval.granted",
                "policy.changed",
                "run.cancel_requested"
            ]
            .contains(&last.as_str()),
            "{args:?} {last}"
        );
    }
}

#[test]
fn a_wish_that_a_run_end_waits_for_its_driver_and_outlives_it() {
    let world = approved();
    let other = Other::drives(&world);
    let cancel = ["runs", "cancel", world.run(), "--note", "enough"];
    let shown = other.named(&world.show(&cancel));
    let (_, stderr) = shown.split_once("-- stderr --\n").unwrap();
    insta::assert_snapshot!(stderr, @r"
    the run <run1> is driven by process <pid>
      hint: placet runs show <run1> tells how it goes on
    -- exit 0 --
    ");
    assert_eq!(events(&world).pop().unwrap(), "run.cancel_requested");
    drop(other);
    let resumed = json(&world, &["runs", "resume", world.run()]);
    assert_eq!(resumed["outcome"], "cancelled");
    assert!(!is_done(&world));
}

#[test]
fn who_drives_a_run_is_listed_and_shown() {
    let world = approved();
    let other = Other::drives(&world);
    let list = other.named(&world.show(&["runs", "list"]));
    assert!(
        list.contains("<run1>  waiting, by process <pid>  "),
        "{list}"
    );
    let show = other.named(&world.show(&["runs", "show", world.run()]));
    assert!(show.contains("  driven by    process <pid>\n"), "{show}");
    assert!(!show.contains("next: "), "{show}");
    let pid = other.0.id();
    let uid = rustix::process::geteuid().as_raw();
    let driver = json!({ "pid": pid, "uid": uid });
    assert_eq!(
        json(&world, &["runs", "show", world.run()])["driver"],
        driver
    );
    assert_eq!(json(&world, &["runs", "list"])["runs"][0]["driver"], driver);
    drop(other);
    assert!(json(&world, &["runs", "show", world.run()])["driver"].is_null());
    assert!(json(&world, &["runs", "list"])["runs"][0]["driver"].is_null());
}

#[test]
fn a_run_is_taken_over_from_a_driver_even_if_that_is_stopped() {
    let world = approved();
    let mut other = Other::drives(&world);
    let pid = rustix::process::Pid::from_child(&other.0);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    assert_eq!(world.call(&["runs", "resume", world.run()]).code, 5);
    let taken = world.call(&["runs", "resume", world.run(), "--take-over"]);
    assert_eq!(taken.code, 0, "{}", taken.stderr);
    assert!(!other.is_alive() && is_done(&world));
    let log = json(&world, &["audit", "log", "--type", "segment.started"]);
    let last = log["events"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["record"]["body"]["reason"], "taken_over", "{last}");
    world.records_hold();
    assert_eq!(world.call(&["runs", "replay", world.run()]).code, 0);
}

#[test]
fn a_run_is_taken_over_from_a_driver_that_has_the_ledger() {
    let world = approved();
    let mut other = Other::has_all(&world, &lease(&world));
    let pid = rustix::process::Pid::from_child(&other.0);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let resumed = world.call(&["runs", "resume", world.run()]);
    assert_eq!(resumed.code, 5, "{}", resumed.stderr);
    assert!(other.is_alive());
    let taken = world.call(&["runs", "resume", &world.run()[..8], "--take-over"]);
    assert_eq!(taken.code, 0, "{}", taken.stderr);
    assert!(!other.is_alive() && is_done(&world));
    let log = json(&world, &["audit", "log", "--type", "segment.started"]);
    let last = log["events"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["record"]["body"]["reason"], "taken_over", "{last}");
}

#[test]
fn who_has_the_ledger_and_drives_another_run_is_left_alone() {
    let world = approved();
    let elsewhere = lease(&world).with_file_name("00000000-0000-4000-8000-000000000001");
    let mut other = Other::has_all(&world, &elsewhere);
    let taken = world.call(&["runs", "resume", world.run(), "--take-over"]);
    assert_eq!(taken.code, 5, "{}", taken.stderr);
    assert!(
        taken.stderr.contains("in use by process"),
        "{}",
        taken.stderr
    );
    assert!(other.is_alive() && !is_done(&world));
}

#[test]
fn taking_over_from_nobody_is_resuming() {
    let world = approved();
    let taken = world.call(&["runs", "resume", world.run(), "--take-over"]);
    assert_eq!(taken.code, 0, "{}", taken.stderr);
    let log = json(&world, &["audit", "log", "--type", "segment.started"]);
    let last = log["events"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["record"]["body"]["reason"], "resumed", "{last}");
}

#[test]
fn what_cannot_be_ended_is_not_taken_over_and_nothing_is_changed() {
    for (name, value, why) in [
        ("boot", json!("another"), "it runs on another machine"),
        (
            "namespace",
            json!("pid:[1]"),
            "it runs in another process namespace, such as a container's",
        ),
        ("uid", json!(54_321), "it runs as the user 54321"),
    ] {
        let world = approved();
        let mut other = Other::drives(&world);
        let said = fs::read(lease(&world)).unwrap();
        let mut said: Value = serde_json::from_slice(&said).unwrap();
        said[name] = value;
        fs::write(lease(&world), said.to_string()).unwrap();
        let before = events(&world);
        let args = ["runs", "resume", world.run(), "--take-over"];
        let taken = world.call(&[&args[..], &["--max-tokens", "5000"]].concat());
        assert_eq!(taken.code, 5, "{}", taken.stderr);
        assert!(taken.stderr.contains(why), "{}", taken.stderr);
        assert!(
            taken.stderr.contains("nothing was changed"),
            "{}",
            taken.stderr
        );
        assert!(other.is_alive() && !is_done(&world), "{name}");
        assert_eq!(events(&world), before, "{name}");
    }
}

#[test]
fn nothing_goes_on_while_something_of_an_earlier_driver_may_be_at_work() {
    let world = approved();
    let process = serde_json::to_value(placet_ledger::process::Process::own().unwrap()).unwrap();
    let mark = json!({
        "pid": process["pid"],
        "start": process["start"],
        "boot": process["boot"],
        "namespace": "pid:[1]",
        "temporary": "/tmp/placet-test-none",
    });
    let path = world.path(&format!("data/placet/running/{}-c9", world.run()));
    fs::write(&path, mark.to_string()).unwrap();
    let before = events(&world);
    let resumed = world.call(&["runs", "resume", world.run()]);
    assert_eq!(resumed.code, 5, "{}", resumed.stderr);
    assert!(
        resumed
            .stderr
            .contains("a mark names a process of another namespace"),
        "{}",
        resumed.stderr
    );
    assert_eq!(events(&world), before);
    // The wish is recorded all the same, and nothing is concluded from it.
    let cancel = ["runs", "cancel", world.run(), "--note", "enough"];
    assert_eq!(world.call(&cancel).code, 5);
    assert_eq!(events(&world).pop().unwrap(), "run.cancel_requested");
    assert!(path.exists());
    fs::remove_file(path).unwrap();
    assert_eq!(json(&world, &cancel)["outcome"], "cancelled");
}

#[test]
fn another_user_says_and_does_not_drive() {
    let mut world = World::parked();
    world.uid = 2000;
    let approved = world.show(&["runs", "approve", world.run()]);
    let (_, stderr) = approved.split_once("-- stderr --\n").unwrap();
    insta::assert_snapshot!(stderr, @"
    the run <run1> is driven only under uid:1000, who started it
      hint: what was said is recorded; as that user: placet runs resume <run1>
    calls: 3 not started; 1 model call, 31 tokens in, 58 out, 0 USD, <n> ms active
    -- exit 0 --
    ");
    assert!(!is_done(&world));
    let resume = ["runs", "resume", world.run()];
    let resumed = world.show(&resume);
    insta::assert_snapshot!(resumed, @r"
    -- stderr --
    error: the run <run1> is driven only under uid:1000, who started it
      hint: that user's placet runs resume RUN drives it on
    -- exit 3 --
    ");
    let taken = world.show(&[&resume[..], &["--take-over"]].concat());
    assert_eq!(taken, resumed);
    let cancel = ["runs", "cancel", world.run(), "--note", "enough"];
    assert_eq!(world.call(&cancel).code, 0);
    assert_eq!(events(&world).pop().unwrap(), "run.cancel_requested");
    world.uid = 1000;
    assert_eq!(
        json(&world, &["runs", "resume", world.run()])["outcome"],
        "cancelled"
    );
}

#[test]
fn a_run_of_another_host_is_answered_and_not_driven() {
    let world = World::parked();
    let host = world.path("data/placet/host");
    let here = fs::read(&host).unwrap();
    fs::write(&host, "b3e41f00-0000-4000-8000-000000000001").unwrap();
    let approved = world.show(&["runs", "approve", world.run()]);
    let (_, stderr) = approved.split_once("-- stderr --\n").unwrap();
    insta::assert_snapshot!(stderr, @"
    the run <run1> is driven only on the host where it was started
      hint: what was said is recorded; on that host: placet runs resume <run1>
    calls: 3 not started; 1 model call, 31 tokens in, 58 out, 0 USD, <n> ms active
    -- exit 0 --
    ");
    let resumed = world.show(&["runs", "resume", world.run()]);
    insta::assert_snapshot!(resumed, @r"
    -- stderr --
    error: the run <run1> is driven only on the host where it was started
      hint: placet runs resume RUN on that host drives it on
    -- exit 3 --
    ");
    assert!(!is_done(&world));
    fs::write(&host, here).unwrap();
    assert_eq!(world.call(&["runs", "resume", world.run()]).code, 0);
    assert!(is_done(&world));
}

/// A terminal at which another process takes the run up before the last key.
struct Overtaken {
    keys: VecDeque<Key>,
    lease: PathBuf,
    other: Arc<Mutex<Option<Other>>>,
}

impl Terminal for Overtaken {
    fn size(&self) -> Size {
        Size {
            columns: 80,
            rows: 24,
        }
    }

    fn enter(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    fn leave(&mut self) {}

    fn draw(&mut self, _rows: &[String]) -> std::io::Result<()> {
        Ok(())
    }

    fn discard(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    fn next(&mut self, _stop: &Stop) -> std::io::Result<Happening> {
        let key = self.keys.pop_front();
        if self.keys.is_empty() {
            // While cards are on the screen nobody drives the run.
            assert!(!self.lease.exists());
            *self.other.lock().unwrap() = Some(Other::holds(&self.lease));
        }
        let none = || std::io::Error::other("no key is left");
        key.map(Happening::Key).ok_or_else(none)
    }

    fn page(&mut self, _text: &str, _stop: &Stop) -> std::io::Result<()> {
        Ok(())
    }

    fn edit(&mut self, _text: &str, _suffix: &str) -> std::io::Result<String> {
        Err(std::io::Error::other("no editor"))
    }
}

#[test]
fn a_person_whose_run_is_taken_up_while_they_read_is_told_who_drives_it() {
    for inbox in [false, true] {
        let mut world = World::parked();
        world.terminal = true;
        let other = Arc::default();
        let terminal = Overtaken {
            keys: [Key::Char('a'), Key::Char('a'), Key::Enter].into(),
            lease: lease(&world),
            other: Arc::clone(&other),
        };
        let resume = ["runs", "resume", world.run(), "--attend", "auto"];
        let args = if inbox { &["inbox"][..] } else { &resume };
        let output = world.call_at(args, Some(Box::new(terminal)));
        assert_eq!(output.code, 0, "{}", output.stderr);
        let other = other.lock().unwrap().take();
        let other = other.unwrap_or_else(|| panic!("{inbox}: {}", output.stderr));
        let said = other.named(&output.stderr);
        let driven = format!("the run {} is driven by process <pid>\n", &world.run()[..6]);
        assert!(said.contains(&driven), "{said}");
        assert!(!is_done(&world));
        let granted = events(&world).into_iter();
        let granted = granted.filter(|name| name == "approval.granted");
        assert_eq!(granted.count(), 3, "the answers are recorded");
    }
}
