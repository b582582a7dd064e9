//! Who is at the other end of a connection, as the kernel says, and whether it is inside of a run.
//!
//! A process that a run started lies in a process namespace of its own, or has more filters of
//! system calls than the owner had at its start. Neither mark can be shed, not by a fork either.

use std::fs;
use std::io;
use std::os::fd::AsFd;

// A process in another namespace may have no number here, for which rustix has no value.
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::process::getuid;

/// The marks of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marks {
    namespace: String,
    filters: u64,
}

impl Marks {
    /// Those of a process; `None` where it cannot be looked at.
    fn of(process: &str) -> Option<Self> {
        let namespace = fs::read_link(format!("/proc/{process}/ns/pid")).ok()?;
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        // A kernel without the line has no filters to count, and none can be told apart.
        let filters = status
            .lines()
            .find_map(|line| line.strip_prefix("Seccomp_filters:"))
            .map_or(Some(0), |number| number.trim().parse().ok())?;
        Some(Self {
            namespace: namespace.to_string_lossy().into_owned(),
            filters,
        })
    }

    /// Those of this process.
    pub(super) fn own() -> Option<Self> {
        Self::of("self")
    }

    /// Whether a process with these marks is inside of a run, where the owner has `own`.
    fn is_inside(&self, own: &Self) -> bool {
        self.namespace != own.namespace || self.filters > own.filters
    }
}

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peer {
    /// Its process; 0 where that has no number here.
    pub(super) pid: u32,
    /// Its user.
    pub(super) uid: u32,
    /// Whether it may be inside of a run: so is whatever cannot be looked at.
    pub(super) inside: bool,
}

/// Why somebody is not served.
#[derive(Debug, thiserror::Error)]
pub(super) enum PeerError {
    /// The kernel does not say who it is.
    #[error("the system does not say who is at the other end")]
    Unknown(#[source] io::Error),
    /// Another user.
    #[error("it belongs to user {0}, the ledger to another")]
    OtherUser(u32),
}

impl Peer {
    /// Looks at the other end of a connection. `own` are the marks of the owner at its start.
    pub(super) fn of(connection: impl AsFd, own: Option<&Marks>) -> Result<Self, PeerError> {
        let told = getsockopt(&connection, PeerCredentials);
        let told = told.map_err(|error| PeerError::Unknown(error.into()))?;
        let uid = told.uid();
        if uid != getuid().as_raw() {
            return Err(PeerError::OtherUser(uid));
        }
        let pid = u32::try_from(told.pid()).unwrap_or(0);
        let marks = Marks::of(&pid.to_string());
        let outside = match (marks, own) {
            (Some(marks), Some(own)) => !marks.is_inside(own),
            (_, _) => false,
        };
        Ok(Self {
            pid,
            uid,
            inside: !outside,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn marks(namespace: &str, filters: u64) -> Marks {
        Marks {
            namespace: namespace.to_owned(),
            filters,
        }
    }

    #[test]
    fn another_namespace_or_more_filters_are_inside() {
        let own = marks("pid:[1]", 1);
        for (other, inside) in [
            (marks("pid:[1]", 1), false),
            (marks("pid:[1]", 0), false),
            (marks("pid:[1]", 2), true),
            (marks("pid:[2]", 1), true),
            (marks("pid:[2]", 0), true),
        ] {
            assert_eq!(other.is_inside(&own), inside, "{other:?}");
        }
    }

    #[test]
    fn a_process_of_our_own_is_outside_and_what_cannot_be_compared_is_inside() {
        let (one, _other) = UnixStream::pair().unwrap();
        let own = Marks::own().unwrap();
        let peer = Peer::of(&one, Some(&own)).unwrap();
        assert_eq!((peer.pid, peer.inside), (std::process::id(), false));
        assert!(Peer::of(&one, None).unwrap().inside);
    }
}
