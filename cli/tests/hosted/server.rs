//! A server in the form of `OpenAI`, on a port of this machine: it gives the replies that it was
//! made with, one a request, and keeps what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};

/// The server.
pub(super) struct Server {
    port: u16,
    asked: Receiver<Asked>,
}

/// What it was asked.
pub(super) struct Asked {
    /// The line of the request and its headers, each on a line.
    pub(super) head: String,
    /// The body.
    pub(super) body: Value,
}

/// What it replies.
pub(super) enum Says {
    /// This text.
    Text(&'static str),
    /// A call of this tool with these arguments.
    Call(&'static str, Value),
    /// These very bytes.
    Raw(Vec<u8>),
    /// These bytes, and then nothing for as long as the other side waits.
    Silent(Vec<u8>),
}

impl Server {
    /// A server with these replies; each has used 31 tokens in and 58 out.
    pub(super) fn with(replies: Vec<Says>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, asked) = channel();
        thread::spawn(move || {
            for reply in replies {
                let Ok((stream, _)) = listener.accept() else {
                    return;
                };
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                // Before it is answered: whoever was answered may look at once.
                if sender.send(read(&mut reader)).is_err() {
                    return;
                }
                answer(stream, reader, &reply);
            }
        });
        Self { port, asked }
    }

    /// Its address, as a config names it.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// What it was asked so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.try_iter().collect()
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Asked {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Asked {
        head,
        body: serde_json::from_slice(&body).unwrap(),
    }
}

fn answer(mut stream: TcpStream, mut reader: BufReader<TcpStream>, reply: &Says) {
    match reply {
        Says::Text(_) | Says::Call(..) => {}
        Says::Raw(bytes) => {
            stream.write_all(bytes).unwrap();
            return;
        }
        Says::Silent(bytes) => {
            stream.write_all(bytes).unwrap();
            // The other side closes once it has waited long enough.
            drop(reader.read_to_end(&mut Vec::new()));
            return;
        }
    }
    let mut out = String::from(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
    );
    for chunk in chunks(reply) {
        out.extend(["data: ", chunk.to_string().as_str(), "\n\n"]);
    }
    out += "data: [DONE]\n\n";
    stream.write_all(out.as_bytes()).unwrap();
}

fn chunks(reply: &Says) -> [Value; 3] {
    let chunk = |delta: Value, stop: Value| {
        json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": stop }],
        })
    };
    let (delta, stop) = match reply {
        Says::Raw(_) | Says::Silent(_) => (Value::Null, "stop"),
        Says::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
        Says::Call(tool, arguments) => {
            let function = json!({ "name": tool, "arguments": arguments.to_string() });
            let call =
                json!({ "index": 0, "id": "call_1", "type": "function", "function": function });
            (
                json!({ "role": "assistant", "tool_calls": [call] }),
                "tool_calls",
            )
        }
    };
    let usage = json!({ "prompt_tokens": 31, "completion_tokens": 58, "total_tokens": 89 });
    [
        chunk(delta, Value::Null),
        chunk(json!({}), json!(stop)),
        json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [], "usage": usage,
        }),
    ]
}
