//! What the model is told came of a call: each kind of outcome in words of its own.

use std::collections::BTreeMap;

use placet_ledger::content::{Blob, Contents, Media};
use placet_ledger::event::{RefusalKind, Settlement};
use placet_ledger::id::{CallId, Name};
use placet_ledger::run::{Call, Close, Phase};
use serde::{Deserialize, Serialize};

use crate::tool::retrieve;

/// Bytes of a result that the conversation shows whole: some 8,000 tokens.
const RESULT_BYTES_SHOWN: usize = 32 * 1024;

/// Bytes of the beginning of a larger one.
const RESULT_HEAD_BYTES: usize = 20 * 1024;

/// Bytes of its end, where commands and searches say how they ended.
const RESULT_TAIL_BYTES: usize = 8 * 1024;

/// What stands in place of a text that can no longer be read.
const UNREADABLE: &str = "[this text is no longer kept]";

/// A content as text.
pub(super) fn text(contents: &Contents, blob: Option<&Blob>) -> String {
    let Some(blob) = blob else {
        return String::new();
    };
    match contents.bytes(&blob.commitment) {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => UNREADABLE.to_owned(),
    }
}

/// A provider's own words about a reply: its ids, and the names it used that are no tool's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// Where it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Its id of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its ids of the calls.
    #[serde(default)]
    pub ids: BTreeMap<CallId, String>,
    /// The model that it says replied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Names by call, where they are none of the run's tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<CallId, String>,
    /// How many calls came after the last one that is handled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<usize>,
    /// Its word for why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
}

impl Provider {
    /// Reads what `model.replied` keeps.
    pub fn read(contents: &Contents, blob: Option<&Blob>) -> Self {
        let bytes = blob
            .and_then(|blob| contents.bytes(&blob.commitment))
            .unwrap_or_default();
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    /// The name that is no tool's.
    pub fn name(&self, call: CallId) -> String {
        self.names.get(&call).cloned().unwrap_or_default()
    }
}

/// Which kind of outcome the model is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Say {
    /// It took effect.
    Succeeded,
    /// It ran and did not succeed.
    Failed,
    /// Its target had changed.
    Stale,
    /// It was stopped.
    Interrupted,
    /// A person said no.
    Denied,
    /// It was not even asked about.
    Refused,
    /// Nobody answered in time.
    Expired,
    /// A person replied to its question.
    Answered,
    /// A person took the approval back.
    Revoked,
    /// A person looked: it took effect.
    SettledDone,
    /// A person looked: it did not take effect.
    SettledNotDone,
}

impl Say {
    /// The kind for a closed call; an open one counts as interrupted.
    pub fn of(call: &Call) -> Self {
        match call.phase() {
            Phase::Closed(Close::Succeeded) => Self::Succeeded,
            Phase::Closed(Close::Failed) => Self::Failed,
            Phase::Closed(Close::Stale) => Self::Stale,
            Phase::Closed(Close::Denied) => Self::Denied,
            Phase::Closed(Close::Refused(_)) => Self::Refused,
            Phase::Closed(Close::Expired) => Self::Expired,
            Phase::Closed(Close::Answered) => Self::Answered,
            Phase::Closed(Close::Revoked) => Self::Revoked,
            Phase::Closed(Close::Settled(Settlement::Done)) => Self::SettledDone,
            Phase::Closed(Close::Settled(Settlement::NotDone)) => Self::SettledNotDone,
            Phase::Closed(Close::Interrupted | Close::Superseded)
            | Phase::Named
            | Phase::Proposed
            | Phase::Pending
            | Phase::Asked
            | Phase::Granted
            | Phase::Executing { .. }
            | Phase::InDoubt => Self::Interrupted,
        }
    }

    /// The word that is hashed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Stale => "stale",
            Self::Interrupted => "interrupted",
            Self::Denied => "denied",
            Self::Refused => "refused",
            Self::Expired => "expired",
            Self::Answered => "answered",
            Self::Revoked => "revoked",
            Self::SettledDone => "settled_done",
            Self::SettledNotDone => "settled_not_done",
        }
    }

    /// The content that it is rendered from.
    pub fn blob(self, call: &Call) -> Option<&Blob> {
        match self {
            Self::Denied | Self::Revoked | Self::SettledDone | Self::SettledNotDone => call.note(),
            Self::Succeeded
            | Self::Failed
            | Self::Stale
            | Self::Interrupted
            | Self::Refused
            | Self::Expired
            | Self::Answered => call.result(),
        }
    }
}

/// The arguments that a person put in place of the model's.
pub(super) fn amended(call: &Call) -> Option<&Blob> {
    let of_person = call.supersedes().is_some();
    let proposed = call.proposed().filter(|_| of_person);
    proposed.map(|proposed| &proposed.arguments)
}

