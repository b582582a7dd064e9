//! When a failed call of a model is made again: pure, and the same for the same run and attempt.

use placet_ledger::id::RunId;

use super::ModelError;

/// The most attempts at one task: who has not answered by then will not in a minute either.
const ATTEMPTS_MAX: u32 = 5;

/// What is waited after the first failure; after each further one it is twice as much.
const WAIT_MS: u64 = 1_000;

/// The longest wait that a provider may ask for; one that wants more is not there for this run.
const WAIT_MS_MAX: u64 = 5 * 60 * 1_000;

/// After how many milliseconds the same is asked again after this attempt failed; `None` where it
/// is not.
pub fn retry_ms(error: &ModelError, attempt: u32, run: RunId) -> Option<u64> {
    let again = error.again?;
    if attempt >= ATTEMPTS_MAX || again.after_ms.is_some_and(|ms| ms > WAIT_MS_MAX) {
        return None;
    }
    let doubled = WAIT_MS.checked_shl(attempt.saturating_sub(1));
    let wait = doubled.unwrap_or(WAIT_MS_MAX).min(WAIT_MS_MAX);
    // Runs that failed together do not all come back at once: up to half is added, by the run.
    let spread = wait / 2;
    let share = run
        .uuid()
        .as_u128()
        .rotate_right(attempt.saturating_mul(16))
        & 0xffff;
    let added = u64::try_from(share)
        .unwrap_or_default()
        .saturating_mul(spread)
        >> 16;
    Some(
        wait.saturating_add(added)
            .max(again.after_ms.unwrap_or_default()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Again;
    use placet_ledger::event::ModelFailure;

    fn run(number: u128) -> RunId {
        RunId::new(uuid::Uuid::from_u128(number))
    }

    fn error(again: Option<Again>) -> ModelError {
        ModelError {
            kind: ModelFailure::Network,
            detail: String::new(),
            used: None,
            again,
        }
    }

    #[test]
    fn waits_grow_and_end_with_the_fifth_attempt() {
        let wait = |attempt| retry_ms(&error(Some(Again::default())), attempt, run(0));
        let waits: Vec<_> = (1..=6).map(wait).collect();
        let some = [1_000, 2_000, 4_000, 8_000].map(Some);
        assert_eq!(waits, [&some[..], &[None, None]].concat());
        assert_eq!(retry_ms(&error(None), 1, run(0)), None);
    }

    #[test]
    fn what_the_provider_asks_for_is_waited_if_it_is_no_age() {
        let wait = |ms| {
            let again = Again { after_ms: Some(ms) };
            retry_ms(&error(Some(again)), 1, run(0))
        };
        assert_eq!(wait(10), Some(1_000));
        assert_eq!(wait(30_000), Some(30_000));
        assert_eq!(wait(300_000), Some(300_000));
        assert_eq!(wait(300_001), None);
    }

    #[test]
    fn runs_come_back_apart_from_each_other_and_at_most_by_half_later() {
        let again = error(Some(Again::default()));
        let waits: std::collections::BTreeSet<_> = (0..32_u128)
            .filter_map(|n| {
                retry_ms(
                    &again,
                    2,
                    run(n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)),
                )
            })
            .collect();
        assert!(waits.len() > 20, "{waits:?}");
        assert!(
            waits.iter().all(|ms| (2_000..=3_000).contains(ms)),
            "{waits:?}"
        );
    }
}
