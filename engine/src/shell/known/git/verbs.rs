//! The verbs of git that only read, with their flags.

use Words::{Any, Nothing, OnlyWith, PatternFirst, Patterns, Reference, Setting, UpTo};

/// A verb that only reads.
pub(super) struct Verb {
    /// As it is written, with a second verb where it has one.
    name: &'static str,
    /// The flags, as [`super::flags`] writes them.
    pub(super) flags: &'static [&'static str],
    /// What its operands may be.
    pub(super) words: Words,
}

/// What the operands of a verb may be.
pub(super) enum Words {
    /// It has none.
    Nothing,
    /// At most so many revisions and paths.
    UpTo(usize),
    /// Revisions and paths.
    Any,
    /// Patterns and names that are no paths.
    Patterns,
    /// Revisions and paths, only where one of these flags stands: without one they are made.
    OnlyWith(&'static [&'static str]),
    /// A pattern, then revisions and paths.
    PatternFirst,
    /// References that cannot be taken for a further verb.
    Reference,
    /// The name of a setting, without a value.
    Setting,
}

/// Flags of whatever prints a difference. `--output` writes, `--ext-diff` and `--textconv` run
/// programs, `--no-index` compares any two files, `--submodule` starts git again.
const DIFF: &str = "-psuzabwRWDrt -B? -M? -C? -X? -U% -l: -S: -G: -I: \
    --patch --no-patch --unified% --raw --patch-with-raw --patch-with-stat --minimal --patience \
    --histogram --anchored: --diff-algorithm: --indent-heuristic --no-indent-heuristic --stat? \
    --stat-width: --stat-name-width: --stat-count: --compact-summary --numstat --shortstat \
    --dirstat? --cumulative --summary --name-only --name-status --color? --no-color \
    --color-moved? --no-color-moved --color-moved-ws: --word-diff? --word-diff-regex: \
    --color-words? --no-renames --rename-empty --no-rename-empty --check --ws-error-highlight: \
    --full-index --binary --abbrev? --no-abbrev --find-renames? --find-copies? --break-rewrites? \
    --find-copies-harder --irreversible-delete --diff-filter: --find-object: --pickaxe-all \
    --pickaxe-regex --relative? --no-relative --text --ignore-cr-at-eol --ignore-space-at-eol \
    --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines: \
    --inter-hunk-context: --function-context --exit-code --quiet --no-ext-diff --no-textconv \
    --ignore-submodules? --src-prefix: --dst-prefix: --no-prefix --default-prefix --line-prefix: \
    --ita-invisible-in-index --rotate-to: --skip-to:";

/// Flags of whatever walks through commits. `--show-signature` runs a program, `--remerge-diff`
/// writes objects, `--stdin` reads further flags.
const LOG: &str = "-NUM -iEFPgcm -n: -L: --oneline --graph --no-graph --all --branches? --tags? \
    --remotes? --glob: --exclude: --max-count: --skip: --since: --after: --until: --before: \
    --since-as-filter: --author: --committer: --grep: --grep-reflog: --all-match --invert-grep \
    --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp --merges \
    --no-merges --first-parent --min-parents% --max-parents% --no-min-parents --no-max-parents \
    --follow --decorate? --no-decorate --decorate-refs: --decorate-refs-exclude: \
    --clear-decorations --source --pretty? --format? --abbrev-commit --no-abbrev-commit --date: \
    --relative-date --topo-order --date-order --author-date-order --reverse --walk-reflogs \
    --reflog --left-right --cherry --cherry-pick --cherry-mark --left-only --right-only \
    --boundary --simplify-by-decoration --simplify-merges --full-history --dense --sparse \
    --show-pulls --ancestry-path? --no-walk? --do-walk --notes? --no-notes --mailmap \
    --use-mailmap --no-mailmap --no-use-mailmap --parents --children --encoding: --log-size \
    --expand-tabs? --no-expand-tabs --cc --diff-merges: --no-diff-merges --dd --full-diff \
    --remove-empty --merge --not --ignore-missing";

/// Flags that choose and print references.
const REFERENCES: &str = "-i --ignore-case --sort: --format: --points-at: --color? --no-color \
    --column? --no-column --contains --no-contains --merged --no-merged --omit-empty";