/// What the model is told came of a call. Where the run `retrieves`, a result that is clipped says
/// how to read the rest.
pub(super) fn result(contents: &Contents, call: &Call, say: Say, retrieves: bool) -> String {
    let came = outcome(contents, call, say, retrieves);
    match amended(call) {
        None => came,
        Some(blob) => {
            let arguments = text(contents, Some(blob));
            format!(
                "The approver changed the arguments of this call to {arguments}; what follows is \
                 about these. {came}"
            )
        }
    }
}

fn outcome(contents: &Contents, call: &Call, say: Say, retrieves: bool) -> String {
    let said = text(contents, say.blob(call));
    match say {
        Say::Succeeded => clipped(succeeded(contents, call, said), call.id(), retrieves),
        Say::Answered => format!("The person replied: {said}"),
        Say::Revoked if said.is_empty() => {
            "Not authorised. The approver took the approval back before it was run.".to_owned()
        }
        Say::Revoked => format!(
            "Not authorised. The approver took the approval back before it was run: \"{said}\"."
        ),
        Say::SettledDone => settled("it took effect", &said),
        Say::SettledNotDone => settled("it did not take effect", &said),
        Say::Failed => format!("Failed: {}", clipped(said, call.id(), retrieves)),
        Say::Stale => format!(
            "Stale: {said} Nothing was changed. Look at the target again before you propose anew."
        ),
        Say::Interrupted => {
            let what = "Interrupted: it was stopped before it was done. Look at the state of \
                 things before you propose anew.";
            if said.is_empty() {
                what.to_owned()
            } else {
                format!("{what}\n{}", clipped(said, call.id(), retrieves))
            }
        }
        Say::Denied if said.is_empty() => {
            "Not authorised. The approver turned this down. It was not run; do not repeat it."
                .to_owned()
        }
        Say::Denied => format!(
            "Not authorised. The approver turned this down: \"{said}\". It was not run; do not \
             repeat it."
        ),
        Say::Refused => refused(call, &said),
        Say::Expired => "Expired: nobody answered in time. It was not run.".to_owned(),
    }
}

fn settled(what: &str, said: &str) -> String {
    let words = if said.is_empty() {
        String::new()
    } else {
        format!(" They say: \"{said}\".")
    };
    format!(
        "It was broken off, and a person looked what became of it: {what}.{words} It is not run \
         again."
    )
}

/// A result as the conversation shows it: head and tail of a large one, and where the rest is.
fn clipped(text: String, call: CallId, retrieves: bool) -> String {
    if text.len() <= RESULT_BYTES_SHOWN {
        return text;
    }
    let head = text.floor_char_boundary(RESULT_HEAD_BYTES);
    let tail = text.ceil_char_boundary(text.len().saturating_sub(RESULT_TAIL_BYTES));
    let left_out = tail.saturating_sub(head);
    let rest = if retrieves {
        format!(
            "; {} with {{\"call\":\"{call}\",\"from\":{head}}} reads them",
            retrieve::NAME
        )
    } else {
        String::new()
    };
    let (first, last) = (text.get(..head), text.get(tail..));
    format!(
        "{}\n[{left_out} bytes left out here of {}{rest}]\n{}",
        first.unwrap_or_default(),
        text.len(),
        last.unwrap_or_default()
    )
}

/// The result of a changing file tool is a few facts; of any other tool it is its text.
#[derive(Deserialize)]
struct Changed {
    bytes: Option<u64>,
    entries: Option<u64>,
    from: Option<String>,
    kept: Option<String>,
    path: String,
}

impl Changed {
    /// Such as `, 2 entries`; nothing where the number is not known.
    fn size(&self) -> String {
        match (self.bytes, self.entries) {
            (_, Some(1)) => String::from(", 1 entry"),
            (_, Some(entries)) => format!(", {entries} entries"),
            (Some(bytes), None) => format!(", {bytes} bytes"),
            (None, None) => String::new(),
        }
    }

    /// What a tool did, in one sentence; `None` for a tool that has no such result.
    fn told(&self, tool: &str) -> Option<String> {
        let (path, size) = (&self.path, self.size());
        let from = self.from.as_deref().unwrap_or_default();
        let done = match tool {
            "write_file" | "edit_file" => format!("{path} written{size}."),
            "rm" => format!("{path} removed{size}."),
            "mkdir" => match self.entries {
                None | Some(0 | 1) => format!("{path} made."),
                Some(folders) => format!("{path} made, {folders} folders."),
            },
            "mv" => format!("{from} moved to {path}{size}."),
            "cp" => format!("{from} copied to {path}{size}."),
            _ => return None,
        };
        let kept = self.kept.as_ref().map_or_else(String::new, |kept| {
            format!(" What another program put there meanwhile is kept as {kept}.")
        });
        Some(format!("Done. {done}{kept}"))
    }
}

