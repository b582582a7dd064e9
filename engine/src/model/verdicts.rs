//! What a script model says when it is asked to judge a command.

use placet_ledger::budget::Tokens;
use placet_ledger::event::{ModelFailure, Stop};
use serde::Deserialize;

use super::scripted::{ScriptError, delay};
use super::{Classify, ModelError, Reply, Told};

/// One verdict of a script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VerdictEntry {
    /// The command that it is about; without one, it is served in its turn.
    command: Option<String>,
    /// What is replied.
    verdict: Option<String>,
    /// What goes wrong instead.
    error: Option<String>,
    /// How long that takes.
    delay_ms: Option<u64>,
}

/// The verdicts of a script, in order.
#[derive(Debug)]
pub(super) struct Verdicts(Vec<VerdictEntry>);

impl Verdicts {
    pub(super) fn new(entries: Vec<VerdictEntry>) -> Result<Self, ScriptError> {
        for (entry, verdict) in (1..).zip(&entries) {
            let what = match (&verdict.verdict, &verdict.error) {
                (Some(_), Some(_)) => "takes verdict or error, not both",
                (None, None) => "needs a verdict or an error",
                (Some(_), None) | (None, Some(_)) => continue,
            };
            return Err(ScriptError::Classify { entry, what });
        }
        Ok(Self(entries))
    }

    /// The entry for this very command, or else the one in its turn.
    fn entry(&self, question: &Classify) -> Option<&VerdictEntry> {
        let is_named = |entry: &&VerdictEntry| entry.command.as_ref() == Some(&question.command);
        let in_turn = || self.0.get(question.judged_before);
        let any = |entry: &&VerdictEntry| entry.command.is_none();
        self.0
            .iter()
            .find(is_named)
            .or_else(|| in_turn().filter(any))
    }

    pub(super) async fn serve(&self, question: &Classify) -> Result<Reply, ModelError> {
        let failed = |detail: String| ModelError {
            kind: ModelFailure::Provider,
            detail,
            used: None,
            again: None,
        };
        let Some(entry) = self.entry(question) else {
            let (entries, number) = (self.0.len(), question.judged_before.saturating_add(1));
            return Err(failed(format!(
                "none of the {entries} classify entries of the script is for command {number} that \
                 is judged"
            )));
        };
        delay(entry.delay_ms).await;
        match (&entry.verdict, &entry.error) {
            (Some(verdict), _) => Ok(Reply {
                text: verdict.clone(),
                calls: Vec::new(),
                stop: Stop::End,
                used: Tokens::default(),
                told: Told::default(),
            }),
            (None, error) => Err(failed(error.clone().unwrap_or_default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{Classify, Model, Scripted};

    fn asked(command: &str, judged_before: usize) -> Classify {
        Classify {
            system: String::new(),
            text: String::new(),
            command: command.to_owned(),
            judged_before,
            output_tokens: None,
        }
    }

    #[tokio::test]
    async fn a_command_has_its_own_entry_or_the_one_in_its_turn() {
        let script = "classify = [{ verdict = 'low-risk' }, \
            { command = 'git log', verdict = 'read-only' }, { error = 'away' }]";
        let model = Scripted::parse(script).unwrap();
        for (command, before, says) in [
            ("cargo test", 0, Ok("low-risk")),
            ("git log", 0, Ok("read-only")),
            ("git log", 9, Ok("read-only")),
            ("git log ", 1, Err("none of the 3 classify entries")),
            ("cargo test", 2, Err("away")),
            ("cargo test", 3, Err("for command 4 that is judged")),
        ] {
            let reply = model.classify(&asked(command, before)).await;
            match (reply, says) {
                (Ok(reply), Ok(text)) => assert_eq!(reply.text, text, "{command} {before}"),
                (Err(error), Err(text)) => assert!(error.detail.contains(text), "{error}"),
                (reply, says) => panic!("{command} {before}: {reply:?}, not {says:?}"),
            }
        }
    }

    #[test]
    fn an_entry_says_one_thing() {
        for (wrong, says) in [
            ("[[classify]]", "entry 1: needs a verdict"),
            ("[[classify]]\nverdict = 'a'\nerror = 'b'", "not both"),
            ("[[classify]]\nverdict = 1", "form"),
            ("[[classify]]\nverdicts = 'a'", "form"),
        ] {
            let error = Scripted::parse(wrong).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
