//! What asks whatever the policy: files that run or steer programs later, by where they lie.
//!
//! A tool may write them only with a person's word each time, since whoever writes them decides
//! what other programs do when nobody looks. Names are compared without regard to case, as some
//! file systems do, and wherever in the workspace they stand.

/// Folders whose every file steers a program, with the row that asks.
const FOLDERS: &[(&str, &str)] = &[
    (".git", "git"),
    (".hg", "hg"),
    (".svn", "svn"),
    (".jj", "jj"),
    (".husky", "git-hooks"),
    (".githooks", "git-hooks"),
    (".github/workflows", "workflow"),
    (".github/actions", "workflow"),
    (".gitlab/ci", "workflow"),
    (".circleci", "workflow"),
    (".buildkite", "workflow"),
    (".forgejo", "workflow"),
    (".gitea", "workflow"),
    (".woodpecker", "workflow"),
    (".placet", "placet"),
    (".vscode", "editor"),
    (".idea", "editor"),
    (".fleet", "editor"),
    (".zed", "editor"),
    (".vim", "editor"),
    (".nvim", "editor"),
    (".devcontainer", "editor"),
    (".claude", "agent"),
    (".codex", "agent"),
    (".cursor", "agent"),
    (".gemini", "agent"),
    (".windsurf", "agent"),
    (".continue", "agent"),
    (".aider", "agent"),
    (".github/instructions", "agent"),
    (".github/prompts", "agent"),
    (".github/agents", "agent"),
    (".cargo", "toolchain"),
    (".yarn", "toolchain"),
    (".mvn", "toolchain"),
    (".bundle", "toolchain"),
    (".ssh", "shell"),
    (".gnupg", "shell"),
    (".config", "shell"),
    (".local", "shell"),
];

/// Single files that steer a program, with the row that asks.
const FILES: &[(&str, &str)] = &[
    ("placet.toml", "placet"),
    (".gitmodules", "git"),
    (".gitattributes", "git"),
    (".gitconfig", "git"),
    (".envrc", "environment"),
    (".env", "environment"),
    (".mise.toml", "environment"),
    ("mise.toml", "environment"),
    (".tool-versions", "environment"),
    ("devbox.json", "environment"),
    (".pre-commit-config.yaml", "git-hooks"),
    ("lefthook.yml", "git-hooks"),
    ("lefthook.yaml", "git-hooks"),
    (".lefthook.yml", "git-hooks"),
    (".gitlab-ci.yml", "workflow"),
    ("bitbucket-pipelines.yml", "workflow"),
    ("azure-pipelines.yml", "workflow"),
    (".travis.yml", "workflow"),
    (".drone.yml", "workflow"),
    (".woodpecker.yml", "workflow"),
    (".cirrus.yml", "workflow"),
    ("appveyor.yml", "workflow"),
    ("jenkinsfile", "workflow"),
    ("agents.md", "agent"),
    ("agent.md", "agent"),
    ("claude.md", "agent"),
    ("claude.local.md", "agent"),
    ("gemini.md", "agent"),
    (".mcp.json", "agent"),
    ("mcp.json", "agent"),
    (".cursorrules", "agent"),
    (".windsurfrules", "agent"),
    (".clinerules", "agent"),
    (".goosehints", "agent"),
    (".aider.conf.yml", "agent"),
    ("copilot-instructions.md", "agent"),
    (".exrc", "editor"),
    (".vimrc", "editor"),
    (".nvimrc", "editor"),
    (".nvim.lua", "editor"),
    (".lvimrc", "editor"),
    (".dir-locals.el", "editor"),
    (".devcontainer.json", "editor"),
    (".gdbinit", "editor"),
    (".lldbinit", "editor"),
    (".npmrc", "toolchain"),
    (".pnpmfile.cjs", "toolchain"),
    (".yarnrc", "toolchain"),
    (".yarnrc.yml", "toolchain"),
    (".bazelrc", "toolchain"),
    (".pypirc", "toolchain"),
    ("pip.conf", "toolchain"),
    ("sitecustomize.py", "toolchain"),
    ("usercustomize.py", "toolchain"),
    ("rust-toolchain", "toolchain"),
    ("rust-toolchain.toml", "toolchain"),
    (".bashrc", "shell"),
    (".bash_profile", "shell"),
    (".bash_login", "shell"),
    (".bash_logout", "shell"),
    (".profile", "shell"),
    (".zshrc", "shell"),
    (".zshenv", "shell"),
    (".zprofile", "shell"),
    (".zlogin", "shell"),
    (".inputrc", "shell"),
    (".pam_environment", "shell"),
    (".xprofile", "shell"),
    (".xsessionrc", "shell"),
];

/// What is known of a target that cannot be read: it may be anything.
pub(super) const UNREADABLE: &str = "unreadable-target";

/// The rules of these rows begin like this.
const RULE: &str = "always:";

/// What the files of each row do, as the end of a sentence about one of them.
const ABOUT: &[(&str, &str)] = &[
    ("git", "a file that steers git"),
    ("hg", "a file that steers Mercurial"),
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
pub(super) fn rule_of(row: &str) -> String {
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
        let wanted: Vec<&str> = folder.split('/').collect();
        names.windows(wanted.len()).any(|window| window == wanted)
    });
    if let Some((_, rule)) = folder {
        return Some(rule);
    }
    let last = names.last()?;
    let file = FILES.iter().find(|(file, _)| file == last);
    file.map(|(_, rule)| *rule)
}

/// A name as the most lenient file system compares it: without case, without the characters that
/// some leave out, without the dots and blanks at the end that others cut off.
fn folded(name: &str) -> String {
    let shown = |c: &char| !is_ignored(*c);
    let lower: String = name
        .chars()
        .filter(shown)
        .flat_map(char::to_lowercase)
        .collect();
    let cut = lower.trim_end_matches(['.', ' ']);
    // The short names of old file systems.
    let short = cut.strip_suffix("~1").filter(|name| *name == "git");
    match (short, cut.is_empty()) {
        (Some(_), _) => String::from(".git"),
        (None, true) => lower,
        (None, false) => cut.to_owned(),
    }
}

/// Characters that a file system may leave out when it compares names.
fn is_ignored(c: char) -> bool {
    matches!(
        c,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
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
        ] {
            assert_eq!(steers(path), None, "{path}");
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
