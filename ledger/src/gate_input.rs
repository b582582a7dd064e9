//! What the gate is given about one call, gathered from the folded run and its contents.
//!
//! The owner gathers it before a verdict, verification once more from what stood before that
//! verdict: both judge the same thing.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::authority::Standing;
use crate::containment::Level;
use crate::content::{Blob, Commitment, Contents};
use crate::id::{CallId, Name};
use crate::judge::{CommandInput, GateInput, GrantInput, Judged, RulesInput, Unreadable};
use crate::limits::DENIALS_OF_TARGET_MAX;
use crate::policy::{ASK_USER, ApprovalPolicy, Attendance, ContainmentRule, EXECUTE_COMMAND};
use crate::precondition::Aim;
use crate::program::ProgramClass;
use crate::risk::DeclaredRisk;
use crate::run::{Call, Proposed, RunState};
use crate::time::Timestamp;

/// By what every run is judged at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Bench<'a> {
    /// Who and what is trusted.
    pub standing: Standing<'a>,
    /// The moment.
    pub at: Timestamp,
    /// How far a process can be shut in, where that is weaker than what was shown.
    pub weaker: Option<&'a Level>,
}

/// What the gate is given about one proposed call; `None` if there is no proposal of it.
pub fn gate_input<'a>(
    state: &'a RunState,
    contents: &'a Contents,
    bench: Bench<'a>,
    call: CallId,
) -> Option<GateInput<'a>> {
    let call = state.call(call)?;
    let proposed = call.proposed()?;
    let shown = call.shown_level().unwrap_or(&proposed.level);
    Some(GateInput {
        tool: &proposed.tool,
        paired: proposed.execute.is_some(),
        question: proposed.is_question(),
        reach: reach(contents, proposed),
        declared: proposed.declared,
        policy: state.policy(),
        allowlist: state.allowlist(),
        offered: state.offers(&proposed.tool),
        attendance: attendance(state, call),
        repeats: repeats(state, contents, call),
        command: command_input(contents, proposed),
        level: bench.weaker.unwrap_or(shown).clone(),
        weaker: bench.weaker.is_some(),
        containment: state.started().containment,
        assessed: call.assessed().map(|assessed| Judged {
            source: assessed.source,
            demand: assessed.demand,
            tier: assessed.tier,
        }),
        // Whoever amends a call drives no run, and waits for its verdict.
        judgeable: call.supersedes().is_none(),
        plugin: state.started().plugin.is_some(),
        rules: rules(state, contents, bench.standing),
        grants: grants(bench),
    })
}

/// The command of a call that runs one.
pub fn command_input(contents: &Contents, proposed: &Proposed) -> Option<CommandInput> {
    let text = contents.bytes(&runs(proposed).commitment);
    let program = proposed.runs.map(|blob| contents.bytes(&blob.commitment));
    proposed.is_command().then(|| CommandInput {
        text: text.and_then(command_text),
        class: proposed.program,
        program: program
            .flatten()
            .and_then(|bytes| serde_json::from_slice(bytes).ok()),
        network: proposed.network.clone(),
    })
}

/// The command in the arguments of the tool that runs commands.
fn command_text(arguments: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Arguments {
        command: String,
    }
    let arguments: Arguments = serde_json::from_slice(arguments).ok()?;
    Some(arguments.command)
}

/// The rules by which a run is judged.
fn rules<'a>(state: &RunState, contents: &'a Contents, standing: Standing<'a>) -> RulesInput<'a> {
    let text = |commitment: &Commitment| standing.contents.bytes(commitment).ok_or(Unreadable);
    let narrowing = state.texts().get("narrowing");
    RulesInput {
        recorded: text(&state.started().rules),
        current: standing
            .state
            .rules()
            .ok_or(Unreadable)
            .and_then(|rules| text(&rules)),
        narrowing: narrowing.map(|blob| contents.bytes(&blob.commitment).ok_or(Unreadable)),
    }
}

