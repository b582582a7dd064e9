//! `git`: the verbs that only read, without the flags that write or run something.
//!
//! Git runs programs that the repository's own configuration names even for these verbs:
//! `core.fsmonitor`, `diff.external`, `diff.<driver>.command` and `.textconv`, `filter.<driver>.*`,
//! `gpg.*` where `log.showSignature` or a format of the configuration asks for signatures, the hook
//! `post-index-change`, helpers of a partial clone, and whatever a submodule's configuration names.
//! That is what [`Claims::repository`] says; whoever runs the command makes up for it, and sets
//! `GIT_OPTIONAL_LOCKS=0` and `diff.autoRefreshIndex=false`, without which `status` and `diff`
//! write the index that they refresh. The words themselves must not ask for any of these.

mod verbs;

use super::flags::{self, Parsed};
use super::paths::{self, Use};
use super::{Claims, Verdict};
use verbs::{Verb, Words};

/// Flags before the verb that choose no other folder, configuration, program or pager.
const HARMLESS: [&str; 8] = [
    "--no-pager",
    "-P",
    "--no-optional-locks",
    "--no-replace-objects",
    "--literal-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
];

/// Values of `--diff-merges` that merge again, as `--remerge-diff` does.
const REMERGES: [&str; 2] = ["r", "remerge"];

/// `git [flags] verb [flags] [operands]`.
pub(super) fn judge(arguments: &[&str]) -> Verdict<Claims> {
    let before = arguments.iter().take_while(|word| HARMLESS.contains(word));
    let rest = arguments.get(before.count()..).unwrap_or_default();
    let (verb, words) = match rest {
        [] => return Err("git without a verb is not on the list".to_owned()),
        ["--version" | "-v" | "--help" | "help"] => return Ok(Claims::default()),
        [flag, ..] if flag.starts_with('-') => {
            return Err(format!("`{flag}` of git is not on the list"));
        }
        [verb, words @ ..] => (*verb, words),
    };
    if let Some(word) = words.iter().find(|word| starts_a_program(word)) {
        return Err(format!("`{word}` has git start another program"));
    }
    let (name, verb, words) = two_words(verb, words)
        .or_else(|| Some((verb.to_owned(), verbs::find(verb)?, words)))
        .ok_or_else(|| format!("`git {verb}` is not on the list"))?;
    judge_verb(&name, verb, words).map(|operands| Claims {
        operands,
        repository: true,
    })
}

/// A verb with a verb of its own: `stash list`.
fn two_words<'a>(
    verb: &str,
    words: &'a [&'a str],
) -> Option<(String, &'static Verb, &'a [&'a str])> {
    let (second, rest) = words.split_first()?;
    let name = format!("{verb} {second}");
    let found = verbs::find(&name)?;
    Some((name, found, rest))
}

/// Formats with `%G?` and the like, and `%(signature)`, run the program that checks signatures, and
/// `%(describe)` starts git again. A sign or a blank may stand behind the `%`, a star before the
/// name.
fn starts_a_program(word: &str) -> bool {
    word.split('%').skip(1).any(|format| {
        let format = format.trim_start_matches(['+', '-', ' ']);
        let named = format.strip_prefix('(').map(|rest| {
            let end = rest.find(')').unwrap_or(rest.len());
            rest.get(..end).unwrap_or_default()
        });
        format.starts_with('G') || named.is_some_and(names_a_program)
    })
}

/// Whether what is printed or sorted by comes of a program.
fn names_a_program(field: &str) -> bool {
    ["signature", "describe"]
        .iter()
        .any(|name| field.contains(name))
}

/// The files that its flags and operands name. An operand is the name of a revision or a path.
fn judge_verb(name: &str, verb: &Verb, words: &[&str]) -> Verdict<Vec<String>> {
    let program = format!("git {name}");
    let parsed = flags::parse(&program, verb.flags, words)?;
    let sorts = parsed.has(&["--sort"]);
    let runs = |value: &&&str| sorts && names_a_program(value);
    if let Some(value) = parsed.values.iter().find(runs) {
        return Err(format!("`{value}` has git start another program"));
    }
    let merges = parsed.has(&["--diff-merges"]);
    let remerges = |value: &&&str| merges && REMERGES.contains(value);
    if let Some(value) = parsed.values.iter().find(remerges) {
        return Err(format!("`--diff-merges={value}` has git write objects"));
    }
    judge_operands(&program, verb, &parsed)?;
    all_inside(&program, &parsed.paths)?;
    parsed
        .values
        .iter()
        .try_for_each(|value| path_inside(value))?;
    let named = parsed.paths.iter().chain(may_be_paths(verb, &parsed));
    Ok(named.map(|path| (*path).to_owned()).collect())
}

/// The operands that may be paths: git follows their links where there is no repository, or where
/// one of them lies outside of it.
fn may_be_paths<'a>(
    verb: &Verb,
    parsed: &'a Parsed<'a>,
) -> impl Iterator<Item = &'a &'a str> + use<'a> {
    let skipped = match verb.words {
        Words::Any | Words::UpTo(_) | Words::Reference => 0,
        Words::PatternFirst => usize::from(!parsed.has(&["-e", "-f"])),
        Words::Nothing | Words::Patterns | Words::OnlyWith(_) | Words::Setting => usize::MAX,
    };
    let operands = parsed.operands.iter().skip(skipped);
    operands.filter(|word| !word.is_empty() && **word != "--")
}

