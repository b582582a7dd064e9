//! What can go wrong while a reply is read, before it is told to anybody.

/// Why what came is no reply.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// It ended before its end.
    #[error("the reply ended before its end")]
    Cut,
    /// The connection broke, or nothing came for too long.
    #[error("the connection broke")]
    Transport(#[source] reqwest::Error),
    /// It is not what was expected.
    #[error("{0}")]
    Form(String),
    /// The provider told an error in place of the rest.
    #[error("{kind}: {message}")]
    Told {
        /// Its kind, or a status in place of one; may be empty.
        kind: String,
        /// Its words.
        message: String,
    },
}

impl Fault {
    /// What came is not in the form that was expected.
    pub(super) fn form(what: impl Into<String>) -> Self {
        Self::Form(what.into())
    }
}
