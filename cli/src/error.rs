//! One error for every verb: what kind it is, what happened, and what can be done.

use std::error::Error;
use std::fmt;
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use placet_engine::engine::{Elsewhere, EngineError};
use placet_engine::leases::{Driver, LeaseError};
use placet_engine::nearest::nearest;
use placet_engine::tool::registry::ScopeError;
use placet_ledger::answers::CoverageError;
use placet_ledger::error::LedgerError;
use placet_ledger::run::Rejection;
use placet_ledger::store::ReadError;
use placet_ledger::view::LookupError;

use crate::exit::ExitStatus;

/// What kind of error it is; decides the exit code and the `code` of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It failed.
    Failed,
    /// It is not allowed now.
    Refused,
    /// There is no such thing.
    NotFound,
    /// Somebody else was first, or holds it.
    Conflict,
    /// What is recorded does not verify.
    Integrity,
    /// The command line, the config or an input is wrong.
    Usage,
}

impl Kind {
    /// The word in JSON.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Integrity => "integrity",
            Self::Usage => "usage",
        }
    }

    /// The exit code.
    pub const fn exit(self) -> ExitStatus {
        match self {
            Self::Failed => ExitStatus::Failed,
            Self::Refused => ExitStatus::Refused,
            Self::NotFound => ExitStatus::NotFound,
            Self::Conflict => ExitStatus::Conflict,
            Self::Integrity => ExitStatus::Integrity,
            Self::Usage => ExitStatus::Usage,
        }
    }
}

/// As much of a name that is not known as an error repeats.
pub(crate) const NAME_CHARS_MAX: usize = 160;

/// Where every run is listed, also those that are done.
const EVERY_RUN: &str = "placet runs list --all names every run";

/// Where what is lost may still be.
pub(crate) const BACKUP: &str = "what is lost is in a backup, if there is one: placet restore DIR";

/// Why a verb did not do what it was asked.
#[derive(Debug)]
pub struct CommandError {
    /// What kind of error it is.
    pub kind: Kind,
    /// What happened.
    pub source: Box<dyn Error + Send + Sync>,
    /// What can be done.
    pub hints: Vec<String>,
}

