//! Rules about sources, each a function of one file or of the tree.

use super::code::{find_words, line_of, members};
use super::{Finding, Source, Tree};

/// Lines of a file; a longer one holds more than one concept.
const LINES_MAX: usize = 500;
/// Lines of a file of tests, which is read one test at a time.
const TEST_LINES_MAX: usize = 900;
/// Columns of a line, so that two files fit side by side.
const COLUMNS_MAX: usize = 100;

/// Words that do not merge, and what to do instead. Written in halves: this file is read as well.
const BANNED: [(&str, &str); 6] = [
    (concat!("to", "do!"), "write it or leave it out"),
    (concat!("unimple", "mented!"), "write it or leave it out"),
    (concat!("db", "g!"), "use tracing or a test"),
    (concat!("#[ign", "ore"), "a test runs, or it goes"),
    (concat!("Hash", "Map"), "use BTreeMap: order may be hashed"),
    (concat!("Hash", "Set"), "use BTreeSet: order may be hashed"),
];

/// File names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 3] = ["utils.rs", "helpers.rs", "common.rs"];

/// The functional core: values in, values out. Files and folders, without `.rs`.
const PURE: [&str; 16] = [
    "cli/src/ui/dialog",
    "engine/src/context",
    "engine/src/policy",
    "engine/src/shell",
    "ledger/src/answers",
    "ledger/src/authority",
    "ledger/src/budget",
    "ledger/src/canonical",
    "ledger/src/digest",
    "ledger/src/envelope",
    "ledger/src/event",
    "ledger/src/judge",
    "ledger/src/merkle",
    "ledger/src/proposal",
    "ledger/src/run",
    "ledger/src/view",
];

/// What the functional core does not know.
const IMPURE: [&str; 5] = ["async", "tokio", "SystemTime", "Instant", "rand"];
/// The parts of `std` that reach outside.
const IMPURE_STD: [&str; 4] = ["fs", "env", "net", "process"];

/// Tests that may sleep, and why no event can be waited for there.
const SLEEPS_ALLOWED: [(&str, &str); 0] = [];

/// Every source opens with `//!`: one sentence that says what the file is for.
pub fn opens_with_its_purpose(source: &Source) -> Vec<Finding> {
    if source.text.starts_with("//! ") {
        return Vec::new();
    }
    let what = "open the file with `//! ` and one sentence that says what it is for";
    vec![Finding::new(&source.path, 1, what)]
}

/// A file is one concept.
pub fn is_short(source: &Source) -> Vec<Finding> {
    let lines = source.text.lines().count();
    let limit = if source.is_test_file() {
        TEST_LINES_MAX
    } else {
        LINES_MAX
    };
    if lines <= limit {
        return Vec::new();
    }
    let what = format!("{lines} lines, at most {limit}: split the file by noun");
    vec![Finding::new(&source.path, 0, what)]
}

/// Lines fit into 100 columns; the insides of literals are not counted, since nobody can break a
/// test vector.
pub fn is_narrow(source: &Source) -> Vec<Finding> {
    let lines = source.code.measured.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let columns = line.chars().count();
            let what = format!("{columns} columns, at most {COLUMNS_MAX}: break the line");
            (columns > COLUMNS_MAX).then(|| Finding::new(&source.path, index + 1, what))
        })
        .collect()
}

/// Sources are ASCII: look-alikes and direction marks cannot hide in them.
pub fn is_ascii(source: &Source) -> Vec<Finding> {
    let lines = source.text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.is_ascii())
        .map(|(index, _)| {
            let what = "a character that is not ASCII: write it as \\u{..}";
            Finding::new(&source.path, index + 1, what)
        })
        .collect()
}

/// No word that marks unfinished or unordered work, and no name that says nothing.
pub fn has_no_banned_word(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = source.path.rsplit('/').next().unwrap_or_default();
    if EMPTY_NAMES.contains(&name) {
        let what = "a file is named for the noun it is about";
        findings.push(Finding::new(&source.path, 0, what));
    }
    for (word, instead) in BANNED {
        for at in find_words(&source.code.all, word) {
            let line = line_of(&source.code.all, at);
            findings.push(Finding::new(
                &source.path,
                line,
                format!("`{word}`: {instead}"),
            ));
        }
    }
    let debt = concat!("FIX", "ME");
    for (at, _) in source.text.match_indices(debt) {
        let what = format!("`{debt}`: mend it, or write `TODO(reason)`");
        findings.push(Finding::new(&source.path, line_of(&source.text, at), what));
    }
    findings
}

/// Tests wait for what they wait for; one that sleeps is slow or flaky.
pub fn does_not_sleep_in_tests(source: &Source) -> Vec<Finding> {
    if SLEEPS_ALLOWED.iter().any(|(path, _)| *path == source.path) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for call in ["thread::sleep", "time::sleep"] {
        for at in find_words(&source.code.all, call) {
            let production = source.production().get(at..).unwrap_or_default();
            if !production.starts_with(call) {
                let line = line_of(&source.code.all, at);
                let what = "a test sleeps: wait for the event, or move a test clock";
                findings.push(Finding::new(&source.path, line, what));
            }
        }
    }
    findings
}

