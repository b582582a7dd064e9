//! A driver, or what watches over an approved command, is killed while it runs: all that the
//! command started ends with it, and nobody is told that the command did not run.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};

use placet_ledger::containment::Part;

use super::Person;
use super::person::text;
use super::run::{Wish, missing};

/// Says when it is ready, writes for as long as it lives, and leaves one behind that does.
const STUBBORN: &str = "exec 3> pipe; trap '' TERM HUP INT; \
                        (setsid sh -c 'trap \"\" TERM HUP; while :; do echo late; sleep 0.01; done \
                        > late' &); until test -s late; do sleep 0.01; done; \
                        echo ready >&3; sleep 1000";

/// Leaves a process behind that nothing of the call can be seen in. It holds the driver, kills what
/// watches over the call, and lets the driver go on when nobody can tell any more whose it is.
const ORPHAN: &str = "read -r _ _ _ watcher _ < /proc/$PPID/stat; \
                      read -r _ _ _ driver _ < /proc/$watcher/stat; \
                      (env -i setsid sh -c 'exec > pipe; kill -STOP $1 && kill -9 $0 || exit; \
                      until read -r _ _ state _ < /proc/$0/stat && test $state = Z; \
                      do sleep 0.01; done; kill -CONT $1; \
                      until test -e go; do sleep 0.01; done; echo outlived' \
                      \"$watcher\" \"$driver\" &); sleep 2";

#[test]
fn what_loses_its_watcher_ends_unless_signals_go_everywhere() {
    let signals = [Part::Processes, Part::Landlock];
    for without in [&[][..], &["processes"], &["processes", "landlock"]] {
        let person = Person::new();
        let pipe = person.pipe();
        let run = person.park(&[Wish::of(ORPHAN)], without);
        let reader = std::thread::spawn(|| fs::read_to_string(pipe).unwrap());
        let approved = person.approve(&run, without);
        fs::write(person.path("home/work/go"), "").unwrap();
        let said = reader.join().unwrap();
        let recorded = person.recorded(&run);
        let started = recorded
            .iter()
            .find(|(record, _)| record["type"] == "execution.started");
        let missing = missing(&started.unwrap().0["body"]);
        let open = signals.iter().all(|part| missing.contains(part));
        assert_eq!(said.contains("outlived"), open, "{missing:?}");
        // Who lost sight of it says so.
        assert_eq!(approved.status.code() == Some(2), open, "{missing:?}");
        assert_eq!(person.cards(&run).contains("in doubt"), open, "{missing:?}");
    }
}

#[test]
fn what_a_command_started_ends_with_its_killed_driver() {
    let parts = "processes,mounts,network,landlock,syscalls,limits";
    for without in ["", "processes", "users", parts] {
        let person = Person::new();
        let pipe = person.pipe();
        let without: Vec<_> = without.split(',').filter(|part| !part.is_empty()).collect();
        let run = person.park(&[Wish::of(STUBBORN)], &without);
        let words = ["runs", "approve", &run];
        let parts = without.join(",");
        let mut driver = if without.is_empty() {
            person.command(env!("CARGO_BIN_EXE_placet"))
        } else {
            let mut lesser = person.command(person.path("lesser"));
            lesser.args([&parts, env!("CARGO_BIN_EXE_placet")]);
            lesser
        };
        let mut driver = driver.args(words).spawn().unwrap();
        let mut pipe = BufReader::new(File::open(pipe).unwrap());
        let mut line = String::new();
        pipe.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        driver.kill().unwrap();
        driver.wait().unwrap();
        // The end of the pipe is the end of all that could write to it.
        let mut rest = Vec::new();
        pipe.read_to_end(&mut rest).unwrap();
        assert_eq!(text(&rest), "");
        let written = fs::read(person.path("home/work/late")).unwrap();
        assert!(!written.is_empty());
        let resumed =
            person.placet_without(&without, &["runs", "resume", &run, "--attend", "never"]);
        assert_eq!(resumed.status.code(), Some(2), "{}", text(&resumed.stderr));
        let shown = person.cards(&run);
        assert!(shown.contains("in doubt"), "{without:?} {shown}");
        assert_eq!(fs::read(person.path("home/work/late")).unwrap(), written);
        let marks = person.path("home/.local/share/placet/running");
        assert_eq!(fs::read_dir(marks).unwrap().count(), 0, "{without:?}");
    }
}
