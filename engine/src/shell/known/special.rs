//! Programs whose words mean more than flags and operands.

use super::flags;
use super::paths::{self, Use};
use super::{Claims, Verdict};

fn refused<T>(program: &str, word: &str) -> Verdict<T> {
    Err(format!("`{word}` of {program} is not on the list"))
}

/// `sed -n 5p [file]`: nothing but printing lines by their numbers.
pub(super) fn sed(arguments: &[&str]) -> Verdict<Claims> {
    let mut claims = Claims::default();
    let (script, files) = match arguments {
        ["-n", script, files @ ..] if files.len() <= 1 => (script, files),
        _ => return Err("sed is on the list only as `sed -n 1,5p file`".to_owned()),
    };
    if !prints_lines(script) {
        return refused("sed", script);
    }
    for file in files {
        if file.len() > 1 && file.starts_with('-') {
            return refused("sed", file);
        }
        paths::claim(file, Use::Contents, &mut claims)?;
    }
    Ok(claims)
}

/// `5p`, `1,5p`, `$p`, `5,$p`.
fn prints_lines(script: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_end = |text: &str| text == "$" || is_number(text);
    script
        .strip_suffix('p')
        .is_some_and(|lines| match lines.split_once(',') {
            Some((first, last)) => is_number(first) && is_end(last),
            None => is_end(lines),
        })
}

/// `ps`, in both of its spellings. The letter `e` of the old one and the column `environ` print
/// the environments of processes.
pub(super) fn ps(arguments: &[&str]) -> Verdict<Claims> {
    const FLAGS: &[&str] = &[
        "-AaedfFljHyMNTLcPwV -p: -u_ -U: -C: -g: -G: -t: -s: -q: -o: -O: --pid: --ppid: --user:",
        "--User: --group: --Group: --tty: --sid: --quick-pid: --format: --sort: --forest --headers",
        "--no-headers --no-heading --deselect --cols: --columns: --width: --rows: --lines:",
        "--context --cumulative --help --version",
    ];
    let arguments = old_spelling(arguments)?;
    let parsed = flags::parse("ps", FLAGS, arguments)?;
    if let Some(value) = parsed.values.iter().find(|value| value.contains("environ")) {
        return refused("ps", value);
    }
    let is_list = |word: &str| {
        word.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b',')
    };
    match parsed
        .operands
        .iter()
        .find(|word| !is_list(word) && !is_old(word))
    {
        None => Ok(Claims::default()),
        Some(word) => refused("ps", word),
    }
}

/// Letters of the old spelling that take no value.
fn is_old(word: &str) -> bool {
    let letter = |letter| "aTxrfjlsuvXwHLmncSZg".contains(letter);
    !word.is_empty() && word.chars().all(letter)
}

/// What follows the first word where that is in the old spelling: `aux`, `axo pid,comm`. So is
/// `-aux`, since there is no `-x`.
fn old_spelling<'a>(arguments: &'a [&'a str]) -> Verdict<&'a [&'a str]> {
    let Some((first, rest)) = arguments.split_first() else {
        return Ok(arguments);
    };
    let dashed = first
        .strip_prefix('-')
        .filter(|letters| letters.contains('x'));
    let letters = dashed.unwrap_or(first);
    if is_old(letters) {
        return Ok(rest);
    }
    match (letters.strip_suffix('o'), rest.split_first()) {
        (Some(letters), Some((columns, rest))) if is_old(letters) => {
            if columns.starts_with('-') || columns.contains("environ") {
                return refused("ps", columns);
            }
            Ok(rest)
        }
        _ if dashed.is_some() && !letters.starts_with('-') => refused("ps", first),
        _ => Ok(arguments),
    }
}

/// `[ ... ]`.
pub(super) fn bracket(arguments: &[&str]) -> Verdict<Claims> {
    match arguments.split_last() {
        Some((&"]", expression)) => test(expression),
        _ => Err("`[` is on the list only with its `]`".to_owned()),
    }
}

/// `test`. `-v` and `-R` of some shells run what stands in the subscript of a name.
pub(super) fn test(arguments: &[&str]) -> Verdict<Claims> {
    const FILE: &str = "-b -c -d -e -f -g -G -h -k -L -N -O -p -r -s -S -u -w -x";
    const OTHER: &str = "-n -z -t -a -o -eq -ne -lt -le -gt -ge";
    const COMPARES_FILES: &str = "-nt -ot -ef";
    let has = |list: &str, word: &str| list.split(' ').any(|each| each == word);
    let mut claims = Claims::default();
    let mut before = "";
    let mut words = arguments.iter().copied().peekable();
    while let Some(word) = words.next() {
        if has(COMPARES_FILES, word) {
            paths::claim(before, Use::Names, &mut claims)?;
        }
        if has(COMPARES_FILES, word) || has(FILE, word) {
            let path = words.next_if(|next| !["=", "==", "!=", "-a", "-o"].contains(next));
            if let Some(path) = path.filter(|path| !path.is_empty()) {
                paths::claim(path, Use::Names, &mut claims)?;
            }
        } else if !has(OTHER, word) && flags_like(word) {
            return refused("test", word);
        }
        before = word;
    }
    Ok(claims)
}

/// Begins as a flag, and is no negative number.
fn flags_like(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(|c: char| !c.is_ascii_digit()))
}

