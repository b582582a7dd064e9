//! The wishes that interrupt a driver: that it stop, and that its run end.

use tokio::sync::watch;

/// A wish that is raised once.
#[derive(Debug, Clone)]
pub struct Stop(watch::Sender<bool>);

impl Default for Stop {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Stop {
    /// Asks for it.
    pub fn raise(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was asked for.
    pub fn is_raised(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is asked for.
    pub async fn raised(&self) {
        // The sender is this value itself, so the channel cannot close.
        drop(self.0.subscribe().wait_for(|raised| *raised).await);
    }
}

/// Both wishes, as they come to the driver of one run.
#[derive(Debug, Clone, Default)]
pub struct Halt {
    /// That the driver put its run down.
    pub stop: Stop,
    /// That the run end; the ledger holds it already.
    pub cancel: Stop,
}

impl Halt {
    /// Waits until one of them is raised.
    pub async fn raised(&self) {
        tokio::select! {
            () = self.stop.raised() => {}
            () = self.cancel.raised() => {}
        }
    }
}
