//! A ledger that another process holds: one of another build, one that cannot be reached for what
//! lies where the socket should, and keys that are missing. Each is told as what it is, and nothing
//! is lost by it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::Child;
use std::sync::Arc;

use placet_engine::clock::SystemClock;
use placet_engine::ids::LiveStamps;
use placet_engine::policy::Gate;
use placet_ledger::ledger::{Door, Socket};
use placet_ledger::owner::Parts;
use placet_ledger::remote::{Build, OwnerKeys, PROTOCOL, SocketKey, socket};
use placet_ledger::store::sled::SledStore;
use ring::signature::Ed25519KeyPair;
use rustix::process::{Pid, Signal, WaitOptions, kill_process};

use crate::read_only::copy;
use crate::support::{Output, World, spawn};

const SOCKET: &str = "data/placet/socket";

/// A process that holds the ledger until it is told to end.
struct Holder(Child);

impl Holder {
    fn new(world: &World) -> Self {
        let mut child = spawn(world, &["runs", "watch", world.run()]);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("run.parked")));
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        self.0.wait().unwrap();
    }
}

fn approve(world: &World) -> Output {
    world.call(&["runs", "approve", world.run()])
}

/// The command ends so and says so, and the run waits as it did.
fn refused(world: &World, code: u8, told: &[&str]) {
    let output = approve(world);
    assert_eq!(output.code, code, "{}", output.stderr);
    for told in told {
        let shown = output
            .stderr
            .replace(world.dir.path().to_str().unwrap(), "<dir>");
        assert!(shown.contains(told), "{told}: {shown}");
    }
    assert_eq!(fs::read(world.path("ws/notes.txt")).unwrap(), b"milk\n");
}

fn approved(world: &World) {
    let output = approve(world);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(
        fs::read(world.path("ws/notes.txt")).unwrap(),
        b"milk\neggs\n"
    );
    world.records_hold();
}

/// Holds the ledger of a world as another build does.
async fn another_build(world: &World) -> Door {
    let home = world.path("data/placet");
    let ledger = SledStore::ledger_at(&home).unwrap();
    let head = world.path("state/placet").join(ledger.to_string());
    let store = Arc::new(SledStore::open(&home, &head).unwrap());
    let clock = Arc::new(SystemClock);
    let parts = Parts {
        store: store.clone(),
        judge: Arc::new(Gate),
        clock: clock.clone(),
        stamps: Arc::new(LiveStamps::new(clock)),
        rows: None,
        snapshots: None,
    };
    let key = fs::read(home.join("ledger.key")).unwrap();
    let socket_key = fs::read(home.join("socket.key")).unwrap();
    let socket = Socket {
        listener: socket::bind(&home).unwrap(),
        build: Build {
            protocol: PROTOCOL + 1,
            format: 1,
            release: String::from("9.9.9"),
        },
        keys: OwnerKeys {
            ledger: Ed25519KeyPair::from_pkcs8(&key).unwrap(),
            socket: SocketKey::from_bytes(socket_key.try_into().unwrap()),
        },
        inside: Box::new(|_| false),
    };
    let door = Door::hold(parts, Some(socket), move || store.close()).await;
    door.unwrap()
}

#[test]
fn a_ledger_that_another_build_holds_is_left_to_it() {
    let world = World::parked_as_user();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    let door = runtime.block_on(another_build(&world));
    let told = [
        "the ledger is in use by another build",
        "9.9.9",
        env!("CARGO_PKG_VERSION"),
        "use the same build, or wait until that process has ended",
    ];
    refused(&world, 5, &told);
    let output = world.call(&["--json", "inbox"]);
    assert_eq!(output.code, 5, "{}", output.stderr);
    let error: serde_json::Value = serde_json::from_str(&output.stderr).unwrap();
    assert_eq!(error["error"]["code"], "conflict");
    drop(door);
    approved(&world);
}

