//! Scripts of sed that write files or run programs.

/// Whether a script among the words of sed does.
pub(super) fn writes(words: &[&str]) -> bool {
    let mut words = words.iter().copied();
    let mut given = false;
    while let Some(word) = words.next() {
        let attached = word.strip_prefix("--expression=");
        let code = match word {
            "-e" | "--expression" => words.next(),
            "--" => None,
            // Letters before `e` take no value: what is behind it is a script.
            _ if word.starts_with('-') && !word.starts_with("--") => {
                let (_, behind) = word.split_once('e').unwrap_or_default();
                if word.ends_with('e') {
                    words.next()
                } else {
                    Some(behind)
                }
            }
            _ if word.starts_with('-') => attached,
            _ if !given => Some(word),
            _ => None,
        };
        given |= code.is_some_and(|code| !code.is_empty());
        if code.is_some_and(|code| code.split([';', '\n', '{', '}']).any(is_writing)) {
            return true;
        }
    }
    false
}

/// Whether one command of a script writes a file or runs a program.
fn is_writing(command: &str) -> bool {
    let mut rest = command.trim_start();
    loop {
        let is_address = |c: char| c.is_ascii_digit() || ",$!~+ \t".contains(c);
        let next = rest.trim_start_matches(is_address);
        let next = match next.chars().next() {
            Some('/') => behind(next.get(1..).unwrap_or_default(), '/'),
            Some('\\') => {
                let mut chars = next.get(1..).unwrap_or_default().chars();
                let mark = chars.next().unwrap_or('/');
                behind(chars.as_str(), mark)
            }
            Some(_) | None => next,
        };
        // Letters behind a regular expression change how it is compared.
        if next.len() == rest.len() {
            break;
        }
        rest = next.strip_prefix('I').unwrap_or(next);
    }
    let mut chars = rest.chars();
    match chars.next() {
        Some('w' | 'W' | 'e') => true,
        Some('s') => {
            let Some(mark) = chars.next() else {
                return false;
            };
            let flags = behind(behind(chars.as_str(), mark), mark);
            flags.contains(['w', 'e'])
        }
        Some(_) | None => false,
    }
}

/// What stands behind the first mark that is not escaped.
fn behind(text: &str, mark: char) -> &str {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == mark {
            return chars.as_str();
        }
    }
    ""
}
