//! Reading a ledger's records, whoever holds its store.

use async_trait::async_trait;

use super::door::Way;
use super::{DOORS_MAX, Ledger};
use crate::content::{Commitment, Contents};
use crate::error::LedgerError;
use crate::id::{Position, StreamId, Version};
use crate::projection::{Answer, Query};
use crate::remote::handed::read_error;
use crate::store::{ReadError, ReadStore, Stored, Tail};

impl Ledger {
    /// Answers from projections of all that is durable.
    pub async fn query(&self, query: Query) -> Result<Answer, LedgerError> {
        through!(self, None, |door, _again| match door {
            Way::Owner(held) => held.owner.query(&query).await,
            Way::Remote(client) => client.query(&query).await,
        })
    }
}

#[async_trait]
impl ReadStore for Ledger {
    async fn read_run(
        &self,
        stream: StreamId,
        from: Version,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        let read = through!(self, None, |door, _again| match door {
            Way::Owner(held) => {
                let read = held.owner.store().read_run(stream, from, limit).await;
                read.map_err(LedgerError::from)
            }
            Way::Remote(client) => client.read_run(stream, from, limit).await,
        });
        read.map_err(read_error)
    }

    async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
        let read = through!(self, None, |door, _again| match door {
            Way::Owner(held) => {
                let read = held.owner.store().read_all(from, limit).await;
                read.map_err(LedgerError::from)
            }
            Way::Remote(client) => client.read_all(from, limit).await,
        });
        read.map_err(read_error)
    }

    async fn tail(&self) -> Result<Tail, ReadError> {
        let read = through!(self, None, |door, _again| match door {
            Way::Owner(held) => held.owner.store().tail().await.map_err(LedgerError::from),
            Way::Remote(client) => client.tail().await,
        });
        read.map_err(read_error)
    }

    async fn content(
        &self,
        stream: StreamId,
        commitments: &[Commitment],
    ) -> Result<Contents, ReadError> {
        let read = through!(self, None, |door, _again| match door {
            Way::Owner(held) => {
                let read = held.owner.store().content(stream, commitments).await;
                read.map_err(LedgerError::from)
            }
            Way::Remote(client) => client.content(stream, commitments).await,
        });
        read.map_err(read_error)
    }
}
