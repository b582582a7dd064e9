//! What would become of a call: what each layer of the gate says, and which one decides.
//!
//! The tool's proposing half really runs, which changes nothing; nothing is recorded.

use std::collections::BTreeSet;

use placet_ledger::content::Contents;
use placet_ledger::event::RiskSource;
use placet_ledger::gate_input::{Bench, Hypothetical, Terms, gate_input};
use placet_ledger::id::{CallId, GrantId, Name, RunId};
use placet_ledger::judge::{GateInput, GrantInput, Judged, RulesInput, Verdict};
use placet_ledger::policy::{ApprovalPolicy, Attendance, ContainmentRule};
use placet_ledger::risk::RiskTier;
use placet_ledger::run::{Command, RunState};
use placet_ledger::view::Nearly;

use super::{Engine, EngineError};
use crate::effects::{Act, propose, tools};
use crate::nearest::nearest;
use crate::policy::{
    Case, Certain, CommandEntry, LAYERS, Layer, OverEntry, Stands, certain, mutating, nearest_entry,
};
use crate::runner::RunnerError;
use crate::tool::registry::{Lookup, Registry, Scope};

/// What would become of a call.
#[derive(Debug)]
pub struct Explained {
    /// The tool.
    pub tool: Name,
    /// What the gate says.
    pub verdict: Verdict,
    /// What each layer says, from the strictest down; the first that says something decides.
    pub layers: Vec<(&'static Layer, Option<Verdict>)>,
    /// How its command is read, how rules stand to it, and how it would be shut in.
    pub stands: Stands,
    /// Entries that no longer hold.
    pub over: Vec<OverEntry>,
}

/// The entries that no longer hold.
pub fn over(bench: Bench<'_>) -> Vec<OverEntry> {
    let grants = bench.standing.state.grants().iter();
    grants
        .filter(|(_, grant)| !grant.holds(bench.at))
        .filter_map(|(id, grant)| {
            let entry = bench.standing.contents.bytes(&grant.entry)?;
            Some(OverEntry {
                grant: *id,
                key: CommandEntry::read(entry)?.key,
                revoked: grant.revoked.is_some(),
            })
        })
        .collect()
}

/// The entry of the per-command list that came nearest to covering a call of a run.
pub fn nearly(
    state: &RunState,
    contents: &Contents,
    bench: Bench<'_>,
    call: CallId,
) -> Option<Nearly> {
    let input = gate_input(state, contents, bench, call)?;
    nearest_entry(&input, &over(bench))
}

impl Explained {
    fn of(input: &GateInput<'_>) -> Self {
        let case = Case::of(input);
        let layers = LAYERS.iter().map(|layer| (layer, layer.says(&case)));
        let verdict = case.verdict();
        Self {
            tool: input.tool.clone(),
            layers: layers.collect(),
            stands: Stands::of(input, &verdict),
            verdict,
            over: Vec::new(),
        }
    }

    /// The layer that decides.
    pub fn decided_by(&self) -> Option<&'static Layer> {
        let deciding = self.layers.iter().find(|(_, says)| says.is_some());
        deciding.map(|(layer, _)| *layer)
    }
}

/// What a run would be started with, as far as its gate looks at it.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The tools that it would have.
    pub scope: Scope,
    /// The tools that would run unasked.
    pub allowlist: BTreeSet<Name>,
    /// Up to which tier gated calls would run unasked.
    pub policy: ApprovalPolicy,
    /// Who would be there.
    pub attendance: Attendance,
    /// What would become of calls that cannot be shut in by the whole profile.
    pub containment: ContainmentRule,
    /// Whether a plugin would judge every gated call.
    pub plugin: bool,
    /// Whether a model would judge commands that no rule knows.
    pub classifier: bool,
    /// The rules that would be in force, as JSON.
    pub rules: Vec<u8>,
    /// What the workspace's own rules would take away, as JSON.
    pub narrowing: Option<Vec<u8>>,
    /// What is granted to every run, each entry as its record keeps it.
    pub grants: Vec<(GrantId, Vec<u8>)>,
    /// What was granted and no longer holds.
    pub over: Vec<OverEntry>,
}

