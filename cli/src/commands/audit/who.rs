//! `placet audit who`: who decided how often, how sure that is, and how long they were waited for.

use clap::Args;
use placet_ledger::id::Name;
use placet_ledger::projection::{Answer, Query};

use crate::answers;
use crate::args::When;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::reading::{self, Reading};
use crate::ui::{table, text};
use crate::wire::who::{DecidedOut, Who};
use crate::wiring::Wiring;

/// Count decisions by who made them and how sure that is
///
/// An answer with the assurance same-user came from some process of that user: it is counted as
/// one of the user, not of a person. The waiting times are those from the request to the answer.
///
/// Example: placet audit who --since 7d
#[derive(Debug, Args)]
pub(crate) struct WhoArgs {
    /// Decisions about calls of this tool
    #[arg(long, value_name = "T")]
    tool: Option<Name>,

    /// From this time on: a UTC time, a day, or how long ago (24h, 7d)
    #[arg(long, value_name = "T", value_parser = When::parse)]
    since: Option<When>,
}

/// Counts decisions.
pub(crate) fn run(args: &WhoArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let reading = Reading::open(wiring)?;
    let now = reading::now();
    let query = Query::Who {
        tool: args.tool.clone(),
        since: args.since.map(|at| at.at(now)),
    };
    let Answer::Who { who } = wiring.block_on(reading.query(query))? else {
        return Err(answers::unexpected());
    };
    let who: Vec<_> = who.iter().map(DecidedOut::of).collect();
    if wiring.printer.json() {
        wiring.printer.value(&Who { who })?;
    } else if who.is_empty() {
        wiring.printer.note("nothing was decided");
    } else {
        let rows: Vec<_> = who.iter().map(cells).collect();
        wiring.printer.data(&table::table(&COLUMNS, &rows))?;
    }
    Ok(ExitStatus::Done)
}

const COLUMNS: [&str; 12] = [
    "BY",
    "NAME",
    "ASSURANCE",
    "ALL",
    "GRANTED",
    "DENIED",
    "REVOKED",
    "EXPIRED",
    "REFUSED",
    "SETTLED",
    "WAITED P50",
    "MAX",
];

fn cells(decided: &DecidedOut) -> Vec<String> {
    let name = decided.name.as_ref().map(Name::as_str);
    let texts = [
        decided.by.to_owned(),
        text::marked(name.unwrap_or("-")),
        decided.assurance.unwrap_or("-").to_owned(),
    ];
    let counts = [
        decided.count,
        decided.granted,
        decided.denied,
        decided.revoked,
        decided.expired,
        decided.refused,
        decided.settled,
    ];
    let waits = [decided.waited_p50_ms, decided.waited_max_ms];
    texts
        .into_iter()
        .chain(counts.iter().map(u64::to_string))
        .chain(waits.map(|ms| ms.map_or_else(|| "-".to_owned(), seconds)))
        .collect()
}

/// Seconds, with one digit of what is left.
fn seconds(ms: u64) -> String {
    let tenths = ms.saturating_add(50).div_euclid(100);
    format!("{}.{} s", tenths.div_euclid(10), tenths.rem_euclid(10))
}

#[cfg(test)]
mod tests {
    use placet_ledger::approval::Assurance;
    use placet_ledger::projection::{Approver, Decided, Kind};

    use super::*;

    fn decided(kind: Kind, name: Option<&str>, assurance: Option<Assurance>) -> Decided {
        Decided {
            by: Approver {
                kind,
                name: name.map(|name| name.parse().unwrap()),
                assurance,
            },
            granted: 0,
            denied: 0,
            revoked: 0,
            expired: 0,
            refused: 0,
            settled: 0,
            waited_p50_ms: None,
            waited_max_ms: None,
        }
    }

    #[test]
    fn who_decided_is_a_table() {
        let by_user = decided(Kind::Answer, Some("uid:1000"), Some(Assurance::SameUser));
        let by_key = decided(Kind::Answer, Some("ann"), Some(Assurance::SignedTouch));
        let who = [
            Decided {
                granted: 12,
                denied: 3,
                revoked: 1,
                waited_p50_ms: Some(4_210),
                waited_max_ms: Some(3_600_000),
                ..by_user
            },
            Decided {
                granted: 1,
                settled: 1,
                waited_p50_ms: Some(49),
                waited_max_ms: Some(49),
                ..by_key
            },
            Decided {
                refused: 7,
                ..decided(Kind::Rule, Some("no-push"), None)
            },
            Decided {
                granted: 40,
                ..decided(Kind::Policy, Some("plain-read-only"), None)
            },
            Decided {
                granted: 2,
                ..decided(Kind::Grant, Some("g2"), None)
            },
            Decided {
                expired: 1,
                waited_p50_ms: Some(86_400_000),
                waited_max_ms: Some(86_400_000),
                ..decided(Kind::Clock, None, None)
            },
        ];
        let rows: Vec<_> = who
            .iter()
            .map(|decided| cells(&DecidedOut::of(decided)))
            .collect();
        insta::assert_snapshot!(table::table(&COLUMNS, &rows), @r"
        BY      NAME             ASSURANCE     ALL  GRANTED  DENIED  REVOKED  EXPIRED  REFUSED  SETTLED  WAITED P50  MAX
        user    uid:1000         same-user     16   12       3       1        0        0        0        4.2 s       3600.0 s
        person  ann              signed-touch  2    1        0       0        0        0        1        0.0 s       0.0 s
        rule    no-push          -             7    0        0       0        0        7        0        -           -
        policy  plain-read-only  -             40   40       0       0        0        0        0        -           -
        entry   g2               -             2    2        0       0        0        0        0        -           -
        clock   -                -             1    0        0       0        1        0        0        86400.0 s   86400.0 s
        ");
    }

    #[test]
    fn waiting_times_are_rounded_to_tenths() {
        let times = [0, 49, 50, 949, 950, 61_234].map(seconds);
        assert_eq!(
            times,
            ["0.0 s", "0.0 s", "0.1 s", "0.9 s", "1.0 s", "61.2 s"]
        );
    }
}