impl CommandError {
    /// An error of a kind.
    pub fn new(kind: Kind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind,
            source: source.into(),
            hints: Vec::new(),
        }
    }

    /// A wrong command line or input.
    pub fn usage(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Kind::Usage, source)
    }

    /// Adds what can be done.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// A name that is not known: what kind of thing it names, and the names that are known.
    pub(crate) fn unknown<'a>(
        kind: Kind,
        what: &str,
        name: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        let shown: String = name.chars().take(NAME_CHARS_MAX).collect();
        Self::new(kind, format!("there is no {what} {shown:?}")).meant(nearest(name, known))
    }

    /// A config file that cannot be read as one, with its line and the word that was meant.
    pub(crate) fn in_config(path: &Path, text: &str, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| span.start);
        let message = error.message().replace('\n', " ");
        Self::at(path, text, start, &message).meant(meant_in_config(&message))
    }

    /// A config file that is wrong at a byte of its text.
    pub(crate) fn at(path: &Path, text: &str, start: usize, message: &str) -> Self {
        let breaks = text.bytes().take(start).filter(|byte| *byte == b'\n');
        let line = breaks.count().saturating_add(1);
        Self::usage(format!("{}:{line}: {message}", path.display()))
    }

    /// Adds what was probably meant, if something is like it.
    #[must_use]
    pub(crate) fn meant(self, near: Option<impl fmt::Display>) -> Self {
        match near {
            Some(near) => self.hint(format!("did you mean {near}?")),
            None => self,
        }
    }

    /// What happened with its causes, on one line.
    pub fn message(&self) -> String {
        let mut text = self.source.to_string();
        let mut cause = self.source.source();
        while let Some(error) = cause {
            let next = error.to_string();
            if !text.ends_with(&next) {
                text = format!("{text}: {next}");
            }
            cause = error.source();
        }
        text
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl From<LedgerError> for CommandError {
    fn from(error: LedgerError) -> Self {
        let (kind, hint) = match &error {
            LedgerError::Rejected(rejection) => rejected(rejection),
            LedgerError::NoRun(_) => (Kind::NotFound, Some(EVERY_RUN)),
            LedgerError::Cursor(_) => return Self::usage(error),
            LedgerError::Conflict => (Kind::Conflict, Some("look at the run and try again")),
            LedgerError::NoRoom(_) => (
                Kind::Failed,
                Some("make room on disk, then placet runs resume RUN"),
            ),
            LedgerError::Driven { .. } => (
                Kind::Conflict,
                Some("wait until it has put the run down, or placet runs resume RUN --take-over"),
            ),
            LedgerError::InsideRun => (
                Kind::Refused,
                Some("a person answers from a terminal outside of every run"),
            ),
            LedgerError::Unreachable(_) | LedgerError::Busy => (Kind::Conflict, Some("try again")),
            LedgerError::Unknown(_) => (Kind::Failed, Some("placet runs show tells what was kept")),
            LedgerError::Closed(_) => (Kind::Failed, Some("placet audit verify tells why")),
            LedgerError::Integrity(_)
            | LedgerError::Quarantined { .. }
            | LedgerError::Authority(_)
            | LedgerError::Unproven(_)
            | LedgerError::Read(ReadError::Damaged { .. } | ReadError::NoContent(_)) => {
                (Kind::Integrity, Some("placet audit verify tells more"))
            }
            LedgerError::Read(ReadError::Io(_))
            | LedgerError::Write(_)
            | LedgerError::Encode(_)
            | LedgerError::Failed(_)
            | LedgerError::Invalid(_) => (Kind::Failed, None),
        };
        let lost = matches!(error, LedgerError::Read(ReadError::Damaged { .. }));
        let mut new = Self::new(kind, error);
        new.hints.extend(hint.map(str::to_owned));
        if lost { new.hint(BACKUP) } else { new }
    }
}

fn rejected(rejection: &Rejection) -> (Kind, Option<&'static str>) {
    match rejection {
        Rejection::AlreadyAnswered(_) => (
            Kind::Conflict,
            Some("placet runs show RUN tells who answered"),
        ),
        Rejection::Superseded { .. } => (
            Kind::Conflict,
            Some("placet runs show RUN shows what stands in its place"),
        ),
        Rejection::Unmet { .. } => (
            Kind::Refused,
            Some("placet runs reject RUN CALL --note WHY turns it down"),
        ),
        Rejection::CallsOpen(_) => (
            Kind::Refused,
            Some("answer them first: placet runs show RUN"),
        ),
        Rejection::Coverage(CoverageError::Changed { .. }) => (
            Kind::Refused,
            Some("placet runs show RUN displays what is asked now"),
        ),
        Rejection::Coverage(_) => (
            Kind::Refused,
            Some("name every pending call once: placet runs show RUN lists them"),
        ),
        Rejection::NothingPending => (Kind::Refused, Some("placet runs show RUN")),
        Rejection::Widened(_) | Rejection::ToolWidened(_) => {
            (Kind::Refused, Some("start a new run to give it more"))
        }
        Rejection::Started | Rejection::NotDriven => (Kind::Conflict, None),
        Rejection::NotStarted => (Kind::NotFound, Some(EVERY_RUN)),
        Rejection::Finished(_)
        | Rejection::OutOfTurn(_)
        | Rejection::NotAPerson
        | Rejection::Expired(_)
        | Rejection::NotExpired
        | Rejection::Exhausted(_) => (Kind::Refused, None),
        Rejection::AlreadyGranted(_) => (
            Kind::Conflict,
            Some("placet grants list shows what is granted"),
        ),
        Rejection::UnknownGrant(_) => (
            Kind::NotFound,
            Some("placet grants list shows what is granted"),
        ),
        Rejection::UnknownCall(_) => (Kind::Refused, Some("placet runs show RUN lists its calls")),
        Rejection::Text(_) => (Kind::Failed, None),
    }
}

/// What is said to somebody who wants to drive a run that is driven elsewhere.
fn elsewhere(why: &Elsewhere) -> (Kind, &'static str) {
    match why {
        Elsewhere::Driven(Driver::Here) => (Kind::Conflict, "wait until it is put down"),
        Elsewhere::Driven(Driver::Process(_) | Driver::Unnamed) => (
            Kind::Conflict,
            "placet runs resume RUN --take-over ends that process and goes on here",
        ),
        Elsewhere::User(_) => (
            Kind::Refused,
            "that user's placet runs resume RUN drives it on",
        ),
        Elsewhere::Host => (
            Kind::Refused,
            "placet runs resume RUN on that host drives it on",
        ),
    }
}

/// What can be done where nobody may drive a run for the time being.
fn unleased(error: &LeaseError) -> (Kind, &'static str) {
    match error {
        LeaseError::CannotEnd { .. } => (
            Kind::Conflict,
            "nothing was changed: end that process where it runs, then placet runs resume RUN",
        ),
        LeaseError::Left(_) => (
            Kind::Conflict,
            "nothing of the run goes on before that is ended: the file tells which process it is",
        ),
        LeaseError::Held(_) => (Kind::Conflict, "try again"),
        LeaseError::Files(_) => (
            Kind::Failed,
            "the folder driving of the home must be yours to write",
        ),
    }
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Ledger(error) => error.into(),
            EngineError::Scope(error) => error.into(),
            EngineError::Outfit(error) => Self::new(Kind::Refused, error),
            EngineError::NoSuchTool { ref nearest, .. } => {
                let near = nearest.clone();
                Self::new(Kind::Refused, error)
                    .meant(near)
                    .hint("tools can be taken away, not added")
            }
            EngineError::UnknownTool { ref nearest, .. } => {
                let near = nearest.clone();
                Self::new(Kind::NotFound, error)
                    .meant(near)
                    .hint("placet tools list names every tool")
            }
            error @ EngineError::Arguments(_) => Self::usage(error),
            error @ EngineError::NoProposal(_) => Self::new(Kind::Refused, error)
                .hint("nothing was changed: placet runs show RUN shows the arguments as they are"),
            error @ EngineError::ToolChanged(_) => {
                Self::new(Kind::Refused, error).hint("cancel the run and start a new one")
            }
            error @ EngineError::WorkspaceReplaced { .. } => Self::new(Kind::Refused, error)
                .hint("put the folder back, or cancel the run and start a new one"),
            error @ EngineError::UnknownPrice(_) => Self::usage(error)
                .hint("state its price in the config, in [prices.\"PROVIDER:ID\"]"),
            error @ EngineError::Content(_) => Self::new(Kind::Integrity, error),
            EngineError::Elsewhere { ref why, .. } => {
                let (kind, hint) = elsewhere(why);
                Self::new(kind, error).hint(hint)
            }
            EngineError::Lease { ref source, .. } => {
                let (kind, hint) = unleased(source);
                Self::new(kind, error).hint(hint)
            }
            error @ EngineError::Runner(_) => Self::new(Kind::Conflict, error)
                .hint("placet runs show RUN tells who drives it and how far it has come"),
        }
    }
}

