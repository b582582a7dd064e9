//! What a model says while it speaks: pieces of text on their way to whoever looks on.
//!
//! They are shown and forgotten; what counts is the reply that is recorded when it is whole.

use tokio::sync::mpsc::UnboundedSender;

/// Where pieces of text go; the default is nowhere.
#[derive(Debug, Clone, Default)]
pub struct Heard(Option<UnboundedSender<String>>);

impl Heard {
    /// To whoever holds the other end.
    pub fn by(listener: UnboundedSender<String>) -> Self {
        Self(Some(listener))
    }

    /// Passes a piece on. A listener that has gone away misses it.
    pub fn text(&self, piece: &str) {
        if let Some(listener) = self.0.as_ref().filter(|_| !piece.is_empty()) {
            drop(listener.send(piece.to_owned()));
        }
    }
}
