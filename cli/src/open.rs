//! An open ledger with the engine over it, and what is told of runs while they are driven.

use placet_engine::engine::Engine;
use placet_ledger::envelope::Recorded;
use placet_ledger::error::LedgerError;
use placet_ledger::id::{RunId, Version};
use placet_ledger::ledger::Ledger;
use placet_ledger::store::ReadStore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::error::CommandError;

/// What happens while a run is driven, as it comes.
pub(crate) struct Told {
    pub(crate) sender: UnboundedSender<Recorded>,
    pub(crate) recorded: UnboundedReceiver<Recorded>,
    pub(crate) heard: UnboundedReceiver<String>,
}

/// An open ledger; where this process holds it, until it is dropped.
pub(crate) struct Open {
    /// The ledger.
    pub(crate) ledger: Ledger,
    /// The engine over it.
    pub(crate) engine: Engine,
    /// What happens, where somebody asked to be told.
    pub(crate) told: Option<Told>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.ledger.close();
    }
}

impl Open {
    /// Has it told what becomes durable of a run from now on, if somebody asked to be told.
    pub(crate) async fn tell_of(&self, run: RunId) -> Result<(), CommandError> {
        let Some(told) = self.told.as_ref().filter(|_| !self.ledger.tells_of(run)) else {
            return Ok(());
        };
        let stream = run.stream();
        let first = self.ledger.read_run(stream, Version::ZERO, 1).await;
        let head = if first.map_err(LedgerError::from)?.is_empty() {
            None
        } else {
            Some(
                self.ledger
                    .look(run, |state, _| state.head().version)
                    .await?,
            )
        };
        let from = head.map_or(Some(Version::ZERO), Version::next);
        let sender = told.sender.clone();
        if let Some(from) = from {
            // Nobody may be listening any more; the record stands all the same.
            let tell = move |recorded| drop(sender.send(recorded));
            self.ledger.tell_of(run, from, tell);
        }
        Ok(())
    }
}
