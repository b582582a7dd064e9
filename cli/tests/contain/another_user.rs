//! The profile under an ordinary user, where these tests run as root.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use placet_engine::contain::Ending;
use placet_ledger::containment::Part;
use rustix::process::geteuid;

use super::Place;
use super::place::text;

/// Tells the copy of these tests that runs as somebody else.
const AS: &str = "PLACET_TEST_AS";

/// Whether everybody can run a program.
fn open_to_all(program: &Path) -> bool {
    let mode = |path: &Path| {
        path.metadata()
            .is_ok_and(|found| found.permissions().mode() & 1 != 0)
    };
    program.ancestors().all(mode)
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a copy of these tests under another user"
)]
fn an_ordinary_user_is_shut_in_as_well() {
    let own = std::env::current_exe().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_placet"));
    if !geteuid().is_root() || !open_to_all(&own) || !open_to_all(binary) {
        return;
    }
    let copy = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&own)
        .args(["--exact", "contain::another_user::as_nobody", "--nocapture"])
        .env(AS, "65534")
        .output();
    let Ok(copy) = copy else {
        return;
    };
    let said = format!("{}{}", text(&copy.stdout), text(&copy.stderr));
    assert!(copy.status.success() && said.contains("1 passed"), "{said}");
}

/// The copy. As a test of its own it does nothing.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment tells the copy from the test"
)]
fn as_nobody() {
    let Ok(user) = std::env::var(AS) else {
        return;
    };
    let place = Place::new();
    println!("{:?}", place.container.level());
    assert_eq!(place.says("id -u"), user);
    assert!(
        place
            .says("cat /proc/self/status")
            .contains("CapEff:\t0000000000000000")
    );
    let program = place.attempts();
    let mut job = place.job(&[&program, "fork", "5000"]);
    job.limits.processes = 40;
    let ran = place.run(&job);
    if place.has(Part::Limits) && place.has(Part::Processes) {
        // The kernel itself refuses, or the watcher was quicker.
        let forked = text(&ran.stdout.head);
        let few = forked
            .trim()
            .strip_prefix("forked ")
            .and_then(|n| n.parse::<u32>().ok());
        assert!(few.is_none_or(|few| few <= 42), "{forked}");
        assert!(
            few.is_some() || ran.ending == Ending::OverProcesses,
            "{ran:?}"
        );
    }
    let key = place.path("home/.ssh/id").display().to_string();
    assert_eq!(
        place.says(&format!("cat {key} 2>/dev/null || echo refused")),
        "refused"
    );
    assert_eq!(
        place.says("sudo -n true 2>/dev/null || su -c true 2>/dev/null || echo no"),
        "no"
    );
    let partial = Place::without([Part::Processes, Part::Mounts, Part::Network]);
    assert_eq!(partial.says("id -u"), user);
    let mut job = partial.job(&[&program, "fork", "5000"]);
    job.workspace = place.path("work");
    job.read_only = Vec::new();
    job.limits.processes = 40;
    let ran = partial.run(&job);
    let many = text(&ran.stdout.head);
    assert!(!many.contains("forked 5000"), "{many}");
}
