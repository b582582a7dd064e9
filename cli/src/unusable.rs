//! What is said where the system refuses: what was tried, which file it was, why, and what can be
//! done about it. No error of the system is told without that.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::error::{CommandError, Kind};

/// For `map_err`: what was tried with something that is no file of ours.
pub(crate) fn cannot(what: &str) -> impl FnOnce(io::Error) -> CommandError {
    let what = format!("cannot {what}");
    move |error| CommandError::new(Kind::Failed, format!("{what}: {error}"))
}

/// For `map_err`: what was tried with a file or folder of the home, or beside it.
pub(crate) fn cannot_use(doing: &str, path: &Path) -> impl FnOnce(io::Error) -> CommandError {
    let what = format!("{doing} {}", path.display());
    move |error| {
        let hint = hint(&error);
        cannot(&what)(error).hint(hint)
    }
}

/// What can be done about a file that the system does not let be used.
pub(crate) fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room on disk, then try again",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "it must be yours to read and to write: placet doctor tells what is not"
        }
        ErrorKind::IsADirectory
        | ErrorKind::NotADirectory
        | ErrorKind::DirectoryNotEmpty
        | ErrorKind::AlreadyExists
        | ErrorKind::InvalidData => "move away what lies there: placet doctor tells what it is",
        _ => "placet doctor looks at the home and at what lies beside it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_file_and_what_to_do() {
        for (kind, hint) in [
            (ErrorKind::StorageFull, "make room"),
            (ErrorKind::PermissionDenied, "yours"),
            (ErrorKind::ReadOnlyFilesystem, "yours"),
            (ErrorKind::IsADirectory, "move away"),
            (ErrorKind::InvalidData, "move away"),
            (ErrorKind::Other, "placet doctor"),
        ] {
            let error = cannot_use("write", Path::new("/home/x"))(kind.into());
            let message = error.message();
            assert!(message.starts_with("cannot write /home/x: "), "{message}");
            assert!(error.hints[0].contains(hint), "{kind}: {:?}", error.hints);
        }
    }
}
