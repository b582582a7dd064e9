//! What the model is told of a command that ran: how it ended, what it wrote, and what it left.

use std::collections::BTreeSet;
use std::fmt::Write;

use placet_ledger::containment::Part;
use placet_ledger::steered::Steered;

use super::quoted::listed;
use crate::contain::{Ending, Kept, Ran};
use crate::tool::End;

/// Paths of one kind that are named.
const PATHS_MAX: usize = 20;

/// What else there is to tell of a run.
#[derive(Debug, Default)]
pub(super) struct Aside {
    /// Milliseconds that it took, with the looks before and after.
    pub(super) duration_ms: u64,
    /// What is missing of the containment profile.
    pub(super) missing: BTreeSet<Part>,
    /// Ports that it wanted and did not have.
    pub(super) refused: Vec<u16>,
    /// Paths that steer programs and are not as they were.
    pub(super) steered: Steered,
    /// How many paths that steer programs were too many to be held.
    pub(super) unheld: usize,
    /// What could not be looked at for such paths, before or after.
    pub(super) unseen: BTreeSet<String>,
    /// The limit that it was given.
    pub(super) timeout_s: u64,
}

/// How it came to an end, with the exit status as a shell has it.
pub(super) const fn end(ending: Ending) -> End {
    match ending {
        Ending::Exited(status) => End::Exited(status),
        Ending::Signalled(signal) => End::Exited(signal.saturating_add(128)),
        // As by KILL, which is what happened to it.
        Ending::OverMemory | Ending::OverProcesses => End::Exited(137),
        Ending::TimedOut => End::TimedOut,
        Ending::Stopped => End::Stopped,
    }
}

/// The whole report.
pub(super) fn report(ran: &Ran, aside: &Aside) -> String {
    let mut text = String::new();
    let seconds = aside.duration_ms / 1000;
    let tenths = (aside.duration_ms % 1000) / 100;
    let after = format!("after {seconds}.{tenths} s");
    let _ = match ran.ending {
        Ending::Exited(status) => writeln!(text, "exit {status} {after}"),
        Ending::Signalled(signal) => writeln!(text, "killed by signal {signal} {after}"),
        Ending::OverMemory => writeln!(text, "killed {after}: it used more than 4 GiB of memory"),
        Ending::OverProcesses => {
            writeln!(
                text,
                "killed {after}: it had more than 512 processes at once"
            )
        }
        Ending::TimedOut => writeln!(
            text,
            "ended {after}: it took longer than the {} s that it had (`timeout_s`); what it did \
             until then stands",
            aside.timeout_s
        ),
        Ending::Stopped => writeln!(
            text,
            "ended {after}: somebody stopped it; what it did until then stands"
        ),
    };
    match ran.ended {
        0 => {}
        1 => note(&mut text, "a process that it left behind was ended"),
        some => {
            let words = format!("{some} processes that it left behind were ended");
            note(&mut text, &words);
        }
    }
    notes(&mut text, aside);
    output(&mut text, "stdout", &ran.stdout);
    output(&mut text, "stderr", &ran.stderr);
    text
}

/// What is known of a command that nobody saw the end of.
pub(super) fn lost(aside: &Aside) -> String {
    let mut text = String::from(
        "the command and all that watched over it were killed; how far it came cannot be told\n",
    );
    notes(&mut text, aside);
    text
}

fn note(text: &mut String, words: &str) {
    text.push_str("note: ");
    text.push_str(words);
    text.push('\n');
}

fn notes(text: &mut String, aside: &Aside) {
    let mut note = |words: &str| note(text, words);
    if !aside.refused.is_empty() {
        let ports: Vec<_> = aside.refused.iter().map(u16::to_string).collect();
        let ports = ports.join(", ");
        note(&format!(
            "no network: port {ports} was not approved with this command"
        ));
    }
    let changes = &aside.steered;
    for (paths, what) in [
        (&changes.made, "made"),
        (&changes.changed, "changed"),
        (&changes.removed, "removed"),
    ] {
        let files = match paths.len() {
            0 => continue,
            1 => "a file that steers programs",
            _ => "files that steer programs",
        };
        let paths = listed(paths, PATHS_MAX);
        note(&format!(
            "it {what} {files}: {paths} (a person must look at that)"
        ));
    }
    if aside.unheld > 0 && !aside.missing.contains(&Part::Mounts) {
        note(&format!(
            "not all files that steer programs could be held as they are: {} more were only \
             compared before and after",
            aside.unheld
        ));
    }
    if !aside.unseen.is_empty() {
        let places = listed(&aside.unseen, PATHS_MAX);
        note(&format!(
            "what lies in {places} could not be looked at: files that steer programs may have been \
             changed there"
        ));
    }
    if !aside.missing.is_empty() {
        let parts: Vec<_> = aside.missing.iter().map(|part| part.as_str()).collect();
        let parts = parts.join(", ");
        note(&format!("it was not fully shut in; missing: {parts}"));
    }
}

/// One output: what was kept of it, with what is no text replaced.
fn output(text: &mut String, name: &str, kept: &Kept) {
    let bytes = kept.head.len().saturating_add(kept.tail.len());
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    let bytes = bytes.saturating_add(kept.cut);
    if bytes == 0 {
        let _ = writeln!(text, "{name}: nothing");
        return;
    }
    let _ = writeln!(text, "{name}: {bytes} bytes");
    text.push_str(&String::from_utf8_lossy(&kept.head));
    if kept.cut > 0 {
        let _ = write!(text, "\n[... {} bytes left out ...]\n", kept.cut);
    }
    text.push_str(&String::from_utf8_lossy(&kept.tail));
    if !text.ends_with('\n') {
        text.push('\n');
    }
}
