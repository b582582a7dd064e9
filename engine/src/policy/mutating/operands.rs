//! Commands that change something by what they are given and what they are not told: a name to
//! make, a file to pack, an address to keep.

use crate::shell::wide::Command;

use super::{RUNS_TEXT, holds, name, script};

/// How deep a text is read that a command hands to a shell.
const DEPTH_MAX: u32 = 2;

/// A program, and whether the words behind it change something.
type Row = (&'static str, fn(&[&str]) -> bool);

const ROWS: &[Row] = &[
    ("git", git),
    (
        "gzip gunzip xz unxz lzma unlzma bzip2 bunzip2 zstd unzstd lz4 unlz4 lzip lzop compress \
         uncompress pigz unpigz pbzip2 pixz brotli",
        packs,
    ),
    ("wget wget2", fetches),
    ("sed gsed", script::writes),
    ("uniq guniq", |words| {
        operands(words, "-f -s -w").count() > 1
    }),
    ("unzip", |words| {
        let lists = letters(words, "ltpvzZ") || flagged(words, "--help --version");
        !lists && operands(words, "-d -x -P").next().is_some()
    }),
    ("zip", |words| {
        operands(words, "").next().is_some() && !flagged(words, "-sf -T -h")
    }),
    ("tar gtar bsdtar", tar),
    ("7z 7za 7zr", |words| begins(words, "a d e rn u x")),
    ("unrar rar", |words| begins(words, "a d e f k m r s u x")),
    ("cpio", |words| {
        let makes = letters(words, "iop") && !letters(words, "t");
        makes || flagged(words, "--extract --create --pass-through")
    }),
    ("jar", |words| {
        words
            .first()
            .is_some_and(|word| word.contains(['x', 'c', 'u']))
    }),
    ("ar gar", |words| {
        let first = words.first().map(|word| word.trim_start_matches('-'));
        first.is_some_and(|word| word.contains(['d', 'm', 'q', 'r', 's', 'x']))
    }),
    (
        "strip objcopy ranlib patchelf chrpath install_name_tool codesign",
        |words| operands(words, "").next().is_some() && !flagged(words, "--print-rpath --version"),
    ),
    ("openssl", |words| {
        flagged(
            words,
            "-out -keyout -signout -CAcreateserial -writerand -out_trusted",
        )
    }),
    ("update-alternatives alternatives", |words| {
        flagged(
            words,
            "--install --set --set-selections --remove --remove-all --auto --config --all",
        )
    }),
    ("cargo", |words| {
        begins(words, "fmt") && !flagged(words, "--check --help --version")
    }),
    ("rustfmt", |words| {
        unless(words, "--check --version --print-config")
    }),
    ("black isort", |words| {
        unless(words, "--check --check-only --diff --version")
    }),
    ("ruff", |words| {
        let formats = begins(words, "format") && !flagged(words, "--check --diff");
        formats || flagged(words, "--fix --fix-only --unsafe-fixes")
    }),
    ("terraform tofu", |words| {
        begins(words, "fmt") && !flagged(words, "-check --check -write=false")
    }),
    ("go", |words| begins(words, "fmt generate")),
    ("dart", |words| {
        begins(words, "format fix") && !flagged(words, "--output=none -onone")
    }),
    ("gofmt goimports shfmt", |words| flagged(words, "-w")),
    ("clang-format autopep8", |words| {
        flagged(words, "-i --in-place")
    }),
    ("prettier", |words| flagged(words, "--write -w")),
    ("eslint stylelint clippy-driver rubocop", |words| {
        flagged(words, "--fix -a -A --autocorrect")
    }),
    ("gpg gpg2", |words| {
        flagged(
            words,
            "-o --output --import --gen-key --generate-key --full-generate-key --delete-keys \
             --delete-secret-keys --edit-key --recv-keys --send-keys",
        )
    }),
    ("ssh-keygen", |words| !letters(words, "lyF")),
];

/// What in a command changes something by its operands.
pub(super) fn changing(command: &str) -> Option<String> {
    in_text(command, DEPTH_MAX)
}

fn in_text(command: &str, depth: u32) -> Option<String> {
    let read = Command::read(command);
    let mut argvs = read.argvs();
    argvs.find_map(|argv| {
        let hosted = argv.iter().any(|word| holds(RUNS_TEXT, &name(word)));
        let texts = argv
            .iter()
            .filter(|word| hosted && depth > 0 && word.contains(' '));
        let mut inner = texts.filter_map(|text| in_text(text, depth.saturating_sub(1)));
        in_words(&argv).or_else(|| inner.next())
    })
}

/// The first program of these words that changes something. What a program prints or searches for
/// is none.
fn in_words(argv: &[&str]) -> Option<String> {
    let begin = argv.iter().position(|word| !word.contains('='))?;
    let first = name(argv.get(begin)?);
    let reads = holds(super::DATA, &first);
    argv.iter().enumerate().skip(begin).find_map(|(at, word)| {
        let program = name(word);
        let behind = argv.get(at.saturating_add(1)..)?;
        let (_, changes) = ROWS.iter().find(|(names, _)| holds(names, &program))?;
        (!(reads && at > begin) && changes(behind)).then(|| match behind.first() {
            Some(next) => format!("{program} {next}"),
            None => program,
        })
    })
}

/// The words that are no flags, nor the values of these flags.
fn operands<'a>(words: &'a [&'a str], valued: &'a str) -> impl Iterator<Item = &'a str> {
    let mut value = false;
    words.iter().copied().filter(move |word| {
        let is_value = std::mem::replace(&mut value, holds(valued, word));
        !is_value && (*word == "-" || !word.starts_with('-'))
    })
}

