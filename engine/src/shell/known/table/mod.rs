//! The table of programs: what each is known by.

mod files;
mod search;
mod system;
mod text;
mod versions;

use super::flags::Parsed;
use super::paths::{self, Use};
use super::{Claims, Verdict, find, git, special};

/// One line of the table: the names that share a rule, and the rule.
type Line = (&'static str, Rule);

/// What of a program is accepted.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// These flags, as [`super::flags`] writes them, and such operands.
    Flags(&'static [&'static str], Operands),
    /// Any words: none is a flag, and none names a file.
    Words,
    /// Only these lines of arguments, word by word.
    Exact(&'static [&'static str]),
    /// What a function of its own accepts.
    Judge(fn(&[&str]) -> Verdict<Claims>),
}

/// What the operands of a program are.
#[derive(Clone, Copy)]
pub(super) enum Operands {
    /// It has none.
    Nothing,
    /// Words that name no files.
    Text,
    /// At most so many words that name no files.
    TextUpTo(usize),
    /// Files and folders that it reads.
    Contents,
    /// At most so many of them: the next one would be written.
    ContentsUpTo(usize),
    /// Files and folders of which it prints names and attributes.
    Names,
    /// At most so many of them.
    NamesUpTo(usize),
    /// A pattern, then what it reads; without the pattern where one of these flags stands.
    Pattern(&'static [&'static str]),
    /// What it reads. No word begins with `@`, behind which stands a file of further words.
    Objects,
    /// How a date is printed: anything else would set the clock.
    Format,
}

impl Operands {
    /// Notes what the operands name; an error for the first that is not accepted.
    pub(super) fn check(
        self,
        program: &str,
        parsed: &Parsed<'_>,
        claims: &mut Claims,
    ) -> Verdict<()> {
        let operands = parsed.operands.as_slice();
        let most = |most: usize| match operands.get(most) {
            None => Ok(()),
            Some(word) => Err(format!(
                "the operand `{word}` of {program} is not on the list"
            )),
        };
        match self {
            Self::Nothing => most(0),
            Self::Text => Ok(()),
            Self::TextUpTo(count) => most(count),
            Self::Contents | Self::Objects => claim_all(operands, Use::Contents, claims),
            Self::ContentsUpTo(count) => {
                most(count)?;
                claim_all(operands, Use::Contents, claims)
            }
            Self::Names => claim_all(operands, Use::Names, claims),
            Self::NamesUpTo(count) => {
                most(count)?;
                claim_all(operands, Use::Names, claims)
            }
            Self::Pattern(elsewhere) => {
                let skipped = usize::from(!parsed.has(elsewhere));
                let paths = operands.get(skipped..).unwrap_or_default();
                claim_all(paths, Use::Contents, claims)
            }
            Self::Format => {
                most(1)?;
                names_no_zone(program, &parsed.values)?;
                match operands.iter().find(|word| !word.starts_with('+')) {
                    None => Ok(()),
                    Some(word) => Err(format!("`{word}` would set the clock")),
                }
            }
        }
    }
}

/// A date may begin with `TZ="zone"`, and a zone may be any file.
pub(super) fn names_no_zone(program: &str, dates: &[&str]) -> Verdict<()> {
    match dates.iter().find(|date| date.contains("TZ")) {
        None => Ok(()),
        Some(date) => Err(format!("`{date}` of {program} may name a file")),
    }
}

fn claim_all(paths: &[&str], used: Use, claims: &mut Claims) -> Verdict<()> {
    paths
        .iter()
        .try_for_each(|path| paths::claim(path, used, claims))
}

/// What decides by more than flags.
const JUDGED: &[Line] = &[
    ("find", Rule::Judge(find::judge)),
    ("git", Rule::Judge(git::judge)),
    ("sed", Rule::Judge(special::sed)),
    ("ps", Rule::Judge(special::ps)),
    ("test", Rule::Judge(special::test)),
    ("[", Rule::Judge(special::bracket)),
    ("printf", Rule::Judge(special::printf)),
    ("command", Rule::Judge(special::command)),
    ("tput", Rule::Judge(special::tput)),
    ("xxd", Rule::Judge(special::xxd)),
    ("jq", Rule::Judge(special::jq)),
    ("lsof", Rule::Judge(special::lsof)),
    ("iconv", Rule::Judge(special::iconv)),
    ("unzip", Rule::Judge(special::unzip)),
    ("zipinfo", Rule::Judge(special::zipinfo)),
    ("ifconfig", Rule::Judge(special::ifconfig)),
    ("ip", Rule::Judge(special::ip)),
];

/// The rule of a program, by its bare name. Other systems have other flags under the same names.
pub(super) fn rule(name: &str) -> Option<Rule> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let tables = [
        JUDGED,
        files::TABLE,
        text::TABLE,
        search::TABLE,
        system::TABLE,
        versions::TABLE,
    ];
    let mut lines = tables.into_iter().flatten();
    lines
        .find(|(names, _)| names.split(' ').any(|each| each == name))
        .map(|(_, rule)| *rule)
}
