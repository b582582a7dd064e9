//! What commands are run with on this machine: where programs lie, and what shuts them in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use placet_ledger::containment::{Level, Part};

use crate::contain::{Container, Helper};

/// Where the system's own programs lie, looked at after what the person's path names.
pub const SYSTEM_PATH: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// What commands are run with.
#[derive(Debug)]
pub struct Machine {
    helper: Option<Helper>,
    home: Option<PathBuf>,
    path: Vec<PathBuf>,
    marks: PathBuf,
    container: OnceLock<Container>,
}

impl Machine {
    /// A machine whose `helper` shuts processes in. `path` is the person's own search path, of
    /// which the absolute folders count; `home` is theirs, and `marks` a folder for files that tell
    /// what runs.
    pub fn new(helper: Option<Helper>, home: Option<PathBuf>, path: &str, marks: PathBuf) -> Self {
        let own = path.split(':').map(Path::new).filter(|at| at.is_absolute());
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in own.chain(SYSTEM_PATH.map(Path::new)) {
            let plain = !folder.to_string_lossy().chars().any(char::is_control);
            if plain && !folders.iter().any(|known| known == folder) {
                folders.push(folder.to_owned());
            }
        }
        Self {
            helper,
            home,
            path: folders,
            marks,
            container: OnceLock::new(),
        }
    }

    /// What shuts processes in; `None` where no program is known that could do it. The first call
    /// finds out what the machine can do.
    pub fn container(&self) -> Option<&Container> {
        let helper = self.helper.as_ref()?;
        Some(self.container.get_or_init(|| {
            let probed = Container::probe(helper.clone());
            probed.with_home(self.home.clone())
        }))
    }

    /// What holds a process with these ports.
    pub fn level(&self, ports: &BTreeSet<u16>) -> Level {
        match self.container() {
            Some(container) => container.level_with(ports),
            None => Level::of(Part::ALL.into()),
        }
    }

    /// The folders in which programs are looked for, in this order, but for those that lie in the
    /// workspace: a command that means a program of the workspace says where it lies.
    pub fn path_beside(&self, workspace: &Path) -> Vec<PathBuf> {
        let apart = |folder: &&PathBuf| {
            let real = folder.canonicalize();
            !folder.starts_with(workspace) && !real.is_ok_and(|real| real.starts_with(workspace))
        };
        self.path.iter().filter(apart).cloned().collect()
    }

    /// The folder for files that tell what runs.
    pub fn marks(&self) -> &Path {
        &self.marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_persons_folders_come_first_and_relative_ones_do_not_count() {
        let path = |text: &str| -> Vec<String> {
            let machine = Machine::new(None, None, text, PathBuf::new());
            let folders = machine.path_beside(Path::new("/srv/ws"));
            folders.iter().map(|at| at.display().to_string()).collect()
        };
        let system = SYSTEM_PATH.map(str::to_owned);
        assert_eq!(path(""), system);
        assert_eq!(path("bin:.:~/bin::/srv/ws/bin:/srv/ws"), system);
        let mut own = vec![String::from("/opt/own/bin"), String::from("/usr/bin")];
        let rest = system.iter().filter(|at| *at != "/usr/bin").cloned();
        own.extend(rest);
        assert_eq!(path("/opt/own/bin:/usr/bin:/opt/own/bin:/a\nb"), own);
    }

    #[test]
    fn without_a_helper_nothing_holds_a_process() {
        let machine = Machine::new(None, None, "", PathBuf::new());
        assert!(machine.container().is_none());
        let none = Level::of(Part::ALL.into());
        assert_eq!(machine.level(&BTreeSet::new()), none);
    }
}
