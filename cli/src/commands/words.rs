//! Text that a verb takes: from the command line, a file or standard input, whole or not at all.

use std::path::Path;

use placet_ledger::limits::CONTENT_BYTES_MAX;

use crate::error::{CommandError, Kind};
use crate::io::up_to;
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
        wiring.printer.io().stdin_up_to(most)?
    } else {
        let path = wiring.printer.io().path(file);
        let cannot = |error| {
            let what = format!("cannot read {what} in {}: {error}", path.display());
            CommandError::new(Kind::NotFound, what)
        };
        up_to(std::fs::File::open(&path).map_err(cannot)?, most)?
    };
    bytes.ok_or_else(|| CommandError::usage(format!("{what} may have at most {most} bytes")))
}
