//! The process outside: it lives as long as its driver, watches the limits, and ends what is left.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use placet_ledger::clock::Clock;
use placet_ledger::containment::Part;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Signal, WaitOptions, getgid, getpid, getuid, set_child_subreaper, setsid, wait,
};

use super::scratch::Scratch;
use super::{INIT, VERB, privileges, step};
use crate::clock::SystemClock;
use crate::contain::marks::{self, Mark};
use crate::contain::reap::{self, Process};
use crate::contain::spec::{Channel, Lack, Lacking, Order, Report, Spec};
use crate::contain::{Ending, Limits};

/// Between asking a process to end and killing it, where few are left.
const GRACE_MS: u64 = 3_000;
/// Processes that are no more than these are few.
const FEW: usize = 64;
/// The same where many are left.
const CROWD_MS: u64 = 500;
/// How long the setup may take before it is given up; the program's own time begins after it.
const SETUP_MS: u64 = 60_000;
/// Between two looks at what is used: a hog gets no further than what it takes in that time.
const LOOK_MS: u64 = 50;
/// Between two looks at whether everything has ended.
const END_MS: u64 = 5;
/// How long the killing of what is left may take before it is given up.
const KILL_MS: u64 = 10_000;

/// Runs as the process outside.
pub(super) fn main() -> Result<(), Lack> {
    let mut driver = step(Channel::of_stdin(), "socket")?;
    let Some(spec) = step(driver.receive::<Spec>(), "specification")? else {
        return Ok(());
    };
    let mut marked = false;
    let report = match watch(&mut driver, &spec, &mut marked) {
        Ok(report) => report,
        Err(lack) => Report::Failed(lack.parts, lack.why),
    };
    let _left = marks::remove_folder(&spec.temporary);
    if let Some(job) = spec.job.as_ref().filter(|_| marked) {
        step(marks::remove(&job.mark), "mark")?;
    }
    step(driver.send(&report), "driver")
}

fn watch(driver: &mut Channel, spec: &Spec, marked: &mut bool) -> Result<Report, Lack> {
    // A process without a terminal has none to put characters into.
    step(setsid(), "session")?;
    privileges::no_new()?;
    privileges::no_core()?;
    step(set_child_subreaper(Some(getpid())), "subreaper")?;
    if !spec.has(Part::Mounts) {
        let made = fs::DirBuilder::new().mode(0o700).create(&spec.temporary);
        step(made, "temporary folder")?;
    }
    if let Some(job) = &spec.job {
        let mark = step(Mark::own(spec.temporary.clone()), "mark")?;
        step(mark.write(&job.mark), "mark")?;
        *marked = true;
    }
    // A new driver that found no mark found this one gone: then nothing may run.
    if is_gone(driver)? {
        return Err(Lack::whole("the driver is gone"));
    }
    users(spec)?;
    if spec.has(Part::Processes) {
        let namespace = unshare(CloneFlags::CLONE_NEWPID);
        namespace.lacks(Part::Processes, "process namespace")?;
    }
    let (ours, theirs) = step(UnixStream::pair(), "socket")?;
    let init = step(command(theirs.into()).spawn(), "init")?;
    privileges::closed_to_others()?;
    let mut inside = Channel::new(ours);
    step(inside.send(spec), "init")?;
    let watch = Watch {
        limits: spec.job.as_ref().map(|job| job.limits.clone()),
        together: spec.has(Part::Processes),
        since: SystemClock.monotonic_ms(),
        begun: false,
        ending: None,
        ended: None,
        scratch: Scratch::of(spec, init.id()),
        init,
        left: 0,
        told: BTreeSet::new(),
    };
    watch.run(driver, &mut inside)
}

fn is_gone(driver: &Channel) -> Result<bool, Lack> {
    let mut sockets = [PollFd::new(driver.socket(), PollFlags::empty())];
    step(poll(&mut sockets, Some(&Timespec::default())), "socket")?;
    Ok(sockets.iter().any(|socket| !socket.revents().is_empty()))
}