/// What is granted to every run now. What cannot be read allows nothing.
fn grants(bench: Bench<'_>) -> Vec<GrantInput<'_>> {
    let held = bench.standing.state.grants().iter();
    held.filter(|(_, grant)| grant.holds(bench.at))
        .filter_map(|(id, grant)| {
            let entry = bench.standing.contents.bytes(&grant.entry)?;
            Some(GrantInput { grant: *id, entry })
        })
        .collect()
}

/// Who can answer. Whoever amends a call of a run that nobody drives is there, and the run waits
/// already.
fn attendance(state: &RunState, call: &Call) -> Attendance {
    match (state.segment(), call.supersedes()) {
        (None, Some(_)) => Attendance::Park,
        (Some(_), _) | (None, None) => state.attendance(),
    }
}

/// A call that a person denied and that this one repeats: with equal arguments, given or to be run,
/// or the last of several at the same target. Equal content of one stream has one commitment.
fn repeats(state: &RunState, contents: &Contents, call: &Call) -> Option<CallId> {
    let proposed = call.proposed()?;
    let runs = runs(proposed).commitment;
    let equal = |other: &Proposed| {
        // The same change can be asked for in other words.
        other.arguments.commitment == proposed.arguments.commitment
            || self::runs(other).commitment == runs
    };
    let denied: Vec<_> = denied_before(state, call).collect();
    repeated(state, contents, &denied, equal, target(contents, call))
}

/// What a call would run: the arguments of its executing half, or those of a plain tool.
fn runs(proposed: &Proposed) -> Blob {
    proposed.execute_arguments.unwrap_or(proposed.arguments)
}

/// The newest of `denied`, calls of one tool, that is equal, or the last of several at the same
/// target.
fn repeated(
    state: &RunState,
    contents: &Contents,
    denied: &[&Call],
    equal: impl Fn(&Proposed) -> bool,
    target: Option<String>,
) -> Option<CallId> {
    let same = |other: &&&Call| other.proposed().is_some_and(&equal);
    if let Some(equal) = denied.iter().rfind(same) {
        return Some(equal.id());
    }
    let target = target?;
    // Several denials hold until a person says something more; a single one of the same for ever.
    let lately: Vec<_> = state.denied_lately().map(Call::id).collect();
    let same: Vec<_> = denied
        .iter()
        .filter(|other| lately.contains(&other.id()))
        .filter(|other| self::target(contents, other).as_ref() == Some(&target))
        .collect();
    if same.len() < DENIALS_OF_TARGET_MAX {
        None
    } else {
        same.last().map(|last| last.id())
    }
}

/// A call that nobody made: its proposal as it would be recorded, to ask what would become of it.
#[derive(Debug, Clone, Copy)]
pub struct Hypothetical<'a> {
    /// The tool.
    pub tool: &'a Name,
    /// Whether the tool is a pair.
    pub paired: bool,
    /// What the tool declares.
    pub declared: DeclaredRisk,
    /// The effective arguments.
    pub arguments: &'a [u8],
    /// The arguments of the executing half, where they have a place of their own.
    pub execute_arguments: Option<&'a [u8]>,
    /// What the preview was computed against.
    pub precondition: Option<&'a [u8]>,
    /// The program that it would run.
    pub program: Option<&'a [u8]>,
    /// Whose hands that is in.
    pub class: Option<ProgramClass>,
    /// TCP ports that it wants.
    pub network: &'a BTreeSet<u16>,
    /// How its process would be shut in.
    pub level: &'a Level,
}

/// By what a call is judged: what a run has at this moment, or would be started with.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// The policy.
    pub policy: ApprovalPolicy,
    /// The tools that run unasked.
    pub allowlist: &'a BTreeSet<Name>,
    /// Whether the tool is among the run's tools.
    pub offered: bool,
    /// Who can answer.
    pub attendance: Attendance,
    /// What becomes of calls that cannot be shut in by the whole profile.
    pub containment: ContainmentRule,
    /// Whether a plugin judges every gated call.
    pub plugin: bool,
    /// The rules.
    pub rules: RulesInput<'a>,
    /// What is granted to every run.
    pub grants: &'a [GrantInput<'a>],
}

impl<'a> Terms<'a> {
    /// By what a run is judged now.
    pub fn of(
        state: &'a RunState,
        contents: &'a Contents,
        bench: Bench<'a>,
        grants: &'a [GrantInput<'a>],
        offered: bool,
    ) -> Self {
        Self {
            policy: state.policy(),
            allowlist: state.allowlist(),
            offered,
            attendance: state.attendance(),
            containment: state.started().containment,
            plugin: state.started().plugin.is_some(),
            rules: rules(state, contents, bench.standing),
            grants,
        }
    }
}

impl<'a> Bench<'a> {
    /// What is granted to every run at this moment.
    pub fn grants(self) -> Vec<GrantInput<'a>> {
        grants(self)
    }
}

