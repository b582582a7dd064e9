//! Times as records carry them: UTC with microseconds, read from a clock elsewhere.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Datelike, NaiveDate, Timelike, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::spelled;

/// Why a text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a UTC time such as 2026-12-01T09:00:00.000000Z, found {0:?}")]
pub struct TimeError(String);

/// Microseconds since 1970-01-01 UTC; written as RFC 3339 with six fractional digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The earliest time, 1970.
    pub const EPOCH: Self = Self(0);

    /// The time that many microseconds after 1970; `None` outside the years 0 to 9999.
    pub fn from_micros(micros: i64) -> Option<Self> {
        let time = DateTime::from_timestamp_micros(micros)?;
        let year = time.year();
        (0..=9999).contains(&year).then_some(Self(micros))
    }

    /// Microseconds since 1970.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Milliseconds since 1970, rounded down.
    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// This time and so many milliseconds; the end of the range if that is passed.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Self {
        let micros = i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1000);
        Self::from_micros(self.0.saturating_add(micros)).unwrap_or(Self(LAST_MICROS))
    }

    /// Milliseconds from `earlier` to this time; 0 if it is not later.
    pub fn ms_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0).div_euclid(1000)).unwrap_or(0)
    }
}

/// 9999-12-31T23:59:59.999999Z.
const LAST_MICROS: i64 = 253_402_300_799_999_999;

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time: DateTime<Utc> = DateTime::from_timestamp_micros(self.0).unwrap_or_default();
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        let fields = [
            (0..4, time.year().unsigned_abs()),
            (5..7, time.month()),
            (8..10, time.day()),
            (11..13, time.hour()),
            (14..16, time.minute()),
            (17..19, time.second()),
            (20..26, time.timestamp_subsec_micros()),
        ];
        for (place, mut value) in fields {
            for digit in text.get_mut(place).into_iter().flatten().rev() {
                *digit = digit.wrapping_add((value % 10) as u8);
                value /= 10;
            }
        }
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Timestamp {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let wrong = || TimeError(text.chars().take(80).collect());
        read(text.as_bytes()).ok_or_else(wrong)
    }
}

/// Reads the one spelling there is, by the places of its digits.
fn read(text: &[u8]) -> Option<Timestamp> {
    let text: &[u8; 27] = text.try_into().ok()?;
    let [.., b'Z'] = text else { return None };
    let marks = [
        (4, b'-'),
        (7, b'-'),
        (10, b'T'),
        (13, b':'),
        (16, b':'),
        (19, b'.'),
    ];
    if marks.iter().any(|&(at, mark)| text.get(at) != Some(&mark)) {
        return None;
    }
    let number = |from: usize, to: usize| {
        text.get(from..to)?.iter().try_fold(0_u32, |value, byte| {
            let digit = byte.is_ascii_digit().then(|| byte.wrapping_sub(b'0'))?;
            value.checked_mul(10)?.checked_add(digit.into())
        })
    };
    let year = i32::try_from(number(0, 4)?).ok()?;
    let day = NaiveDate::from_ymd_opt(year, number(5, 7)?, number(8, 10)?)?;
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let time = day.and_hms_micro_opt(hour, minute, second, number(20, 26)?)?;
    Timestamp::from_micros(time.and_utc().timestamp_micros())
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        spelled::read(deserializer)
    }
}

impl TryFrom<String> for Timestamp {
    type Error = TimeError;

    fn try_from(text: String) -> Result<Self, TimeError> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_time_has_one_spelling() {
        let text = "2026-12-01T09:00:01.242000Z";
        assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), text);
        for wrong in [
            "2026-12-01T09:00:01Z",
            "2026-12-01T09:00:01.242Z",
            "2026-12-01T09:00:01.242000+00:00",
            "2026-12-01t09:00:01.242000z",
            "2026-12-01T09:00:60.000000Z",
            "2026-13-01T09:00:01.242000Z",
            "2026-02-29T09:00:01.242000Z",
            "2026-12-01T24:00:01.242000Z",
            "2026-12-01T09:60:01.242000Z",
            "2026-12-01 09:00:01.242000Z",
            "2026-12-01T09:00:01.2420000",
            "2026-12-01T09:00:01.24200aZ",
            "2026-12-01T09:00:+1.242000Z",
            "02026-12-01T09:00:01.24200Z",
            "+2026-12-01T09:00:01.242000Z",
        ] {
            assert!(wrong.parse::<Timestamp>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_time_is_read_back_as_it_was_written(
            micros in -62_167_219_200_000_000..=LAST_MICROS,
        ) {
            let time = Timestamp::from_micros(micros).unwrap();
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }

    #[test]
    fn sums_stop_at_the_end_of_the_range() {
        let time: Timestamp = "2026-12-01T09:00:01.242000Z".parse().unwrap();
        assert_eq!(
            time.plus_ms(86_400_000).to_string(),
            "2026-12-02T09:00:01.242000Z"
        );
        assert_eq!(
            time.plus_ms(u64::MAX).to_string(),
            "9999-12-31T23:59:59.999999Z"
        );
        assert_eq!(time.ms_since(time.plus_ms(5)), 0);
        assert_eq!(time.plus_ms(5).ms_since(time), 5);
    }
}
