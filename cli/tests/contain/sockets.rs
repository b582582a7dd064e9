//! What a contained program can talk to.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use placet_ledger::containment::{Containment, Part};

use super::Place;
use super::place::text;

/// What a connection to a port came to.
fn connect(place: &Place, granted: &[u16], to: u16) -> String {
    let program = place.attempts();
    let mut job = place.job(&[&program, "tcp", &to.to_string()]);
    job.network = granted.iter().copied().collect();
    text(&place.run(&job).stdout.head)
}

#[test]
fn a_socket_of_the_person_is_out_of_reach() {
    let place = Place::new();
    let _agent = UnixListener::bind(place.path("home/agent")).unwrap();
    let name = format!("placet-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _bus = UnixListener::bind_addr(&address).unwrap();
    let path = place.path("home/agent").display().to_string();
    for socket in [path, format!("@{name}")] {
        let said = place.attempt(&["unix", &socket]);
        if place.has(Part::Syscalls) {
            assert_ne!(said, "connect 0\n", "{socket}");
        }
    }
}

#[test]
fn a_socket_of_the_workspace_is_covered_while_somebody_listens() {
    let place = Place::new();
    let path = place.path("work/socket");
    let own = UnixListener::bind(&path).unwrap();
    let socket = path.to_str().unwrap();
    let others = place.attempt(&["unix", socket]);
    if place.has(Part::Mounts) && place.has(Part::Network) {
        // What covers it is a file, to which nobody listens and which cannot be moved away.
        assert_eq!(others, "connect 111\n");
        let script = "rm -f socket 2>/dev/null || mv socket other 2>/dev/null || echo refused";
        assert_eq!(place.says(script), "refused");
    } else if place.has(Part::Syscalls) {
        assert_eq!(others, "socket 1\n");
    }
    assert!(path.exists());
    drop(own);
    // What a killed server left is nobody's: the next one can take its place.
    assert_eq!(place.says("rm socket && echo gone"), "gone");
}

#[test]
fn there_is_no_network_but_what_was_granted() {
    let place = Place::new();
    let listeners = [0, 0].map(|port| TcpListener::bind(("127.0.0.1", port)).unwrap());
    let [granted, other] = listeners
        .each_ref()
        .map(|one| one.local_addr().unwrap().port());
    if place.has(Part::Network) || place.has(Part::Syscalls) || place.has(Part::Landlock) {
        assert_ne!(connect(&place, &[], granted), "connect 0\n");
    }
    let level = place.container.level_with(&[granted].into());
    if !level.missing().contains(&Part::Network) {
        assert_eq!(connect(&place, &[granted], granted), "connect 0\n");
        assert_eq!(connect(&place, &[granted], other), "connect 13\n");
    }
}

#[test]
fn a_program_can_talk_to_itself() {
    let place = Place::new();
    if !place.has(Part::Network) {
        return;
    }
    // Nobody listens there, and it is there: refused, not unreachable.
    assert_eq!(connect(&place, &[], 9), "connect 111\n");
}

#[test]
fn ports_without_landlock_lack_the_network_part() {
    let place = Place::without([Part::Landlock]);
    let level = place.container.level_with(&[443].into());
    assert!(level.missing().contains(&Part::Network));
    assert_ne!(level.containment(), Containment::Full);
    let none = place.container.level_with(&[].into());
    assert_eq!(none, *place.container.level());
}

/// Of the attempts to send around a rule for TCP, those that came through with these ports.
fn open_with(place: &Place, granted: &[u16]) -> Vec<String> {
    let program = place.attempts();
    let mut job = place.job(&[&program, "sockets"]);
    job.network = granted.iter().copied().collect();
    let said = text(&place.run(&job).stdout.head);
    assert_eq!(said.lines().count(), 24, "{said}");
    // Refused is what the filter says; what the kernel does not have comes to something else.
    let open = said.lines().filter_map(|line| line.strip_suffix(" 0"));
    let bad = said.lines().filter_map(|line| line.strip_suffix(" 9"));
    let refused = said.lines().filter(|line| line.ends_with(" 1")).count();
    let through: Vec<_> = open.chain(bad).map(str::to_owned).collect();
    if !granted.is_empty() {
        assert_eq!(refused + through.len(), 24, "{said}");
    }
    through
}

#[test]
fn with_ports_nothing_but_tcp_goes_out() {
    let place = Place::new();
    if !place.has(Part::Syscalls) || !place.has(Part::Landlock) {
        return;
    }
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names.join(" ")
    };
    let open = sorted(open_with(&place, &[443]));
    assert_eq!(open, "route send stream stream6");
    // Where names are looked up UDP is open as well.
    let open = sorted(open_with(&place, &[53, 443]));
    assert_eq!(open, "route send stream stream6 udp udp6");
    if place.has(Part::Network) {
        // In a network of its own nothing is refused by its kind.
        let own = open_with(&place, &[]);
        for kind in ["stream", "udp", "sendto", "sendmsg", "sendmmsg", "listen"] {
            assert!(own.iter().any(|one| one == kind), "{kind} {own:?}");
        }
    }
}

#[test]
fn no_port_of_the_machine_is_taken() {
    let place = Place::new();
    let program = place.attempts();
    let mut job = place.job(&[&program, "bind"]);
    if place.has(Part::Network) {
        assert_eq!(text(&place.run(&job).stdout.head), "bind 0\nlisten 0\n");
    }
    job.network = [443].into();
    if place.has(Part::Syscalls) && place.has(Part::Landlock) {
        assert_eq!(text(&place.run(&job).stdout.head), "bind 13\nlisten 1\n");
    }
}
