//! Ways out of a workspace, and workspaces that a run may not have.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["ws/src/deep", "out"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        for name in ["ws/a", "ws/src/b", "out/secret"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        Self { folder }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn open(&self, closed: ClosedSet) -> Result<Workspace, WorkspaceError> {
        Workspace::open(&self.at("ws"), closed)
    }
}

#[test]
fn normalises_paths_once() {
    let bench = Bench::new();
    symlink("src", bench.at("ws/link")).unwrap();
    let workspace = bench.open(ClosedSet::new()).unwrap();
    let absolute = format!("{}//src/./b", workspace.path());
    for (path, normal) in [
        ("a", "a"),
        ("./a", "a"),
        (".//src///b", "src/b"),
        ("src/../a", "a"),
        ("src/deep/../../a", "a"),
        ("link/b", "src/b"),
        ("link/new", "src/new"),
        ("link/../a", "a"),
        (absolute.as_str(), "src/b"),
        ("...", "..."),
        ("a b \u{e9}", "a b \u{e9}"),
    ] {
        assert_eq!(workspace.target(path).unwrap().path, normal, "{path}");
    }
    assert_eq!(workspace.existing("link/b").unwrap().path, "src/b");
    assert_eq!(workspace.folder("link").unwrap().path, "src");
    assert_eq!(workspace.folder(workspace.path()).unwrap().path, "");
}

#[test]
fn nothing_leads_out() {
    let bench = Bench::new();
    symlink(bench.at("out"), bench.at("ws/absolute")).unwrap();
    symlink("../out", bench.at("ws/relative")).unwrap();
    symlink("../out/secret", bench.at("ws/file")).unwrap();
    symlink("loop", bench.at("ws/loop")).unwrap();
    let workspace = bench.open(ClosedSet::new()).unwrap();
    let beside = format!("{}x/a", workspace.path());
    let above = format!("{}/../out/secret", workspace.path());
    for path in [
        "../out/secret",
        "src/../../out/secret",
        "absolute/secret",
        "relative/secret",
        "relative/../a",
        "/etc/passwd",
        "/",
        beside.as_str(),
        above.as_str(),
    ] {
        for error in [workspace.target(path).err(), workspace.existing(path).err()] {
            assert!(
                error.as_ref().is_some_and(PathError::is_refusal),
                "{path}: {error:?}"
            );
        }
    }
    assert!(workspace.existing("file").unwrap_err().is_refusal());
    assert!(workspace.existing("loop").is_err());
    assert!(workspace.folder("..").unwrap_err().is_refusal());
}

#[test]
fn a_resolved_path_is_walked_without_following_anything() {
    let bench = Bench::new();
    let workspace = bench.open(ClosedSet::new()).unwrap();
    assert_eq!(workspace.target("src/b").unwrap().path, "src/b");
    // Swapped between proposing and executing.
    fs::rename(bench.at("ws/src"), bench.at("ws/was")).unwrap();
    symlink("was", bench.at("ws/src")).unwrap();
    assert!(matches!(
        workspace.target_exact("src/b"),
        Err(PathError::NotFolder(_))
    ));
    fs::remove_file(bench.at("ws/src")).unwrap();
    symlink("../out", bench.at("ws/src")).unwrap();
    assert!(workspace.target_exact("src/secret").is_err());
    for path in ["../out/secret", "a/..", "", ".", "./a", "src/"] {
        assert!(workspace.target_exact(path).is_err(), "{path}");
    }
}

#[test]
fn refuses_paths_that_no_file_has() {
    let bench = Bench::new();
    let workspace = bench.open(ClosedSet::new()).unwrap();
    assert!(matches!(workspace.target(""), Err(PathError::Empty)));
    assert!(matches!(
        workspace.target("a\0"),
        Err(PathError::Control(_))
    ));
    assert!(matches!(
        workspace.target("a\u{85}"),
        Err(PathError::Control(_))
    ));
    let long = "x/".repeat(3_000);
    assert!(matches!(
        workspace.target(&long),
        Err(PathError::Long(6_000))
    ));
    let name = "x".repeat(300);
    let target = workspace.target(&name).unwrap();
    assert!(workspace.open_file(&target).is_err());
}

