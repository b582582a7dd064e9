//! Makes commands that nobody would write: pieces of shell syntax in any order, from a seed.

/// Rows that are mutated: what people and rules had in mind.
const ROWS: [&str; 2] = [
    include_str!("../fixtures/shell/curated.jsonl"),
    include_str!("../fixtures/shell/shell_keys.jsonl"),
];

/// The name that only runs where a command is substituted.
pub const SUBSTITUTED: &str = "sub";
/// The value of `$X`: as a name it only runs where one expands.
pub const EXPANDED: &str = "xpnd";

/// The most pieces of a command.
const PIECES_MAX: usize = 14;

const WORDS: [&str; 48] = [
    "a", "b", "git", "status", "echo", "rm", "x", "0", "1", "2", "-x", "--long", "a=b", "A=1",
    "A+=1", "a[1", "a[0]=1", "export", "declare", "local", "readonly", "command", "if", "then",
    "else", "elif", "fi", "while", "until", "do", "done", "for", "in", "select", "case", "esac",
    "function", "time", "coproc", "!", "{", "}", "[[", "]]", "f()", "(( 1 ))", "[", "]",
];

const QUOTES: [&str; 20] = [
    "'", "\"", "\\", "$'", "$\"", "''", "\"\"", "'a b'", "\"a b\"", "\\'", "\\\"", "\\\\", "'$X'",
    "\"$X\"", "'\n'", "\"\n\"", "$'a\\'", "$'a'", "\\$", "\\`",
];

const EXPANSIONS: [&str; 42] = [
    "$X",
    "$A",
    "${X}",
    "${X:-b}",
    "${X",
    "}",
    "$(sub x)",
    "`sub x`",
    "$((1+1))",
    "$[1]",
    "$",
    "$(",
    "`",
    "$\\\n",
    "<(sub x)",
    ">(sub x)",
    "$@",
    "$1",
    "$?",
    "~",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "{1..2}",
    ",",
    "..",
    "{a",
    "$(\\\nsub x)",
    "${X:=`sub x`}",
    "${X:=b}",
    "${X:+a b}",
    "${X-a#b}",
    "${A:?a;b}",
    "${#X}",
    "${X#x}",
    "${X##*/}",
    "${X%.*}",
    "${X/a/b}",
    "${X^^}",
    "${A:-a>f}",
    "${A:-~|[a}",
];

const OPERATORS: [&str; 42] = [
    ";",
    ";;",
    "&",
    "&&",
    "|",
    "||",
    "|&",
    "(",
    ")",
    ">",
    ">>",
    "<",
    "<<",
    "<<<",
    "<>",
    ">|",
    "&>",
    "&>>",
    ">&",
    "<&",
    "2>&1",
    ">&-",
    "2>/dev/null",
    ">/dev/null",
    "/dev/null",
    "2>",
    "{fd}>",
    "<<E",
    "\nE\n",
    ";&",
    "\\\n&",
    ">\"/dev/null\"",
    "> /dev/null",
    "&> /dev/null",
    ">f",
    ">&f",
    "2>f",
    "@(",
    "!(",
    "a=(",
    "<(",
    "((",
];

/// What programs of the shell are made of, so that some hold together.
const FRAGMENTS: [&str; 38] = [
    "case a in ",
    "a) ",
    ";; ",
    "\nesac\n",
    "esac ",
    "if a; then ",
    "; fi ",
    "else ",
    "for x in a; do ",
    "for x do ",
    "; done ",
    "f() { ",
    "f() ",
    "; } ",
    "function f ",
    "time -p ",
    "time ",
    "coproc N ",
    "[[ a ]] ",
    "[[ a =~ ( ",
    "]] ",
    " )",
    "\n$X ",
    "; $X ",
    "$X ",
    " #",
    "A=1 ",
    "2>&1 ",
    "&>/dev/null ",
    ">/dev/null ",
    "a=(",
    "a[1 ",
    "export a[1 ",
    "]=",
    "{ ",
    "( ",
    "! ",
    "$(sub x) ",
];

const BLANKS: [&str; 14] = [
    " ", " ", " ", "  ", "\t", "\n", "\\\n", "\r", "\u{b}", "\u{c}", "\u{a0}", "\u{2003}",
    "\u{85}", "",
];

