//! What is read of commands, word for word.

use super::*;

/// How a command is read, in short: the words, hazards with their places, or the reason.
fn short(command: &str) -> String {
    match read(command) {
        Reading::Plain(plain) => {
            let words = plain.words().iter().map(|word| {
                let mark = if word.expands { "*" } else { "" };
                format!("[{}]{mark}", word.text)
            });
            words.collect::<Vec<_>>().join(" ")
        }
        Reading::Hazard(hazards) => {
            let hazards = hazards.iter().map(|h| format!("{:?}@{}", h.kind, h.at));
            hazards.collect::<Vec<_>>().join(" ")
        }
        Reading::Neither(why) => format!("neither: {why}"),
    }
}

#[test]
fn words_lose_their_quotes_as_in_a_shell() {
    for (command, expected) in [
        ("git status --short", "[git] [status] [--short]"),
        ("  git \t status  ", "[git] [status]"),
        (r#"g'i't "sta"tus"#, "[git] [status]"),
        (r#"echo "a "b" c""#, "[echo] [a b c]"),
        (r#"echo "a\"b\\c\$d\`e\f""#, r#"[echo] [a"b\c$d`e\f]"#),
        (r"echo a\ b \\ \' \$x", r"[echo] [a b] [\] ['] [$x]"),
        ("echo '' \"\"", "[echo] [] []"),
        ("echo 'a\nb'", "[echo] [a\nb]"),
        ("git sta\\\ntus", "[git] [status]"),
        ("echo \"a\\\nb\" '\\\n'", "[echo] [ab] [\\\n]"),
        ("git \\\n status\\\n", "[git] [status]"),
        ("echo a#b \\#c", "[echo] [a#b] [#c]"),
        (
            "echo {} a{b}c @{0} } {",
            "[echo] [{}] [a{b}c] [@{0}] [}] [{]",
        ),
        ("[ -f a ]", "[[] [-f] [a] []]"),
        ("echo a[b c]d", "[echo] [a[b] [c]d]"),
        (
            "echo $ a$ $% \"$\" \"$'a'\"",
            "[echo] [$] [a$] [$%] [$] [$'a']",
        ),
        (r"\if 'do' x", "[if] [do] [x]"),
        ("\"a\"=b a=c", "[a=b] [a=c]"),
        ("1a=b !x a+b=c", "[1a=b] [!x] [a+b=c]"),
        ("echo if ! { in", "[echo] [if] [!] [{] [in]"),
        (
            "echo \u{e9}\u{4e2d} \u{1f600}",
            "[echo] [\u{e9}\u{4e2d}] [\u{1f600}]",
        ),
    ] {
        assert_eq!(short(command), expected, "{command}");
    }
}

#[test]
fn words_that_a_shell_makes_others_of_are_marked() {
    for (command, expected) in [
        ("ls *.rs", "[ls] [*.rs]*"),
        ("ls '*'.rs \\* \"?\"", "[ls] [*.rs] [*] [?]"),
        ("ls a? [ab] [a", "[ls] [a?]* [[ab]]* [[a]"),
        ("cat ~ ~/x a~ '~' \\~", "[cat] [~]* [~/x]* [a~] [~] [~]"),
        ("cat a=~/x b:~ --c=~", "[cat] [a=~/x]* [b:~]* [--c=~]*"),
        (
            "echo $HOME \"$HOME\" '$HOME'",
            "[echo] [$HOME]* [$HOME]* [$HOME]",
        ),
        (
            "echo $1 $10 $? $$ $@ a$_b",
            "[echo] [$1]* [$10]* [$?]* [$$]* [$@]* [a$_b]*",
        ),
        ("echo $A\\\nB", "[echo] [$AB]*"),
    ] {
        assert_eq!(short(command), expected, "{command}");
    }
}

#[test]
fn hazards_are_found_with_their_places() {
    for (command, expected) in [
        ("echo 'a", "Unterminated@5"),
        ("echo \"a", "Unterminated@5"),
        ("echo $'a\\'", "Unterminated@5"),
        ("echo ${a", "Unterminated@5"),
        ("echo $(a)", "CommandSubstitution@5"),
        ("echo \"`a`\"", "CommandSubstitution@6"),
        ("echo $((1)) ", "Arithmetic@5"),
        ("echo $[1]", "Arithmetic@5"),
        ("((i++))", "Arithmetic@0"),
        ("(\\\n(i++))", "Arithmetic@0"),
        ("a[1 + 1]=2 b", "Arithmetic@0"),
        ("export a[1 + 1]=2", "Arithmetic@7"),
        ("echo ${a:-$b}", "Expansion@5"),
        ("echo ${a:-b} ${a@P}", "Expansion@13"),
        ("${a:-b} c", "ExpandingName@0"),
        ("echo $\\\n(a)", "Expansion@5"),
        ("cat <(a)", "ProcessSubstitution@4"),
        ("cat >\\\n(a)", "ProcessSubstitution@4"),
        ("a >b 2>>c <d", "Redirection@2 Redirection@6 Redirection@10"),
        (
            "a >|b <>c &>d >&e >f$g",
            "Redirection@2 Redirection@6 Redirection@10 Redirection@14 Redirection@18",
        ),
        ("a <<b\n`c`", "Redirection@2"),
        ("a >", "Redirection@2"),
        ("a >$'b\\'c'", "Redirection@2"),
        ("a 2>&$'b'1", "Redirection@3"),
        ("a >$\"/dev/null\"", "Redirection@2"),
        ("a >/dev/nullx", "Redirection@2"),
        (
            "$a; $b | c; $d",
            "ExpandingName@0 ExpandingName@4 ExpandingName@12",
        ),
        ("a\0b", "Unreadable@1"),
    ] {
        assert_eq!(short(command), expected, "{command}");
    }
}

#[test]
fn a_name_that_expands_is_found_wherever_it_stands() {
    for command in [
        "$X",
        "a$X b",
        "\"$X\"",
        "${X} a",
        "a; $X",
        "a & $X",
        "a && $X",
        "a | $X",
        "a |& $X",
        "a\n$X",
        "a # b\n$X",
        "(a; $X)",
        "( $X )",
        "(a) $X",
        "{ $X; }",
        "! $X",
        "A=1 B=2 $X",
        "A+=1 $X",
        ">/dev/null $X",
        "2>/dev/null $X",
        "2>&1 $X",
        "{fd}>&1 $X",
        "a &>/dev/null $X",
        "if $X; then b; fi",
        "if a; then $X; fi",
        "if a; then b; elif $X; then c; else d; fi",
        "if a; then b; else $X; fi",
        "if (a) then $X; fi",
        "if { a; } then $X; fi",
        "if [[ a ]] then $X; fi",
        "if [[ a && b ]] then $X; fi",
        "while $X; do a; done",
        "until a; do $X; done",
        "for x in a b; do $X; done",
        "for x do $X; done",
        "for x { $X; }",
        "for x\nin a\ndo $X; done",
        "case a in b) $X;; esac",
        "case a in b) c;; (d|e) $X;; esac",
        "case a\nin\nb)\n$X\n;; esac",
        "case a in esac; $X",
        "A=1 case a in\n$X",
        ">/dev/null case a in\n$X",
        "time case a in\n$X",
        "f() { $X; }",
        "f() $X",
        "function f { $X; }",
        "function f() { $X; }",
        "function f case a in\n$X",
        "time $X",
        "time -p -- $X",
        "time -p else case a in\\\ncase a in ; $X time",
        "time for x do case a in ; $X",
        "A=1 esac case a in b{\n$X",
        "a &>/dev/null { case a in b\n$X",
        "coproc if case a in\n$X",
        "coproc $X",
        "coproc N { $X; }",
        "[[ a ]] && $X",
        "i\\\nf $X; then a; fi",
    ] {
        let found = matches!(read(command), Reading::Hazard(hazards)
            if hazards.iter().any(|hazard| hazard.kind == HazardKind::ExpandingName));
        assert!(found, "{command}: {}", short(command));
    }
}

#[test]
fn a_variable_elsewhere_is_no_hazard() {
    for command in [
        "a $X",
        "a; b $X",
        "A=$X b",
        "a 2>&1 $X",
        "a 2>/dev/null $X",
        "for x in $X; do a; done",
        "select x in $X; do a; done",
        "case $X in a) b;; $Y) c;; (d|$Z) e;; esac",
        "case a in b) c;;\n$Y) d;; esac",
        "[[ -n $X ]]",
        "echo if $X",
        "echo ]] $X",
        "'if' $X",
        "\\! $X",
    ] {
        let hazard = matches!(read(command), Reading::Hazard(_));
        assert!(!hazard, "{command}: {}", short(command));
    }
}

#[test]
fn what_is_neither_says_why() {
    for (command, expected) in [
        ("", "no command"),
        (" \t", "no command"),
        ("\n", "a newline"),
        ("a\n", "a newline"),
        ("a;", "a control operator"),
        ("a & b", "a control operator"),
        ("a || b", "a control operator"),
        ("(a)", "a parenthesis"),
        ("f() a", "a parenthesis"),
        ("a #b", "a comment"),
        ("a=b c", "an assignment"),
        ("! a", "a reserved word"),
        ("a 2>&1", "a redirection"),
        ("a >&-", "a redirection"),
        ("a > '/dev/null'", "a redirection"),
        ("a ${b}", "a variable in braces"),
        (
            "a ${b:-c d;e}",
            "a variable in braces, and what becomes of it",
        ),
        ("a {b,c}", "braces, which bash may make into several words"),
        ("a {1..3}", "braces, which bash may make into several words"),
        (
            "a $'b'",
            "a quote with `$`, which dash and bash read differently",
        ),
        (
            "a $'b\\'; c'",
            "a quote with `$`, which dash and bash read differently",
        ),
        (
            "a $\"b\"",
            "a quote with `$`, which dash and bash read differently",
        ),
        ("a \\", "a backslash at the end"),
        ("'' a", "a command without a name"),
        ("~/a", "a command name that is a pattern"),
        ("a? b", "a command name that is a pattern"),
        ("{} b", "a command name with braces"),
        ("%a", "a command name that may be a job"),
        (
            "a\r",
            "a character that shells or people may take for another",
        ),
        (
            "a\u{a0}b",
            "a character that shells or people may take for another",
        ),
        (
            "a\u{200b} b",
            "a character that shells or people may take for another",
        ),
        (
            "a '\u{1}'",
            "a character that shells or people may take for another",
        ),
        ("ls !(a|b)", "a pattern or an array, which only bash reads"),
    ] {
        let Reading::Neither(why) = read(command) else {
            panic!("{command}: {}", short(command));
        };
        assert_eq!(why, expected, "{command}");
    }
}

#[test]
fn where_the_shells_part_anything_may_be_a_hazard() {
    for (command, expected) in [
        ("echo $'a\\' $(b) '", "Expansion@11"),
        ("echo $'a\\' `b` '", "CommandSubstitution@11"),
        ("echo $'a\\'>b'", "Redirection@10"),
        ("$X$'a\\'' y", "Expansion@0"),
        ("$X@(a)", "Expansion@0"),
        ("echo @(#$(b)\n)", "Expansion@8"),
        ("a=([1 #]=$(b)\n)", "Expansion@9"),
        ("[[ a =~ ( #$(b)) ]]", "Expansion@11"),
    ] {
        assert_eq!(short(command), expected, "{command}");
    }
}

#[test]
fn what_is_no_text_or_too_long_is_not_read() {
    let too_long = "a".repeat(COMMAND_BYTES_MAX + 1);
    assert_eq!(short(&too_long), format!("Unreadable@{COMMAND_BYTES_MAX}"));
    let longest = "a".repeat(COMMAND_BYTES_MAX);
    assert!(matches!(read(&longest), Reading::Plain(_)));
    let (kind, at) = (HazardKind::Unreadable, 4);
    let hazard = Reading::Hazard(vec![Hazard { kind, at }]);
    assert_eq!(read_bytes(b"git \xff\xfe"), hazard);
    assert_eq!(read_bytes(b"git log"), read("git log"));
}

#[test]
fn an_entry_covers_longer_keys_at_a_word_boundary() {
    for (entry, key, expected) in [
        ("git", "git", true),
        ("git", "git push", true),
        ("git", "gitk", false),
        ("git status", "git", false),
        ("git sta", "git status", false),
        ("", "git", false),
    ] {
        assert_eq!(covers(entry, key), expected, "{entry} {key}");
    }
}

#[test]
fn a_long_command_has_no_key() {
    let of = |chars: usize| format!("git {}", "\u{e9}".repeat(chars - 4));
    assert!(key(&of(COMMAND_CHARS_MAX)).is_some());
    assert_eq!(key(&of(COMMAND_CHARS_MAX + 1)), None);
}
