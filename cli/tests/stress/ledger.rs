//! What the ledger holds in the end, beside what everybody was told and what lies on disk.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::crowd::Crowd;

/// Every event of the log.
pub(super) struct Held(Vec<Value>);

/// The file that a call writes, by its number: all calls of a run are proposed in one order.
const FILES: [(&str, &str); 7] = [
    ("c2", "one"),
    ("c3", "two"),
    ("c4", "three"),
    ("c5", "four"),
    ("c7", "five"),
    ("c8", "six"),
    ("c9", "seven"),
];

impl Held {
    pub(super) fn read(crowd: &Crowd) -> Self {
        let export = crowd.call(&["audit", "export", "--facts-only"]);
        assert_eq!(export.code, Some(0), "{}", export.stderr);
        let lines = export
            .stdout
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut held = Self(lines.collect());
        held.0
            .retain(|line| line.get("record").is_some_and(Value::is_object));
        assert!(!held.0.is_empty());
        held
    }

    fn events(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().map(|line| &line["record"])
    }

    pub(super) fn runs(&self) -> usize {
        self.events()
            .filter(|record| record["type"] == "run.started")
            .count()
    }

    pub(super) fn records(&self) -> usize {
        self.0.len()
    }

    pub(super) fn nothing_acknowledged_is_missing(&self, crowd: &Crowd) {
        let digests = digests(crowd);
        assert_eq!(digests.len(), self.records());
        let acknowledged = crowd.acknowledged.lock().unwrap();
        for digest in acknowledged.iter() {
            assert!(digests.contains(digest), "{digest} was told and is gone");
        }
        let answered: BTreeSet<&str> = self
            .events()
            .filter_map(|record| record["body"]["request"].as_str())
            .collect();
        for request in crowd.answered.lock().unwrap().iter() {
            assert!(
                answered.contains(request.as_str()),
                "an answer to {request} is gone"
            );
        }
    }

    /// A call is started once, and once more only where its tool found that nothing was done.
    pub(super) fn nothing_was_executed_twice(&self) {
        let mut open: BTreeMap<(String, String), bool> = BTreeMap::new();
        for record in self.events() {
            let call = record["body"]["call"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let key = (record["run"].as_str().unwrap_or_default().to_owned(), call);
            match record["type"].as_str().unwrap() {
                "execution.started" => {
                    let before = open.insert(key.clone(), true);
                    assert_ne!(before, Some(true), "{key:?} was started twice");
                }
                "execution.settled" if record["body"]["verdict"] == "not_done" => {
                    open.insert(key, false);
                }
                _ => {}
            }
        }
    }

    /// What the record says was written is there, and nothing else is.
    pub(super) fn effects_are_those_of_the_record(&self, crowd: &Crowd) {
        let mut done: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for record in self.events() {
            let settled =
                record["type"] == "execution.settled" && record["body"]["verdict"] == "done";
            if record["type"] == "execution.succeeded" || settled {
                let run = record["run"].as_str().unwrap().to_owned();
                let call = record["body"]["call"].as_str().unwrap().to_owned();
                done.entry(run).or_default().insert(call);
            }
        }
        for (run, workspace) in crowd.workspaces.lock().unwrap().iter() {
            let done = done.get(run).cloned().unwrap_or_default();
            for (call, file) in FILES {
                let there = workspace.join(file).exists();
                assert_eq!(there, done.contains(call), "{file} of {run}");
            }
        }
    }
}

/// The digest of every event of the log, which is read in parts.
fn digests(crowd: &Crowd) -> BTreeSet<String> {
    let mut digests = BTreeSet::new();
    let mut after: Option<String> = None;
    loop {
        let mut args = vec!["--json", "audit", "log"];
        if let Some(after) = &after {
            args.extend(["--after", after]);
        }
        let log = crowd.call(&args);
        assert_eq!(log.code, Some(0), "{}", log.stderr);
        let log: Value = serde_json::from_str(&log.stdout).unwrap();
        let events = log["events"].as_array().unwrap().iter();
        digests.extend(events.map(|event| event["digest"].as_str().unwrap().to_owned()));
        after = log["next"].as_str().map(str::to_owned);
        if after.is_none() {
            return digests;
        }
    }
}
