//! What every bench needs of numbers: percentiles, medians with their range, arguments, sizes.

#![allow(dead_code, reason = "each bench uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is asked for on the command line: `cargo bench .. --bench NAME -- --quick --rounds 5`.
#[derive(Debug, Clone)]
pub(crate) struct Arguments(Vec<String>);

impl Arguments {
    /// Those of this process.
    pub(crate) fn read() -> Self {
        Self(std::env::args().skip(1).collect())
    }

    /// Whether a word is among them.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.0.iter().any(|argument| argument == word)
    }

    /// The number after a word.
    pub(crate) fn number(&self, word: &str) -> Option<f64> {
        let mut rest = self.0.iter().skip_while(|argument| *argument != word);
        rest.nth(1).map(|number| number.parse().unwrap())
    }

    /// The number after a word, as a count.
    pub(crate) fn count(&self, word: &str) -> Option<usize> {
        let mut rest = self.0.iter().skip_while(|argument| *argument != word);
        rest.nth(1).map(|number| number.parse().unwrap())
    }

    /// A fresh folder below `--dir`, or below the place where temporary files go.
    pub(crate) fn folder(&self) -> tempfile::TempDir {
        let mut rest = self.0.iter().skip_while(|argument| *argument != "--dir");
        let below: PathBuf = rest.nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
        tempfile::tempdir_in(below).unwrap()
    }
}

/// The value below which that share of all lies; the values are sorted by this.
pub(crate) fn percentile(values: &mut [Duration], share: f64) -> Duration {
    values.sort_unstable();
    let last = values.len().saturating_sub(1);
    let index = (last as f64 * share).round() as usize;
    values.get(index).copied().unwrap_or_default()
}

/// A median, and the least and the greatest of what it is the median of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Spread {
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Self {
            low: values[0],
            median: values[values.len() / 2],
            high: values[values.len() - 1],
        }
    }

    /// `1.35 [1.10-1.52]`.
    pub(crate) fn ratio(&self) -> String {
        format!("{:.2} [{:.2}-{:.2}]", self.median, self.low, self.high)
    }
}

/// Microseconds, or milliseconds from ten of them on.
pub(crate) fn short(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    if us < 10_000.0 {
        format!("{us:.0} us")
    } else {
        format!("{:.1} ms", us / 1e3)
    }
}

/// Microseconds with one decimal.
pub(crate) fn tenths(time: Duration) -> String {
    format!("{:.1} us", time.as_secs_f64() * 1e6)
}

/// How many in a second, with its thousands.
pub(crate) fn rate(count: f64) -> String {
    if count >= 10_000.0 {
        format!("{:.1} k", count / 1e3)
    } else {
        format!("{count:.0}")
    }
}

/// Bytes of all files below a folder, as their lengths say.
pub(crate) fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            let data = entry.metadata().unwrap();
            if data.is_dir() {
                bytes_below(&entry.path())
            } else {
                data.len()
            }
        })
        .sum()
}

/// How busy the machine is: without that no absolute number says anything.
pub(crate) fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let first = load.split(' ').next().unwrap_or("?").to_owned();
    format!("{cores} cores, load {first}")
}

/// What all threads of this process worked so far.
pub(crate) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
