//! Failures that users of similar tools met with commands, each as what is read of it here.

use placet_engine::shell::wide::{Match, Pattern};
use placet_engine::shell::{Reading, covers, key, known, read};

/// Whether an entry covers a command.
fn covered(command: &str, entry: &str) -> bool {
    key(command).is_some_and(|key| covers(entry, &key))
}

#[test]
fn no_entry_covers_a_line_of_several_commands() {
    for (report, entry, command) in [
        ("P002", "echo", "echo ok; rm -rf build"),
        ("P004", "npm test", "npm test && rm -rf dist"),
        ("P006", "git status", "git status && git log"),
        ("P006", "git log", "git status && git log"),
        ("P015", "git log", "git status && git log"),
        ("P028", "cat", "cat x | sh"),
    ] {
        assert!(!covered(command, entry), "{report}: {command}");
        assert_eq!(key(command), None, "{report}: {command}");
    }
}

#[test]
fn a_pattern_in_quotes_is_no_operator() {
    let command = "grep -E 'a|===' file";
    assert_eq!(key(command).as_deref(), Some("grep"), "P034");
    assert!(covered(command, "grep"), "P034");
}

#[test]
fn a_deny_meets_wrappers_paths_and_interpreters() {
    for (report, rule, command, expected) in [
        ("P008", "rm", "chronic rm -rf x", Match::Matches),
        ("P008", "rm", "ionice rm x", Match::Matches),
        ("P008", "rm", "doas rm x", Match::Matches),
        ("P011", "rm", "/bin/rm -rf x", Match::Matches),
        ("P011", "rm", "../bin/rm x", Match::Matches),
        (
            "P013",
            "Remove-Item",
            "powershell -Command \"Get-ChildItem; Remove-Item x\"",
            Match::Matches,
        ),
        ("P025", "yarn", "yarn test", Match::Matches),
    ] {
        let found = Pattern::parse(rule).unwrap().matches(command);
        assert_eq!(found, expected, "{report}: {command}");
    }
}

#[test]
fn what_a_heredoc_feeds_and_where_a_redirection_goes_is_a_hazard() {
    for (report, command) in [
        ("P039", "cat > rm <<EOF\nsudo x\nEOF"),
        ("P043", "echo hello && python3 -c \"print($(echo world))\""),
        ("P045", "<<-EOF cat\n\tbody\n\tEOF"),
    ] {
        let reading = read(command);
        assert!(
            matches!(reading, Reading::Hazard(_)),
            "{report}: {reading:?}"
        );
    }
}

#[test]
fn a_program_by_a_path_of_the_workspace_is_never_plainly_read_only() {
    let Reading::Plain(plain) = read("./sed -n 1,5p file") else {
        panic!("P016 is plain");
    };
    assert!(known::read_only(&plain).is_err(), "P016");
}
