//! How people name one record: `RUN@VERSION`, or `#POSITION`.

use placet_ledger::envelope::Recorded;
use placet_ledger::error::LedgerError;
use placet_ledger::event::Event;
use placet_ledger::id::{Position, StreamId, Version};
use placet_ledger::projection::{Answer, Query};
use placet_ledger::store::Stored;
use placet_ledger::view::LookupError;

use crate::answers;
use crate::error::{CommandError, Kind};
use crate::reading::{Reading, damaged};

/// The name of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EventRef {
    /// By its place in the log.
    At(Position),
    /// By its place in its stream.
    Of(String, Version),
}

impl EventRef {
    /// Reads a name.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            "expected RUN@VERSION such as b3e41f@9, or #POSITION such as '#12', as placet audit \
             log prints them"
                .to_owned()
        };
        // One record has one name: no sign, no leading zero.
        let plain = |digits: &str| {
            let ascii = digits.bytes().all(|byte| byte.is_ascii_digit());
            ascii && (digits == "0" || !digits.starts_with('0'))
        };
        if let Some(digits) = text.strip_prefix('#').filter(|digits| plain(digits)) {
            let position = digits.parse().map_err(|_| wrong())?;
            return Ok(Self::At(Position::new(position)));
        }
        match text.split_once('@') {
            Some((run, version)) if plain(version) && !run.is_empty() => {
                let version = version.parse().map_err(|_| wrong())?;
                Ok(Self::Of(run.to_owned(), Version::new(version)))
            }
            Some(_) | None => Err(wrong()),
        }
    }

    /// The record that is meant.
    pub(super) async fn find(&self, reading: &Reading) -> Result<Recorded, CommandError> {
        let store = reading.store();
        let failed = |error| CommandError::from(LedgerError::from(error));
        let found = match self {
            Self::At(position) => {
                let page = store.read_all(*position, 1).await.map_err(failed)?;
                let mut page = page.into_iter();
                match page.find(|stored| stored.position == *position) {
                    Some(stored) => stored,
                    None => return Err(beyond_log(reading, *position).await?),
                }
            }
            Self::Of(prefix, version) => {
                let stream = stream(reading, prefix).await?;
                let page = store.read_run(stream, *version, 1).await.map_err(failed)?;
                match page.into_iter().next() {
                    Some(stored) => stored,
                    None => return Err(beyond_stream(reading, stream, *version).await?),
                }
            }
        };
        Stored::parse(found).map_err(failed)
    }
}

/// There is no such position; the last one is named.
async fn beyond_log(reading: &Reading, position: Position) -> Result<CommandError, CommandError> {
    let tail = reading.store().tail().await.map_err(damaged)?;
    let (size, last) = (tail.size, tail.size.saturating_sub(1));
    let what = format!("there is no position {position}: the ledger has {size} records");
    Ok(CommandError::new(Kind::NotFound, what).hint(format!("the last one is '#{last}'")))
}

/// There is no such version; the last one is named.
async fn beyond_stream(
    reading: &Reading,
    stream: StreamId,
    version: Version,
) -> Result<CommandError, CommandError> {
    let records = reading.stream(stream).await?;
    let what = format!("{stream} has no version {version}");
    let error = CommandError::new(Kind::NotFound, what);
    Ok(match records.last().map(|last| last.envelope.version()) {
        Some(last) => error.hint(format!("the last one is {stream}@{last}")),
        None => error.hint("placet audit log lists every record"),
    })
}

/// The stream whose id begins so: a run, or one of the two that belong to the ledger itself.
async fn stream(reading: &Reading, prefix: &str) -> Result<StreamId, CommandError> {
    let query = Query::Find {
        prefix: prefix.to_owned(),
    };
    let Answer::Find(found) = reading.query(query).await? else {
        return Err(answers::unexpected());
    };
    let missing = match found {
        Ok(run) => return Ok(run.stream()),
        Err(missing @ LookupError::NotFound { .. }) => missing,
        Err(error) => return Err(error.into()),
    };
    let digits: String = prefix.chars().filter(|&c| c != '-').collect();
    let begins = |stream: &StreamId| stream.uuid().as_simple().to_string().starts_with(&digits);
    let own = own_streams(reading).await?;
    own.into_iter().find(begins).ok_or_else(|| missing.into())
}

/// The authority stream and the journal.
async fn own_streams(reading: &Reading) -> Result<Vec<StreamId>, CommandError> {
    let mut own = Vec::new();
    reading
        .each(|recorded| {
            own.push(recorded.envelope.header().ledger.authority());
            if let Event::LedgerCreated(created) = recorded.envelope.event() {
                own.push(created.journal);
            }
            false
        })
        .await?;
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_two_names() {
        let of = |run: &str, version| EventRef::Of(run.to_owned(), Version::new(version));
        assert_eq!(EventRef::parse("#12"), Ok(EventRef::At(Position::new(12))));
        assert_eq!(EventRef::parse("b3e41f@0"), Ok(of("b3e41f", 0)));
        for wrong in [
            "",
            "#",
            "12",
            "#x",
            "#-1",
            "#01",
            "b3e41f@",
            "@1",
            "b3e41f@-1",
            "a@01",
        ] {
            assert!(EventRef::parse(wrong).is_err(), "{wrong}");
        }
        let huge = "#99999999999999999999999";
        assert!(EventRef::parse(huge).is_err());
    }
}
