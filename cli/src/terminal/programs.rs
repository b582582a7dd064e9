//! A person's own pager and editor, run on their terminal.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use placet_ledger::regular;

/// What a shell says of a program that it did not find, or could not run.
const NOT_RUN: [i32; 2] = [126, 127];

/// The most that is read back from an editor: no content of a record is longer.
const EDITED_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Which programs a person likes, as their environment says.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The command line of the pager.
    pub pager: String,
    /// The command line of the editor.
    pub editor: String,
    /// Where temporary files go.
    pub temporary: PathBuf,
}

impl Programs {
    /// What the environment says.
    pub fn of<'a>(var: impl Fn(&str) -> Option<&'a str>) -> Self {
        let first = |names: &[&str], otherwise: &str| {
            let named = names
                .iter()
                .filter_map(|name| var(name))
                .find(|value| !value.is_empty());
            named.unwrap_or(otherwise).to_owned()
        };
        Self {
            pager: first(&["PAGER"], "less"),
            editor: first(&["VISUAL", "EDITOR"], "vi"),
            temporary: PathBuf::from(first(&["TMPDIR"], "/tmp")),
        }
    }

    /// Shows a text in the pager. Says whether there was one.
    pub(super) fn page(&self, text: &str) -> io::Result<bool> {
        let mut command = shell(&self.pager, &[])?;
        // A pager that can write files or start programs would do so for whoever wrote the text.
        command
            .env("LESSSECURE", "1")
            .env_remove("LESSOPEN")
            .env_remove("LESSCLOSE")
            .stdin(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // Whoever has seen enough closes the pager before the end.
            drop(stdin.write_all(text.as_bytes()));
        }
        let status = child.wait()?;
        if ran(status) && !status.success() {
            // Nobody knows how much of the text it showed.
            return Err(io::Error::other(format!("it ended with {status}")));
        }
        Ok(ran(status))
    }

    /// Has a text changed in the editor: in a file that only its owner may read.
    pub(super) fn edit(&self, text: &str, suffix: &str) -> io::Result<String> {
        let mut file = tempfile::Builder::new()
            .prefix("placet-")
            .suffix(suffix)
            .tempfile_in(&self.temporary)?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        let status = shell(&self.editor, &[file.path().into()])?
            .spawn()?
            .wait()?;
        if !status.success() {
            let editor = &self.editor;
            let what = if ran(status) {
                format!("the editor {editor} ended with {status}: nothing is changed")
            } else {
                format!("there is no editor {editor}: set VISUAL or EDITOR to another one")
            };
            return Err(io::Error::other(what));
        }
        // Many editors write another file and rename it: the name counts, not the handle.
        let saved = regular::open_named(file.path())?;
        let mut text = String::new();
        saved.take(EDITED_BYTES_MAX).read_to_string(&mut text)?;
        Ok(text)
    }
}

/// A command line of the person's environment, read by a shell as other programs do.
#[expect(
    clippy::disallowed_methods,
    reason = "a person's own program at their terminal, not a process of a run"
)]
fn shell(line: &str, operands: &[OsString]) -> io::Result<Command> {
    // Standard output may be a file; what is for the person goes where the dialog goes.
    let screen = io::stderr().as_fd().try_clone_to_owned()?;
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{line} \"$@\""))
        .arg("placet")
        .args(operands)
        .stdout(screen);
    Ok(command)
}

fn ran(status: ExitStatus) -> bool {
    status.code().is_none_or(|code| !NOT_RUN.contains(&code))
}
