//! What calls of a run left otherwise of files that steer programs, in words for people.

use placet_ledger::view::SteeredBy;

/// Paths of one kind that are named in a line; `--json` has more of them.
const PATHS_MAX: usize = 8;

/// What is said of one call; paths are the agent's, for whoever shows them to neutralise.
pub(super) fn words(by: &SteeredBy) -> String {
    let Some(what) = &by.what else {
        return String::from("which ones it changed cannot be read any more");
    };
    let kinds = [
        ("made", &what.made),
        ("changed", &what.changed),
        ("removed", &what.removed),
    ];
    let kinds = kinds.into_iter().filter(|(_, paths)| !paths.is_empty());
    let kinds: Vec<_> = kinds
        .map(|(did, paths)| format!("{did} {}", listed(paths)))
        .collect();
    let more = match what.left_out {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!("{}{more}", kinds.join("; "))
}

fn listed(paths: &[String]) -> String {
    let shown = paths.iter().take(PATHS_MAX);
    let shown: Vec<_> = shown.map(String::as_str).collect();
    match paths.len().saturating_sub(PATHS_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use placet_ledger::id::CallId;
    use placet_ledger::steered::Steered;

    use super::*;

    fn by(what: Option<Steered>) -> String {
        let call = "c3".parse::<CallId>().unwrap();
        words(&SteeredBy { call, what })
    }

    #[test]
    fn each_path_is_named_or_counted() {
        let paths = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let many: Vec<_> = (0..10).map(|n| format!("{n}/.envrc")).collect();
        for (what, said) in [
            (
                Steered {
                    made: paths(&[".git/hooks/pre-commit", ".envrc"]),
                    ..Steered::default()
                },
                "made .git/hooks/pre-commit, .envrc",
            ),
            (
                Steered {
                    changed: paths(&["\u{430}.envrc"]),
                    removed: paths(&["Makefile"]),
                    left_out: 2,
                    ..Steered::default()
                },
                "changed \u{430}.envrc; removed Makefile; and 2 more",
            ),
            (
                Steered {
                    made: many,
                    ..Steered::default()
                },
                "made 0/.envrc, 1/.envrc, 2/.envrc, 3/.envrc, 4/.envrc, 5/.envrc, 6/.envrc, \
                 7/.envrc and 2 more",
            ),
        ] {
            assert_eq!(by(Some(what)), said);
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        assert_eq!(by(None), "which ones it changed cannot be read any more");
    }
}
