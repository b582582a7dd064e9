//! Who drives which run: one driver at a time, of all processes, under the user and on the host
//! that the run was started under. One of this process can be told that its run is to end.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{MutexGuard, PoisonError};

use placet_ledger::content::Contents;
use placet_ledger::id::{HostId, Principal, RunId};
use placet_ledger::run::RunState;

use super::{Engine, EngineError};
use crate::leases::{Claimed, Driver, LeaseError};
use crate::stop::Stop;

/// Where an engine drives runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The random id of the machine.
    pub host: HostId,
    /// The user, as who starts a run is named.
    pub user: Principal,
}

/// Why a run is not driven here, though it goes on elsewhere: nothing is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elsewhere {
    /// Somebody drives it now.
    Driven(Driver),
    /// It is driven only under the user who started it.
    User(Option<Principal>),
    /// It is driven only on the host where it was started.
    Host,
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driven(by) => write!(f, "driven by {by}"),
            Self::User(Some(user)) => write!(f, "driven only under {user}, who started it"),
            Self::User(None) => f.write_str("driven only under who started it"),
            Self::Host => f.write_str("driven only on the host where it was started"),
        }
    }
}

/// What is known here of a run that is being driven here.
#[derive(Debug, Clone, Default)]
pub(super) struct Driven {
    /// The wish that the run end.
    pub(super) cancel: Stop,
    /// Raised when nobody drives it here any more.
    free: Stop,
}

/// A run that is being driven here, until this is dropped.
pub(super) struct Driving<'a> {
    engine: &'a Engine,
    run: RunId,
    pub(super) driven: Driven,
    claimed: Option<Claimed>,
}

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        // Whoever waits for it can claim it at once.
        drop(self.claimed.take());
        self.engine.driving().remove(&self.run);
        self.driven.free.raise();
    }
}

impl Engine {
    fn driving(&self) -> MutexGuard<'_, BTreeMap<RunId, Driven>> {
        self.driving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims a run for one driver.
    pub(super) async fn take(&self, run: RunId) -> Result<Driving<'_>, EngineError> {
        self.may_drive(run).await?;
        self.lease(self.take_here(run)?).await
    }

    /// Claims a run that is to end. Whoever drives it here is told first, and may end it or put it
    /// down for a reason of its own.
    pub(super) async fn take_to_end(&self, run: RunId) -> Result<Driving<'_>, EngineError> {
        self.may_drive(run).await?;
        loop {
            if let Ok(driving) = self.take_here(run) {
                return self.lease(driving).await;
            }
            let driven = self.driving().get(&run).cloned();
            if let Some(driven) = driven {
                driven.cancel.raise();
                driven.free.raised().await;
            }
        }
    }

    /// What is driven by nobody else here is claimed against every other process.
    async fn lease<'a>(&self, mut driving: Driving<'a>) -> Result<Driving<'a>, EngineError> {
        let run = driving.run;
        let taken = self.taken().remove(&run);
        driving.claimed = Some(match taken {
            Some(claimed) => claimed,
            None => claimed(run, self.leases.claim(run).await)?,
        });
        Ok(driving)
    }

    /// Ends whoever drives a run in another process, and keeps it for who drives it on here. Says
    /// whether somebody did.
    pub async fn take_over(&self, run: RunId) -> Result<bool, EngineError> {
        self.may_drive(run).await?;
        let _here = self.take_here(run)?;
        let driven = self.driver(run)?.is_some();
        let claimed = claimed(run, self.leases.take_over(run).await)?;
        self.taken().insert(run, claimed);
        Ok(driven)
    }

    /// Who drives a run, if anybody does.
    pub fn driver(&self, run: RunId) -> Result<Option<Driver>, EngineError> {
        claimed(run, self.leases.who(run))
    }

    /// Whether a run may be driven under this user and on this host.
    pub async fn may_drive(&self, run: RunId) -> Result<(), EngineError> {
        let why = |state: &RunState, _: &Contents| {
            if state.starter() != Some(&self.place.user) {
                return Some(Elsewhere::User(state.starter().cloned()));
            }
            let other = state.host().is_some_and(|host| host != self.place.host);
            other.then_some(Elsewhere::Host)
        };
        let why = self.ledger.look(run, why).await?;
        why.map_or(Ok(()), |why| Err(EngineError::Elsewhere { run, why }))
    }

    fn take_here(&self, run: RunId) -> Result<Driving<'_>, EngineError> {
        let mut driving = self.driving();
        if driving.contains_key(&run) {
            let why = Elsewhere::Driven(Driver::Here);
            return Err(EngineError::Elsewhere { run, why });
        }
        let driven = Driven::default();
        driving.insert(run, driven.clone());
        Ok(Driving {
            engine: self,
            run,
            driven,
            claimed: None,
        })
    }

    /// Gives back what was taken over and needs no driver.
    pub(super) fn let_go(&self, run: RunId) {
        self.taken().remove(&run);
    }

    /// What was taken over and is not driven yet.
    fn taken(&self) -> MutexGuard<'_, BTreeMap<RunId, Claimed>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn claimed<T>(run: RunId, claimed: Result<T, LeaseError>) -> Result<T, EngineError> {
    claimed.map_err(|error| match error {
        LeaseError::Held(by) => EngineError::Elsewhere {
            run,
            why: Elsewhere::Driven(by),
        },
        source => EngineError::Lease { run, source },
    })
}