/// The functional core has no clock, disk, network, process, randomness or waiting in it.
pub fn core_is_pure(source: &Source) -> Vec<Finding> {
    if !PURE.iter().any(|path| lies_in(&source.path, path)) {
        return Vec::new();
    }
    let code = source.production();
    let words = IMPURE.iter().flat_map(|word| {
        find_words(code, word)
            .into_iter()
            .map(move |at| (at, *word))
    });
    let std = members(code, "std")
        .into_iter()
        .filter(|(_, name)| IMPURE_STD.contains(name));
    words
        .chain(std)
        .map(|(at, word)| {
            let what = format!("`{word}` in the pure core: take the value as an argument");
            Finding::new(&source.path, line_of(code, at), what)
        })
        .collect()
}

/// Each pure path still names something, once the crate is built: a renamed folder is not let off.
pub fn pure_paths_exist(tree: &Tree) -> Vec<Finding> {
    let exists = |place: &str| tree.rust().any(|source| lies_in(&source.path, place));
    // The topmost module of a crate has the crate's name, and comes last.
    let grown = |path: &str| {
        let krate = path.split('/').next().unwrap_or_default();
        exists(&format!("{krate}/src/{krate}"))
    };
    PURE.into_iter()
        .filter(|path| grown(path) && !exists(path))
        .map(|path| {
            let what = "a pure path that is not there: name its new place in rules.rs";
            Finding::new(path, 0, what)
        })
        .collect()
}

/// Whether a file is `place.rs` or lies in the folder `place`.
fn lies_in(path: &str, place: &str) -> bool {
    path.strip_prefix(place)
        .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// One place mints permits, and only after the append.
pub fn permits_have_one_mint(tree: &Tree) -> Vec<Finding> {
    let mut mints = Vec::new();
    for source in tree.rust() {
        for at in find_words(source.production(), "Permit::mint") {
            let line = line_of(source.production(), at);
            let what = "one of several places that mint a permit: keep the one in the owner";
            mints.push(Finding::new(&source.path, line, what));
        }
    }
    let owned = tree
        .rust()
        .any(|source| lies_in(&source.path, "ledger/src/owner"));
    match mints.as_slice() {
        [] if owned => {
            let what = "nothing mints a permit: did `Permit::mint` get another name?";
            vec![Finding::new("ledger/src/owner.rs", 0, what)]
        }
        [] | [_] => Vec::new(),
        _ => mints,
    }
}

/// Files that start a process outside of tests, and what they start.
pub const STARTS_PROCESSES: [(&str, &str); 4] = [
    (
        "cli/src/terminal/programs.rs",
        "the person's pager and editor",
    ),
    (
        "engine/src/contain/helper/init.rs",
        "what a run starts, shut in",
    ),
    (
        "engine/src/contain/helper/watcher.rs",
        "the helper's inner process",
    ),
    ("engine/src/contain/probe.rs", "the helper"),
];

/// Whatever starts for a run starts shut in: there is one place for it, and few for the rest.
pub fn processes_start_in_few_places(source: &Source) -> Vec<Finding> {
    if source.is_test_file()
        || STARTS_PROCESSES
            .iter()
            .any(|(path, _)| *path == source.path)
    {
        return Vec::new();
    }
    let code = source.production();
    find_words(code, "Command::new")
        .into_iter()
        .map(|at| {
            let what = "a process that nothing shuts in: start it through `contain`";
            Finding::new(&source.path, line_of(code, at), what)
        })
        .collect()
}

/// Every file of tests is a module of the one test binary, or it would never run.
pub fn tests_are_not_forgotten(tree: &Tree) -> Vec<Finding> {
    const FOLDER: &str = "replay-tests/tests/";
    const SUITE: &str = "replay-tests/tests/suite.rs";
    let suite = tree
        .get(SUITE)
        .map_or("", |source| source.code.all.as_str());
    tree.rust()
        .filter_map(|source| {
            let name = source.path.strip_prefix(FOLDER)?;
            let module = name.strip_suffix("/mod.rs").or(name.strip_suffix(".rs"))?;
            let top = source.path != SUITE && !module.contains('/');
            let listed = find_words(suite, &format!("mod {module};"));
            let what = format!("never runs: add `mod {module};` to {SUITE}");
            (top && listed.is_empty()).then(|| Finding::new(&source.path, 0, what))
        })
        .collect()
}

/// What may lie at the top of the repository.
pub const TOP_LEVEL: [&str; 16] = [
    ".cargo",
    ".ci",
    ".config",
    ".gitattributes",
    ".github",
    ".gitignore",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "cli",
    "docs",
    "engine",
    "ledger",
    "replay-tests",
];

/// The top of the repository holds the agreed entries and nothing else.
pub fn top_level_is_agreed<'a>(entries: impl IntoIterator<Item = &'a str>) -> Vec<Finding> {
    entries
        .into_iter()
        .filter(|entry| !TOP_LEVEL.contains(entry))
        .map(|entry| {
            let what = "not an agreed entry of the top level: move it into a crate or into docs";
            Finding::new(entry, 0, what)
        })
        .collect()
}

#[cfg(test)]
mod tests;
