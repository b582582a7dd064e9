//! The home: the folder that holds a ledger, made whole under another name and renamed once.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use placet_engine::contain::is_marked;
use placet_engine::engine::Place;
use placet_engine::leases::FileLeases;
use placet_ledger::event::PublicKey;
use placet_ledger::id::{HostId, LedgerId};
use placet_ledger::ledger::local_principal;
use placet_ledger::regular;
use placet_ledger::staging::Staging;
use placet_ledger::store::sled::SledStore;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustix::process::getpid;

use crate::args::GlobalArgs;
use crate::error::{CommandError, Kind};
use crate::io::Io;
use crate::unusable::cannot_use;

/// Our folder under one of the folders that the desktop specification names.
fn under(io: &Io, xdg: &str, rest: &str) -> Option<PathBuf> {
    let home = || io.var("HOME").map(|home| Path::new(home).join(rest));
    let folder = io.var(xdg).map(PathBuf::from).or_else(home);
    folder.map(|folder| io.path(&folder.join("placet")))
}

/// What opening a store may write: sled makes room in its file, and a snapshot of what it read.
const OPENING_BYTES: u64 = 8 * 1024 * 1024;

/// In a home: files that tell what runs for a call.
const RUNNING: &str = "running";

/// Beside a head file: the path of the home that it is for.
const HOME_NOTE: &str = "home";

/// A home while it is made; what is made of it before that has a name that begins so.
const STAGED: &str = "home";

/// Where everything of one ledger lies.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// The folder that holds it.
    pub(crate) dir: PathBuf,
    /// The folder of head files, one folder a ledger in it.
    state: PathBuf,
    /// Whether the environment named it.
    pub(crate) from_env: bool,
}

/// The keys of a new ledger.
pub(crate) struct NewKeys {
    /// The public key that signs for it.
    pub(crate) key: PublicKey,
    /// The public key that can replace that one.
    pub(crate) recovery: PublicKey,
}

