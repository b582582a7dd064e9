//! Folders that are made, and what a crash leaves of them.

use std::collections::BTreeMap;

use super::*;
use crate::tool::Reconciled;

fn make(bench: &Bench, draft: &Draft) -> Result<String, ToolError> {
    job(bench, draft)
        .make_folder()
        .map(|text| String::from_utf8(text.bytes).unwrap())
}

fn reconcile(bench: &Bench, draft: &Draft) -> Reconciled {
    job(bench, draft).reconcile_folder().unwrap()
}

#[test]
fn makes_one_folder_or_all_that_are_missing() {
    both_ways(|bench| {
        let bench = bench.has_folder("src");
        let draft = bench.mkdir("src/new", false).unwrap();
        assert_eq!(
            make(&bench, &draft).unwrap(),
            "{\"entries\":1,\"path\":\"src/new\"}"
        );
        assert!(bench.at("src/new").is_dir());
        stale(make(&bench, &draft), "something of that name");
        let draft = bench.mkdir("a/b/c", true).unwrap();
        assert_eq!(
            make(&bench, &draft).unwrap(),
            "{\"entries\":3,\"path\":\"a/b/c\"}"
        );
        assert!(bench.at("a/b/c").is_dir());
        assert_eq!(bench.names(), ["a", "src"]);
        assert_eq!(bench.everything().len(), 5);
        // As any other program would make it.
        fs::create_dir(bench.at("theirs")).unwrap();
        let everything = bench.everything();
        for made in ["src/new", "a", "a/b", "a/b/c"] {
            assert_eq!(everything[made], everything["theirs"]);
        }
    });
}

#[test]
fn what_appeared_since_is_stale_and_stays() {
    type Appear = fn(&Path);
    let appearances: [Appear; 4] = [
        |path| fs::write(path, "theirs").unwrap(),
        |path| symlink("nowhere", path).unwrap(),
        |path| fs::create_dir(path).unwrap(),
        |path| fs::create_dir_all(path.join("b/c")).unwrap(),
    ];
    for appear in appearances {
        for path in ["a", "a/b/c"] {
            both_ways(|bench| {
                let draft = bench.mkdir(path, true).unwrap();
                appear(&bench.at("a"));
                let before = bench.everything();
                stale(make(&bench, &draft), "something of that name");
                assert_eq!(bench.everything(), before);
            });
        }
    }
    let bench = Bench::new().has_folder("src");
    let draft = bench.mkdir("src/a/b", true).unwrap();
    fs::rename(bench.at("src"), bench.at("was")).unwrap();
    stale(make(&bench, &draft), "there is no folder src");
    symlink("was", bench.at("src")).unwrap();
    stale(make(&bench, &draft), "src is not a folder");
    fs::remove_file(bench.at("src")).unwrap();
    fs::create_dir(bench.at("src")).unwrap();
    stale(make(&bench, &draft), "the folder above is another one");
    fs::create_dir_all(bench.at("src/a/b")).unwrap();
    stale(make(&bench, &draft), "the folder above is another one");
}

#[test]
fn only_the_folders_that_were_shown_are_made() {
    // The folder above is the same, and lies deeper by now.
    let bench = Bench::new().has_folder("src");
    let draft = bench.mkdir("src/a/b", true).unwrap();
    fs::rename(bench.at("src"), bench.at("was")).unwrap();
    fs::create_dir(bench.at("src")).unwrap();
    fs::rename(bench.at("was"), bench.at("src/a")).unwrap();
    let before = bench.everything();
    stale(make(&bench, &draft), "the folder above is another one");
    assert_eq!(reconcile(&bench, &draft), Reconciled::Unknown);
    assert_eq!(bench.everything(), before);
    // Or less deep.
    let bench = Bench::new().has_folder("src/a");
    let draft = bench.mkdir("src/a/b", true).unwrap();
    fs::rename(bench.at("src/a"), bench.at("a")).unwrap();
    fs::remove_dir(bench.at("src")).unwrap();
    fs::rename(bench.at("a"), bench.at("src")).unwrap();
    let before = bench.everything();
    let refused = make(&bench, &draft).unwrap_err().to_string();
    assert!(
        refused.contains(
            "the place of the folder src/a/b is not as it was previewed: there is no folder src/a \
             by now; list the folder above and propose anew"
        ),
        "{refused}"
    );
    assert_eq!(bench.everything(), before);
}

#[test]
fn a_leftover_of_that_name_is_not_touched() {
    let bench = Bench::new().has(TEMPORARY, "precious");
    let draft = bench.mkdir("a", false).unwrap();
    assert!(matches!(
        make(&bench, &draft),
        Err(ToolError::Failed { .. })
    ));
    assert_eq!(bench.text(TEMPORARY), "precious");
}

#[test]
fn reconciles_what_a_crash_left() {
    let temporary = |path: &str| format!("{TEMPORARY}{path}");
    // What is there, what is said of it, what is there then.
    let cases: [(&[String], &str, &[&str]); 11] = [
        (&[], "not done", &[]),
        (&[temporary("")], "not done", &[]),
        (&[temporary("/b")], "not done", &[]),
        (&[temporary("/b/c")], "not done", &[]),
        (&["a/b/c".into()], "done", &["a", "a/b", "a/b/c"]),
        (&["a".into()], "unknown", &["a"]),
        (&["a/b/x".into()], "unknown", &["a", "a/b", "a/b/x"]),
        (
            &["a/b/c/theirs".into()],
            "unknown",
            &["a", "a/b", "a/b/c", "a/b/c/theirs"],
        ),
        (
            &[temporary("/theirs")],
            "unknown",
            &[TEMPORARY, ".placet-b3e41f07-c1.tmp/theirs"],
        ),
        (&["a".into(), temporary("/b")], "not done", &["a"]),
        (
            &["a/b/c".into(), temporary("/b/c")],
            "not done",
            &["a", "a/b", "a/b/c"],
        ),
    ];
    for (there, expected, after) in cases {
        let bench = Bench::new();
        let draft = bench.mkdir("a/b/c", true).unwrap();
        let bench = there
            .iter()
            .fold(bench, |bench, path| bench.has_folder(path));
        let word = match reconcile(&bench, &draft) {
            Reconciled::Done(_) => "done",
            Reconciled::NotDone => "not done",
            Reconciled::Unknown => "unknown",
        };
        assert_eq!(word, expected, "{there:?}");
        let paths: Vec<_> = bench.everything().into_keys().collect();
        assert_eq!(paths, after, "{there:?}");
    }
    let bench = Bench::new();
    let draft = bench.mkdir("a", false).unwrap();
    let bench = bench.has(TEMPORARY, "theirs");
    assert_eq!(reconcile(&bench, &draft), Reconciled::Unknown);
    let expected = BTreeMap::from([(TEMPORARY.to_owned(), "theirs")]);
    assert_eq!(bench.everything().len(), expected.len());
}
