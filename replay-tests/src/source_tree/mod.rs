//! The workspace read as text, for the rules of the house that no compiler checks.
//!
//! [`Tree`] holds the files; [`code`] tells code from comments, literals and tests; the rules are
//! functions from text to [`Finding`]s: [`rules`] about sources, [`layers`] about who may import
//! whom, [`documents`] about Markdown. A finding says where and what to do. Nothing here parses
//! Rust in full: each rule is as much of a reader as it needs, and is tried on bad inputs below.

pub mod code;
pub mod documents;
pub mod layers;
pub mod rules;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use code::Code;

/// Something that breaks a rule of the house.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, from the root of the workspace.
    pub path: String,
    /// The line, from 1; 0 where the file as a whole is meant.
    pub line: usize,
    /// What is wrong and what to do about it.
    pub what: String,
}

impl Finding {
    /// A finding in one line of a file.
    pub fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        let (path, what) = (path.to_owned(), what.into());
        Self { path, line, what }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// One file.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its path from the root of the workspace, with slashes.
    pub path: String,
    /// Its text.
    pub text: String,
    /// What of the text is code; empty for a file that is not Rust.
    pub code: Code,
}

impl Source {
    /// A file with this path and text.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let code = if extension(&path) == "rs" {
            Code::read(&text)
        } else {
            Code::default()
        };
        Self { path, text, code }
    }

    /// What its name ends with.
    pub fn extension(&self) -> &str {
        extension(&self.path)
    }

    /// Whether it is a Rust source.
    pub fn is_rust(&self) -> bool {
        self.extension() == "rs"
    }

    /// Whether all of it is test code: unit tests in a file of their own, or an integration test.
    pub fn is_test_file(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }

    /// Its code without tests.
    pub fn production(&self) -> &str {
        if self.is_test_file() {
            ""
        } else {
            &self.code.production
        }
    }
}

/// The files of the workspace, by path.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// The root, or empty for a tree that is made up.
    pub root: PathBuf,
    /// Sources, manifests and documents.
    pub files: Vec<Source>,
}

/// What is read: sources, manifests, documents.
const EXTENSIONS: [&str; 3] = ["rs", "toml", "md"];

/// Folders that hold no text of the house: data that tests and readers take byte for byte.
const SKIPPED: [&str; 2] = ["docs/examples", "replay-tests/fixtures"];

impl Tree {
    /// Reads the workspace that this crate was built in.
    pub fn of_workspace() -> io::Result<Self> {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self::read(package.parent().unwrap_or(package))
    }

    /// Reads the tree under `root`: what lies in agreed places, so that neither built files nor
    /// somebody's notes are held to anything.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        for entry in rules::TOP_LEVEL {
            collect(root, entry.to_owned(), &mut files)?;
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let root = root.to_owned();
        Ok(Self { root, files })
    }

    /// A tree of made-up files.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let root = PathBuf::new();
        let files = files
            .iter()
            .map(|(path, text)| Source::new(*path, *text))
            .collect();
        Self { root, files }
    }

    /// The Rust sources.
    pub fn rust(&self) -> impl Iterator<Item = &Source> {
        self.files.iter().filter(|source| source.is_rust())
    }

    /// The documents.
    pub fn documents(&self) -> impl Iterator<Item = &Source> {
        self.files
            .iter()
            .filter(|source| source.extension() == "md")
    }

    /// The file with this path.
    pub fn get(&self, path: &str) -> Option<&Source> {
        self.files.iter().find(|source| source.path == path)
    }
}

fn extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn collect(root: &Path, path: String, files: &mut Vec<Source>) -> io::Result<()> {
    let place = root.join(&path);
    if place.is_dir() && !SKIPPED.contains(&path.as_str()) {
        for entry in fs::read_dir(&place)? {
            let name = entry?.file_name();
            collect(root, format!("{path}/{}", name.to_string_lossy()), files)?;
        }
    } else if place.is_file() && EXTENSIONS.contains(&extension(&path)) {
        let text = fs::read_to_string(&place)?;
        files.push(Source::new(path, text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_file_and_line() {
        let finding = Finding::new("a/b.rs", 7, "do this");
        assert_eq!(finding.to_string(), "a/b.rs:7: do this");
        let finding = Finding::new("a/b.rs", 0, "do this");
        assert_eq!(finding.to_string(), "a/b.rs: do this");
    }

    #[test]
    fn reads_the_workspace_and_leaves_out_what_is_built() {
        let tree = Tree::of_workspace().unwrap();
        assert!(tree.get("ledger/src/lib.rs").is_some());
        assert!(tree.get(".cargo/clippy.toml").is_some());
        assert!(tree.get("docs/ARCHITECTURE.md").is_some());
        let built = |file: &Source| file.path.starts_with("target/");
        assert!(!tree.files.iter().any(built));
    }
}
