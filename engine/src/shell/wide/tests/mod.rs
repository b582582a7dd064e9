//! Respellings of denied commands, harmless commands, and properties over both.

mod harmless;
mod marked;
mod renamed;
pub(crate) mod respelled;

use proptest::prelude::*;

use super::{Command, Match, Pattern};

/// The rules that the tables are tried against.
pub(crate) const RULES: [&str; 7] = [
    "rm",
    "git push",
    "kubectl delete",
    "docker run",
    "npm publish",
    "curl",
    "terraform apply",
];

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).unwrap()
}

#[test]
fn a_pattern_is_a_program_and_words() {
    for (text, shown) in [
        ("rm", "rm"),
        ("  kubectl \t delete ", "kubectl delete"),
        ("git push --force", "git push --force"),
        ("git push +*", "git push +*"),
        ("RM", "rm"),
        ("g++", "g++"),
        ("npm run build:prod", "npm run build:prod"),
    ] {
        assert_eq!(pattern(text).to_string(), shown, "{text}");
    }
    for wrong in [
        "",
        " ",
        "*",
        "/bin/rm",
        "'rm' x",
        "$X",
        "rm; ls",
        "-f rm",
        "a|b",
        "git 'push'",
        "\u{7}rm",
        "git \u{1b}push",
        ".hidden",
    ] {
        assert!(Pattern::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn words_follow_in_order_with_anything_between() {
    use Match::{Apart, Matches, Unreadable};
    for (rule, command, expected) in [
        ("kubectl delete", "kubectl delete pod x", Matches),
        (
            "kubectl delete",
            "kubectl --context prod delete pod x",
            Matches,
        ),
        ("kubectl delete", "env kubectl delete pod x", Matches),
        ("kubectl delete", "kubectl get pods", Apart),
        ("kubectl delete", "kubectl describe pod delete-me", Apart),
        ("kubectl delete", "kubectl $VERB pod x", Unreadable),
        ("kubectl delete", "kubectl get $X", Apart),
        ("kubectl delete", "kubectl get pods -l app=$X", Apart),
        ("kubectl delete", "kubectl get pods | head", Matches),
        ("kubectl delete pod", "kubectl delete service x", Apart),
        ("git push --force", "git push origin main --force", Matches),
        ("git push --force", "git push origin main", Apart),
        ("git push --force", "git push --force-with-lease", Apart),
        (
            "git push --force*",
            "git push --force-with-lease=x",
            Matches,
        ),
        ("git push -f", "git push -uf origin", Matches),
        ("git push +*", "git push origin +main", Matches),
        ("git push +*", "git push origin main", Apart),
        ("git push :*", "git push origin :main", Matches),
        ("git push --force", "git push --forc origin", Matches),
        ("git branch -D", "git branch -d x", Apart),
        ("git branch -D", "git branch -D x", Matches),
        ("rm -rf", "rm -fr x", Matches),
        ("rm -rf", "rm x -r -f", Matches),
        ("rm -rf", "rm -r x", Apart),
        ("git push", "/usr/lib/git-core/git-push origin", Matches),
        ("git push", "git -c alias.p=push p", Matches),
        ("npm run build:prod", "npm run build:prod", Matches),
        ("npm run build:prod", "npm run build", Apart),
        ("rm", "git commit -m \"rm old files\"", Matches),
        ("yarn", "yarn test", Matches),
        ("rm", "\u{ff52}\u{ff4d} x", Apart),
        ("rm", "\u{433}m x", Apart),
        ("rm", "RM x", Matches),
        ("rm", "r\u{200c}m x", Matches),
        ("kubectl delete", "\u{212a}ubectl delete x", Matches),
    ] {
        assert_eq!(
            pattern(rule).matches(command),
            expected,
            "{rule}: {command}"
        );
    }
}

#[test]
fn long_texts_are_read_in_one_pass() {
    let rule = pattern("kubectl delete");
    let read = |unit: &str, bytes: usize| {
        let text = unit.repeat(bytes / unit.len());
        rule.stands_to(&Command::read(&text));
    };
    for unit in ["a ", "sudo sh "] {
        read(unit, 1_000_000);
    }
    for unit in [
        "$(",
        "`\\",
        "A= ",
        ">a ",
        "'",
        "\"",
        "`",
        "\\",
        "<<A\n",
        "{",
        "(",
        ")",
        "xargs ",
        "$'\\x41'",
        "a;",
        "&|",
        "sed ",
        "awk x ",
        "env -S",
        "kubectl ",
        "kubectl $x ",
        "-rf ",
        ">a;./a ",
        "cp a ",
        "git -aaaa ",
    ] {
        read(unit, 20_000);
    }
}

/// Pieces of which a text may consist.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "rm", "x", " ", " ", " ", "'", "\"", "\\", "$", "$(", ")", "`", "|", "&&", ";", "\n",
        "<<E", "E", "<", ">", "{", "}", ",", "sh", "-c", "sudo", "xargs", "-I{}", "awk", "sed",
        "s/a/b/e", "$'", "\\x72", "#", "=", "*", "?", "[", "case", "\0", "\u{200b}", "-", ".",
        "env", "-S",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn wrapper() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "sudo",
        "sudo -u root",
        "env A=1",
        "nice -n 5",
        "nohup",
        "timeout 5",
        "chronic",
        "doas",
        "setsid",
        "strace -f",
        "busybox",
        "command",
        "exec",
        "time",
        "ionice -c 3",
        "unknown -x",
    ])
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>(), mixed in pieces()) {
        for rule in RULES {
            pattern(rule).matches(&text);
            pattern(rule).matches(&mixed);
        }
    }

    #[test]
    fn a_name_between_blanks_is_never_lost(before in pieces(), after in pieces()) {
        let text = format!("{before} rm {after}");
        prop_assert_ne!(pattern("rm").matches(&text), Match::Apart, "{}", text);
    }

    #[test]
    fn wrappers_and_flags_hide_nothing(
        wrappers in prop::collection::vec(wrapper(), 0..5),
        flags in prop::collection::vec("--?[a-z]{1,6}(=[a-z]{1,4})?", 0..4),
        rule in prop::sample::select(RULES.to_vec()),
    ) {
        let (program, rest) = rule.split_once(' ').unwrap_or((rule, "x"));
        let text = format!("{} {program} {} {rest} y", wrappers.join(" "), flags.join(" "));
        prop_assert_eq!(pattern(rule).matches(text.trim()), Match::Matches, "{}", text);
    }
}
