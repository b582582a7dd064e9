//! Attempts of an approved command to answer for the person: by the person's own placet, in the
//! environment of the command and without it, and from a process that outlives the command.

use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;

use super::Person;
use super::person::text;
use super::run::Wish;

/// What a command tries; `{placet}` is the person's own program and `{other}` a run that waits.
const ATTEMPTS: [(&str, &str); 6] = [
    ("as it is", "true; {placet} runs approve {other}"),
    (
        "with the person's home named",
        "true; {placet} --home {store} runs approve {other}",
    ),
    (
        "in the person's environment",
        "HOME={home} XDG_RUNTIME_DIR={run} PLACET_HOME={store} {placet} runs approve {other}",
    ),
    (
        "with a cleared environment",
        "env -i HOME={home} {placet} runs approve {other}",
    ),
    (
        "from another folder",
        "cd /; env -i HOME={home} {placet} inbox; env -i HOME={home} {placet} runs resume {other}",
    ),
    (
        "in a home of its own",
        "export HOME={ws}/second; {placet} run --model script:{script} --park x; \
         {placet} runs approve {other}; {placet} --home {store} runs approve {other}",
    ),
];

/// As long as it takes, from a process that has left the command behind.
const PATIENT: &str = "(setsid sh -c 'trap \"\" TERM HUP INT; until env -i HOME={home} {placet} \
                       runs approve {other}; do sleep 0.1; done' > pipe 2>&1 &); echo left";

/// A person whose placet lies among the toolchains, which commands see, and a run that waits.
fn waiting() -> (Person, String) {
    let person = Person::new();
    fs::create_dir_all(person.path("home/.cargo/bin")).unwrap();
    let (placet, own) = (
        person.path("home/.cargo/bin/placet"),
        env!("CARGO_BIN_EXE_placet"),
    );
    // Another user may not link to it, and another file system cannot.
    if fs::hard_link(own, &placet).is_err() {
        fs::copy(own, &placet).unwrap();
    }
    let other = person.park(&[Wish::of("echo x > answered")], &[]);
    (person, other)
}

fn fill(person: &Person, other: &str, command: &str) -> String {
    let command = command.replace("{other}", other);
    let command = command.replace("{placet}", &person.at("home/.cargo/bin/placet"));
    let command = command.replace("{script}", &person.at("agent.toml"));
    person.fill(&command, "").unwrap()
}

/// The other run waits as it did: nobody has answered.
fn waits_still(person: &Person, other: &str) {
    let recorded = person.recorded(other);
    let last = recorded.last().unwrap().0["type"].clone();
    assert_eq!(last, "run.parked", "{recorded:?}");
    assert!(!person.path("home/work/answered").exists());
}

/// Reads the pipe of a process that left its command, until all that could write to it has ended.
fn reader(person: &Person) -> std::thread::JoinHandle<String> {
    let pipe = person.pipe();
    std::thread::spawn(move || {
        let mut said = Vec::new();
        fs::File::open(pipe)
            .unwrap()
            .read_to_end(&mut said)
            .unwrap();
        text(&said)
    })
}

/// What the reader read. A process that was ended before it opened the pipe leaves the reader
/// waiting for somebody who does.
fn joined(person: &Person, reader: std::thread::JoinHandle<String>) -> String {
    let pipe = fs::OpenOptions::new()
        .write(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(person.path("home/work/pipe"));
    drop(pipe);
    reader.join().unwrap()
}

#[test]
fn the_person_is_answered_for_by_themselves() {
    let (person, other) = waiting();
    let command = fill(&person, &other, ATTEMPTS[3].1);
    let done = person.output("sh", &["-c", &command]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(person.path("home/work/answered").exists());
    let (person, other) = waiting();
    let said = reader(&person);
    let done = person.output("sh", &["-c", &fill(&person, &other, PATIENT)]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let said = joined(&person, said);
    assert!(person.path("home/work/answered").exists(), "{said}");
}

#[test]
fn no_command_is_placet_itself() {
    let (person, other) = waiting();
    let model = person.agent(&[Wish::of(fill(
        &person,
        &other,
        "{placet} runs approve {other}",
    ))]);
    let args = ["--json", "run", "--model", &model, "--park", "Go on."];
    let ended = person.output(&person.at("home/.cargo/bin/placet"), &args);
    assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
    let report: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    let recorded = person.recorded(report["run"].as_str().unwrap());
    let refused = recorded
        .iter()
        .find(|(record, _)| record["type"] == "call.refused");
    let said = &refused.unwrap().1["detail"];
    assert!(
        said.contains("belongs to placet, and no command may run it"),
        "{said}"
    );
    waits_still(&person, &other);
}

#[test]
fn no_command_answers_for_the_person() {
    let parts = [
        "processes",
        "mounts",
        "network",
        "landlock",
        "syscalls",
        "limits",
    ];
    for without in [&[][..], &["users"], &parts] {
        let (person, other) = waiting();
        let said = reader(&person);
        // Whoever sees the home waits a while for the driver to let it go: once is enough there.
        let first = if without.is_empty() { 0 } else { 5 };
        let attempts = ATTEMPTS[first..].iter().chain([&("patiently", PATIENT)]);
        let wishes: Vec<_> = attempts
            .map(|(_, command)| Wish::of(fill(&person, &other, command)))
            .collect();
        let told = person.run(&wishes, without);
        let patient = joined(&person, said);
        assert!(!patient.contains("completed"), "{without:?} {patient}");
        waits_still(&person, &other);
        for (told, (name, _)) in told.iter().zip(&ATTEMPTS[first..]) {
            // It ran, and was refused: by what hides the home, or by whoever holds it.
            let refused = told.result.contains("error: ");
            assert!(refused, "{name} {without:?}: {}", told.result);
        }
        let last = told.last().unwrap();
        assert!(
            last.result
                .contains("\nnote: a process that it left behind was ended\n")
                || last
                    .result
                    .contains(" processes that it left behind were ended\n"),
            "{}",
            last.result
        );
    }
}
