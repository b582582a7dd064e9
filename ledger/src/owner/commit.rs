//! Making what is staged durable, and what happens when somebody else was first.

use super::Owner;
use super::cell::Cell;
use crate::error::LedgerError;
use crate::event::Event;
use crate::id::{RunId, Version};
use crate::run::RunState;
use crate::store::{AppendError, Batch, Expected, Unless};

/// How often an append of unknown outcome is looked for before it counts as unknown.
const LOOKS_MAX: usize = 3;

/// Whether an append with this event must have seen the newest authority: it grants, starts or
/// spends.
fn is_conditional(event: &Event) -> bool {
    matches!(
        event,
        Event::RunStarted(_)
            | Event::ModelCalled(_)
            | Event::CallRefused(_)
            | Event::ApprovalRequested(_)
            | Event::ApprovalGranted(_)
            | Event::ApprovalDenied(_)
            | Event::ExecutionStarted(_)
            | Event::ExecutionRefused(_)
    )
}

impl Owner {
    /// One append of everything staged.
    pub(super) async fn commit_cell(&self, run: RunId, cell: &mut Cell) -> Result<(), LedgerError> {
        if cell.staged.records.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut cell.staged);
        let judged = cell.judged.take().unwrap_or_default();
        match self
            .append(run, cell.expected(), batch.clone(), judged)
            .await
        {
            Ok(()) => {
                cell.durable = cell.state.as_ref().map(RunState::head);
                Ok(())
            }
            Err(error @ (AppendError::Moved { .. } | AppendError::NoRoom { .. })) => {
                // What was observed before the first verdict on the old authority stands.
                let expected = cell.expected();
                self.keep_observed(run, expected, batch).await?;
                self.refresh_authority().await?;
                cell.forget();
                Err(error.into())
            }
            Err(error) => {
                cell.forget();
                Err(error.into())
            }
        }
    }

    /// Appends the records that come before the first one that must have seen authority.
    async fn keep_observed(
        &self,
        run: RunId,
        expected: Expected,
        batch: Batch,
    ) -> Result<(), LedgerError> {
        let Batch {
            mut records,
            mut contents,
        } = batch;
        let first = records
            .iter()
            .position(|record| is_conditional(record.event()));
        records.truncate(first.unwrap_or(0));
        if records.is_empty() {
            return Ok(());
        }
        contents.retain(|commitment, _| {
            records.iter().any(|r| {
                r.blobs()
                    .values()
                    .any(|blob| blob.commitment == *commitment)
            })
        });
        // None of these rests on authority.
        Ok(self
            .append(run, expected, Batch { records, contents }, Version::ZERO)
            .await?)
    }

    async fn append(
        &self,
        run: RunId,
        expected: Expected,
        batch: Batch,
        judged: Version,
    ) -> Result<(), AppendError> {
        let stream = self.authority().ledger().authority();
        let unless = [Unless {
            stream,
            version: judged,
        }];
        let conditional = batch
            .records
            .iter()
            .any(|record| is_conditional(record.event()));
        let unless = if conditional { &unless[..] } else { &[] };
        let mut outcome = self
            .parts
            .store
            .append(run.stream(), expected, batch.clone(), unless)
            .await;
        for _ in 0..LOOKS_MAX {
            let Err(AppendError::Unknown(_)) = outcome else {
                break;
            };
            // The same bytes again: appended once, whichever of the two got through.
            outcome = self
                .parts
                .store
                .append(run.stream(), expected, batch.clone(), unless)
                .await;
        }
        outcome.map(|_| ())
    }
}
