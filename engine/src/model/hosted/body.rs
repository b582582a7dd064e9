//! The body of an answer: events of a stream, or one JSON text; never more than a reply may have.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use sse_stream::{Sse, SseStream};

use super::fault::Fault;

/// Bytes of one answer. A stream has some hundred bytes around each word: this is more than the
/// longest reply of any model.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of one line of a stream, and of an answer in one piece: what is in them is in memory
/// several times. Some servers send a whole call in one line.
const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What a body turns out to be.
pub(super) enum Body {
    /// A stream of events.
    Events(Events),
    /// One JSON text, whole.
    Json(Vec<u8>),
}

impl Body {
    /// Looks at what kind of body it is; a JSON text is read to its end.
    pub(super) async fn of(response: Response) -> Result<Self, Fault> {
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).to_lowercase());
        let mut pieces = Pieces::new(response);
        match kind.as_deref().map(essence) {
            Some("text/event-stream") => Ok(Self::Events(Events::of(pieces))),
            Some("application/json") => Ok(Self::Json(pieces.whole().await?)),
            // Some servers do not say.
            None => {
                if pieces.first().await? == Some(b'{') {
                    Ok(Self::Json(pieces.whole().await?))
                } else {
                    Ok(Self::Events(Events::of(pieces)))
                }
            }
            Some(other) => Err(Fault::form(format!(
                "expected text/event-stream or application/json, found {other:?}"
            ))),
        }
    }
}

/// A content type without its parameters.
fn essence(kind: &str) -> &str {
    kind.split(';').next().unwrap_or_default().trim()
}

/// Pieces of a body, none of which reaches over the end of a line.
struct Pieces {
    response: Response,
    rest: Bytes,
    total: usize,
    line: usize,
}

impl Pieces {
    const fn new(response: Response) -> Self {
        Self {
            response,
            rest: Bytes::new(),
            total: 0,
            line: 0,
        }
    }

    /// Waits until there is something; false at the end.
    async fn fill(&mut self) -> Result<bool, Fault> {
        while self.rest.is_empty() {
            let chunk = self.response.chunk().await.map_err(Fault::Transport)?;
            let Some(chunk) = chunk else {
                return Ok(false);
            };
            self.total = self.total.saturating_add(chunk.len());
            if self.total > BODY_BYTES_MAX {
                let what = format!("the answer has more than {BODY_BYTES_MAX} bytes");
                return Err(Fault::Form(what));
            }
            self.rest = chunk;
        }
        Ok(true)
    }

    /// The first byte that is not blank.
    async fn first(&mut self) -> Result<Option<u8>, Fault> {
        while self.fill().await? {
            let blank = self
                .rest
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace());
            let blank = blank.count();
            drop(self.rest.split_to(blank));
            if let Some(byte) = self.rest.first() {
                return Ok(Some(*byte));
            }
        }
        Ok(None)
    }

    async fn whole(mut self) -> Result<Vec<u8>, Fault> {
        let mut whole = Vec::new();
        while self.fill().await? {
            if whole.len().saturating_add(self.rest.len()) > LINE_BYTES_MAX {
                let what = format!("the answer in JSON has more than {LINE_BYTES_MAX} bytes");
                return Err(Fault::Form(what));
            }
            whole.extend_from_slice(&self.rest);
            self.rest.clear();
        }
        Ok(whole)
    }

    /// The next piece: the rest of a line, or what has come of it.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, Fault> {
        if !self.fill().await? {
            return Ok(None);
        }
        let end = self
            .rest
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'));
        let length = end.map_or(self.rest.len(), |end| end.saturating_add(1));
        self.line = self.line.saturating_add(length);
        if self.line > LINE_BYTES_MAX {
            let what = format!("a line of the stream has more than {LINE_BYTES_MAX} bytes");
            return Err(Fault::Form(what));
        }
        if end.is_some() {
            self.line = 0;
        }
        let piece = self.rest.split_to(length);
        Ok(Some((piece, self)))
    }
}

type Parsed = Pin<Box<dyn Stream<Item = Result<Sse, sse_stream::Error>> + Send>>;

/// The events of a stream.
pub(super) struct Events(Parsed);

impl Events {
    fn of(pieces: Pieces) -> Self {
        // A line at a time, so that what an event is does not depend on how the bytes came.
        let pieces = stream::try_unfold(pieces, Pieces::next);
        Self(Box::pin(SseStream::from_bytes_stream(Box::pin(pieces))))
    }

    /// The next event that has data; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<Sse>, Fault> {
        while let Some(event) = self.0.next().await {
            let event = event.map_err(broken)?;
            if event.data.is_some() {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }
}

fn broken(error: sse_stream::Error) -> Fault {
    use sse_stream::Error;
    match error {
        Error::Body(error) => match error.downcast::<Fault>() {
            Ok(fault) => *fault,
            Err(error) => Fault::Form(error.to_string()),
        },
        Error::Utf8Parse(_) => Fault::form("a line of the stream is not UTF-8"),
        Error::InvalidLine
        | Error::DuplicatedEventLine
        | Error::DuplicatedIdLine
        | Error::DuplicatedRetry
        | Error::IntParse(_) => Fault::form("a line of the stream is none of an event"),
    }
}
