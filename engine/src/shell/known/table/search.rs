//! Programs that search in files.
//!
//! `ag` is left out: it always starts a shell that starts git.

use super::Line;
use super::Operands::{Pattern, Text};
use super::Rule::Flags;

pub(super) const TABLE: &[Line] = &[
    (
        "grep egrep fgrep",
        Flags(
            &[
                "-NUM -EFGPivyVwxczLlqsbHhnTZaIorRUu -e! -f@ -m: -A: -B: -C: -d: -D:",
                "--extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp! --file@",
                "--ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count",
                "--color? --colour? --files-without-match --files-with-matches --max-count:",
                "--only-matching --quiet --silent --no-messages --byte-offset --with-filename",
                "--no-filename --label: --line-number --initial-tab --null --after-context:",
                "--before-context: --context: --group-separator: --no-group-separator --text",
                "--binary-files: --devices: --directories: --exclude: --exclude-from@",
                "--exclude-dir: --include: --recursive --dereference-recursive --line-buffered",
                "--binary --null-data --help --version",
            ],
            Pattern(&["-e", "-f", "--regexp", "--file"]),
        ),
    ),
    // `--pre` and `--hostname-bin` run programs, `-z` runs decompressors; a format of hyperlinks
    // may ask for the name of the host.
    (
        "rg",
        Flags(
            &[
                "-abcFHiILlNnoPpqsSUuvwx0h. -A: -B: -C: -d: -e! -E: -f@ -g: -j: -m: -M: -r: -t:",
                "-T: -V --after-context: --auto-hybrid-regex --before-context: --binary",
                "--block-buffered --byte-offset --case-sensitive --color: --colors: --column",
                "--context: --context-separator: --count --count-matches --crlf --debug",
                "--dfa-size-limit: --encoding: --engine: --field-context-separator:",
                "--field-match-separator: --file@ --files --files-with-matches",
                "--files-without-match --fixed-strings --follow --glob: --glob-case-insensitive",
                "--heading --help --hidden --iglob: --ignore-case --ignore-file@",
                "--ignore-file-case-insensitive --include-zero --invert-match --json",
                "--line-buffered --line-number --line-regexp --max-columns:",
                "--max-columns-preview --max-count: --max-depth: --max-filesize: --mmap",
                "--multiline --multiline-dotall --no-binary --no-column --no-config",
                "--no-context-separator --no-filename --no-follow --no-heading --no-hidden",
                "--no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files",
                "--no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs",
                "--no-json --no-line-number --no-messages --no-mmap --no-pcre2-unicode",
                "--no-require-git --no-stats --no-unicode --null --null-data --one-file-system",
                "--only-matching --passthru --path-separator: --pcre2 --pcre2-version --pretty",
                "--quiet --regex-size-limit: --regexp! --replace: --smart-case --sort: --sortr:",
                "--stats --stop-on-nonmatch --text --threads: --trace --trim --type: --type-list",
                "--type-not: --unrestricted --version --vimgrep --with-filename --word-regexp",
            ],
            Pattern(&["-e", "-f", "--regexp", "--file", "--files", "--type-list"]),
        ),
    ),
    // `-x` and `-X` run programs, `-l` runs `ls`.
    (
        "fd fdfind",
        Flags(
            &[
                "-HIusigFLap01qhV -d: -E: -e: -t: -S: -j: -o: -c: --hidden --no-ignore",
                "--no-ignore-vcs --no-ignore-parent --unrestricted --case-sensitive --ignore-case",
                "--glob --regex --fixed-strings --absolute-path --follow --full-path --print0",
                "--max-depth: --min-depth: --exact-depth: --prune --exclude: --type: --extension:",
                "--size: --changed-within: --changed-before: --newer: --older: --owner:",
                "--max-results: --quiet --show-errors --one-file-system --and: --color: --threads:",
                "--strip-cwd-prefix --search-path@ --help --version",
            ],
            Pattern(&[]),
        ),
    ),
    ("locate plocate mlocate", Flags(&["-bcieA0w -l: -r:"], Text)),
];
