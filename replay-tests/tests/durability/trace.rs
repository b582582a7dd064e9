//! Reading a trace of system calls: what was written, and whether it was synced before somebody
//! was answered.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The calls that are traced.
pub(super) const CALLS: &str = "open,openat,creat,write,pwrite64,pwritev,writev,fsync,fdatasync,\
    rename,renameat,renameat2,mkdir,mkdirat,rmdir,unlink,unlinkat,link,linkat,ftruncate,fallocate";

/// What a trace said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Traced {
    /// Answers on standard output.
    pub(super) answers: usize,
    /// Writes to files below the root.
    pub(super) writes: usize,
    /// What was not on disk when an answer began, with the answer's number.
    pub(super) unsynced: Vec<(usize, PathBuf)>,
}

/// Follows a trace made with `strace -f -y`.
pub(super) struct Tracer {
    root: PathBuf,
    cwd: PathBuf,
    known: BTreeSet<PathBuf>,
    /// What is not on disk yet, with the number of the last change of it.
    dirty: BTreeMap<PathBuf, u64>,
    changes: u64,
    /// Calls that have begun, by thread, with the number of the last change before them.
    begun: BTreeMap<String, (String, u64)>,
    traced: Traced,
}

impl Tracer {
    /// Files and folders below `root` count; all that is there now was on disk before.
    pub(super) fn new(root: &Path, cwd: &Path) -> Self {
        let mut known = BTreeSet::new();
        collect(root, &mut known);
        Self {
            root: root.to_owned(),
            cwd: cwd.to_owned(),
            known,
            dirty: BTreeMap::new(),
            changes: 0,
            begun: BTreeMap::new(),
            traced: Traced::default(),
        }
    }

    /// Takes in a whole trace.
    pub(super) fn read(mut self, trace: &str) -> Traced {
        for line in trace.lines() {
            self.line(line);
        }
        self.traced
    }

    fn line(&mut self, line: &str) {
        let Some((thread, call)) = line.split_once(' ') else {
            return;
        };
        let call = call.trim();
        if let Some(begun) = call.strip_suffix("<unfinished ...>") {
            self.begin(begun);
            let entry = (begun.trim().to_owned(), self.changes);
            self.begun.insert(thread.to_owned(), entry);
        } else if call.starts_with("<... ") {
            let rest = call.split_once("resumed>").map_or("", |(_, rest)| rest);
            if let Some((begun, since)) = self.begun.remove(thread) {
                self.end(&format!("{begun}{rest}"), since);
            }
        } else {
            self.begin(call);
            let since = self.changes;
            self.end(call, since);
        }
    }

    /// A write counts from its beginning.
    fn begin(&mut self, call: &str) {
        let (name, arguments) = call.split_once('(').unwrap_or((call, ""));
        if !matches!(
            name,
            "write" | "pwrite64" | "pwritev" | "writev" | "ftruncate" | "fallocate"
        ) {
            return;
        }
        if name == "write" && arguments.starts_with("1<") {
            let answer = self.traced.answers;
            self.traced.answers += 1;
            let left = self.dirty.keys().map(|path| (answer, path.clone()));
            self.traced.unsynced.extend(left);
        } else if let Some(path) = fd_path(arguments) {
            self.traced.writes += usize::from(path.starts_with(&self.root));
            self.soil(path);
        }
    }

    /// Everything else counts once it is done, and a sync for what was there when it began.
    fn end(&mut self, call: &str, since: u64) {
        let (name, arguments) = call.split_once('(').unwrap_or((call, ""));
        if result(call).is_some_and(|result| result.starts_with('-')) {
            return;
        }
        match name {
            "fsync" | "fdatasync" => {
                if let Some(path) = fd_path(arguments)
                    && self.dirty.get(&path).is_some_and(|change| *change <= since)
                {
                    self.dirty.remove(&path);
                }
            }
            "open" | "openat" | "creat" if arguments.contains("O_CREAT") || name == "creat" => {
                if let Some(path) = result(call).and_then(fd_path) {
                    self.made(&path);
                }
            }
            "mkdir" | "mkdirat" | "link" | "linkat" => {
                if let Some(path) = self.names(arguments).pop() {
                    self.made(&path);
                }
            }
            "unlink" | "unlinkat" | "rmdir" => {
                if let Some(path) = self.names(arguments).pop() {
                    self.known.remove(&path);
                    self.dirty.remove(&path);
                    self.soil_folder(&path);
                }
            }
            "rename" | "renameat" | "renameat2" => {
                if let [from, to] = &self.names(arguments)[..] {
                    self.renamed(from, to, arguments.contains("RENAME_EXCHANGE"));
                }
            }
            _ => {}
        }
    }

    fn soil(&mut self, path: PathBuf) {
        // Lock files hold nothing: they may be gone after a crash.
        let is_lock = path.components().any(|part| part.as_os_str() == "locks");
        if path.starts_with(&self.root) && !is_lock {
            self.changes += 1;
            self.dirty.insert(path, self.changes);
        }
    }

    fn soil_folder(&mut self, path: &Path) {
        if let Some(folder) = path.parent() {
            self.soil(folder.to_owned());
        }
    }

    fn made(&mut self, path: &Path) {
        if self.known.insert(path.to_owned()) {
            self.soil_folder(path);
        }
    }

