//! From a door that is shut to the next one: what was staged behind the old one and may be lost
//! with it is sent again.

use std::collections::{BTreeMap, BTreeSet};

use super::door::{Door, Way};
use super::{DOORS_MAX, Ledger, lets_go, lock};
use crate::error::LedgerError;
use crate::id::RunId;
use crate::remote::client::Unsettled;

/// What must be brought to the next door. It is kept until all of it is there: a door that shuts
/// meanwhile, or a caller that does not wait, takes nothing along.
#[derive(Default)]
pub(super) struct Handover {
    /// Connections that were given up.
    seats: BTreeSet<u64>,
    /// What was staged, by run, in the order in which it was sent.
    commands: BTreeMap<RunId, Vec<Unsettled>>,
}

impl Handover {
    /// A door is shut.
    fn leave(&mut self, door: &Door) {
        let Way::Remote(gone) = &door.0 else { return };
        self.seats.insert(gone.seat());
        for (run, commands) in gone.take_unsettled() {
            self.commands.entry(run).or_default().extend(commands);
        }
    }

    /// A door is tried: should it shut before all is there, it is one of those that were given up.
    fn try_door(&mut self, door: &Door) -> (Vec<u64>, BTreeMap<RunId, Vec<Unsettled>>) {
        let given_up = self.seats.iter().copied().collect();
        if let Way::Remote(client) = &door.0 {
            self.seats.insert(client.seat());
        }
        (given_up, self.commands.clone())
    }
}

impl Ledger {
    /// Whoever goes on with a run that could not be brought back to where it was hears of it, once.
    pub(super) fn is_where_it_was(&self, run: Option<RunId>) -> Result<(), LedgerError> {
        match run.and_then(|run| lock(&self.0.lost).remove(&run)) {
            Some(error) => {
                tracing::warn!(?run, %error, "what was decided last was lost with the owner");
                Err(LedgerError::Conflict)
            }
            None => Ok(()),
        }
    }

    /// Finds another way in the place of one that is shut.
    pub(super) async fn change_door(&self, shut: &Door, why: String) -> Result<(), LedgerError> {
        let Some(opener) = &self.0.opener else {
            return Err(LedgerError::Unreachable(why));
        };
        let _changing = self.0.changing.lock().await;
        if !self.door().is(shut) {
            return Ok(());
        }
        lock(&self.0.handover).leave(shut);
        if let Way::Owner(held) = &shut.0 {
            // What was staged here was in memory alone.
            let lost = held.owner.forget_staged_here().await;
            let gone = |run| (run, LedgerError::Closed(why.clone()));
            lock(&self.0.lost).extend(lost.into_iter().map(gone));
        }
        let mut tries = 0_usize;
        loop {
            let door = opener.open().await?;
            lets_go(&door)?;
            let (given_up, commands) = lock(&self.0.handover).try_door(&door);
            match hand_over(&door, given_up, commands).await {
                Ok(lost) => {
                    lock(&self.0.lost).extend(lost);
                    *lock(&self.0.handover) = Handover::default();
                    self.set_door(door);
                    return Ok(());
                }
                Err(LedgerError::Unreachable(_)) if tries < DOORS_MAX => {
                    tries = tries.saturating_add(1);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Sends again what was staged behind other doors. Gives back the runs that cannot be brought back
/// to where they were.
async fn hand_over(
    door: &Door,
    given_up: Vec<u64>,
    commands: BTreeMap<RunId, Vec<Unsettled>>,
) -> Result<BTreeMap<RunId, LedgerError>, LedgerError> {
    if let Way::Remote(client) = &door.0 {
        for seat in given_up {
            client.left(seat).await?;
        }
    }
    let mut lost = BTreeMap::new();
    for (run, commands) in commands {
        for mut sent in commands {
            sent.sending.again = true;
            match door.handle(run, &sent).await {
                Ok(_) => {}
                Err(error @ LedgerError::Unreachable(_)) => return Err(error),
                Err(error) => {
                    lost.insert(run, error);
                    break;
                }
            }
        }
    }
    Ok(lost)
}
