//! The verdict that a record holds, with what is known of its call.

use super::fold::{RunFold, about};
use super::rows::{Approver, Decision, Kind, Verdict};
use crate::envelope::Recorded;
use crate::event::{ApprovalGranted, Event};

/// The verdict that a record of a run holds, if it holds one; `fold` is the run before it.
pub(super) fn decision(fold: Option<&RunFold>, recorded: &Recorded) -> Option<Decision> {
    let event = recorded.envelope.event();
    let (verdict, by, waits) = match event {
        Event::ApprovalGranted(granted) => {
            let by = Approver::from(granted.by());
            let waits = matches!(granted, ApprovalGranted::ByPerson(_));
            (Verdict::Granted, by, waits)
        }
        Event::ApprovalDenied(denied) => (Verdict::Denied, Approver::from(&denied.by), true),
        Event::ApprovalRevoked(revoked) => (Verdict::Revoked, Approver::from(&revoked.by), false),
        Event::ApprovalExpired(_) => (Verdict::Expired, Approver::nameless(Kind::Clock), true),
        Event::CallRefused(refused) => {
            let by = match &refused.rule {
                Some(rule) => Approver {
                    name: Some(rule.clone()),
                    ..Approver::nameless(Kind::Rule)
                },
                None => Approver::nameless(Kind::Policy),
            };
            (Verdict::Refused, by, false)
        }
        Event::ExecutionSettled(settled) => (Verdict::Settled, Approver::from(&settled.by), false),
        _ => return None,
    };
    let call = event.call()?;
    let (tool, tiers) = about(fold, call, event);
    let asked = fold.and_then(|fold| fold.call(call)?.asked_at);
    let at = recorded.envelope.at();
    Some(Decision {
        position: recorded.position,
        at,
        run: recorded.envelope.stream().run(),
        call,
        tool,
        tiers,
        verdict,
        by,
        waited_ms: asked.filter(|_| waits).map(|asked| at.ms_since(asked)),
    })
}
