//! Words as a person reads them: each on one line, in quotes, told apart from every other.

use crate::workspace::visible;

/// Characters of a name in a message.
const NAME_CHARS_MAX: usize = 200;

/// A word in quotes; what is hidden in it, a quote and a backslash are escapes.
pub(super) fn quoted(word: &str) -> String {
    format!("\"{}\"", visible(word).replace('"', "\\\""))
}

/// A name that is visible already, as far as a message has room for it.
pub(super) fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        None => name.to_owned(),
        Some((at, _)) => {
            let kept = name.get(..at).unwrap_or_default();
            let more = name.chars().count().saturating_sub(NAME_CHARS_MAX);
            format!("{kept}[+{more} characters]")
        }
    }
}

/// Some of many names that are visible already, and how many more there are.
pub(super) fn listed<'a>(
    names: impl IntoIterator<Item = &'a String, IntoIter: ExactSizeIterator>,
    at_most: usize,
) -> String {
    let names = names.into_iter();
    let more = names.len().saturating_sub(at_most);
    let shown: Vec<_> = names.take(at_most).map(|name| shortened(name)).collect();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_one_line_and_no_two_look_alike() {
        for (word, shown) in [
            ("", r#""""#),
            ("a", r#""a""#),
            ("a b", r#""a b""#),
            ("a\nb", r#""a\nb""#),
            (r"a\nb", r#""a\\nb""#),
            ("a\"b", r#""a\"b""#),
            ("a\\\"b", r#""a\\\"b""#),
            ("it's", r#""it's""#),
            ("\"\n\"", r#""\"\n\"""#),
            ("\u{202e}x", r#""\u{202e}x""#),
            ("\u{1b}[2J", r#""\u{1b}[2J""#),
            ("a\u{a0}b", r#""a\u{a0}b""#),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }
}
