//! What bash and dash really do with a command, held against how it is read.
//!
//! Soup from a seed is run by both, in an empty folder and with an empty `PATH`. It is a danger if
//! a command that is read as plain ran otherwise than its words say, and if one that wrote a file,
//! substituted a command or ran a name that expands is read as no hazard. `.ci/long` runs many.

#![allow(
    clippy::disallowed_methods,
    reason = "shells are started here to be compared; no run of an agent is among them"
)]

mod shells;

use std::io::Write;

use placet_engine::shell::{Plain, Reading, read};
use placet_replay::soup::{EXPANDED, SUBSTITUTED, Seeded, Soup};

use self::shells::{BATCH, Ran, Shell};
use super::soup::kept;

/// Commands of a run that nobody asked to be longer.
const COUNT: usize = 2_000;
const SEED: u64 = 1;

/// Of those that are read as hazards, one in so many is run: nothing that they do can be a danger,
/// but some must show that the shells are watched.
const HAZARDS_LEFT_OUT: usize = 50;

/// What was counted.
#[derive(Debug, Default)]
struct Tally {
    commands: usize,
    /// Those that both shells were given.
    ran: usize,
    plain: usize,
    hazards: usize,
    /// Plain, and one of the shells ran just that.
    right: usize,
    /// A shell wrote a file, substituted a command or ran a name that expands.
    hazardous: usize,
    /// A shell did not get through the batch; each is tried again alone.
    slow: usize,
    findings: Vec<String>,
}

/// Why what a shell did is not what was read, if it is not.
fn danger(text: &str, reading: &Reading, ran: &Ran) -> Option<&'static str> {
    match reading {
        Reading::Hazard(_) => None,
        Reading::Neither(_) => hazard_of(text, ran),
        Reading::Plain(plain) => hazard_of(text, ran).or_else(|| otherwise(plain, ran)),
    }
}

/// What a hazard must have announced.
fn hazard_of(text: &str, ran: &Ran) -> Option<&'static str> {
    let called = |name: &str| {
        let first = ran.commands.iter().filter_map(|words| words.first());
        first.into_iter().any(|word| word.starts_with(name))
    };
    if ran.wrote {
        Some("wrote a file")
    } else if called(SUBSTITUTED) && substitutes(text) {
        Some("substituted a command")
    } else if called(EXPANDED) {
        Some("ran a name that expands")
    } else {
        None
    }
}

/// Whether the name of what is substituted stands behind what begins a substitution: a mutation may
/// have taken that away.
fn substitutes(text: &str) -> bool {
    let text = text.replace("\\\n", "");
    let begins = ["$(", "`", "<(", ">("];
    begins
        .iter()
        .any(|begin| text.contains(&format!("{begin}{SUBSTITUTED}")))
}

/// Whether what was run stands in a group of a line of its own, behind a comment that took in what
/// would begin a substitution: joined, the lines are a comment, and nothing of it runs.
fn is_group(text: &str, reading: &Reading, shell: Shell) -> bool {
    let joined = text.replace("\\\n", "");
    if joined == text || !matches!(reading, Reading::Neither(_)) {
        return false;
    }
    let ran = shell.run(&[(false, joined.as_str())]).unwrap();
    ran.is_some_and(|ran| hazard_of(&joined, &ran[0]).is_none())
}

/// How a plain command ran otherwise than its words say.
fn otherwise(plain: &Plain, ran: &Ran) -> Option<&'static str> {
    if ran.commands.len() + ran.not_found > 1 {
        return Some("ran several commands");
    }
    let differ = |words: &Vec<String>| !agree(plain, words);
    if ran.commands.iter().any(differ) {
        return Some("ran with other words");
    }
    let set = ran.words.as_ref().is_some_and(differ);
    set.then_some("makes other words of it")
}

/// Whether words are those of a plain command: exactly, or around those that expand.
fn agree(plain: &Plain, words: &[String]) -> bool {
    if let Some(argv) = plain.argv() {
        return argv == words;
    }
    let fixed = |(word, text): &(&placet_engine::shell::Word, &String)| {
        !word.expands && word.text == **text
    };
    let before = plain.words().iter().zip(words).take_while(fixed).count();
    let ends = plain.words().iter().rev().zip(words.iter().rev());
    let after = ends.take_while(fixed).count();
    let expanding = |word: &placet_engine::shell::Word| word.expands;
    let first = plain.words().iter().position(expanding);
    let last = plain.words().iter().rev().position(expanding);
    first == Some(before) && last == Some(after)
}

