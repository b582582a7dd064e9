//! Commands of git behind which an alias may stand: what it runs is in a file.

use super::hosts::program_at;
use super::is_flag;
use super::programs::{among, name_of};
use super::scan::{Segment, Word};

/// The commands that git has by itself: no alias takes their place.
const OWN: &str = "\
    add am annotate apply archimport archive backfill bisect blame branch bugreport bundle cat- \
    file check-attr check-ignore check-mailmap check-ref-format checkout checkout-index cherry \
    cherry-pick citool clean clone column commit commit-graph commit-tree config count-objects \
    credential credential-cache credential-store cvsexportcommit cvsimport cvsserver daemon \
    describe diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import \
    fetch fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck \
    fsck-objects gc get-tar-commit-id grep gui hash-object help history hook http-backend http- \
    fetch http-push imap-send index-pack init init-db instaweb interpret-trailers last-modified \
    log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file \
    merge-index merge-octopus merge-one-file merge-ours merge-recursive merge-recursive-ours \
    merge-recursive-theirs merge-resolve merge-subtree merge-tree mergetool mktag mktree multi- \
    pack-index mv name-rev notes p4 pack-objects pack-redundant pack-refs patch-id pickaxe prune \
    prune-packed pull push quiltimport range-diff read-tree rebase receive-pack reflog refs \
    remote remote-ext remote-fd remote-ftp remote-ftps remote-http remote-https repack replace \
    replay repo request-pull rerere reset restore rev-list rev-parse revert rm scalar send-email \
    send-pack shell shortlog show show-branch show-index show-ref sparse-checkout stage stash \
    status stripspace submodule svn switch symbolic-ref tag unpack-file unpack-objects update- \
    index update-ref update-server-info upload-archive upload-pack var verify-commit verify-pack \
    verify-tag version whatchanged worktree write-tree";

const OWN_NAME: &str = "git";

/// Flags before the command that take the next word.
const VALUED: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];

/// Whether git is told to run a command that is none of its own.
pub(super) fn may_hold_one(segments: &[Segment]) -> bool {
    segments.iter().any(|segment| {
        let words = program_at(segment).and_then(|at| segment.words.get(at..));
        let Some((first, _)) = words.and_then(<[Word]>::split_first) else {
            return false;
        };
        let name = name_of(&first.text);
        if name != OWN_NAME && super::globs::is_known(&name) {
            return false;
        }
        let words = words.unwrap_or_default();
        let mut at = words.iter().enumerate();
        at.any(|(at, word)| {
            let behind = words.get(at.saturating_add(1)..).unwrap_or_default();
            word.text.len() >= OWN_NAME.len() && name_of(&word.text) == OWN_NAME && !is_own(behind)
        })
    })
}

/// Whether the first of these words that is no flag is a command of git, or there is none.
fn is_own(behind: &[Word]) -> bool {
    let mut words = behind.iter().filter(|word| !word.target);
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if VALUED.contains(&text) {
            words.next();
        } else if !is_flag(text) {
            // What expands is told elsewhere.
            return word.expands || among(OWN, text);
        }
    }
    true
}
