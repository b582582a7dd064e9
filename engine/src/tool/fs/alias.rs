//! The other names of what a call changes, as far as they steer programs: the path that the model
//! wrote, links that lead to the place, the path of the workspace itself, a store of versions that
//! has no telling name.
//!
//! They become part of what is proposed, so that the gate judges them too.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::Files;
use crate::steering;
use crate::tool::{Draft, ProposeTool, ToolError, reading};
use crate::workspace::{Workspace, join, lexical};

/// Arguments that hold paths, as a model writes them.
const PATHS: [&str; 3] = ["path", "from", "to"];

/// A proposing half that also tells the other names of what it changes.
pub(super) struct Named {
    pub(super) files: Arc<Files>,
    pub(super) proposing: Arc<dyn ProposeTool>,
}

#[async_trait]
impl ProposeTool for Named {
    async fn propose(&self, arguments: &Value) -> Result<Draft, ToolError> {
        let mut draft = self.proposing.propose(arguments).await?;
        let files = Arc::clone(&self.files);
        let spelled = PATHS
            .iter()
            .filter_map(|name| arguments.get(*name)?.as_str());
        let spelled: Vec<String> = spelled.map(str::to_owned).collect();
        let places = draft.precondition.places().into_iter();
        let places: Vec<String> = places.map(str::to_owned).collect();
        let names = reading(move || Ok(names(&files.workspace, &spelled, &places))).await?;
        draft.known_as.extend(names);
        Ok(draft)
    }
}

/// The names that steer programs, of these places and of the paths that were written.
fn names(workspace: &Workspace, spelled: &[String], places: &[String]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in spelled {
        let inside = path.strip_prefix(workspace.path()).unwrap_or(path);
        names.extend(lexical(inside).filter(|path| steering::steers(path).is_some()));
    }
    for place in places {
        let steered = steering::steers(place).is_some();
        if !steered && steering::steers_in(workspace.path(), place).is_some() {
            names.insert(join(workspace.path().trim_start_matches('/'), place));
        }
        for above in ancestors(place) {
            names.extend(through_links(workspace, above, place));
            names.extend(in_repository(workspace, above, place));
        }
    }
    names
}

/// The folders above a place, the root first.
fn ancestors(place: &str) -> impl Iterator<Item = &str> {
    let cuts = place.match_indices('/').map(|(at, _)| at);
    let above = cuts.filter_map(|at| place.get(..at));
    std::iter::once("").chain(above)
}

/// What stands beneath a folder, of a place in it; empty for the folder itself.
fn beneath<'a>(place: &'a str, folder: &str) -> Option<&'a str> {
    if folder.is_empty() {
        return Some(place);
    }
    let rest = place.strip_prefix(folder)?;
    if rest.is_empty() {
        Some(rest)
    } else {
        rest.strip_prefix('/')
    }
}

/// The names of a place through links in `above` that are called like something that steers.
fn through_links<'a>(
    workspace: &'a Workspace,
    above: &'a str,
    place: &'a str,
) -> impl Iterator<Item = String> + 'a {
    steering::places().filter_map(move |name| {
        let link = join(above, name);
        let rest = beneath(place, &workspace.leads_to(&link)?)?;
        Some(join(&link, rest).trim_end_matches('/').to_owned())
    })
}

/// The name of a place in `above` as one in a store of versions, if that is what it is or becomes.
fn in_repository(workspace: &Workspace, above: &str, place: &str) -> Option<String> {
    let rest = beneath(place, above)?;
    let first = rest.split('/').next().unwrap_or_default();
    let there = |name: &&str| first == *name || workspace.has(&join(above, name));
    let all = steering::repository_names();
    all.iter()
        .all(there)
        .then(|| join(&join(above, ".git"), rest))
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::workspace::ClosedSet;

    fn workspace(root: &std::path::Path) -> Workspace {
        create_dir_all(root).unwrap();
        Workspace::open(root, ClosedSet::new()).unwrap()
    }

    fn known(workspace: &Workspace, spelled: &str, place: &str) -> Vec<String> {
        let found = names(workspace, &[spelled.to_owned()], &[place.to_owned()]);
        let root = workspace.path().trim_start_matches('/');
        let shown = found.iter().map(|name| name.replace(root, "ROOT"));
        shown.collect()
    }

    #[test]
    fn a_place_is_known_by_the_links_that_lead_to_it_and_by_what_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let ws = workspace(dir.path());
        for folder in ["store/hooks", "conf", "ci", ".github", "env", "sub"] {
            create_dir_all(dir.path().join(folder)).unwrap();
        }
        write(dir.path().join("env/dev"), "").unwrap();
        for (to, link) in [
            ("store", ".git"),
            ("conf", ".vscode"),
            ("../ci", ".github/workflows"),
            ("env/dev", ".envrc"),
            ("../store", "sub/.git"),
            ("later", ".husky"),
        ] {
            symlink(to, dir.path().join(link)).unwrap();
        }
        for (spelled, place, names) in [
            ("store/hooks/x", "store/hooks/x", vec![".git/hooks/x"]),
            (".git/hooks/x", "store/hooks/x", vec![".git/hooks/x"]),
            (
                "./sub/.git/../.git/config",
                "store/config",
                vec![".git/config", "sub/.git/config"],
            ),
            (
                "conf/tasks.json",
                "conf/tasks.json",
                vec![".vscode/tasks.json"],
            ),
            ("ci/x.yml", "ci/x.yml", vec![".github/workflows/x.yml"]),
            ("env/dev", "env/dev", vec![".envrc"]),
            ("later", "later", vec![".husky"]),
            ("notes.txt", "notes.txt", vec![]),
            ("env/other", "env/other", vec![]),
        ] {
            assert_eq!(known(&ws, spelled, place), names, "{spelled}");
        }
    }

    #[test]
    fn a_store_of_versions_is_known_without_a_telling_name() {
        let dir = tempfile::tempdir().unwrap();
        let ws = workspace(dir.path());
        create_dir_all(dir.path().join("bare/objects")).unwrap();
        assert_eq!(known(&ws, "bare/HEAD", "bare/HEAD"), [""; 0]);
        write(dir.path().join("bare/HEAD"), "").unwrap();
        // The last of its parts makes it one; from then on everything in it is in one.
        assert_eq!(known(&ws, "bare/refs", "bare/refs"), ["bare/.git/refs"]);
        create_dir_all(dir.path().join("bare/refs")).unwrap();
        assert_eq!(
            known(&ws, "bare/config", "bare/config"),
            ["bare/.git/config"]
        );
        assert_eq!(known(&ws, "other/config", "other/config"), [""; 0]);
    }

    #[test]
    fn a_workspace_inside_a_folder_that_steers_is_known_by_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let ws = workspace(&dir.path().join(".github"));
        assert_eq!(
            known(&ws, "workflows/ci.yml", "workflows/ci.yml"),
            ["ROOT/workflows/ci.yml"]
        );
        assert_eq!(known(&ws, "README.md", "README.md"), [""; 0]);
    }
}
