//! What is an entry, and which entries let by more than they say.

use super::*;

/// Keys that need a person to insist.
const FORCED: &[&str] = &[
    "sccache x",
    "distcc x",
    "rr x",
    "trace-cmd x",
    "dtach x",
    "byobu x",
    "zellij x",
    "mono x",
    "jbang x",
    "bpftrace x",
    "nim x",
    "tcl x",
    "gunicorn x",
    "uvicorn x",
    "flask x",
    "celery x",
    "django-admin x",
    "jupyter x",
    "phpunit x",
    "grunt x",
    "pm2 x",
    "lein x",
    "dart x",
    "flutter x",
    "electron x",
    "terraform x",
    "terragrunt x",
    "fab x",
    "ip",
    "install",
    "wget",
    "procmail",
    "sensible-editor",
    "vipw",
    "linux64 x",
    "linux32 x",
    "x86_64 x",
    "i386 x",
    "prlimit x",
    "ld-linux.so.2 x",
    "/lib64/ld-linux-x86-64.so.2 x",
    "/lib/ld.so x",
    "ld.so.1 x",
    "vim x",
    "vim.basic x",
    "vim.tiny x",
    "vimdiff a",
    "view x",
    "rvim x",
    "rview x",
    "editor x",
    "pager x",
    "awk x",
    "nawk x",
    "gawk x",
    "gawk-5.2 x",
    "mawk x",
    "original-awk x",
    "split x",
    "sort x",
    "sort",
    "sg x",
    "newgrp x",
    "fakeroot x",
    "fakeroot-sysv x",
    "capsh x",
    "dbus-run-session x",
    "choom x",
    "uclampset x",
    "runcon x",
    "systemd-inhibit x",
    "systemd-cat x",
    "systemd-run x",
    "pdb x",
    "pdb3 x",
    "pdb3.11 x",
    "prove x",
    "gdb x",
    "gdb-multiarch x",
    "gdbtui x",
    "ldd x",
    "gcc x.c",
    "gcc-12 x.c",
    "x86_64-linux-gnu-gcc x.c",
    "cc x.c",
    "c99 x.c",
    "g++ x.cc",
    "g++-12 x.cc",
    "clang x.c",
    "clang-17 x.c",
    "clang++ x.cc",
    "apt-get update",
    "apt list",
    "dpkg x",
    "service x",
    "perl5.36-x86_64-linux-gnu x",
    "python3-dbg x",
    "python3.12-config x",
    // What the wide reading knows alone.
    "hyperfine x",
    "proot x",
    "rlwrap x",
    "racket x",
    "socat x",
    "ccache x",
    "sshpass x",
    "logsave x",
    "sotruss x",
    "run-parts x",
    "dpkg-architecture -c",
    "systemd-cat x",
    "catchsegv x",
    "oksh x",
    "osh x",
    "pry x",
    "rails runner",
    "wp eval",
    "rpm x",
    "hg x",
    "gh alias",
];

/// Programs that an entry is cautious about and that run nothing that their words hold, or that
/// the wide reading knows without their version.
const NO_HOSTS: &[&str] = &["bc", "c89", "c99", "systemctl"];

#[test]
fn the_wide_reading_knows_every_program_that_runs_what_its_words_hold() {
    let runs = |caution| match caution {
        Caution::Interpreter | Caution::Wrapper | Caution::OtherUser | Caution::Host => true,
        Caution::Runner | Caution::Elsewhere | Caution::Settings => false,
    };
    let listed = PROGRAMS.iter().filter(|(caution, ..)| runs(*caution));
    let names = listed.flat_map(|(.., names)| names.split(' '));
    let unknown: Vec<_> = names
        .filter(|name| !name.ends_with('*') && *name != "." && !NO_HOSTS.contains(name))
        .filter(|name| !Pattern::parse(name).is_ok_and(|pattern| pattern.may_run_others()))
        .collect();
    assert_eq!(unknown, [""; 0]);
}

