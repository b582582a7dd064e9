//! What projections are held against: the whole log, folded with all that a run is.

use std::collections::BTreeMap;

use placet_ledger::envelope::{Envelope, Recorded};
use placet_ledger::event::{ApprovalGranted, Event};
use placet_ledger::id::{CallId, Position, RunId};
use placet_ledger::projection::{Approver, Decision, Kind, Verdict};
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::run::RunState;
use placet_ledger::time::Timestamp;
use placet_ledger::view::{CardKind, Projection, RunEntry, RunList, inbox};

/// What is known of the whole log, the slow way.
#[derive(Default)]
pub(super) struct Slow {
    pub(super) runs: RunList,
    tiers: BTreeMap<(RunId, CallId), Vec<DeclaredRisk>>,
    pub(super) decisions: Vec<Decision>,
}

impl Slow {
    pub(super) fn of(records: &[Envelope]) -> Self {
        let mut slow = Self::default();
        for (place, envelope) in records.iter().enumerate() {
            let recorded = Recorded {
                position: Position::new(place as u64),
                envelope: envelope.clone(),
            };
            slow.take(&recorded);
        }
        slow
    }

    fn take(&mut self, recorded: &Recorded) {
        let envelope = &recorded.envelope;
        let (event, run) = (envelope.event(), envelope.stream().run());
        if let Some(call) = event.call().filter(|_| self.runs.get(run).is_some()) {
            let tier = match event {
                Event::CallProposed(e) => Some(e.risk),
                Event::RiskAssessed(e) => Some(e.tier.into()),
                Event::ApprovalRequested(e) => Some(e.tier),
                Event::ApprovalGranted(ApprovalGranted::Automatic(e)) => Some(e.tier),
                _ => None,
            };
            let tiers = self.tiers.entry((run, call)).or_default();
            tiers.retain(|known| Some(*known) != tier);
            tiers.extend(tier);
            let tiers = tiers.clone();
            let state = self.runs.get(run).and_then(RunEntry::state);
            self.decisions.extend(decided(state, call, tiers, recorded));
        }
        self.runs.apply(recorded);
    }

    pub(super) fn pending(&self) -> Vec<(RunId, CallId, Option<CardKind>, Option<Timestamp>)> {
        let cards = inbox(&self.runs, &BTreeMap::new());
        let card = cards
            .into_iter()
            .map(|card| (card.run, card.call, Some(card.kind), card.expires_at));
        card.collect()
    }
}

fn decided(
    state: Option<&RunState>,
    id: CallId,
    tiers: Vec<DeclaredRisk>,
    recorded: &Recorded,
) -> Option<Decision> {
    let nameless = |kind| Approver {
        kind,
        name: None,
        assurance: None,
    };
    let (verdict, by, waits) = match recorded.envelope.event() {
        Event::ApprovalGranted(e @ ApprovalGranted::ByPerson(_)) => {
            (Verdict::Granted, e.by().into(), true)
        }
        Event::ApprovalGranted(e) => (Verdict::Granted, e.by().into(), false),
        Event::ApprovalDenied(e) => (Verdict::Denied, (&e.by).into(), true),
        Event::ApprovalRevoked(e) => (Verdict::Revoked, (&e.by).into(), false),
        Event::ApprovalExpired(_) => (Verdict::Expired, nameless(Kind::Clock), true),
        Event::CallRefused(e) => {
            let kind = if e.rule.is_some() {
                Kind::Rule
            } else {
                Kind::Policy
            };
            let name = e.rule.clone();
            let by = Approver {
                name,
                ..nameless(kind)
            };
            (Verdict::Refused, by, false)
        }
        Event::ExecutionSettled(e) => (Verdict::Settled, (&e.by).into(), false),
        _ => return None,
    };
    let call = state?.call(id)?;
    let asked = call.requested().map(|asked| asked.at);
    let asked = asked.or(call.question().map(|asked| asked.at));
    let at = recorded.envelope.at();
    Some(Decision {
        position: recorded.position,
        at,
        run: state?.run(),
        call: id,
        tool: call.tool().cloned(),
        tiers,
        verdict,
        by,
        waited_ms: asked.filter(|_| waits).map(|asked| at.ms_since(asked)),
    })
}
