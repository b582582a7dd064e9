//! A word as a shell reads it.

/// A word that a shell reads as it is.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_command_line() {
        for (path, word) in [
            ("/home/ann/.placet", "/home/ann/.placet"),
            ("", "''"),
            ("/a home", "'/a home'"),
            ("/it's", "'/it'\\''s'"),
            ("/x;rm -rf /", "'/x;rm -rf /'"),
        ] {
            assert_eq!(shell_word(path), word);
        }
    }
}
