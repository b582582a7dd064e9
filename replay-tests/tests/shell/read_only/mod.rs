//! Which commands need no judge: whole tables, and what no word may be added to.

#[cfg(feature = "system-tests")]
mod traced;

use std::collections::BTreeSet;

use placet_engine::shell::known::{Claims, read_only};
use placet_engine::shell::{Reading, read};
use proptest::prelude::*;
use serde::Deserialize;

const TABLES: [&str; 2] = [
    include_str!("../../../fixtures/shell/read_only_commands.jsonl"),
    include_str!("../../../fixtures/shell/more_commands.jsonl"),
];

/// One line of a table.
#[derive(Debug, Deserialize)]
struct Case {
    command: String,
    read_only: bool,
    why: String,
}

fn cases() -> Vec<Case> {
    let lines = TABLES.iter().flat_map(|table| table.lines());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What a command would read, or why it is not known to do only that.
fn judged(command: &str) -> Result<Claims, String> {
    match read(command) {
        Reading::Plain(plain) => read_only(&plain).map_err(|not| not.why),
        Reading::Hazard(hazards) => Err(format!("{hazards:?}")),
        Reading::Neither(why) => Err(why),
    }
}

/// The words of every accepted command.
fn accepted() -> Vec<Vec<String>> {
    let accepted = cases().into_iter().filter(|case| case.read_only);
    accepted
        .map(|case| match read(&case.command) {
            Reading::Plain(plain) => plain
                .argv()
                .unwrap()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            other => panic!("{}: {other:?}", case.command),
        })
        .collect()
}

/// The command with these words.
fn written(words: &[String]) -> String {
    let quoted = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Programs of which every word is printed or compared.
const OF_WORDS: [&str; 8] = ["echo", "expr", "true", "false", ":", "printf", "test", "["];

/// Whether a word at this place is a flag to the program, whatever it is.
fn reads_flags(words: &[String], at: usize) -> bool {
    let before = &words[..at];
    let pattern_follows = ["-e", "--arg", "--regexp"];
    !OF_WORDS.contains(&words[0].as_str())
        && !before.iter().any(|word| word == "--" || word == "--arg")
        && !before
            .last()
            .is_some_and(|word| pattern_follows.contains(&word.as_str()))
}

#[test]
fn the_tables_hold() {
    let wrong: Vec<_> = cases()
        .iter()
        .filter_map(|case| {
            let found = judged(&case.command);
            let shown = case.command.chars().take(200).collect::<String>();
            (found.is_ok() != case.read_only)
                .then(|| format!("{shown}\n  {}\n  {found:?}", case.why))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_tables_are_large_and_say_each_command_once() {
    let cases = cases();
    let commands: BTreeSet<_> = cases.iter().map(|case| &case.command).collect();
    assert_eq!(commands.len(), cases.len());
    assert!(cases.iter().filter(|case| case.read_only).count() > 400);
    assert!(cases.iter().filter(|case| !case.read_only).count() > 400);
}

#[test]
fn what_would_be_read_is_claimed() {
    for (command, operands, repository) in [
        ("ls", vec![], false),
        ("cat a ./b", vec!["a", "./b"], false),
        ("cat -- -n", vec!["-n"], false),
        ("cat -", vec![], false),
        ("grep pattern a b", vec!["a", "b"], false),
        ("grep -e pattern a b", vec!["a", "b"], false),
        ("grep -f patterns a", vec!["patterns", "a"], false),
        ("grep --file=patterns a", vec!["patterns", "a"], false),
        ("rg --files src", vec!["src"], false),
        (
            "find src docs -newer a -name b",
            vec!["src", "docs", "a"],
            false,
        ),
        ("sed -n 5p a", vec!["a"], false),
        ("diff --from-file a b", vec!["a", "b"], false),
        ("jq --rawfile name a . b", vec!["a", "b"], false),
        ("test a -nt b", vec!["a", "b"], false),
        ("xxd -l 5 a", vec!["a"], false),
        ("date -r a", vec!["a"], false),
        ("cut -d / -f 1 a", vec!["a"], false),
        ("echo a b", vec![], false),
        ("basename a/b", vec![], false),
        ("git status", vec![], true),
        ("git diff HEAD -- src", vec!["HEAD", "src"], true),
        ("git diff way/x a", vec!["way/x", "a"], true),
        ("git grep -f patterns a", vec!["patterns", "a"], true),
        ("git grep pattern -- a", vec!["a"], true),
        ("git blame -L 1,5 a", vec!["a"], true),
        ("git branch --list a", vec![], true),
        ("git config a.b", vec![], true),
        ("git --version", vec![], false),
    ] {
        let operands = operands.into_iter().map(str::to_owned).collect();
        let expected = Claims {
            operands,
            repository,
        };
        assert_eq!(judged(command), Ok(expected), "{command}");
    }
}

#[test]
fn the_reason_names_what_was_not_accepted() {
    for (command, expected) in [
        ("rm x", "rm is not on the list"),
        ("find . -delete", "`-delete` of find is not on the list"),
        ("sort -no x", "`-no` of sort is not on the list"),
        ("sort --output=x", "`--output=x` of sort is not on the list"),
        ("uniq a b", "the operand `b` of uniq is not on the list"),
        ("cat ../x", "`../x` leaves the workspace"),
        (
            "cat /etc/shadow",
            "`/etc/shadow` is in no system folder that may be read",
        ),
        ("ls $X", "`$X` expands, so other words may come of it"),
        ("./ls", "`./ls` is no bare name of a program of the system"),
        ("git push", "`git push` is not on the list"),
        ("git stash pop", "`git stash` is not on the list"),
        (
            "git branch x",
            "the operand `x` of git branch is not on the list",
        ),
        ("git -c a=b log", "`-c` of git is not on the list"),
        ("date 0101", "`0101` would set the clock"),
    ] {
        assert_eq!(judged(command), Err(expected.to_owned()), "{command}");
    }
}

#[test]
fn an_unknown_flag_at_any_place_is_not_accepted() {
    for words in accepted() {
        for at in (0..=words.len()).filter(|at| reads_flags(&words, *at)) {
            for flag in ["--no-such-flag", "--no-such=x", "-@", "-~x"] {
                let mut with = words.clone();
                with.insert(at, flag.to_owned());
                let command = written(&with);
                assert!(judged(&command).is_err(), "{command}");
            }
        }
    }
}

#[test]
fn a_word_that_expands_at_any_place_is_not_accepted() {
    for words in accepted() {
        for at in 0..=words.len() {
            for word in ["$X", "\"$X\"", "*", "a?", "~", "[ab]"] {
                let (before, after) = words.split_at(at);
                let command = format!("{} {word} {}", written(before), written(after));
                assert!(judged(&command).is_err(), "{command}");
            }
        }
    }
}

proptest! {
    #[test]
    fn no_flag_that_is_made_up_is_accepted(
        words in prop::sample::select(accepted()),
        place in any::<prop::sample::Index>(),
        flag in "--[a-z]{0,9}q[xz][a-z]{0,4}(=[a-z/.]{0,6})?",
    ) {
        let at = place.index(words.len() + 1);
        prop_assume!(reads_flags(&words, at));
        let mut with = words;
        with.insert(at, flag);
        let command = written(&with);
        prop_assert!(judged(&command).is_err(), "{}", command);
    }

    #[test]
    fn any_words_are_judged_without_a_panic(
        program in prop::sample::select(accepted()),
        words in prop::collection::vec("[-a-z0-9=/.@+:,$p]{0,8}", 0..6),
    ) {
        let mut with = vec![program[0].clone()];
        with.extend(words);
        let _judged = judged(&written(&with));
    }
}