const VERBS: &[Verb] = &[
    verb(
        "status",
        &[
            "-sbvz -u? --short --branch --show-stash --porcelain? --long --verbose --ahead-behind",
            "--untracked-files? --ignore-submodules? --ignored? --column? --no-column",
            "--no-ahead-behind --renames --no-renames --find-renames?",
        ],
        Any,
    ),
    verb(
        "diff",
        &[
            "-NUM --cached --staged --merge-base --ours --theirs --base --cc -c",
            DIFF,
        ],
        Any,
    ),
    verb("log", &[LOG, DIFF], Any),
    verb("show", &[LOG, DIFF], Any),
    verb("whatchanged", &[LOG, DIFF], Any),
    verb(
        "shortlog",
        &[
            "-nsec -w? --numbered --summary --email --group: --committer",
            LOG,
        ],
        Any,
    ),
    verb("reflog", &[LOG, DIFF], Reference),
    verb("reflog show", &[LOG, DIFF], Any),
    verb("reflog list", &[], Nothing),
    verb("reflog exists", &[], UpTo(1)),
    verb("stash list", &[LOG, DIFF], Nothing),
    verb(
        "stash show",
        &[
            "--include-untracked --only-untracked --no-include-untracked",
            DIFF,
        ],
        UpTo(1),
    ),
    verb("blame", BLAME, Any),
    verb("annotate", BLAME, Any),
    verb(
        "grep",
        &[
            "+ -NUM -aIiwvhHEGPFnlLzcopqWr -e! -f@ -m: -A: -B: -C: --cached --untracked",
            "--exclude-standard --no-exclude-standard --text --ignore-case --word-regexp",
            "--invert-match --max-depth: --recursive --no-recursive --extended-regexp",
            "--basic-regexp --perl-regexp --fixed-strings --line-number --column --full-name",
            "--files-with-matches --name-only --files-without-match --null --only-matching",
            "--count --color? --no-color --break --heading --show-function --context:",
            "--after-context: --before-context: --function-context --max-count: --threads: --and",
            "--or --not --all-match --quiet",
        ],
        PatternFirst,
    ),
    verb(
        "branch",
        &[
            "-alrvq --all --list --remotes --show-current --verbose --abbrev? --no-abbrev",
            REFERENCES,
        ],
        OnlyWith(&[
            "-l",
            "--list",
            "--contains",
            "--no-contains",
            "--merged",
            "--no-merged",
            "--points-at",
        ]),
    ),
    verb(
        "tag",
        &["-l -n% --list", REFERENCES],
        OnlyWith(&[
            "-l",
            "-n",
            "--list",
            "--contains",
            "--no-contains",
            "--merged",
            "--no-merged",
            "--points-at",
        ]),
    ),
    verb(
        "for-each-ref",
        &[
            "--count: --exclude: --shell --perl --python --tcl",
            REFERENCES,
        ],
        Patterns,
    ),
    verb(
        "show-ref",
        &[
            "-dqs --head --heads --branches --tags --dereference --verify --quiet --exists --hash?",
            "--abbrev?",
        ],
        Patterns,
    ),
    verb(
        "show-branch",
        &[
            "+ -ar --remotes --all --current --topo-order --date-order --sparse --more% --list",
            "--merge-base --independent --no-name --sha1-name --topics --color? --no-color",
        ],
        Any,
    ),
    verb(
        "symbolic-ref",
        &["-q --quiet --short --recurse --no-recurse"],
        UpTo(1),
    ),
    verb("remote", &["-v --verbose"], Nothing),
    verb("remote get-url", &["--all --push"], UpTo(1)),
    // Without `-n` it asks the remote.
    verb("remote show", &["-n"], OnlyWith(&["-n"])),
    verb(
        "rev-parse",
        &[
            "-q --verify --quiet --short? --abbrev-ref? --symbolic --symbolic-full-name --all",
            "--branches? --tags? --remotes? --glob? --exclude? --show-toplevel --show-prefix",
            "--show-cdup --git-dir --absolute-git-dir --git-common-dir --git-path:",
            "--path-format: --is-inside-work-tree --is-inside-git-dir --is-bare-repository",
            "--is-shallow-repository --show-superproject-working-tree --show-object-format?",
            "--show-ref-format --shared-index-path --revs-only --no-revs --flags --no-flags",
            "--default: --not --sq --since? --after? --until? --before? --local-env-vars",
            "--disambiguate? --end-of-options",
        ],
        Any,
    ),
    verb(
        "rev-list",
        &[
            "--count --objects --objects-edge --disk-usage? --header --timestamp",
            "--no-commit-header --commit-header --bisect --bisect-all --object-names",
            "--no-object-names --quiet",
            LOG,
        ],
        Any,
    ),
    verb(
        "merge-base",
        &["-a --all --octopus --independent --is-ancestor --fork-point"],
        Any,
    ),
    verb(
        "name-rev",
        &["--name-only --tags --refs: --exclude: --all --no-undefined --always"],
        Any,
    ),
    // `--dirty` writes the index that it refreshes.
    verb(
        "describe",
        &[
            "--all --tags --contains --abbrev? --candidates: --exact-match --long --match:",
            "--exclude: --always --first-parent --debug",
        ],
        Any,
    ),
    verb("cherry", &["-v --verbose --abbrev?"], Any),
    verb("cat-file", &["-ptse"], UpTo(2)),
    verb(
        "ls-files",
        &[
            "-cdmoisuktvfz -x: -X@ --cached --deleted --modified --others --ignored --stage",
            "--unmerged --killed --directory --no-empty-directory --empty-directory --exclude:",
            "--exclude-from@ --exclude-per-directory@ --exclude-standard --error-unmatch",
            "--full-name --abbrev? --debug --eol --deduplicate --format: --resolve-undo --sparse",
            "--with-tree:",
        ],
        Any,
    ),
    verb(
        "ls-tree",
        &[
            "-drtlz --long --name-only --name-status --object-only --full-name --full-tree",
            "--abbrev? --format:",
        ],
        Any,
    ),
    verb("diff-tree", PLUMBING, Any),
    verb("diff-index", PLUMBING, Any),
    verb("diff-files", PLUMBING, Any),
    verb("config", CONFIG, Setting),
    verb("config list", CONFIG, Nothing),
    verb("config get", &["--all --regexp", CONFIG_COMMON], UpTo(1)),
    verb("worktree list", &["-vz --verbose --porcelain"], Nothing),
    verb("notes list", &[], UpTo(1)),
    verb("sparse-checkout list", &[], Nothing),
    verb(
        "count-objects",
        &["-vH --verbose --human-readable"],
        Nothing,
    ),
    verb(
        "check-ignore",
        &["-qvzn --quiet --verbose --non-matching --no-index"],
        Any,
    ),
    verb("check-attr", &["-az --all --cached --source:"], Any),
    verb("check-mailmap", &[], Patterns),
    verb(
        "check-ref-format",
        &["--branch --normalize --allow-onelevel"],
        Patterns,
    ),
    verb("var", &["-l"], UpTo(1)),
    verb("version", &["--build-options"], Nothing),
];

