//! Making a proposal of a call, whoever wants it: the model, or a person who amends one.

use std::time::Duration;

use placet_ledger::canonical;
use placet_ledger::containment::Level;
use placet_ledger::content::{Text, Texts};
use placet_ledger::event::RefusalKind;
use placet_ledger::id::CallId;
use placet_ledger::limits::CONTENT_BYTES_MAX;
use placet_ledger::precondition::{Aim, PreconditionKind};
use placet_ledger::run::{Command, Proposal};
use serde::Serialize;

use super::Act;
use crate::tool::registry::Registered;
use crate::tool::{Draft, ask};

/// The proposal of a call of `tool` with the arguments in these bytes, or why there is none.
pub(crate) async fn propose(call: CallId, tool: &Registered, arguments: &[u8]) -> Act {
    let arguments = match tool.read_arguments(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(call, RefusalKind::BadArguments, error.to_string()),
    };
    let Some(proposing) = tool.propose() else {
        return proposal(call, tool, None, &arguments);
    };
    let drafted = timeout(tool.spec().timeout_ms(), proposing.propose(&arguments)).await;
    match drafted {
        Some(Ok(draft)) => proposal(call, tool, Some(&draft), &draft.arguments),
        Some(Err(error)) => refuse(call, RefusalKind::BadArguments, error.to_string()),
        None => {
            let detail = "making the proposal took too long".to_owned();
            refuse(call, RefusalKind::BadArguments, detail)
        }
    }
}

/// Turns a call down before the gate.
pub(super) fn refuse(call: CallId, kind: RefusalKind, detail: String) -> Act {
    let mut texts = Texts::new();
    if !detail.is_empty() {
        texts.insert(String::from("detail"), Text::plain(detail));
    }
    Act {
        command: Command::Refuse { call, kind },
        texts,
    }
}

/// Canonical bytes of a value of ours; such values always have some.
pub(super) fn json_text(value: &impl Serialize) -> Text {
    let value = serde_json::to_value(value).unwrap_or_default();
    Text::json(canonical::arguments_to_vec(&value).unwrap_or_default())
}

fn proposal(
    call: CallId,
    tool: &Registered,
    draft: Option<&Draft>,
    arguments: &serde_json::Value,
) -> Act {
    let mut texts = Texts::from([(String::from("arguments"), json_text(arguments))]);
    let mut precondition = PreconditionKind::None;
    if let Some(draft) = draft {
        precondition = draft.precondition.kind();
        texts.insert(
            String::from("execute_arguments"),
            json_text(&draft.execute_arguments),
        );
        let aim = Aim::new(draft.precondition.clone(), draft.known_as.clone());
        texts.insert(String::from("precondition"), json_text(&aim));
        texts.insert(String::from("message"), Text::plain(draft.message.clone()));
        if let Some(process) = &draft.process {
            texts.insert(String::from("program"), json_text(&process.program));
        }
        if let Some(preview) = &draft.preview {
            // Of a command it is the words.
            let text = match draft.process {
                Some(_) => Text::plain(preview.clone()),
                None => Text::diff(preview.clone()),
            };
            texts.insert(String::from("preview"), text);
        }
    }
    if tool.is_question() {
        texts.insert(
            String::from("message"),
            Text::plain(ask::question(arguments)),
        );
    }
    if let Some(what) = too_large(&texts) {
        let detail = format!("The proposal is {what}.");
        return refuse(call, RefusalKind::BadArguments, detail);
    }
    let process = draft.and_then(|draft| draft.process.as_ref());
    let command = Command::Propose(Proposal {
        call,
        level: process.map_or(Level::IN_PROCESS, |process| process.level.clone()),
        network: process
            .map(|process| process.network.clone())
            .unwrap_or_default(),
        program: process.map(|process| process.class),
        definition: tool.definition(),
        execute: tool.execute_name().cloned(),
        precondition,
        risk: tool.spec().risk,
        tool: tool.spec().name.clone(),
    });
    Act { command, texts }
}

/// What is wrong with texts of which one is larger than any content may be. Recording them would
/// fail, and fail again each time the run is taken up.
pub(super) fn too_large(texts: &Texts) -> Option<String> {
    let largest = texts.values().map(|text| text.bytes.len()).max()?;
    (largest > CONTENT_BYTES_MAX).then(|| {
        format!("too large to be recorded: {largest} bytes, of at most {CONTENT_BYTES_MAX}")
    })
}

/// Whether a content can hold it.
pub(super) fn fits(bytes: &[u8]) -> bool {
    bytes.len() <= CONTENT_BYTES_MAX
}

/// What comes of some work in a time limit.
pub(crate) async fn timeout<T>(limit_ms: u64, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(limit_ms), work)
        .await
        .ok()
}
