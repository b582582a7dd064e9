//! The mount namespace: a root of its own in which only the system, toolchains and workspace are.
//!
//! The machine's root is put aside below the new one, everything is bound from there, and then it
//! is taken away. All that is bound keeps its path.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CString, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use placet_ledger::containment::Part;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive,
    mount_change, mount_remount, unmount,
};
use rustix::process::{chdir, pivot_root};

use super::places::{DEVICES, Places, SYSTEM};
use super::program::{Program, Refused};
use super::scratch;
use crate::contain::spec::{Lack, Lacking, Spec};

/// Where the machine's root lies while the new one is filled.
const HOST: &str = "/.host";
/// Covers files that must not be seen.
const EMPTY: &str = "/.empty";
/// The copy of a digested program.
const PROGRAM: &str = "/.program";

/// Folders that exist everywhere, one of which becomes the new root.
const STAGES: [&str; 5] = ["/tmp", "/mnt", "/var", "/opt", "/usr"];

/// How a mount can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Write,
    Device,
}

/// The new root while it is filled.
#[derive(Debug, Default)]
struct Root {
    uses: BTreeMap<PathBuf, Use>,
}

/// Goes into the new root. Whatever fails, nothing of it has run.
pub(super) fn enter(spec: &Spec, places: &Places, program: &mut Program) -> Result<(), Refused> {
    let part = Part::Mounts;
    let links = system_links();
    stage(spec).lacks(part, "new root")?;
    let mut root = Root::default();
    root.uses.insert(PathBuf::from("/"), Use::Read);
    root.devices().lacks(part, "devices")?;
    let memory = spec.job.as_ref().map_or(0, |job| job.limits.memory_bytes);
    root.scratch(&places.private, memory)
        .lacks(part, "temporary files")?;
    root.processes(spec)?;
    for (link, target) in &links {
        symlink(target, link).lacks(part, "system folders")?;
    }
    root.folders(places, &links).lacks(part, "folders")?;
    root.guard(places).lacks(part, "read-only files")?;
    if program.copy(Path::new(PROGRAM))? {
        root.program(places).lacks(part, "program")?;
    }
    root.hide(&places.hidden).lacks(part, "hidden files")?;
    root.close().lacks(part, "read-only mounts")?;
    Ok(())
}

/// System folders that are links, as on most machines today.
fn system_links() -> Vec<(PathBuf, PathBuf)> {
    let system = SYSTEM.iter().map(PathBuf::from);
    system
        .filter_map(|path| fs::read_link(&path).ok().map(|target| (path, target)))
        .collect()
}

/// Makes the new root and puts the machine's aside below it.
fn stage(spec: &Spec) -> io::Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private)?;
    let place = STAGES.iter().find(|place| Path::new(place).is_dir());
    let place = Path::new(place.ok_or(io::ErrorKind::NotFound)?);
    // The copy of a digested program lies in it.
    let digested = spec.job.as_ref().is_some_and(|job| job.digest.is_some());
    let size = if digested { 2_u64 << 30 } else { 4 << 20 };
    temporary_files(place, size, "0755")?;
    let aside = place.join(HOST.trim_start_matches('/'));
    fs::create_dir(&aside)?;
    pivot_root(place, &aside)?;
    chdir("/")?;
    fs::write(EMPTY, [])
}

