//! A reply that is being read: its text, its calls, and what the provider tells of it.

use placet_ledger::event::Stop;

use super::names::Names;
use super::usage::Counted;
use crate::heard::Heard;
use crate::model::{Reply, ReplyCall, Told};

/// Bytes of a word that a provider tells: its ids and names are shorter.
const TOLD_BYTES_MAX: usize = 256;

/// A call that is being read.
#[derive(Debug, Default)]
pub(super) struct DraftCall {
    /// The provider's id, where it gave one.
    pub(super) id: String,
    /// The name, in the form that was sent.
    pub(super) name: String,
    /// The arguments so far.
    pub(super) arguments: String,
}

/// What was read of a reply.
#[derive(Debug, Default)]
pub(super) struct Draft {
    heard: Heard,
    text: String,
    /// The calls, in the order in which they began.
    pub(super) calls: Vec<DraftCall>,
    /// The provider's word for why the model stopped.
    pub(super) stop: Option<String>,
    /// The provider's id of the reply.
    pub(super) id: Option<String>,
    /// The model that it says replied.
    pub(super) model: Option<String>,
    /// What it counted.
    pub(super) counted: Counted,
    /// Whether the text is a refusal.
    pub(super) is_refusal: bool,
    /// Whether anything of the reply itself has come.
    pub(super) has_begun: bool,
    received_bytes: u64,
}

impl Draft {
    /// Nothing yet; its text will be heard.
    pub(super) fn new(heard: &Heard) -> Self {
        Self {
            heard: heard.clone(),
            ..Self::default()
        }
    }

    fn receive(&mut self, bytes: usize) {
        self.has_begun |= bytes > 0;
        self.received_bytes = self.received_bytes.saturating_add(bytes as u64);
    }

    /// A piece of text.
    pub(super) fn say(&mut self, piece: &str) {
        self.receive(piece.len());
        self.text.push_str(piece);
        self.heard.text(piece);
    }

    /// A piece of reasoning, which is no text but was written all the same.
    pub(super) fn think(&mut self, piece: &str) {
        self.receive(piece.len());
    }

    /// A new call; answers with its place.
    pub(super) fn begin_call(&mut self, id: String, name: String) -> usize {
        self.has_begun = true;
        self.receive(name.len());
        self.calls.push(DraftCall {
            id,
            name,
            arguments: String::new(),
        });
        self.calls.len().saturating_sub(1)
    }

    /// A piece of a call's arguments.
    pub(super) fn argue(&mut self, place: usize, piece: &str) {
        self.receive(piece.len());
        if let Some(call) = self.calls.get_mut(place) {
            call.arguments.push_str(piece);
        }
    }

    fn stopped(&self) -> Stop {
        if self.is_refusal {
            return Stop::Refusal;
        }
        let has_calls = !self.calls.is_empty();
        match self.stop.as_deref() {
            Some("tool_use" | "tool_calls" | "function_call") => Stop::ToolCalls,
            // Some servers end with this word although there are calls, others with none.
            Some("end_turn" | "stop") | None if has_calls => Stop::ToolCalls,
            Some("end_turn" | "stop") => Stop::End,
            Some("max_tokens" | "length" | "model_context_window_exceeded") => Stop::Length,
            Some("refusal" | "content_filter") => Stop::Refusal,
            Some(_) | None => Stop::Other,
        }
    }

    /// The whole reply, of which so many bytes were sent. `withhold` takes secrets out of a text.
    pub(super) fn reply(
        self,
        endpoint: String,
        names: &Names,
        sent_bytes: u64,
        withhold: impl Fn(&str) -> String,
    ) -> Reply {
        let stop = self.stopped();
        let used = self.counted.tokens(sent_bytes, self.received_bytes);
        let told = |word: Option<String>| word.map(|word| clip(&withhold(&word), TOLD_BYTES_MAX));
        let last = self.calls.len().saturating_sub(1);
        let calls = self.calls.into_iter().enumerate().map(|(place, call)| {
            // A reply that ran into its limit may have lost the arguments of its last call: they
            // stay missing, so that it is refused and not made without them.
            let is_cut = stop == Stop::Length && place == last;
            let arguments = match call.arguments {
                none if none.is_empty() && !is_cut => String::from("{}"),
                written => written,
            };
            ReplyCall {
                id: call.id,
                name: names.meant(&call.name),
                arguments: arguments.into_bytes(),
            }
        });
        Reply {
            text: self.text,
            calls: calls.collect(),
            stop,
            used,
            told: Told {
                endpoint: told(Some(endpoint)),
                id: told(self.id),
                model: told(self.model),
                stop: told(self.stop),
            },
        }
    }
}

