//! Verification: says whether a log is what was written, or names the first bad position, and why.
//!
//! Two passes over all of it on all cores tell right from wrong: one by positions (`records`), one
//! by streams (`streams`). Where anything is wrong, a walk from the first record on (`walk`), on
//! one thread, says what and where.
//!
//! Asked of every record: are its bytes canonical and ours, does it follow the one before it in
//! its stream, can its event stand there, are its contents there and do they fit; of every
//! automatic decision: would the gate give it again; of the whole: is the tree's root the store's
//! and, at the size of the head that was kept elsewhere, the head's.

mod contents;
mod links;
mod records;
mod rejudge;
mod report;
mod spans;
mod streams;
#[cfg(test)]
pub(crate) mod tests;
mod threads;
mod walk;

pub use report::{
    ContentCounts, DecisionCounts, FINDINGS_MAX, Finding, FindingKind, HeadPosition, Place, Report,
};

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use crate::content::{Commitment, Content};
use crate::digest::{Purpose, digest};
use crate::envelope::Heading;
use crate::export::{Export, ExportError, ExportedContent, Header, read_export};
use crate::id::{Position, StreamId, Version};
use crate::judge::Judge;
use crate::limits::PAGE_RECORDS_MAX;
use crate::store::{ReadError, ReadStore, Stored, Tail, chain};
use contents::{Wanted, batches};
use links::Last;
use report::Findings;
use walk::{Read, Walk};

/// Records in a row that cannot be read, after which no more are asked for: files that are damaged
/// hide nothing behind them, and a store that gives nothing at all is not asked for all of it.
const UNREADABLE_MAX: usize = 16_384;

/// What is verified.
#[derive(Clone, Copy)]
pub enum Depth<'a> {
    /// Bytes, digests, links, tree: all that tells that nothing was changed, dropped or moved.
    Records,
    /// All of it; with a judge, automatic decisions are judged again.
    Whole(Option<&'a dyn Judge>),
}

/// Verifies a store. `head` is how far it had come when that was last kept elsewhere; with a
/// judge, automatic decisions are judged again.
///
/// Never an error: what cannot be read is a finding. Records that come in meanwhile are left out.
pub async fn verify(
    store: &dyn ReadStore,
    head: Option<HeadPosition>,
    judge: Option<&dyn Judge>,
) -> Report {
    verify_on(store, head, Depth::Whole(judge), threads::all()).await
}

/// Verifies the records of a store alone; the report says what was not looked at.
pub async fn verify_records(store: &dyn ReadStore, head: Option<HeadPosition>) -> Report {
    verify_on(store, head, Depth::Records, threads::all()).await
}

/// The same, all of it or less, on so many threads. The calling thread waits for the others, so a
/// store must not need that very thread to answer.
pub async fn verify_on(
    store: &dyn ReadStore,
    head: Option<HeadPosition>,
    depth: Depth<'_>,
    threads: NonZeroUsize,
) -> Report {
    match found_right(store, head, depth, threads).await {
        Some(report) => report,
        None => name_wrong(store, head, depth).await,
    }
}

/// The report on a store of which everything is right.
async fn found_right(
    store: &dyn ReadStore,
    head: Option<HeadPosition>,
    depth: Depth<'_>,
    threads: NonZeroUsize,
) -> Option<Report> {
    let tail = store.tail().await.ok()?;
    let chains = records::pass(store, tail.size, head, threads).await?;
    let head_differs = head.is_some_and(|head| chains.root_at_head != Some(head.root));
    if chains.root() != tail.root || head_differs {
        return None;
    }
    let (counts, unchecked) = match depth {
        Depth::Records => (streams::Counts::default(), report::UNCHECKED),
        Depth::Whole(judge) => {
            let counts = streams::pass(store, &chains, judge, threads).await?;
            (counts, report::ALL_CHECKED)
        }
    };
    Some(Report {
        ok: true,
        size: chains.size(),
        root: Some(chains.root()),
        findings: Vec::new(),
        findings_left_out: 0,
        head,
        content: counts.content,
        decisions: counts.decisions,
        unchecked,
    })
}

