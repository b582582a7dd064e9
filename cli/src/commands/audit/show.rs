//! `placet audit show`: one record, whole, with what it rests on computed again.

use std::collections::BTreeSet;
use std::fmt::Write;

use clap::Args;
use placet_ledger::content::{Blob, Contents};
use placet_ledger::digest::Digest;
use placet_ledger::envelope::{Envelope, Recorded, ledger_genesis, stream_genesis};
use placet_ledger::event::Event;
use placet_ledger::id::{CallId, Version};
use placet_ledger::proposal::proposal_digest;

use super::about::About;
use super::event_ref::EventRef;
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::reading::{self, Reading};
use crate::ui::card::Look;
use crate::ui::text::{self, Letters};
use crate::wire::log::{Check, EventOut, Shown, hex};
use crate::wiring::Wiring;

/// Show one record: verbatim, with its contents, and what it rests on
///
/// What it rests on is computed again. Exit 6 where a digest does not come to what is recorded.
///
/// Example: placet audit show b3e41f@9
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The record: RUN@VERSION, or '#POSITION'
    #[arg(value_parser = EventRef::parse)]
    event: EventRef,
}

/// Shows a record.
pub(crate) fn run(args: &ShowArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let reading = Reading::open(wiring)?;
    let (recorded, contents, checks) = wiring.block_on(async {
        let recorded = args.event.find(&reading).await?;
        let blobs = recorded.envelope.blobs().values();
        let wanted: BTreeSet<_> = blobs.map(|blob| blob.commitment).collect();
        let stream = recorded.envelope.stream();
        let contents = reading.contents(stream, &wanted).await;
        let checks = checks(&reading, &recorded).await?;
        Ok::<_, CommandError>((recorded, contents, checks))
    })?;
    let holds = checks.iter().all(|check| check.holds);
    if wiring.printer.json() {
        let event = EventOut::whole(&recorded, &contents)
            .map_err(|error| CommandError::new(Kind::Integrity, error))?;
        let shown = Shown {
            event,
            holds,
            checks,
        };
        wiring.printer.value(&shown)?;
    } else {
        let look = reading::look(wiring);
        wiring
            .printer
            .data(&page(&recorded, &contents, &checks, &look))?;
    }
    Ok(if holds {
        ExitStatus::Done
    } else {
        ExitStatus::Integrity
    })
}

/// What the record says of other records, beside what those come to.
async fn checks(reading: &Reading, recorded: &Recorded) -> Result<Vec<Check>, CommandError> {
    let envelope = &recorded.envelope;
    let mut before = reading.stream(envelope.stream()).await?;
    before.retain(|other| other.envelope.version() < envelope.version());
    let before: Vec<Envelope> = before.into_iter().map(|other| other.envelope).collect();
    let prev = match before.last() {
        Some(last) => Some(last.digest()),
        None => genesis(reading, envelope).await?,
    };
    let mut checks = vec![check("prev", envelope.header().prev, prev)];
    let event = envelope.event();
    let mut computed = |what, computed: Option<Digest>| {
        checks.push(Check {
            what,
            recorded: None,
            computed,
            holds: computed.is_some(),
        });
    };
    if let Event::CallProposed(_) = event {
        computed("proposal", proposal(envelope));
    }
    if is_request(event) {
        computed("request", Some(envelope.digest()));
    }
    let about = About::of(event);
    let mut names = about.proposal;
    if let Some(named) = about.request {
        let asked = newest(&before, event.call(), is_request);
        checks.push(check("request", named, asked.map(Envelope::digest)));
        names = asked.and_then(|asked| About::of(asked.event()).proposal);
    }
    if let Some(named) = names {
        let proposed = newest(&before, event.call(), |event| {
            matches!(event, Event::CallProposed(_))
        });
        checks.push(check("proposal", named, proposed.and_then(proposal)));
    }
    Ok(checks)
}

/// Whether a person's word names the digest of this record.
const fn is_request(event: &Event) -> bool {
    matches!(
        event,
        Event::ApprovalRequested(_) | Event::QuestionAsked(_) | Event::ExecutionInDoubt(_)
    )
}

fn check(what: &'static str, recorded: Digest, computed: Option<Digest>) -> Check {
    Check {
        what,
        recorded: Some(recorded),
        computed,
        holds: computed == Some(recorded),
    }
}

/// The newest record of a kind about a call.
fn newest(
    before: &[Envelope],
    call: Option<CallId>,
    kind: impl Fn(&Event) -> bool,
) -> Option<&Envelope> {
    let mut newest = before.iter().rev();
    newest.find(|envelope| kind(envelope.event()) && envelope.event().call() == call)
}

/// What a `call.proposed` comes to.
fn proposal(envelope: &Envelope) -> Option<Digest> {
    let Event::CallProposed(_) = envelope.event() else {
        return None;
    };
    let (ledger, run) = (envelope.header().ledger, envelope.stream().run());
    proposal_digest(ledger, run, envelope.body()?, envelope.blobs()).ok()
}

/// What the first record of a stream follows.
async fn genesis(reading: &Reading, envelope: &Envelope) -> Result<Option<Digest>, CommandError> {
    let (ledger, stream) = (envelope.header().ledger, envelope.stream());
    if stream == ledger.authority() {
        return Ok(Some(ledger_genesis(ledger)));
    }
    let mut created = None;
    reading
        .each(|first| {
            if first.envelope.version() == Version::ZERO {
                created = Some(first.envelope.digest());
            }
            false
        })
        .await?;
    Ok(created.map(|created| stream_genesis(ledger, &created, stream)))
}

fn page(recorded: &Recorded, contents: &Contents, checks: &[Check], look: &Look) -> String {
    let envelope = &recorded.envelope;
    let (position, stream, version) = (recorded.position, envelope.stream(), envelope.version());
    let title = format!("#{position} {stream}@{version} {}", envelope.event().name());
    let mut out = look.title(&title);
    let _ignored = writeln!(
        out,
        "\n  digest       {}\n  prev         {}\n  record\n    {}",
        envelope.digest(),
        envelope.header().prev,
        // In one piece, to be copied: nothing in it is anybody's text.
        text::marked(&String::from_utf8_lossy(envelope.bytes())),
    );
    for (role, blob) in envelope.blobs() {
        content(&mut out, role, blob, contents, look);
    }
    for check in checks {
        let what = check.what;
        let digest = |digest: Option<Digest>| {
            digest.map_or_else(|| "nothing".to_owned(), |digest| digest.to_string())
        };
        let computed = digest(check.computed);
        let _ignored = match (check.holds, check.recorded) {
            (true, Some(_)) => writeln!(out, "  holds        {what} {computed}"),
            (true, None) => writeln!(out, "  computed     {what} {computed}"),
            (false, recorded) => writeln!(
                out,
                "  DIFFERS      {what}: recorded {}, comes to {computed}",
                digest(recorded)
            ),
        };
    }
    out
}

fn content(out: &mut String, role: &str, blob: &Blob, contents: &Contents, look: &Look) {
    let role = text::marked(role);
    let Some(bytes) = contents.bytes(&blob.commitment) else {
        let _ignored = writeln!(out, "  {role}: cannot be read");
        return;
    };
    let _ignored = writeln!(out, "  {role}");
    if let Ok(shown) = std::str::from_utf8(bytes) {
        text::block(out, shown, look.margin(Letters::Kept));
    } else {
        let _ignored = writeln!(out, "    not text; in hex:");
        text::block(out, &hex(bytes), look.margin(Letters::Kept));
    }
}
