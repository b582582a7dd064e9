//! A key or password in memory: wiped when it is dropped, and shown to nobody.
//!
//! It has no `Debug`, no `Display` and no `Serialize`, so that it cannot reach a log, an event or a
//! message by accident. What a library that sends it copies is not wiped.

use zeroize::Zeroizing;

/// What stands in a text where a secret stood.
const WITHHELD: &str = "[secret]";

/// A key or password.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes it over.
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The secret itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A text in which it no longer stands.
    pub fn withheld_from(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        text.replace(self.expose(), WITHHELD)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_loses_the_secret_wherever_it_stands() {
        let secret = Secret::new(String::from("sk-1"));
        assert_eq!(secret.expose(), "sk-1");
        for (text, left) in [
            ("sk-1", "[secret]"),
            ("key sk-1, again sk-1.", "key [secret], again [secret]."),
            ("sk-2", "sk-2"),
        ] {
            assert_eq!(secret.withheld_from(text), left);
        }
        let empty = Secret::from(String::new());
        assert_eq!(empty.withheld_from("as it was"), "as it was");
    }
}
