//! Files that a text writes and then runs: what such a program does is not in its words.

use std::collections::{BTreeMap, BTreeSet};

use super::hosts::OPENERS;
use super::is_flag;
use super::programs::{RUNNERS, among, kind, name_of};
use super::scan::{Segment, Word, is_assignment};

/// Programs whose last word names what they write.
const COPIERS: &str = "cp ln mv install gcp gln gmv ginstall rsync scp";

/// Programs that write to any of their words.
const WRITERS: &str = "tee sponge dd curl wget";

/// Programs that read, write or manage files without running them.
const FILE_TOOLS: &str = "\
    cat ls head tail less wc grep rg chmod chown chgrp stat touch mkdir rm rmdir diff file git \
    systemctl echo printf cd test [ cp ln mv install tee sponge dd sed jq";

/// Files that these read when none is named.
const DEFAULTS: &[(&str, &[&str])] = &[
    ("make gmake", &["makefile", "Makefile", "GNUmakefile"]),
    ("npm yarn pnpm", &["package.json"]),
];

/// Within how many of its first words a command names what writes.
const WRAPPED_MAX: usize = 16;

/// Whether some command runs a file that another one of the text writes.
///
/// Their order does not count: functions and loops turn it round.
pub(super) fn runs_its_own(segments: &[Segment]) -> bool {
    let made: Vec<BTreeSet<&str>> = segments.iter().map(made).collect();
    let mut count = BTreeMap::<&str, usize>::new();
    for name in made.iter().flatten().copied() {
        let seen = count.entry(name).or_default();
        *seen = seen.saturating_add(1);
    }
    if count.is_empty() {
        return false;
    }
    segments.iter().zip(&made).any(|(segment, own)| {
        let by_others = |name: &str| {
            let own = usize::from(own.contains(name));
            count.get(name).is_some_and(|count| *count > own)
        };
        runs(segment, &by_others)
    })
}

/// The last part of a path.
fn base(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or_default()
}

/// The names that a command writes to.
fn made(segment: &Segment) -> BTreeSet<&str> {
    let words = || segment.words.iter();
    let mut made: BTreeSet<&str> = words()
        .filter(|word| word.written)
        .map(|word| base(&word.text))
        .collect();
    let mut plain = words().filter(|word| !word.target);
    for _ in 0..WRAPPED_MAX {
        let Some(word) = plain.next() else {
            break;
        };
        let name = name_of(&word.text);
        let operands = || plain.clone().filter(|word| !is_flag(&word.text));
        if among(WRITERS, &name) {
            made.extend(operands().map(|word| {
                let text = word.text.as_str();
                base(text.strip_prefix("of=").unwrap_or(text))
            }));
            break;
        }
        if among(COPIERS, &name) {
            let last = operands().next_back().map_or("", |word| word.text.as_str());
            let into = last.ends_with('/') || last.ends_with('.') || operands().count() == 1;
            let flagged = plain.clone().any(|word| word.text.starts_with("-t"));
            let all = into || flagged || plain.clone().any(|word| word.text.starts_with("--t"));
            made.extend(operands().map(|word| base(&word.text)).filter(|_| all));
            made.insert(base(last));
            break;
        }
    }
    made.retain(|name| !matches!(*name, "" | "." | ".." | "null" | "stdout" | "stderr"));
    made
}

/// Whether a command runs one of these names, sources it or hands it to an interpreter.
fn runs(segment: &Segment, made: &dyn Fn(&str) -> bool) -> bool {
    let (mut begun, mut hosted) = (false, false);
    for word in segment.words.iter().filter(|word| !word.target) {
        let text = word.text.as_str();
        if !begun && (OPENERS.contains(&text) || is_flag(text)) {
            continue;
        }
        let name = name_of(text);
        if among(FILE_TOOLS, &name) {
            return false;
        }
        if (!begun || hosted) && names(word, made) {
            return true;
        }
        if !begun && is_assignment(word) {
            continue;
        }
        begun = true;
        let read = DEFAULTS.iter().filter(|(names, _)| among(names, &name));
        if read.flat_map(|(_, files)| *files).any(|file| made(file)) {
            return true;
        }
        hosted |= among(RUNNERS, &name) || kind(text, &[]).is_some();
    }
    false
}

/// Whether a part of a word is such a name, also behind the letters of a flag.
fn names(word: &Word, made: &dyn Fn(&str) -> bool) -> bool {
    let apart = |c: char| c.is_whitespace() || "/=,:;|&()<>'\"".contains(c);
    let hangs = |piece: &str| {
        let flag = piece.strip_prefix('-').unwrap_or_default();
        let mut ends = flag.char_indices().take(4);
        ends.any(|(at, _)| flag.get(at..).is_some_and(made))
    };
    let mut pieces = word.text.split(apart);
    pieces.any(|piece| made(piece) || hangs(piece))
}
