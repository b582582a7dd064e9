//! The wish that a driver stop: raised once, seen between steps and while a model is waited for.

use tokio::sync::watch;

/// The wish that a driver stop.
#[derive(Debug, Clone)]
pub struct Stop(watch::Sender<bool>);

impl Default for Stop {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Stop {
    /// Asks the driver to stop.
    pub fn raise(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was asked.
    pub fn is_raised(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is asked.
    pub async fn raised(&self) {
        // The sender is this value itself, so the channel cannot close.
        drop(self.0.subscribe().wait_for(|raised| *raised).await);
    }
}
