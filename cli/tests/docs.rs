//! What the command line says of itself: help, the reference, man pages, completions.

use std::path::Path;

use clap::Command;

use crate::support::World;

/// The tree with everything that the parser adds to it.
fn tree() -> Command {
    let mut tree = placet::command();
    tree.build();
    tree
}

fn verbs(noun: &Command) -> impl Iterator<Item = &Command> {
    let named = noun.get_subcommands();
    named.filter(|verb| verb.get_name() != "help")
}

/// The program, its nouns and its verbs, in the order of help.
fn everything(tree: &Command) -> Vec<&Command> {
    let mut all = vec![tree];
    for verb in verbs(tree) {
        all.extend(everything(verb));
    }
    all
}

fn name(verb: &Command) -> String {
    verb.get_bin_name().unwrap_or("placet").to_owned()
}

/// The words of a line as a shell splits it; quotes alone, no escapes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for c in line.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == ' ' => words.push(String::new()),
            Some(_) | None => words.last_mut().unwrap().push(c),
        }
    }
    assert_eq!(quote, None, "{line}");
    words
}

#[test]
fn help_of_every_verb() {
    let world = World::new();
    let mut pages = Vec::new();
    for verb in everything(&tree()) {
        let name = name(verb);
        let args: Vec<&str> = name.split(' ').skip(1).chain(["--help"]).collect();
        let shown = world.call(&args);
        assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{name}");
        for line in shown.stdout.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        pages.push(format!("$ {name} --help\n{}\n", shown.stdout.trim_end()));
    }
    insta::assert_snapshot!("help", pages.join("\n"));
}

#[test]
fn help_in_short() {
    let world = World::new();
    insta::assert_snapshot!(world.show(&["runs", "list", "-h"]), @r"
    List runs that are not finished, the newest first

    Usage: placet runs list [OPTIONS]

    Options:
          --state <S>  Runs in this state alone [possible values: running, waiting,
                       parked, in_doubt, finished, quarantined]
          --agent <A>  Runs of this agent alone
          --since <T>  Runs that began at this time or later: a UTC time, a day, or
                       how long ago (24h, 7d)
          --all        Finished runs too
          --limit <N>  Runs at most [default: 100]
          --after <C>  Go on where the part before ended, by the cursor that it gave
      -h, --help       Print help (see more with '--help')

    Options of every verb:
          --home <DIR>     The folder of the ledger [env: PLACET_HOME] [default:
                           $XDG_DATA_HOME/placet]
          --json           Write JSON on standard output, and errors as JSON
          --quiet          Leave out everything on standard error but errors
          --color <WHEN>   When to use colour [default: auto] [possible values:
                           auto, always, never]
          --config <FILE>  The config file [default:
                           $XDG_CONFIG_HOME/placet/config.toml]
    -- stderr --
    -- exit 0 --
    ");
}

#[test]
fn each_verb_has_one_example_that_parses() {
    for verb in everything(&tree()) {
        let name = name(verb);
        let long = verb.get_long_about().map(ToString::to_string);
        let long = long.unwrap_or_default();
        let examples: Vec<_> = long
            .lines()
            .filter_map(|line| line.strip_prefix("Example: "))
            .collect();
        if verb.has_subcommands() {
            assert!(examples.is_empty(), "{name}: a noun has no example");
            continue;
        }
        let [example] = examples[..] else {
            panic!("{name}: {} examples", examples.len());
        };
        assert!(
            format!("{example} ").starts_with(&format!("{name} ")),
            "{example}"
        );
        let parsed = placet::command().try_get_matches_from(words(example));
        assert!(parsed.is_ok(), "{example}: {:?}", parsed.err());
    }
}

#[test]
fn nothing_is_undocumented() {
    for verb in everything(&tree()) {
        let name = name(verb);
        let about = verb.get_about().map(ToString::to_string);
        let about = about.unwrap_or_default();
        assert!(
            !about.is_empty() && !about.ends_with('.') && !about.contains('`'),
            "{name}: {about:?}"
        );
        // In a list of verbs it stands on one line.
        assert!(about.len() <= 66, "{name}: {about:?}");
        for arg in verb.get_arguments() {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let id = arg.get_id();
            assert!(
                !help.is_empty() && !help.ends_with('.'),
                "{name} {id}: {help:?}"
            );
            assert!(
                !help.contains('`'),
                "{name} {id}: a terminal shows the marks: {help}"
            );
        }
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "whoever runs the test asks for a new file"
)]
fn the_reference_is_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/CLI.md");
    let reference = placet::reference();
    if std::env::var_os("PLACET_BLESS").is_some() {
        std::fs::write(&path, &reference).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == reference,
        "docs/CLI.md is not what the program says of itself. Make it anew:\n\
         PLACET_BLESS=1 cargo test -p placet --test cli docs"
    );
}