    fn renamed(&mut self, from: &Path, to: &Path, exchanged: bool) {
        let moved = |path: &PathBuf| {
            if let Ok(rest) = path.strip_prefix(from) {
                if rest == Path::new("") {
                    to.to_owned()
                } else {
                    to.join(rest)
                }
            } else if let (true, Ok(rest)) = (exchanged, path.strip_prefix(to)) {
                if rest == Path::new("") {
                    from.to_owned()
                } else {
                    from.join(rest)
                }
            } else {
                path.clone()
            }
        };
        let dirty = std::mem::take(&mut self.dirty);
        self.dirty = dirty
            .into_iter()
            .map(|(path, change)| (moved(&path), change))
            .collect();
        self.known = self.known.iter().map(moved).collect();
        self.known.insert(to.to_owned());
        self.soil_folder(from);
        self.soil_folder(to);
    }

    /// The paths that a call names, each below the folder that is named before it.
    fn names(&self, arguments: &str) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        let mut folder = self.cwd.clone();
        let mut rest = arguments;
        while let Some(at) = rest.find(['<', '"']) {
            let (quote, inner) = (rest.as_bytes()[at], &rest[at + 1..]);
            let end = if quote == b'<' { '>' } else { '"' };
            let Some((text, after)) = inner.split_once(end) else {
                break;
            };
            if quote == b'<' {
                folder = PathBuf::from(text);
            } else {
                paths.push(folder.join(text));
            }
            rest = after;
        }
        paths
    }
}

/// The path of a descriptor such as `3</home/db>`.
fn fd_path(text: &str) -> Option<PathBuf> {
    let (number, rest) = text.trim().split_once('<')?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    let (path, _) = rest.split_once('>')?;
    (is_number && path.starts_with('/')).then(|| PathBuf::from(path))
}

/// What a call returned.
fn result(call: &str) -> Option<&str> {
    call.rsplit_once(" = ").map(|(_, result)| result.trim())
}

fn collect(path: &Path, known: &mut BTreeSet<PathBuf>) {
    known.insert(path.to_owned());
    if let Ok(entries) = std::fs::read_dir(path) {
        for entry in entries.flatten() {
            collect(&entry.path(), known);
        }
    }
}

fn traced(trace: &str) -> Traced {
    Tracer::new(Path::new("/nowhere/r"), Path::new("/nowhere/r")).read(trace)
}

fn unsynced(trace: &str) -> Vec<String> {
    let left = traced(trace).unsynced.into_iter();
    left.map(|(_, path)| path.display().to_string()).collect()
}

#[test]
fn a_write_without_a_sync_before_the_answer_is_named() {
    let write = "7 pwrite64(3</nowhere/r/db>, \"\"..., 24, 0) = 24\n";
    let sync = "8 fdatasync(5</nowhere/r/db>) = 0\n";
    let answer = "7 write(1<pipe:[9]>, \"\"..., 6) = 6\n";
    let all = |parts: &[&str]| unsynced(&parts.concat());
    assert_eq!(all(&[write, sync, answer]), Vec::<String>::new());
    assert_eq!(all(&[write, answer, sync]), ["/nowhere/r/db"]);
    assert_eq!(all(&[sync, write, answer]), ["/nowhere/r/db"]);
    let failed = "8 fdatasync(5</nowhere/r/db>) = -1 EIO (Input/output error)\n";
    assert_eq!(all(&[write, failed, answer]), ["/nowhere/r/db"]);
    let begun = "8 fdatasync(5</nowhere/r/db> <unfinished ...>\n";
    let done = "8 <... fdatasync resumed>) = 0\n";
    assert_eq!(all(&[write, begun, done, answer]), Vec::<String>::new());
    assert_eq!(
        all(&[begun, write, done, answer]),
        ["/nowhere/r/db"],
        "begun too early"
    );
    assert_eq!(
        all(&[write, begun, answer, done]),
        ["/nowhere/r/db"],
        "not done yet"
    );
    assert_eq!(traced(&[write, answer].concat()).answers, 1);
    assert_eq!(traced(&[write, answer].concat()).writes, 1);
}

#[test]
fn a_new_name_without_a_sync_of_its_folder_is_named() {
    let answer = "7 write(1<pipe:[9]>, \"\"..., 6) = 6\n";
    let all = |parts: &[&str]| unsynced(&[&parts.concat(), answer].concat());
    let made =
        "7 openat(AT_FDCWD</x>, \"/nowhere/r/a/f\", O_RDWR|O_CREAT, 0600) = 3</nowhere/r/a/f>\n";
    let folder = "7 fsync(4</nowhere/r/a>) = 0\n";
    assert_eq!(all(&[made]), ["/nowhere/r/a"]);
    assert_eq!(all(&[made, folder]), Vec::<String>::new());
    let renamed =
        "7 renameat2(6</nowhere/r/a>, \"f\", 6</nowhere/r/a>, \"g\", RENAME_EXCHANGE) = 0\n";
    assert_eq!(all(&[made, folder, renamed]), ["/nowhere/r/a"]);
    let write = "7 write(3</nowhere/r/a/f>, \"\"..., 4) = 4\n";
    assert_eq!(all(&[made, write, renamed, folder]), ["/nowhere/r/a/g"]);
    let dir = "7 mkdir(\"/nowhere/r/b\", 0700) = 0\n";
    assert_eq!(all(&[dir]), ["/nowhere/r"]);
}