/// The report of a walk from the first record on.
async fn name_wrong(store: &dyn ReadStore, head: Option<HeadPosition>, depth: Depth<'_>) -> Report {
    let (judge, unchecked) = match depth {
        Depth::Records => (None, report::UNCHECKED),
        Depth::Whole(judge) => (judge, report::ALL_CHECKED),
    };
    let mut walk = Walk::new(head, judge);
    let tail = store.tail().await;
    let end = tail.as_ref().map_or(u64::MAX, |tail| tail.size);
    let mut failures = 0_usize;
    while walk.links.next().get() < end {
        match read_page(store, walk.links.next()).await {
            Ok(mut page) => {
                page.retain(|stored| stored.position.get() < end);
                if page.is_empty() {
                    break;
                }
                failures = 0;
                match depth {
                    Depth::Whole(_) => page_of(store, &mut walk, &page).await,
                    Depth::Records => walk.bare(&page),
                }
            }
            Err(_) if failures >= UNREADABLE_MAX => break,
            Err(error) => {
                failures = failures.saturating_add(1);
                let why = chain(&error);
                walk.links.skip_unreadable(&why, &mut walk.findings);
            }
        }
    }
    match tail {
        Ok(tail) => compare_tail(&mut walk, tail),
        Err(error) => {
            let place = Place::default();
            let detail = format!("the store does not say its size: {}", chain(&error));
            walk.findings
                .add_always(place, FindingKind::RecordUnreadable, detail);
        }
    }
    if let Some(head) = head {
        compare_head(&mut walk, head);
    }
    // Where the log is damaged, so are its streams: nothing new would be said.
    if matches!(depth, Depth::Whole(_)) && walk.findings.is_empty() {
        let streams: Vec<_> = walk.links.streams().collect();
        for (stream, last) in streams {
            compare_stream(store, &mut walk.findings, stream, last).await;
        }
    }
    let report = report(walk, head);
    Report {
        unchecked,
        ..report
    }
}

/// Whether a stream that is read by itself, as whoever drives a run does, is that of the log.
async fn compare_stream(
    store: &dyn ReadStore,
    findings: &mut Findings,
    stream: StreamId,
    last: Last,
) {
    let there = u64::from(last.version.get()).saturating_add(1);
    let (mut here, mut newest) = (0_u64, None);
    let mut links = true;
    let why = loop {
        let left = usize::try_from(there.saturating_sub(here)).unwrap_or(PAGE_RECORDS_MAX);
        let (limit, from) = (left.min(PAGE_RECORDS_MAX), u32::try_from(here));
        let (1.., Ok(from)) = (limit, from) else {
            break None;
        };
        match store.read_run(stream, Version::new(from), limit).await {
            Ok(page) if page.is_empty() => {
                break Some(format!(
                    "by itself it has {here} records, in the log {there}"
                ));
            }
            Ok(page) => {
                for stored in page {
                    here = here.saturating_add(1);
                    // Each names the one before it, so that the last stands for all of them.
                    let prev = Heading::read(&stored.bytes).map(|heading| heading.prev);
                    links &= prev.is_ok_and(|prev| newest.is_none_or(|newest| newest == prev));
                    newest = Some(digest(Purpose::Event, &stored.bytes));
                }
            }
            Err(error) => break Some(chain(&error)),
        }
    };
    let same = links && here == there && newest == Some(last.digest);
    let differs = || String::from("by itself it has other records than in the log");
    if let Some(detail) = why.or_else(|| (!same).then(differs)) {
        let run = Some(stream);
        let place = Place {
            run,
            ..Place::default()
        };
        findings.add(place, FindingKind::StreamDiffers, detail);
    }
}

