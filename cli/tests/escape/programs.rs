//! Programs that lie where somebody would take them for the system's, and homes of the ledger that
//! lie where commands may look.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::Value;

use super::Person;
use super::person::text;
use super::run::Wish;

/// Lays a program that tells that it ran.
fn plant(path: &Path, mark: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\necho x > {}\n", mark.display())).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The path of the program of the only proposal of a run.
fn proposed(person: &Person, run: &str) -> String {
    let recorded = person.recorded(run);
    let mut found = recorded
        .iter()
        .filter(|(record, _)| record["type"] == "call.proposed");
    let program: Value = serde_json::from_str(&found.next().unwrap().1["program"]).unwrap();
    program["path"].as_str().unwrap().to_owned()
}

#[test]
fn a_git_of_the_workspace_is_never_the_systems() {
    let person = Person::new();
    let mark = person.path("home/work/ran");
    plant(&person.path("home/work/bin/git"), &mark);
    plant(&person.path("home/work/git"), &mark);
    symlink(person.path("home/work/bin"), person.path("home/linked")).unwrap();
    let folders = ["home/work/bin", "home/linked", "home/work"].map(|at| person.at(at));
    let path = format!("{}:.:/usr/local/bin:/usr/bin:/bin", folders.join(":"));
    // Whoever takes the first of the path gets the planted one.
    let run = |mut command: std::process::Command| command.env("PATH", &path).output().unwrap();
    let mut control = person.command("sh");
    control.args(["-c", "git status"]);
    run(control);
    assert!(mark.exists());
    fs::remove_file(&mark).unwrap();
    for (command, code) in [
        // What only reads needs nobody: it is the system's git that reads.
        ("git status", 0),
        ("git status; command -v git", 2),
        ("env git status", 2),
        ("./git status", 2),
        ("bin/git status", 2),
    ] {
        let model = person.agent(&[Wish::of(command)]);
        let mut start = person.command(env!("CARGO_BIN_EXE_placet"));
        start.args(["--json", "run", "--model", &model, "--park", "Go on."]);
        start.args(["--approval-policy", "read-only"]);
        let started = run(start);
        assert_eq!(
            started.status.code(),
            Some(code),
            "{command}: {}",
            text(&started.stderr)
        );
        assert!(!mark.exists(), "{command}");
        let report: Value = serde_json::from_slice(&started.stdout).unwrap();
        let id = report["run"].as_str().unwrap();
        let own = command.starts_with("./") || command.starts_with("bin/");
        assert_eq!(
            proposed(&person, id).starts_with(&person.at("home/work")),
            own,
            "{command}"
        );
        if code == 2 && !own {
            let mut approve = person.command(env!("CARGO_BIN_EXE_placet"));
            approve.args(["runs", "approve", id]);
            assert_eq!(run(approve).status.code(), Some(0), "{command}");
            assert!(!mark.exists(), "{command}");
        }
    }
}

/// A home that is no default one, and where commands would find it.
struct Elsewhere(std::path::PathBuf);

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_home_elsewhere_is_closed_as_the_default_one_is() {
    let person = Person::new();
    let name = person
        .path("")
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .replace('.', "");
    let above = ["/opt", "/usr/local"].map(|at| Path::new(at).join(format!("placet{name}")));
    let mut places = vec![Elsewhere(person.path("ledger"))];
    // Folders of the system are read by every command, for whoever may make a home there.
    places.extend(
        above
            .into_iter()
            .filter(|at| fs::create_dir(at).is_ok())
            .map(Elsewhere),
    );
    // The default home is there as well, and another one beside.
    person.park(&[Wish::of("true")], &[]);
    for Elsewhere(place) in &places {
        let home = place.join("home");
        fs::create_dir_all(place).unwrap();
        let home = home.to_str().unwrap();
        let run = |words: &[&str]| {
            let mut command = person.command(env!("CARGO_BIN_EXE_placet"));
            command
                .env("PLACET_HOME", home)
                .args(words)
                .output()
                .unwrap()
        };
        let default = person.at("home/.local/share/placet");
        let state = person.at("home/.local/state/placet");
        let command = format!(
            "cat {home}/ledger.key {default}/ledger.key; cat {home}/sled/*/* {default}/sled/*/*; \
             grep -r . {state}; echo x > {home}/planted; chmod 755 {home}; ln {home}/ledger.key k; \
             ls {home}; echo tried"
        );
        let model = person.agent(&[Wish::of(command)]);
        let started = run(&["--json", "run", "--model", &model, "--park", "Go on."]);
        assert_eq!(started.status.code(), Some(2), "{}", text(&started.stderr));
        let report: Value = serde_json::from_slice(&started.stdout).unwrap();
        let id = report["run"].as_str().unwrap();
        let card = text(&run(&["runs", "show", id]).stdout);
        assert_eq!(run(&["runs", "approve", id]).status.code(), Some(0));
        let exported = text(&run(&["audit", "export", "--run", id]).stdout);
        let told = exported
            .lines()
            .find(|line| line.contains("\\ntried\\n"))
            .unwrap();
        if card.contains("containment    full") {
            assert!(told.contains("stdout: 6 bytes\\ntried\\n"), "{told}");
        }
        assert!(!Path::new(home).join("planted").exists());
        assert_eq!(
            fs::metadata(home).unwrap().permissions().mode() & 0o777,
            0o700
        );
        assert!(!person.path("home/work/k").exists());
    }
}