/// `printf format words`; its `-v` sets a variable.
pub(super) fn printf(arguments: &[&str]) -> Verdict<Claims> {
    match arguments.first() {
        Some(word) if flags_like(word) && *word != "--" => refused("printf", word),
        _ => Ok(Claims::default()),
    }
}

/// `command -v name`: anything else runs the name.
pub(super) fn command(arguments: &[&str]) -> Verdict<Claims> {
    match arguments {
        ["-v" | "-V", names @ ..] if !names.iter().any(|name| name.starts_with('-')) => {
            Ok(Claims::default())
        }
        _ => Err("command is on the list only as `command -v name`".to_owned()),
    }
}

/// `tput`; `init` and `reset` run a program that the terminal's description names.
pub(super) fn tput(arguments: &[&str]) -> Verdict<Claims> {
    let parsed = flags::parse("tput", &["-xV -T:"], arguments)?;
    let is_name = |word: &&str| {
        word.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-+.".contains(c))
    };
    let mut words = parsed.values.iter().chain(&parsed.operands);
    let runs = ["init", "reset"];
    match words.find(|word| !is_name(word) || word.starts_with('.') || runs.contains(word)) {
        None => Ok(Claims::default()),
        Some(word) => refused("tput", word),
    }
}

/// `xxd [flags] [file]`: a second file is written, and so is what `-r` makes. It takes no
/// clusters: `-ps` is one flag.
pub(super) fn xxd(arguments: &[&str]) -> Verdict<Claims> {
    const ALONE: [&str; 16] = [
        "-a", "-b", "-bits", "-C", "-d", "-e", "-E", "-h", "-help", "-i", "-p", "-ps", "-plain",
        "-u", "-v", "-version",
    ];
    const VALUED: [&str; 9] = [
        "-c", "-cols", "-g", "-l", "-len", "-o", "-s", "-seek", "-skip",
    ];
    let mut claims = Claims::default();
    let mut words = arguments.iter().copied();
    while let Some(word) = words.next() {
        let attached = word.get(..2).is_some_and(|flag| VALUED.contains(&flag))
            && word.get(2..).is_some_and(is_number);
        if ALONE.contains(&word) || attached {
            continue;
        }
        if VALUED.contains(&word) {
            let value = words.next().unwrap_or_default();
            if !is_number(value) {
                return refused("xxd", word);
            }
            continue;
        }
        if word.len() > 1 && word.starts_with('-') {
            return refused("xxd", word);
        }
        paths::claim(word, Use::Contents, &mut claims)?;
        // Even a flag would be taken for the name of the file to write.
        if let Some(second) = words.next() {
            return refused("xxd", second);
        }
    }
    Ok(claims)
}

/// A number as C writes it, with a sign perhaps.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_hexdigit() || c == 'x')
}

/// `jq filter [files]`. A filter reads other files only by `import`, `include` and `modulemeta`.
pub(super) fn jq(arguments: &[&str]) -> Verdict<Claims> {
    const FLAGS: &[&str] = &[
        "-rcsneSMCajhV --raw-output --raw-output0 --join-output --ascii-output --compact-output",
        "--slurp --null-input --exit-status --sort-keys --monochrome-output --color-output --tab",
        "--indent# --raw-input -R --stream --stream-errors --seq --unbuffered --help --version",
    ];
    let mut claims = Claims::default();
    let mut kept = Vec::new();
    let mut words = arguments.iter().copied();
    while let Some(word) = words.next() {
        match word {
            // Behind it everything is the filter or a file.
            "--" => {
                kept.push(word);
                kept.extend(words.by_ref());
            }
            "--arg" | "--argjson" => drop((words.next(), words.next())),
            "--slurpfile" | "--rawfile" => {
                let file = words.nth(1).unwrap_or_default();
                paths::claim(file, Use::Contents, &mut claims)?;
            }
            _ => kept.push(word),
        }
    }
    let parsed = flags::parse("jq", FLAGS, &kept)?;
    if let Some((filter, files)) = parsed.operands.split_first() {
        let starts = ["import", "include", "module", "#"];
        let begin = filter.trim_start();
        if starts.iter().any(|start| begin.starts_with(start)) || filter.contains("modulemeta") {
            return refused("jq", filter);
        }
        for file in files {
            paths::claim(file, Use::Contents, &mut claims)?;
        }
    }
    Ok(claims)
}

