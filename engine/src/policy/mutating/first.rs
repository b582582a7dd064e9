//! First words that the shell makes another word of: nobody can tell which program they run.

use super::holds;

/// Words of the shell behind which a command begins.
const BEFORE: &str = "{ } ! if then elif else while until do time";

/// Programs to which what stands in quotes may be a command.
const SHELLS: &str = "sh bash dash zsh ksh mksh ash busybox eval";

/// The first word of a command in the text that holds a glob, a brace or `$'..'`.
pub(super) fn odd(command: &str) -> Option<String> {
    let divides = |c: char| matches!(c, ';' | '&' | '|' | '\n' | '(' | ')' | '`');
    let in_text = |text: &str| text.split(divides).find_map(first).map(str::to_owned);
    let is_quote = |c: char| matches!(c, '\'' | '"');
    let apart = |c: char| c.is_whitespace() || divides(c) || is_quote(c) || c == '/';
    let has_shell = || command.split(apart).any(|word| holds(SHELLS, word));
    in_text(&unquoted(command)).or_else(|| {
        has_shell()
            .then(|| in_text(&command.replace(is_quote, ";")))
            .flatten()
    })
}

/// The first word of one part, where it is odd.
fn first(part: &str) -> Option<&str> {
    let mut words = part.split_whitespace();
    while let Some(word) = words.next() {
        if holds(BEFORE, word) || is_assignment(word) {
            continue;
        }
        let redirected = word.trim_start_matches(|c: char| c.is_ascii_digit());
        if redirected.starts_with(['<', '>']) {
            // Its target may be the next word.
            if redirected.trim_start_matches(['<', '>']).is_empty() {
                words.next();
            }
            continue;
        }
        return is_odd(word).then_some(word);
    }
    None
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    let in_names = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.is_some_and(|name| name.trim_end_matches('+').chars().all(in_names))
}

fn is_odd(word: &str) -> bool {
    let tests = matches!(word, "[" | "[[");
    !tests && (word.contains(['*', '?', '[', '{']) || word.contains("$'") || word.contains("$\""))
}

/// The text with `_` for whatever is quoted, but for what a shell runs inside of double quotes.
fn unquoted(command: &str) -> String {
    let mut text = String::with_capacity(command.len());
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(_) => text.push('_'),
            },
            '\'' | '"' => {
                if text.ends_with('$') {
                    text.push(c);
                }
                let escapes = c == '"' || text.ends_with('\'');
                quoted(c, escapes, &mut chars, &mut text);
            }
            _ => text.push(c),
        }
    }
    text
}

/// What stands up to the end of a quote.
fn quoted(quote: char, escapes: bool, chars: &mut std::str::Chars<'_>, text: &mut String) {
    let mut runs = false;
    let mut before = quote;
    text.push('_');
    while let Some(c) = chars.next() {
        if c == quote {
            return;
        }
        if c == '\\' && escapes {
            chars.next();
        }
        runs |= quote == '"' && (c == '`' || (c == '(' && before == '$'));
        text.push(if runs { c } else { '_' });
        before = c;
    }
}
