//! The program that an entry names, found as it would be for a command of a run that works here.

use std::path::PathBuf;

use placet_engine::tool::command::{Found, Search};

use crate::error::{CommandError, Kind};
use crate::io::Io;
use crate::unusable::cannot;
use crate::wiring::machine;

/// Finds a program by the word that names it.
pub(super) fn find(word: &str, io: &Io) -> Result<Found, CommandError> {
    let workspace = io.cwd.canonicalize();
    let workspace = workspace.map_err(cannot("find the current folder"))?;
    let path = machine(io, PathBuf::new()).path_beside(&workspace);
    let search = Search {
        workspace: &workspace,
        path: &path,
    };
    search.find(word).map_err(|error| {
        CommandError::new(Kind::NotFound, error)
            .hint("an entry is for one program, which must be there when it is made")
    })
}
