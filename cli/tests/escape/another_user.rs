//! The attacks under an ordinary user, where these tests run as root.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use placet_ledger::containment::Part;
use rustix::process::geteuid;

use super::levels::{control, try_all};
use super::person::text;

/// Tells the copy of these tests that runs as somebody else.
const AS: &str = "PLACET_TEST_AS";

/// Whether everybody can run a program.
fn open_to_all(program: &Path) -> bool {
    let mode = |path: &Path| {
        let found = path.metadata();
        found.is_ok_and(|found| found.permissions().mode() & 1 != 0)
    };
    program.ancestors().all(mode)
}

#[test]
fn nothing_comes_through_for_an_ordinary_user() {
    let own = std::env::current_exe().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_placet"));
    if !geteuid().is_root() || !open_to_all(&own) || !open_to_all(binary) {
        return;
    }
    let copy = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&own)
        .args(["--exact", "escape::another_user::as_nobody", "--nocapture"])
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
fn as_nobody() {
    if std::env::var(AS).is_err() {
        return;
    }
    control();
    println!("{:?}", try_all(&[], &[]));
    let names: Vec<_> = Part::ALL.iter().map(|part| part.as_str()).collect();
    assert_eq!(try_all(&names, &[]), Part::ALL.into());
}
