//! The filter of system calls: what no program of a run needs and what would walk around the rest.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use nix::libc;
use placet_ledger::containment::Part;
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use super::{modes, sockets};
use crate::contain::spec::{Lack, Lacking, Spec};

/// Refused whatever the arguments: walking around filters, looking into and writing to other
/// processes, kernel keys, mounts and namespaces, devices and the kernel itself.
const REFUSED: [libc::c_long; 49] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Kinds of namespaces that `clone` could make.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Ways to put characters into a terminal's input.
const INJECTING: [libc::Ioctl; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// The limit of cores, a number whose type is another in each library of C.
const CORE: u64 = 4;

/// The first number of the second system call table of `x86_64`, which has all of it once more.
const X32_START: u32 = 0x4000_0000;

/// Refused calls, each with the arguments for which it is; always, where there are none.
pub(super) type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Puts the filter in force for this process and all that descend from it.
pub(super) fn install(spec: &Spec, scoped: bool) -> Result<(), Lack> {
    let part = Part::Syscalls;
    let arch = TargetArch::try_from(ARCH).lacks(part, "architecture")?;
    let errno = |number: libc::c_int| SeccompAction::Errno(number.unsigned_abs());
    if cfg!(target_arch = "x86_64") {
        apply_filter(&second_table()).lacks(part, "filter of x32")?;
    }
    // Programs fall back to `clone` and `openat`, whose flags a filter can see.
    let missing = [libc::SYS_clone3, libc::SYS_openat2].map(|call| (call, Vec::new()));
    let filters = [
        (Rules::from(missing), errno(libc::ENOSYS)),
        // Said to be done: programs that want no core of themselves would not run otherwise, and
        // there is none.
        (cores(false).lacks(part, "rules")?, errno(0)),
        (
            refusals(spec, scoped).lacks(part, "rules")?,
            errno(libc::EPERM),
        ),
    ];
    for (rules, action) in filters {
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch);
        let program: BpfProgram = filter.and_then(TryInto::try_into).lacks(part, "filter")?;
        apply_filter(&program).lacks(part, "filter")?;
    }
    Ok(())
}

fn refusals(spec: &Spec, scoped: bool) -> Result<Rules, BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|&call| (call, Vec::new())).collect();
    let condition = SeccompCondition::new;
    let mut nested = Vec::new();
    for flag in NAMESPACES {
        let flag = u64::from(flag.unsigned_abs());
        nested.push(SeccompRule::new(vec![condition(
            0,
            Qword,
            MaskedEq(flag),
            flag,
        )?])?);
    }
    rules.insert(libc::SYS_clone, nested);
    let mut injecting = Vec::new();
    for request in INJECTING {
        injecting.push(SeccompRule::new(vec![condition(1, Dword, Eq, request)?])?);
    }
    rules.insert(libc::SYS_ioctl, injecting);
    sockets::refuse(&mut rules, spec, scoped)?;
    modes::refuse(&mut rules)?;
    rules.extend(cores(true)?);
    Ok(rules)
}

/// Calls that set the limit of cores, which must stay as it is: those that ask for the old one as
/// well, or those that do not.
fn cores(asking: bool) -> Result<Rules, BackendError> {
    let condition = SeccompCondition::new;
    let setting = vec![
        condition(1, Dword, Eq, CORE)?,
        condition(2, Qword, Ne, 0)?,
        condition(3, Qword, if asking { Ne } else { Eq }, 0)?,
    ];
    let mut rules = Rules::from([(libc::SYS_prlimit64, vec![SeccompRule::new(setting)?])]);
    if !asking {
        let setting = vec![condition(0, Dword, Eq, CORE)?];
        rules.insert(libc::SYS_setrlimit, vec![SeccompRule::new(setting)?]);
    }
    Ok(rules)
}

/// Refuses the second table as if the kernel did not have it. The program loads the number,
/// compares, and returns one of two answers.
fn second_table() -> BpfProgram {
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let missing = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    vec![
        instruction(0x20, 0, 0, 0),
        instruction(0x35, 0, 1, X32_START),
        instruction(0x06, 0, 0, missing),
        instruction(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}