impl<'a> Hypothetical<'a> {
    /// What the gate would be given about it.
    pub fn input(&self, terms: Terms<'a>, repeats: Option<CallId>) -> GateInput<'a> {
        GateInput {
            tool: self.tool,
            paired: self.paired,
            question: self.tool.as_str() == ASK_USER,
            reach: match self.precondition {
                None => Some(Vec::new()),
                Some(_) => self.aims().map(|aims| aims.reach()),
            },
            declared: self.declared,
            policy: terms.policy,
            allowlist: terms.allowlist,
            offered: terms.offered,
            attendance: terms.attendance,
            repeats,
            command: (self.tool.as_str() == EXECUTE_COMMAND).then(|| self.command()),
            level: self.level.clone(),
            weaker: false,
            containment: terms.containment,
            assessed: None,
            judgeable: true,
            plugin: terms.plugin,
            rules: terms.rules,
            grants: terms.grants.to_vec(),
        }
    }

    fn command(&self) -> CommandInput {
        CommandInput {
            text: command_text(self.execute_arguments.unwrap_or(self.arguments)),
            class: self.class,
            program: self
                .program
                .and_then(|bytes| serde_json::from_slice(bytes).ok()),
            network: self.network.clone(),
        }
    }

    /// A call that a person denied and that it would repeat, compared by the bytes.
    pub fn repeats(&self, state: &RunState, contents: &Contents) -> Option<CallId> {
        let is = |blob: Blob, bytes: &[u8]| contents.bytes(&blob.commitment) == Some(bytes);
        let would_run = self.execute_arguments.unwrap_or(self.arguments);
        let equal =
            |other: &Proposed| is(other.arguments, self.arguments) || is(runs(other), would_run);
        let denied = state
            .denied()
            .filter(|other| other.tool() == Some(self.tool));
        let target = self
            .aims()
            .map(|aims| aims.precondition().path().to_owned());
        let denied: Vec<_> = denied.collect();
        repeated(state, contents, &denied, equal, target)
    }

    fn aims(&self) -> Option<Aim> {
        serde_json::from_slice(self.precondition?).ok()
    }
}

/// Earlier calls of the same tool that a person denied, in order.
pub fn denied_before<'a>(state: &'a RunState, call: &'a Call) -> impl Iterator<Item = &'a Call> {
    state
        .denied()
        .filter(|other| other.id() < call.id() && other.tool() == call.tool())
}

/// The contents of the authority stream that [`gate_input`] reads: the rules of a run, those in
/// force, and what is granted.
pub fn gate_needs_of_authority(state: &RunState, bench: Bench<'_>) -> BTreeSet<Commitment> {
    let granted = bench.standing.state.grants().values();
    granted
        .filter(|grant| grant.holds(bench.at))
        .map(|grant| grant.entry)
        .chain(bench.standing.state.rules())
        .chain([state.started().rules])
        .collect()
}

/// The contents that [`gate_input`] reads: where this call and those denied before it aim.
pub fn gate_needs(state: &RunState, call: CallId) -> BTreeSet<Commitment> {
    let Some(call) = state.call(call) else {
        return BTreeSet::new();
    };
    let aims = denied_before(state, call)
        .chain([call])
        .filter_map(|aims| Some(aims.proposed()?.precondition?.commitment));
    let command = call.proposed().filter(|proposed| proposed.is_command());
    let command = command.into_iter().flat_map(|proposed| {
        let runs = [Some(runs(proposed)), proposed.runs];
        runs.into_iter().flatten().map(|blob| blob.commitment)
    });
    let narrowing = state.texts().get("narrowing").map(|blob| blob.commitment);
    aims.chain(command).chain(narrowing).collect()
}

/// What a call aims at.
fn aim(contents: &Contents, proposed: &Proposed) -> Option<Aim> {
    let blob = proposed.precondition.as_ref()?;
    serde_json::from_slice(contents.bytes(&blob.commitment)?).ok()
}

/// Path of what a call would change.
pub fn target(contents: &Contents, call: &Call) -> Option<String> {
    let aim = aim(contents, call.proposed()?)?;
    Some(aim.precondition().path().to_owned())
}

/// Every path that a call is about.
pub fn places(contents: &Contents, call: &Call) -> Option<Vec<String>> {
    let aim = aim(contents, call.proposed()?)?;
    let places = aim.precondition().places().into_iter();
    Some(places.map(str::to_owned).collect())
}

/// The paths that a call may write or remove; `None` where that cannot be read.
fn reach(contents: &Contents, proposed: &Proposed) -> Option<Vec<String>> {
    match proposed.precondition {
        None => Some(Vec::new()),
        Some(_) => aim(contents, proposed).map(|aim| aim.reach()),
    }
}
