//! Processes that answer the same calls at the same time: one wins, the others are told.

use std::process::{Child, Stdio};

use placet_ledger::event::{ApprovalGranted, Event};

use super::place::{Place, placet};

/// The exit codes of so many processes that approve the same calls at once.
fn race(place: Place, writers: usize, more: &[&str]) -> (Place, Vec<i32>) {
    let parked = place.run(&["--park"]).output().unwrap();
    assert_eq!(parked.status.code(), Some(2));
    let run = place.the_run().unwrap();
    let approve = [&["runs", "approve", &run][..], more].concat();
    let start = |_| {
        let mut command = placet(&place, &approve);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let children: Vec<Child> = (0..writers).map(start).collect();
    let code = |mut child: Child| child.wait().unwrap().code().unwrap();
    let mut codes: Vec<_> = children.into_iter().map(code).collect();
    codes.sort_unstable();
    (place, codes)
}

fn answers(place: &Place) -> usize {
    let by_person =
        |event: &Event| matches!(event, Event::ApprovalGranted(ApprovalGranted::ByPerson(_)));
    place
        .log()
        .iter()
        .filter(|record| by_person(record.event()))
        .count()
}

#[test]
fn of_processes_that_answer_at_once_one_wins_and_the_others_exit_5() {
    for writers in [2, 6] {
        let (place, codes) = race(Place::new(), writers, &["--no-resume"]);
        let wins = codes.iter().filter(|code| **code != 5).count();
        assert_eq!(wins, 1, "{codes:?}");
        assert_eq!(answers(&place), 4, "{codes:?}");
        assert!(place.verify().ok);
    }
}

#[test]
fn a_process_that_answers_after_the_winner_drove_the_run_on_is_told_that_it_was_answered() {
    let (place, codes) = race(Place::new(), 2, &["c1", "c2", "c3", "c4"]);
    assert_eq!(codes, [2, 5], "the winner parks at the second batch");
    assert_eq!(answers(&place), 4);
    let script = "
        [[turn]]
        calls = [{ tool = \"rm\", args = { path = \"old.txt\" } }]
        [[turn]]
        text = \"Done.\"
    ";
    for more in [&["c1"][..], &[]] {
        let (place, codes) = race(Place::with(script), 2, more);
        assert_eq!(codes, [0, 5], "{more:?}: the winner comes to the end");
        assert_eq!(answers(&place), 1);
    }
}
