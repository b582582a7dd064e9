//! The script model: replies from a TOML file, for first steps, examples and tests.
//!
//! The turn served is the number of replies that the run has already, so that a resumed run goes
//! on where it was. Past its end a script fails and says so. What it says as a classifier stands in
//! entries of its own.

use std::time::Duration;

use async_trait::async_trait;
use placet_ledger::budget::Tokens;
use placet_ledger::event::{ModelFailure, Stop};
use serde::Deserialize;
use serde_json::Value;

use super::verdicts::{VerdictEntry, Verdicts};
use super::{Classify, Model, ModelError, Reply, ReplyCall, Request, Told};
use crate::heard::Heard;

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It is not a script.
    #[error("the script does not have the form of a script model")]
    Toml(#[source] Box<toml::de::Error>),
    /// A value that JSON does not have.
    #[error("turn {turn}, call {call}: {what}")]
    Call {
        /// Which turn, from 1.
        turn: usize,
        /// Which call of it, from 1.
        call: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// An entry for the classifier that says too much or too little.
    #[error("classify entry {entry}: {what}")]
    Classify {
        /// Which entry, from 1.
        entry: usize,
        /// What is wrong.
        what: &'static str,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    #[serde(default)]
    turn: Vec<TurnEntry>,
    #[serde(default)]
    classify: Vec<VerdictEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnEntry {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<CallEntry>,
    #[serde(default)]
    usage: Tokens,
    error: Option<String>,
    delay_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallEntry {
    #[serde(default)]
    id: String,
    tool: String,
    args: Option<toml::Value>,
    args_json: Option<String>,
}

#[derive(Debug)]
struct Turn {
    reply: Result<Reply, ModelError>,
    delay_ms: Option<u64>,
}

/// Replies from a script.
#[derive(Debug)]
pub struct Scripted {
    turns: Vec<Turn>,
    verdicts: Verdicts,
}

impl Scripted {
    /// Reads a script.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let file: ScriptFile =
            toml::from_str(text).map_err(|error| ScriptError::Toml(Box::new(error)))?;
        let turns = (1..)
            .zip(file.turn)
            .map(|(number, entry)| turn(number, entry));
        Ok(Self {
            turns: turns.collect::<Result<_, _>>()?,
            verdicts: Verdicts::new(file.classify)?,
        })
    }
}

fn turn(number: usize, entry: TurnEntry) -> Result<Turn, ScriptError> {
    let used = entry.usage;
    if let Some(detail) = entry.error {
        let reply = Err(ModelError {
            kind: ModelFailure::Provider,
            detail,
            used: None,
            again: None,
        });
        return Ok(Turn {
            reply,
            delay_ms: entry.delay_ms,
        });
    }
    let mut calls = Vec::with_capacity(entry.calls.len());
    for (index, call) in (1..).zip(entry.calls) {
        let wrong = |what| ScriptError::Call {
            turn: number,
            call: index,
            what,
        };
        let arguments = match (call.args, call.args_json) {
            (Some(args), None) => json(args).map_err(wrong)?.to_string().into_bytes(),
            (None, Some(raw)) => raw.into_bytes(),
            (None, None) => b"{}".to_vec(),
            (Some(_), Some(_)) => return Err(wrong("takes args or args_json, not both")),
        };
        calls.push(ReplyCall {
            id: call.id,
            name: call.tool,
            arguments,
        });
    }
    let stop = if calls.is_empty() {
        Stop::End
    } else {
        Stop::ToolCalls
    };
    let reply = Reply {
        text: entry.text,
        calls,
        stop,
        used,
        told: Told::default(),
    };
    Ok(Turn {
        reply: Ok(reply),
        delay_ms: entry.delay_ms,
    })
}

/// A TOML value as JSON.
fn json(value: toml::Value) -> Result<Value, &'static str> {
    Ok(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => serde_json::Number::from_f64(number)
            .map(Value::Number)
            .ok_or("a number must be finite; write args_json for anything else")?,
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Datetime(_) => return Err("JSON has no dates: write a string"),
        toml::Value::Array(items) => {
            Value::Array(items.into_iter().map(json).collect::<Result<_, _>>()?)
        }
        toml::Value::Table(fields) => {
            let fields = fields
                .into_iter()
                .map(|(key, field)| Ok((key, json(field)?)));
            Value::Object(fields.collect::<Result<_, &'static str>>()?)
        }
    })
}

#[async_trait]
impl Model for Scripted {
    async fn complete(&self, request: &Request, heard: &Heard) -> Result<Reply, ModelError> {
        let served = request.turn;
        let Some(turn) = self.turns.get(served) else {
            let detail = format!(
                "the script ends after turn {}, and another one was asked for",
                self.turns.len()
            );
            return Err(ModelError {
                kind: ModelFailure::Provider,
                detail,
                used: None,
                again: None,
            });
        };
        delay(turn.delay_ms).await;
        if let Ok(reply) = &turn.reply {
            // By words, as models speak.
            reply
                .text
                .split_inclusive(' ')
                .for_each(|piece| heard.text(piece));
        }
        turn.reply.clone()
    }

    async fn classify(&self, question: &Classify) -> Result<Reply, ModelError> {
        self.verdicts.serve(question).await
    }
}

/// Waits as a slow model would.
pub(super) async fn delay(ms: Option<u64>) {
    if let Some(ms) = ms {
        #[expect(
            clippy::disallowed_methods,
            reason = "the script asks for a slow model"
        )]
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(turn: usize) -> Request {
        Request {
            messages: Vec::new(),
            tools: Vec::new(),
            output_tokens: None,
            turn,
        }
    }

    #[tokio::test]
    async fn serves_the_turn_that_follows_the_replies_given() {
        let script = "[[turn]]\ntext = 'a'\n[[turn]]\ncalls = [{ id = 'p', tool = 'ls', args = { path = '.', n = 1 } }]\nusage = { input = 3, output = 4 }";
        let model = Scripted::parse(script).unwrap();
        let heard = Heard::default();
        assert_eq!(model.complete(&request(0), &heard).await.unwrap().text, "a");
        let second = model.complete(&request(1), &heard).await.unwrap();
        assert_eq!(second.stop, Stop::ToolCalls);
        assert_eq!(second.calls[0].arguments, br#"{"n":1,"path":"."}"#);
        let end = model.complete(&request(2), &heard).await.unwrap_err();
        assert!(end.detail.contains("after turn 2"), "{end}");
    }

    #[test]
    fn refuses_what_is_no_script() {
        for (wrong, says) in [
            ("[[turns]]", "form"),
            ("[[turn]]\ntext = 1", "form"),
            (
                "[[turn]]\ncalls = [{ tool = 'x', args = { at = 2026-01-01 } }]",
                "dates",
            ),
            (
                "[[turn]]\ncalls = [{ tool = 'x', args = { at = nan } }]",
                "finite",
            ),
            (
                "[[turn]]\ncalls = [{ tool = 'x', args = {}, args_json = '{}' }]",
                "not both",
            ),
        ] {
            let error = Scripted::parse(wrong).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
