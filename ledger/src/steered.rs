//! Files that steer programs and that a call left otherwise than they were, as its outcome tells.

use serde::{Deserialize, Serialize};

use crate::content::{Blob, Contents};

/// The content of an outcome that holds it.
pub const STEERING: &str = "steering";

/// Paths of each kind that are named; a list of more tells a person nothing.
pub const STEERED_PATHS_MAX: usize = 64;

/// What became of files that steer programs: hooks, settings of editors, files that a shell reads.
///
/// Paths are of the workspace, with what cannot be shown escaped. Sealed content, since they are
/// names that somebody chose.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steered {
    /// Those that are otherwise now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// How many more there are than are named.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Those that were not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<String>,
    /// Those that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Steered {
    /// Whether everything is as it was, as far as it could be looked at.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same with at most [`STEERED_PATHS_MAX`] paths of each kind.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        for paths in [&mut self.changed, &mut self.made, &mut self.removed] {
            let more = paths.len().saturating_sub(STEERED_PATHS_MAX);
            paths.truncate(STEERED_PATHS_MAX);
            let more = u64::try_from(more).unwrap_or(u64::MAX);
            self.left_out = self.left_out.saturating_add(more);
        }
        self
    }

    /// What a recorded content says; `None` where it cannot be read.
    pub fn read(contents: &Contents, blob: &Blob) -> Option<Self> {
        let bytes = contents.bytes(&blob.commitment)?;
        serde_json::from_slice(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_counted() {
        let paths = |count: usize| (0..count).map(|n| format!("{n}/.envrc")).collect();
        let all = Steered {
            changed: paths(STEERED_PATHS_MAX),
            made: paths(STEERED_PATHS_MAX + 3),
            removed: paths(STEERED_PATHS_MAX + 1),
            ..Steered::default()
        };
        let kept = all.clone().bounded();
        assert_eq!(kept.left_out, 4);
        assert_eq!(kept.changed, all.changed);
        assert_eq!(kept.made, all.made[..STEERED_PATHS_MAX]);
        assert_eq!(kept.clone().bounded(), kept);
    }

    #[test]
    fn nothing_is_told_of_nothing() {
        assert!(Steered::default().bounded().is_empty());
        assert_eq!(serde_json::to_string(&Steered::default()).unwrap(), "{}");
    }
}
