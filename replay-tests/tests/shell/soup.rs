//! Any text is read to an answer, and the words of a plain command are its words.

use std::fs;
use std::path::Path;

use placet_engine::shell::explain::explain;
use placet_engine::shell::{Plain, Reading, covers, key, read, read_bytes};
use placet_replay::soup::{Bytes, Soup};

/// Commands that were once read wrongly, and such as are likely to be.
pub(super) fn kept() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/shell/soup");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no soup is kept");
    let texts = paths.iter().map(|path| fs::read_to_string(path).unwrap());
    texts.collect()
}

/// The words in single quotes, which no shell reads in two ways.
fn quoted(plain: &Plain) -> String {
    let words = plain.words().iter();
    let quoted = words.map(|word| format!("'{}'", word.text.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// What holds of any text.
fn holds(command: &str) {
    let reading = read(command);
    assert_eq!(read_bytes(command.as_bytes()), reading, "{command:?}");
    let explained = explain(command, &["git", "git status"]);
    let key = key(command);
    assert_eq!(explained.key, key, "{command:?}");
    assert!(!explained.covered || key.is_some(), "{command:?}");
    assert!(
        !explained.read_only || explained.words.is_some(),
        "{command:?}"
    );
    match &reading {
        Reading::Hazard(hazards) => {
            assert!(!hazards.is_empty(), "{command:?}");
            let inside = |at| at <= command.len() && command.is_char_boundary(at);
            assert!(
                hazards.iter().all(|hazard| inside(hazard.at)),
                "{command:?}"
            );
        }
        Reading::Neither(why) => assert!(!why.is_empty(), "{command:?}"),
        Reading::Plain(plain) => {
            let again = quoted(plain);
            let Reading::Plain(read) = read(&again) else {
                panic!("{command:?} is plain, {again:?} is not");
            };
            let texts = |plain: &Plain| -> Vec<String> {
                let words = plain.words().iter();
                words.map(|word| word.text.clone()).collect()
            };
            assert_eq!(texts(plain), texts(&read), "{command:?}");
            assert!(read.argv().is_some(), "{command:?}");
        }
    }
    if let Some(key) = key {
        assert!(covers(&key, &key), "{command:?}");
        assert!(!key.contains('\n'), "{command:?}");
    }
}

#[test]
fn soup_is_read_to_an_answer() {
    let soup = Soup::default();
    bolero::check!()
        .with_iterations(5_000)
        .for_each(|bytes: &[u8]| {
            holds(&soup.command(&mut Bytes(bytes)));
            if let Ok(text) = std::str::from_utf8(bytes) {
                holds(text);
            }
        });
}

#[test]
fn soup_that_is_kept_is_read_to_an_answer() {
    for command in kept() {
        holds(&command);
    }
}