/// A page, or where it cannot be read its first record alone: one bad record hides no others.
async fn read_page(store: &dyn ReadStore, from: Position) -> Result<Vec<Stored>, ReadError> {
    match store.read_all(from, PAGE_RECORDS_MAX).await {
        Ok(page) => Ok(page),
        Err(_) => store.read_all(from, 1).await,
    }
}

/// Reads the contents that a page names first, then walks its records.
async fn page_of(store: &dyn ReadStore, walk: &mut Walk<'_>, page: &[Stored]) {
    let page = parsed(page);
    contents_of(store, walk, &page).await;
    for read in &page {
        walk.record(read);
        if let Ok(envelope) = &read.parsed {
            walk.contents.forget_ended(envelope);
        }
    }
}

fn parsed(page: &[Stored]) -> Vec<Read> {
    page.iter()
        .map(|stored| Read::new(stored.position, &stored.bytes))
        .collect()
}

/// Reads the contents that a page names first.
async fn contents_of(store: &dyn ReadStore, walk: &mut Walk<'_>, page: &[Read]) {
    let mut wanted = Vec::new();
    for read in page {
        if let Ok(envelope) = &read.parsed {
            wanted.extend(walk.contents.wanted(read.position, envelope));
        }
    }
    for batch in batches(wanted) {
        read_contents(store, walk, &batch).await;
    }
}

/// Reads contents of one stream together, and one by one where that fails, to name which.
async fn read_contents(store: &dyn ReadStore, walk: &mut Walk<'_>, batch: &[Wanted]) {
    let Some(stream) = batch.first().map(|wanted| wanted.stream) else {
        return;
    };
    let commitments: Vec<_> = batch.iter().map(|wanted| wanted.blob.commitment).collect();
    let all = store.content(stream, &commitments).await;
    for wanted in batch {
        let commitment = wanted.blob.commitment;
        let one = match &all {
            Ok(_) => None,
            Err(_) => Some(store.content(stream, &[commitment]).await),
        };
        let found = match one.as_ref().unwrap_or(&all) {
            Ok(contents) => contents
                .get(&commitment)
                .ok_or_else(|| String::from("the store left it out")),
            Err(error) => Err(chain(error)),
        };
        walk.contents.settle(wanted, found, &mut walk.findings);
    }
}

fn compare_tail(walk: &mut Walk<'_>, tail: Tail) {
    let (size, next) = (walk.links.size(), walk.links.next());
    if next.get() < tail.size {
        let detail = format!("the store has {size} records and says {}", tail.size);
        walk.findings
            .add_always(Place::at(next), FindingKind::StoreShort, detail);
    } else if let Some(root) = walk.links.root().filter(|root| *root != tail.root) {
        let detail = format!("the records come to {root}, the store says {}", tail.root);
        walk.findings
            .add_always(Place::default(), FindingKind::RootDiffers, detail);
    }
}

fn compare_head(walk: &mut Walk<'_>, head: HeadPosition) {
    let next = walk.links.next();
    if next.get() < head.size {
        let detail = format!("{} records were acknowledged, {next} are there", head.size);
        walk.findings
            .add_always(Place::at(next), FindingKind::HeadAhead, detail);
    } else if let Some(root) = walk.links.root_at_head().filter(|root| *root != head.root) {
        let (size, known) = (head.size, head.root);
        let detail = format!("at size {size} the records come to {root}, the head says {known}");
        walk.findings
            .add_always(Place::default(), FindingKind::HeadDiffers, detail);
    }
}

fn report(walk: Walk<'_>, head: Option<HeadPosition>) -> Report {
    let (size, root) = (walk.links.size(), walk.links.root());
    let (content, decisions) = (walk.contents.counts, walk.decisions);
    let (findings, findings_left_out) = walk.findings.into_sorted();
    Report {
        ok: findings.is_empty(),
        size,
        root,
        findings,
        findings_left_out,
        head,
        content,
        decisions,
        unchecked: report::ALL_CHECKED,
    }
}

