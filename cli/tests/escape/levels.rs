//! The table of attacks at each level: what is held, what comes through, and what is told of it.

use std::collections::BTreeSet;

use placet_ledger::containment::Part;

use super::files::TOLD;
use super::person::text;
use super::run::{Told, Wish};
use super::{Attack, Person, attacks};

/// Attacks that this machine can show, each with its command.
fn commands(person: &Person) -> Vec<(Attack, String)> {
    let all = attacks().into_iter();
    let filled = all.filter_map(|attack| {
        let command = person.fill(attack.command, &attack.word());
        // Only root makes these folders.
        let made = ["{slash_run}", "{system}"];
        let needs = made.iter().any(|name| attack.command.contains(name));
        assert!(command.is_some() || needs, "{}", attack.name);
        command.map(|command| (attack, command))
    });
    filled.collect()
}

/// Lets an agent try everything on a machine that lacks these parts, and compares what came
/// through with what the binary said of its level.
pub(super) fn try_all(without: &[&str], ports: &[u16]) -> BTreeSet<Part> {
    let person = Person::at_work();
    let commands = commands(&person);
    let wishes: Vec<_> = commands
        .iter()
        .map(|(_, command)| Wish {
            command: command.clone(),
            network: ports.to_vec(),
        })
        .collect();
    let told = person.run(&wishes, without);
    let missing = told[0].missing.clone();
    let mut wrong = Vec::new();
    for ((attack, command), told) in commands.iter().zip(&told) {
        assert_eq!(told.missing, missing, "{}", attack.name);
        reports(attack, told);
        let open = attack.is_open_without(&missing) && !(attack.held_by_kernel)(&person, &missing);
        let through = (attack.through)(&person, &attack.word(), &told.result);
        let words = TOLD.iter().find(|(name, _)| *name == attack.name);
        let is_told = words.is_some_and(|(_, words)| told.result.contains(words));
        assert_eq!(is_told, through && words.is_some(), "{}", told.result);
        if open != through {
            wrong.push(format!("{}: {command}\n{}", attack.name, told.result));
        }
    }
    assert!(wrong.is_empty(), "{missing:?}\n{}", wrong.join("\n"));
    if missing.is_empty() {
        assert_eq!(person.servers.heard(), Vec::<String>::new());
    }
    missing
}

/// Card, record and result say the same of a level.
fn reports(attack: &Attack, told: &Told) {
    let parts: Vec<_> = told.missing.iter().map(|part| part.as_str()).collect();
    let parts = parts.join(", ");
    let card = match told.missing.len() {
        0 => "full".to_owned(),
        some if some < Part::ALL.len() => format!("partial: without {parts}"),
        _ => format!("none: without {parts}"),
    };
    assert_eq!(told.card, card, "{}", attack.name);
    let note = "note: it was not fully shut in; missing: ";
    let noted = told.result.lines().find_map(|line| line.strip_prefix(note));
    let expected = (!parts.is_empty()).then_some(&parts[..]);
    assert_eq!(noted, expected, "{}", told.result);
}

/// The same with what must be missing, whatever else this machine lacks.
fn try_without(without: &[&str], expected: &[Part]) {
    let missing = try_all(without, &[]);
    assert!(
        expected.iter().all(|part| missing.contains(part)),
        "{missing:?}"
    );
}

/// Each attack works where nothing holds it, or it would prove nothing.
pub(super) fn control() {
    let mut person = Person::at_work();
    // In the place of a driver, which is open where nobody closed it.
    let driver = person
        .command(person.path("home/work/attack"))
        .arg("runs")
        .spawn();
    person.keep(driver.unwrap());
    for (attack, _) in commands(&person) {
        if attack.command.contains("{victim}") {
            person.start_victim();
        }
        let command = person.fill(attack.command, &attack.word()).unwrap();
        let done = person.output("sh", &["-c", &command]);
        let said = text(&done.stdout) + &text(&done.stderr);
        let through = (attack.through)(&person, &attack.word(), &said);
        let held = (attack.held_by_kernel)(&person, &Part::ALL.into());
        assert!(through || held, "{}: {command}\n{said}", attack.name);
    }
}

#[test]
fn what_nothing_holds_comes_through() {
    control();
}

#[test]
fn nothing_comes_through_at_the_level_of_this_machine() {
    try_all(&[], &[]);
}

#[test]
fn nothing_comes_through_beside_granted_ports() {
    try_all(&[], &[1]);
}

#[test]
fn without_a_process_namespace_what_comes_through_is_told() {
    try_without(&["processes"], &[Part::Processes]);
}

#[test]
fn without_user_namespaces_what_comes_through_is_told() {
    let users = [Part::Processes, Part::Mounts, Part::Network];
    try_without(&["users"], &users);
}

#[test]
fn without_mounts_and_rules_what_comes_through_is_told() {
    try_without(&["mounts", "landlock"], &[Part::Mounts, Part::Landlock]);
}

#[test]
fn without_mounts_and_filter_what_comes_through_is_told() {
    try_without(&["mounts", "syscalls"], &[Part::Mounts, Part::Syscalls]);
}

#[test]
fn without_all_that_bounds_the_network_what_comes_through_is_told() {
    let parts = [Part::Network, Part::Landlock, Part::Syscalls];
    try_without(&["network", "landlock", "syscalls"], &parts);
}

#[test]
fn without_any_part_what_comes_through_is_told() {
    let names: Vec<_> = Part::ALL.iter().map(|part| part.as_str()).collect();
    try_without(&names, &Part::ALL);
}