/// Makes the user namespace that allows all the others; whoever is in it keeps his own number.
fn users(spec: &Spec) -> Result<(), Lack> {
    if !spec.has_own_users() {
        return Ok(());
    }
    let needing = [Part::Processes, Part::Mounts, Part::Network];
    let parts: Vec<_> = needing.into_iter().filter(|&part| spec.has(part)).collect();
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let made = unshare(CloneFlags::CLONE_NEWUSER)
        .map_err(io::Error::from)
        .and_then(|()| fs::write("/proc/self/setgroups", "deny"))
        .and_then(|()| fs::write("/proc/self/uid_map", format!("{user} {user} 1")))
        .and_then(|()| fs::write("/proc/self/gid_map", format!("{group} {group} 1")));
    made.map_err(|error| Lack {
        parts: parts.clone(),
        why: format!("user namespace: {error}"),
    })?;
    privileges::keep_over_exec().map_err(|lack| Lack { parts, ..lack })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the second process of the helper, which is this binary"
)]
fn command(socket: OwnedFd) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .args([VERB, INIT])
        .env_clear()
        .stdin(Stdio::from(socket));
    command
}

/// A process under watch.
#[derive(Debug)]
struct Watch {
    limits: Option<Limits>,
    /// Whether the end of the init takes everything along.
    together: bool,
    /// The beginning of the program, and of the setup until then.
    since: u64,
    begun: bool,
    /// What the helper ends it for, and since when.
    ending: Option<(Ending, u64)>,
    /// What the init said.
    ended: Option<Report>,
    init: Child,
    scratch: Scratch,
    /// How many ran at the last look, where it is ended for something.
    left: usize,
    told: BTreeSet<(i32, u64)>,
}

impl Watch {
    /// Watches until all has ended.
    fn run(mut self, driver: &mut Channel, inside: &mut Channel) -> Result<Report, Lack> {
        loop {
            let [from_driver, from_inside] = self.wait(driver, inside)?;
            let now = SystemClock.monotonic_ms();
            if from_driver {
                match step(driver.receive(), "driver") {
                    Ok(Some(Order::Stop)) => self.ask_to_end(Ending::Stopped, now)?,
                    // Nobody is there any more who could want anything but its end.
                    Ok(None) | Err(_) => return self.finish(Ending::Stopped),
                }
            }
            if from_inside && self.ended.is_none() {
                self.hear(step(inside.receive(), "init")?, now);
            }
            if !self.begun && now.saturating_sub(self.since) >= SETUP_MS {
                return self.give_up(inside);
            }
            if let Some(ending) = self.look(now)? {
                return self.finish(ending);
            }
        }
    }

    /// Takes what the init said; nothing where it went without a word: somebody killed it.
    fn hear(&mut self, said: Option<Report>, now: u64) {
        match said {
            Some(Report::Begins) => (self.begun, self.since) = (true, now),
            Some(report) => self.ended = Some(report),
            None => {
                let killed = Ending::Signalled(Signal::KILL.as_raw());
                self.ended = Some(Report::Ended(killed, 0));
            }
        }
    }

    /// Ends a setup that takes too long, which may have come to its end at this moment.
    fn give_up(mut self, inside: &mut Channel) -> Result<Report, Lack> {
        step(self.init.kill(), "init")?;
        let said: Option<Report> = step(inside.receive(), "init")?;
        let report = self.finish(Ending::TimedOut)?;
        Ok(match said {
            Some(Report::Begins) => report,
            Some(other) => other,
            None => Report::Failed(Vec::new(), String::from("that took longer than a minute")),
        })
    }

