//! A run of the binary in which an agent wants commands, a person allows them, and what is told of
//! each of them afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Output;

use placet_ledger::containment::{Containment, Part};
use serde_json::{Value, json};

use super::Person;
use super::person::text;

/// A command that an agent wants.
pub(crate) struct Wish {
    pub(crate) command: String,
    /// Ports that it wants.
    pub(crate) network: Vec<u16>,
}

impl Wish {
    pub(crate) fn of(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            network: Vec::new(),
        }
    }
}

/// What was told of one command.
#[derive(Debug)]
pub(crate) struct Told {
    /// How it is shut in, by the card.
    pub(crate) card: String,
    /// What is missing, by the record of its start.
    pub(crate) missing: BTreeSet<Part>,
    /// What the model was told.
    pub(crate) result: String,
}

impl Person {
    /// Placet on a machine that lacks these parts.
    pub(crate) fn placet_without(&self, without: &[&str], words: &[&str]) -> Output {
        if without.is_empty() {
            return self.placet(words);
        }
        let parts = without.join(",");
        let lesser = [&parts[..], env!("CARGO_BIN_EXE_placet")];
        self.output(&self.at("lesser"), &[&lesser[..], words].concat())
    }

    /// The model of an agent that wants all of these at once.
    pub(crate) fn agent(&self, wishes: &[Wish]) -> String {
        let calls = wishes.iter().enumerate().map(|(index, wish)| {
            let mut arguments = json!({"command": wish.command, "timeout_s": 20});
            if !wish.network.is_empty() {
                arguments["network"] = json!(wish.network);
            }
            let call = [
                ("id", format!("p{index}")),
                ("tool", "execute_command".to_owned()),
                ("args_json", arguments.to_string()),
            ];
            let call = call.map(|(name, value)| (name.to_owned(), toml::Value::String(value)));
            toml::Value::Table(call.into_iter().collect())
        });
        let turn = |calls: Vec<toml::Value>| {
            let mut turn = toml::Table::new();
            turn.insert("text".to_owned(), "Go on.".into());
            turn.insert("calls".to_owned(), calls.into());
            toml::Value::Table(turn)
        };
        let mut script = toml::Table::new();
        let turns = vec![turn(calls.collect()), turn(Vec::new())];
        script.insert("turn".to_owned(), turns.into());
        let path = self.path("agent.toml");
        std::fs::write(&path, toml::to_string(&script).unwrap()).unwrap();
        format!("script:{}", path.display())
    }

    /// Starts a run in which an agent wants all of these; it waits for a person.
    pub(crate) fn park(&self, wishes: &[Wish], without: &[&str]) -> String {
        let model = self.agent(wishes);
        let args = ["--json", "run", "--model", &model, "--park", "Go on."];
        let started = self.placet_without(without, &args);
        assert_eq!(started.status.code(), Some(2), "{}", text(&started.stderr));
        let report: Value = serde_json::from_slice(&started.stdout).unwrap();
        report["run"].as_str().unwrap().to_owned()
    }

    /// A person approves all that waits in a run.
    pub(crate) fn approve(&self, run: &str, without: &[&str]) -> Output {
        self.placet_without(without, &["runs", "approve", run])
    }

    /// The cards of a run that waits.
    pub(crate) fn cards(&self, run: &str) -> String {
        let shown = self.placet(&["runs", "show", run]);
        assert!(shown.status.success(), "{}", text(&shown.stderr));
        text(&shown.stdout)
    }

    /// What is recorded of a run: its events, with the texts that belong to each.
    pub(crate) fn recorded(&self, run: &str) -> Vec<(Value, BTreeMap<String, String>)> {
        let exported = self.placet(&["audit", "export", "--run", run]);
        assert!(exported.status.success(), "{}", text(&exported.stderr));
        let lines = text(&exported.stdout);
        let lines: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let texts: BTreeMap<_, _> = lines
            .iter()
            .map(|line| (said(&line["commitment"]), said(&line["text"])))
            .collect();
        let records = lines.iter().map(|line| &line["record"]);
        let of_run = records.filter(|record| record["run"] == run);
        of_run
            .map(|record| {
                let blobs = record["blobs"].as_object().into_iter().flatten();
                let blobs = blobs.map(|(name, blob)| {
                    let found = texts.get(&said(&blob["commitment"]));
                    (name.clone(), found.cloned().unwrap_or_default())
                });
                (record.clone(), blobs.collect())
            })
            .collect()
    }

    /// Parks and approves a run, and tells what came of each command.
    pub(crate) fn run(&self, wishes: &[Wish], without: &[&str]) -> Vec<Told> {
        let run = self.park(wishes, without);
        let shown = self.cards(&run);
        let cards = shown.lines().filter_map(|line| {
            let rest = line.strip_prefix("  containment ")?;
            Some(rest.trim().to_owned())
        });
        let approved = self.approve(&run, without);
        assert_eq!(
            approved.status.code(),
            Some(0),
            "{}",
            text(&approved.stderr)
        );
        let recorded = self.recorded(&run);
        let of_type = |start: &'static str| {
            let all = recorded.iter();
            all.filter(move |(record, _)| record["type"].as_str().unwrap().starts_with(start))
        };
        let started = of_type("execution.started").map(|(record, _)| missing(&record["body"]));
        let mut results = Vec::new();
        for (record, texts) in of_type("execution.") {
            if record["type"] != "execution.started" {
                let result = texts.get("result");
                results.push(
                    result
                        .unwrap_or_else(|| panic!("{record} {texts:?}"))
                        .clone(),
                );
            }
        }
        let all: Vec<_> = cards
            .zip(started.zip(results))
            .map(|(card, (missing, result))| Told {
                card,
                missing,
                result,
            })
            .collect();
        assert_eq!(all.len(), wishes.len(), "{}", text(&approved.stderr));
        all
    }
}

/// What is missing, by a record that says the level as well.
pub(crate) fn missing(body: &Value) -> BTreeSet<Part> {
    let missing = body["missing"].as_array().into_iter().flatten();
    let missing: BTreeSet<Part> = missing
        .map(|part| serde_json::from_value(part.clone()).unwrap())
        .collect();
    let level: Containment = serde_json::from_value(body["containment"].clone()).unwrap();
    let expected = match missing.len() {
        0 => Containment::Full,
        some if some < Part::ALL.len() => Containment::Partial,
        _ => Containment::None,
    };
    assert_eq!(level, expected, "{body}");
    missing
}
