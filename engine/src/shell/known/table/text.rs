//! Filters: programs that read text and print other text.

use super::Line;
use super::Operands::{Contents, ContentsUpTo, Nothing, Text, TextUpTo};
use super::Rule::{Flags, Words};

/// Flags of the programs that print digests. `-c` reads names, and prints only whether the digest
/// of what they name is the one beside it.
const DIGESTS: &str = "-bctwz --binary --check --tag --text --zero --ignore-missing --quiet \
                       --status --strict --warn --help --version";

pub(super) const TABLE: &[Line] = &[
    // `-o` writes, `-T` and `-S` make files elsewhere, `--compress-program` runs, `--files0-from`
    // reads names.
    (
        "sort",
        Flags(
            &[
                "-bcCdfgiMhmnRrsuVz -k: -t: --ignore-leading-blanks --dictionary-order",
                "--ignore-case --general-numeric-sort --ignore-nonprinting --month-sort",
                "--human-numeric-sort --numeric-sort --random-sort --reverse --sort:",
                "--version-sort --batch-size: --check? --debug --key: --merge --stable",
                "--field-separator: --parallel: --unique --zero-terminated --help --version",
            ],
            Contents,
        ),
    ),
    // The second operand is written.
    (
        "uniq",
        Flags(
            &[
                "-cdDiuz -f: -s: -w: --count --repeated --all-repeated? --skip-fields: --group?",
                "--ignore-case --skip-chars: --unique --zero-terminated --check-chars: --help",
                "--version",
            ],
            ContentsUpTo(1),
        ),
    ),
    (
        "cut",
        Flags(
            &[
                "-nsz -b: -c: -d: -f: --bytes: --characters: --delimiter: --fields: --complement",
                "--only-delimited --output-delimiter: --zero-terminated --help --version",
            ],
            Contents,
        ),
    ),
    (
        "paste",
        Flags(
            &["-sz -d: --delimiters: --serial --zero-terminated --help --version"],
            Contents,
        ),
    ),
    (
        "tr",
        Flags(
            &[
                "-cCdst --complement --delete --squeeze-repeats --truncate-set1 --help",
                "--version",
            ],
            TextUpTo(2),
        ),
    ),
    (
        "join",
        Flags(
            &[
                "-iz -a: -e: -j: -o: -t: -v: -1: -2: --ignore-case --check-order --nocheck-order",
                "--header --zero-terminated --help --version",
            ],
            ContentsUpTo(2),
        ),
    ),
    (
        "comm",
        Flags(
            &[
                "-123z --check-order --nocheck-order --output-delimiter: --total",
                "--zero-terminated --help --version",
            ],
            ContentsUpTo(2),
        ),
    ),
    (
        "nl",
        Flags(
            &[
                "-p -b: -d: -f: -h: -i: -l: -n: -s: -v: -w: --body-numbering:",
                "--section-delimiter: --footer-numbering: --header-numbering: --line-increment:",
                "--join-blank-lines: --number-format: --no-renumber --number-separator:",
                "--starting-line-number: --number-width: --help --version",
            ],
            Contents,
        ),
    ),
    (
        "od",
        Flags(
            &[
                "-abcdfilosxv -A: -j: -N: -S: -t: -w? --address-radix: --endian: --skip-bytes:",
                "--read-bytes: --strings? --format: --output-duplicates --width? --help --version",
            ],
            Contents,
        ),
    ),
    (
        "hexdump hd",
        Flags(
            &[
                "-bcCdoxv -e: -n: -s: --one-byte-octal --one-byte-char --canonical",
                "--two-bytes-decimal --two-bytes-octal --two-bytes-hex --color? --format:",
                "--length: --skip: --no-squeezing --help --version",
            ],
            Contents,
        ),
    ),
    (
        "base64 base32",
        Flags(
            &["-dDi -w: --decode --ignore-garbage --wrap: --help --version"],
            ContentsUpTo(1),
        ),
    ),
    (
        "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum",
        Flags(&[DIGESTS], Contents),
    ),
    ("b2sum", Flags(&[DIGESTS, "-l: --length:"], Contents)),
    (
        "cksum",
        Flags(
            &[DIGESTS, "-a: -l: --algorithm: --length: --untagged --debug"],
            Contents,
        ),
    ),
    ("sum", Flags(&["-rs --sysv --help --version"], Contents)),
    ("rev", Flags(&["-hV --help --version"], Contents)),
    (
        "tac",
        Flags(
            &["-br -s: --before --regex --separator: --help --version"],
            Contents,
        ),
    ),
    (
        "fold",
        Flags(
            &["-NUM -bs -w: --bytes --spaces --width: --help --version"],
            Contents,
        ),
    ),
    (
        "fmt",
        Flags(
            &[
                "-NUM -cstu -p: -w: -g: --crown-margin --prefix: --split-only --tagged-paragraph",
                "--uniform-spacing --width: --goal: --help --version",
            ],
            Contents,
        ),
    ),
    (
        "pr",
        Flags(
            &[
                "-NUM -acdFfJmrtTv -D: -e? -h: -i? -l: -n? -N: -o: -s? -S? -w: -W: --columns:",
                "--across --show-control-chars --double-space --date-format: --expand-tabs?",
                "--form-feed --header: --output-tabs? --join-lines --length: --merge",
                "--number-lines? --first-line-number: --indent: --no-file-warnings --separator?",
                "--sep-string? --omit-header --omit-pagination --show-nonprinting --page-width:",
                "--width: --help --version",
            ],
            Contents,
        ),
    ),
    (
        "expand",
        Flags(
            &["-NUM -i -t: --initial --tabs: --help --version"],
            Contents,
        ),
    ),
    (
        "unexpand",
        Flags(
            &["-NUM -a -t: --all --first-only --tabs: --help --version"],
            Contents,
        ),
    ),
    (
        "column",
        Flags(
            &[
                "-tdeLJxhV -n: -O: -N: -l: -E: -H: -R: -T: -W: -r: -i: -p: -c: -o: -s: --table",
                "--table-name: --table-order: --table-columns: --table-columns-limit:",
                "--table-noextreme: --table-noheadings --table-header-repeat --table-hide:",
                "--table-right: --table-truncate: --table-wrap: --keep-empty-lines --json --tree:",
                "--tree-id: --tree-parent: --output-width: --output-separator: --separator:",
                "--fillrows --help --version",
            ],
            Contents,
        ),
    ),
    ("colrm", Flags(&["-hV --help --version"], TextUpTo(2))),
    (
        "look",
        Flags(
            &["-adf -t: --alternative --alphanum --ignore-case --terminate:"],
            TextUpTo(1),
        ),
    ),
    (
        "shuf",
        Flags(
            &[
                "-erz -i: -n: --echo --input-range: --head-count: --repeat --zero-terminated",
                "--help --version",
            ],
            Contents,
        ),
    ),
    (
        "numfmt",
        Flags(
            &[
                "-z -d: --debug --delimiter: --field: --format: --from: --from-unit: --grouping",
                "--header? --invalid: --padding: --round: --suffix: --to: --to-unit:",
                "--zero-terminated --help --version",
            ],
            Text,
        ),
    ),
    ("tsort", Flags(&["--help --version"], ContentsUpTo(1))),
    ("factor", Flags(&["-h --exponents --help --version"], Text)),
    (
        "seq",
        Flags(
            &["-NUM -w -f: -s: --format: --separator: --equal-width --help --version"],
            TextUpTo(3),
        ),
    ),
    ("echo expr true false :", Words),
    ("clear", Flags(&["-x"], Nothing)),
];
