//! A driver that is killed while an approved command runs: all that the command started ends with
//! it, and nobody is told that the command did not run.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};

use super::Person;
use super::person::text;
use super::run::Wish;

/// Says when it is ready, writes for as long as it lives, and leaves one behind that does.
const STUBBORN: &str = "exec 3> pipe; trap '' TERM HUP INT; \
                        (setsid sh -c 'trap \"\" TERM HUP; while :; do echo late; sleep 0.01; done \
                        > late' &); until test -s late; do sleep 0.01; done; \
                        echo ready >&3; sleep 1000";

#[test]
fn what_a_command_started_ends_with_its_killed_driver() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let parts = "processes,mounts,network,landlock,syscalls,limits";
    for without in ["", "processes", "users", parts] {
        let person = Person::new();
        let pipe = person.path("home/work/pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
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
