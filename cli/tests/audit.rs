//! `audit log`, `audit show`, `audit verify` and `audit export` on a ledger that is sound.

use std::os::unix::fs::PermissionsExt;

use crate::support::{World, without_durations};

fn answered() -> World {
    let world = World::parked();
    let run = world.run()[..8].to_owned();
    let answer = [
        "runs",
        "approve",
        &run,
        "c2",
        "--reject",
        "c3",
        "--note",
        "keep the log",
    ];
    assert_eq!(world.call(&answer).code, 0);
    world
}

#[test]
fn lists_the_whole_log() {
    insta::assert_snapshot!(answered().show(&["audit", "log"]), @"
    #0   <stream>@0   <time>  uid:1000  ledger.created format 1, key <code>
    #1   <stream>@1   <time>  uid:1000  rules.adopted first, rules <code>
    #2   <run1>@0   <time>  uid:1000  run.started agent default, script:tidy.toml, policy false, attendance park, 17 tools
    #3   <run1>@1   <time>  engine    segment.started segment 1, start, attendance park
    #4   <run1>@2   <time>  engine    model.called script:tidy.toml, attempt 1, 402 tokens reserved
    #5   <run1>@3   <time>  engine    model.replied tool_calls, calls: c1 ls, c2 write_file, c3 rm, 89 tokens, 0 USD
    #6   <run1>@4   <time>  engine    call.proposed c1 ls, declared read-only, in-process
    #7   <run1>@5   <time>  policy    approval.granted c1 read-only by plain-read-only
    #8   <run1>@6   <time>  engine    call.proposed c2 write_file, declared high-risk, in-process
    #9   <run1>@7   <time>  policy    approval.requested c2 high-risk by policy:false, expires <time>
    #10  <run1>@8   <time>  engine    call.proposed c3 rm, declared high-risk, in-process
    #11  <run1>@9   <time>  policy    approval.requested c3 high-risk by policy:false, expires <time>
    #12  <run1>@10  <time>  engine    segment.ended segment 1, parked, <n> ms active
    #13  <run1>@11  <time>  engine    run.parked waits for c2, c3
    #14  <run1>@12  <time>  uid:1000  approval.granted c2 by uid:1000 (cli, same-user)
    #15  <run1>@13  <time>  uid:1000  approval.denied c3 by uid:1000 (cli, same-user)
    #16  <run1>@14  <time>  engine    segment.started segment 2, answered, attendance park
    #17  <run1>@15  <time>  engine    execution.started c1 attempt 1, segment 2, in-process
    #18  <run1>@16  <time>  engine    execution.succeeded c1 attempt 1, <n> ms
    #19  <run1>@17  <time>  engine    execution.started c2 attempt 1, segment 2, in-process
    #20  <run1>@18  <time>  engine    execution.succeeded c2 attempt 1, <n> ms
    #21  <run1>@19  <time>  engine    model.called script:tidy.toml, attempt 1, 473 tokens reserved
    #22  <run1>@20  <time>  engine    model.replied end, calls: none, 22 tokens, 0 USD
    #23  <run1>@21  <time>  engine    segment.ended segment 2, finished, <n> ms active
    #24  <run1>@22  <time>  engine    run.finished completed
    -- stderr --
    -- exit 0 --
    ");
}

#[test]
fn lists_what_meets_every_filter() {
    let world = answered();
    let count = |filters: &[&str]| {
        let args = [&["audit", "log"], filters].concat();
        let log = world.call(&[&["--json"], &args[..]].concat());
        let log: serde_json::Value = serde_json::from_str(&log.stdout).unwrap();
        log["events"].as_array().unwrap().len()
    };
    assert_eq!(count(&["--type", "call.proposed"]), 3);
    assert_eq!(count(&["--type", "call.proposed", "--tool", "rm"]), 1);
    assert_eq!(count(&["--verdict", "granted"]), 2);
    assert_eq!(count(&["--verdict", "granted", "--risk", "high-risk"]), 1);
    assert_eq!(count(&["--verdict", "denied"]), 1);
    assert_eq!(count(&["--approver", "uid:1000", "--tool", "rm"]), 1);
    assert_eq!(count(&["--approver", "uid:1"]), 0);
    assert_eq!(count(&["--run", &world.run()[..8]]) + 2, count(&[]));
    assert_eq!(count(&["--since", "1h"]), count(&[]));
    assert_eq!(count(&["--until", "1h"]), 0);
    insta::assert_snapshot!(world.show(&["audit", "log", "--verdict", "denied"]), @r"
    #15  <run1>@13  <time>  uid:1000  approval.denied c3 by uid:1000 (cli, same-user)
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.json(&["audit", "log", "--verdict", "denied"]), @r#"
    {
      "events": [
        {
          "digest": "<digest>",
          "position": 15,
          "record": {
            "actor": {
              "kind": "person",
              "name": "uid:1000"
            },
            "at": "<time>",
            "blobs": {
              "note": {
                "commitment": "<digest>",
                "media": "text/plain",
                "size": 64
              }
            },
            "body": {
              "answer": "<id>",
              "authority": 1,
              "by": {
                "assurance": "same-user",
                "channel": "cli",
                "kind": "person",
                "principal": "uid:1000"
              },
              "call": "c3",
              "request": "<digest>"
            },
            "cause": "<id>",
            "id": "<id>",
            "ledger": "<id>",
            "prev": "<digest>",
            "run": "<run1>",
            "schema": 1,
            "type": "approval.denied",
            "v": 1,
            "version": 13
          }
        }
      ]
    }
    -- stderr --
    -- exit 0 --
    "#);
    insta::assert_snapshot!(world.show(&["audit", "log", "--verdict", "denied", "--csv"]), @r#"
    "position","run","version","at","type","actor","call","event","digest","summary"
    "15","<run1>","13","<time>","approval.denied","uid:1000","c3","<id>","<digest>","approval.denied c3 by uid:1000 (cli, same-user)"
    -- stderr --
    -- exit 0 --
    "#);
    insta::assert_snapshot!(world.show(&["audit", "log", "--until", "1h"]), @r"
    -- stderr --
    no record meets that
    -- exit 0 --
    ");
}

#[test]
fn shows_a_record_and_what_it_rests_on() {
    let world = answered();
    let run = &world.run()[..8];
    let log = world
        .call(&["--json", "audit", "log", "--type", "approval.denied"])
        .stdout;
    let log: serde_json::Value = serde_json::from_str(&log).unwrap();
    let version = &log["events"][0]["record"]["version"];
    let event = format!("{run}@{version}");
    insta::assert_snapshot!(world.show(&["audit", "show", &event]), @r#"
    #15 <run1>@13 approval.denied
      digest       <digest>
      prev         <digest>
      record
        {"actor":{"kind":"person","name":"uid:1000"},"at":"<time>","blobs":{"note":{"commitment":"<digest>","media":"text/plain","size":64}},"body":{"answer":"<id>","authority":1,"by":{"assurance":"same-user","channel":"cli","kind":"person","principal":"uid:1000"},"call":"c3","request":"<digest>"},"cause":"<id>","id":"<id>","ledger":"<id>","prev":"<digest>","run":"<run1>","schema":1,"type":"approval.denied","v":1,"version":13}
      note
        | keep the log
      holds        prev <digest>
      holds        request <digest>
      holds        proposal <digest>
    -- stderr --
    -- exit 0 --
    "#);
    insta::assert_snapshot!(world.json(&["audit", "show", &event]), @r#"
    {
      "checks": [
        {
          "computed": "<digest>",
          "holds": true,
          "recorded": "<digest>",
          "what": "prev"
        },
        {
          "computed": "<digest>",
          "holds": true,
          "recorded": "<digest>",
          "what": "request"
        },
        {
          "computed": "<digest>",
          "holds": true,
          "recorded": "<digest>",
          "what": "proposal"
        }
      ],
      "content": {
        "note": {
          "media": "text/plain",
          "text": "keep the log"
        }
      },
      "digest": "<digest>",
      "holds": true,
      "position": 15,
      "record": {
        "actor": {
          "kind": "person",
          "name": "uid:1000"
        },
        "at": "<time>",
        "blobs": {
          "note": {
            "commitment": "<digest>",
            "media": "text/plain",
            "size": 64
          }
        },
        "body": {
          "answer": "<id>",
          "authority": 1,
          "by": {
            "assurance": "same-user",
            "channel": "cli",
            "kind": "person",
            "principal": "uid:1000"
          },
          "call": "c3",
          "request": "<digest>"
        },
        "cause": "<id>",
        "id": "<id>",
        "ledger": "<id>",
        "prev": "<digest>",
        "run": "<run1>",
        "schema": 1,
        "type": "approval.denied",
        "v": 1,
        "version": 13
      }
    }
    -- stderr --
    -- exit 0 --
    "#);
    let position = format!("#{}", log["events"][0]["position"]);
    let by_position = world.call(&["audit", "show", &position]).stdout;
    assert_eq!(by_position, world.call(&["audit", "show", &event]).stdout);
    insta::assert_snapshot!(world.show(&["audit", "show", "#0"]), @r#"
    #0 <id>@0 ledger.created
      digest       <digest>
      prev         <digest>
      record
        {"actor":{"kind":"person","name":"uid:1000"},"at":"<time>","body":{"format":1,"journal":"<id>","key":"<digest>","recovery":"<digest>"},"id":"<id>","ledger":"<id>","prev":"<digest>","run":"<id>","schema":1,"type":"ledger.created","v":1,"version":0}
      holds        prev <digest>
    -- stderr --
    -- exit 0 --
    "#);
}

#[test]
fn every_record_holds() {
    answered().records_hold();
}

#[test]
fn finds_a_record_of_the_ledger_itself() {
    let world = answered();
    let first = world.call(&["--json", "audit", "show", "#0"]).stdout;
    let first: serde_json::Value = serde_json::from_str(&first).unwrap();
    let ledger = first["record"]["run"].as_str().unwrap();
    let found = world.call(&["--json", "audit", "show", &format!("{}@0", &ledger[..6])]);
    let found: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(found, first);
}

#[test]
fn a_sound_ledger_verifies() {
    let world = answered();
    insta::assert_snapshot!(world.show(&["audit", "verify"]), @r"
    ok: the ledger is what was written
      size       25 records
      root       <digest>
      head       25 records, <digest>
      contents   22 readable, 0 not
      decisions  3 judged again, 0 not
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.json(&["audit", "verify", "--full"]), @r#"
    {
      "content": {
        "readable": 22,
        "unreadable": 0
      },
      "decisions": {
        "judged": 3,
        "unjudged": 0
      },
      "findings": [],
      "head": {
        "root": "<digest>",
        "size": 25
      },
      "ok": true,
      "root": "<digest>",
      "size": 25
    }
    -- stderr --
    -- exit 0 --
    "#);
    let left = std::fs::read_dir(world.path("data")).unwrap().count();
    assert_eq!(left, 1, "a copy was left behind");
}

#[test]
fn the_records_alone_verify_and_what_was_not_looked_at_is_said() {
    let world = answered();
    insta::assert_snapshot!(world.show(&["audit", "verify", "--records"]), @r"
    ok: the records of the ledger are those that were written
      size       25 records
      root       <digest>
      head       25 records, <digest>
      unchecked  events, contents, decisions, streams
    -- stderr --
    -- exit 0 --
    ");
    let said = world
        .call(&["--json", "audit", "verify", "--records"])
        .stdout;
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let unchecked = serde_json::json!(["events", "contents", "decisions", "streams"]);
    assert_eq!(
        (&said["ok"], &said["unchecked"]),
        (&true.into(), &unchecked)
    );
    for with in ["--full", "run.jsonl"] {
        assert_eq!(world.call(&["audit", "verify", "--records", with]).code, 64);
    }
}

#[test]
fn an_export_verifies_without_the_ledger() {
    let world = answered();
    let run = &world.run()[..8];
    let out = ["audit", "export", "--run", run, "--out", "run.jsonl"];
    insta::assert_snapshot!(world.show(&out), @r"
    -- stderr --
    wrote 49 lines to <dir>/run.jsonl: every run in it has ended
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.show(&out), @r"
    -- stderr --
    error: <dir>/run.jsonl exists already
      hint: an export overwrites nothing: name a new file
    -- exit 3 --
    ");
    let mode = std::fs::metadata(world.path("run.jsonl"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    insta::assert_snapshot!(world.json(&["audit", "export", "--out", "all.jsonl"]), @r#"
    {
      "complete": true,
      "lines": 49,
      "out": "<dir>/all.jsonl",
      "unreadable": 0
    }
    -- stderr --
    -- exit 0 --
    "#);
    let facts = world.call(&["audit", "export", "--facts-only"]);
    std::fs::write(world.path("facts.jsonl"), &facts.stdout).unwrap();
    assert!(!facts.stdout.contains("eggs"));
    std::fs::remove_dir_all(world.path("data")).unwrap();
    insta::assert_snapshot!(world.show(&["audit", "verify", "run.jsonl"]), @r"
    ok: the export is what was written
      size       25 records
      contents   22 readable, 0 not
      decisions  3 judged again, 0 not
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.show(&["audit", "verify", "all.jsonl"]), @r"
    ok: the export is what was written
      size       25 records
      root       <digest>
      contents   22 readable, 0 not
      decisions  3 judged again, 0 not
    -- stderr --
    -- exit 0 --
    ");
    assert_eq!(world.call(&["audit", "verify", "facts.jsonl"]).code, 0);
}

#[test]
fn an_export_does_not_go_to_a_terminal() {
    let mut world = answered();
    world.terminal = true;
    insta::assert_snapshot!(world.show(&["audit", "export"]), @r"
    -- stderr --
    error: an export is not for a terminal
      hint: name a file with --out F, or send standard output somewhere
    -- exit 64 --
    ");
}

#[test]
fn a_changed_export_names_its_first_bad_position() {
    let world = answered();
    let whole = world.call(&["audit", "export"]).stdout;
    let changed = whole.replacen("\"policy\":\"false\"", "\"policy\":\"high-risk\"", 1);
    assert_ne!(changed, whole);
    std::fs::write(world.path("changed.jsonl"), changed).unwrap();
    let shown = world.show(&["audit", "verify", "changed.jsonl"]);
    insta::assert_snapshot!(without_durations(&shown), @r"
    NOT OK: 2 findings, the first bad position is #2
      #2 <run1>@0 link_broken: it has digest <digest>, but version 1 of its stream follows <digest>: one of the two was changed
      root_differs: the records come to <digest>, the store says <digest>
      size       25 records
      root       <digest>
      contents   22 readable, 0 not
      decisions  0 judged again, 3 not
    -- stderr --
    -- exit 6 --
    ");
    let cut: String = whole.split_inclusive('\n').take(5).collect();
    std::fs::write(world.path("cut.jsonl"), cut).unwrap();
    insta::assert_snapshot!(world.show(&["audit", "verify", "cut.jsonl"]), @r"
    NOT OK: 1 finding
      export_malformed: line 6 of the export is wrong: the export ends without its last line
      size       0 records
      contents   0 readable, 0 not
      decisions  0 judged again, 0 not
    -- stderr --
    -- exit 6 --
    ");
    insta::assert_snapshot!(world.json(&["audit", "verify", "cut.jsonl"]), @r#"
    {
      "content": {
        "readable": 0,
        "unreadable": 0
      },
      "decisions": {
        "judged": 0,
        "unjudged": 0
      },
      "findings": [
        {
          "detail": "line 6 of the export is wrong: the export ends without its last line",
          "kind": "export_malformed"
        }
      ],
      "ok": false,
      "size": 0
    }
    -- stderr --
    -- exit 6 --
    "#);
    std::fs::write(world.path("bytes.jsonl"), b"{}\n\xff\n").unwrap();
    insta::assert_snapshot!(world.show(&["audit", "verify", "bytes.jsonl"]), @r"
    NOT OK: 1 finding
      export_malformed: line 2 of the export is not UTF-8
      size       0 records
      contents   0 readable, 0 not
      decisions  0 judged again, 0 not
    -- stderr --
    -- exit 6 --
    ");
}

#[test]
fn a_line_without_end_is_no_export() {
    let world = World::new();
    // Nothing but a hole, which takes no room.
    let hole = std::fs::File::create(world.path("hole")).unwrap();
    hole.set_len(1 << 30).unwrap();
    let verified = world.call(&["audit", "verify", "hole"]);
    assert_eq!(verified.code, 6, "{}", verified.stderr);
    assert!(
        verified
            .stdout
            .contains("line 1 of the export has more than")
    );
}

#[test]
fn counts_who_decided_and_how_sure_that_is() {
    let world = answered();
    let text = world.call(&["audit", "who"]).stdout;
    assert!(text.starts_with("BY      NAME"), "{text}");
    assert!(!text.contains("person"), "{text}");
    let all: serde_json::Value =
        serde_json::from_str(&world.call(&["--json", "audit", "who"]).stdout).unwrap();
    let by = |who: &serde_json::Value| {
        let who = who["who"].as_array().unwrap().clone();
        let line = |one: serde_json::Value| {
            let text = |name: &str| one[name].as_str().unwrap_or("-").to_owned();
            (
                text("by"),
                text("name"),
                text("assurance"),
                one["count"].as_u64(),
            )
        };
        who.into_iter().map(line).collect::<Vec<_>>()
    };
    let user = ("user".into(), "uid:1000".into(), "same-user".into());
    let policy = ("policy".into(), "plain-read-only".into(), "-".into());
    let line =
        |(by, name, assurance): (String, String, String), count| (by, name, assurance, Some(count));
    assert_eq!(by(&all), [line(user, 2), line(policy, 1)]);
    let count = |filters: &[&str]| {
        let args = [&["--json", "audit", "who"], filters].concat();
        let who: serde_json::Value = serde_json::from_str(&world.call(&args).stdout).unwrap();
        let who = who["who"].as_array().unwrap().clone();
        who.iter()
            .filter_map(|one| one["count"].as_u64())
            .sum::<u64>()
    };
    for (filters, decisions) in [
        (&[][..], 3),
        (&["--tool", "rm"], 1),
        (&["--tool", "ls"], 1),
        (&["--tool", "mv"], 0),
        (&["--since", "1h"], 3),
        (&["--since", "2100-01-01"], 0),
        (&["--tool", "rm", "--since", "1h"], 1),
    ] {
        assert_eq!(count(filters), decisions, "{filters:?}");
    }
}

#[test]
fn every_part_of_the_log_together_is_the_whole_log() {
    let world = answered();
    let log = |args: &[&str]| -> serde_json::Value {
        let args = [&["--json", "audit", "log"], args].concat();
        serde_json::from_str(&world.call(&args).stdout).unwrap()
    };
    let run = &world.run()[..8];
    for filters in [
        &[][..],
        &["--run", run],
        &["--risk", "high-risk"],
        &["--tool", "write_file"],
        &["--approver", "uid:1000"],
        &["--verdict", "granted"],
        &["--verdict", "granted", "--approver", "uid:1000"],
        &["--verdict", "granted", "--run", run, "--tool", "ls"],
        &["--type", "call.proposed"],
    ] {
        let whole = log(filters)["events"].as_array().unwrap().clone();
        assert!(!whole.is_empty(), "{filters:?}");
        for limit in ["1", "2", "300"] {
            let (mut parts, mut after) = (Vec::new(), None::<String>);
            loop {
                let after_args: Vec<&str> = after
                    .iter()
                    .flat_map(|at| ["--after", at.as_str()])
                    .collect();
                let part = log(&[filters, &["--limit", limit], &after_args].concat());
                parts.extend(part["events"].as_array().unwrap().clone());
                let Some(next) = part["next"].as_str() else {
                    break;
                };
                after = Some(next.to_owned());
            }
            assert_eq!(parts, whole, "{filters:?} by {limit}");
        }
    }
}

#[test]
fn a_cursor_that_is_none_is_a_wrong_argument() {
    let world = answered();
    for verb in [&["audit", "log"][..], &["inbox"], &["runs", "list"]] {
        let called = world.call(&[verb, &["--after", "00ff"]].concat());
        assert_eq!(called.code, 64, "{}", called.stderr);
        let expected = "expected the cursor that the part before gave as next";
        assert!(called.stderr.contains(expected), "{}", called.stderr);
    }
    let log = world
        .call(&["--json", "audit", "log", "--limit", "1"])
        .stdout;
    let log: serde_json::Value = serde_json::from_str(&log).unwrap();
    let of_log = log["next"].as_str().unwrap();
    for verb in [&["inbox"][..], &["runs", "list"]] {
        let called = world.call(&[verb, &["--after", of_log]].concat());
        assert_ne!(called.code, 0, "{}", called.stdout);
        assert!(
            called.stderr.contains("of the same list"),
            "{}",
            called.stderr
        );
    }
}

#[test]
fn projections_are_built_anew_and_are_what_they_were() {
    let world = answered();
    assert_eq!(world.call(&["runs", "list"]).code, 0);
    insta::assert_snapshot!(world.show(&["doctor", "--rebuild"]), @r"
    7 rows of projections built from 25 records: they are what they were
    -- stderr --
    -- exit 0 --
    ");
    // As if an older release, or a damaged disk, had left them.
    world.in_store(async |store| {
        let rows = store.projections();
        let changes = [(b"m".to_vec(), None)].into_iter().collect();
        rows.apply(&changes).unwrap();
    });
    let rebuilt = world.call(&["--json", "doctor", "--rebuild"]).stdout;
    let rebuilt: serde_json::Value = serde_json::from_str(&rebuilt).unwrap();
    assert_eq!(rebuilt["differed"], true);
    assert_eq!(world.call(&["runs", "list", "--all"]).code, 0);
}
