//! Which entry of the per-command list nearly covered a command, and why it did not.

use std::collections::BTreeMap;

use placet_ledger::id::{GrantId, Name};
use placet_ledger::judge::{CommandInput, GateInput};
use placet_ledger::view::Nearly;

use super::grant::CommandEntry;
use super::ruled::read;
use super::rules::Rules;
use crate::shell::explain::explain;
use crate::shell::wide::Command;
use crate::shell::{covers, key};

/// An entry of the per-command list that no longer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverEntry {
    /// The grant.
    pub grant: GrantId,
    /// Its key.
    pub key: String,
    /// Whether a person took it back; its time is over otherwise.
    pub revoked: bool,
}

impl OverEntry {
    /// Why it no longer holds.
    pub const fn why(&self) -> &'static str {
        if self.revoked { "revoked" } else { "expired" }
    }
}

/// The entry that came nearest to covering the command of a call; nothing where one does cover it,
/// or none is about its program. One for its key comes before one for a command that is part of
/// it, and that before one for other commands of its program.
pub fn nearest_entry(input: &GateInput<'_>, over: &[OverEntry]) -> Option<Nearly> {
    let command = input.command.as_ref()?;
    let text = command.text.as_deref()?;
    let rules = [input.rules.recorded, input.rules.current];
    let sets: Vec<Rules> = rules
        .into_iter()
        .filter_map(|text| read(text).ok())
        .collect();
    let keeps_out = |text: &str, links: &Links| {
        let mut rules = sets
            .iter()
            .filter_map(|set| set.destructive_with(text, links));
        rules.next().map(|rule| rule.name().clone())
    };
    let mut near: Vec<(Nearness, Nearly)> = Vec::new();
    for granted in &input.grants {
        let Some(entry) = CommandEntry::read(granted.entry) else {
            continue;
        };
        // Where one covers it, something else asks.
        let why = short(&entry, command, keeps_out)?;
        let (grant, key) = (granted.grant, entry.key);
        near.extend(nearness(&key, text).map(|nearness| (nearness, Nearly { grant, key, why })));
    }
    for entry in over {
        let same = nearness(&entry.key, text) == Some(Nearness::Key);
        near.extend(same.then(|| {
            let why = format!("it is {}", entry.why());
            let (grant, key) = (entry.grant, entry.key.clone());
            (Nearness::Over, Nearly { grant, key, why })
        }));
    }
    // Of several that are as near, the newest.
    near.sort_by_key(|(nearness, near)| (*nearness, std::cmp::Reverse(near.grant)));
    near.into_iter().map(|(_, near)| near).next()
}

/// How near a key is to a command, the nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    /// It is for its key.
    Key,
    /// The same, of an entry that no longer holds.
    Over,
    /// It is for what the line begins with, or for one of several commands of it.
    Part,
    /// It is for other commands of its program.
    Program,
}

fn nearness(entry: &str, text: &str) -> Option<Nearness> {
    let own = key(text);
    if own.as_deref().is_some_and(|own| covers(entry, own)) {
        return Some(Nearness::Key);
    }
    // What is set before a command is no part of it.
    let is_set = |word: &&str| word.contains('=');
    let joined = |text: &str| {
        let words = text.split_whitespace().skip_while(is_set);
        words.collect::<Vec<_>>().join(" ")
    };
    let begins = |text: &str| covers(entry, &joined(text));
    if own.is_none()
        && (begins(text) || Command::read(text).members().iter().any(|one| begins(one)))
    {
        return Some(Nearness::Part);
    }
    let program = |text: &str| text.split(' ').next().map(str::to_owned);
    let same = own.is_some_and(|own| program(&own) == program(entry));
    same.then_some(Nearness::Program)
}

/// Words of a command that lead to programs of another name.
type Links = BTreeMap<String, String>;