/// What somebody may put where the socket should be, by its name.
type Put = (&'static str, fn(&World));

#[test]
fn what_lies_where_the_socket_should_makes_way_for_it() {
    let puts: [Put; 4] = [
        ("a file", |world| {
            fs::write(world.path(SOCKET), "x").unwrap();
        }),
        ("a dangling link", |world| {
            symlink(world.path("nowhere"), world.path(SOCKET)).unwrap();
        }),
        ("a link to a file", |world| {
            fs::write(world.path("mine"), "mine").unwrap();
            symlink(world.path("mine"), world.path(SOCKET)).unwrap();
        }),
        ("a socket that nobody serves", |world| {
            drop(socket::bind(&world.path("data/placet")).unwrap());
        }),
    ];
    for (name, put) in puts {
        let world = World::parked_as_user();
        put(&world);
        let holder = Holder::new(&world);
        // It goes through the one that holds the ledger.
        approved(&world);
        drop(holder);
        assert!(!world.path("nowhere").exists(), "{name}");
        if let Ok(mine) = fs::read(world.path("mine")) {
            assert_eq!(mine, b"mine", "{name}");
        }
    }
}

#[test]
fn a_folder_where_the_socket_should_be_lets_one_process_at_a_time_use_the_ledger() {
    let world = World::parked_as_user();
    fs::create_dir(world.path(SOCKET)).unwrap();
    fs::write(world.path(SOCKET).join("mine"), "mine").unwrap();
    let holder = Holder::new(&world);
    let pid = holder.0.id();
    let told = [
        &format!("the store is in use by process {pid}"),
        "<dir>/data/placet/socket is a folder: remove it, and several can",
    ];
    refused(&world, 5, &told);
    drop(holder);
    approved(&world);
    assert_eq!(fs::read(world.path(SOCKET).join("mine")).unwrap(), b"mine");
}

#[test]
fn without_the_key_of_the_socket_nobody_comes_in_until_it_is_made_anew() {
    for damage in [
        |world: &World| fs::remove_file(world.path("data/placet/socket.key")),
        |world: &World| fs::write(world.path("data/placet/socket.key"), "short"),
    ] {
        let world = World::parked_as_user();
        let holder = Holder::new(&world);
        damage(&world).unwrap();
        let told = [
            "cannot read the key of the socket in <dir>/data/placet/socket.key",
            "the next process to hold the ledger makes it anew: end the one that does",
        ];
        refused(&world, 1, &told);
        drop(holder);
        let holder = Holder::new(&world);
        approved(&world);
        drop(holder);
    }
}

#[test]
fn another_key_of_the_socket_opens_nothing() {
    let world = World::parked_as_user();
    let holder = Holder::new(&world);
    fs::write(world.path("data/placet/socket.key"), [7; 32]).unwrap();
    refused(&world, 5, &["cannot use the ledger through its socket"]);
    drop(holder);
    approved(&world);
}

#[test]
fn without_the_key_of_the_ledger_one_process_at_a_time_uses_it() {
    let world = World::parked_as_user();
    let (key, kept) = (world.path("data/placet/ledger.key"), world.path("kept.key"));
    let holder = Holder::new(&world);
    fs::rename(&key, &kept).unwrap();
    // Whoever comes cannot tell whether it is the right one that serves.
    let told = [
        "cannot read the key of the ledger in <dir>/data/placet/ledger.key",
        "put the file back",
    ];
    refused(&world, 6, &told);
    drop(holder);
    let holder = Holder::new(&world);
    let told = [
        "the store is in use by process",
        "<dir>/data/placet/ledger.key is missing: put it back, and several can",
    ];
    refused(&world, 5, &told);
    drop(holder);
    fs::rename(&kept, &key).unwrap();
    let holder = Holder::new(&world);
    approved(&world);
    drop(holder);
}

#[test]
fn a_holder_that_is_stopped_is_said_to_be() {
    let world = World::parked_as_user();
    copy(&world.path("data/placet"), &world.path("second"));
    let holder = Holder::new(&world);
    let id = holder.0.id();
    let pid = Pid::from_child(&holder.0);
    kill_process(pid, Signal::STOP).unwrap();
    // It is stopped once the system says so.
    rustix::process::waitpid(Some(pid), WaitOptions::UNTRACED).unwrap();
    let stopped = format!("the store is in use by process {id}, which is stopped");
    let go_on = format!("kill -CONT {id} lets it go on");
    refused(&world, 5, &[&stopped, &go_on]);
    let looked = world.call(&["doctor"]);
    assert_eq!(looked.code, 1, "{}", looked.stdout);
    let of_ledger = looked.stdout.lines().find(|line| line.contains(&stopped));
    assert!(
        of_ledger.unwrap().starts_with("fail  ledger"),
        "{}",
        looked.stdout
    );
    let other = world.call(&["--home", "second", "runs", "approve", world.run()]);
    assert_eq!(other.code, 5, "{}", other.stderr);
    let home = world.path("data/placet").canonicalize().unwrap();
    let told = format!("process {id} has {} open and is stopped", home.display());
    for told in [&told, &go_on] {
        assert!(other.stderr.contains(told), "{told}: {}", other.stderr);
    }
    kill_process(pid, Signal::CONT).unwrap();
    approved(&world);
}
