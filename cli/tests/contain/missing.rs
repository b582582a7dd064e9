//! Machines that cannot give every part: what is missing is said, and what is there still holds.

use std::collections::BTreeSet;

use placet_engine::contain::{ContainError, Container, Ending, Helper, helper};
use placet_ledger::containment::{Containment, Part};

use super::Place;
use super::place::text;

#[test]
fn what_is_missing_is_said() {
    let full = Place::new().container.level().missing().clone();
    for part in Part::ALL {
        let place = Place::without([part]);
        let missing = place.container.level().missing();
        assert!(missing.contains(&part), "{part:?}");
        let more: Vec<_> = missing
            .difference(&full)
            .filter(|&&one| one != part)
            .collect();
        // Root is bounded by its process namespace alone.
        let follows = part == Part::Processes && more == [&Part::Limits];
        assert!(more.is_empty() || follows, "{part:?} {more:?}");
        assert_ne!(place.container.level().containment(), Containment::Full);
        assert_eq!(place.says("echo works"), "works", "{part:?}");
    }
    let place = Place::without(Part::ALL);
    assert_eq!(place.container.level().containment(), Containment::None);
    assert_eq!(place.says("echo works"), "works");
}

#[test]
fn every_pair_of_missing_parts_still_runs() {
    for first in Part::ALL {
        for second in Part::ALL.into_iter().filter(|&second| second > first) {
            let place = Place::without([first, second]);
            assert_eq!(place.says("echo works"), "works", "{first:?} {second:?}");
        }
    }
}

#[test]
fn without_namespaces_rules_and_filter_hold() {
    let place = Place::without([Part::Processes, Part::Mounts, Part::Network]);
    if !place.has(Part::Landlock) || !place.has(Part::Syscalls) {
        return;
    }
    let key = place.path("home/.ssh/id").display().to_string();
    let beside = place.path("running/planted").display().to_string();
    for script in [
        format!("cat {key}"),
        format!("echo x > {beside}"),
        format!("cat /proc/{}/environ", std::process::id()),
        format!("kill -0 {}", std::process::id()),
        "cat /root/.profile /home/*/.profile".to_owned(),
    ] {
        let said = place.says(&format!("({script}) 2>/dev/null || echo refused"));
        assert_eq!(said, "refused", "{script}");
    }
    for (words, expected) in [
        (["unix", "/run/any"], "socket 1\n"),
        (["unix", "@any"], "socket 1\n"),
        (["tcp", "1"], "socket 1\n"),
    ] {
        assert_eq!(place.attempt(&words), expected, "{words:?}");
    }
    // The private folder is one of the machine, and goes with the call.
    let folder = place.says("echo x > $TMPDIR/left && echo $TMPDIR");
    assert!(folder.contains("placet-"), "{folder}");
    assert!(!std::path::Path::new(&folder).exists());
}

#[test]
fn without_anything_the_surroundings_still_hold() {
    let place = Place::without(Part::ALL);
    let mut job = place
        .shell("(: < /dev/tty) || echo no terminal; env | grep -c SOCK; cat /proc/self/status");
    job.env.insert("SSH_AUTH_SOCK".to_owned(), "/x".to_owned());
    let ran = place.run(&job);
    let said = text(&ran.stdout.head);
    assert!(said.starts_with("no terminal\n0\n"), "{said}");
    assert!(said.contains("NoNewPrivs:\t1"), "{said}");
    assert!(said.contains("CapEff:\t0000000000000000"), "{said}");
    assert_eq!(ran.ending, Ending::Exited(0));
}

#[test]
fn where_nothing_can_be_given_up_nothing_runs() {
    let mut place = Place::new();
    let helper = Helper {
        program: place.attempts().into(),
        arguments: vec![
            "refusing".to_owned(),
            env!("CARGO_BIN_EXE_placet").to_owned(),
            helper::VERB.to_owned(),
        ],
    };
    place.container = Container::probe(helper);
    assert_eq!(place.container.level().containment(), Containment::None);
    let job = place.shell("echo x > ran");
    let error = place.try_run(&job).unwrap_err();
    assert!(matches!(error, ContainError::Setup(_)), "{error:?}");
    assert!(!place.path("work/ran").exists());
    assert!(!job.mark.exists());
}

#[test]
fn a_helper_that_is_none_gives_nothing() {
    for program in ["/nowhere/placet", "/bin/true"] {
        let helper = Helper {
            program: program.into(),
            arguments: Vec::new(),
        };
        let container = Container::probe_without(helper, &BTreeSet::new());
        assert_eq!(
            container.level().containment(),
            Containment::None,
            "{program}"
        );
    }
}
