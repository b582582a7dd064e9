//! Real shells, and what they did with commands.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

const RUNNER: &str = include_str!("runner.sh");

/// Commands that a shell gets at once.
pub(super) const BATCH: usize = 1_000;

/// Where no program is found. An empty `PATH` is the current folder to bash, which then reports no
/// name as not found.
const NOWHERE: &str = "/nonexistent";

/// Who owns nothing.
const NOBODY: u32 = 65_534;

/// A shell of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shell {
    Bash,
    Dash,
}

/// What a shell did with one command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ran {
    /// The commands that ran, with their words.
    pub(super) commands: Vec<Vec<String>>,
    /// Commands that were looked for and not found: their words are not known.
    pub(super) not_found: usize,
    /// A file came to be.
    pub(super) wrote: bool,
    /// What `set --` made of the command, if that was asked for.
    pub(super) words: Option<Vec<String>>,
}

impl Shell {
    pub(super) const ALL: [Self; 2] = [Self::Bash, Self::Dash];

    fn command(self) -> Command {
        // The time limit is that of a whole batch, far above what one needs.
        let mut command = Command::new("/usr/bin/timeout");
        command.args(["-k", "1", "300"]);
        match self {
            Self::Bash => command.args(["/bin/bash", "--norc", "--noprofile", "-c"]),
            Self::Dash => command.args(["/bin/dash", "-c"]),
        };
        command
    }

    /// What it does with each command; the flag asks for the words too. `None` if it did not get
    /// to the end in time.
    pub(super) fn run(self, commands: &[(bool, &str)]) -> io::Result<Option<Vec<Ran>>> {
        let scratch = tempfile::tempdir()?;
        let (records, place) = (scratch.path().join("records"), scratch.path().join("place"));
        fs::create_dir(&records)?;
        fs::create_dir(&place)?;
        let mut command = self.command();
        command.args([RUNNER, "zero"]).arg(&records);
        for (words, text) in commands {
            command.arg(format!("{}{text}", if *words { '+' } else { '-' }));
        }
        command
            .current_dir(&place)
            .env_clear()
            .env("PATH", NOWHERE)
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if fs::metadata("/proc/self")?.uid() == 0 {
            // What they write outside of the folder must fail.
            for path in [scratch.path(), &records, &place] {
                chown(path, Some(NOBODY), Some(NOBODY))?;
            }
            command.uid(NOBODY).gid(NOBODY);
        }
        let status = command.status()?;
        let mut ran = vec![Ran::default(); commands.len()];
        let ended = read_records(&records.join("records"), &mut ran)?;
        count_not_found(&records.join("errors"), &mut ran)?;
        Ok((ended && status.success()).then_some(ran))
    }
}

/// Sorts the records to their commands; whether the last one is there.
fn read_records(path: &Path, ran: &mut [Ran]) -> io::Result<bool> {
    let bytes = fs::read(path)?;
    let mut fields = bytes
        .split(|byte| *byte == 0)
        .map(|field| String::from_utf8_lossy(field).into_owned());
    let mut ended = false;
    while let Some(head) = fields.next() {
        let Some(kind) = head.chars().next() else {
            break;
        };
        // A command that ran on in the background may write between two fields.
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<usize>().ok());
        let (Some(index), Some(count)) = (number(head.get(1..)), number(fields.next().as_deref()))
        else {
            return Ok(false);
        };
        let words: Vec<String> = fields.by_ref().take(count).collect();
        let of = index.checked_sub(1).and_then(|index| ran.get_mut(index));
        match (kind, of) {
            ('R', Some(ran)) => ran.commands.push(words),
            ('W', Some(ran)) => ran.words = Some(words),
            ('F', Some(ran)) => ran.wrote = true,
            ('E', None) => ended = true,
            _ => return Ok(false),
        }
    }
    Ok(ended)
}

/// Counts the messages about commands that were not found.
fn count_not_found(path: &Path, ran: &mut [Ran]) -> io::Result<()> {
    let bytes = fs::read(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut index = None;
    for line in text.lines() {
        if let Some(next) = line.strip_prefix('@').and_then(|text| text.parse().ok()) {
            index = usize::checked_sub(next, 1);
        }
        let missing = [
            ": not found",
            ": No such file or directory",
            ": Permission denied",
        ];
        if missing.iter().any(|end| line.ends_with(end))
            && let Some(ran) = index.and_then(|index| ran.get_mut(index))
        {
            ran.not_found += 1;
        }
    }
    Ok(())
}
