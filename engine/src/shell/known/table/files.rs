//! Programs that list files and print what is in them.

use super::Line;
use super::Operands::{Contents, ContentsUpTo, Names, NamesUpTo, Objects, Text};
use super::Rule::Flags;

pub(super) const TABLE: &[Line] = &[
    (
        "ls dir vdir",
        Flags(
            &[
                "-aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I: -T: -w: --all --almost-all --author",
                "--escape --block-size: --ignore-backups --color? --directory --dired --classify?",
                "--file-type --format: --full-time --group-directories-first --no-group",
                "--human-readable --si --dereference-command-line --help --version --zero",
                "--dereference-command-line-symlink-to-dir --hide: --hyperlink? --inode",
                "--indicator-style: --ignore: --kibibytes --dereference --numeric-uid-gid",
                "--literal --hide-control-chars --show-control-chars --quote-name --reverse",
                "--quoting-style: --recursive --size --sort: --time: --time-style: --tabsize:",
                "--width: --context",
            ],
            Names,
        ),
    ),
    // `-R` writes a file in each folder, `-o` one file; what follows `-L`, `-P` and `-I` in the
    // same word are further flags.
    (
        "tree",
        Flags(
            &[
                "-adfilxpsughDFqNQtcUvrJXACSn -L# -P_ -I_ --level# --prune --noreport --dirsfirst",
                "--filesfirst --ignore-case --matchdirs --metafirst --gitignore --inodes --device",
                "--si --du --help --version --filelimit# --sort: --timefmt:",
            ],
            Names,
        ),
    ),
    (
        "cat",
        Flags(
            &[
                "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank",
                "--show-tabs --show-nonprinting --help --version",
            ],
            Contents,
        ),
    ),
    (
        "head",
        Flags(
            &[
                "-NUM -n: -c: -qvz --lines: --bytes: --quiet --silent --verbose",
                "--zero-terminated --help --version",
            ],
            Contents,
        ),
    ),
    // Following a file ends with the limit on time.
    (
        "tail",
        Flags(
            &[
                "-NUM -n: -c: -s: -fFqvz --lines: --bytes: --follow? --retry --quiet --silent",
                "--verbose --sleep-interval: --pid: --max-unchanged-stats: --zero-terminated",
                "--help --version",
            ],
            Contents,
        ),
    ),
    (
        "wc",
        Flags(
            &[
                "-clmLw --bytes --chars --lines --max-line-length --words --total: --help",
                "--version",
            ],
            Contents,
        ),
    ),
    (
        "stat",
        Flags(
            &[
                "-Lft -c: --dereference --file-system --cached: --format: --printf: --terse",
                "--help --version",
            ],
            Names,
        ),
    ),
    (
        "du",
        Flags(
            &[
                "-0abcDHhkLlmPSsx -B: -d: -t: -X@ --null --all --apparent-size --block-size:",
                "--bytes --total --dereference-args --max-depth: --human-readable --inodes",
                "--dereference --count-links --no-dereference --separate-dirs --si --summarize",
                "--threshold: --time? --time-style: --exclude-from@ --exclude:",
                "--one-file-system --help --version",
            ],
            Names,
        ),
    ),
    (
        "df",
        Flags(
            &[
                "-ahHiklmPTv -B: -t: -x: --all --block-size: --human-readable --si --inodes",
                "--local --no-sync --output? --portability --total --type: --print-type",
                "--exclude-type: --help --version",
            ],
            Names,
        ),
    ),
    // `-f` reads names, `-m` another database, `-C` writes one, `-z` runs decompressors, `-p` sets
    // times, `-s` reads devices, `-S` takes the sandbox off.
    (
        "file",
        Flags(
            &[
                "-bEhikLNnrv0 -e: -F: --brief --exclude: --exclude-quiet: --separator: --mime",
                "--apple --extension --mime-type --mime-encoding --keep-going --dereference",
                "--no-dereference --no-buffer --no-pad --print0 --raw --help --version",
            ],
            Contents,
        ),
    ),
    (
        "readlink",
        Flags(
            &[
                "-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing",
                "--no-newline --quiet --silent --verbose --zero --help --version",
            ],
            Names,
        ),
    ),
    (
        "realpath",
        Flags(
            &[
                "-emLPqsz --canonicalize-existing --canonicalize-missing --logical --physical",
                "--quiet --relative-to@ --relative-base@ --strip --no-symlinks --zero --help",
                "--version",
            ],
            Names,
        ),
    ),
    (
        "namei",
        Flags(
            &["-xmolnv --modes --owners --long --nosymlinks --vertical"],
            Names,
        ),
    ),
    (
        "basename",
        Flags(
            &["-az -s: --multiple --suffix: --zero --help --version"],
            Text,
        ),
    ),
    ("dirname", Flags(&["-z --zero --help --version"], Text)),
    (
        "pathchk",
        Flags(&["-pP --portability --help --version"], Names),
    ),
    ("cd", Flags(&["-LPe"], NamesUpTo(1))),
    ("lsattr", Flags(&["-RVadlpv"], Names)),
    ("getfacl", Flags(&["-acdeEsRLPtpn"], Names)),
    (
        "cmp",
        Flags(
            &[
                "-bls -i: -n: --print-bytes --ignore-initial: --verbose --bytes: --quiet",
                "--silent --help --version",
            ],
            ContentsUpTo(4),
        ),
    ),
    // `-l` runs `pr`.
    (
        "diff",
        Flags(
            &[
                "-NUM -abBcdeEiNnpqrstTuwyZ -C: -D: -F: -I: -L: -S: -U: -W: -x: -X@ --normal",
                "--brief --report-identical-files --context? --unified? --ed --rcs --side-by-side",
                "--width: --left-column --suppress-common-lines --show-c-function",
                "--show-function-line: --label: --expand-tabs --initial-tab --tabsize:",
                "--suppress-blank-empty --recursive --no-dereference --new-file",
                "--unidirectional-new-file --ignore-file-name-case --no-ignore-file-name-case",
                "--exclude: --exclude-from@ --starting-file: --from-file@ --to-file@",
                "--ignore-case --ignore-tab-expansion --ignore-trailing-space",
                "--ignore-space-change --ignore-all-space --ignore-blank-lines",
                "--ignore-matching-lines: --text --strip-trailing-cr --ifdef: --line-format:",
                "--minimal --horizon-lines: --speed-large-files --color? --palette: --help",
                "--version",
            ],
            Contents,
        ),
    ),
    (
        "strings",
        Flags(
            &[
                "-NUM -afow -n: -t: -e: -s: --all --print-file-name --bytes: --radix: --encoding:",
                "--include-all-whitespace --output-separator: --help --version",
            ],
            Objects,
        ),
    ),
    (
        "nm",
        Flags(
            &[
                "-aABCDgnopPrSuvV -t: --debug-syms --print-file-name --demangle? --dynamic",
                "--defined-only --extern-only --line-numbers --numeric-sort --no-sort",
                "--portability --print-size --reverse-sort --size-sort --undefined-only --help",
                "--version --radix:",
            ],
            Objects,
        ),
    ),
    (
        "size",
        Flags(
            &["-ABGdotx --format: --radix: --totals --common --help --version"],
            Objects,
        ),
    ),
    (
        "readelf",
        Flags(
            &[
                "-ahlSgtesnrudVAcDIWHv -x: -p: --all --file-header --program-headers --segments",
                "--section-headers --sections --section-groups --section-details --headers --syms",
                "--symbols --dyn-syms --demangle? --notes --relocs --dynamic --version-info",
                "--arch-specific --archive-index --use-dynamic --hex-dump: --string-dump: --wide",
                "--histogram --help --version",
            ],
            Objects,
        ),
    ),
    (
        "objdump",
        Flags(
            &[
                "-afhxdDpsrRtTwCiHv -j: -M: --archive-headers --file-headers --section-headers",
                "--headers --all-headers --disassemble --disassemble-all --private-headers",
                "--full-contents --reloc --dynamic-reloc --syms --dynamic-syms --wide --demangle?",
                "--section: --disassembler-options: --start-address: --stop-address:",
                "--no-show-raw-insn --help --version",
            ],
            Objects,
        ),
    ),
];
