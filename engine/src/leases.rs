//! The right to drive a run, which one driver at a time has: in the memory of a process, or as
//! files of a home.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use placet_ledger::id::RunId;
use placet_ledger::lease::{self, ClaimError, Held, Lease, TakeOverError};
use placet_ledger::process::{EndError, Process};

use crate::contain::end_leftovers_of;

/// Who drives a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Driver {
    /// This process.
    Here,
    /// Another one.
    Process(Process),
    /// One that has not said who it is.
    Unnamed,
}

impl From<Held> for Driver {
    fn from(held: Held) -> Self {
        match held.by {
            Some(process) if process.is_own() => Self::Here,
            Some(process) => Self::Process(process),
            None => Self::Unnamed,
        }
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => f.write_str("this process"),
            Self::Process(process) if process.is_stopped() => {
                write!(f, "process {}, which is stopped", process.pid())
            }
            Self::Process(process) => write!(f, "process {}", process.pid()),
            Self::Unnamed => f.write_str("a process that has not said its id yet"),
        }
    }
}

/// The right to drive a run, until it is dropped.
pub struct Claimed(#[expect(dead_code, reason = "it is held")] Box<dyn Any + Send + Sync>);

impl Claimed {
    /// A right that is given back when `held` is dropped.
    pub fn by(held: impl Any + Send + Sync) -> Self {
        Self(Box::new(held))
    }
}

/// Why a run cannot be claimed.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Somebody drives it.
    #[error("driven by {0}")]
    Held(Driver),
    /// Its driver cannot be ended.
    #[error("cannot end {by}")]
    CannotEnd {
        /// The driver.
        by: Driver,
        /// Why not.
        #[source]
        source: EndError,
    },
    /// What an earlier driver started may still be at work.
    #[error("what an earlier driver started cannot be ended")]
    Left(#[source] io::Error),
    /// The files that tell who drives cannot be used.
    #[error("cannot find out who drives")]
    Files(#[source] io::Error),
}

/// Who may drive which run.
#[async_trait]
pub trait Leases: Send + Sync {
    /// Claims a run. Whoever gets it knows that nothing of an earlier driver can act any more.
    async fn claim(&self, run: RunId) -> Result<Claimed, LeaseError>;

    /// The same, once whoever drives it was ended.
    async fn take_over(&self, run: RunId) -> Result<Claimed, LeaseError>;

    /// Who drives it, if anybody does.
    fn who(&self, run: RunId) -> Result<Option<Driver>, LeaseError>;
}

/// Leases of the engines of one process: nothing of them outlives it.
#[derive(Debug, Clone, Default)]
pub struct MemoryLeases(Arc<Mutex<BTreeSet<RunId>>>);

/// One of them.
struct InMemory {
    leases: MemoryLeases,
    run: RunId,
}

impl Drop for InMemory {
    fn drop(&mut self) {
        self.leases.with(|held| held.remove(&self.run));
    }
}

impl MemoryLeases {
    fn with<T>(&self, work: impl FnOnce(&mut BTreeSet<RunId>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Leases for MemoryLeases {
    async fn claim(&self, run: RunId) -> Result<Claimed, LeaseError> {
        if !self.with(|held| held.insert(run)) {
            return Err(LeaseError::Held(Driver::Here));
        }
        let leases = self.clone();
        Ok(Claimed::by(InMemory { leases, run }))
    }

    async fn take_over(&self, run: RunId) -> Result<Claimed, LeaseError> {
        match self.claim(run).await {
            Err(LeaseError::Held(by)) => Err(LeaseError::CannotEnd {
                by,
                source: EndError::Own,
            }),
            claimed => claimed,
        }
    }

    fn who(&self, run: RunId) -> Result<Option<Driver>, LeaseError> {
        Ok(self
            .with(|held| held.contains(&run))
            .then_some(Driver::Here))
    }
}

/// Leases as files of a home, held against every process on this machine.
#[derive(Debug, Clone)]
pub struct FileLeases {
    /// The folder of these files.
    pub driving: PathBuf,
    /// The folder of files that tell what runs for a call.
    pub running: PathBuf,
}

impl FileLeases {
    /// Ends what was left under a lease that was just taken; where that cannot be, nobody has it.
    fn cleared(&self, run: RunId, lease: Lease) -> Result<Claimed, LeaseError> {
        end_leftovers_of(&self.running, run).map_err(LeaseError::Left)?;
        Ok(Claimed::by(lease))
    }
}

impl From<ClaimError> for LeaseError {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Held(held) => Self::Held(held.into()),
            error @ ClaimError::File { .. } => Self::Files(io::Error::other(error)),
        }
    }
}

impl From<TakeOverError> for LeaseError {
    fn from(error: TakeOverError) -> Self {
        match error {
            TakeOverError::CannotEnd { held, source } => Self::CannotEnd {
                by: held.into(),
                source,
            },
            TakeOverError::Claim(error) => error.into(),
        }
    }
}

/// Does what may wait for other processes where nobody else waits for it.
async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LeaseError> + Send + 'static,
) -> Result<T, LeaseError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| LeaseError::Files(io::Error::other(error)))?
}