impl From<ScopeError> for CommandError {
    fn from(error: ScopeError) -> Self {
        let ScopeError::Unknown { nearest, .. } = &error;
        let near = nearest.clone();
        Self::usage(error)
            .meant(near)
            .hint("placet tools list names every tool")
    }
}

impl From<LookupError> for CommandError {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::Malformed(_) => Self::usage(error).hint(EVERY_RUN),
            LookupError::NotFound { nearest, .. } => Self::new(Kind::NotFound, error)
                .meant(nearest)
                .hint(EVERY_RUN),
            LookupError::Ambiguous { .. } => Self::usage(error).hint("give more digits"),
        }
    }
}

impl From<clap::Error> for CommandError {
    fn from(error: clap::Error) -> Self {
        let text = error.render().to_string();
        // What stands below the first empty line says what can be done, in other words than ours.
        let mut parts = text.trim_start_matches("error: ").split("\n\n");
        let what = parts.next().unwrap_or_default().trim_end().to_owned();
        let mut new = Self::usage(what).meant(meant_in_words(&error));
        for part in parts {
            let line = part.trim();
            if let Some(usage) = line.strip_prefix("Usage: ") {
                new = new.hint(format!("usage: {usage}"));
            } else if line.starts_with("For more information") {
                new = new.hint("--help tells more");
            }
        }
        new
    }
}

/// The known word that was probably meant on the command line.
fn meant_in_words(error: &clap::Error) -> Option<String> {
    let given = error.get(ContextKind::InvalidValue);
    let known = error.get(ContextKind::ValidValue);
    if let (Some(ContextValue::String(given)), Some(ContextValue::Strings(known))) = (given, known)
    {
        return nearest(given, known.iter().map(String::as_str)).map(str::to_owned);
    }
    let suggested = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg];
    suggested
        .into_iter()
        .find_map(|kind| match error.get(kind) {
            Some(ContextValue::String(word)) => Some(word.clone()),
            Some(ContextValue::Strings(words)) => words.first().cloned(),
            Some(_) | None => None,
        })
}

/// The known key or word that was probably meant in a config: the message has the unknown one and
/// then the known ones in backticks.
fn meant_in_config(message: &str) -> Option<&str> {
    let mut words = message
        .strip_prefix("unknown ")?
        .split('`')
        .skip(1)
        .step_by(2);
    let given = words.next()?;
    nearest(given, words)
}

#[cfg(test)]
mod tests {
    use placet_ledger::id::RunId;

    use super::*;

    #[test]
    fn a_prefix_of_several_runs_names_them_all() {
        let run = |text: &str| RunId::new(text.parse().unwrap());
        let candidates = vec![
            run("b3e41f00-0000-4000-8000-000000000001"),
            run("b3e41f70-0000-4000-8000-000000000002"),
        ];
        let prefix = "b3e41f".to_owned();
        let error = CommandError::from(LookupError::Ambiguous { prefix, candidates });
        assert_eq!(
            error.message(),
            "b3e41f is the beginning of 2 runs: b3e41f00-0000-4000-8000-000000000001, \
             b3e41f70-0000-4000-8000-000000000002"
        );
        assert_eq!(error.kind, Kind::Usage);
        assert_eq!(error.hints, ["give more digits"]);
    }

    #[test]
    fn what_was_meant_in_a_config_is_one_of_the_known_words() {
        for (message, meant) in [
            ("unknown field `agent`, expected `agents`", Some("agents")),
            ("unknown field `a`, expected one of `model`, `system`", None),
            ("unknown field `modle`, there are no fields", None),
            (
                "unknown policy `lowrisk`, expected one of `false`, `low-risk`",
                Some("low-risk"),
            ),
            ("invalid type: integer `3`, expected a string", None),
            ("unknown ", None),
            ("", None),
        ] {
            assert_eq!(meant_in_config(message), meant, "{message}");
        }
    }
}