/// Runs commands in both shells and holds them against how they are read.
fn compare(commands: &[String], tally: &mut Tally) {
    let readings: Vec<Reading> = commands.iter().map(|text| read(text)).collect();
    let asked: Vec<(bool, &str)> = commands
        .iter()
        .zip(&readings)
        .map(|(text, reading)| (matches!(reading, Reading::Plain(_)), text.as_str()))
        .collect();
    let mut right = vec![false; commands.len()];
    let mut hazardous = vec![false; commands.len()];
    let all = std::thread::scope(|scope| {
        let asked = &asked;
        let runs = Shell::ALL.map(|shell| (shell, scope.spawn(move || shell.run(asked))));
        runs.map(|(shell, run)| (shell, run.join().unwrap().unwrap()))
    });
    for (shell, ran) in all {
        let ran = ran.unwrap_or_else(|| {
            tally.slow += 1;
            let alone = |one| shell.run(&[one]).unwrap().unwrap_or_default().pop();
            let each = asked.iter().map(|one| alone(*one).unwrap_or_default());
            each.collect()
        });
        for (index, (reading, ran)) in readings.iter().zip(&ran).enumerate() {
            right[index] |= matches!(reading, Reading::Plain(plain)
                if ran.commands.iter().any(|words| agree(plain, words)));
            hazardous[index] |= hazard_of(&commands[index], ran).is_some();
            if danger(&commands[index], reading, ran).is_none() {
                continue;
            }
            // What runs on in the background may be counted with the next: alone, it is not.
            let Some(alone) = shell.run(&[asked[index]]).unwrap() else {
                continue;
            };
            if let Some(what) = danger(&commands[index], reading, &alone[0]) {
                let text = &commands[index];
                if is_group(text, reading, shell) {
                    continue;
                }
                tally.findings.push(format!(
                    "{shell:?} {what}: {text:?}\n  {reading:?}\n  {:?}",
                    alone[0]
                ));
            }
        }
    }
    tally.ran += commands.len();
    let plain = |reading: &&Reading| matches!(reading, Reading::Plain(_));
    tally.plain += readings.iter().filter(plain).count();
    tally.right += right.iter().filter(|right| **right).count();
    tally.hazardous += hazardous.iter().filter(|hazardous| **hazardous).count();
}

fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn shells_do_what_was_read() {
    let seed = number("PLACET_SOUP_SEED").unwrap_or(SEED);
    let asked = number("PLACET_SOUP_COUNT");
    let count = asked.unwrap_or(COUNT);
    let (soup, mut choices) = (Soup::default(), Seeded::new(seed));
    let mut tally = Tally::default();
    let say = |tally: &Tally| {
        if asked.is_some() {
            let counts = format!("seed {seed}: {tally:#?}\n");
            std::io::stderr().write_all(counts.as_bytes()).unwrap();
        }
    };
    while tally.commands < count {
        let batch = BATCH.min(count - tally.commands);
        let commands = std::iter::repeat_with(|| soup.command(&mut choices)).take(batch);
        tally.commands += batch;
        let mut index = 0_usize;
        let shown: Vec<_> = commands
            .filter(|text| {
                index += 1;
                let is_hazard = matches!(read(text), Reading::Hazard(_));
                tally.hazards += usize::from(is_hazard);
                !is_hazard || index.is_multiple_of(HAZARDS_LEFT_OUT)
            })
            .collect();
        compare(&shown, &mut tally);
        if tally.commands.is_multiple_of(20 * BATCH) {
            say(&tally);
        }
    }
    say(&tally);
    assert!(tally.findings.is_empty(), "{}", tally.findings.join("\n"));
    // A comparison in which nothing runs would find nothing.
    assert!(tally.right * 100 > tally.ran, "{tally:#?}");
    assert!(tally.hazardous * 500 > tally.ran, "{tally:#?}");
}

#[test]
fn shells_do_what_was_read_of_the_soup_that_is_kept() {
    let mut tally = Tally::default();
    compare(&kept(), &mut tally);
    assert!(tally.findings.is_empty(), "{}", tally.findings.join("\n"));
}

#[test]
fn the_comparison_sees_what_is_wrong() {
    let commands = [
        (true, "git a; git b"),
        (true, "git 'a' b"),
        (false, "a >f"),
        (false, "a $(sub x)"),
        (false, "$X y"),
        (true, "nobody has this"),
    ];
    for shell in Shell::ALL {
        let ran = shell.run(&commands).unwrap().unwrap();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let both: [Vec<String>; 2] = [words(&["git", "a"]), words(&["git", "b"])];
        // The second runs again where the words of the first are asked for.
        assert!(
            ran[0].commands.starts_with(&both),
            "{shell:?}: {:?}",
            ran[0]
        );
        assert_eq!(ran[1].words, Some(words(&["git", "a", "b"])));
        assert_eq!(hazard_of(commands[2].1, &ran[2]), Some("wrote a file"));
        assert_eq!(
            hazard_of(commands[3].1, &ran[3]),
            Some("substituted a command")
        );
        assert_eq!(
            hazard_of(commands[4].1, &ran[4]),
            Some("ran a name that expands")
        );
        assert_eq!(ran[5].commands.len() + ran[5].not_found, 1);
        let Reading::Plain(plain) = read("git a") else {
            panic!("not plain");
        };
        assert_eq!(otherwise(&plain, &ran[0]), Some("ran several commands"));
        assert_eq!(otherwise(&plain, &ran[1]), Some("ran with other words"));
        assert_eq!(otherwise(&plain, &Ran::default()), None);
    }
}
