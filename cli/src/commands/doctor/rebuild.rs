//! `placet doctor --rebuild`: projections thrown away and built anew.

use placet_ledger::projection::{Answer, Query};

use crate::answers;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::reading::Reading;
use crate::wire::doctor::RebuiltOut;
use crate::wiring::Wiring;

/// Builds projections anew and says whether they differed.
pub(crate) fn rebuild(wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let reading = Reading::to_write(wiring)?;
    let Answer::Rebuilt(rebuilt) = wiring.block_on(reading.query(Query::Rebuild {}))? else {
        return Err(answers::unexpected());
    };
    if wiring.printer.json() {
        wiring.printer.value(&RebuiltOut {
            differed: rebuilt.differed,
            rows: rebuilt.rows,
            records: rebuilt.records,
        })?;
    } else {
        let how = if rebuilt.differed {
            "they differed from what was there"
        } else {
            "they are what they were"
        };
        let (rows, records) = (rebuilt.rows, rebuilt.records);
        let text = format!("{rows} rows of projections built from {records} records: {how}\n");
        wiring.printer.data(&text)?;
    }
    Ok(ExitStatus::Done)
}
