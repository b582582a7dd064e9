//! Telling what becomes durable of a run, to whoever looks on while it is driven.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::Ledger;
use crate::envelope::Recorded;
use crate::error::LedgerError;
use crate::id::{RunId, Version};
use crate::limits::PAGE_RECORDS_MAX;
use crate::store::ReadStore;

/// Whoever looks on.
type Teller = Arc<dyn Fn(Recorded) + Send + Sync>;

/// Who is told of which runs, each with the next version that was not told.
#[derive(Default)]
pub(super) struct Telling(Mutex<BTreeMap<RunId, (Version, Teller)>>);

impl Ledger {
    /// Tells of every record of a run from a version on, once it is durable, as long as this
    /// process does something with the run.
    pub fn tell_of(
        &self,
        run: RunId,
        from: Version,
        teller: impl Fn(Recorded) + Send + Sync + 'static,
    ) {
        let mut told = self
            .0
            .telling
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        told.insert(run, (from, Arc::new(teller)));
    }

    /// Whether somebody is told of a run.
    pub fn tells_of(&self, run: RunId) -> bool {
        let told = self
            .0
            .telling
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        told.contains_key(&run)
    }

    /// Tells what came; nobody is told twice.
    pub(super) async fn tell(&self, run: RunId) -> Result<(), LedgerError> {
        loop {
            let (from, teller) = {
                let told = self
                    .0
                    .telling
                    .0
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                match told.get(&run) {
                    Some((from, teller)) => (*from, Arc::clone(teller)),
                    None => return Ok(()),
                }
            };
            let page = self.read_run(run.stream(), from, PAGE_RECORDS_MAX).await?;
            let full = page.len() == PAGE_RECORDS_MAX;
            for stored in page {
                let recorded = stored.parse()?;
                let Some(next) = recorded.envelope.version().next() else {
                    return Ok(());
                };
                {
                    let mut told = self
                        .0
                        .telling
                        .0
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner);
                    match told.get_mut(&run) {
                        Some((from, _)) if *from < next => *from = next,
                        // Somebody else told it meanwhile.
                        _ => continue,
                    }
                }
                teller(recorded);
            }
            if !full {
                return Ok(());
            }
        }
    }
}
