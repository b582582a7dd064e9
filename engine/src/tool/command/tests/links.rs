//! Names that lead to programs of another name: recorded when proposed, compared when started.

use std::fs;
use std::os::unix::fs::symlink;

use super::super::Search;
use super::super::links::leads_elsewhere;
use super::Bench;

#[test]
fn names_that_lead_to_programs_of_another_name_are_recorded() {
    let bench = Bench::new()
        .has_program("bin/mine")
        .has_program("bin/busybox")
        .has_program("ws/sub/tool")
        .has("ws/sub/text", "");
    symlink("mine", bench.at("bin/other")).unwrap();
    symlink("busybox", bench.at("bin/applet")).unwrap();
    symlink("../../bin/other", bench.at("ws/sub/x")).unwrap();
    symlink("text", bench.at("ws/sub/y")).unwrap();
    symlink("tool", bench.at("ws/sub/z")).unwrap();
    let mine = bench
        .at("bin/mine")
        .canonicalize()
        .unwrap()
        .display()
        .to_string();
    let tool = bench
        .at("ws/sub/tool")
        .canonicalize()
        .unwrap()
        .display()
        .to_string();
    for (command, expected) in [
        ("sub/x tag v", vec![("sub/x", &mine)]),
        ("ls; ./sub/x tag v", vec![("./sub/x", &mine)]),
        ("nice other tag", vec![("other", &mine)]),
        ("nice --x=other -y", vec![("other", &mine)]),
        (
            "cd sub && ./x tag v; ./z",
            vec![("./x", &mine), ("./z", &tool)],
        ),
        ("mine tag v", vec![]),
        ("applet tag v", vec![]),
        ("sub/tool sub/y", vec![]),
        ("mine $X 'other x' nothing sub", vec![]),
    ] {
        let program = bench.draft(command).unwrap().process.unwrap().program;
        let found: Vec<_> = program
            .links
            .iter()
            .map(|(word, path)| (word.as_str(), path))
            .collect();
        assert_eq!(found, expected, "{command}");
    }
    // What a name leads to may change until the command starts.
    let shown = |command: &str| bench.draft(command).unwrap().process.unwrap().program.links;
    let path = [bench.at("bin")];
    let search = Search {
        workspace: bench.commands.root(),
        path: &path,
    };
    let (before, none) = (shown("ls; sub/x"), shown("ls; sub/tool"));
    let elsewhere = |command| leads_elsewhere(&search, command, &before);
    assert_eq!(elsewhere("ls; sub/x"), None);
    fs::remove_file(bench.at("ws/sub/x")).unwrap();
    symlink("tool", bench.at("ws/sub/x")).unwrap();
    assert_eq!(elsewhere("ls; sub/x").as_deref(), Some("sub/x"));
    let began = leads_elsewhere(&search, "ls; sub/x", &none);
    assert_eq!(began.as_deref(), Some("sub/x"));
}
