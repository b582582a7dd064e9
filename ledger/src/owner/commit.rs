//! Making what is staged durable, and what happens when somebody else was first.

use super::Owner;
use super::cell::Cell;
use crate::error::LedgerError;
use crate::event::Event;
use crate::id::{RunId, Version};
use crate::run::RunState;
use crate::store::{AppendError, Batch, Expected, Unless, chain};

/// How often an append of unknown outcome is looked for before it counts as unknown.
const LOOKS_MAX: usize = 3;

/// Whether an append with this event must have seen the newest authority: it grants, starts or
/// spends. So must an amendment, which is never there without the verdict that follows it.
fn is_conditional(event: &Event) -> bool {
    let amends = matches!(event, Event::CallProposed(proposed) if proposed.supersedes.is_some());
    amends
        || matches!(
            event,
            Event::RunStarted(_)
                | Event::ModelCalled(_)
                | Event::RiskAssessed(_)
                | Event::CallRefused(_)
                | Event::ApprovalRequested(_)
                | Event::QuestionAsked(_)
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
        let expected = cell.expected();
        let batch = std::mem::take(&mut cell.staged);
        let judged = cell.judged.take().unwrap_or_default();
        let head = cell.state.as_ref().map(RunState::head);
        // Until this is decided the cell is ahead of the store: whoever comes next must not see
        // it, not even where the future is dropped in between.
        let kept = std::mem::take(cell);
        match self.append(run, expected, batch.clone(), judged).await {
            Ok(()) => {
                *cell = kept;
                cell.staged_by.clear();
                cell.durable = head;
                // Nothing that a person or an execution waits for is held up by it.
                if !batch
                    .records
                    .iter()
                    .any(|record| record.event().is_anchored())
                {
                    self.keep(run, cell);
                }
                Ok(())
            }
            Err(AppendError::Busy) => {
                // Nothing was written: it can be tried again as it is.
                *cell = kept;
                cell.staged = batch;
                cell.judged = Some(judged);
                Err(AppendError::Busy.into())
            }
            Err(error @ (AppendError::Moved { .. } | AppendError::NoRoom { .. })) => {
                // What was observed before the first verdict on the old authority stands.
                self.rescue(run, expected, batch).await;
                Err(error.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The same for a command that is an append of its own, of so many records: where the store
    /// is too busy, whoever sent it hears so, and nothing of it comes with a later append.
    pub(super) async fn commit_own(
        &self,
        run: RunId,
        cell: &mut Cell,
        records: usize,
    ) -> Result<(), LedgerError> {
        let done = self.commit_cell(run, cell).await;
        if let (Err(LedgerError::Busy), true) = (&done, cell.staged.records.len() == records) {
            cell.forget();
        }
        done
    }

    /// Keeps what stands, and reads what moved; the append that failed is reported all the same.
    async fn rescue(&self, run: RunId, expected: Expected, batch: Batch) {
        if let Err(error) = self.keep_observed(run, expected, batch).await {
            tracing::warn!(%run, error = chain(&error), "what was observed could not be kept");
        }
        if let Err(error) = self.refresh_authority().await {
            tracing::warn!(
                error = chain(&error),
                "the authority stream could not be read"
            );
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
            // The same bytes again: appended once, whichever of the two got through. A store that
            // takes no more writes does not tell whether they are there.
            let again = self
                .parts
                .store
                .append(run.stream(), expected, batch.clone(), unless)
                .await;
            match again {
                Err(AppendError::Busy | AppendError::Poisoned(_) | AppendError::NoRoom { .. }) => {
                    break;
                }
                other => outcome = other,
            }
        }
        outcome.map(|_| ())
    }
}
