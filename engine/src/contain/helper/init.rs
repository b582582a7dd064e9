//! The process inside: it shuts itself in, starts the program, reaps, and says how it ended.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{User, getuid};
use placet_ledger::containment::Part;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, set_child_subreaper, set_parent_process_death_signal, setsid,
    wait,
};

use super::places::Places;
use super::program::{Program, Refused};
use super::rules::Open;
use super::{environment, filter, limits, loopback, mounts, privileges, rules, step};
use crate::contain::spec::{Channel, Lack, Lacking, Report, Spec};
use crate::contain::{Ending, Job};

/// Runs as the process inside. What fails is told to the watcher.
pub(super) fn main() -> Result<(), Lack> {
    let mut watcher = step(Channel::of_stdin(), "socket")?;
    let report = match run(&mut watcher) {
        Ok(report) => report,
        Err(Refused::Changed) => Report::ProgramChanged,
        Err(Refused::Lack(lack)) => Report::Failed(lack.parts, lack.why),
    };
    step(watcher.send(&report), "socket")?;
    // What is left is the watcher's to end, and this process with it.
    reap();
    step(watcher.receive::<()>(), "socket").map(drop)
}

fn run(watcher: &mut Channel) -> Result<Report, Refused> {
    let spec = enter(watcher)?;
    let Some(job) = &spec.job else {
        shut_in(&spec, None)?;
        return Ok(Report::Ready);
    };
    let mut program = Program::open(job)?;
    let places = shut_in(&spec, Some(&mut program))?;
    let path = program.settle()?;
    step(watcher.send(&Report::Begins), "socket")?;
    let child = start(job, &places, &path)?;
    Ok(Report::Ended(ending(child)?, 0))
}

/// Binds its own life to the watcher's, which may be gone before that held.
fn enter(watcher: &mut Channel) -> Result<Spec, Lack> {
    step(
        set_parent_process_death_signal(Some(Signal::KILL)),
        "death signal",
    )?;
    // Apart from the watcher, which gets its share of the processor however many these become.
    step(setsid(), "session")?;
    step(set_child_subreaper(Some(getpid())), "subreaper")?;
    privileges::no_new()?;
    privileges::closed_to_others()?;
    let spec = step(watcher.receive(), "specification")?;
    let mut gone = [PollFd::new(watcher.socket(), PollFlags::empty())];
    step(poll(&mut gone, Some(&Timespec::default())), "socket")?;
    let [gone] = gone;
    spec.filter(|_| gone.revents().is_empty())
        .ok_or_else(|| Lack::whole("the watcher is gone"))
}

/// Puts every part in force: namespaces first, since the rules forbid mounts, and the filter last.
fn shut_in(spec: &Spec, program: Option<&mut Program>) -> Result<Places, Refused> {
    let places = Places::of(spec)?;
    namespaces(spec)?;
    // Later `/proc` cannot be written.
    let bounded = limits::bound_pids(spec);
    limits::first_to_end(spec);
    let mut nothing = Program::nothing();
    let program = program.unwrap_or(&mut nothing);
    if spec.has(Part::Mounts) {
        mounts::enter(spec, &places, program)?;
    }
    limits::set(spec, bounded)?;
    privileges::drop_capabilities()?;
    let scoped = if spec.has(Part::Landlock) {
        rules::restrict(&open(spec, &places))?
    } else if spec.granted_ports() && spec.has(Part::Network) {
        let what = "only landlock restricts the ports of a shared network";
        return Err(Lack::of(Part::Network, what).into());
    } else {
        false
    };
    if spec.has(Part::Syscalls) {
        filter::install(spec, scoped)?;
    }
    privileges::verify(spec.has(Part::Syscalls))?;
    Ok(places)
}

fn namespaces(spec: &Spec) -> Result<(), Lack> {
    let one = |flag, part, step| unshare(flag).lacks(part, step);
    if spec.has(Part::Mounts) {
        one(CloneFlags::CLONE_NEWNS, Part::Mounts, "mount namespace")?;
    }
    if spec.own_network() {
        one(CloneFlags::CLONE_NEWNET, Part::Network, "network namespace")?;
        // Without it programs that talk to themselves fail, and nothing else.
        let _down = loopback::bring_up();
    }
    if spec.has(Part::Processes) {
        let others = CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWUTS;
        one(others, Part::Processes, "other namespaces")?;
        // Old kernels have none of these; they hide names and close nothing.
        let _missing = unshare(CloneFlags::CLONE_NEWCGROUP);
    }
    Ok(())
}

fn open(spec: &Spec, places: &Places) -> Open {
    let granted = spec.job.as_ref().map(|job| job.network.clone());
    let mounts = spec.has(Part::Mounts);
    Open {
        read: places.readable(mounts),
        write: places.writable(mounts),
        ports: (!spec.own_network()).then(|| granted.unwrap_or_default()),
    }
}

fn start(job: &Job, places: &Places, path: &Path) -> Result<Pid, Lack> {
    let user = User::from_uid(getuid()).ok().flatten();
    let user = user.map_or_else(|| getuid().to_string(), |user| user.name);
    let variables = super::places::variables(places.home.as_deref(), &places.toolchains);
    let (name, arguments) = job
        .argv
        .split_first()
        .ok_or_else(|| Lack::whole("a program has a name"))?;
    let input = step(input(&job.stdin), "standard input")?;
    let folder = places.workspace.as_ref().unwrap_or(&job.workspace);
    // Its own group: a signal to the group it was born in would reach the watcher.
    let child = command(path)
        .arg0(name)
        .args(arguments)
        .env_clear()
        .envs(environment::of(job, &places.private, &user, variables))
        .current_dir(folder)
        .stdin(input)
        .process_group(0)
        .spawn();
    let child = step(child, &format!("{}", job.program.display()))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| Lack::whole("a process has a number"))
}

/// What a process reads: memory, so that nobody has to feed it.
fn input(text: &str) -> io::Result<Stdio> {
    if text.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(Stdio::from(file))
}

#[expect(
    clippy::disallowed_methods,
    reason = "everything that a run starts is started here, already shut in"
)]
fn command(path: &Path) -> Command {
    Command::new(path)
}

/// Reaps until the program itself has ended.
fn ending(program: Pid) -> Result<Ending, Lack> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => {
                let status = ExitStatus::from_raw(status.as_raw());
                let signal = status.signal().unwrap_or(0);
                return Ok(status
                    .code()
                    .map_or(Ending::Signalled(signal), Ending::Exited));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Lack::whole(format!("wait: {error}"))),
        }
    }
}

/// Reaps what is left, until nothing is.
fn reap() {
    while !matches!(wait(WaitOptions::empty()), Err(rustix::io::Errno::CHILD)) {}
}
