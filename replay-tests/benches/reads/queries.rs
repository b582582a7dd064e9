//! What people ask often, answered from projections as the command line asks it.

use placet_ledger::id::Name;
use placet_ledger::projection::{
    Answer, DecisionFilter, Page, PendingRow, Projector, Query, RunFilter, RunStatus, Verdict,
};
use placet_ledger::store::conformance::block_on;

use super::measure::short;
use super::passes::Log;
use super::{middle, time};

/// Rows of a page, as the command line asks for where nothing is said.
const ROWS: usize = 100;

/// Builds the rows, then asks each question so many times.
pub(crate) fn measure(log: &Log, rounds: usize) {
    let projector = Projector::new(log.store.clone(), log.store.projections());
    let ask = |query: &Query| block_on(projector.query(query)).unwrap();
    println!("\n| from projections | answered | median |\n|---|---|---|");
    let (built, answer) = time(|| ask(&Query::Rebuild {}));
    let Answer::Rebuilt(rebuilt) = answer else {
        panic!("the rows were not built")
    };
    let (rows, built) = (rebuilt.rows, short(built));
    println!("| rebuild all rows, once | {rows} rows | {built} |");
    for (name, query) in questions() {
        let mut times = Vec::new();
        let mut count = 0;
        for _ in 0..rounds {
            let (taken, answer) = time(|| ask(&query));
            times.push(taken);
            count = rows_of(&answer);
        }
        println!("| {name} | {count} rows | {} |", short(middle(times)));
    }
    let mut times = Vec::new();
    let mut cards = 0;
    for _ in 0..rounds {
        let (taken, count) = time(|| log.inbox_page(&pending(&ask(&waiting()))));
        times.push(taken);
        cards = count;
    }
    println!(
        "| inbox, first page | {cards} cards | {} |",
        short(middle(times))
    );
}

fn questions() -> Vec<(&'static str, Query)> {
    let decisions = |filter| Query::Decisions {
        filter,
        page: page(),
    };
    let runs = |filter| Query::Runs {
        filter,
        page: page(),
    };
    let of_tool = |tool: &str| DecisionFilter {
        tool: Some(name(tool)),
        verdict: Some(Verdict::Granted),
        ..DecisionFilter::default()
    };
    let in_state = |state| RunFilter {
        state: Some(state),
        ..RunFilter::default()
    };
    vec![
        ("audit log, decisions", decisions(DecisionFilter::default())),
        ("audit log, granted, by tool", decisions(of_tool("set"))),
        (
            "audit log, a tool that nobody called",
            decisions(of_tool("none")),
        ),
        (
            "audit who",
            Query::Who {
                tool: None,
                since: None,
            },
        ),
        ("runs list", runs(RunFilter::default())),
        ("runs list, parked", runs(in_state(RunStatus::Parked))),
        ("runs list, finished", runs(in_state(RunStatus::Finished))),
        ("what waits", waiting()),
    ]
}

fn page() -> Page {
    Page {
        after: None,
        limit: ROWS,
    }
}

fn waiting() -> Query {
    Query::Pending { page: page() }
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn pending(answer: &Answer) -> Vec<PendingRow> {
    match answer {
        Answer::Pending { pending, .. } => pending.clone(),
        other => panic!("asked for what waits, heard {other:?}"),
    }
}

fn rows_of(answer: &Answer) -> usize {
    match answer {
        Answer::Runs { runs, .. } => runs.len(),
        Answer::Pending { pending, .. } => pending.len(),
        Answer::Decisions { decisions, .. } => decisions.len(),
        Answer::Who { who } => who.len(),
        other => panic!("no list: {other:?}"),
    }
}