/// `lsof`. `-D` and `+m` write files, `-r` never ends, `-A`, `-k` and `-m` read others, and the
/// name of a host in `-i` is looked up.
pub(super) fn lsof(arguments: &[&str]) -> Verdict<Claims> {
    const FLAGS: &[&str] = &["+ -abClnNPQRtUVvhOXwEo -c: -d: -p: -u: -F^ -g^ -i^ -s^ -T^ -K^ -L%"];
    let mut claims = Claims::default();
    // The folder that follows is an operand like others.
    let kept = arguments.iter().filter(|word| !["+d", "+D"].contains(word));
    let kept: Vec<&str> = kept.copied().collect();
    let parsed = flags::parse("lsof", FLAGS, &kept)?;
    let names_host = |value: &&&str| {
        let host = value.split_once('@').map(|(_, host)| host);
        host.is_some_and(|host| host.contains(|c: char| !c.is_ascii_digit() && !".:-,".contains(c)))
    };
    if let Some(value) = parsed.values.iter().find(names_host) {
        return refused("lsof", value);
    }
    for path in &parsed.operands {
        if path.starts_with(['+', '-']) {
            return refused("lsof", path);
        }
        paths::claim(path, Use::Names, &mut claims)?;
    }
    Ok(claims)
}

/// `unzip -l archive [members]`: without such a flag it writes what is in it.
pub(super) fn unzip(arguments: &[&str]) -> Verdict<Claims> {
    let (parsed, claims) = archive("unzip", "-lvtzZ1q", arguments)?;
    if !parsed.has(&["-l", "-v", "-t", "-z", "-Z"]) {
        return Err("unzip is on the list only with `-l`, `-v`, `-t`, `-z` or `-Z`".to_owned());
    }
    Ok(claims)
}

/// `zipinfo archive [members]`.
pub(super) fn zipinfo(arguments: &[&str]) -> Verdict<Claims> {
    archive("zipinfo", "-12smlvhtTz", arguments).map(|(_, claims)| claims)
}

/// Letters, then an archive, then names of what is in it.
fn archive<'a>(
    program: &str,
    letters: &'static str,
    arguments: &[&'a str],
) -> Verdict<(flags::Parsed<'a>, Claims)> {
    let mut claims = Claims::default();
    // After the archive stand names, flags or not.
    let archive = arguments.iter().position(|word| !word.starts_with('-'));
    let (before, names) = arguments.split_at(archive.unwrap_or(arguments.len()));
    // A second dash takes a letter back, and `--` alone ends nothing.
    let mut takes_back = before.iter().filter(|word| word.starts_with("--"));
    let mut flags = names.iter().filter(|word| word.starts_with('-'));
    if let Some(flag) = takes_back.next().or_else(|| flags.next()) {
        return refused(program, flag);
    }
    let parsed = flags::parse(program, &[letters], before)?;
    if let Some(archive) = names.first() {
        paths::claim(archive, Use::Contents, &mut claims)?;
    }
    Ok((parsed, claims))
}

/// `iconv [files]`. The name of an encoding with a slash in it is that of a file.
pub(super) fn iconv(arguments: &[&str]) -> Verdict<Claims> {
    const FLAGS: &[&str] =
        &["-cls -f: -t: --from-code: --to-code: --list --silent --help --version"];
    let parsed = flags::parse("iconv", FLAGS, arguments)?;
    let is_encoding = |value: &str| {
        let mut parts = value.split("//");
        let named = parts.next().is_some_and(|name| !name.contains('/'));
        named && parts.all(|how| ["TRANSLIT", "IGNORE"].contains(&how))
    };
    if let Some(value) = parsed.values.iter().find(|value| !is_encoding(value)) {
        return refused("iconv", value);
    }
    let mut claims = Claims::default();
    for file in &parsed.operands {
        paths::claim(file, Use::Contents, &mut claims)?;
    }
    Ok(claims)
}

/// `ip [flags] object [show [what]]`.
pub(super) fn ip(arguments: &[&str]) -> Verdict<Claims> {
    const FLAGS: &str = "-4 -6 -br -brief -s -stats -d -details -j -json -p -pretty -o -oneline -c \
        -color -h -human -V";
    const OBJECTS: &str =
        "a addr address r route l link n neigh neighbour neighbor ru rule maddr maddress";
    let has = |list: &str, word: &str| list.split_whitespace().any(|each| each == word);
    let flags = arguments.iter().take_while(|word| has(FLAGS, word)).count();
    match arguments.get(flags..).unwrap_or_default() {
        [object] if has(OBJECTS, object) => Ok(Claims::default()),
        [object, "show" | "list" | "ls", what @ ..]
            if has(OBJECTS, object) && !what.iter().any(|word| word.starts_with('-')) =>
        {
            Ok(Claims::default())
        }
        [] if flags > 0 => Ok(Claims::default()),
        _ => Err("ip is on the list only as `ip object show`".to_owned()),
    }
}

/// `ifconfig [interface]`: whatever follows a name sets something.
pub(super) fn ifconfig(arguments: &[&str]) -> Verdict<Claims> {
    match arguments {
        [] | ["-a" | "-s" | "-v"] => Ok(Claims::default()),
        [name] if !name.starts_with('-') => Ok(Claims::default()),
        [first, ..] => refused("ifconfig", arguments.get(1).unwrap_or(first)),
    }
}
