//! The files of the workspace that a command names: what must still be so when it runs.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;

use placet_ledger::precondition::Operand;

use crate::shell::{Reading, read};
use crate::workspace::Workspace;

/// Files that are compared at most.
const FILES_MAX: usize = 64;

/// Bytes of all of them together.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Where a word is cut to find names in it: `--file=x`, `@x`, `x:y`, `x,y`.
const JOINTS: [char; 4] = ['=', ':', ',', '@'];

/// The files that a command names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Operands {
    /// Those that are compared, sorted by path.
    pub(super) files: Vec<Operand>,
    /// How many more there are.
    pub(super) left_out: usize,
}

impl Operands {
    /// Looks at every file that a word of the command names.
    pub(super) fn of(workspace: &Workspace, command: &str) -> Self {
        let mut found = BTreeMap::new();
        let (mut left_out, mut bytes) = (BTreeSet::new(), 0_u64);
        for name in names(command) {
            let there = Path::new(workspace.path()).join(&name).is_file();
            if !there || name.ends_with('/') {
                continue;
            }
            // What lies outside or is closed is no operand of the workspace.
            let Ok(target) = workspace.existing(&name) else {
                continue;
            };
            if found.contains_key(&target.path) {
                continue;
            }
            // What is too large to be read is there all the same.
            let opened = workspace.open_named(&target.folder, &target.name);
            let within = opened.ok().filter(|opened| {
                let all = bytes.saturating_add(opened.bytes);
                found.len() < FILES_MAX && all <= BYTES_MAX
            });
            let digested = within.and_then(|mut opened| {
                bytes = bytes.saturating_add(opened.bytes);
                opened.digest(&target.path).ok()
            });
            match digested {
                Some(digest) => drop(found.insert(target.path, digest)),
                None => drop(left_out.insert(target.path)),
            }
        }
        let files = found.into_iter();
        Self {
            files: files
                .map(|(path, digest)| Operand { digest, path })
                .collect(),
            left_out: left_out.len(),
        }
    }

    /// What differs from what was recorded, in words.
    pub(super) fn differ_from(&self, recorded: &[Operand]) -> Option<String> {
        let (now, then) = (by_path(&self.files), by_path(recorded));
        for (path, digest) in &then {
            match now.get(path) {
                None => return Some(format!("{path} is no longer there")),
                Some(found) if found != digest => return Some(format!("{path} has changed")),
                Some(_) => {}
            }
        }
        let new = now.keys().find(|path| !then.contains_key(*path));
        new.map(|path| format!("{path} was not there before"))
    }
}

fn by_path(files: &[Operand]) -> BTreeMap<&str, [u8; 32]> {
    let pairs = files.iter();
    pairs
        .map(|file| (file.path.as_str(), *file.digest.as_bytes()))
        .collect()
}

/// Every text in a command that may name a file, the first one first, each once. Where its words
/// are not certain, rather more than it names.
fn names(command: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |name: &str| {
        if !name.is_empty() && seen.insert(name.to_owned()) {
            names.push(name.to_owned());
        }
    };
    match read(command) {
        Reading::Plain(plain) => {
            for word in plain.words().iter().filter(|word| !word.expands) {
                parts(&word.text, &mut add);
            }
        }
        Reading::Hazard(_) | Reading::Neither(_) => {
            let ends = |c: char| c.is_whitespace() || "\"'\\`$(){}<>|&;".contains(c);
            for word in command.split(ends) {
                parts(word, &mut add);
            }
        }
    }
    names
}

/// A word, and the parts of it that may be names by themselves.
fn parts(word: &str, add: &mut impl FnMut(&str)) {
    add(word);
    if word.contains(JOINTS) {
        word.split(JOINTS).for_each(&mut *add);
    }
    // A short flag with its value: `-fscript`.
    let flag = word.strip_prefix('-').filter(|flag| !flag.starts_with('-'));
    let value = flag.and_then(|flag| {
        let (at, _) = flag.char_indices().nth(1)?;
        flag.get(at..)
    });
    value.into_iter().for_each(add);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_and_each_part_of_one_may_be_a_name() {
        for (command, expected) in [
            ("ls", vec!["ls"]),
            ("sh deploy.sh", vec!["sh", "deploy.sh"]),
            ("cat 'a b' a\\ b", vec!["cat", "a b"]),
            ("make -fMy.mk", vec!["make", "-fMy.mk", "My.mk"]),
            (
                "x --file=a.txt",
                vec!["x", "--file=a.txt", "--file", "a.txt"],
            ),
            ("curl -d @body", vec!["curl", "-d", "@body", "body"]),
            ("x a:b,c", vec!["x", "a:b,c", "a", "b", "c"]),
            ("cat *.rs $X notes", vec!["cat", "notes"]),
            ("sh a.sh && ./b >c", vec!["sh", "a.sh", "./b", "c"]),
            ("echo $(cat x)", vec!["echo", "cat", "x"]),
        ] {
            assert_eq!(names(command), expected, "{command}");
        }
    }
}
