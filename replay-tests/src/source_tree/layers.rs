//! Who may import whom: the layer table of `docs/ARCHITECTURE.md` against the sources.
//!
//! A module may import from lines above its own, never from its own line or below; so no cycle
//! can form. Test code is not held to it: a unit test may well need what stands above.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{find_words, line_of, members};
use super::{Finding, Source, Tree};

/// Where the table is.
pub const DOCUMENT: &str = "docs/ARCHITECTURE.md";

/// A crate with fewer modules is only begun, and its lines may be ahead of it.
const SKELETON_MODULES_MAX: usize = 3;

/// The table: for each crate its lines, lowest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layers(BTreeMap<String, Vec<Vec<String>>>);

impl Layers {
    /// Reads the block fenced as `layers`: a crate's name at the margin, then its lines.
    pub fn parse(document: &str) -> Result<Self, String> {
        let mut lines = document.lines();
        if !lines.any(|line| line == "```layers") {
            return Err("there is no block fenced as ```layers".to_owned());
        }
        let mut crates: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
        let mut current = None;
        let mut seen = BTreeSet::new();
        for line in lines.take_while(|line| *line != "```") {
            let mut words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
            if words.is_empty() {
                continue;
            }
            if !line.starts_with(' ') {
                current = Some(words.remove(0));
            }
            let name = current.clone().ok_or("the block begins without a crate")?;
            for word in &words {
                if !seen.insert((name.clone(), word.clone())) {
                    return Err(format!("`{word}` of {name} stands in two places"));
                }
            }
            crates.entry(name).or_default().push(words);
        }
        Ok(Self(crates))
    }

    /// The crates of the table.
    pub fn crates(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The line of a module, counted from the lowest.
    fn rank(&self, of: &str, module: &str) -> Option<usize> {
        let mut lines = self.0.get(of)?.iter();
        lines.position(|line| line.iter().any(|name| name == module))
    }

    /// The topmost modules of a crate, apart from its roots.
    fn top(&self, of: &str) -> &[String] {
        let mut lines = self.0.get(of).into_iter().flatten().rev();
        lines
            .find(|line| !line.iter().any(|name| is_root(name)))
            .map_or(&[], Vec::as_slice)
    }

    /// Every module that the table names for a crate.
    fn modules(&self, of: &str) -> impl Iterator<Item = &str> {
        let lines = self.0.get(of).into_iter().flatten();
        lines.flatten().map(String::as_str)
    }
}

/// Whether a module is the root of a crate, which needs no line.
fn is_root(module: &str) -> bool {
    module == "lib" || module == "main"
}

/// The path below `src/` of a crate, and the module at its top that a file belongs to.
fn place<'a>(source: &'a Source, of: &str) -> Option<(&'a str, &'a str)> {
    let path = source.path.strip_prefix(of)?.strip_prefix("/src/")?;
    let path = path.strip_suffix(".rs")?;
    Some((path, path.split('/').next().unwrap_or(path)))
}

/// Every module has one line, every line has a module, and imports point down the table.
pub fn check(layers: &Layers, tree: &Tree) -> Vec<Finding> {
    layers
        .crates()
        .flat_map(|name| check_crate(layers, name, tree))
        .collect()
}

fn check_crate(layers: &Layers, of: &str, tree: &Tree) -> Vec<Finding> {
    let files: Vec<_> = tree
        .rust()
        .filter_map(|source| place(source, of).map(|(path, module)| (source, path, module)))
        .collect();
    let modules: BTreeSet<_> = files.iter().map(|(.., module)| *module).collect();
    let mut findings = Vec::new();
    for module in &modules {
        if layers.rank(of, module).is_none() && !is_root(module) {
            let what = format!("module `{module}` of {of} has no line in the layer table");
            findings.push(Finding::new(DOCUMENT, 0, what));
        }
    }
    if is_grown(layers, of, &modules) {
        for module in layers.modules(of) {
            if !modules.contains(module) {
                let what = format!("`{module}` is in the layer table, but {of} has no such module");
                findings.push(Finding::new(DOCUMENT, 0, what));
            }
        }
    }
    for (source, path, module) in &files {
        findings.extend(check_imports(layers, of, &modules, source, module));
        if !is_root(module) {
            findings.extend(reaches_past_its_module(source, path));
        }
    }
    findings
}

/// Whether a crate is built up to its topmost line.
fn is_grown(layers: &Layers, of: &str, modules: &BTreeSet<&str>) -> bool {
    let own = modules.iter().filter(|module| !is_root(module)).count();
    let mut top = layers.top(of).iter();
    own > SKELETON_MODULES_MAX && top.any(|module| modules.contains(module.as_str()))
}

fn check_imports(
    layers: &Layers,
    of: &str,
    modules: &BTreeSet<&str>,
    source: &Source,
    module: &str,
) -> Vec<Finding> {
    let code = source.production();
    // A root without a line stands above everything.
    let own = layers.rank(of, module).unwrap_or(usize::MAX);
    let mut findings = Vec::new();
    for (at, target) in members(code, "crate") {
        let what = match layers.rank(of, target) {
            _ if target == module => continue,
            Some(rank) if rank < own => continue,
            Some(rank) if rank == own => {
                format!("`{module}` and `{target}` stand on one line of the layer table: strangers")
            }
            Some(_) => format!("`{module}` stands below `{target}` in the layer table"),
            None if is_root(module) || modules.contains(target) => continue,
            None => format!("`crate::{target}` is no module: import it from where it is defined"),
        };
        findings.push(Finding::new(&source.path, line_of(code, at), what));
    }
    findings
}

