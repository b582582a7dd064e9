//! Answers that come from memory, cut into chunks at will.

use std::io;
use std::sync::OnceLock;

use bytes::Bytes;
use futures_util::{FutureExt, stream};
use http_body_util::StreamBody;
use http_body_util::combinators::BoxBody;
use reqwest::Response;

use super::{BOTH, PATIENT_MS, asks, hosted, user};
use crate::heard::Heard;
use crate::model::hosted::draft::Draft;
use crate::model::hosted::names::Names;
use crate::model::hosted::{Api, Hosted};
use crate::model::{ModelError, Reply};

/// What one answer comes to.
pub(super) struct Came {
    pub(super) result: Result<Reply, ModelError>,
    /// What was heard meanwhile.
    pub(super) heard: String,
}

type Chunk = io::Result<Vec<u8>>;

fn response(kind: Option<&str>, chunks: Vec<Chunk>) -> Response {
    let frames = chunks
        .into_iter()
        .map(|chunk| chunk.map(|bytes| http_body_frame(Bytes::from(bytes))));
    let frames: Vec<_> = frames.collect();
    let body: BoxBody<Bytes, io::Error> = BoxBody::new(StreamBody::new(stream::iter(frames)));
    let mut response = http::Response::builder();
    if let Some(kind) = kind {
        response = response.header("content-type", kind);
    }
    let body = reqwest::Body::wrap(body);
    Response::from(response.body(body).unwrap())
}

fn http_body_frame(bytes: Bytes) -> hyper::body::Frame<Bytes> {
    hyper::body::Frame::data(bytes)
}

/// What chunks of an answer come to.
pub(super) fn read(api: Api, kind: Option<&str>, chunks: Vec<Chunk>) -> Came {
    // Nobody is asked there; a client is too costly to have one for each answer.
    static MODELS: OnceLock<[Hosted; 2]> = OnceLock::new();
    let [anthropic, openai] =
        MODELS.get_or_init(|| BOTH.map(|api| hosted(api, "http://127.0.0.1:9/v1", PATIENT_MS)));
    let model = match api {
        Api::Anthropic => anthropic,
        Api::OpenAi => openai,
    };
    let request = asks(vec![user("go")]);
    let names = Names::of(&request);
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let draft = Draft::new(&Heard::by(sender));
    let answered = model.answered(response(kind, chunks), draft, &names, 400);
    // Nothing of it ever waits.
    let result = answered.now_or_never().unwrap();
    let mut heard = String::new();
    while let Ok(piece) = receiver.try_recv() {
        heard.push_str(&piece);
    }
    Came { result, heard }
}

/// What a stream of events comes to.
pub(super) fn stream(api: Api, chunks: &[&[u8]]) -> Came {
    let chunks = chunks.iter().map(|chunk| Ok(chunk.to_vec())).collect();
    read(api, Some("text/event-stream; charset=utf-8"), chunks)
}
