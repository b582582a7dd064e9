//! Exports verified without a store.

use futures_executor::block_on;

use super::example::{Table, head, memory, run};
use crate::audit::{FindingKind, Report, verify_lines};
use crate::export::{What, export};

fn exported(what: What) -> Vec<String> {
    let mut bytes = Vec::new();
    block_on(async { export(&memory().await, what, &mut bytes).await }).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn of_run() -> What {
    What {
        run: Some(run()),
        ..What::default()
    }
}

fn verified(lines: &[String]) -> Report {
    verify_lines(lines, Some(head()), Some(&Table)).unwrap()
}

#[test]
fn an_export_of_the_ledger_verifies_to_its_root() {
    let report = verified(&exported(What::default()));
    assert!(report.ok, "{report:#?}");
    assert_eq!(report.root, Some(head().root));
    assert_eq!(report.head, Some(head()));
    assert_eq!((report.content.readable, report.decisions.judged), (20, 3));
}

#[test]
fn an_export_of_a_run_verifies_without_a_root() {
    let report = verified(&exported(of_run()));
    assert!(report.ok, "{report:#?}");
    assert_eq!((report.root, report.head), (None, None));
    assert_eq!((report.size, report.decisions.judged), (25, 3));
}

#[test]
fn an_export_of_facts_alone_verifies() {
    let what = What {
        facts_only: true,
        ..of_run()
    };
    let report = verified(&exported(what));
    assert!(report.ok, "{report:#?}");
    assert_eq!((report.content.readable, report.content.unreadable), (0, 0));
    // By which rules they were judged is content.
    let decisions = report.decisions;
    assert_eq!((decisions.judged, decisions.unjudged), (0, 3));
}

#[test]
fn what_was_changed_in_an_export_is_named() {
    let changed = |line: usize, from: &str, to: &str| {
        let mut lines = exported(of_run());
        assert!(lines[line].contains(from), "{}", lines[line]);
        lines[line] = lines[line].replacen(from, to, 1);
        let report = verified(&lines);
        let finding = report.findings[0].clone();
        (
            finding.place.position.map(crate::id::Position::get),
            finding.kind,
        )
    };
    let last = exported(of_run()).len() - 1;
    assert_eq!(
        changed(13, "\"active_ms\":251", "\"active_ms\":252"),
        (Some(12), FindingKind::LinkBroken)
    );
    assert_eq!(
        changed(26, "[]", "{}"),
        (Some(1), FindingKind::ContentDiffers)
    );
    assert_eq!(
        changed(last, "true", "false"),
        (None, FindingKind::CompletenessDiffers)
    );
    assert_eq!(
        changed(0, "b3e41f07", "b3e41f08"),
        (Some(2), FindingKind::RecordForeign)
    );
    assert_eq!(
        changed(0, "6f0c9a52", "6f0c9a53").1,
        FindingKind::RecordForeign
    );
}

#[test]
fn a_content_that_was_left_out_is_named() {
    let mut lines = exported(What::default());
    let left_out = lines.remove(26);
    assert!(left_out.contains("\"text\":\"[]\""));
    let last = lines.len() - 1;
    lines[last] = format!("{{\"complete\":true,\"lines\":{last}}}");
    let report = verified(&lines);
    assert_eq!(report.findings.len(), 1, "{report:#?}");
    assert_eq!(report.findings[0].kind, FindingKind::ContentMissing);
    assert_eq!(report.findings[0].place.position.unwrap().get(), 1);
}

#[test]
fn no_mangled_line_is_taken_for_the_export_or_brings_anything_down() {
    let lines = exported(What::default());
    for line in 0..lines.len() {
        for at in (0..lines[line].len()).step_by(23) {
            for mangled in [
                lines[line][..at].to_owned(),
                format!("{}{}", &lines[line][..at], &lines[line][at + 1..]),
                format!("{}\u{1}{}", &lines[line][..at], &lines[line][at..]),
                format!("{}9{}", &lines[line][..at], &lines[line][at + 1..]),
            ] {
                let mut lines = lines.clone();
                if lines[line] == mangled {
                    continue;
                }
                lines[line] = mangled;
                let report = verify_lines(&lines, Some(head()), Some(&Table));
                assert!(report.is_err() || !report.unwrap().ok, "{line} {at}");
            }
        }
    }
}