/// The beginning of a text, whole characters.
pub(super) fn clip(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes_max.saturating_sub(3));
    format!("{}...", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(stop: Option<&str>, arguments: &[&str]) -> Draft {
        let mut draft = Draft {
            stop: stop.map(str::to_owned),
            ..Draft::default()
        };
        for piece in arguments {
            let place = draft.begin_call(String::new(), String::from("ls"));
            draft.argue(place, piece);
        }
        draft
    }

    fn reply(draft: Draft) -> Reply {
        draft.reply(String::from("e"), &Names::default(), 0, str::to_owned)
    }

    #[test]
    fn each_word_for_a_stop_means_one_thing() {
        for (word, alone, with_calls) in [
            (Some("end_turn"), Stop::End, Stop::ToolCalls),
            (Some("stop"), Stop::End, Stop::ToolCalls),
            (Some("tool_use"), Stop::ToolCalls, Stop::ToolCalls),
            (Some("tool_calls"), Stop::ToolCalls, Stop::ToolCalls),
            (Some("function_call"), Stop::ToolCalls, Stop::ToolCalls),
            (Some("max_tokens"), Stop::Length, Stop::Length),
            (Some("length"), Stop::Length, Stop::Length),
            (
                Some("model_context_window_exceeded"),
                Stop::Length,
                Stop::Length,
            ),
            (Some("refusal"), Stop::Refusal, Stop::Refusal),
            (Some("content_filter"), Stop::Refusal, Stop::Refusal),
            (Some("pause_turn"), Stop::Other, Stop::Other),
            (Some("stop_sequence"), Stop::Other, Stop::Other),
            (Some(""), Stop::Other, Stop::Other),
            (None, Stop::Other, Stop::ToolCalls),
        ] {
            assert_eq!(reply(draft(word, &[])).stop, alone, "{word:?}");
            assert_eq!(reply(draft(word, &["{}"])).stop, with_calls, "{word:?}");
            let mut refused = draft(word, &[]);
            refused.is_refusal = true;
            assert_eq!(reply(refused).stop, Stop::Refusal, "{word:?}");
        }
    }

    #[test]
    fn missing_arguments_are_none_unless_the_reply_was_cut_there() {
        for (word, left) in [
            ("tool_use", ["{}", "{\"a\"", "{}"]),
            ("max_tokens", ["{}", "{\"a\"", ""]),
        ] {
            let reply = reply(draft(Some(word), &["", "{\"a\"", ""]));
            let arguments = reply.calls.iter().map(|call| call.arguments.as_slice());
            assert!(arguments.eq(left.map(str::as_bytes)), "{word}");
        }
    }

    #[test]
    fn words_of_the_provider_are_clipped_and_hold_no_secret() {
        let mut draft = draft(Some("stop"), &[]);
        draft.id = Some("\u{e9}".repeat(300));
        draft.model = Some(String::from("m geheim"));
        let withhold = |text: &str| text.replace("geheim", "-");
        let told = draft
            .reply(String::from("e"), &Names::default(), 0, withhold)
            .told;
        let id = told.id.unwrap();
        assert!(
            id.len() <= TOLD_BYTES_MAX && id.ends_with("\u{e9}..."),
            "{id}"
        );
        assert_eq!(told.model.as_deref(), Some("m -"));
        assert_eq!(told.endpoint.as_deref(), Some("e"));
        assert_eq!(told.stop.as_deref(), Some("stop"));
    }
}
