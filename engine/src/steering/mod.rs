//! Files that run or steer programs later, known by where they lie: they ask whatever the policy.
//!
//! A tool may write them only with a person's word each time, since whoever writes them decides
//! what other programs do when nobody looks. Names are compared without regard to case, as some
//! file systems do, and wherever in the workspace they stand.

mod table;

use std::collections::BTreeSet;

use table::{FILES, FOLDERS, FORMS};

/// What together makes a folder a store of versions, whatever its own name.
const REPOSITORY: [&str; 3] = ["head", "objects", "refs"];

/// Folders in which people keep all kinds of work: that a workspace lies beneath one says nothing.
const HOMES: [&str; 4] = [".config", ".local", ".ssh", ".gnupg"];

/// Which row asks about a change that reaches these paths.
pub fn steer(paths: &[String]) -> Option<&'static str> {
    let one = paths.iter().find_map(|path| steers(path));
    one.or_else(|| makes_repository(paths).then_some("git"))
}

/// Whether these paths make a store of versions of some folder.
fn makes_repository(paths: &[String]) -> bool {
    let folded: BTreeSet<String> = paths.iter().map(|path| folded_path(path)).collect();
    folded.iter().any(|path| {
        let above = match path.rsplit_once('/') {
            Some((above, "head")) => format!("{above}/"),
            None if path == "head" => String::new(),
            Some(_) | None => return false,
        };
        REPOSITORY
            .iter()
            .all(|name| folded.contains(&format!("{above}{name}")))
    })
}

/// Names of which each, in a folder that holds the others, makes it a store of versions.
pub fn repository_names() -> [&'static str; 3] {
    ["HEAD", "objects", "refs"]
}

/// Every place, beneath whatever folder, that steers a program by its name alone.
pub fn places() -> impl Iterator<Item = &'static str> {
    FOLDERS.iter().chain(FILES).map(|(place, _)| *place)
}

/// Which row asks about `path` in a workspace that lies at `root`: the folder may itself lie in one
/// that steers a program.
pub fn steers_in(root: &str, path: &str) -> Option<&'static str> {
    let above = root
        .split('/')
        .filter(|name| !HOMES.contains(&folded(name).as_str()));
    let above: Vec<_> = above.collect();
    steers(&format!("{}/{path}", above.join("/")))
}

/// What is known of a target that cannot be read: it may be anything.
pub const UNREADABLE: &str = "unreadable-target";

/// The rules of these rows begin like this.
const RULE: &str = "always:";

/// What the files of each row do, as the end of a sentence about one of them.
const ABOUT: &[(&str, &str)] = &[
    ("git", "a file that steers git"),
    ("hg", "a file that steers Mercurial"),
    ("sl", "a file that steers Sapling"),
    ("svn", "a file that steers Subversion"),
    ("jj", "a file that steers Jujutsu"),
    ("git-hooks", "a hook that git runs by itself"),
    ("workflow", "a file that a build server runs"),
    ("placet", "a file that steers placet"),
    ("editor", "a file that steers an editor or debugger"),
    ("agent", "a file that tells agents what to do"),
    ("toolchain", "a file that steers compilers or installers"),
    ("shell", "a file that shells and logins read"),
    (
        "environment",
        "a file that sets the environment of programs",
    ),
    (UNREADABLE, "a target that cannot be read"),
];

/// The rule of a row.
pub fn rule_of(row: &str) -> String {
    format!("{RULE}{row}")
}

/// What a call is about, in words, that asks by this rule whatever the policy; `None` where the
/// rule is none of these.
pub fn asks_always(rule: &str) -> Option<&'static str> {
    let row = rule.strip_prefix(RULE)?;
    let about = ABOUT.iter().find(|(known, _)| *known == row);
    // A row that a later version knows.
    Some(about.map_or("a file that steers programs", |(_, about)| about))
}