#[test]
fn a_workspace_lies_apart_from_closed_folders() {
    let bench = Bench::new();
    let closed = |path: &str| {
        let mut set = ClosedSet::new();
        set.close_folder(&bench.at(path)).unwrap();
        set
    };
    for path in ["ws/src", "ws/src/deep", "ws/not/yet/there", "ws"] {
        let error = bench.open(closed(path)).unwrap_err();
        assert!(
            matches!(error, WorkspaceError::Contains { .. }),
            "{path}: {error}"
        );
    }
    symlink(bench.at("ws"), bench.at("alias")).unwrap();
    let error = Workspace::open(&bench.at("alias"), closed("ws/src")).unwrap_err();
    assert!(matches!(error, WorkspaceError::Contains { .. }));
    let error = bench.open(closed("alias/src")).unwrap_err();
    assert!(matches!(error, WorkspaceError::Contains { .. }));
    let error = Workspace::open(&bench.at("ws/src"), closed("")).unwrap_err();
    assert!(matches!(error, WorkspaceError::Inside { .. }), "{error}");
    assert!(bench.open(closed("out")).is_ok());
    assert!(bench.open(closed("not/yet/there")).is_ok());
}

#[test]
fn single_closed_files_may_lie_in_a_workspace_and_stay_closed() {
    let bench = Bench::new();
    let mut closed = ClosedSet::new();
    closed.close_file(&bench.at("ws/a")).unwrap();
    closed.close_file(&bench.at("ws/later")).unwrap();
    let workspace = bench.open(closed).unwrap();
    let open = |path| workspace.open_file(&workspace.target(path).unwrap());
    assert!(matches!(open("a"), Err(PathError::Closed(_))));
    assert!(matches!(open("later"), Err(PathError::Missing { .. })));
    fs::write(bench.at("ws/later"), "").unwrap();
    assert!(matches!(open("later"), Err(PathError::Closed(_))));
    assert!(open("src/b").is_ok());
}

#[test]
fn a_link_to_a_closed_file_stays_closed_when_its_other_name_goes() {
    let bench = Bench::new();
    fs::hard_link(bench.at("out/secret"), bench.at("ws/copy")).unwrap();
    let mut closed = ClosedSet::new();
    closed.close_folder(&bench.at("out")).unwrap();
    let workspace = bench.open(closed).unwrap();
    fs::remove_file(bench.at("out/secret")).unwrap();
    let target = workspace.target("copy").unwrap();
    assert!(matches!(
        workspace.open_file(&target),
        Err(PathError::Closed(_))
    ));
}

#[test]
fn what_a_closed_path_leads_to_is_closed_as_well() {
    let bench = Bench::new();
    let open = |workspace: &Workspace, path| workspace.open_file(&workspace.target(path)?);
    fs::write(bench.at("ws/src/config"), "").unwrap();
    fs::write(bench.at("ws/src/deep/text"), "").unwrap();
    symlink(bench.at("ws/src/config"), bench.at("ws/stow")).unwrap();
    symlink(bench.at("ws/stow"), bench.at("out/config")).unwrap();
    symlink(bench.at("ws/src/deep"), bench.at("out/deep")).unwrap();
    symlink("nowhere", bench.at("out/nowhere")).unwrap();
    symlink("loop", bench.at("out/loop")).unwrap();
    let mut closed = ClosedSet::new();
    closed.close_folder(&bench.at("out")).unwrap();
    let workspace = bench.open(closed).unwrap();
    for path in ["src/config", "src/deep/text", "stow"] {
        let error = open(&workspace, path).unwrap_err();
        assert!(matches!(error, PathError::Closed(_)), "{path}: {error}");
    }
    let link = workspace.target("stow").unwrap();
    assert!(matches!(workspace.look(&link), Err(PathError::Closed(_))));
    // Linked to only now.
    assert!(open(&workspace, "a").is_ok());
    symlink(bench.at("ws/a"), bench.at("out/later")).unwrap();
    assert!(matches!(open(&workspace, "a"), Err(PathError::Closed(_))));
    assert!(open(&workspace, "src/b").is_ok());
}

#[test]
fn a_workspace_does_not_lie_in_what_a_closed_folder_leads_to() {
    let bench = Bench::new();
    symlink(bench.at(""), bench.at("out/all")).unwrap();
    let mut closed = ClosedSet::new();
    closed.close_folder(&bench.at("out")).unwrap();
    let error = bench.open(closed).unwrap_err();
    assert!(matches!(error, WorkspaceError::Inside { .. }), "{error}");
}

