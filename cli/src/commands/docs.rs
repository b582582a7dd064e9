//! The reference of the command line as a document, made of the tree that parses it.
//!
//! What a verb says of itself stands once, at its arguments: help, man pages and `docs/CLI.md` are
//! three renderings of it.

use std::fmt::Write;

use clap::{Arg, Command};

use crate::exit::ExitStatus;
use crate::ui::WIDTH_DEFAULT;

/// How the line with the example of a verb begins.
const EXAMPLE: &str = "Example: ";

/// What stands above the verbs.
const OPENING: &str = "# Command line

Made of the program's own tree of verbs by `PLACET_BLESS=1 cargo test -p placet --test cli docs`: \
change the texts there. `placet VERB --help` says the same, `placet man DIR` writes it as man \
pages, and `placet completions SHELL` is for the shell.

Results go to standard output, everything else to standard error. Runs are named by the first six \
or more digits of their ids; a record by `RUN@VERSION` or `#POSITION`.
";

/// What a verb says of itself.
pub(super) struct Words {
    /// The first sentence.
    pub(super) about: String,
    /// What else must be known, a paragraph each.
    pub(super) details: Vec<String>,
    /// A line that can be typed.
    pub(super) example: Option<String>,
}

impl Words {
    /// What a verb of the tree says.
    pub(super) fn of(verb: &Command) -> Self {
        let about = verb.get_about().map(ToString::to_string);
        let long = verb.get_long_about().map(ToString::to_string);
        let long = long.unwrap_or_default();
        let (examples, details): (Vec<_>, Vec<_>) = long
            .split("\n\n")
            .skip(1)
            .map(str::to_owned)
            .partition(|paragraph| paragraph.starts_with(EXAMPLE));
        let example = examples.first().and_then(|line| line.strip_prefix(EXAMPLE));
        Self {
            about: about.unwrap_or_default(),
            details,
            example: example.map(str::to_owned),
        }
    }
}

/// The verbs and nouns of a noun, or of the whole program.
pub(super) fn verbs(noun: &Command) -> impl Iterator<Item = &Command> {
    let named = noun.get_subcommands();
    named.filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
}

/// The document.
pub(crate) fn reference() -> String {
    let mut tree = super::tree(WIDTH_DEFAULT);
    tree.build();
    let mut out = OPENING.to_owned();
    out.push_str("\n## Options of every verb\n\n");
    table(&mut out, tree.get_arguments().filter(|arg| is_shown(arg)));
    for verb in verbs(&tree) {
        let _ignored = writeln!(out, "\n## {}\n", name(verb));
        page(&mut out, verb);
        for verb in verbs(verb) {
            let _ignored = writeln!(out, "\n### {}\n", name(verb));
            page(&mut out, verb);
        }
    }
    out.push_str("\n## Exit codes\n\nOne meaning each, the same for all verbs.\n\n");
    out.push_str("| code | meaning |\n|---|---|\n");
    for status in ExitStatus::ALL {
        let _ignored = writeln!(out, "| {} | {} |", status.code(), status.meaning());
    }
    out
}

fn name(verb: &Command) -> &str {
    verb.get_bin_name().unwrap_or_else(|| verb.get_name())
}

/// How a verb is typed, as help says it.
pub(super) fn usage(verb: &Command) -> String {
    let usage = verb.clone().render_usage().to_string();
    usage.trim_start_matches("Usage: ").to_owned()
}

fn page(out: &mut String, verb: &Command) {
    let words = Words::of(verb);
    let _ignored = writeln!(out, "{}.", words.about);
    for paragraph in &words.details {
        let _ignored = writeln!(out, "\n{paragraph}");
    }
    if verb.has_subcommands() {
        return;
    }
    let _ignored = writeln!(out, "\n```text\n{}\n```", usage(verb));
    let options = verb.get_arguments().filter(|arg| !arg.is_positional());
    let own: Vec<_> = verb
        .get_positionals()
        .chain(options)
        .filter(|arg| is_shown(arg) && !arg.is_global_set())
        .collect();
    if !own.is_empty() {
        out.push('\n');
        table(out, own.into_iter());
    }
    if let Some(example) = &words.example {
        let _ignored = writeln!(out, "\n```sh\n{example}\n```");
    }
}

/// `--help` and `--version` are everywhere, and need no words.
fn is_shown(arg: &Arg) -> bool {
    !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
}

/// A row for each argument and option.
fn table<'a>(out: &mut String, args: impl Iterator<Item = &'a Arg>) {
    out.push_str("| argument or option | what it is | default |\n|---|---|---|\n");
    for arg in args {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let (help, told) = told_default(&help);
        let default: Vec<_> = arg
            .get_default_values()
            .iter()
            .map(|value| format!("`{}`", value.display()))
            .collect();
        // A switch is off by itself, and says nothing of it.
        let default = match (arg.get_action().takes_values(), default.is_empty()) {
            (true, false) => default.join(", "),
            (true, true) | (false, _) => told.to_owned(),
        };
        let help = format!("{help}{}", choices(arg));
        let [spelled, help, default] =
            [format!("`{}`", spelled(arg)), help, default].map(|text| cell(&text));
        let _ignored = writeln!(out, "| {spelled} | {help} | {default} |");
    }
}

/// A default that only the words tell: it depends on what is around.
fn told_default(help: &str) -> (&str, &str) {
    match help.split_once(" [default: ") {
        Some((help, default)) => (help, default.trim_end_matches(']')),
        None => (help, ""),
    }
}

fn spelled(arg: &Arg) -> String {
    let many = arg
        .get_num_args()
        .is_some_and(|range| range.max_values() > 1);
    let values = arg.get_value_names().unwrap_or_default();
    let values = values.join(" ") + if many { "..." } else { "" };
    match arg.get_long() {
        Some(long) if arg.get_action().takes_values() => format!("--{long} {values}"),
        Some(long) => format!("--{long}"),
        None => values,
    }
}

/// The words that it takes, each with its meaning.
fn choices(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return String::new();
    }
    let choices: Vec<_> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({help})", value.get_name()),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if choices.is_empty() {
        return String::new();
    }
    format!(": {}", choices.join(", "))
}

/// Text inside a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