#[async_trait]
impl Leases for FileLeases {
    async fn claim(&self, run: RunId) -> Result<Claimed, LeaseError> {
        let leases = self.clone();
        apart(move || leases.cleared(run, lease::claim(&leases.driving, run)?)).await
    }

    async fn take_over(&self, run: RunId) -> Result<Claimed, LeaseError> {
        let leases = self.clone();
        apart(move || leases.cleared(run, lease::take_over(&leases.driving, run)?)).await
    }

    fn who(&self, run: RunId) -> Result<Option<Driver>, LeaseError> {
        let held = lease::who(&self.driving, run).map_err(LeaseError::Files)?;
        Ok(held.map(Driver::from))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn run(number: u128) -> RunId {
        RunId::new(uuid::Uuid::from_u128(number))
    }

    /// A mark as a driver of another container leaves it, which cannot be ended from here.
    fn foreign() -> String {
        let process = serde_json::to_value(Process::own().unwrap()).unwrap();
        json!({
            "pid": process["pid"],
            "start": process["start"],
            "boot": process["boot"],
            "namespace": "pid:[1]",
            "temporary": "/tmp/placet-test-none",
        })
        .to_string()
    }

    #[tokio::test]
    async fn nobody_gets_a_run_of_which_something_may_still_be_at_work() {
        let home = tempfile::tempdir().unwrap();
        let leases = FileLeases {
            driving: home.path().join("driving"),
            running: home.path().join("running"),
        };
        // Where nothing was ever run there is no folder.
        drop(leases.claim(run(1)).await.unwrap());
        fs::create_dir(&leases.running).unwrap();
        for left in [foreign(), String::from("{")] {
            let mark = leases.running.join(format!("{}-c3", run(1)));
            fs::write(&mark, left).unwrap();
            for claimed in [leases.claim(run(1)).await, leases.take_over(run(1)).await] {
                let error = claimed.err().unwrap();
                assert!(matches!(error, LeaseError::Left(_)), "{error:?}");
            }
            assert!(mark.exists());
            assert_eq!(leases.who(run(1)).unwrap(), None);
            // Another run is not held up by it.
            drop(leases.claim(run(2)).await.unwrap());
            fs::remove_file(&mark).unwrap();
        }
        // Of what had not begun yet nothing can be at work.
        let unfinished = leases.running.join(format!("{}-c4.unfinished", run(1)));
        fs::write(&unfinished, "{").unwrap();
        let claimed = leases.claim(run(1)).await.unwrap();
        assert!(!unfinished.exists());
        assert_eq!(leases.who(run(1)).unwrap(), Some(Driver::Here));
        assert!(matches!(
            leases.claim(run(1)).await.err(),
            Some(LeaseError::Held(Driver::Here))
        ));
        drop(claimed);
        assert_eq!(leases.who(run(1)).unwrap(), None);
    }
}
