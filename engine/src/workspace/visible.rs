//! Names on one line, each told apart from every other.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

use unicode_general_category::{GeneralCategory, get_general_category};

/// A name as a listing shows it: a line feed in it would forge an entry, and a hidden character
/// another name. What is no plain character is an escape, and so is a backslash, so that two names
/// never look the same.
pub(crate) fn visible(name: impl AsRef<OsStr>) -> String {
    let mut shown = String::new();
    for chunk in name.as_ref().as_bytes().utf8_chunks() {
        for char in chunk.valid().chars() {
            if char == '\\' || char.is_control() {
                shown.extend(char.escape_default());
            } else if is_hidden(char) {
                shown.extend(char.escape_unicode());
            } else {
                shown.push(char);
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// Whether a character is hidden, moves what stands around it, or looks like a plain space.
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    match get_general_category(c) {
        GeneralCategory::Control
        | GeneralCategory::Format
        | GeneralCategory::Surrogate
        | GeneralCategory::PrivateUse
        | GeneralCategory::Unassigned
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator
        | GeneralCategory::SpaceSeparator => true,
        _ => is_blank(c),
    }
}

/// Characters that are none of the hidden categories and still leave no trace on a screen, or the
/// trace of a space.
fn is_blank(c: char) -> bool {
    matches!(
        c,
        '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{1d159}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_shown_on_one_line_and_as_no_other() {
        for (name, shown) in [
            (&b"a b"[..], "a b"),
            ("\u{e9}\u{4e2d}".as_bytes(), "\u{e9}\u{4e2d}"),
            (b"a\nb", r"a\nb"),
            (br"a\nb", r"a\\nb"),
            (b"a\xff", r"a\xff"),
            (br"a\xff", r"a\\xff"),
            (b"\x1b[2J", r"\u{1b}[2J"),
            ("a\u{202e}b".as_bytes(), r"a\u{202e}b"),
            (br"a\u{202e}b", r"a\\u{202e}b"),
            ("a\u{2028}b".as_bytes(), r"a\u{2028}b"),
            ("a\u{200b}\u{feff}".as_bytes(), r"a\u{200b}\u{feff}"),
            ("a\u{a0}b\u{3164}".as_bytes(), r"a\u{a0}b\u{3164}"),
            ("\u{e0061}\u{e000}".as_bytes(), r"\u{e0061}\u{e000}"),
        ] {
            assert_eq!(visible(OsStr::from_bytes(name)), shown);
        }
    }
}
