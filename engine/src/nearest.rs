//! Finds the known name that somebody probably meant.

/// How alike two names must be, from 0 to 1: one typing error in a short name still counts.
const LIKENESS_MIN: f32 = 0.6;

/// Longest name that is compared: likeness costs time by the square of the length.
const LENGTH_MAX: usize = 128;

/// The known name most like `name`, if any is alike.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LENGTH_MAX {
        return None;
    }
    let known: Vec<_> = known.filter(|name| name.len() <= LENGTH_MAX).collect();
    similar::get_close_matches(name, &known, 1, LIKENESS_MIN)
        .first()
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_differs_by_a_typing_error() {
        let known = ["notes.txt", "todo.txt", "old.log"];
        let nearest = |name| nearest(name, known.into_iter());
        assert_eq!(nearest("note.txt"), Some("notes.txt"));
        assert_eq!(nearest("odl.log"), Some("old.log"));
        assert_eq!(nearest("zzz"), None);
        assert_eq!(nearest(""), None);
        assert_eq!(nearest(&"x".repeat(200)), None);
    }
}
