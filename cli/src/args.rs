//! Options that every verb takes, and how their values are read.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use placet_ledger::limits::INTEGER_MAX;
use placet_ledger::time::Timestamp;

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless a variable says no.
    #[value(help = "On a terminal, unless NO_COLOR is set")]
    Auto,
    /// Into files and pipes too.
    Always,
    /// Nowhere.
    Never,
}

/// Options that every verb takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every verb")]
pub(crate) struct GlobalArgs {
    /// The folder of the ledger.
    #[arg(
        long,
        global = true,
        overrides_with = "home",
        value_name = "DIR",
        help = "The folder of the ledger [env: PLACET_HOME] [default: $XDG_DATA_HOME/placet]"
    )]
    pub(crate) home: Option<PathBuf>,

    /// Write JSON on standard output, and errors as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Leave out everything on standard error but errors
    #[arg(long, global = true)]
    pub(crate) quiet: bool,

    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,

    /// The config file.
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help = "The config file [default: $XDG_CONFIG_HOME/placet/config.toml]"
    )]
    pub(crate) config: Option<PathBuf>,
}

/// A duration such as 90s, 10m, 24h or 7d, in milliseconds.
pub(crate) fn duration_ms(text: &str) -> Result<u64, String> {
    let example = "expected a duration such as 90s, 10m, 24h or 7d";
    let duration: Duration =
        humantime::parse_duration(text).map_err(|error| format!("{example}: {error}"))?;
    u64::try_from(duration.as_millis())
        .ok()
        .filter(|ms| recordable(*ms))
        .ok_or_else(|| format!("{example}, and not as long as that"))
}

/// A duration that is not over when it begins.
pub(crate) fn expiry_ms(text: &str) -> Result<u64, String> {
    let ms = duration_ms(text)?;
    if ms == 0 {
        return Err(String::from("expected a time in which somebody can answer"));
    }
    Ok(ms)
}

/// How many of something, as far as a record can hold it.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let most = INTEGER_MAX;
    text.parse()
        .ok()
        .filter(|number| recordable(*number))
        .ok_or_else(|| format!("expected a whole number of at most {most}"))
}

fn recordable(number: u64) -> bool {
    number <= INTEGER_MAX.unsigned_abs()
}

/// A point in time as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// That time.
    At(Timestamp),
    /// So many milliseconds ago.
    Ago(u64),
}

impl When {
    /// Reads a time in UTC, a day, or how long ago.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let day = format!("{text}T00:00:00Z");
        let time = [text, &day].into_iter().find_map(|text| {
            let time = humantime::parse_rfc3339_weak(text).ok()?;
            let since = time.duration_since(UNIX_EPOCH).ok()?;
            Timestamp::from_micros(i64::try_from(since.as_micros()).ok()?)
        });
        match (time, duration_ms(text)) {
            (Some(time), _) => Ok(Self::At(time)),
            (None, Ok(ms)) => Ok(Self::Ago(ms)),
            (None, Err(_)) => Err(String::from(
                "expected a UTC time such as 2026-12-01T09:00:00Z, a day such as 2026-12-01, \
                 or how long ago, such as 90s, 10m, 24h or 7d",
            )),
        }
    }

    /// The time that is meant.
    pub(crate) fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Ago(ms) => {
                let micros = i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1000);
                let at = now.micros().saturating_sub(micros).max(0);
                Timestamp::from_micros(at).unwrap_or(Timestamp::EPOCH)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_moment_a_day_or_how_long_ago() {
        let now: Timestamp = "2026-12-01T09:00:00.000000Z".parse().unwrap();
        let at = |text| When::parse(text).map(|when| when.at(now).to_string());
        for (text, meant) in [
            ("2026-11-30", "2026-11-30T00:00:00.000000Z"),
            ("2026-11-30T08:00:00Z", "2026-11-30T08:00:00.000000Z"),
            ("2026-11-30T08:00:00.250000Z", "2026-11-30T08:00:00.250000Z"),
            ("2026-11-30 08:00:00", "2026-11-30T08:00:00.000000Z"),
            ("90s", "2026-12-01T08:58:30.000000Z"),
            ("1d", "2026-11-30T09:00:00.000000Z"),
            ("9000years", "1970-01-01T00:00:00.000000Z"),
        ] {
            assert_eq!(at(text).as_deref(), Ok(meant), "{text}");
        }
        for wrong in ["", "yesterday", "2026-13-01", "-1h", "12:00", "\u{1b}"] {
            assert!(at(wrong).is_err(), "{wrong}");
        }
    }
}
