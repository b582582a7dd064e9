//! Ledgers that are not what was written: shown as far as they go, verified with exit 6, and
//! never a panic.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use placet_ledger::envelope::{Envelope, Header};
use placet_ledger::event::{Event, RunParked};
use placet_ledger::id::{EventId, RunId, Version};
use placet_ledger::store::sled::SledStore;
use placet_ledger::store::{Batch, EventStore, Expected, ReadStore};

use crate::support::World;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Puts back the home of an earlier time; the head file outside of it knows better.
fn put_back(world: &World) {
    let home = world.path("data/placet");
    copy(&home, &world.path("backup"));
    assert_eq!(world.call(&["runs", "approve", &world.run()[..8]]).code, 0);
    fs::remove_dir_all(&home).unwrap();
    copy(&world.path("backup"), &home);
}

#[test]
fn a_ledger_behind_its_head_is_read_and_says_why_it_takes_no_writes() {
    let world = World::parked();
    put_back(&world);
    insta::assert_snapshot!(world.show(&["runs", "list"]), @r"
    RUN     STATE   WAITS  STARTED               AGENT    PROMPT
    <run1>  parked  2      <time>  default  Tidy up.
    -- stderr --
    the ledger takes no writes: the store has 14 records and had 27
      hint: nothing is written to it until that is understood: placet audit verify
    -- exit 0 --
    ");
    let run = &world.run()[..8];
    for args in [&["runs", "show", run][..], &["inbox"], &["audit", "log"]] {
        let shown = world.call(args);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        assert!(shown.stderr.contains("takes no writes"));
    }
    insta::assert_snapshot!(world.show(&["audit", "verify"]), @r"
    NOT OK: 1 finding, the first bad position is #14
      #14 head_ahead: 27 records were acknowledged, 14 are there
      size       14 records
      root       <digest>
      head       27 records, <digest>
      contents   18 readable, 0 not
      decisions  3 judged again, 0 not
    -- stderr --
    -- exit 6 --
    ");
    assert_eq!(world.call(&["runs", "approve", run]).code, 6);
    insta::assert_snapshot!(world.show(&["doctor", "--rebuild"]), @r"
    -- stderr --
    error: the ledger takes no writes: the store has 14 records and had 27
      hint: nothing is written to it until that is understood: placet audit verify
    -- exit 6 --
    ");
}

#[test]
fn a_missing_head_or_key_file_is_a_finding() {
    let world = World::parked();
    let state = world.path("state/placet");
    fs::rename(&state, world.path("state/elsewhere")).unwrap();
    insta::assert_snapshot!(world.show(&["audit", "verify"]), @r"
    NOT OK: 1 finding
      head_missing: the head file of the store is missing: <dir>/state/placet/<id>/head
      size       14 records
      root       <digest>
      contents   18 readable, 0 not
      decisions  3 judged again, 0 not
    -- stderr --
    -- exit 6 --
    ");
    fs::rename(world.path("state/elsewhere"), &state).unwrap();
    fs::rename(world.path("data/placet/keys"), world.path("keys")).unwrap();
    let shown = world.call(&["--json", "audit", "verify"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let findings = shown["findings"].as_array().unwrap();
    assert!(
        findings
            .iter()
            .any(|finding| finding["kind"] == "keys_missing")
    );
    let shown = world.call(&["runs", "show", &world.run()[..8]]);
    assert!(shown.stdout.contains("do not approve what you cannot see"));
}

/// Appends a record that no driver would: a run parks twice.
fn break_run(world: &World) {
    let home = world.path("data/placet");
    let ledger = SledStore::ledger_at(&home).unwrap();
    let head_dir = world.path("state/placet").join(ledger.to_string());
    let store = SledStore::open(&home, &head_dir).unwrap();
    let run: RunId = world.run().parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let stream = run.stream();
        let last = store.read_run(stream, Version::ZERO, 256).await.unwrap();
        let last = last.into_iter().last().unwrap().parse().unwrap().envelope;
        let version = last.version().next().unwrap();
        let header = Header {
            id: EventId::new(uuid::Uuid::new_v4()),
            prev: last.digest(),
            version,
            ..last.header().clone()
        };
        let event = Event::RunParked(RunParked {
            pending: Vec::new(),
        });
        let batch = Batch {
            records: vec![Envelope::write(header, event, BTreeMap::new()).unwrap()],
            contents: BTreeMap::new(),
        };
        let expected = Expected::Head {
            version: last.version(),
            digest: last.digest(),
        };
        let store: Arc<dyn EventStore> = Arc::new(store);
        store.append(stream, expected, batch, &[]).await.unwrap();
    });
}

#[test]
fn a_run_that_does_not_fold_is_shown_and_says_so() {
    let world = World::parked();
    break_run(&world);
    let run = &world.run()[..8];
    insta::assert_snapshot!(world.show(&["runs", "list"]), @r"
    RUN     STATE        WAITS  STARTED  AGENT  PROMPT
    <run1>  quarantined                         from position 14
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.json(&["runs", "list", "--state", "quarantined"]), @r#"
    {
      "runs": [
        {
          "quarantine": {
            "detail": "run.parked at version 12 cannot follow: the run does not wait for exactly these calls",
            "position": 14,
            "version": 12
          },
          "run": "<run1>"
        }
      ]
    }
    -- stderr --
    -- exit 0 --
    "#);
    let shown = world.show(&["runs", "show", run]);
    let about = shown.split("timeline").next().unwrap();
    insta::assert_snapshot!(about, @r"
    run <run1> quarantined
      it does not fold and is not driven any more: the record at position 14 (version 12): run.parked at version 12 cannot follow: the run does not wait for exactly these calls
      placet audit verify tells more
    ");
    assert!(shown.ends_with("-- exit 6 --"), "{shown}");
    assert_eq!(world.call(&["audit", "export", "--run", run]).code, 0);
    insta::assert_snapshot!(world.show(&["audit", "verify"]), @r"
    NOT OK: 1 finding, the first bad position is #14
      #14 <run1>@12 event_illegal: run.parked at version 12 cannot follow: the run does not wait for exactly these calls
      size       15 records
      root       <digest>
      head       15 records, <digest>
      contents   18 readable, 0 not
      decisions  3 judged again, 0 not
    -- stderr --
    -- exit 6 --
    ");
}

#[test]
fn flipped_bytes_are_found_or_harmless_and_never_a_panic() {
    let world = World::parked();
    let db = world.path("data/placet/sled/db");
    let whole = fs::read(&db).unwrap();
    let used = whole.iter().rposition(|byte| *byte != 0).unwrap_or(0);
    let sound = world.call(&["--json", "audit", "verify"]).stdout;
    for at in (0..used).step_by((used / 24).max(1)) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&db, &bytes).unwrap();
        let shown = world.call(&["--json", "audit", "verify"]);
        match shown.code {
            0 => assert_eq!(shown.stdout, sound, "byte {at}"),
            6 => assert!(shown.stdout.starts_with("{\"ok\":false"), "byte {at}"),
            other => panic!("byte {at}: exit {other}, {}", shown.stderr),
        }
    }
}

#[test]
fn keys_that_others_could_read_are_closed_and_no_damage_to_any_verb() {
    let run = String::from("RUN");
    let verbs: [&[&str]; 4] = [
        &["audit", "verify"],
        &["doctor"],
        &["inbox"],
        &["runs", "approve", &run, "--no-resume"],
    ];
    for args in verbs {
        // As with keys that nobody else could ever read.
        let [untouched, opened] = [0o600, 0o644].map(|mode| {
            let world = World::parked();
            let keys = world.path("data/placet/keys");
            fs::set_permissions(&keys, fs::Permissions::from_mode(mode)).unwrap();
            let named = |arg: &&str| if *arg == run { world.run() } else { *arg }.to_owned();
            let args: Vec<String> = args.iter().map(named).collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let output = world.call(&args);
            let mode = fs::metadata(&keys).unwrap().permissions().mode() & 0o777;
            (
                output.code,
                mode,
                output.stdout.contains("keys cannot be read"),
            )
        });
        assert_eq!(opened, (untouched.0, 0o600, false), "{args:?}");
        assert_ne!(opened.0, 6, "{args:?}");
    }
}

#[test]
fn a_snapshot_of_sled_that_is_cut_is_told_with_what_helps() {
    let world = World::parked();
    let sled = world.path("data/placet/sled");
    let names = fs::read_dir(&sled).unwrap().map(|entry| entry.unwrap());
    let mut snapshots = names.filter(|it| it.file_name().to_string_lossy().starts_with("snap."));
    let snapshot = snapshots.next().unwrap();
    fs::write(snapshot.path(), b"cut").unwrap();
    let told = format!(
        "should it be sled/{} alone, the ledger opens once that file is moved away",
        snapshot.file_name().display()
    );
    let verified = world.call(&["audit", "verify"]);
    assert_eq!(verified.code, 6);
    assert!(verified.stdout.contains(&told), "{}", verified.stdout);
    let listed = world.call(&["runs", "list"]);
    assert_eq!(listed.code, 6);
    assert!(listed.stderr.contains(&told), "{}", listed.stderr);
    fs::rename(snapshot.path(), world.path("away")).unwrap();
    world.records_hold();
}
