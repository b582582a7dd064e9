//! The table of one plan: medians over the rounds, and the store's ratios within each.

use std::time::Duration;

use crate::contestant::{CONTESTANTS, Kind};
use crate::lane::{Measured, Plan};
use crate::measure::{Spread, percentile, rate, short, tenths};
use crate::place;

/// Prints what the rounds came to.
pub(crate) fn print(plan: Plan, rounds: &[Vec<Measured>]) {
    let (runs, records) = (plan.runs, plan.records);
    let first = &rounds[0][place(Kind::Store)];
    let bytes = first.bytes / first.records.max(1);
    println!(
        "\n{runs} run{}, {records} record{} an append ({bytes} B of record and content each)\n",
        plural(runs),
        plural(records),
    );
    println!(
        "| | appends/s | p50 | p99 | store is times | all settled/s | CPU a record | disk / bytes |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for kind in CONTESTANTS {
        let of_kind = |round: &Vec<Measured>| round[place(kind)].clone();
        let of_kind: Vec<_> = rounds.iter().map(of_kind).collect();
        let median = Spread::of(of_kind.iter().map(|one| one.rate)).median;
        let ratios = rounds
            .iter()
            .map(|round| round[place(Kind::Store)].rate / round[place(kind)].rate);
        let disk = of_kind
            .iter()
            .map(|one| one.disk as f64 / one.bytes.max(1) as f64);
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            kind.name(),
            rate(median),
            short(middle(of_kind.iter().map(|one| one.p50))),
            short(middle(of_kind.iter().map(|one| one.p99))),
            match kind {
                Kind::Store => String::from("-"),
                _ => Spread::of(ratios).ratio(),
            },
            rate(Spread::of(of_kind.iter().map(|one| one.settled)).median),
            tenths(middle(of_kind.iter().map(Measured::work))),
            match kind {
                // A plain file is written over and over.
                Kind::File | Kind::FileAndWork => String::from("-"),
                _ => format!("{:.2}", Spread::of(disk).median),
            },
        );
    }
    if runs == 1 {
        let p50 = |kind: Kind| move |round: &Vec<Measured>| round[place(kind)].p50.as_secs_f64();
        for kind in [Kind::Store, Kind::Sqlite] {
            let ratios = rounds.iter().map(|round| {
                let file = p50(Kind::File)(round);
                p50(kind)(round) / file
            });
            let ratio = Spread::of(ratios).ratio();
            println!("\np50 of {}, times that of the file: {ratio}", kind.name());
        }
    }
}

fn middle(times: impl Iterator<Item = Duration>) -> Duration {
    percentile(&mut times.collect::<Vec<_>>(), 0.5)
}

const fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