/// What would become of a call, as the first one of a new run.
pub async fn explain(
    registry: &Registry,
    setup: &Setup,
    tool: &str,
    arguments: &[u8],
) -> Result<Explained, EngineError> {
    let act = drafted(registry, tool, arguments).await?;
    let call = hypothetical(&act)?;
    let grants: Vec<_> = setup
        .grants
        .iter()
        .map(|(grant, entry)| GrantInput {
            grant: *grant,
            entry,
        })
        .collect();
    let terms = Terms {
        policy: setup.policy,
        allowlist: &setup.allowlist,
        offered: setup.scope.contains(tool),
        attendance: setup.attendance,
        containment: setup.containment,
        plugin: setup.plugin,
        rules: RulesInput {
            recorded: Ok(&setup.rules),
            current: Ok(&setup.rules),
            narrowing: setup.narrowing.as_deref().map(Ok),
        },
        grants: &grants,
    };
    let explained = Explained::of(&known(call.input(terms, None), setup.classifier));
    let over = setup.over.clone();
    Ok(Explained { over, ..explained })
}

impl Engine {
    /// What would become of a call if a run made it now.
    pub async fn explain(
        &self,
        run: RunId,
        tool: &str,
        arguments: &[u8],
    ) -> Result<Explained, EngineError> {
        let (registry, _, config) = self.equip(run).await?;
        let classifier = config.classifier.is_some();
        let act = drafted(&registry, tool, arguments).await?;
        let call = hypothetical(&act)?;
        let explained = self.ledger.look_with(run, |state, contents, bench| {
            let has = tools(state, contents)?;
            let offered = has.iter().any(|has| has.name == *call.tool);
            let grants = bench.grants();
            let terms = Terms::of(state, contents, bench, &grants, offered);
            let repeats = call.repeats(state, contents);
            let explained = Explained::of(&known(call.input(terms, repeats), classifier));
            let over = over(bench);
            Ok(Explained { over, ..explained })
        });
        let explained: Result<_, crate::effects::BriefError> = explained.await?;
        explained.map_err(|error| RunnerError::from(error).into())
    }
}

/// The same, with what comes of a command where nobody is asked: what a rule knows, and high-risk
/// where no model would be. What a plugin would say nobody can tell.
fn known(mut input: GateInput<'_>, classifier: bool) -> GateInput<'_> {
    if input.plugin {
        return input;
    }
    let judged = |source, tier| Judged {
        source,
        tier,
        demand: None,
    };
    input.assessed = match input.command.as_ref().map(certain) {
        Some(Certain::ReadOnly) => Some(judged(RiskSource::Rule, RiskTier::ReadOnly)),
        Some(Certain::HighRisk(_)) => Some(judged(RiskSource::Floor, RiskTier::HighRisk)),
        Some(Certain::Nothing(_)) if !classifier || changes(&input) => {
            Some(judged(RiskSource::Floor, RiskTier::HighRisk))
        }
        Some(Certain::Nothing(_)) | None => None,
    };
    input
}

/// Whether a command clearly changes something, so that no model is asked about it.
fn changes(input: &GateInput<'_>) -> bool {
    let command = input.command.as_ref();
    let text = command.and_then(|command| command.text.as_deref());
    text.is_some_and(|text| mutating(text).is_some())
}

/// The proposal of a call that nobody made.
async fn drafted(registry: &Registry, tool: &str, arguments: &[u8]) -> Result<Act, EngineError> {
    match registry.visible(tool) {
        Lookup::Tool(found) => {
            let fits = found.read_arguments(arguments);
            fits.map_err(|error| EngineError::Arguments(error.to_string()))?;
            Ok(propose(CallId::FIRST, found, arguments).await)
        }
        Lookup::HiddenHalf | Lookup::Unknown => Err(EngineError::UnknownTool {
            name: tool.chars().take(160).collect(),
            nearest: nearest(tool, registry.names().map(Name::as_str)).map(str::to_owned),
        }),
    }
}

/// The same as the gate looks at it, or why there is no proposal.
fn hypothetical(act: &Act) -> Result<Hypothetical<'_>, EngineError> {
    let text = |name: &str| act.texts.get(name).map(|text| &text.bytes[..]);
    let Command::Propose(proposal) = &act.command else {
        return Err(no_proposal(act));
    };
    Ok(Hypothetical {
        tool: &proposal.tool,
        paired: proposal.execute.is_some(),
        declared: proposal.risk,
        arguments: text("arguments").unwrap_or_default(),
        execute_arguments: text("execute_arguments"),
        precondition: text("precondition"),
        program: text("program"),
        class: proposal.program,
        network: &proposal.network,
        level: &proposal.level,
    })
}

/// Why a tool makes no proposal, in its own words.
pub(super) fn no_proposal(act: &Act) -> EngineError {
    let detail = act.texts.get("detail").map(|text| &text.bytes[..]);
    let detail = String::from_utf8_lossy(detail.unwrap_or_default());
    EngineError::NoProposal(detail.into_owned())
}