/// Which row asks about writing or removing `path`, a path beneath the workspace, if it runs or
/// steers programs later.
pub fn steers(path: &str) -> Option<&'static str> {
    let names: Vec<String> = path
        .split('/')
        .filter(|name| !name.is_empty())
        .map(folded)
        .collect();
    let folder = FOLDERS.iter().find(|(folder, _)| {
        let wanted = folder.split('/');
        names.windows(wanted.clone().count()).any(|window| {
            let mut pairs = window.iter().zip(wanted.clone());
            pairs.all(|(name, wanted)| name == wanted || is_short_of(name, wanted))
        })
    });
    if let Some((_, rule)) = folder {
        return Some(rule);
    }
    let last = names.last()?;
    let file = FILES
        .iter()
        .find(|(file, _)| file == last || is_short_of(last, file));
    let form = |(begins, ends, _): &&(&str, &str, &str)| {
        last.starts_with(begins) && last.ends_with(ends) && last.len() > begins.len() + ends.len()
    };
    let form = || FORMS.iter().find(form).map(|(_, _, rule)| *rule);
    file.map(|(_, rule)| *rule).or_else(form)
}

fn folded_path(path: &str) -> String {
    let names = path.split('/').filter(|name| !name.is_empty());
    names.map(folded).collect::<Vec<_>>().join("/")
}

/// Whether a name is what old file systems make of a long one: its first letters, a tilde, a digit.
fn is_short_of(name: &str, long: &str) -> bool {
    let Some((begins, rest)) = name.split_once('~') else {
        return false;
    };
    let long = long.trim_start_matches('.');
    let stem = long.split('.').next().unwrap_or_default();
    let short: String = stem.chars().filter(|c| *c != ' ').take(6).collect();
    !short.is_empty() && begins == short && rest.starts_with(|c: char| c.is_ascii_digit())
}

/// A name as the most lenient file system compares it: without case, without the characters that
/// some leave out, without the dots and blanks at the end that others cut off.
pub(crate) fn folded(name: &str) -> String {
    // A stream of a file is that file.
    let lower = without_case(name.split(':').next().unwrap_or_default());
    let cut = lower.trim_end_matches(['.', ' ']);
    if cut.is_empty() {
        lower
    } else {
        cut.to_owned()
    }
}

/// A text without case, and without the characters that some file systems leave out.
pub(crate) fn without_case(text: &str) -> String {
    let shown = |c: &char| !is_ignored(*c);
    // Up and down again, so that letters that share a capital are one.
    let cased = |c: char| c.to_uppercase().flat_map(char::to_lowercase);
    text.chars().filter(shown).flat_map(cased).collect()
}