/// Why an entry does not cover a command; `keeps_out` is the rule that keeps a text, in which some
/// words are links, out of every entry.
pub(super) fn short(
    entry: &CommandEntry,
    command: &CommandInput,
    keeps_out: impl Fn(&str, &Links) -> Option<Name>,
) -> Option<String> {
    let text = command.text.as_deref().unwrap_or_default();
    let Some(key) = key(text) else {
        let why = explain::<&str>(text, &[]).why;
        return Some(format!("the command has no key: {why}"));
    };
    if !covers(&entry.key, &key) {
        return Some(format!("the key of the command is {key}"));
    }
    let Some(program) = &command.program else {
        return Some(String::from("the program cannot be read"));
    };
    if program.path != entry.path {
        return Some(format!("it is for the program {}", entry.path));
    }
    if entry.digest.is_some_and(|digest| digest != program.digest) {
        return Some(String::from("the file of the program has changed since"));
    }
    keeps_out(text, &program.links)
        .map(|rule| format!("{rule} keeps the command out of every entry"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use placet_ledger::digest::Digest;
    use placet_ledger::program::Program;

    use super::*;

    #[test]
    fn a_key_is_near_by_its_key_then_by_a_part_then_by_its_program() {
        for (entry, text, expected) in [
            ("git push", "git push origin", Some(Nearness::Key)),
            ("git", "git push origin", Some(Nearness::Key)),
            ("git push", "git  push > log", Some(Nearness::Part)),
            ("git push", "git push $(cat remote)", Some(Nearness::Part)),
            ("git push", "make && git push", Some(Nearness::Part)),
            ("git push", "A=1 git push", Some(Nearness::Part)),
            ("git push", "git pull", Some(Nearness::Program)),
            ("git push", "git pull > log", None),
            ("git push", "git pushing", Some(Nearness::Program)),
            ("ls", "lsof", None),
            ("ls", "lsof > a", None),
            ("ls", "git push", None),
            ("ls", "", None),
        ] {
            assert_eq!(nearness(entry, text), expected, "{entry}: {text}");
        }
    }

    #[test]
    fn what_covers_a_command_is_not_short_of_it() {
        let digest = Digest::from_bytes([1; 32]);
        let entry = |key: &str, digest| CommandEntry {
            digest,
            key: key.to_owned(),
            network: BTreeSet::new(),
            path: String::from("/usr/bin/git"),
        };
        let command = |text: &str, path: &str| CommandInput {
            text: Some(text.to_owned()),
            class: None,
            program: Some(Program {
                argv: Vec::new(),
                digest,
                links: BTreeMap::new(),
                outside: Vec::new(),
                path: path.to_owned(),
                repository: Vec::new(),
                shell: false,
            }),
            network: BTreeSet::new(),
        };
        let keeps_out = |text: &str, _: &Links| {
            let destroys = text.contains("--force");
            destroys.then(|| "rule:f".parse().unwrap())
        };
        let git = "/usr/bin/git";
        let other = Some(Digest::from_bytes([2; 32]));
        for (entry, command, why) in [
            (entry("git push", None), command("git push x", git), None),
            (
                entry("git push", Some(digest)),
                command("git push x", git),
                None,
            ),
            (
                entry("git push", None),
                command("git pull", git),
                Some("the key of the command is git pull"),
            ),
            (
                entry("git push", None),
                command("git push > x", git),
                Some("the command has no key: a redirection that reads or writes a file"),
            ),
            (
                entry("git push", None),
                command("git push x", "/opt/git"),
                Some("it is for the program /usr/bin/git"),
            ),
            (
                entry("git push", other),
                command("git push x", git),
                Some("the file of the program has changed since"),
            ),
            (
                entry("git push", None),
                command("git push --force", git),
                Some("rule:f keeps the command out of every entry"),
            ),
        ] {
            let short = short(&entry, &command, keeps_out);
            assert_eq!(short.as_deref(), why, "{command:?}");
        }
        let unreadable = CommandInput {
            program: None,
            ..command("git push", git)
        };
        let short = short(&entry("git push", None), &unreadable, keeps_out);
        assert_eq!(short.as_deref(), Some("the program cannot be read"));
    }
}
