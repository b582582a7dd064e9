//! What people can get wrong: what, where, and what to do.

use placet_ledger::store::sled::SledStore;

use crate::support::World;

#[test]
fn a_home_without_a_ledger_is_named() {
    let world = World::new();
    for args in [
        &["runs", "list"][..],
        &["runs", "show", "b3e41f"],
        &["inbox"],
        &["audit", "log"],
        &["audit", "show", "#0"],
        &["audit", "verify"],
        &["audit", "export"],
    ] {
        assert_eq!(world.call(args).code, 4, "{args:?}");
    }
    insta::assert_snapshot!(world.show(&["runs", "list"]), @r"
    -- stderr --
    error: there is no ledger at <dir>/data/placet
      hint: placet run makes one; --home DIR or PLACET_HOME names another place
    -- exit 4 --
    ");
    insta::assert_snapshot!(world.json(&["audit", "verify"]), @r#"
    -- stderr --
    {"error":{"code":"not_found","hints":["placet run makes one; --home DIR or PLACET_HOME names another place"],"message":"there is no ledger at <dir>/data/placet"}}
    -- exit 4 --
    "#);
    std::fs::create_dir_all(world.path("data/placet/other")).unwrap();
    insta::assert_snapshot!(world.show(&["inbox"]), @r"
    -- stderr --
    error: what lies at <dir>/data/placet is no ledger, or only a part of one
      hint: name another place with --home DIR
    -- exit 6 --
    ");
}

#[test]
fn an_unknown_run_is_named() {
    let world = World::parked();
    let near = format!("{}00", &world.run()[..8]);
    insta::assert_snapshot!(world.show(&["runs", "show", "b3e"]), @r#"
    -- stderr --
    error: expected the first 6 or more hex digits of a run's id, found "b3e"
      hint: placet runs list names the runs
    -- exit 64 --
    "#);
    insta::assert_snapshot!(world.show(&["runs", "show", "../../etc\u{1b}[2J"]), @r#"
    -- stderr --
    error: expected the first 6 or more hex digits of a run's id, found "../../etc\u{1b}[2J"
      hint: placet runs list names the runs
    -- exit 64 --
    "#);
    let shown = world.call(&["runs", "show", &near]);
    assert_eq!(shown.code, 4);
    assert!(shown.stderr.contains("the nearest is"), "{}", shown.stderr);
    assert_eq!(
        world.call(&["audit", "log", "--run", "ffffffffffff"]).code,
        4
    );
    assert_eq!(
        world
            .call(&["audit", "export", "--run", "ffffffffffff"])
            .code,
        4
    );
    assert_eq!(world.call(&["audit", "show", "ffffffffffff@0"]).code, 4);
}

#[test]
fn a_malformed_event_is_named() {
    let world = World::parked();
    insta::assert_snapshot!(world.show(&["audit", "show", "12"]), @r"
    -- stderr --
    error: invalid value '12' for '<EVENT>': expected RUN@VERSION such as <stream>@9, or #POSITION such as '#12', as placet audit log prints them

    For more information, try '--help'.
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["audit", "show", "#999"]), @r"
    -- stderr --
    error: there is no position 999: the ledger has 14 records
      hint: placet audit log
    -- exit 4 --
    ");
    let event = format!("{}@999", &world.run()[..8]);
    insta::assert_snapshot!(world.show(&["audit", "show", &event]), @r"
    -- stderr --
    error: <run1> has no version 999
      hint: placet audit log
    -- exit 4 --
    ");
    assert_eq!(world.call(&["audit", "show", "b3@1"]).code, 64);
}

#[test]
fn unknown_words_are_answered_with_the_known_ones() {
    let world = World::parked();
    insta::assert_snapshot!(world.show(&["runs", "list", "--state", "parkt"]), @r"
    -- stderr --
    error: invalid value 'parkt' for '--state <S>'
      [possible values: running, waiting, parked, in_doubt, finished, quarantined]

      tip: a similar value exists: 'parked'

    For more information, try '--help'.
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["audit", "log", "--verdict", "yes"]), @r"
    -- stderr --
    error: invalid value 'yes' for '--verdict <V>'
      [possible values: granted, denied, expired, refused]

    For more information, try '--help'.
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["audit", "log", "--risk", "high"]), @r"
    -- stderr --
    error: invalid value 'high' for '--risk <R>'
      [possible values: read-only, low-risk, high-risk, unknown]

      tip: a similar value exists: 'high-risk'

    For more information, try '--help'.
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["audit", "log", "--type", "run.startd"]), @r"
    -- stderr --
    error: invalid value 'run.startd' for '--type <T>'
      [possible values: run.started, segment.started, segment.ended, model.called, model.replied, model.failed, call.proposed, call.refused, approval.requested, approval.granted, approval.denied, approval.expired, execution.started, execution.refused, execution.succeeded, execution.failed, execution.stale, execution.interrupted, execution.in_doubt, execution.settled, limits.tightened, tools.narrowed, run.parked, run.cancel_requested, run.finished, ledger.created, rules.adopted, clock.stepped, attempt.refused]

      tip: a similar value exists: 'run.started'

    For more information, try '--help'.
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["audit", "log", "--since", "yesterday"]), @r"
    -- stderr --
    error: invalid value 'yesterday' for '--since <T>': expected a UTC time such as <time>, a day such as 2026-12-01, or how long ago, such as 90s, 10m, 24h or 7d

    For more information, try '--help'.
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["audit", "log", "--tool", "a b"]), @r#"
    -- stderr --
    error: invalid value 'a b' for '--tool <T>': expected a name of 1 to 128 of the characters A-Z a-z 0-9 . _ : / @ + - that begins with a letter or digit, found "a b"

    For more information, try '--help'.
    -- exit 64 --
    "#);
}

#[test]
fn a_ledger_in_use_names_who_has_it() {
    let world = World::parked();
    let home = world.path("data/placet");
    let ledger = SledStore::ledger_at(&home).unwrap();
    let head_dir = world.path("state/placet").join(ledger.to_string());
    let store = SledStore::open(&home, &head_dir).unwrap();
    let pid = format!("process {}", std::process::id());
    let shown = world.show(&["runs", "list"]).replace(&pid, "process <pid>");
    insta::assert_snapshot!(shown, @r"
    -- stderr --
    error: the store is in use by process <pid>
      hint: one process at a time holds a ledger; try again when it is done
    -- exit 5 --
    ");
    assert_eq!(world.call(&["audit", "verify"]).code, 5);
    drop(store);
    assert_eq!(world.call(&["runs", "list"]).code, 0);
}

#[test]
fn an_export_that_is_not_there_is_named() {
    let world = World::new();
    insta::assert_snapshot!(world.show(&["audit", "verify", "none.jsonl"]), @r"
    -- stderr --
    error: cannot read the export <dir>/none.jsonl: No such file or directory (os error 2)
    -- exit 4 --
    ");
    assert_eq!(world.call(&["audit", "verify", "ws"]).code, 1);
    let world = World::parked();
    insta::assert_snapshot!(world.show(&["audit", "export", "--out", "no/such/file"]), @r"
    -- stderr --
    error: cannot write <dir>/no/such/file: No such file or directory (os error 2)
      hint: --out names a new file in a folder that exists
    -- exit 1 --
    ");
}

#[test]
fn an_answer_that_stands_is_told_apart_from_a_run_that_cannot_go_on() {
    let world = World::parked();
    let run = &world.run()[..8];
    std::fs::rename(world.path("ws"), world.path("away")).unwrap();
    insta::assert_snapshot!(world.show(&["runs", "approve", run]), @r"
    -- stderr --
    error: cannot work in <dir>/ws: cannot open the workspace <dir>/ws: No such file or directory (os error 2)
      hint: the answer is recorded: placet runs resume RUN goes on with it
    -- exit 3 --
    ");
    std::fs::rename(world.path("away"), world.path("ws")).unwrap();
    assert_eq!(world.call(&["runs", "resume", run]).code, 0);
    assert!(!world.path("ws/old.log").exists());
}
