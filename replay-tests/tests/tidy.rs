//! The rules of the house, held against the workspace as it is. Each finding says what to do.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use placet_replay::source_tree::layers::{self, Layers};
use placet_replay::source_tree::{Finding, Source, Tree, documents, rules};

fn workspace() -> Tree {
    Tree::of_workspace().unwrap_or_else(|error| panic!("cannot read the workspace: {error}"))
}

/// Fails with every finding on a line of its own.
fn assert_none(findings: &[Finding]) {
    let lines: Vec<_> = findings.iter().map(Finding::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

/// Holds a rule against every Rust source.
fn assert_each(rule: fn(&Source) -> Vec<Finding>) {
    let tree = workspace();
    assert!(tree.rust().count() > 10, "the walk found hardly any source");
    let findings: Vec<_> = tree.rust().flat_map(rule).collect();
    assert_none(&findings);
}

#[test]
fn sources_open_with_their_purpose() {
    assert_each(rules::opens_with_its_purpose);
}

#[test]
fn files_are_short() {
    assert_each(rules::is_short);
}

#[test]
fn lines_are_narrow() {
    assert_each(rules::is_narrow);
}

#[test]
fn sources_and_manifests_are_ascii() {
    let tree = workspace();
    let sources = tree.files.iter().filter(|file| file.extension() != "md");
    let findings: Vec<_> = sources.flat_map(rules::is_ascii).collect();
    assert_none(&findings);
}

#[test]
fn no_banned_word_or_name_is_used() {
    assert_each(rules::has_no_banned_word);
}

#[test]
fn tests_do_not_sleep() {
    assert_each(rules::does_not_sleep_in_tests);
}

#[test]
fn the_core_is_pure() {
    assert_each(rules::core_is_pure);
    assert_none(&rules::pure_paths_exist(&workspace()));
}

#[test]
fn processes_start_in_few_places() {
    assert_each(rules::processes_start_in_few_places);
    let tree = workspace();
    for (path, starts) in rules::STARTS_PROCESSES {
        let source = tree.get(path).map_or("", |source| source.production());
        assert!(
            source.contains("Command::new"),
            "{path} no longer starts {starts}"
        );
    }
}

#[test]
fn imports_follow_the_layer_table() {
    let tree = workspace();
    let document = tree
        .get(layers::DOCUMENT)
        .expect("no architecture document");
    let table = Layers::parse(&document.text).expect("the layer table cannot be read");
    assert_eq!(
        table.crates().collect::<Vec<_>>(),
        ["cli", "engine", "ledger"]
    );
    assert_none(&layers::check(&table, &tree));
}

#[test]
fn permits_are_minted_in_one_place() {
    assert_none(&rules::permits_have_one_mint(&workspace()));
}

#[test]
fn no_file_of_tests_is_forgotten() {
    assert_none(&rules::tests_are_not_forgotten(&workspace()));
}

#[test]
fn the_top_level_holds_what_was_agreed() {
    let entries = top_level(&workspace().root);
    assert!(entries.contains("Cargo.toml"), "{entries:?}");
    assert_none(&rules::top_level_is_agreed(
        entries.iter().map(String::as_str),
    ));
}

#[test]
fn documents_have_one_title_and_links_that_resolve() {
    assert_none(&documents::check_all(&workspace()));
}

#[test]
fn the_table_of_events_names_each_event_once() {
    let tree = workspace();
    let document = tree.get("docs/EVENTS.md").expect("no document of events");
    let rows = documents::event_rows(&document.text).expect("the table cannot be read");
    let names: BTreeSet<_> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names.len(), rows.len(), "a name stands twice");
    assert!(names.contains("run.started") && names.contains("ledger.created"));
}

/// What git has at the top, so that a stray file of an editor fails nobody's tests; without git,
/// what lies there.
fn top_level(root: &Path) -> BTreeSet<String> {
    let tracked = tracked(root);
    if !tracked.is_empty() {
        return tracked;
    }
    let entries = fs::read_dir(root).unwrap_or_else(|error| panic!("cannot list the top: {error}"));
    entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name != ".git" && name != "target")
        .collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "asks git, outside of any run of an agent"
)]
fn tracked(root: &Path) -> BTreeSet<String> {
    let listing = Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files"])
        .current_dir(root)
        .output();
    let names = listing.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    names
        .unwrap_or_default()
        .lines()
        .filter_map(|path| path.split('/').next())
        .map(str::to_owned)
        .collect()
}