/// Verifies an export without a store: the same of its records and contents; of the tree only
/// where it holds the whole ledger, and against its own header, which nothing vouches for unless
/// `head` does.
pub fn verify_lines<L: AsRef<str>>(
    lines: impl IntoIterator<Item = L>,
    head: Option<HeadPosition>,
    judge: Option<&dyn Judge>,
) -> Result<Report, ExportError> {
    let export = read_export(lines)?;
    let whole = export.header.run.is_none();
    // A part of the log has no root that a head could be compared with.
    let head = head.filter(|_| whole);
    let mut walk = Walk::new(head, judge);
    let Export {
        header,
        records,
        contents,
        trailer,
    } = export;
    let given: BTreeMap<_, _> = contents
        .iter()
        .map(|one| ((one.run, one.commitment), &one.content))
        .collect();
    let mut of_run = false;
    for stored in &records {
        let read = Read::new(stored.position, &stored.bytes);
        of_run |= belongs(&mut walk.findings, &header, &read);
        // Facts alone were exported where there is no content at all.
        if let (Ok(envelope), false) = (&read.parsed, given.is_empty()) {
            for wanted in walk.contents.wanted(read.position, envelope) {
                let found = find(&given, &wanted);
                walk.contents.settle(&wanted, found, &mut walk.findings);
            }
        }
        if whole {
            walk.record(&read);
        } else {
            walk.part(&read);
        }
    }
    unnamed(&mut walk.findings, &walk.contents, &contents);
    if whole {
        let (size, root) = (header.size, header.root);
        compare_tail(&mut walk, Tail { size, root });
    }
    if let Some(head) = head {
        compare_head(&mut walk, head);
    }
    if let Some(run) = header.run.filter(|_| !of_run) {
        let detail = format!("the export says it is of run {run} and holds no record of it");
        walk.findings
            .add_always(Place::default(), FindingKind::StoreShort, detail);
    }
    if walk
        .links
        .ledger
        .is_some_and(|ledger| ledger != header.ledger)
    {
        let detail = format!("the export says it is of ledger {}", header.ledger);
        walk.findings
            .add_always(Place::default(), FindingKind::RecordForeign, detail);
    }
    if walk
        .is_complete()
        .is_some_and(|complete| complete != trailer.complete)
    {
        let detail = format!("the export says that complete is {}", trailer.complete);
        walk.findings
            .add_always(Place::default(), FindingKind::CompletenessDiffers, detail);
    }
    Ok(report(walk, head))
}

/// Whether a record is one of the run that is exported; says so where it is of another one.
fn belongs(findings: &mut Findings, header: &Header, read: &Read) -> bool {
    let (Some(run), Ok(envelope)) = (header.run, &read.parsed) else {
        return false;
    };
    let stream = envelope.stream();
    if stream != run.stream() && stream != header.ledger.authority() {
        let detail = format!("the export is of run {run}, the record of stream {stream}");
        let place = Place::at(read.position);
        findings.add(place, FindingKind::RecordForeign, detail);
    }
    stream == run.stream()
}

fn find<'a>(
    given: &BTreeMap<(StreamId, Commitment), &'a Content>,
    wanted: &Wanted,
) -> Result<&'a Content, String> {
    given
        .get(&(wanted.stream, wanted.blob.commitment))
        .copied()
        .ok_or_else(|| String::from("the export does not hold it"))
}

fn unnamed(findings: &mut Findings, check: &contents::ContentCheck, contents: &[ExportedContent]) {
    for one in contents {
        if !check.named(one.run, &one.commitment) {
            let place = Place {
                run: Some(one.run),
                ..Place::default()
            };
            let detail = format!("no record names the content {}", one.commitment);
            findings.add(place, FindingKind::ContentUnnamed, detail);
        }
    }
}