#[test]
fn an_entry_is_a_key_and_nothing_more() {
    for key in [
        "ls",
        "git push",
        "/usr/bin/git status",
        "sudo apt",
        "npx jest",
    ] {
        assert_eq!(entry_key(key).as_deref(), Ok(key), "{key}");
    }
    for (given, key) in [
        ("git push --force", "git push"),
        ("git push origin main", "git push"),
        ("ls -la", "ls"),
        ("git -C repo status", "git"),
        ("  git   push", "git push"),
        ("'git' push", "git push"),
    ] {
        let longer = NotAnEntry::Longer {
            given: given.to_owned(),
            key: key.to_owned(),
        };
        assert_eq!(entry_key(given), Err(longer), "{given}");
    }
    for given in [
        "",
        "git push; rm -rf .",
        "git push && ls",
        "$X push",
        "git push > log",
        "A=1 git push",
        "git $(id)",
        "ls # all",
        "git push\nls",
        "if",
        "git 'push",
    ] {
        let refused = entry_key(given);
        assert!(
            matches!(&refused, Err(NotAnEntry::NoKey { why, .. }) if !why.is_empty()),
            "{given}: {refused:?}"
        );
    }
}

#[test]
fn what_runs_other_code_than_its_key_names_is_known() {
    for (key, caution) in [
        ("bash", Caution::Interpreter),
        ("/bin/sh deploy.sh", Caution::Interpreter),
        ("dash x", Caution::Interpreter),
        ("zsh x", Caution::Interpreter),
        ("python3", Caution::Interpreter),
        ("python3.12 x.py", Caution::Interpreter),
        ("perl5.36", Caution::Interpreter),
        ("ruby x.rb", Caution::Interpreter),
        ("sqlite3 x.db", Caution::Interpreter),
        ("env FOO", Caution::Wrapper),
        ("xargs rm", Caution::Wrapper),
        ("find .", Caution::Wrapper),
        ("nohup x", Caution::Wrapper),
        ("timeout 5", Caution::Wrapper),
        ("nice x", Caution::Wrapper),
        ("watch ls", Caution::Wrapper),
        ("parallel x", Caution::Wrapper),
        ("make", Caution::Runner),
        ("make all", Caution::Runner),
        ("just build", Caution::Runner),
        ("npm test", Caution::Runner),
        ("npx jest", Caution::Runner),
        ("pnpm run", Caution::Runner),
        ("yarn build", Caution::Runner),
        ("node x.js", Caution::Runner),
        ("deno run", Caution::Runner),
        ("bun test", Caution::Runner),
        ("cargo test", Caution::Runner),
        ("cargo build", Caution::Runner),
        ("./gradlew build", Caution::Runner),
        ("go test", Caution::Runner),
        ("go", Caution::Runner),
        ("sudo apt", Caution::OtherUser),
        ("doas ls", Caution::OtherUser),
        ("ssh host", Caution::Elsewhere),
        ("docker run", Caution::Elsewhere),
        ("git", Caution::Settings),
        ("git config", Caution::Settings),
        ("/usr/bin/git", Caution::Settings),
    ] {
        assert_eq!(self::caution(key), Some(caution), "{key}");
    }
    for key in [
        "ls",
        "cat notes.txt",
        "git status",
        "git push",
        "go vet",
        "rg TODO",
        "rustfmt x.rs",
        "echo bash",
        "gitk x",
        "findmnt x",
        "environment x",
    ] {
        assert_eq!(caution(key), None, "{key}");
    }
}

#[test]
fn no_name_of_a_program_that_runs_others_goes_without_a_word() {
    for key in FORCED {
        assert!(caution(key).is_some(), "{key}");
    }
    for key in [
        "sorted x",
        "cctl x",
        "viewer x",
        "splitter x",
        "rg x",
        "wc x",
    ] {
        assert_eq!(caution(key), None, "{key}");
    }
}
