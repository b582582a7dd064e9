//! What a process may use, as far as the kernel itself can hold it; the rest the watcher watches.

use std::fs;
use std::os::unix::fs::MetadataExt;

use placet_ledger::containment::Part;
use rustix::process::{Resource, Rlimit, getrlimit, getuid, nice, setrlimit};

use super::step;
use crate::contain::reap;
use crate::contain::spec::{Lack, Lacking, Spec};

/// Processes of the helper itself, which count as well.
const OWN: u64 = 2;
/// Pids below this are not given out a second time.
const RESERVED_PIDS: u64 = 300;
/// More pids than this no kernel has.
const PIDS_MAX: u64 = 4_194_304;
/// How much nicer than its driver a process is.
const NICER: i32 = 10;
/// The first kernel whose process namespaces have a bound of their own.
const OWN_BOUND_SINCE: (u32, u32) = (6, 14);

/// Makes this process and all that descend from it the first that the kernel ends where memory is
/// short. Where that may not be written nothing else is worse.
pub(super) fn first_to_end(spec: &Spec) {
    if spec.job.is_some() {
        let _kept = fs::write("/proc/self/oom_score_adj", "1000");
    }
}

/// Bounds the pids of the process namespace, where the kernel can do so. Whether it did.
pub(super) fn bound_pids(spec: &Spec) -> bool {
    let bound = most(spec).saturating_add(RESERVED_PIDS).min(PIDS_MAX);
    spec.has(Part::Processes)
        && has_own_bound()
        && fs::write("/proc/sys/kernel/pid_max", bound.to_string()).is_ok()
}

/// Sets the limits of this process and of all that descend from it.
///
/// A limit on address space would stop every program that reserves more than it uses, so memory is
/// watched. The limit on processes counts those of the user, unless there is a user namespace, and
/// does not hold root at all; a bound on pids holds everybody, in kernels that have one for each
/// namespace.
pub(super) fn set(spec: &Spec, bounded: bool) -> Result<(), Lack> {
    if let Some(job) = &spec.job {
        step(lower(Resource::Fsize, job.limits.file_bytes), "file size")?;
        // However many they are, the watcher and the person's shell come first.
        step(lower(Resource::Nice, 0), "niceness")?;
        step(nice(NICER), "niceness")?;
    }
    let held = processes(spec, bounded);
    if spec.has(Part::Limits) { held } else { Ok(()) }
}

fn most(spec: &Spec) -> u64 {
    spec.job
        .as_ref()
        .map_or(PIDS_MAX, |job| job.limits.processes)
}

fn lower(resource: Resource, to: u64) -> rustix::io::Result<()> {
    let held = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Some(to.min(held));
    let limit = Rlimit {
        current: limit,
        maximum: limit,
    };
    setrlimit(resource, limit)
}

fn processes(spec: &Spec, bounded: bool) -> Result<(), Lack> {
    let others = if spec.has_own_users() {
        OWN
    } else {
        of_user().lacks(Part::Limits, "processes of the user")?
    };
    let most = most(spec).saturating_add(others);
    lower(Resource::Nproc, most).lacks(Part::Limits, "processes")?;
    if getuid().is_root() && !bounded {
        return Err(Lack::of(
            Part::Limits,
            "nothing bounds the processes of root",
        ));
    }
    Ok(())
}

/// Whether the bound that would be set is the namespace's, not the machine's.
fn has_own_bound() -> bool {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next()?.parse::<u32>().ok();
    number().zip(number()) >= Some(OWN_BOUND_SINCE)
}

/// Threads of this user at the moment.
fn of_user() -> std::io::Result<u64> {
    let own = getuid().as_raw();
    let mut all = reap::all()?;
    all.retain(|process| {
        let owner = fs::metadata(format!("/proc/{}", process.pid));
        owner.is_ok_and(|folder| folder.uid() == own)
    });
    Ok(reap::threads(&all))
}
