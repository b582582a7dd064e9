//! What `stat` tells, and what it does not.

use super::*;

fn stat(bench: &Bench, path: &str) -> Result<String, ToolError> {
    super::super::stat::stat(&bench.files, &json!({"path": path}))
        .map(|text| String::from_utf8(text.bytes).unwrap())
}

#[test]
fn tells_what_each_kind_of_thing_is() {
    let bench = Bench::new().has("a", "12345").has_folder("src/deep");
    fs::set_permissions(bench.at("a"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::hard_link(bench.at("a"), bench.at("b")).unwrap();
    let file = fs::File::open(bench.at("a")).unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_500);
    file.set_modified(time).unwrap();
    assert_eq!(
        stat(&bench, "./src/../a").unwrap(),
        "path: a\ntype: file\nsize: 5\nmode: 640\nlinks: 2\nchanged: 1970-01-01T00:00:01.500000Z\n"
    );
    for path in ["src", "src/", "src/.", "src/deep/.."] {
        let told = stat(&bench, path).unwrap();
        assert!(told.starts_with("path: src\ntype: folder\n"), "{told}");
    }
    assert!(
        stat(&bench, ".")
            .unwrap()
            .starts_with("path: .\ntype: folder\n")
    );
    pipe(&bench.at("pipe"));
    assert!(stat(&bench, "pipe").unwrap().contains("type: pipe\n"));
    let _socket = std::os::unix::net::UnixListener::bind(bench.at("socket")).unwrap();
    assert!(stat(&bench, "socket").unwrap().contains("type: socket\n"));
    said(stat(&bench, "aa"), "there is no aa: did you mean a?");
    said(stat(&bench, "none/a"), "there is no folder none");
    said(stat(&bench, ""), "is empty");
    said(stat(&bench, "../ws/a"), "outside the workspace");
}

#[test]
fn tells_where_a_link_leads_only_if_that_is_inside() {
    let bench = Bench::new().has("a", "x").has_folder("src");
    let home = bench.folder.path().join("home");
    fs::write(home.join("key"), "secret").unwrap();
    fs::hard_link(home.join("key"), bench.at("innocent")).unwrap();
    for (name, end, told) in [
        ("file", "src/../a", "a"),
        ("folder", "src", "src"),
        ("root", ".", "."),
        ("chain", "file", "a"),
        ("nowhere", "none/at/all", "nothing"),
        ("out", "../home/key", "no place that a tool may use"),
        ("absolute", "/etc/passwd", "no place that a tool may use"),
        ("closed", "innocent", "no place that a tool may use"),
        ("loop", "loop", "nothing that can be resolved"),
    ] {
        symlink(end, bench.at(name)).unwrap();
        let text = stat(&bench, name).unwrap();
        assert!(text.contains("\ntype: symbolic link\n"), "{text}");
        assert!(
            text.ends_with(&format!("\nleads to: {told}\n")),
            "{name}: {text}"
        );
    }
}

#[test]
fn tells_nothing_of_what_is_closed() {
    let bench = Bench::new();
    let home = bench.folder.path().join("home");
    fs::write(home.join("key"), "secret").unwrap();
    fs::hard_link(home.join("key"), bench.at("innocent")).unwrap();
    said(
        stat(&bench, "innocent"),
        "closed: innocent belongs to placet",
    );
    fs::rename(&home, bench.at("moved")).unwrap();
    for path in ["moved", "moved/", "moved/key"] {
        said(stat(&bench, path), "closed: moved belongs to placet");
    }
}
