//! Rules about documents: one title, links that lead somewhere, no path of anybody's machine.
//! And the table of events, for the tests that hold it against the code.

use std::path::Path;

use super::{Finding, Source, Tree};

/// Paths that exist on one machine only. Written in halves: this file is read as well.
const MACHINE_PATHS: [&str; 4] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Use", "rs/"),
    concat!("/wo", "rk/"),
];

/// The lines of a document outside fenced blocks, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// A document has one title, at its top.
pub fn has_one_title(document: &Source) -> Vec<Finding> {
    let titles: Vec<_> = prose(&document.text)
        .filter(|(_, line)| line.starts_with("# "))
        .map(|(line, _)| line)
        .collect();
    match titles.as_slice() {
        [1] => Vec::new(),
        [] => vec![Finding::new(&document.path, 1, "open with a `# ` title")],
        [first] => {
            let what = "the `# ` title is the first line";
            vec![Finding::new(&document.path, *first, what)]
        }
        [_, rest @ ..] => rest
            .iter()
            .map(|line| {
                let what = "a second `# ` title: use `## `, or another document";
                Finding::new(&document.path, *line, what)
            })
            .collect(),
    }
}

/// A document holds on every machine.
pub fn names_no_machine(document: &Source) -> Vec<Finding> {
    let lines = document.text.lines().enumerate();
    lines
        .filter(|(_, line)| MACHINE_PATHS.iter().any(|path| line.contains(path)))
        .map(|(index, _)| {
            let what = "a path of one machine: write it from the clone, or with ~";
            Finding::new(&document.path, index + 1, what)
        })
        .collect()
}

/// Links to files of the repository lead somewhere.
pub fn links_resolve(document: &Source, root: &Path) -> Vec<Finding> {
    let folder = Path::new(&document.path).parent().unwrap_or(Path::new(""));
    let mut findings = Vec::new();
    for (line, text) in prose(&document.text) {
        for target in links(text) {
            let file = target.split('#').next().unwrap_or_default();
            let elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !elsewhere && !file.is_empty() && !root.join(folder).join(file).exists() {
                let what = format!("the link to `{target}` leads nowhere");
                findings.push(Finding::new(&document.path, line, what));
            }
        }
    }
    findings
}

/// The targets of `[text](target)` in a line, code spans left out.
fn links(line: &str) -> Vec<&str> {
    let outside_code = line.split('`').step_by(2);
    outside_code
        .flat_map(|part| part.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next())
        .collect()
}

/// A row of the table of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// The name, such as `call.proposed`.
    pub name: String,
    /// Its replay classes, of `G`, `O` and `D`: several where the author decides.
    pub classes: Vec<char>,
    /// Its line in the document, from 1.
    pub line: usize,
}

/// The rows of all tables headed `| name | says | body | content | class |`.
pub fn event_rows(document: &str) -> Result<Vec<EventRow>, String> {
    let mut rows = Vec::new();
    let mut inside = false;
    for (line, text) in prose(document) {
        let cells: Vec<_> = text.trim_matches('|').split('|').map(str::trim).collect();
        match cells.as_slice() {
            ["name", "says", "body", "content", "class"] => inside = true,
            [name, _, _, _, class] if inside && text.starts_with('|') => {
                if !name.starts_with('-') {
                    rows.push(event_row(line, name, class)?);
                }
            }
            _ if inside && text.starts_with('|') => {
                return Err(format!("line {line}: a row has five cells"));
            }
            _ => inside = false,
        }
    }
    Ok(rows)
}

fn event_row(line: usize, name: &str, class: &str) -> Result<EventRow, String> {
    let bare = name
        .strip_prefix('`')
        .and_then(|rest| rest.strip_suffix('`'));
    let name = bare.ok_or_else(|| format!("line {line}: write the name as `noun.verb`"))?;
    let classes: Option<Vec<char>> = class
        .split(", ")
        .map(|word| match word {
            "G" => Some('G'),
            "O" => Some('O'),
            "D" => Some('D'),
            _ => None,
        })
        .collect();
    Ok(EventRow {
        name: name.to_owned(),
        classes: classes.ok_or_else(|| format!("line {line}: a class is G, O or D"))?,
        line,
    })
}

/// Every document under every rule.
pub fn check_all(tree: &Tree) -> Vec<Finding> {
    tree.documents()
        .flat_map(|document| {
            let mut findings = has_one_title(document);
            findings.extend(names_no_machine(document));
            findings.extend(links_resolve(document, &tree.root));
            findings
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Source {
        Source::new("docs/A.md", text)
    }

    #[test]
    fn demands_one_title_at_the_top() {
        let count = |text| has_one_title(&document(text)).len();
        assert_eq!(count("# A\n## B\n```sh\n# a comment\n```\n"), 0);
        assert_eq!(count("text\n"), 1);
        assert_eq!(count("text\n# A\n"), 1);
        assert_eq!(count("# A\n# B\n# C\n"), 2);
    }

    #[test]
    fn finds_paths_of_one_machine() {
        for path in MACHINE_PATHS {
            let found = names_no_machine(&document(&format!("# A\nsee {path}x\n")));
            assert_eq!(found.len(), 1, "{path}");
            assert_eq!(found[0].line, 2);
        }
        assert!(names_no_machine(&document("see ~/x and target/home\n")).is_empty());
    }

    #[test]
    fn finds_links_that_lead_nowhere() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let count = |text: &str| links_resolve(&document(text), &root).len();
        assert_eq!(count("[a](ARCHITECTURE.md#code-map) and [b](#here)"), 0);
        assert_eq!(count("[a](../Cargo.toml) [b](https://example.org/x)"), 0);
        assert_eq!(count("[`a`](NOWHERE.md)"), 1);
        assert_eq!(count("[a](NOWHERE.md) and [b](../NOWHERE.toml)"), 2);
        assert_eq!(count("`[a](NOWHERE.md)`"), 0);
        assert_eq!(count("```\n[a](NOWHERE.md)\n```"), 0);
    }

    #[test]
    fn reads_the_table_of_events() {
        let head = "| name | says | body | content | class |\n|---|---|---|---|---|\n";
        let rows = event_rows(&format!(
            "{head}| `a.b` | x | y | | D |\n| `a.c` | x | | | O, G |\n\n| `not.this` | | | | X |\n"
        ));
        let rows = rows.unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].name.as_str(), rows[0].line), ("a.b", 3));
        assert_eq!(rows[1].classes, ['O', 'G']);
        assert!(event_rows(&format!("{head}| a.b | x | y | | D |\n")).is_err());
        assert!(event_rows(&format!("{head}| `a.b` | x | y | | Z |\n")).is_err());
        assert!(event_rows(&format!("{head}| `a.b` | x | D |\n")).is_err());
    }
}