    /// Waits for either socket, or for the next look.
    fn wait(&self, driver: &Channel, inside: &Channel) -> Result<[bool; 2], Lack> {
        let mut sockets = [
            PollFd::new(driver.socket(), PollFlags::IN),
            PollFd::new(inside.socket(), PollFlags::IN),
        ];
        let awaited = if self.ended.is_some() { 1 } else { 2 };
        let awaited = sockets.get_mut(..awaited).unwrap_or_default();
        let more = [driver, inside].map(Channel::holds_more);
        let moment = match (more, self.ending) {
            ([false, false], Some(_)) => END_MS,
            ([false, false], None) => LOOK_MS,
            (_, _) => 0,
        };
        match poll(awaited, Some(&span(moment))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Lack::whole(format!("sockets: {error}"))),
        }
        let [driver, inside] = sockets;
        let heard = [driver, inside].map(|socket| !socket.revents().is_empty());
        let [[from_driver, from_inside], [more_driver, more_inside]] = [heard, more];
        Ok([from_driver || more_driver, from_inside || more_inside])
    }

    /// Everything that runs but the init.
    fn running(&self) -> Result<Vec<Process>, Lack> {
        let init = i32::try_from(self.init.id()).ok();
        step(reap::descendants(getpid().as_raw_pid(), init), "processes")
    }

    /// Looks at what goes on; how it ends, once it does.
    fn look(&mut self, now: u64) -> Result<Option<Ending>, Lack> {
        if let Some((ending, since)) = self.ending {
            let running = self.running()?.len();
            self.left = running;
            // Those who are many make more of themselves as long as they are let.
            let grace = if running > FEW { CROWD_MS } else { GRACE_MS };
            let over = now >= since.saturating_add(grace) || running == 0;
            return Ok(over.then_some(ending));
        }
        if self.ended.is_some() {
            return Ok(Some(Ending::Stopped));
        }
        let Some(limits) = self.limits.clone() else {
            return Ok(None);
        };
        let running = self.running()?;
        self.left = running.len();
        if reap::threads(&running) > limits.processes {
            return Ok(Some(self.kill_for(Ending::OverProcesses, now)));
        }
        let left = limits.memory_bytes.saturating_sub(self.scratch.used());
        if reap::use_more_than(&running, left) {
            return Ok(Some(self.kill_for(Ending::OverMemory, now)));
        }
        if self.begun && now.saturating_sub(self.since) >= limits.time_ms {
            self.ask_to_end(Ending::TimedOut, now)?;
        }
        Ok(None)
    }

    fn kill_for(&mut self, ending: Ending, now: u64) -> Ending {
        self.ending = Some((ending, now));
        ending
    }

    /// Asks every descendant to end; the first reason counts.
    fn ask_to_end(&mut self, ending: Ending, now: u64) -> Result<(), Lack> {
        if self.ending.is_none() {
            self.ending = Some((ending, now));
            reap::signal(&self.running()?, Signal::TERM, &mut BTreeSet::new());
        }
        Ok(())
    }

    /// Ends all that is left, and says what came of it.
    fn finish(mut self, ending: Ending) -> Result<Report, Lack> {
        let ended = match (self.together, self.ending) {
            (false, _) => self.kill_each()?,
            // To count them once more would take as long as they let it.
            (true, Some(_)) => self.left,
            (true, None) => self.running()?.len(),
        };
        // The end of an init takes along whatever is in its namespace, at once, and whatever came
        // in between.
        step(self.init.kill(), "init")?;
        step(self.init.wait(), "init")?;
        let ended = u32::try_from(ended).unwrap_or(u32::MAX);
        Ok(match (self.ending, self.ended) {
            (None, Some(Report::Ended(ending, _))) => Report::Ended(ending, ended),
            (None, Some(report)) => report,
            (_, _) => Report::Ended(ending, ended),
        })
    }

    /// Kills one by one what is left, but the init; how many these were.
    fn kill_each(&mut self) -> Result<usize, Lack> {
        let until = SystemClock.monotonic_ms().saturating_add(KILL_MS);
        loop {
            let running = self.running()?;
            if running.is_empty() {
                return Ok(self.told.len());
            }
            reap::signal(&running, Signal::KILL, &mut self.told);
            if SystemClock.monotonic_ms() > until {
                return Ok(self.told.len());
            }
            step(poll(&mut [], Some(&span(END_MS))), "processes")?;
            // Orphans come here where the init is gone.
            if self.init.try_wait().is_ok_and(|ended| ended.is_some()) {
                while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
            }
        }
    }
}

fn span(ms: u64) -> Timespec {
    let [seconds, rest] = [ms / 1_000, (ms % 1_000).saturating_mul(1_000_000)];
    Timespec {
        tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(rest).unwrap_or(0),
    }
}
