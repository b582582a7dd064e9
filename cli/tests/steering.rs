//! Files that steer programs ask, by whatever name they go.

use std::os::unix::fs::symlink;

use crate::support::World;

/// Runs an agent that wants these paths written, under the policy that clears everything; which of
/// them wait for a person.
fn waiting(world: &mut World, paths: &[&str]) -> Vec<bool> {
    let call = |path: &&str| {
        format!("{{ tool = \"write_file\", args = {{ path = {path:?}, content = \"x\" }} }},\n")
    };
    let calls: String = paths.iter().map(call).collect();
    let script = format!("[[turn]]\ncalls = [\n{calls}]\n");
    std::fs::write(world.path("tidy.toml"), script).unwrap();
    let run = world.start_with("Go.", &["--approval-policy", "high-risk"]);
    let shown = world.call(&["--json", "runs", "show", &run]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let asked = |number: usize| {
        let cards = shown["pending"].as_array().unwrap();
        let call = format!("c{number}");
        let card = cards.iter().find(|card| card["call"] == call.as_str());
        card.inspect(|card| assert!(card["rule"].as_str().unwrap().starts_with("always:")))
            .is_some()
    };
    (1..=paths.len()).map(asked).collect()
}

#[test]
fn a_file_that_steers_programs_asks_by_whatever_name_it_goes() {
    let mut world = World::new();
    let ws = world.path("ws");
    for folder in ["store/hooks", "ci", ".github", "plain"] {
        std::fs::create_dir_all(ws.join(folder)).unwrap();
    }
    symlink("store", ws.join(".git")).unwrap();
    symlink("../ci", ws.join(".github/workflows")).unwrap();
    let steers = [
        ".git/hooks/pre-commit",
        "store/hooks/post-commit",
        "plain/../store/hooks/pre-push",
        ".github/workflows/ci.yml",
        "ci/other.yml",
        ".envrc",
        "plain/.ENVRC",
        "AGENTS.md",
    ];
    let plain = ["plain/notes.txt", "ci.txt"];
    let asked = waiting(&mut world, &[&steers[..], &plain[..]].concat());
    assert_eq!(asked[..steers.len()], [true; 8]);
    assert_eq!(asked[steers.len()..], [false; 2]);
    assert!(
        !ws.join("plain/notes.txt").exists(),
        "nothing ran before all had an answer"
    );
    let (verified, replayed) = (
        world.call(&["audit", "verify"]),
        world.call(&["runs", "replay", world.run()]),
    );
    assert_eq!((verified.code, replayed.code), (0, 0));
}