const OTHERS: [&str; 18] = [
    "#",
    " #",
    " # '\n",
    "=",
    "+=",
    ":",
    "%",
    "^",
    "@",
    "\u{e9}",
    "\u{c8}",
    "\u{feff}",
    "\u{1}",
    "\u{7f}",
    "\u{4e2d}",
    "\u{200b}",
    "\u{81}",
    "\u{1f600}",
];

/// Where choices come from: the generator of a seed, or the bytes of a fuzzer.
pub trait Choices {
    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize;
}

/// A generator of numbers that is the same everywhere (splitmix64).
#[derive(Debug, Clone)]
pub struct Seeded(u64);

impl Seeded {
    /// The generator of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }
}

impl Choices for Seeded {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bound = u64::try_from(bound).unwrap_or(1).max(1);
        usize::try_from((mixed ^ (mixed >> 31)) % bound).unwrap_or(0)
    }
}

/// Bytes of a fuzzer: when they are used up, every choice is the first.
#[derive(Debug, Clone)]
pub struct Bytes<'a>(pub &'a [u8]);

impl Choices for Bytes<'_> {
    fn below(&mut self, bound: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        usize::from(*first).checked_rem(bound).unwrap_or(0)
    }
}

/// Makes commands.
#[derive(Debug, Clone)]
pub struct Soup {
    rows: Vec<String>,
}

impl Default for Soup {
    fn default() -> Self {
        let rows = ROWS.iter().flat_map(|rows| rows.lines());
        let commands = rows.filter_map(|row| {
            let row: serde_json::Value = serde_json::from_str(row).ok()?;
            row.get("command")?.as_str().map(str::to_owned)
        });
        // No program of the machine is called by its path, or under a name that a shell has.
        let harmless = |row: &String| {
            let named = ["/bin", "/usr", "exec", "eval", "sleep", "true"];
            !named.iter().any(|name| row.contains(name))
        };
        let marked = |row: String| {
            row.replace("(rm x", "(sub x")
                .replace("`rm x", "`sub x")
                .replace("$OUT", "$X")
        };
        Self {
            rows: commands.filter(harmless).map(marked).collect(),
        }
    }
}

impl Soup {
    /// The next command.
    pub fn command(&self, choices: &mut impl Choices) -> String {
        match choices.below(4) {
            0 => self.mutated(choices),
            1 => format!("git {}", pieces(choices)),
            2 => program(choices),
            _ => pieces(choices),
        }
    }

    /// A row with pieces put in or characters taken out.
    fn mutated(&self, choices: &mut impl Choices) -> String {
        let mut text = pick(&self.rows, choices).cloned().unwrap_or_default();
        for _ in 0..=choices.below(3) {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let at = pick(&places, choices).copied().unwrap_or(0);
            match choices.below(4) {
                0 if !text.is_empty() => drop(text.remove(at)),
                _ => text.insert_str(at, piece(choices)),
            }
        }
        text
    }
}

/// Some pieces, most of them apart.
fn pieces(choices: &mut impl Choices) -> String {
    let mut text = String::new();
    for _ in 0..=choices.below(PIECES_MAX) {
        text.push_str(piece(choices));
        if choices.below(3) == 0 {
            text.push(' ');
        }
    }
    text
}

/// Some fragments and now and then a piece.
fn program(choices: &mut impl Choices) -> String {
    let mut text = String::new();
    for _ in 0..=choices.below(PIECES_MAX) {
        text.push_str(match choices.below(5) {
            0 => piece(choices),
            _ => pick(&FRAGMENTS, choices).copied().unwrap_or_default(),
        });
    }
    text
}

fn piece(choices: &mut impl Choices) -> &'static str {
    let kind: &[&str] = match choices.below(11) {
        0..=3 => &WORDS,
        4 | 5 => &QUOTES,
        6 => &EXPANSIONS,
        7 => &OPERATORS,
        8 | 9 => &BLANKS,
        _ => &OTHERS,
    };
    pick(kind, choices).copied().unwrap_or_default()
}

fn pick<'a, T>(of: &'a [T], choices: &mut impl Choices) -> Option<&'a T> {
    of.get(choices.below(of.len()))
}
