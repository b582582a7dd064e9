//! Words as a person reads them: each on one line, in quotes, told apart from every other.

use crate::workspace::visible;

/// A word in quotes; what is hidden in it, a quote and a backslash are escapes.
pub(super) fn quoted(word: &str) -> String {
    format!("\"{}\"", visible(word).replace('"', "\\\""))
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