fn temporary_files(at: &Path, bytes: u64, mode: &str) -> io::Result<()> {
    let options = CString::new(format!("size={bytes},mode={mode}"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", at, "tmpfs", flags, &*options)?;
    Ok(())
}

/// Where the machine has what the new root has at `path`.
fn host(path: &Path) -> PathBuf {
    Path::new(HOST).join(path.strip_prefix("/").unwrap_or(path))
}

impl Root {
    /// Binds a file or folder of the machine at its own path.
    fn bind(&mut self, path: &Path, usage: Use) -> io::Result<()> {
        let source = host(path);
        if source.is_dir() {
            fs::create_dir_all(path)?;
        } else if fs::symlink_metadata(path).is_err() {
            fs::create_dir_all(path.parent().unwrap_or(path))?;
            fs::write(path, [])?;
        }
        mount_bind_recursive(&source, path)?;
        self.uses.insert(path.to_path_buf(), usage);
        Ok(())
    }

    /// Makes a mount of what is already there, so that it cannot be renamed or written.
    fn pin(&mut self, path: &Path, usage: Use) -> io::Result<()> {
        // Nothing is mounted in a file, and looking for that takes longer with every mount.
        if path.is_dir() {
            mount_bind_recursive(path, path)?;
        } else {
            mount_bind(path, path)?;
        }
        self.uses.insert(path.to_path_buf(), usage);
        Ok(())
    }

    fn devices(&mut self) -> io::Result<()> {
        fs::create_dir("/dev")?;
        for device in DEVICES {
            self.bind(Path::new(device), Use::Device)?;
        }
        for (link, target) in [
            ("/dev/fd", "/proc/self/fd"),
            ("/dev/stdin", "/proc/self/fd/0"),
            ("/dev/stdout", "/proc/self/fd/1"),
            ("/dev/stderr", "/proc/self/fd/2"),
        ] {
            symlink(target, link)?;
        }
        Ok(())
    }

    /// Memory for temporary files, which ends with the namespace, whatever ends that.
    fn scratch(&mut self, private: &Path, bytes: u64) -> io::Result<()> {
        let bytes = bytes.max(4096);
        let around = private.parent().unwrap_or(private);
        for path in scratch::folders(private) {
            fs::create_dir_all(path)?;
            temporary_files(path, bytes, "0700")?;
            self.uses.insert(path.to_path_buf(), Use::Write);
        }
        fs::create_dir_all(private)?;
        for path in ["/tmp", "/var/tmp"].map(Path::new) {
            if !path.exists() {
                fs::create_dir_all(path.parent().unwrap_or(path))?;
                symlink(around, path)?;
            }
        }
        Ok(())
    }

    fn processes(&mut self, spec: &Spec) -> Result<(), Lack> {
        fs::create_dir("/proc").lacks(Part::Mounts, "processes")?;
        let path = Path::new("/proc");
        if spec.has(Part::Processes) {
            let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            // A machine that hides a part of its own does not let a new one be seen.
            mount("proc", path, "proc", flags, None::<&std::ffi::CStr>)
                .lacks(Part::Processes, "processes")?;
            // By what of it tells of the whole machine root could change that, and its modes.
            self.uses.insert(path.to_path_buf(), Use::Read);
        } else {
            self.bind(path, Use::Read)
                .lacks(Part::Mounts, "processes")?;
        }
        Ok(())
    }

    /// The system, toolchains and the workspace; what lies deeper comes later.
    fn folders(&mut self, places: &Places, links: &[(PathBuf, PathBuf)]) -> io::Result<()> {
        let mut folders = BTreeMap::new();
        for path in SYSTEM.iter().map(PathBuf::from) {
            let linked = links.iter().any(|(link, _)| *link == path);
            if !linked && host(&path).is_dir() {
                folders.insert(path, Use::Read);
            }
        }
        let toolchains = places.toolchains.iter().cloned();
        folders.extend(toolchains.map(|path| (path, Use::Read)));
        folders.extend(
            places
                .workspace
                .iter()
                .map(|path| (path.clone(), Use::Write)),
        );
        // Sorted by path, a folder stands before what lies in it.
        for (path, usage) in folders {
            self.bind(&path, usage)?;
        }
        for file in places.files.iter().filter(|file| !file.exists()) {
            self.bind(file, Use::Read)?;
        }
        Ok(())
    }

    /// Closes files of the workspace to writing. The folders on the way to them are pinned, or
    /// one could be moved away and another put in its place.
    fn guard(&mut self, places: &Places) -> io::Result<()> {
        let Some(workspace) = &places.workspace else {
            return Ok(());
        };
        let mut above = BTreeSet::new();
        for path in &places.read_only {
            let folders = path.ancestors().skip(1);
            // The workspace itself may be read-only: what lies above it is none of its folders.
            let within = |folder: &&Path| folder.starts_with(workspace) && *folder != workspace;
            above.extend(folders.take_while(within));
        }
        let closed: BTreeSet<_> = places.read_only.iter().map(PathBuf::as_path).collect();
        for folder in above {
            if !folder.ancestors().any(|at| closed.contains(at)) {
                self.pin(folder, Use::Write)?;
            }
        }
        for path in &places.read_only {
            self.pin(path, Use::Read)?;
        }
        Ok(())
    }

    /// Puts the copy of the program where the program is, so that it finds itself by its path.
    fn program(&mut self, places: &Places) -> io::Result<()> {
        let path = places.files.first().ok_or(io::ErrorKind::NotFound)?;
        mount_bind_recursive(PROGRAM, path)?;
        self.uses.insert(path.clone(), Use::Read);
        fs::remove_file(PROGRAM)
    }

    fn hide(&mut self, hidden: &[PathBuf]) -> io::Result<()> {
        for path in hidden.iter().filter(|path| path.exists()) {
            if path.is_dir() {
                temporary_files(path, 4096, "0500")?;
            } else {
                mount_bind_recursive(EMPTY, path)?;
            }
            self.uses.insert(path.clone(), Use::Read);
        }
        Ok(())
    }

    /// Sets how each mount can be used, and takes the machine's root away.
    fn close(&self) -> io::Result<()> {
        for (path, flags) in mounted()? {
            if path != Path::new("/") && !path.starts_with(HOST) {
                self.remount(&path, flags)?;
            }
        }
        unmount(HOST, UnmountFlags::DETACH)?;
        fs::remove_dir(HOST)?;
        self.remount(Path::new("/"), MountFlags::NOSUID | MountFlags::NODEV)?;
        Ok(())
    }

    fn remount(&self, path: &Path, flags: MountFlags) -> io::Result<()> {
        let usage = path.ancestors().find_map(|above| self.uses.get(above));
        let mut flags = flags | MountFlags::BIND | MountFlags::NOSUID;
        match usage {
            // It is written to all the same; only its mode and times stay.
            Some(Use::Device) => flags |= MountFlags::RDONLY,
            Some(Use::Write) => flags |= MountFlags::NODEV,
            Some(Use::Read) | None => flags |= MountFlags::NODEV | MountFlags::RDONLY,
        }
        mount_remount(path, flags, "")?;
        Ok(())
    }
}

/// Every mount once, with the flags that it must keep.
fn mounted() -> io::Result<BTreeMap<PathBuf, MountFlags>> {
    let table = fs::read(Path::new(HOST).join("proc/self/mountinfo"))?;
    let mut mounted = BTreeMap::new();
    for line in table.split(|&byte| byte == b'\n') {
        let mut fields = line.split(|&byte| byte == b' ').skip(4);
        if let (Some(path), Some(options)) = (fields.next(), fields.next()) {
            // The newest mount of a place stands last, and is the one that can be reached.
            mounted.insert(unescaped(path), flags(options));
        }
    }
    Ok(mounted)
}

fn flags(options: &[u8]) -> MountFlags {
    let options = String::from_utf8_lossy(options);
    options
        .split(',')
        .fold(MountFlags::empty(), |flags, option| {
            flags
                | match option {
                    "ro" => MountFlags::RDONLY,
                    "nosuid" => MountFlags::NOSUID,
                    "nodev" => MountFlags::NODEV,
                    "noexec" => MountFlags::NOEXEC,
                    "noatime" => MountFlags::NOATIME,
                    "nodiratime" => MountFlags::NODIRATIME,
                    "relatime" => MountFlags::RELATIME,
                    _ => MountFlags::empty(),
                }
        })
}

/// A path of the table, in which blanks and the like are written as three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let digits = (first == b'\\')
            .then(|| after.split_at_checked(3))
            .flatten();
        let escape = digits.and_then(|(digits, after)| {
            let digits = std::str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 8).ok()?, after))
        });
        let (byte, after) = escape.unwrap_or((first, after));
        bytes.push(byte);
        rest = after;
    }
    PathBuf::from(OsString::from_vec(bytes))
}
