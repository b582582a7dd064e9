//! What `mkdir` proposes.

use super::*;

#[test]
fn a_folder_is_proposed_with_those_above_it() {
    let bench = Bench::new().has_folder("src").has_link("link", "src");
    for (path, parents, full, message, preview) in [
        (
            "new/",
            false,
            "new",
            "Make the folder new.",
            "+folder new/\n",
        ),
        (
            "./src/../new",
            false,
            "new",
            "Make the folder new.",
            "+folder new/\n",
        ),
        (
            "link/new",
            false,
            "src/new",
            "Make the folder src/new.",
            "+folder src/new/\n",
        ),
        (
            "src/a/b",
            true,
            "src/a/b",
            "Make the folder src/a/b, with the folder above it.",
            "+folder src/a/\n+folder src/a/b/\n",
        ),
        (
            "link//a/./b/c",
            true,
            "src/a/b/c",
            "Make the folder src/a/b/c, with 2 folders above it.",
            "+folder src/a/\n+folder src/a/b/\n+folder src/a/b/c/\n",
        ),
    ] {
        let draft = bench.mkdir(path, parents).unwrap();
        assert_eq!(draft.message, message);
        assert_eq!(draft.preview.unwrap(), format!("--- /dev/null\n{preview}"));
        let arguments = json!({"parents": parents, "path": full});
        assert_eq!(
            (&draft.arguments, &draft.execute_arguments),
            (&arguments, &arguments)
        );
        assert_eq!(draft.precondition.path(), full);
    }
    let absolute = format!("{}/x/y", bench.files.workspace.path());
    assert_eq!(
        bench.mkdir(&absolute, true).unwrap().precondition.path(),
        "x/y"
    );
    assert_eq!(bench.names(), ["link", "src"], "proposing makes nothing");
}

#[test]
fn what_cannot_be_made_is_an_error() {
    let bench = Bench::new()
        .has("file", "")
        .has_folder("src")
        .has_link("dangling", "none");
    let home = bench.folder.path().join("home");
    symlink(&home, bench.at("out")).unwrap();
    for (path, parents, expected) in [
        ("src", false, "something named src already"),
        ("src", true, "something named src already"),
        ("file", true, "something named file already"),
        ("dangling", true, "something named dangling already"),
        ("dangling/a", true, "something named dangling already"),
        (".", true, "nothing would change"),
        ("src/..", true, "nothing would change"),
        ("a/b", false, "there is no folder a"),
        ("a/../b", true, "name a file"),
        ("file/a", true, "file is not a folder"),
        ("out/a", true, "outside the workspace"),
        ("../a", true, "outside the workspace"),
        ("/a", true, "outside the workspace"),
        ("", true, "is empty"),
        ("a\nb", true, "control characters"),
        ("a/.placet-b3e41f07-c1.tmp/b", true, "kept for placet's own"),
    ] {
        said(bench.mkdir(path, parents), expected);
    }
    fs::rename(&home, bench.at("moved")).unwrap();
    said(bench.mkdir("moved", true), "closed:");
    said(bench.mkdir("moved/a", true), "closed:");
}
