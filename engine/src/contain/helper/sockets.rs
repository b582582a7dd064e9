//! Rules of the filter for sockets: which can be made, and which way of sending is a way around.

use nix::libc;
use placet_ledger::containment::Part;
use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{BackendError, SeccompCondition, SeccompRule};

use super::filter::Rules;
use crate::contain::spec::Spec;

/// The bits of a socket's type that are no flags.
const TYPE: u64 = 0xf;
/// Where names are looked up, by UDP first.
const NAMES: u16 = 53;

/// Adds the rules that refuse.
pub(super) fn refuse(rules: &mut Rules, spec: &Spec, scoped: bool) -> Result<(), BackendError> {
    let mut others = Vec::new();
    for family in families(spec, scoped) {
        others.push(is(0, Ne, family)?);
    }
    if others.is_empty() {
        rules.insert(libc::SYS_socket, Vec::new());
        return Ok(());
    }
    let mut refused = vec![SeccompRule::new(others)?];
    if spec.granted_ports() {
        for family in [libc::AF_INET, libc::AF_INET6] {
            refused.extend(beside_ports(family, looks_up_names(spec))?);
        }
        // Names and routes are looked up by it; its other protocols talk to the whole machine.
        refused.push(SeccompRule::new(vec![
            is(0, Eq, libc::AF_NETLINK)?,
            is(2, Ne, libc::NETLINK_ROUTE)?,
        ])?);
        // Whoever listens without an address gets a port on all of them, which the rules for
        // ports do not see. A filter does not know the kind of a socket.
        rules.insert(libc::SYS_listen, Vec::new());
        // It connects by sending, which the rules for ports do not see.
        for (call, flags) in [
            (libc::SYS_sendto, 3),
            (libc::SYS_sendmsg, 2),
            (libc::SYS_sendmmsg, 3),
        ] {
            let fast = u64::from(libc::MSG_FASTOPEN.unsigned_abs());
            let opens = SeccompCondition::new(flags, Dword, MaskedEq(fast), fast)?;
            rules.insert(call, vec![SeccompRule::new(vec![opens])?]);
        }
    }
    rules.insert(libc::SYS_socket, refused);
    Ok(())
}

fn looks_up_names(spec: &Spec) -> bool {
    let ports = spec.job.as_ref().map(|job| &job.network);
    ports.is_some_and(|ports| ports.contains(&NAMES))
}

fn is(
    argument: u8,
    operator: seccompiler::SeccompCmpOp,
    value: libc::c_int,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, Dword, operator, u64::from(value.unsigned_abs()))
}

/// What a family could do beside connecting to ports by TCP, which is all that Landlock bounds:
/// other types, and other protocols of a type. UDP knows no bounds, so it is open only where
/// names are looked up.
fn beside_ports(family: libc::c_int, names: bool) -> Result<Vec<SeccompRule>, BackendError> {
    let mut open = vec![(libc::SOCK_STREAM, libc::IPPROTO_TCP)];
    if names {
        open.push((libc::SOCK_DGRAM, libc::IPPROTO_UDP));
    }
    let mut refused = Vec::new();
    for kind in 0..=15 {
        let mut conditions = vec![is(0, Eq, family)?, is(1, MaskedEq(TYPE), kind)?];
        if let Some((_, protocol)) = open.iter().find(|(open, _)| *open == kind) {
            conditions.extend([is(2, Ne, 0)?, is(2, Ne, *protocol)?]);
        }
        refused.push(SeccompRule::new(conditions)?);
    }
    Ok(refused)
}

/// The kinds of sockets that can be made. A socket of the person's session is reached by its path
/// where no mount hides it, and by its abstract name where network and rules leave that open.
fn families(spec: &Spec, scoped: bool) -> Vec<libc::c_int> {
    let mut families = Vec::new();
    if spec.has(Part::Mounts) && (spec.own_network() || scoped) {
        families.push(libc::AF_UNIX);
    }
    if spec.own_network() || spec.granted_ports() {
        families.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    families
}
