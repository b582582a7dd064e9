//! A backup of a ledger while it is in use: whoever holds the store makes it.

use std::path::Path;

use super::door::Way;
use super::{DOORS_MAX, Ledger};
use crate::backup::{Backup, Told, make};
use crate::error::LedgerError;

impl Ledger {
    /// Makes a backup of what is recorded now in a folder, named in full, that is not there or
    /// empty. How far it is, is told where the store is held in this process.
    pub async fn backup(&self, dir: &Path, told: Told<'_>) -> Result<Backup, LedgerError> {
        through!(self, None, |door, _again| match door {
            Way::Owner(held) => {
                let owner = &held.owner;
                let made = make(&**owner.store(), owner.ledger(), dir, told).await;
                made.map_err(LedgerError::from)
            }
            Way::Remote(client) => client.backup(dir).await,
        })
    }
}
