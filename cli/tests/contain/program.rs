//! Which file a job runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use placet_engine::contain::{ContainError, Ending, Job};
use placet_ledger::containment::Part;
use placet_ledger::digest::{Purpose, digest};

use super::Place;
use super::place::text;

/// A script in the workspace, and the job that runs it as it is now.
fn script(place: &Place, content: &str) -> Job {
    let path = place.path("work/script");
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut job = place.job(&[path.to_str().unwrap(), "a b", "$HOME"]);
    job.digest = Some(digest(Purpose::File, content.as_bytes()));
    job
}

#[test]
fn a_program_gets_its_arguments_as_they_are() {
    let place = Place::new();
    let ran = place.run(&place.job(&["printf", "%s|", "a b", "$HOME", "*", "; ls"]));
    assert_eq!(text(&ran.stdout.head), "a b|$HOME|*|; ls|");
}

#[test]
fn a_digested_program_runs_only_as_it_was() {
    for place in [Place::new(), Place::without([Part::Mounts])] {
        let job = script(&place, "#!/bin/sh\necho \"$@\"\n");
        let ran = place.run(&job);
        assert_eq!(
            (ran.ending, text(&ran.stdout.head)),
            (Ending::Exited(0), "a b $HOME\n".into())
        );
        fs::write(place.path("work/script"), "#!/bin/sh\necho other > ran\n").unwrap();
        let error = place.try_run(&job).unwrap_err();
        assert!(
            matches!(error, ContainError::ProgramChanged(_)),
            "{error:?}"
        );
        fs::remove_file(place.path("work/script")).unwrap();
        let error = place.try_run(&job).unwrap_err();
        assert!(
            matches!(error, ContainError::ProgramChanged(_)),
            "{error:?}"
        );
        assert!(!place.path("work/ran").exists());
    }
}

#[test]
fn a_digested_program_cannot_change_while_it_runs() {
    let place = Place::new();
    if !place.has(Part::Mounts) {
        return;
    }
    let content = "#!/bin/sh\n(echo 'echo changed' >> $0) 2>/dev/null || echo \"$0\"\n";
    let job = script(&place, content);
    let own = format!("{}\n", place.path("work/script").display());
    assert_eq!(text(&place.run(&job).stdout.head), own);
    assert_eq!(
        fs::read(place.path("work/script")).unwrap(),
        content.as_bytes()
    );
}

#[test]
fn a_pipe_in_place_of_a_digested_program_makes_nobody_wait() {
    let place = Place::new();
    let pipe = place.pipe();
    let mut job = place.job(&[pipe.to_str().unwrap()]);
    job.digest = Some(digest(Purpose::File, b""));
    let error = place.try_run(&job).unwrap_err();
    assert!(
        matches!(error, ContainError::ProgramChanged(_)),
        "{error:?}"
    );
}