impl Home {
    /// Finds the home from options and environment; it need not exist.
    pub(crate) fn locate(global: &GlobalArgs, io: &Io) -> Result<Self, CommandError> {
        // One that is passed over would lead to another ledger than was meant.
        let read = ["PLACET_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "HOME"];
        if let Some(name) = read.iter().find(|name| io.env_not_utf8.contains(**name)) {
            let what = format!("the environment variable {name} is not UTF-8");
            return Err(CommandError::usage(what).hint("name a folder whose path is UTF-8"));
        }
        let nowhere = || {
            CommandError::usage("there is no folder for the ledger: HOME is not set")
                .hint("name one with --home DIR")
        };
        let (dir, from_env) = match (&global.home, io.var("PLACET_HOME")) {
            (Some(named), _) => (io.path(named), false),
            (None, Some(named)) => (io.path(Path::new(named)), true),
            (None, None) => (Self::default_dir(io).ok_or_else(nowhere)?, false),
        };
        let state = under(io, "XDG_STATE_HOME", ".local/state").ok_or_else(|| {
            CommandError::usage("there is no folder for the head file: HOME is not set")
                .hint("set HOME, or XDG_STATE_HOME; it lies outside the home on purpose")
        })?;
        Ok(Self {
            dir: io.path(&dir),
            state: io.path(&state),
            from_env,
        })
    }

    /// The home of whoever names none.
    pub(crate) fn default_dir(io: &Io) -> Option<PathBuf> {
        under(io, "XDG_DATA_HOME", ".local/share")
    }

    /// Whether this process belongs to a call that runs, by the marks of the homes that whoever
    /// started it may have: a process that is contained sees none of them, and reaches none.
    pub(crate) fn is_inside(io: &Io) -> bool {
        let named = io.var("PLACET_HOME").map(|named| io.path(Path::new(named)));
        let homes = [named, Self::default_dir(io)];
        let own = getpid().as_raw_pid();
        let marked = |home: PathBuf| is_marked(&home.join(RUNNING), own);
        homes.into_iter().flatten().any(marked)
    }

    /// The folder of the head file of a ledger.
    pub(crate) fn head_dir(&self, ledger: LedgerId) -> PathBuf {
        self.state.join(ledger.to_string())
    }

    /// Notes beside the head file of a ledger which home it is for, if that is not said yet.
    pub(crate) fn note_in_state(&self, ledger: LedgerId) -> Result<(), CommandError> {
        let folder = self.head_dir(ledger);
        let (path, here) = (folder.join(HOME_NOTE), real(&self.dir));
        let here = here.as_os_str().as_bytes();
        if regular::read(&path).is_ok_and(|noted| noted == here) {
            return Ok(());
        }
        let new = folder.join(format!("{HOME_NOTE}.{}", std::process::id()));
        let noted = write_new(&new, here)
            .and_then(|()| fs::rename(&new, &path))
            .and_then(|()| fs::File::open(folder)?.sync_all());
        if noted.is_err() {
            drop(fs::remove_file(&new));
        }
        noted.map_err(cannot_use("note which home it is for in", &path))
    }

    /// The folder of a head file for this home, of which the home itself is gone.
    pub(crate) fn left_in_state(&self) -> Option<PathBuf> {
        let here = real(&self.dir);
        let entries = fs::read_dir(&self.state).ok()?.filter_map(Result::ok);
        let mut folders = entries.map(|entry| entry.path());
        folders.find(|folder| {
            let noted = regular::read(&folder.join(HOME_NOTE));
            noted.is_ok_and(|noted| noted == here.as_os_str().as_bytes())
        })
    }

    /// The folder of all head files.
    pub(crate) fn state_dir(&self) -> &Path {
        &self.state
    }

    /// Where lock files of file tools lie.
    pub(crate) fn locks(&self) -> PathBuf {
        self.dir.join("locks")
    }

    /// Where files lie that tell what runs for a call.
    pub(crate) fn running(&self) -> PathBuf {
        self.dir.join(RUNNING)
    }

    /// Where files lie that tell who drives a run.
    pub(crate) fn driving(&self) -> PathBuf {
        self.dir.join("driving")
    }

    /// Who drives which run, of all processes that use this home.
    pub(crate) fn leases(&self) -> Arc<FileLeases> {
        Arc::new(FileLeases {
            driving: self.driving(),
            running: self.running(),
        })
    }

    /// Where a user drives runs.
    pub(crate) fn place(&self, uid: u32) -> Result<Place, CommandError> {
        let user = local_principal(uid);
        let user = user.map_err(|error| CommandError::new(Kind::Failed, error))?;
        let host = self.host()?;
        Ok(Place { host, user })
    }

    /// Whether there is room for what opening a store writes. Where the system does not tell,
    /// opening will.
    pub(crate) fn has_room(&self) -> bool {
        let told = rustix::fs::statvfs(&self.dir).ok();
        let free = told.map(|told| told.f_bavail.saturating_mul(told.f_frsize));
        free.is_none_or(|free| free >= OPENING_BYTES)
    }

    /// The ledger in it, if there is one.
    pub(crate) fn ledger(&self) -> Option<LedgerId> {
        SledStore::ledger_at(&self.dir)
    }

    /// Whether there is nothing yet, or an empty folder. What cannot be looked at is something, and
    /// so is a link or a file: a new home could not take its place.
    pub(crate) fn is_free(&self) -> bool {
        match fs::symlink_metadata(&self.dir) {
            Ok(there) if there.is_dir() => {
                fs::read_dir(&self.dir).is_ok_and(|mut entries| entries.next().is_none())
            }
            Ok(_) => false,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    }

    /// A new home, made beside its place.
    pub(crate) fn staged(&self) -> Result<Staged, CommandError> {
        let folder = stage(&self.dir)?;
        let home = Self {
            dir: folder.path().join(STAGED),
            ..self.clone()
        };
        Ok(Staged { home, folder })
    }

    /// The same for a new ledger, whose head file lies outside of it: what one leaves that is
    /// killed is known by the note of it, and removed by the next one.
    pub(crate) fn staged_for(&self, ledger: LedgerId) -> Result<Staged, CommandError> {
        // What cannot be looked for stays where it is.
        for (left, note) in Staging::left(&self.dir).unwrap_or_default() {
            self.forget(&left, &note);
        }
        let staged = self.staged()?;
        let noted = staged.folder.note(&ledger.to_string());
        noted.map_err(cannot_use("write a note in", staged.folder.path()))?;
        Ok(staged)
    }

    /// Removes the head file of a ledger whose home never had its name: it is still in the folder
    /// in which it was made, and what never had its name was never used.
    fn forget(&self, left: &Staging, note: &str) {
        let Ok(ledger) = note.parse::<LedgerId>() else {
            return;
        };
        let head = self.head_dir(ledger);
        let is_home = |name: &OsStr| name.as_bytes().starts_with(STAGED.as_bytes());
        let unnamed =
            names(left.path()).is_some_and(|names| names.iter().any(|name| is_home(name)));
        // Whoever opens a home notes it here.
        let made = |name: &OsString| name == "head" || name == "holder";
        let unused = names(&head).is_some_and(|names| names.iter().all(made));
        if unnamed
            && unused
            && let Err(error) = fs::remove_dir_all(&head)
        {
            tracing::debug!(path = %head.display(), %error, "it cannot be removed");
        }
    }

    /// Puts what was made in its place, and lets the folder go in which it was made.
    pub(crate) fn adopt(&self, staged: Staged) -> Result<(), CommandError> {
        let failed = || cannot_use("make the home", &self.dir);
        fs::rename(&staged.home.dir, &self.dir).map_err(failed())?;
        drop(staged);
        let parent = self.dir.parent().map(fs::File::open);
        let synced = parent.map_or(Ok(()), |parent| parent?.sync_all());
        synced.map_err(failed())
    }

    /// Makes the folders above it.
    pub(crate) fn make_parents(&self) -> Result<(), CommandError> {
        let cannot = |path: &Path, error: std::io::Error| {
            let what = format!("cannot make the folder {}: {error}", path.display());
            CommandError::new(Kind::Failed, what).hint("name another place with --home DIR")
        };
        for path in [self.dir.parent(), Some(self.state.as_path())]
            .into_iter()
            .flatten()
        {
            private_dir(path).map_err(|error| cannot(path, error))?;
        }
        Ok(())
    }

    /// Makes keys, host id and the folders of locks, of what runs and of who drives.
    pub(crate) fn furnish(&self) -> Result<NewKeys, CommandError> {
        let keys = NewKeys {
            key: self.write_key("ledger.key")?,
            recovery: self.write_key("recovery.key")?,
        };
        self.furnish_places(None)?;
        Ok(keys)
    }

    /// Where the head file of a ledger is made anew, beside its place.
    pub(crate) fn staged_head(&self, ledger: LedgerId) -> Result<Staging, CommandError> {
        stage(&self.head_dir(ledger))
    }

    /// Another home that holds this ledger, if its head file is for that one.
    pub(crate) fn lives_elsewhere(&self, ledger: LedgerId) -> Option<PathBuf> {
        let noted = regular::read(&self.head_dir(ledger).join(HOME_NOTE)).ok()?;
        let noted = PathBuf::from(OsStr::from_bytes(&noted));
        let there = SledStore::ledger_at(&noted) == Some(ledger);
        (there && noted != real(&self.dir)).then_some(noted)
    }

    /// Gives a store that was restored what a home has beside it: host id, folders, the key of the
    /// socket, and that of the ledger where somebody kept it.
    pub(crate) fn furnish_again(
        &self,
        key: Option<&[u8]>,
        host: Option<HostId>,
    ) -> Result<(), CommandError> {
        if let Some(key) = key {
            self.write("ledger.key", key)?;
        }
        self.make_socket_key()?;
        self.furnish_places(host)
    }

    /// Host id, and the folders of locks and of what runs.
    fn furnish_places(&self, host: Option<HostId>) -> Result<(), CommandError> {
        let host = host.unwrap_or_else(|| HostId::new(uuid::Uuid::new_v4()));
        self.write("host", host.to_string().as_bytes())?;
        for folder in [self.locks(), self.running(), self.driving()] {
            private_dir(&folder).map_err(cannot_use("make the folder", &folder))?;
        }
        let synced = fs::File::open(&self.dir).and_then(|folder| folder.sync_all());
        synced.map_err(cannot_use("sync the folder", &self.dir))
    }

    fn write_key(&self, name: &str) -> Result<PublicKey, CommandError> {
        let no_key = || CommandError::new(Kind::Failed, "cannot make a key for the ledger");
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| no_key())?;
        let pair = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).map_err(|_| no_key())?;
        let public = pair
            .public_key()
            .as_ref()
            .try_into()
            .map_err(|_| no_key())?;
        self.write(name, pkcs8.as_ref())?;
        Ok(PublicKey::from_bytes(public))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), CommandError> {
        let path = self.dir.join(name);
        write_new(&path, bytes).map_err(cannot_use("write", &path))
    }

