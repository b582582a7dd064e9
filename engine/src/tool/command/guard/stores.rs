//! Which parts of a store of versions steer programs, and how one is known.

use crate::steering::repository_names;

/// What of a git store says what git runs, or where it finds that. All else changes with every
/// commit.
pub(super) const GIT: &[&str] = &[
    "branches",
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "hooks",
    "info",
    "remotes",
];

/// What of a git store says what it does next, once somebody continues what was begun. Git itself
/// writes it, so it is compared and not held.
pub(super) const BEGUN: &[&str] = &["rebase-apply", "rebase-merge", "sequencer"];

/// Stores of versions, with what of each steers programs.
pub(super) const STORES: [(&str, &[&str]); 5] = [
    (".git", GIT),
    (
        ".hg",
        &["hgrc", "hgrc-not-shared", "requires", "sharedpath"],
    ),
    (
        ".sl",
        &[
            "config",
            "hgrc",
            "hgrc-not-shared",
            "requires",
            "sharedpath",
        ],
    ),
    (
        ".jj",
        &[
            "repo/config.toml",
            "repo/store/git_target",
            "repo/store/git/commondir",
            "repo/store/git/config",
            "repo/store/git/hooks",
            "repo/store/git/info",
        ],
    ),
    (".svn", &[]),
];

/// What of a store holds the stores of other repositories.
pub(super) const INNER: [&str; 2] = ["modules", "worktrees"];

/// What of a store holds versions alone.
pub(super) const PLAIN: &[&str] = &["logs", "objects", "refs"];

/// Whether git takes a folder for a store that has what is asked for, whatever its own name.
pub(super) fn is_store(has: impl Fn(&str) -> bool) -> bool {
    repository_names().into_iter().all(&has) || (has("HEAD") && has("commondir"))
}