fn succeeded(contents: &Contents, call: &Call, said: String) -> String {
    let Some(Blob {
        media: Media::Json,
        commitment,
        ..
    }) = call.result()
    else {
        return said;
    };
    let bytes = contents.bytes(commitment).unwrap_or_default();
    let changed = serde_json::from_slice::<Changed>(bytes).ok();
    changed
        .zip(call.tool().map(Name::as_str))
        .and_then(|(changed, tool)| changed.told(tool))
        .unwrap_or(said)
}

fn refused(call: &Call, said: &str) -> String {
    let Phase::Closed(Close::Refused(kind)) = call.phase() else {
        return said.to_owned();
    };
    let why = match kind {
        RefusalKind::Rule => return forbidden(call.refused_by(), said),
        RefusalKind::UnknownTool => "Error: there is no such tool.",
        RefusalKind::HiddenHalf => "Error: that name cannot be called.",
        RefusalKind::BadArguments => "Error: no proposal could be made of this.",
        RefusalKind::DeniedTool => "Error: this run does not have that tool.",
        RefusalKind::RepeatOf => {
            "Not authorised: the approver turned the same down before. It was not asked again; do \
             not repeat it."
        }
        RefusalKind::OverLimit => "Refused: this is over a limit of the run.",
        RefusalKind::Nobody => {
            "Not authorised: it needs an approval, and nobody is there to give one. It was not run."
        }
    };
    if said.is_empty() {
        why.to_owned()
    } else {
        format!("{why} {said}")
    }
}

/// A call that a rule forbids: which rule, and why that is there.
fn forbidden(rule: Option<&Name>, reason: &str) -> String {
    let rule = rule.map_or("a rule", Name::as_str);
    let reason = if reason.is_empty() {
        String::from(".")
    } else {
        format!(": \"{reason}\".")
    };
    format!(
        "Not authorised: {rule} forbids it{reason} It was not run, and asking again will not help."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(tool: &str, result: &str) -> Option<String> {
        let changed: Changed = serde_json::from_str(result).ok()?;
        changed.told(tool)
    }

    #[test]
    fn a_call_that_a_rule_forbids_is_told_which_and_why() {
        let rule: Name = "rule:.log".parse().unwrap();
        let end = "It was not run, and asking again will not help.";
        for (rule, reason, begin) in [
            (
                Some(&rule),
                "logs are evidence",
                "rule:.log forbids it: \"logs are evidence\".",
            ),
            (Some(&rule), "", "rule:.log forbids it."),
            (None, "", "a rule forbids it."),
        ] {
            let told = forbidden(rule, reason);
            assert_eq!(told, format!("Not authorised: {begin} {end}"));
        }
    }

    #[test]
    fn each_change_of_files_has_words_of_its_own() {
        for (tool, result, words) in [
            (
                "write_file",
                r#"{"bytes":10,"digest":"x","path":"a"}"#,
                "a written, 10 bytes.",
            ),
            (
                "edit_file",
                r#"{"bytes":10,"digest":"x","path":"a"}"#,
                "a written, 10 bytes.",
            ),
            (
                "rm",
                r#"{"bytes":3,"digest":"x","path":"a"}"#,
                "a removed, 3 bytes.",
            ),
            ("rm", r#"{"digest":"x","path":"a"}"#, "a removed."),
            ("rm", r#"{"entries":1,"path":"a"}"#, "a removed, 1 entry."),
            (
                "rm",
                r#"{"entries":5,"kept":".placet-b3e41f07-c1.kept","path":"a"}"#,
                "a removed, 5 entries. What another program put there meanwhile is kept as \
                 .placet-b3e41f07-c1.kept.",
            ),
            ("mkdir", r#"{"entries":1,"path":"a"}"#, "a made."),
            (
                "mkdir",
                r#"{"entries":3,"path":"a/b/c"}"#,
                "a/b/c made, 3 folders.",
            ),
            (
                "mv",
                r#"{"bytes":3,"digest":"x","from":"a","path":"b"}"#,
                "a moved to b, 3 bytes.",
            ),
            (
                "mv",
                r#"{"entries":0,"from":"a","path":"b"}"#,
                "a moved to b, 0 entries.",
            ),
            (
                "cp",
                r#"{"entries":2,"from":"a","path":"b"}"#,
                "a copied to b, 2 entries.",
            ),
        ] {
            assert_eq!(
                told(tool, result).unwrap(),
                format!("Done. {words}"),
                "{tool} {result}"
            );
        }
        assert_eq!(told("custom", r#"{"bytes":3,"path":"a"}"#), None);
        assert_eq!(told("rm", "[1]"), None);
        assert_eq!(told("rm", r#"{"bytes":3}"#), None);
    }
}