/// Whether one of these flags stands among the words, also with a value.
fn flagged(words: &[&str], flags: &str) -> bool {
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    words
        .iter()
        .any(|word| holds(flags, word) || holds(flags, &name(word)))
}

/// Whether one of these letters stands behind one dash.
fn letters(words: &[&str], letters: &str) -> bool {
    words.iter().any(|word| {
        let cluster = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        cluster.is_some_and(|cluster| cluster.contains(|c| letters.contains(c)))
    })
}

/// Whether the first word that is no flag is one of these.
fn begins(words: &[&str], verbs: &str) -> bool {
    operands(words, "")
        .next()
        .is_some_and(|word| holds(verbs, word))
}

/// Whether files are named and none of these flags.
fn unless(words: &[&str], flags: &str) -> bool {
    operands(words, "").next().is_some() && !flagged(words, flags)
}

fn packs(words: &[&str]) -> bool {
    let prints = letters(words, "clt")
        || flagged(words, "--stdout --to-stdout --list --test --help --version");
    !prints && operands(words, "-o -S --suffix").next().is_some()
}

fn fetches(words: &[&str]) -> bool {
    let prints = words.iter().any(|word| {
        let short = word.starts_with('-') && !word.starts_with("--");
        (short && word.ends_with("O-")) || matches!(*word, "--output-document=-" | "--spider")
    });
    let mut pairs = words.iter().zip(words.iter().skip(1));
    let parted = pairs.any(|(flag, value)| {
        let short = flag.starts_with('-') && !flag.starts_with("--") && flag.ends_with('O');
        *value == "-" && (short || *flag == "--output-document")
    });
    !prints && !parted && operands(words, "").next().is_some()
}

/// The first word of tar may be its letters without a dash.
fn tar(words: &[&str]) -> bool {
    let acts = |letters: &str| letters.contains(['x', 'c', 'r', 'u', 'A']);
    let bare = words.first().filter(|word| !word.starts_with('-'));
    let lists = |word: &&&str| word.starts_with('t');
    bare.filter(|word| !lists(word))
        .is_some_and(|word| acts(word))
        || flagged(
            words,
            "--get --extract --create --append --update --concatenate --catenate",
        )
}

/// Names that git is given to make, and logs that it is told to shorten.
fn git(words: &[&str]) -> bool {
    let verb = operands(words, "-C --git-dir --work-tree --namespace").next();
    let Some(verb) = verb else {
        return false;
    };
    let at = words
        .iter()
        .position(|word| *word == verb)
        .unwrap_or_default();
    let behind = words.get(at.saturating_add(1)..).unwrap_or_default();
    let named = || operands(behind, "-u --set-upstream-to").next().is_some();
    match verb {
        "tag" => {
            let lists = letters(behind, "lnv")
                || flagged(
                    behind,
                    "--list --contains --no-contains --points-at --merged --no-merged --sort \
                     --format --verify --column",
                );
            named() && !lists
        }
        "branch" => {
            let lists = letters(behind, "larv")
                || flagged(
                    behind,
                    "--list --all --remotes --show-current --contains --no-contains --points-at \
                     --merged --no-merged --sort --format --column",
                );
            let sets = flagged(
                behind,
                "-u --set-upstream-to --unset-upstream --edit-description -c -C --copy --move",
            );
            sets || (named() && !lists)
        }
        "reflog" => begins(behind, "expire delete drop write"),
        "remote" => begins(
            behind,
            "add remove rm rename set-url set-head set-branches prune update",
        ),
        "bundle" => begins(behind, "create unbundle"),
        "sparse-checkout" => begins(behind, "set add reapply disable init"),
        "rerere" => begins(behind, "clear forget gc"),
        "maintenance" => begins(behind, "run start stop register unregister"),
        "format-patch" => !flagged(behind, "--stdout"),
        "archive" => flagged(behind, "-o --output"),
        "repack" | "pack-refs" | "prune-packed" | "write-tree" | "mktag" | "mktree"
        | "unpack-objects" | "checkout-index" | "quiltimport" | "mergetool" => true,
        _ => false,
    }
}