/// Characters that a file system may leave out when it compares names.
fn is_ignored(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_says_in_words_what_it_is_about() {
        let rows = FOLDERS.iter().chain(FILES).map(|(_, row)| *row);
        for row in rows.chain([UNREADABLE]) {
            assert!(ABOUT.iter().any(|(known, _)| *known == row), "{row}");
        }
        for (rule, about) in [
            ("always:git", Some("a file that steers git")),
            (
                "always:unreadable-target",
                Some("a target that cannot be read"),
            ),
            ("always:of-later", Some("a file that steers programs")),
            ("policy:false", None),
            ("git", None),
        ] {
            assert_eq!(asks_always(rule), about, "{rule}");
        }
    }

    #[test]
    fn every_place_is_known_wherever_it_stands() {
        for (path, rule) in [
            (".git/hooks/pre-commit", "git"),
            (".git/config", "git"),
            (".git/info/attributes", "git"),
            (".git", "git"),
            ("vendor/lib/.git/hooks/x", "git"),
            (".GIT/hooks/x", "git"),
            (".Git /config", "git"),
            (".git./config", "git"),
            (".g\u{200c}it/config", "git"),
            ("git~1/config", "git"),
            (".envrc", "environment"),
            ("a/b/.envrc", "environment"),
            (".ENVRC", "environment"),
            ("placet.toml", "placet"),
            ("Placet.TOML", "placet"),
            (".placet/workflows/x.md", "placet"),
            (".github/workflows/ci.yml", "workflow"),
            (".gitlab-ci.yml", "workflow"),
            ("Jenkinsfile", "workflow"),
            (".vscode/tasks.json", "editor"),
            (".idea/runConfigurations/x.xml", "editor"),
            ("AGENTS.md", "agent"),
            ("pkg/CLAUDE.md", "agent"),
            (".claude/settings.json", "agent"),
            (".cargo/config.toml", "toolchain"),
            (".npmrc", "toolchain"),
            (".bashrc", "shell"),
            (".husky/pre-push", "git-hooks"),
            (".v\u{17f}code/tasks.json", "editor"),
            (".g\u{ad}it/config", "git"),
            (".g\u{200b}it/config", "git"),
            ("ENVRC~1", "environment"),
            ("GITHUB~1/workflows/x", "workflow"),
            ("PLACET~1.TOM", "placet"),
            (".env.local", "environment"),
            ("x.code-workspace", "editor"),
            (".run/all.run.xml", "editor"),
            (".helix/languages.toml", "editor"),
            (".sl/config", "sl"),
            ("roles/.pdbrc", "editor"),
            ("pkg/bunfig.toml", "toolchain"),
            (".pnp.cjs", "toolchain"),
            ("ansible.cfg", "toolchain"),
            (".irbrc", "shell"),
            (".autoenv.zsh", "environment"),
            (".kiro/hooks/x", "agent"),
            (".clinerules/a.md", "agent"),
        ] {
            assert_eq!(steers(path), Some(rule), "{path}");
        }
    }

    #[test]
    fn other_files_are_files_like_any() {
        for path in [
            "",
            "src/main.rs",
            "git/config",
            "hooks/pre-commit",
            "docs/git.md",
            ".gitignore",
            ".github/README.md",
            "workflows/ci.yml",
            "envrc",
            "notes/placet.toml.md",
            "a.git/config",
            "Makefile",
            "...",
            "github~1",
            "a/HEAD",
            ".run/readme",
            ".venv/bin/python",
            "node_modules/.bin/jest",
        ] {
            assert_eq!(steers(path), None, "{path}");
        }
    }

    #[test]
    fn what_makes_a_store_of_versions_is_known_by_its_parts() {
        let paths = |list: &[&str]| {
            list.iter()
                .map(|path| (*path).to_owned())
                .collect::<Vec<_>>()
        };
        let bare = paths(&["b", "b/HEAD", "b/config", "b/objects", "b/refs"]);
        assert_eq!(steer(&bare), Some("git"));
        assert_eq!(steer(&paths(&["HEAD", "objects", "refs"])), Some("git"));
        assert_eq!(steer(&paths(&["b/HEAD", "c/objects", "b/refs"])), None);
        assert_eq!(steer(&paths(&["b/HEAD", "b/objects"])), None);
    }

    #[test]
    fn a_workspace_in_a_folder_that_steers_is_known_by_its_own_path() {
        for (root, path, rule) in [
            ("/src/repo/.git", "hooks/pre-commit", Some("git")),
            ("/src/repo/.github", "workflows/ci.yml", Some("workflow")),
            ("/src/repo", "hooks/pre-commit", None),
            ("/home/ann/.config/site", "notes.txt", None),
            ("/home/ann/.config/site/.git", "x", Some("git")),
        ] {
            assert_eq!(steers_in(root, path), rule, "{root} {path}");
        }
    }

    #[test]
    fn each_name_of_the_tables_is_in_the_form_that_is_compared() {
        for (name, _) in FOLDERS.iter().chain(FILES) {
            let folded: Vec<_> = name.split('/').map(folded).collect();
            assert_eq!(folded.join("/"), *name);
        }
    }
}