#[test]
fn the_reference_names_every_verb_and_exit_code() {
    let reference = placet::reference();
    for verb in everything(&tree()).into_iter().skip(1) {
        let heading = format!("# {}\n", name(verb));
        assert_eq!(reference.matches(&heading).count(), 1, "{heading}");
        for arg in verb.get_arguments().filter_map(clap::Arg::get_long) {
            let known = reference.contains(&format!("`--{arg}")) || arg == "help";
            assert!(known, "{heading}{arg}");
        }
    }
    for status in placet::exit::ExitStatus::ALL {
        let row = format!("\n| {} | {} |\n", status.code(), status.meaning());
        assert_eq!(reference.matches(&row).count(), 1, "{row}");
    }
}

#[test]
fn man_pages_are_written() {
    let world = World::new();
    let shown = world.show(&["man", "man/man1"]);
    let names: Vec<_> = everything(&tree())
        .into_iter()
        .map(|verb| format!("{}.1", name(verb).replace(' ', "-")))
        .collect();
    let count = names.len();
    let told = format!("-- stderr --\nwrote {count} pages to <dir>/man/man1\n-- exit 0 --");
    assert_eq!(shown, format!("{}\n{told}", names.join("\n")));
    let folder = world.path("man/man1");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    for name in &names {
        let page = read(name);
        for section in [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "\"EXIT STATUS\"",
        ] {
            let heading = format!("\n.SH {section}\n");
            assert_eq!(page.matches(&heading).count(), 1, "{name} {section}");
        }
        let verb = name.trim_end_matches(".1").replace('-', " ");
        let help: Vec<&str> = verb.split(' ').skip(1).chain(["--help"]).collect();
        let help = world.call(&help).stdout;
        let usage = help.lines().find_map(|line| line.strip_prefix("Usage: "));
        let plain = page.replace("\\-", "-");
        let synopsis = format!("\n.SH SYNOPSIS\n{}\n.ie ", usage.unwrap());
        assert!(plain.contains(&synopsis), "{name}: {synopsis}");
        for (end, _) in plain.match_indices("(1)") {
            let word = plain[..end].rsplit([' ', '\n']).next().unwrap();
            assert!(names.contains(&format!("{word}.1")), "{name}: {word}");
        }
    }
    let there: Vec<_> = std::fs::read_dir(&folder).unwrap().collect();
    assert_eq!(there.len(), count, "nothing else is left behind");
    insta::assert_snapshot!("man_page", read("placet-runs-cancel.1"));

    // A page of an earlier release is replaced, not what a link in its place leads to.
    std::fs::write(world.path("other"), "kept").unwrap();
    std::fs::remove_file(folder.join("placet.1")).unwrap();
    std::os::unix::fs::symlink(world.path("other"), folder.join("placet.1")).unwrap();
    let again = world.call(&["--json", "--quiet", "man", "man/man1"]);
    let written: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(written["pages"].as_array().unwrap().len(), count);
    assert_eq!(
        std::fs::read_to_string(world.path("other")).unwrap(),
        "kept"
    );
    assert!(read("placet.1").contains(".SH NAME"));
}

#[test]
fn man_pages_go_into_a_folder_alone() {
    let world = World::new();
    std::fs::write(world.path("file"), "kept").unwrap();
    insta::assert_snapshot!(world.show(&["man", "file"]), @r"
    -- stderr --
    error: cannot write man pages to <dir>/file: it is no folder
      hint: name a folder; it is made where there is none
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["man", "file/below"]), @r"
    -- stderr --
    error: cannot make the folder <dir>/file/below: Not a directory (os error 20)
      hint: name a folder that you may write to
    -- exit 1 --
    ");
    assert_eq!(std::fs::read_to_string(world.path("file")).unwrap(), "kept");
}

#[test]
fn completions_know_every_verb() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let shown = world.call(&["completions", shell]);
        assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{shell}");
        for verb in everything(&tree()) {
            let word = verb.get_name();
            assert!(shown.stdout.contains(word), "{shell}: {word}");
        }
        assert!(shown.stdout.contains("auto-approve-tools"), "{shell}");
    }
    assert!(!world.path("data").exists());
    insta::assert_snapshot!(world.show(&["completions", "tcsh"]), @r"
    -- stderr --
    error: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]
      hint: --help tells more
    -- exit 64 --
    ");
}

#[test]
fn what_describes_the_program_needs_neither_home_nor_config() {
    let world = World::new();
    std::fs::create_dir_all(world.path("person/.config/placet")).unwrap();
    std::fs::write(world.path("person/.config/placet/config.toml"), "wrong").unwrap();
    assert_eq!(world.call(&["run", "go"]).code, 64);
    assert_eq!(world.call(&["completions", "bash"]).code, 0);
    assert_eq!(world.call(&["man", "pages"]).code, 0);
}
