//! When the same may be asked again, and how long a provider asks to wait before that.

use std::time::Duration;

use chrono::DateTime;
use placet_ledger::clock::Clock;
use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use crate::clock::SystemClock;
use crate::model::Again;

/// The longest wait that is passed on: whoever asks for more has no time to give.
const AFTER_MS_MAX: u64 = 60 * 60 * 1_000;

/// Statuses that may be another one the next time.
const PASSING: [u16; 9] = [408, 409, 425, 429, 500, 502, 503, 504, 529];

/// Kinds of errors that may be gone the next time, as providers name them inside a stream.
const PASSING_KINDS: [&str; 6] = [
    "api_error",
    "overloaded_error",
    "rate_limit_error",
    "rate_limit_exceeded",
    "server_error",
    "timeout_error",
];

/// Kinds that wait for a person, whatever their status.
const LASTING_KINDS: [&str; 3] = [
    "billing_error",
    "billing_hard_limit_reached",
    "insufficient_quota",
];

/// After a status, with the kind of error that came with it.
pub(super) fn after_status(status: StatusCode, headers: &HeaderMap, kind: &str) -> Option<Again> {
    let says_no = headers
        .get("x-should-retry")
        .is_some_and(|value| value.as_bytes() == b"false");
    let may = PASSING.contains(&status.as_u16()) && !says_no && !is_lasting(kind);
    may.then(|| Again {
        after_ms: after_ms(headers),
    })
}

/// After an error that was told in a stream, by its kind or by a status in place of one.
pub(super) fn after_kind(kind: &str) -> Option<Again> {
    let status = kind.parse().is_ok_and(|status| PASSING.contains(&status));
    (status || PASSING_KINDS.contains(&kind)).then_some(Again { after_ms: None })
}

fn is_lasting(kind: &str) -> bool {
    LASTING_KINDS.contains(&kind)
}

fn after_ms(headers: &HeaderMap) -> Option<u64> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let ms = text("retry-after-ms").and_then(|ms| millis(ms, 1_000.0));
    let asked = ms.or_else(|| {
        let after = text(RETRY_AFTER.as_str())?;
        millis(after, 1.0).or_else(|| until(after, text(DATE.as_str())))
    });
    asked.map(|ms| ms.min(AFTER_MS_MAX))
}

/// A number of which so many make a second.
fn millis(text: &str, of_second: f64) -> Option<u64> {
    let seconds = text.parse::<f64>().ok()? / of_second;
    let ms = Duration::try_from_secs_f64(seconds).ok()?.as_millis();
    Some(u64::try_from(ms).unwrap_or(u64::MAX))
}

/// Until a date: by the server's own clock where it tells it, so that ours may be wrong.
fn until(date: &str, now: Option<&str>) -> Option<u64> {
    let millis = |text| Some(DateTime::parse_from_rfc2822(text).ok()?.timestamp_millis());
    let now = now
        .and_then(millis)
        .unwrap_or_else(|| SystemClock.now().millis());
    let wait = millis(date)?.saturating_sub(now);
    Some(u64::try_from(wait).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| {
                let name = reqwest::header::HeaderName::from_static(name);
                (name, value.parse().unwrap())
            })
            .collect()
    }

    #[test]
    fn a_provider_says_how_long_to_wait_in_many_ways() {
        const DAY: &str = "Tue, 01 Dec 2026 10:00:00 GMT";
        for (pairs, ms) in [
            (&[][..], None),
            (&[("retry-after", "7")], Some(7_000)),
            (&[("retry-after", " 1.5 ")], Some(1_500)),
            (&[("retry-after", "0")], Some(0)),
            (
                &[("retry-after-ms", "250"), ("retry-after", "9")],
                Some(250),
            ),
            (
                &[("retry-after-ms", "soon"), ("retry-after", "9")],
                Some(9_000),
            ),
            (
                &[
                    ("retry-after", "Tue, 01 Dec 2026 10:00:30 GMT"),
                    ("date", DAY),
                ],
                Some(30_000),
            ),
            (
                &[
                    ("retry-after", "Tue, 01 Dec 2026 09:00:00 GMT"),
                    ("date", DAY),
                ],
                Some(0),
            ),
            (&[("retry-after", "Sat, 01 Jan 2000 00:00:00 GMT")], Some(0)),
            (
                &[("retry-after", "Fri, 01 Jan 2123 00:00:00 GMT")],
                Some(AFTER_MS_MAX),
            ),
            (&[("retry-after", "-3")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "inf")], None),
            (&[("retry-after", "later")], None),
            (&[("retry-after", "99999999999999999999999")], None),
            (&[("retry-after", "999999999")], Some(AFTER_MS_MAX)),
        ] {
            assert_eq!(after_ms(&headers(pairs)), ms, "{pairs:?}");
        }
    }

    #[test]
    fn only_what_passes_may_be_asked_again() {
        let none = HeaderMap::new();
        for status in 300..600 {
            let status = StatusCode::from_u16(status).unwrap();
            let may = after_status(status, &none, "").is_some();
            assert_eq!(may, PASSING.contains(&status.as_u16()), "{status}");
            assert_eq!(after_status(status, &none, "insufficient_quota"), None);
            let no = headers(&[("x-should-retry", "false")]);
            assert_eq!(after_status(status, &no, ""), None);
        }
        for (kind, may) in [
            ("overloaded_error", true),
            ("server_error", true),
            ("503", true),
            ("400", false),
            ("invalid_request_error", false),
            ("", false),
        ] {
            assert_eq!(after_kind(kind).is_some(), may, "{kind}");
        }
    }
}
