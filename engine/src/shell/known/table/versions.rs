//! Programs that are only asked for their version.
//!
//! Left out are those that choose another program of that name by what a file in the workspace
//! says, and run or fetch it to answer: `cargo` and `rustc` (rustup), `go`, `yarn`, `pnpm`, `npx`,
//! `gradle`, `mvn`, `bundle`, and `npm`. `java` keeps a
//! file about each run.

use super::Line;
use super::Rule::Exact;

pub(super) const TABLE: &[Line] = &[
    ("node nodejs", Exact(&["-v", "--version"])),
    ("python python2 python3", Exact(&["-V", "-VV", "--version"])),
    ("ruby", Exact(&["-v", "--version"])),
    ("perl", Exact(&["-v", "--version"])),
    ("php", Exact(&["-v", "--version"])),
    ("lua luajit", Exact(&["-v"])),
    ("gcc g++ cc c++ clang clang++", Exact(&["--version", "-v"])),
    ("make gmake cmake ninja", Exact(&["--version"])),
    ("bash zsh", Exact(&["--version"])),
    ("awk gawk", Exact(&["--version"])),
    ("tar gzip bzip2 xz zstd rsync", Exact(&["--version"])),
    ("curl wget", Exact(&["--version", "-V"])),
    ("ssh", Exact(&["-V"])),
    ("openssl", Exact(&["version", "version -a"])),
    ("docker", Exact(&["--version", "-v"])),
    ("psql sqlite3 mysql redis-cli", Exact(&["--version"])),
    ("vim nvim emacs nano less man", Exact(&["--version"])),
];
