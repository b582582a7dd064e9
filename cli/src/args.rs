//! Options that every verb takes, and how their values are read.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Options that every verb takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct GlobalArgs {
    /// The folder that holds the ledger [env: `PLACET_HOME`] [default: `$XDG_DATA_HOME/placet`]
    #[arg(long, global = true, value_name = "DIR")]
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

    /// The config file [default: `$XDG_CONFIG_HOME/placet/config.toml`]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// A duration such as 90s, 10m, 24h or 7d, in milliseconds.
pub(crate) fn duration_ms(text: &str) -> Result<u64, String> {
    let example = "expected a duration such as 90s, 10m, 24h or 7d";
    let duration: Duration =
        humantime::parse_duration(text).map_err(|error| format!("{example}: {error}"))?;
    u64::try_from(duration.as_millis()).map_err(|_| example.to_owned())
}
