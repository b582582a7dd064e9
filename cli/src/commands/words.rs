//! Text that a verb takes: from the command line, a file or standard input, whole or not at all.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::path::Path;

use placet_ledger::limits::CONTENT_BYTES_MAX;
use placet_ledger::regular;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::error::{CommandError, Kind};
use crate::io::up_to;
use crate::unusable::cannot;
use crate::wiring::Wiring;

/// What stands for standard input.
const DASH: &str = "-";

/// The most bytes that a content can hold.
pub(crate) fn content_bytes_max() -> u64 {
    u64::try_from(CONTENT_BYTES_MAX).unwrap_or(u64::MAX)
}

/// A text as it was given, or from standard input where it is a dash; `what` names it.
pub(crate) fn text(
    given: String,
    what: &str,
    wiring: &mut Wiring<'_>,
) -> Result<String, CommandError> {
    let text = if given == DASH {
        let bytes = bytes(Path::new(DASH), what, content_bytes_max(), wiring)?;
        String::from_utf8(bytes)
            .map_err(|_| CommandError::usage(format!("{what} on standard input is not UTF-8")))?
    } else {
        given
    };
    if text.trim().is_empty() {
        return Err(CommandError::usage(format!("{what} is empty")));
    }
    Ok(text)
}

/// All bytes of a file, or of standard input where its name is a dash; `what` names them.
pub(crate) fn bytes(
    file: &Path,
    what: &str,
    most: u64,
    wiring: &mut Wiring<'_>,
) -> Result<Vec<u8>, CommandError> {
    let bytes = if file.as_os_str() == DASH {
        let read = wiring.printer.io().stdin_up_to(most);
        read.map_err(cannot("read standard input"))?
    } else {
        let path = wiring.printer.io().path(file);
        let cannot = |error: io::Error| {
            let (kind, shown) = (unreadable(&error), path.display());
            let error = CommandError::new(kind, format!("cannot read {what} in {shown}: {error}"));
            match kind {
                Kind::Usage => error.hint("name a regular file, or - for standard input"),
                _ => error,
            }
        };
        let file = regular::open_named(&path).map_err(cannot)?;
        up_to(file, most).map_err(cannot)?
    };
    bytes.ok_or_else(|| CommandError::usage(format!("{what} may have at most {most} bytes")))
}

/// What kind of error it is that a file cannot be read which a person named.
pub(crate) fn unreadable(error: &io::Error) -> Kind {
    match error.kind() {
        io::ErrorKind::NotFound => Kind::NotFound,
        // It is no file, or one without end.
        io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge => Kind::Usage,
        _ => Kind::Failed,
    }
}

/// Refuses JSON that is anything but an object; what is no JSON at all is left to whoever reads it.
pub(crate) fn is_object(json: &[u8], what: &str) -> Result<(), CommandError> {
    match serde_json::from_slice::<Object<IgnoredAny>>(json) {
        Err(error) if error.is_data() => {
            let what =
                format!("{what} do not have the form {{\"path\":\"notes.txt\",..}}: {error}");
            Err(CommandError::usage(what))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// What a person wrote as an object, field by field: serde reads a list as one as well, in which
/// nobody sees what stands for what.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData))
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = Object<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}