    /// The random id of this machine, as the home keeps it.
    fn host(&self) -> Result<HostId, CommandError> {
        let path = self.dir.join("host");
        let damaged = |error: &dyn std::fmt::Display| {
            let what = format!("cannot read the host id in {}: {error}", path.display());
            CommandError::new(Kind::Integrity, what)
                .hint("put the file back; until then the ledger can be read, not driven on")
        };
        let text = regular::read_text(&path).map_err(|error| damaged(&error))?;
        text.parse().map_err(|error| damaged(&error))
    }
}

/// A home that is being made; what is left of it in the end is removed.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) home: Home,
    folder: Staging,
}

/// The names in a folder, where it can be read.
fn names(folder: &Path) -> Option<Vec<OsString>> {
    let entries = fs::read_dir(folder).ok()?;
    entries.map(|entry| Some(entry.ok()?.file_name())).collect()
}

fn stage(place: &Path) -> Result<Staging, CommandError> {
    Staging::beside(place).map_err(|error| {
        let what = format!("cannot make a folder beside {}: {error}", place.display());
        CommandError::new(Kind::Failed, what)
    })
}

/// Makes a folder for its owner alone, and each above it that is missing; their names are durable.
fn private_dir(path: &Path) -> std::io::Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|folder| *folder != Path::new("") && !folder.exists())
        .collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let parents = missing.into_iter().filter_map(Path::parent);
    for parent in parents.filter(|parent| *parent != Path::new("")) {
        fs::File::open(parent)?.sync_all()?;
    }
    Ok(())
}

/// Writes a file that is not there yet, for its owner alone.
fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A path as the file system has it, as far as it is there: one folder has one spelling.
fn real(path: &Path) -> PathBuf {
    let there = path
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = there else {
        return path.to_owned();
    };
    let mut real = real;
    let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
    for part in rest.components() {
        match part {
            Component::ParentDir => drop(real.pop()),
            Component::Normal(name) => real.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    real
}
