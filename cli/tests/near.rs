//! Which grant nearly covered a command: cards and `policy explain` name it and say why it did not.

use serde_json::Value;

use crate::grants::{self, add, command, json, start, world, write_program};
use crate::support::World;

/// The entry that a card says came nearest.
fn nearly(world: &World) -> Value {
    json(world, &["inbox"])["pending"][0]["nearly"].clone()
}

#[test]
fn a_card_names_the_entry_that_came_nearest_and_why_it_does_not_cover() {
    for (entry, text, why) in [
        (
            "touch",
            "touch a > b",
            "the command has no key: a redirection",
        ),
        (
            "touch",
            "touch a; ls",
            "the command has no key: not one plain command",
        ),
        ("touch", "A=1 touch a", "the command has no key"),
        (
            "touch b.txt",
            "touch a.txt",
            "the key of the command is touch a.txt",
        ),
        (
            "git push",
            "git push --force",
            "keeps the command out of every entry",
        ),
    ] {
        let mut world = world(&[command(text)]);
        let id = add(&world, &[entry]);
        assert_eq!(start(&mut world), 2, "{text}");
        let near = nearly(&world);
        assert_eq!(
            (&near["grant"], &near["key"]),
            (&id.as_str().into(), &entry.into()),
            "{text}: {near}"
        );
        assert!(near["why"].as_str().unwrap().contains(why), "{near}");
        let shown = world.call(&["runs", "show", world.run()]).stdout;
        let line = format!("nearly covered by {id} (\"{entry}\"): ");
        assert!(shown.contains(&line) && shown.contains(why), "{shown}");
        let run = [
            "policy",
            "explain",
            "--run",
            world.run(),
            "execute_command",
            "--",
            text,
        ];
        let explained = world.call(&run).stdout;
        let line = format!("{entry} ({id}): ");
        assert!(
            explained.contains(&line) && explained.contains(why),
            "{explained}"
        );
    }
}

#[test]
fn a_card_names_an_entry_that_was_revoked_or_whose_program_changed_and_no_other() {
    let mut world = world(&[command("deploy now")]);
    write_program(&world, "bin/deploy", "#!/bin/sh\necho one\n");
    world.search = format!("{}:/usr/bin:/bin", world.path("bin").display());
    world.cwd = world.path("ws");
    add(&world, &["ls"]);
    let id = add(&world, &["deploy"]);
    assert_eq!(world.call(&["grants", "revoke", &id]).code, 0);
    world.cwd = world.path("");
    assert_eq!(start(&mut world), 2);
    assert_eq!(nearly(&world)["why"], "it is revoked");
    world.cwd = world.path("ws");
    let id = add(&world, &["deploy"]);
    write_program(&world, "bin/deploy", "#!/bin/sh\necho two\n");
    world.cwd = world.path("");
    // It waits as it did: an entry clears nothing that was asked.
    assert_eq!(nearly(&world), Value::Null);
    let mut changed = grants::world(&[command("deploy now")]);
    changed.search.clone_from(&world.search);
    std::mem::swap(&mut changed.dir, &mut world.dir);
    changed.cwd = changed.path("");
    assert_eq!(start(&mut changed), 2);
    let pending = json(&changed, &["inbox"])["pending"].clone();
    let near = pending.as_array().unwrap().last().unwrap()["nearly"].clone();
    assert_eq!(near["grant"], id.as_str(), "{near}");
    assert_eq!(near["why"], "the file of the program has changed since");
    // One that is about another program is not near.
    let mut other = grants::world(&[command("touch a.txt")]);
    add(&other, &["ls"]);
    assert_eq!(start(&mut other), 2);
    assert_eq!(nearly(&other), Value::Null);
}

#[test]
fn an_explanation_tells_the_ports_that_an_entry_leaves_out() {
    let world = world(&[]);
    add(&world, &["touch", "--network", "80"]);
    let call = r#"{"command":"touch a","network":[80,443]}"#;
    let explain = [
        "policy",
        "explain",
        "--workspace",
        "ws",
        "execute_command",
        call,
    ];
    let shown = world.call(&explain).stdout;
    let said = "covers it, without TCP 443, which it wants";
    assert!(shown.contains(said), "{shown}");
    let entry = json(&world, &explain)["command"]["entries"][0].clone();
    assert_eq!(
        (&entry["covers"], &entry["without"]),
        (&true.into(), &serde_json::json!([443])),
        "{entry}"
    );
}
