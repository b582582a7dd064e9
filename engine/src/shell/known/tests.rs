//! What has a program that only reads start another one, or read elsewhere, written out.

use super::super::{Reading, read};
use super::read_only;

fn is_known(command: &str) -> bool {
    match read(command) {
        Reading::Plain(plain) => read_only(&plain).is_ok(),
        Reading::Hazard(_) | Reading::Neither(_) => panic!("{command} is not plain"),
    }
}

#[test]
fn no_format_and_no_order_has_git_start_a_program() {
    for command in [
        "git log --format=%GG",
        "git log --format=%+GG",
        "git log --format=%-GG",
        "git log '--format=% GS'",
        "git log '--format=%h %+G?'",
        "git log --format '% G?'",
        "git log --pretty=format:%-G?",
        "git log '--format=%<(20)%+GS'",
        "git log '--format=%+(describe)'",
        "git log '--format=% (describe:tags)'",
        "git for-each-ref '--format=%(signature)'",
        "git for-each-ref '--format=%(*signature:key)'",
        "git for-each-ref '--format=%(*describe)'",
        "git for-each-ref --sort=signature",
        "git for-each-ref --sort signature",
        "git for-each-ref --sort=-signature",
        "git for-each-ref '--sort=*describe'",
        "git for-each-ref '--sort=-*signature:grade'",
        "git for-each-ref --sort=version:signature",
        "git for-each-ref --sort=refname --sort=signature:key",
        "git branch --sort=signature",
        "git branch --list --sort=-describe",
        "git tag --sort=describe",
        "git tag -l --sort describe:tags",
    ] {
        assert!(!is_known(command), "{command}");
    }
}

#[test]
fn no_operand_is_taken_for_a_flag_and_no_path_goes_up() {
    for command in [
        "jq . -- --arg /root/secret x",
        "jq -R . -- --arg /root/secret x",
        "jq -- . --argjson /root/secret x",
        "jq . -- --rawfile /usr/x /root/secret",
        "jq . -- --slurpfile ../x x",
        "git show HEAD:../x",
        "git show HEAD:./../x",
        "git show HEAD:a/../../x",
        "git show :../x",
        "git show :0:../x",
        "git cat-file -p HEAD:../x",
        "git diff HEAD:../x HEAD:../y",
        "git diff HEAD -- ':(top)../x'",
        "git log -- ':!../x'",
        "git log -L 1,5:../x",
        "git log -L1,5:../x",
        "git rev-parse HEAD:../x",
        "git grep x -- ':/../x'",
    ] {
        assert!(!is_known(command), "{command}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_looks_like_it_and_only_reads_is_known() {
    for command in [
        "git log --format=%+s",
        "git log '--format=% an'",
        "git log '--format=%(trailers)'",
        "git log --grep=signature",
        "git log --grep describe",
        "git for-each-ref --sort=-committerdate",
        "git branch --sort=refname",
        "git tag --list --sort=-v:refname",
        "git show HEAD:x",
        "git show HEAD:./a/b",
        "git show HEAD~2:a/b..c",
        "git diff main..HEAD",
        "git log -L 1,5:a",
        "jq . -- a",
        "jq --arg x y . a",
        "jq --arg x -- . a",
    ] {
        assert!(is_known(command), "{command}");
    }
}
