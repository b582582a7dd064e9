//! Words that the shell fills in from the names of files: which program they may come to name,
//! where a program that nobody knows may run it.

use crate::steering::without_case;

use super::programs::among;

/// Programs that run none of their operands.
const KNOWN: &str = "\
    cat ls head tail less more wc grep egrep fgrep rg ag chmod chown chgrp stat touch mkdir rm \
    rmdir diff cmp file git hg svn systemctl echo printf cd pushd test [ [[ cp ln mv install tee \
    sponge dd sed jq yq awk gawk mawk sort uniq cut tr tac nl paste join comm column fold od xxd \
    strings sha1sum sha256sum sha512sum md5sum b2sum cksum tar zip unzip gzip gunzip bzip2 xz zstd \
    7z cargo rustc rustfmt npm yarn pnpm pip docker podman kubectl helm terraform gh apt apt-get \
    dpkg dnf yum brew pacman apk snap man which type whereis whatis export unset return exit kill \
    true false pwd date du df tree basename dirname realpath readlink gcc clang cc c++ g++ go \
    rsync scp pytest ruff black prettier eslint shellcheck find fd fdfind locate open case for in";

/// Whether a program runs none of its operands.
pub(super) fn is_known(name: &str) -> bool {
    among(KNOWN, name)
}

/// Whether the last part of a path that the shell fills in can be this name. One of wildcards alone
/// says nothing.
pub(super) fn can_be(path: &str, name: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    let wild = |c: char| matches!(c, '*' | '?' | '[' | '{');
    if path.contains(['$', '`']) || !last.contains(wild) || !last.contains(char::is_alphanumeric) {
        return false;
    }
    let glob: Vec<char> = simple(&without_case(last));
    let name: Vec<char> = name.chars().collect();
    fits(&glob, &name)
}

/// A glob of `*`, `?` and letters that fits whatever the given one does.
fn simple(glob: &str) -> Vec<char> {
    let mut simple = Vec::new();
    let mut chars = glob.chars();
    while let Some(c) = chars.next() {
        let (end, stands) = match c {
            '[' => (']', '?'),
            '{' => ('}', '*'),
            _ => {
                simple.push(c);
                continue;
            }
        };
        let closed = chars.as_str().contains(end);
        // A `]` that comes first is one of the letters.
        for (at, c) in chars.by_ref().enumerate() {
            if c == end && at > 0 {
                break;
            }
        }
        simple.push(if closed { stands } else { '*' });
    }
    simple
}

/// Whether a glob of `*`, `?` and letters fits a name: two places to go back to are enough.
fn fits(glob: &[char], name: &[char]) -> bool {
    let (mut g, mut n) = (0_usize, 0_usize);
    let mut back: Option<(usize, usize)> = None;
    while n < name.len() {
        match glob.get(g) {
            Some('*') => {
                g = g.saturating_add(1);
                back = Some((g, n));
            }
            Some(c) if *c == '?' || name.get(n) == Some(c) => {
                g = g.saturating_add(1);
                n = n.saturating_add(1);
            }
            Some(_) | None => {
                let Some((star, at)) = back else {
                    return false;
                };
                (g, n) = (star, at.saturating_add(1));
                back = Some((g, n));
            }
        }
    }
    glob.get(g..)
        .is_none_or(|rest| rest.iter().all(|c| *c == '*'))
}
