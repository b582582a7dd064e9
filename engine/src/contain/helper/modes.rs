//! Rules of the filter for modes of files: no program of a run leaves one that lends its owner's
//! rights to whoever runs it, and none makes a device.

use nix::libc;
use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::MaskedEq;
use seccompiler::{BackendError, SeccompCondition, SeccompRule};

use super::filter::Rules;

/// Set-uid and set-gid.
const LENDING: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];
/// Devices of both kinds.
const DEVICES: [u32; 2] = [libc::S_IFCHR, libc::S_IFBLK];
/// Flags of `open` with which it makes a file: named, and without a name. The second shares a
/// bit with `O_DIRECTORY`, which makes nothing.
const MAKING: [libc::c_int; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

/// Calls that set a mode, and which argument it is.
const SETTING: [(libc::c_long, u8); 4] = [
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknodat, 2),
];
#[cfg(target_arch = "x86_64")]
const OLD_SETTING: [(libc::c_long, u8); 3] = [
    (libc::SYS_chmod, 1),
    (libc::SYS_creat, 1),
    (libc::SYS_mknod, 1),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_SETTING: [(libc::c_long, u8); 0] = [];

/// Calls that make nodes, and which argument their mode is.
#[cfg(target_arch = "x86_64")]
const NODES: [(libc::c_long, u8); 2] = [(libc::SYS_mknod, 1), (libc::SYS_mknodat, 2)];
#[cfg(not(target_arch = "x86_64"))]
const NODES: [(libc::c_long, u8); 1] = [(libc::SYS_mknodat, 2)];

/// Calls that open files, and which argument their flags are; the mode follows.
#[cfg(target_arch = "x86_64")]
const OPENING: [(libc::c_long, u8); 2] = [(libc::SYS_open, 1), (libc::SYS_openat, 2)];
#[cfg(not(target_arch = "x86_64"))]
const OPENING: [(libc::c_long, u8); 1] = [(libc::SYS_openat, 2)];

/// Adds the rules that refuse. A filter does not see what `openat2` is told, so that is missing
/// altogether.
pub(super) fn refuse(rules: &mut Rules) -> Result<(), BackendError> {
    for (call, mode) in SETTING.into_iter().chain(OLD_SETTING) {
        for bit in LENDING {
            add(rules, call, vec![holds(mode, bit, bit)?])?;
        }
    }
    for (call, mode) in NODES {
        for kind in DEVICES {
            add(rules, call, vec![holds(mode, libc::S_IFMT, kind)?])?;
        }
    }
    for (call, flags) in OPENING {
        for making in MAKING.map(libc::c_int::unsigned_abs) {
            for bit in LENDING {
                let mode = flags.saturating_add(1);
                let both = vec![holds(flags, making, making)?, holds(mode, bit, bit)?];
                add(rules, call, both)?;
            }
        }
    }
    Ok(())
}

fn holds(argument: u8, mask: u32, value: u32) -> Result<SeccompCondition, BackendError> {
    let mask = MaskedEq(u64::from(mask));
    SeccompCondition::new(argument, Dword, mask, u64::from(value))
}

fn add(
    rules: &mut Rules,
    call: libc::c_long,
    conditions: Vec<SeccompCondition>,
) -> Result<(), BackendError> {
    let rule = SeccompRule::new(conditions)?;
    rules.entry(call).or_default().push(rule);
    Ok(())
}
