//! Tables of commands: which keys they have, which entries cover them, how they are read.

use placet_engine::shell::explain::explain;
use placet_engine::shell::{Reading, covers, key, read, read_bytes};
use serde::Deserialize;

const KEYS: &str = include_str!("../../fixtures/shell/shell_keys.jsonl");
const CURATED: &str = include_str!("../../fixtures/shell/curated.jsonl");

/// A row about a key, an entry or a hazard.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Row {
    Key {
        command: String,
        expect: Option<String>,
    },
    Covered {
        command: String,
        entries: Vec<String>,
        expect: bool,
    },
    SyntaxHigh {
        command: String,
        expect: bool,
    },
}

/// A row about one of the three answers: `K` is plain, `N` neither, `H` a hazard.
#[derive(Debug, Deserialize)]
struct Curated {
    command: Option<String>,
    bytes: Option<Vec<u8>>,
    expect: String,
}

/// What is wrong in a row, if anything is.
fn wrong(row: &Row) -> Option<String> {
    match row {
        Row::Key { command, expect } => {
            let found = key(command);
            let explained = explain::<&str>(command, &[]).key;
            (found != *expect || explained != found).then(|| format!("{row:?}: {found:?}"))
        }
        Row::Covered {
            command,
            entries,
            expect,
        } => {
            let covered = |key: String| entries.iter().any(|entry| covers(entry, &key));
            let found = key(command).is_some_and(covered);
            let explained = explain(command, entries).covered;
            (found != *expect || explained != found).then(|| format!("{row:?}: {found}"))
        }
        Row::SyntaxHigh { command, expect } => {
            let reading = read(command);
            let found = matches!(reading, Reading::Hazard(_));
            let explained = explain::<&str>(command, &[]).syntax_high_risk;
            (found != *expect || explained != found).then(|| format!("{row:?}: {reading:?}"))
        }
    }
}

#[test]
fn keys_and_hazards_are_those_of_the_corpus() {
    let rows: Vec<Row> = KEYS
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 240);
    let wrong: Vec<_> = rows.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_curated_command_gets_an_answer_that_is_accepted() {
    let rows: Vec<Curated> = CURATED
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 187);
    let wrong = rows.iter().filter_map(|row| {
        let reading = match (&row.command, &row.bytes) {
            (Some(command), _) => read(command),
            (None, bytes) => read_bytes(bytes.as_deref().unwrap_or_default()),
        };
        let answer = match reading {
            Reading::Plain(_) => 'K',
            Reading::Neither(_) => 'N',
            Reading::Hazard(_) => 'H',
        };
        (!row.expect.contains(answer)).then(|| format!("{row:?}: {reading:?}"))
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