#[test]
fn the_links_that_lead_to_a_closed_path_are_closed() {
    let bench = Bench::new();
    symlink(bench.at("out"), bench.at("ws/src/next")).unwrap();
    symlink("src/next", bench.at("ws/first")).unwrap();
    let mut closed = ClosedSet::new();
    let home = bench.at("ws/first/not/yet");
    closed.close_folder(&home).unwrap();
    let workspace = bench.open(closed).unwrap();
    for path in ["first", "src/next"] {
        let target = workspace.target(path).unwrap();
        let looked = workspace.look(&target);
        assert!(matches!(looked, Err(PathError::Closed(_))), "{path}");
        let opened = workspace.open_file(&target);
        assert!(matches!(opened, Err(PathError::Closed(_))), "{path}");
    }
    // What it leads to is closed once it is there, not what lies beside it.
    fs::create_dir_all(bench.at("out/not/yet")).unwrap();
    fs::hard_link(bench.at("ws/a"), bench.at("out/not/yet/a")).unwrap();
    let a = workspace.open_file(&workspace.target("a").unwrap());
    assert!(matches!(a, Err(PathError::Closed(_))));
    assert!(
        workspace
            .open_file(&workspace.target("src/b").unwrap())
            .is_ok()
    );
}

#[test]
fn a_file_that_is_obeyed_lies_apart_from_a_workspace() {
    let bench = Bench::new();
    symlink("../ws/a", bench.at("out/link")).unwrap();
    for path in ["ws/a", "ws/later", "out/link"] {
        let mut closed = ClosedSet::new();
        closed.close_apart(&bench.at(path)).unwrap();
        let error = bench.open(closed).unwrap_err();
        assert!(
            matches!(error, WorkspaceError::Contains { .. }),
            "{path}: {error}"
        );
    }
    let mut closed = ClosedSet::new();
    closed.close_apart(&bench.at("out/secret")).unwrap();
    assert!(bench.open(closed).is_ok());
}

#[test]
fn other_mounts_are_not_entered() {
    let root = Path::new("/");
    let Ok(workspace) = Workspace::open(root, ClosedSet::new()) else {
        return;
    };
    assert!(matches!(workspace.folder("proc"), Err(PathError::Mount(_))));
    assert!(workspace.existing("proc/version").is_err());
    assert!(workspace.existing("/dev/null").is_err());
}

#[test]
fn a_workspace_is_known_by_its_root_folder() {
    let bench = Bench::new();
    let workspace = bench.open(ClosedSet::new()).unwrap();
    let content = workspace.content();
    assert_eq!(
        content.path,
        bench.at("ws").canonicalize().unwrap().to_str().unwrap()
    );
    let bytes = placet_ledger::canonical::to_vec(&content).unwrap();
    let expected = format!(
        "{{\"path\":{:?},\"root\":\"{}\"}}",
        content.path, content.root
    );
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    workspace.verify_root(content.root).unwrap();
    fs::rename(bench.at("ws"), bench.at("was")).unwrap();
    fs::create_dir(bench.at("ws")).unwrap();
    let other = bench.open(ClosedSet::new()).unwrap();
    assert!(matches!(
        other.verify_root(content.root),
        Err(WorkspaceError::Moved { .. })
    ));
    assert!(bench.at("missing").parent().is_some());
    assert!(Workspace::open(&bench.at("missing"), ClosedSet::new()).is_err());
    assert!(Workspace::open(&bench.at("out/secret"), ClosedSet::new()).is_err());
}

#[test]
fn whatever_is_sent_a_target_is_plain_and_inside() {
    let bench = Bench::new();
    symlink("../../out", bench.at("ws/src/up")).unwrap();
    symlink("deep", bench.at("ws/src/down")).unwrap();
    let workspace = bench.open(ClosedSet::new()).unwrap();
    let names = [
        "..", ".", "", "src", "up", "down", "deep", "a", "b", "secret",
    ];
    let paths = prop::collection::vec(prop::sample::select(names.to_vec()), 0..8)
        .prop_map(|parts| parts.join("/"));
    let inside = bench.at("ws").canonicalize().unwrap();
    proptest!(|(path in paths)| {
        let targets = [workspace.target(&path), workspace.existing(&path)];
        for target in targets.into_iter().flatten() {
            let plain = !target.path.split('/').any(|part| matches!(part, "" | "." | ".."));
            prop_assert!(plain, "{} became {}", path, target.path);
            let folder = bench.at("ws").join(&target.folder.path).canonicalize().unwrap();
            prop_assert!(folder.starts_with(&inside));
            prop_assert_eq!(folder.strip_prefix(&inside).unwrap(), Path::new(&target.folder.path));
        }
    });
}
