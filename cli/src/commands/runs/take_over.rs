//! Taking a run over whose driver has the ledger itself: nobody can look anything up in it before
//! that driver is gone, so that it is found by its lease.

use std::fs;
use std::path::Path;

use placet_engine::engine::EngineError;
use placet_ledger::id::RunId;
use placet_ledger::lease;
use placet_ledger::store::sled::OpenError;

use crate::error::CommandError;
use crate::open::Open;
use crate::wiring::Wiring;

/// The fewest digits by which a run is named.
const DIGITS_MIN: usize = 6;

/// Opens the ledger of a run that is to be taken over, and says whether its driver was ended for
/// that. Who has the ledger and does not drive the run is left alone.
pub(super) fn open(wiring: &mut Wiring<'_>, prefix: &str) -> Result<(Open, bool), CommandError> {
    let error = match wiring.open() {
        Ok(open) => return Ok((open, false)),
        Err(error) => error,
    };
    let Some(OpenError::InUse {
        pid: Some(owner), ..
    }) = error.source.downcast_ref()
    else {
        return Err(error);
    };
    let folder = wiring.home.driving();
    let Some(run) = driven_by(*owner, &folder, prefix) else {
        return Err(error);
    };
    let taken = lease::take_over(&folder, run).map_err(|error| EngineError::Lease {
        run,
        source: error.into(),
    })?;
    // The engine claims it anew, once it was looked up.
    drop(taken);
    Ok((wiring.open()?, true))
}

/// The one run of that name that this process drives.
fn driven_by(owner: u32, folder: &Path, prefix: &str) -> Option<RunId> {
    if prefix.len() < DIGITS_MIN {
        return None;
    }
    let names = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let mut runs = names.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let run: RunId = name.starts_with(prefix).then(|| name.parse().ok())??;
        let held = lease::who(folder, run).ok()??;
        let pid = u32::try_from(held.by?.pid()).ok()?;
        (pid == owner).then_some(run)
    });
    let run = runs.next()?;
    runs.next().is_none().then_some(run)
}
