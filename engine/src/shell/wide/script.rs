//! Whether an interpreter is given code in the text itself, or a file to run.

use super::is_flag;
use super::programs::Kind;
use super::scan::Word;

/// Flags of Perl, Ruby, Node and the like that hold no code.
const FLAGS: &[&str] = &[
    "-w",
    "-l",
    "--test",
    "--watch",
    "--inspect",
    "--no-warnings",
    "--enable-source-maps",
];

/// Modules of Python that run code from their arguments or input.
const CODE_MODULES: &[&str] = &[
    "timeit", "code", "pdb", "asyncio", "trace", "profile", "cProfile", "IPython", "xonsh",
];

/// Commands of an interpreter that take code.
const CODE_COMMANDS: &[&str] = &["eval", "repl", "exec", "x", "-"];

/// Whether a file gives what somebody else writes.
pub(super) fn is_stream(path: &str) -> bool {
    path == "-" || path.starts_with("/dev/") || path.starts_with("/proc/") || path.contains("fd/")
}

/// Whether a flag of an interpreter surely holds and announces no code.
pub(super) fn takes_no_code(kind: Kind, flag: &str) -> bool {
    let letters = flag.strip_prefix('-').unwrap_or_default();
    let among = |known: &str| !letters.is_empty() && letters.chars().all(|c| known.contains(c));
    match kind {
        Kind::Shell => among("exuvnlbfh") || ["--login", "--norc", "--posix"].contains(&flag),
        Kind::Python => {
            let valued = flag.starts_with("-W") || flag.starts_with("-X");
            among("BEIOPRSbdqsuv") || (valued && flag.len() > 2)
        }
        Kind::Code
        | Kind::Other
        | Kind::Awk
        | Kind::Sed
        | Kind::Text
        | Kind::Wrapper
        | Kind::Arguments
        | Kind::Source => {
            let valued = flag.starts_with("--max-old-space-size=") || flag.starts_with("--experi");
            FLAGS.contains(&flag) || valued
        }
    }
}

/// Whether an interpreter runs code that is no file: from a flag, from its input, or unreadable.
pub(super) fn runs_code(kind: Kind, behind: &[Word]) -> bool {
    let mut words = behind.iter().filter(|word| !word.target).peekable();
    let alone = behind.len() == 1;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if word.expands {
            return true;
        }
        if alone && matches!(text, "--version" | "--help" | "-V") {
            return false;
        }
        if kind == Kind::Other && text == "--test" {
            return false;
        }
        if kind == Kind::Python && text == "-m" {
            let module = words.next();
            return module.is_none_or(|module| {
                module.expands || CODE_MODULES.contains(&module.text.as_str())
            });
        }
        if !is_flag(text) {
            let command = kind == Kind::Other && CODE_COMMANDS.contains(&text);
            return command || text.is_empty() || text.starts_with('+') || is_stream(text);
        }
        if !takes_no_code(kind, text) {
            return true;
        }
    }
    true
}

/// Whether a program of awk may run others.
pub(super) fn awk_runs(behind: &[Word]) -> bool {
    let runs = |word: &Word| {
        let text = word.text.as_str();
        let calls = ["system", "getline", "|", "@", "\\"]
            .iter()
            .any(|call| text.contains(call));
        calls || word.expands || is_stream(text.strip_prefix("-f").unwrap_or(text))
    };
    behind.iter().filter(|word| !word.target).any(runs)
}

/// Whether a script of sed may run programs.
pub(super) fn sed_runs(behind: &[Word]) -> bool {
    let mut script_next = false;
    let mut given = false;
    for word in behind.iter().filter(|word| !word.target) {
        let text = word.text.as_str();
        let attached = text.strip_prefix("--expression=");
        let code = if script_next { Some(text) } else { attached };
        if let Some(code) = code {
            if word.expands || !is_harmless(code) {
                return true;
            }
            (script_next, given) = (false, true);
        } else if is_flag(text) {
            let letters = text.strip_prefix('-').unwrap_or_default();
            let known = |letter: char| "nrEszu".contains(letter);
            let plain = letters.chars().all(known)
                || text.starts_with("-i")
                || text.starts_with("--in-place")
                || matches!(
                    text,
                    "--quiet" | "--silent" | "--regexp-extended" | "--version"
                );
            // `-i` takes the rest of its word as the end of a name.
            let last = text == "--expression"
                || letters
                    .strip_suffix('e')
                    .is_some_and(|letters| letters.chars().all(known));
            if text.starts_with("-f") || word.expands || (!plain && !last) {
                return true;
            }
            script_next = last;
        } else if !given {
            if word.expands || !is_harmless(text) {
                return true;
            }
            given = true;
        }
    }
    false
}

/// Whether a script of sed is a list of printing, deleting and replacing alone.
fn is_harmless(script: &str) -> bool {
    let script = script.trim();
    let behind =
        script.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '!'));
    if let [letter] = behind.as_bytes() {
        return b"pdqDPGHghnNxl=".contains(letter);
    }
    let Some(rest) = behind.strip_prefix('s') else {
        return false;
    };
    let mut chars = rest.chars();
    let Some(mark) = chars.next().filter(|c| !c.is_alphanumeric() && *c != '\\') else {
        return false;
    };
    let mut marks = 0;
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == '\n' {
            return false;
        } else if c == mark {
            marks += 1;
            if marks == 2 {
                return chars.all(|c| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I'));
            }
        }
    }
    false
}

/// Whether the words of xargs name the program that it runs, and nothing from its input does.
pub(super) fn names_its_program(behind: &[Word]) -> bool {
    let mut words = behind.iter().filter(|word| !word.target);
    let mut replaced: Option<String> = None;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if !is_flag(text) {
            return replaced.is_none_or(|replaced| !text.contains(&replaced));
        }
        let number = |rest: &str| rest.chars().all(|c| c.is_ascii_digit());
        match text {
            "-0" | "-r" | "-t" | "-p" | "-x" | "-0r" | "-r0" | "--null" | "--no-run-if-empty" => {}
            "-n" | "-P" | "-L" | "-s" | "-d" => {
                words.next();
            }
            "-I" => replaced = words.next().map(|word| word.text.clone()),
            _ if text.starts_with("-I") => replaced = text.get(2..).map(str::to_owned),
            _ if text
                .get(..2)
                .is_some_and(|flag| ["-n", "-P", "-L"].contains(&flag))
                && text.get(2..).is_some_and(number) => {}
            _ => return false,
        }
    }
    // Without a program it is `echo`.
    true
}