/// `super` must not lead out of a top-level module: the table is read from `crate::` paths.
fn reaches_past_its_module(source: &Source, path: &str) -> Vec<Finding> {
    let folders = path.matches('/').count();
    let depth = if path.ends_with("/mod") {
        folders
    } else {
        folders + 1
    };
    let chain = vec!["super"; depth].join("::");
    let code = source.production();
    let starts = find_words(code, &chain).into_iter();
    starts
        .filter(|at| is_outside_inline_modules(code, *at))
        .map(|at| {
            let what = format!("`{chain}` leads out of the module: write `crate::`");
            Finding::new(&source.path, line_of(code, at), what)
        })
        .collect()
}

/// Whether no `mod name {` is open at an offset; inside one, `super` means one level less.
fn is_outside_inline_modules(code: &str, at: usize) -> bool {
    let before = code.get(..at).unwrap_or_default();
    find_words(before, "mod").into_iter().all(|start| {
        let item = before.get(start..).unwrap_or_default();
        let opens = item.find('{');
        let declared = item.find(';');
        let inline = opens.is_some_and(|open| declared.is_none_or(|end| open < end));
        let depth = |byte| item.bytes().filter(|b| *b == byte).count();
        !inline || depth(b'{') <= depth(b'}')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "text\n```layers\n\
        ledger   id time\n         event\n         store owner\n\n\
        cli      io\n         commands\n         lib main\n```\n";

    /// What is found in a ledger that holds these files beside `id` and `time`.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let layers = Layers::parse(TABLE).unwrap();
        let base = [("ledger/src/id.rs", ""), ("ledger/src/time.rs", "")];
        let tree = Tree::of(&[&base, files].concat());
        let findings = check(&layers, &tree);
        findings.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn reads_the_table() {
        let layers = Layers::parse(TABLE).unwrap();
        assert_eq!(layers.crates().collect::<Vec<_>>(), ["cli", "ledger"]);
        assert_eq!(layers.rank("ledger", "time"), Some(0));
        assert_eq!(layers.rank("ledger", "owner"), Some(2));
        assert_eq!(layers.rank("ledger", "io"), None);
        assert_eq!(layers.top("cli"), ["commands"]);
    }

    #[test]
    fn refuses_a_table_that_is_missing_or_names_a_module_twice() {
        assert!(Layers::parse("nothing").is_err());
        assert!(Layers::parse("```layers\nledger id\n       id\n```\n").is_err());
        assert!(Layers::parse("```layers\n  id\n```\n").is_err());
    }

    #[test]
    fn lets_imports_point_down_and_into_the_own_module() {
        let text = "use crate::{id::RunId, time};\nuse crate::event::call::Call;\n";
        assert_eq!(found(&[("ledger/src/event/mod.rs", text)]), [""; 0]);
    }

    #[test]
    fn finds_an_import_that_points_up_or_sideways() {
        let up = found(&[("ledger/src/id.rs", "\nuse crate::{event::Event};\n")]);
        assert_eq!(up.len(), 1);
        assert!(up[0].starts_with("ledger/src/id.rs:2: "), "{up:?}");
        let sideways = found(&[("ledger/src/time.rs", "fn f() { crate::id::new(); }")]);
        assert_eq!(sideways.len(), 1, "{sideways:?}");
        let nested = found(&[("ledger/src/event/call.rs", "use crate::owner::Owner;")]);
        assert_eq!(nested.len(), 1, "{nested:?}");
    }

    #[test]
    fn finds_an_import_from_the_root_or_by_super() {
        let root = found(&[("ledger/src/event/mod.rs", "use crate::RunId;")]);
        assert_eq!(root.len(), 1, "{root:?}");
        assert!(root[0].contains("is no module"));
        for (path, text) in [
            ("ledger/src/event.rs", "use super::owner::Owner;"),
            ("ledger/src/event/mod.rs", "use super::owner::Owner;"),
            ("ledger/src/event/call.rs", "use super::super::owner;"),
        ] {
            assert_eq!(found(&[(path, text)]).len(), 1, "{path}");
        }
        for (path, text) in [
            ("ledger/src/event/call.rs", "use super::Event;"),
            ("ledger/src/event.rs", "mod inner { use super::Event; }"),
            ("ledger/src/lib.rs", "pub use crate::event::Event;"),
        ] {
            assert_eq!(found(&[(path, text)]), [""; 0], "{path}");
        }
    }

    #[test]
    fn does_not_hold_tests_or_comments_to_the_table() {
        let text = "//! See [`crate::owner`].\n#[cfg(test)]\nmod tests { use crate::owner::A; }\n";
        assert_eq!(found(&[("ledger/src/event/mod.rs", text)]), [""; 0]);
        let tests = ("ledger/src/event/tests.rs", "use crate::owner::A;");
        assert_eq!(found(&[tests]), [""; 0]);
    }

    #[test]
    fn demands_a_line_for_each_module_and_a_module_for_each_line() {
        let more = found(&[("ledger/src/lease.rs", "")]);
        assert_eq!(more.len(), 1, "{more:?}");
        assert!(more[0].contains("`lease` of ledger has no line"));
        let begun = [("ledger/src/event.rs", "")];
        assert_eq!(found(&begun), [""; 0]);
        let grown = found(&[("ledger/src/event.rs", ""), ("ledger/src/owner.rs", "")]);
        assert_eq!(grown.len(), 1, "{grown:?}");
        assert!(grown[0].contains("`store` is in the layer table"));
    }
}
