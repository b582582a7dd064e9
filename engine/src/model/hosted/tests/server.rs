//! A server that does what it is told to one connection, and remembers what it was asked.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What is done to a connection, once the request was read.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Breaks the connection off; without this it is closed in order.
    Reset,
    /// Says nothing until the other side goes.
    Hold,
}

impl Act {
    pub(super) fn send(text: impl Into<Vec<u8>>) -> Self {
        Self::Send(text.into())
    }
}

/// A server of one answer.
pub(super) struct Server {
    /// Its address.
    pub(super) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(super) async fn of(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        drop(tokio::spawn(async move {
            let mut acts = Some(acts);
            while let Ok((mut connection, _)) = listener.accept().await {
                let request = request(&mut connection).await;
                kept.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(request);
                // Whoever comes again is remembered, and answered with nothing.
                answer(connection, acts.take().unwrap_or_default()).await;
            }
        }));
        Self { url, requests }
    }

    /// What it was asked so far.
    pub(super) fn requests(&self) -> Vec<String> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn answer(mut connection: TcpStream, acts: Vec<Act>) {
    for act in acts {
        match act {
            Act::Send(bytes) => {
                // The other side may have gone, having read enough.
                drop(connection.write_all(&bytes).await);
                drop(connection.flush().await);
            }
            Act::Reset => connection.set_zero_linger().unwrap(),
            Act::Hold => {
                let mut rest = Vec::new();
                drop(connection.read_to_end(&mut rest).await);
            }
        }
    }
}

/// The whole request, head and body.
async fn request(connection: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length:")?
                    .trim()
                    .parse()
                    .ok()
            });
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        if connection.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return text;
        }
    }
}

/// An answer with a length.
pub(super) fn http(status: &str, headers: &[(&str, &str)], body: &str) -> String {
    let headers = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    let headers: String = headers.collect();
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

/// The head of a stream that ends with the connection.
pub(super) const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// The head of a stream in chunks, which has an end of its own.
pub(super) const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// One chunk of such a stream.
pub(super) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}
