//! `find`: its starting points, and the tests and actions that only print.

use super::paths::{self, Use};
use super::{Claims, Verdict, table};

/// What may stand in an expression alone.
const ALONE: &str = "! ( ) , -not -a -and -o -or -d -depth -mount -xdev -daystart -follow -noleaf \
    -ignore_readdir_race -noignore_readdir_race -warn -nowarn -empty -executable -readable \
    -writable -true -false -nouser -nogroup -print -print0 -prune -quit -ls -help --help -version \
    --version";

/// What takes a word that names no file.
const WITH_TEXT: &str = "-name -iname -path -ipath -wholename -iwholename -lname -ilname -regex \
    -iregex -regextype -maxdepth -mindepth -type -xtype -size -perm -user -group -uid -gid -links \
    -inum -amin -cmin -mmin -atime -ctime -mtime -used -fstype -context -printf";

/// What takes a file to compare with.
const WITH_FILE: &str = "-newer -anewer -cnewer -samefile";

/// Whether a list has this word.
fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|each| each == word)
}

/// `find [-H] [-L] [-P] [-O1..3] [path...] [expression]`.
pub(super) fn judge(arguments: &[&str]) -> Verdict<Claims> {
    let mut claims = Claims::default();
    let mut words = arguments.iter().copied().peekable();
    while words
        .next_if(|word| has("-H -L -P -O0 -O1 -O2 -O3", word))
        .is_some()
    {}
    let is_path = |word: &&str| !word.starts_with(['-', '(', ')', '!', ',']);
    while let Some(path) = words.next_if(is_path) {
        paths::claim(path, Use::Names, &mut claims)?;
    }
    while let Some(word) = words.next() {
        if has(ALONE, word) {
            continue;
        }
        let file = has(WITH_FILE, word) || newer_than_file(word);
        if !file && !has(WITH_TEXT, word) && !newer_than_date(word) {
            return Err(format!("`{word}` of find is not on the list"));
        }
        let value = words
            .next()
            .ok_or_else(|| format!("`{word}` of find has no value"))?;
        if newer_than_date(word) {
            table::names_no_zone("find", &[value])?;
        }
        if file {
            paths::claim(value, Use::Names, &mut claims)?;
        }
    }
    Ok(claims)
}

/// `-newerXY`, where `Y` says that a file follows.
fn newer_than_file(word: &str) -> bool {
    newer(word).is_some_and(|reference| matches!(reference, 'a' | 'B' | 'c' | 'm'))
}

/// `-newerXt`: a date follows.
fn newer_than_date(word: &str) -> bool {
    newer(word) == Some('t')
}

fn newer(word: &str) -> Option<char> {
    let mut letters = word.strip_prefix("-newer")?.chars();
    let compared = letters.next().filter(|letter| "aBcm".contains(*letter));
    let reference = letters.next();
    (compared.is_some() && letters.next().is_none())
        .then_some(reference)
        .flatten()
}
