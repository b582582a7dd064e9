//! Commands that clearly change something, and those that do not, written out.

use super::mutating;

#[test]
fn what_clearly_changes_something_is_found_behind_whatever_stands_before_it() {
    for (command, found) in [
        ("rm -rf build", "rm"),
        ("/bin/rm x", "rm"),
        ("RM x", "rm"),
        ("r'm' x", "rm"),
        (r"r\m x", "rm"),
        ("A=1 rm x", "rm"),
        ("nice -n 5 rm x", "rm"),
        ("ls; rm x", "rm"),
        ("ls && rm x", "rm"),
        ("ls\nrm x", "rm"),
        ("(rm x)", "rm"),
        ("{ rm x; }", "rm"),
        ("if true; then rm x; fi", "rm"),
        ("bash -c 'rm x'", "rm"),
        ("bash -c \"ls;rm x\"", "rm"),
        ("echo 'rm x' | sh", "rm"),
        ("find . | xargs rm", "rm"),
        ("find . -name '*.o' -delete", "find -delete"),
        ("find . -exec cat {} +", "find -exec"),
        ("cat a | tee b", "tee"),
        ("mv a b", "mv"),
        ("cp a b", "cp"),
        ("dd if=/dev/zero of=x", "dd"),
        ("mkfs.ext4 /dev/sda", "mkfs.ext4"),
        ("chmod +x a", "chmod"),
        ("chown me a", "chown"),
        ("kill -9 1", "kill"),
        ("shutdown now", "shutdown"),
        ("sudo ls", "sudo"),
        ("git push", "git push"),
        ("git -C repo push --force", "git push"),
        ("git reset --hard", "git reset"),
        ("git clean -fdx", "git clean"),
        ("git checkout -- .", "git checkout"),
        ("git branch -D main", "git -D"),
        ("git status && git commit -m x", "git commit"),
        ("npm install left-pad", "npm install"),
        ("npm i", "npm i"),
        ("pip3 install x", "pip3 install"),
        ("python3 -m pip install x", "pip install"),
        ("apt-get -y install x", "apt-get install"),
        ("cargo publish", "cargo publish"),
        ("curl -X POST https://a", "curl -X"),
        ("curl -XDELETE https://a", "curl -XDELETE"),
        ("curl -sSd x https://a", "curl -sSd"),
        ("curl --data=x https://a", "curl --data=x"),
        ("curl https://a -o b", "curl -o"),
        ("sed -i s/a/b/ c", "sed -i"),
        ("sed -ni.bak p c", "sed -ni.bak"),
        ("tar xzf a.tgz", "tar xzf"),
        ("docker run x", "docker run"),
        ("kubectl --context prod delete pod x", "kubectl delete"),
        ("terraform apply", "terraform apply"),
        ("systemctl restart x", "systemctl restart"),
        ("psql -c 'drop table x'", "psql drop"),
        ("patch -p1", "patch"),
        ("install a b", "install"),
        ("crontab -", "crontab -"),
        ("date -s yesterday", "date -s"),
    ] {
        assert_eq!(mutating(command).as_deref(), Some(found), "{command}");
    }
}

#[test]
fn what_may_only_read_is_left_to_a_model() {
    for command in [
        "ls -la",
        "ls | head",
        "cat a | wc -l",
        "git status",
        "git log --oneline | head -5",
        "git diff && git status",
        "git log --grep=push",
        "grep -rn 'kill' src",
        "grep rm a | sort | uniq -c",
        "echo rm -rf /",
        "rg 'git push' docs",
        "cargo test",
        "cargo test rename",
        "cargo check && cargo test",
        "npm test",
        "npm run lint",
        "make test",
        "python3 script.py",
        "python3 -c 'print(1)'",
        "node --version",
        "docker ps",
        "kubectl get pods -A",
        "terraform plan",
        "systemctl status x",
        "curl -fsSL https://a",
        "tar -tzf a.tgz",
        "find . -name rm",
        "sed -n 1,5p a",
        "awk '{ print $1 }' a",
        "for f in a b; do cat $f; done",
        "",
    ] {
        let found = mutating(command);
        // A file called like a program is taken for it: a person is asked once too often.
        let expected = (command == "find . -name rm").then(|| "rm".to_owned());
        assert_eq!(found, expected, "{command}");
    }
}

#[test]
fn a_first_word_that_may_be_any_program_counts() {
    for (command, found) in [
        ("/bin/r? a", "/bin/r?"),
        ("/bin/r* a", "/bin/r*"),
        ("/bin/r[m] a", "/bin/r[m]"),
        ("./* a", "./*"),
        ("r{m,} a", "r{m,}"),
        ("{r,}m a", "{r,}m"),
        ("${X} a", "${X}"),
        (r"$'\162\155' a", "$'_______"),
        (r#"$"xy" a"#, "$\"___"),
        ("A=1 /bin/r? a", "/bin/r?"),
        ("A= B+=2 /bin/r? a", "/bin/r?"),
        (">x /bin/r? a", "/bin/r?"),
        ("2> x /bin/r? a", "/bin/r?"),
        ("ls; /bin/r? a", "/bin/r?"),
        ("ls && /bin/r? a", "/bin/r?"),
        ("ls\n/bin/r? a", "/bin/r?"),
        ("ls | /bin/te?", "/bin/te?"),
        ("(/bin/r? a)", "/bin/r?"),
        ("{ /bin/r? a; }", "/bin/r?"),
        ("! /bin/r? a", "/bin/r?"),
        ("if true; then /bin/r? a; fi", "/bin/r?"),
        ("echo $(/bin/r? a)", "/bin/r?"),
        ("echo \"$(/bin/r? a)\"", "/bin/r?"),
        ("echo `/bin/r? a`", "/bin/r?"),
        ("bash -c '/bin/r? a'", "/bin/r?"),
        ("/bin/sh -c \"r{m,} a\"", "r{m,}"),
        ("eval '/bin/r? a'", "/bin/r?"),
    ] {
        let expected = format!("{found} may be any program");
        assert_eq!(mutating(command), Some(expected), "{command}");
    }
    for command in [
        "ls *.c",
        "ls a{b,c}",
        "cat a? | head",
        "grep 'a|b*' c",
        "grep \"a;b?\" c",
        r"grep a\;b\* c",
        "[ -f a ]",
        "[[ -f a ]] && ls *",
        "'my*prog' a",
        r"my\*prog a",
        "A=* ls",
        "echo $'a\\tb'",
        "find . -name '*.o'",
        "for f in *.c; do wc $f; done",
        "awk '/a*/ { print $1 }' b",
        "$X a",
    ] {
        assert_eq!(mutating(command), None, "{command}");
    }
}
