//! What no entry covers, and what entries are for.

use super::super::{Effect, Rules, SHIPPED, Subject, shipped};
use super::{Judgement, KUBECTL, on_command, rules};

#[test]
fn the_shipped_rules_are_canonical_and_keep_out_alone() {
    let rules = shipped();
    assert_eq!(rules.to_json().unwrap(), SHIPPED.trim_end());
    assert!(rules.as_slice().len() > 50);
    for rule in rules.as_slice() {
        assert_eq!(rule.effect(), Effect::NoEntry, "{}", rule.name());
        let written = rule.written().command.as_deref().unwrap();
        assert!(rules.destructive(written).is_some(), "{written}");
    }
    assert_eq!(rules.warnings(), []);
}

/// Commands that no entry covers.
const DESTROYING: &[&str] = &[
    "git push --force",
    "git push -f origin main",
    "git push origin main --force",
    "git push --force-with-lease",
    "git push --force-with-lease=main:abc",
    "git push -uf",
    "git push --forc",
    "git -C repo push --force",
    "git push --delete origin x",
    "git push -d origin x",
    "git push origin :x",
    "git push origin +main",
    "git push origin +a:b",
    "git push --mirror",
    "git push --prune origin",
    "git reset --hard",
    "git reset --hard HEAD~3",
    "git clean -f",
    "git clean -fdx",
    "git clean -xdf",
    "git checkout -- .",
    "git checkout -f",
    "git checkout .",
    "git restore .",
    "git branch -D x",
    "git stash drop",
    "git stash clear",
    "git reflog expire --all",
    "git filter-branch x",
    "git tag -d v1",
    "rm -rf x",
    "rm -r x",
    "rm -fr x",
    "rm -f -R x",
    "rm --recursive x",
    "find . -delete",
    "docker system prune -af",
    "docker volume rm x",
    "kubectl delete --all pods",
    "kubectl delete ns x",
    "helm uninstall x",
    "terraform destroy",
    "npm publish",
    "npm publish --tag x",
    "yarn npm publish",
    "cargo publish",
    "cargo publish --dry-run",
    "gh repo delete x",
    "sudo git push --force",
    "/usr/bin/git push -f",
    "aws s3 rm s3://x --recursive",
    "aws ec2 terminate-instances --instance-ids i",
    "git checkout :/",
    "git checkout ':(top)'",
    "git checkout ..",
    "git checkout ./x",
    "git checkout ../x",
    "git checkout HEAD -- x",
    "git checkout -B x",
    "git reset --merge",
    "git reset --keep HEAD~1",
    "git reset --har",
    "git switch -C x",
    "git switch -f x",
    "git switch --discard x",
    "git fetch origin +a:b",
    "git fetch -f origin a:b",
    "git rm -f x",
    "git rm -r x",
    "git rm -rf x",
    "git stash pop",
    "rm --rec x",
    "rm --r x",
    "truncate -s 0 x",
    "truncate --size=0 x",
    "docker rm -f x",
    "docker rm -fv x",
    "podman rm --force x",
    "podman system prune",
    "podman volume rm x",
    "terraform state rm x",
    "systemctl stop x",
    "systemctl disable --now x",
    "systemctl poweroff",
    "poweroff",
    "reboot -f",
    "shutdown -h now",
    "mkfs.ext4 x",
    "tar --remove-files -cf a b",
    "tar --remove -cf a b",
    "psql -c 'drop table x'",
    "psql -qc 'drop table x'",
    "mysql -e 'drop table x'",
    "npm unpublish x",
    "cargo yank x",
    // The shell may make a flag of a file's name, or of a variable.
    "rm *",
    "rm a *",
    "rm ?x",
    "rm [a-z]*",
    "rm -[r]f x",
    "rm -?f x",
    "rm --rec* x",
    "git push -[f]",
    "git push --fo*",
    "git stash dr?p",
    "git stash d*",
    "git branch -[D] x",
    "rm $X",
    "rm \"$X\"",
    "rm a/$X",
    "rm $X -- a",
    "chmod 644 *",
    "git push origin $X",
    "git push -- $X",
    "git push $X",
    "git -p push origin $X",
    "git $X",
    "git -C x $X",
    "git checkout *",
    "tar -cf a.tar *",
    "docker volume $X",
    "sudo rm *",
];

