//! A policy plugin from outside: a real program, pinned in the config, shut in like any other.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use placet_ledger::digest::{Purpose, digest};

use crate::support::World;

/// A world whose agent wants to change something, and whose plugin is this script.
fn world(plugin: &str) -> World {
    let call = r#"{ id = "p", tool = "execute_command", args = { command = "touch made" } }"#;
    let script = format!("[[turn]]\ncalls = [{call}]\n[[turn]]\ntext = \"Done.\"\n");
    let mut world = World::with_script(&script);
    world.program = Some(PathBuf::from(env!("CARGO_BIN_EXE_placet")));
    let path = world.path("judge/judge");
    fs::create_dir_all(world.path("judge")).unwrap();
    fs::write(&path, plugin).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let pinned = digest(Purpose::File, plugin.as_bytes());
    let config = format!(
        "[plugin]\ncommand = \"{}\"\ndigest = \"{pinned}\"\n",
        path.display()
    );
    let folder = world.path("person/.config/placet");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), config).unwrap();
    world
}

#[test]
fn a_real_plugin_forbids_asks_and_passes_under_the_widest_policy_and_asks_where_it_fails() {
    for (plugin, code, made) in [
        ("#!/bin/sh\nexit 2\n", 0, false),
        ("#!/bin/sh\necho deny\n", 0, false),
        ("#!/bin/sh\necho ask\n", 2, false),
        (
            "#!/bin/sh\ngrep -q '\"touch made\"' && echo pass\n",
            0,
            true,
        ),
        (
            "#!/bin/sh\nprintf '{\"verdict\":\"ask\",\"reason\":\"so\"}'\n",
            2,
            false,
        ),
        ("#!/bin/sh\necho yes\n", 2, false),
        ("no program at all", 2, false),
    ] {
        let world = world(plugin);
        let shown = world.call(&[
            "run",
            "--model",
            "script:tidy.toml",
            "--workspace",
            "ws",
            "--approval-policy",
            "high-risk",
            "--park",
            "Go on.",
        ]);
        let said = format!("{plugin}\n{}{}", shown.stdout, shown.stderr);
        assert_eq!(shown.code, code, "{said}");
        assert_eq!(world.path("ws/made").exists(), made, "{said}");
        assert_eq!(world.call(&["audit", "verify"]).code, 0, "{said}");
    }
}
