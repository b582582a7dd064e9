//! A conversation as Chat Completions want it.

use serde::Serialize;
use serde_json::Value;

use crate::model::Request;
use crate::model::hosted::conversation::{Conversation, Turn};
use crate::model::hosted::names::Names;

/// The word for the most tokens of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model::hosted) enum Limit {
    /// The first one, which all servers but the newer models of `OpenAI` know.
    MaxTokens,
    /// The one that these want.
    MaxCompletionTokens,
}

impl Limit {
    /// By the host that is asked.
    pub(in crate::model::hosted) fn of(host: &str) -> Self {
        if host == "api.openai.com" || host.ends_with(".openai.azure.com") {
            Self::MaxCompletionTokens
        } else {
            Self::MaxTokens
        }
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    stream: bool,
    stream_options: StreamOptions,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

/// The body of a request.
pub(in crate::model::hosted) fn body(
    model: &str,
    limit: Limit,
    request: &Request,
    names: &Names,
) -> serde_json::Result<Vec<u8>> {
    let conversation = Conversation::of(request, names);
    let tools = request.tools.iter().map(|tool| Tool {
        kind: "function",
        function: Function {
            name: names.sent(tool.spec.name.as_str()),
            description: &tool.spec.description,
            parameters: &tool.spec.schema,
        },
    });
    let tokens = |word| request.output_tokens.filter(|_| limit == word);
    serde_json::to_vec(&Body {
        model,
        max_tokens: tokens(Limit::MaxTokens),
        max_completion_tokens: tokens(Limit::MaxCompletionTokens),
        stream: true,
        stream_options: StreamOptions {
            include_usage: true,
        },
        messages: messages(&conversation),
        tools: tools.collect(),
    })
}

fn messages<'a>(conversation: &'a Conversation<'a>) -> Vec<Message<'a>> {
    let system = (!conversation.system.is_empty())
        .then(|| message("system", conversation.system.join("\n\n")));
    let turns = conversation.turns.iter().flat_map(|turn| match turn {
        Turn::User(texts) => vec![message("user", texts.join("\n\n"))],
        Turn::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| Call {
                id: &call.id,
                kind: "function",
                function: Called {
                    name: &call.name,
                    arguments: call.arguments.get(),
                },
            });
            vec![Message {
                tool_calls: calls.collect(),
                ..message("assistant", (*text).to_owned())
            }]
        }
        Turn::Results(results) => results
            .iter()
            .map(|(id, text)| Message {
                tool_call_id: Some(id),
                ..message("tool", (*text).to_owned())
            })
            .collect(),
    });
    system.into_iter().chain(turns).collect()
}

const fn message<'a>(role: &'static str, content: String) -> Message<'a> {
    Message {
        role,
        content,
        tool_calls: Vec::new(),
        tool_call_id: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_for_the_limit_goes_by_the_host() {
        for (host, limit) in [
            ("api.openai.com", Limit::MaxCompletionTokens),
            ("x.openai.azure.com", Limit::MaxCompletionTokens),
            ("openai.com", Limit::MaxTokens),
            ("api.openai.com.example", Limit::MaxTokens),
            ("localhost", Limit::MaxTokens),
        ] {
            assert_eq!(Limit::of(host), limit, "{host}");
        }
    }
}