fn judge_operands(program: &str, verb: &Verb, parsed: &Parsed<'_>) -> Verdict<()> {
    let operands = parsed.operands.as_slice();
    let refused = |word: &&str| {
        Err(format!(
            "the operand `{word}` of {program} is not on the list"
        ))
    };
    let most = |most: usize| operands.get(most).map_or(Ok(()), refused);
    match verb.words {
        Words::Nothing => most(0),
        Words::UpTo(count) => most(count).and_then(|()| all_inside(program, operands)),
        Words::Any => all_inside(program, operands),
        Words::Patterns => Ok(()),
        Words::OnlyWith(flags) => {
            if !parsed.has(flags) {
                most(0)?;
            }
            all_inside(program, operands)
        }
        Words::PatternFirst => {
            // Behind the pattern, a `--` may still stand before the paths.
            let skipped = usize::from(!parsed.has(&["-e", "-f"]));
            let rest = operands.get(skipped..).unwrap_or_default();
            rest.splitn(2, |word| *word == "--")
                .try_for_each(|part| all_inside(program, part))
        }
        Words::Reference => operands
            .iter()
            .find(|word| !is_reference(word))
            .map_or(Ok(()), refused),
        Words::Setting => {
            if let Some(word) = operands.iter().find(|word| word.starts_with('-')) {
                return refused(word);
            }
            if parsed.has(&["--get-regexp", "--get-urlmatch", "--list", "-l"]) {
                return most(2);
            }
            // Two words without `--get` set the first; one without a dot may be a verb.
            let gets = parsed.has(&["--get", "--get-all"]);
            most(if gets { 2 } else { 1 })?;
            match operands.first() {
                Some(key) if key.contains('.') => Ok(()),
                Some(word) => refused(word),
                None => Err(format!("{program} without a setting is not on the list")),
            }
        }
    }
}

/// What is plainly no verb of `reflog`.
fn is_reference(word: &str) -> bool {
    word.starts_with("HEAD") || word.contains(['/', '@'])
}

/// Names of revisions and paths alike: none absolute, none above, none that looks like a flag.
fn all_inside(program: &str, operands: &[&str]) -> Verdict<()> {
    operands.iter().try_for_each(|word| {
        if word.starts_with(['/', '-']) {
            return Err(format!(
                "the operand `{word}` of {program} is not on the list"
            ));
        }
        if word.is_empty() {
            return Ok(());
        }
        path_inside(word)?;
        paths::check(word, Use::Contents)
    })
}

/// What stands behind a colon is a path, as in `REV:PATH`, `:(top)PATH` and `-L 1,5:PATH`: it goes
/// up nowhere.
fn path_inside(word: &str) -> Verdict<()> {
    let Some((_, path)) = word.split_once(':') else {
        return Ok(());
    };
    let mut parts = path.split(|c| "/:()!^".contains(c));
    if parts.any(|part| part == "..") {
        return Err(format!("`{word}` may leave the workspace"));
    }
    Ok(())
}