#[test]
fn what_destroys_is_kept_out_of_every_entry() {
    for command in DESTROYING {
        assert!(shipped().destructive(command).is_some(), "{command}");
    }
}

/// Commands that entries are for.
const HARMLESS: &[&str] = &[
    "git push",
    "git push origin main",
    "git push -u origin main",
    "git push --tags",
    "git status",
    "git log -p",
    "git diff --stat",
    "git reset",
    "git reset --soft HEAD~1",
    "git checkout main",
    "git checkout -b x",
    "git switch main",
    "git branch -d x",
    "git branch -a",
    "git stash",
    "git stash list",
    "git clean -n",
    "git tag v1",
    "git fetch -p",
    "git commit -m x",
    "git restore --staged x",
    "rm x",
    "rm -i x",
    "docker ps",
    "docker build .",
    "kubectl get pods",
    "helm list",
    "terraform plan",
    "npm test",
    "npm run build",
    "cargo test",
    "cargo build",
    "gh pr list",
    "aws s3 ls",
    "find . -name x",
    "chmod +x x",
    "ls -R",
    "rm ./*",
    "rm a/*.o",
    "rm -- *",
    "rm -f -- $X",
    "chmod +x ./*",
    "git add *",
    "git add $X",
    "git commit -m $X",
    "git diff *.rs",
    "git status $X",
    "ls *",
    "cargo test $X",
    "docker ps $X",
    "git checkout HEAD~1",
    "git checkout feature/x",
    "git switch -c x",
    "git fetch origin a:b",
    "git fetch --prune --tags o",
    "cargo test truncate",
    "git rm --cached x",
    "docker rm x",
    "terraform state list",
    "systemctl status x",
    "psql -l",
    "tar -cf a.tar b",
];

#[test]
fn what_destroys_nothing_may_have_an_entry() {
    for command in HARMLESS {
        let rule = shipped()
            .destructive(command)
            .map(|rule| rule.name().as_str());
        assert_eq!(rule, None, "{command}");
    }
}

#[test]
fn shipped_rules_stand_before_those_of_a_person_and_say_nothing_themselves() {
    let shipped = Rules::parse_json(SHIPPED).unwrap();
    let number = shipped.as_slice().len();
    let all = rules(KUBECTL).behind(shipped).unwrap();
    assert_eq!(all.as_slice().len(), number + 1);
    assert_eq!(all.as_slice()[0].name().as_str(), "rule:git-push-force");
    assert_eq!(on_command(&all, "git push --force"), Judgement::Silent);
    assert!(all.destructive("git push --force").is_some());
    // A person's rules alone keep nothing out.
    assert!(rules(KUBECTL).destructive("git push --force").is_none());
    let text = all.to_json().unwrap();
    assert_eq!(Rules::parse_json(&text).unwrap().to_json().unwrap(), text);
}

#[test]
fn what_may_become_destructive_is_said_to_be_kept_out() {
    let stands = |command: &str| -> Vec<String> {
        let subject = Subject {
            tool: "execute_command",
            command: Some(command),
            links: None,
            paths: &[],
        };
        let stands = shipped().stands(&subject).into_iter();
        stands.map(|(rule, _)| rule.name().to_string()).collect()
    };
    let rm = ["rule:rm-r", "rule:rm-R", "rule:rm-recursive"];
    assert_eq!(stands("rm *"), rm);
    assert_eq!(stands("rm ./*"), [""; 0]);
    assert_eq!(stands("rm x"), [""; 0]);
}
