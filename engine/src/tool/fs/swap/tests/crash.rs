//! What a crash may leave behind, case by case.

use std::fs;

use super::*;
use crate::tool::Reconciled;

/// Content of the target and of the file beside it, where `P` stands for the previewed file.
type Case = (Option<&'static str>, Option<&'static str>);

fn reconcile(bench: &Bench, draft: &Draft) -> Reconciled {
    match draft.execute_arguments["content"].as_str() {
        Some(content) => job(bench, draft).reconcile_put(content).unwrap(),
        None => job(bench, draft).reconcile_remove().unwrap(),
    }
}

fn is_done(reconciled: &Reconciled) -> bool {
    matches!(reconciled, Reconciled::Done(_))
}

#[test]
fn reconciles_what_a_crash_left_of_a_write() {
    let intended = "old\nmine\n";
    let cases: [(Case, &str, Case); 11] = [
        ((Some("P"), None), "not done", (Some("P"), None)),
        ((Some("P"), Some("old")), "not done", (Some("P"), None)),
        ((Some("P"), Some("")), "not done", (Some("P"), None)),
        ((Some("P"), Some(intended)), "not done", (Some("P"), None)),
        ((Some("P"), Some("x")), "unknown", (Some("P"), Some("x"))),
        ((Some(intended), None), "done", (Some(intended), None)),
        ((Some(intended), Some("P")), "done", (Some(intended), None)),
        (
            (Some(intended), Some("theirs")),
            "not done",
            (Some("theirs"), None),
        ),
        (
            (Some(intended), Some("old\n")),
            "not done",
            (Some("old\n"), None),
        ),
        ((Some("theirs"), None), "unknown", (Some("theirs"), None)),
        (
            (Some("theirs"), Some(intended)),
            "not done",
            (Some("theirs"), None),
        ),
    ];
    for ((front, aside), expected, after) in cases {
        let bench = Bench::new().has("a", "old\n");
        let draft = bench.write("a", intended).unwrap();
        fs::rename(bench.at("a"), bench.folder.path().join("P")).unwrap();
        for (name, content) in [("a", front), (TEMPORARY, aside)] {
            match content {
                Some("P") => fs::rename(bench.folder.path().join("P"), bench.at(name)).unwrap(),
                Some(content) => fs::write(bench.at(name), content).unwrap(),
                None => {}
            }
        }
        let found = reconcile(&bench, &draft);
        let word = match found {
            Reconciled::Done(_) => "done",
            Reconciled::NotDone => "not done",
            Reconciled::Unknown => "unknown",
        };
        assert_eq!(word, expected, "{front:?} {aside:?}");
        for (name, content) in [("a", after.0), (TEMPORARY, after.1)] {
            let found = fs::read_to_string(bench.at(name)).ok();
            let content = content.map(|text| if text == "P" { "old\n" } else { text });
            assert_eq!(found.as_deref(), content, "{front:?} {aside:?}");
        }
    }
}

#[test]
fn reconciles_what_a_crash_left_of_a_creation() {
    let bench = Bench::new();
    let draft = bench.write("new", "mine\n").unwrap();
    assert_eq!(reconcile(&bench, &draft), Reconciled::NotDone);
    let bench = bench.has(TEMPORARY, "mi");
    assert_eq!(reconcile(&bench, &draft), Reconciled::NotDone);
    assert!(bench.names().is_empty());
    let bench = bench.has(TEMPORARY, "theirs");
    assert_eq!(reconcile(&bench, &draft), Reconciled::Unknown);
    let bench = bench.has("new", "mine\n");
    assert_eq!(reconcile(&bench, &draft), Reconciled::Unknown);
    fs::remove_file(bench.at(TEMPORARY)).unwrap();
    fs::hard_link(bench.at("new"), bench.at(TEMPORARY)).unwrap();
    assert!(is_done(&reconcile(&bench, &draft)));
    assert_eq!(bench.names(), ["new"]);
    assert!(is_done(&reconcile(&bench, &draft)));
    let bench = bench.has("new", "theirs");
    assert_eq!(reconcile(&bench, &draft), Reconciled::Unknown);
    let bench = bench.has(TEMPORARY, "mine\n");
    assert_eq!(reconcile(&bench, &draft), Reconciled::NotDone);
    assert_eq!(
        (bench.text("new").as_str(), bench.names().len()),
        ("theirs", 1)
    );
}

#[test]
fn reconciles_what_a_crash_left_of_a_removal() {
    let bench = Bench::new().has("a", "old\n");
    let draft = bench.rm("a").unwrap();
    assert_eq!(reconcile(&bench, &draft), Reconciled::NotDone);
    // Between the two steps of moving without an exchange.
    fs::hard_link(bench.at("a"), bench.at(TEMPORARY)).unwrap();
    assert_eq!(reconcile(&bench, &draft), Reconciled::NotDone);
    assert_eq!(bench.names(), ["a"]);
    fs::rename(bench.at("a"), bench.at(TEMPORARY)).unwrap();
    let Reconciled::Done(result) = reconcile(&bench, &draft) else {
        panic!("the previewed file is out of its place");
    };
    assert!(result.bytes.starts_with(b"{\"bytes\":4,"));
    assert!(bench.names().is_empty());
    assert!(is_done(&reconcile(&bench, &draft)));
    let bench = bench.has(TEMPORARY, "theirs");
    assert_eq!(reconcile(&bench, &draft), Reconciled::NotDone);
    assert_eq!(
        (bench.text("a").as_str(), bench.names().len()),
        ("theirs", 1)
    );
    assert_eq!(reconcile(&bench, &draft), Reconciled::Unknown);
}

#[test]
fn a_new_file_of_the_name_does_not_undo_a_removal() {
    let bench = Bench::new().has("a", "old\n");
    let draft = bench.rm("a").unwrap();
    fs::rename(bench.at("a"), bench.at(TEMPORARY)).unwrap();
    let bench = bench.has("a", "new\n");
    assert!(is_done(&reconcile(&bench, &draft)));
    assert_eq!(
        (bench.text("a").as_str(), bench.names().len()),
        ("new\n", 1)
    );
}