const BLAME: &[&str] = &[
    "-ltfnsewcbp -L: -M? -C? --porcelain --line-porcelain --incremental --root --show-stats",
    "--show-name --show-number --show-email --date: --since: --abbrev? --color-lines",
    "--color-by-age --ignore-rev: --first-parent --reverse --progress --no-progress",
    "--minimal --diff-algorithm:",
];

const PLUMBING: &[&str] = &[
    "--root --no-commit-id -mcv --cc --always --cached --merge-base --pretty? --format? \
     --abbrev-commit --base --ours --theirs -0123 -q",
    DIFF,
];

/// Where a setting is looked for: not in a file that is named, nor in a blob. Behind its name every
/// word is a value that is set.
const CONFIG_COMMON: &str = "+ -z --null --global --local --system --worktree --show-origin \
    --show-scope --name-only --show-names --type: --bool --int --bool-or-int --path \
    --expiry-date --default: --includes --no-includes";

const CONFIG: &[&str] = &[
    "-l --list --get --get-all --get-regexp --get-urlmatch",
    CONFIG_COMMON,
];

const fn verb(name: &'static str, flags: &'static [&'static str], words: Words) -> Verb {
    Verb { name, flags, words }
}

/// The verb of that name.
pub(super) fn find(name: &str) -> Option<&'static Verb> {
    VERBS.iter().find(|verb| verb.name == name)
}
