//! The brief for an effect: all that it needs to know, gathered from the folded run, pure.

use placet_ledger::canonical::EncodeError;
use placet_ledger::content::{Blob, Contents};
use placet_ledger::digest::Digest;
use placet_ledger::event::RiskSource;
use placet_ledger::gate_input::command_input;
use placet_ledger::id::{CallId, Name, RunId};
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::precondition::{Aim, Precondition};
use placet_ledger::run::{Call, Effect, RunState};
use serde_json::Value;

use crate::classify::{MESSAGES_MAX, Question, Said};
use crate::context::{Conversation, Provider};
use crate::model::Request;
use crate::record::{ScopeRecord, ScopeTool, WorkspaceRecord};

/// Why an effect cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum BriefError {
    /// A content that is needed is not there or not readable.
    #[error("the {0} of the run cannot be read")]
    Content(&'static str),
    /// Something has no canonical form.
    #[error("cannot encode the conversation")]
    Encode(#[from] EncodeError),
}

/// All that an effect needs to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Brief {
    /// Estimate what calling the model will take.
    Prepare {
        /// Digest of what would be sent.
        context: Digest,
        /// Bytes of what would be sent.
        bytes: u64,
    },
    /// Call the model. Tools of the request are named; the handler knows the rest of them.
    Complete {
        /// The conversation.
        request: Request,
        /// The tools that the run has.
        tools: Vec<ScopeTool>,
        /// The id of the first call that the reply may name.
        next_call: CallId,
    },
    /// Make a proposal.
    Propose {
        /// The call.
        call: CallId,
        /// The tool, where the name is one of this run's.
        tool: Option<Name>,
        /// The name otherwise.
        foreign: String,
        /// The tools that the run has, where the name is none of them.
        known: Vec<ScopeTool>,
        /// Whether the run still has the tool.
        offered: bool,
        /// The arguments as the model wrote them.
        arguments: Vec<u8>,
        /// How many more calls the reply had than are handled, where this is the last.
        over: Option<usize>,
    },
    /// Have a proposal judged.
    Assess(Box<Question>),
    /// Find out what became of an interrupted execution.
    Reconcile {
        /// The run.
        run: RunId,
        /// The call.
        call: CallId,
        /// The tool.
        tool: Name,
        /// Arguments of the executing half.
        arguments: Value,
        /// What had to be so when it started.
        precondition: Option<Precondition>,
    },
}

/// The tools of a run now: those of its scope that it still has.
pub(crate) fn tools(state: &RunState, contents: &Contents) -> Result<Vec<ScopeTool>, BriefError> {
    let scope = scope(state, contents)?;
    Ok(scope
        .tools
        .into_iter()
        .filter(|tool| state.offers(&tool.name))
        .collect())
}

/// The scope a run was started with.
pub(crate) fn scope(state: &RunState, contents: &Contents) -> Result<ScopeRecord, BriefError> {
    crate::context::scope(state, contents).ok_or(BriefError::Content("scope"))
}

/// The brief for one effect.
pub fn brief(
    state: &RunState,
    contents: &Contents,
    conversation: &mut Conversation,
    effect: Effect,
) -> Result<Brief, BriefError> {
    match effect {
        Effect::Prepare { .. } => {
            conversation.extend(state, contents)?;
            let tools = conversation.tools(state);
            let tools = tools.ok_or(BriefError::Content("scope"))?;
            let context = conversation.digest(&state.started().model, &tools)?;
            Ok(Brief::Prepare {
                context,
                bytes: conversation.bytes(),
            })
        }
        Effect::Complete { .. } => {
            conversation.extend(state, contents)?;
            let request = Request {
                messages: conversation.messages().to_vec(),
                tools: Vec::new(),
                output_tokens: None,
                turn: state.replies().len(),
            };
            let next_call = state
                .next_call()
                .ok_or(BriefError::Content("next call id"))?;
            Ok(Brief::Complete {
                request,
                tools: conversation
                    .tools(state)
                    .ok_or(BriefError::Content("scope"))?,
                next_call,
            })
        }
        Effect::Propose(call) => propose(state, contents, call),
        Effect::Assess(call) => assess(state, contents, call),
        Effect::Reconcile(call) => reconcile(state, contents, call),
    }
}

fn propose(state: &RunState, contents: &Contents, id: CallId) -> Result<Brief, BriefError> {
    let call = state.call(id).ok_or(BriefError::Content("call"))?;
    let reply = state.replies().last().ok_or(BriefError::Content("reply"))?;
    let provider = Provider::read(contents, reply.provider.as_ref());
    let received = call.received().ok_or(BriefError::Content("arguments"))?;
    let arguments = contents
        .bytes(&received.commitment)
        .ok_or(BriefError::Content("arguments"))?;
    let last = reply.calls.last() == Some(&id);
    let known = match call.tool() {
        Some(_) => Vec::new(),
        None => tools(state, contents)?,
    };
    Ok(Brief::Propose {
        call: id,
        tool: call.tool().cloned(),
        foreign: provider.name(id),
        known,
        offered: call.tool().is_some_and(|tool| state.offers(tool)),
        arguments: arguments.to_vec(),
        over: provider.over.filter(|_| last),
    })
}

fn assess(state: &RunState, contents: &Contents, id: CallId) -> Result<Brief, BriefError> {
    let call = state.call(id).ok_or(BriefError::Content("call"))?;
    let proposed = call.proposed().ok_or(BriefError::Content("proposal"))?;
    let said = |blob: &Blob| {
        let commitment = blob.commitment;
        let text = contents.bytes(&commitment)?;
        let text = String::from_utf8_lossy(text).into_owned();
        Some(Said { commitment, text })
    };
    let runs = proposed
        .execute_arguments
        .as_ref()
        .unwrap_or(&proposed.arguments);
    let tier_matters = match state.policy() {
        ApprovalPolicy::ReadOnly | ApprovalPolicy::LowRisk => true,
        ApprovalPolicy::False | ApprovalPolicy::HighRisk => false,
    };
    let attended = state.attendance() == Attendance::Person;
    let prompts = state.texts().get("prompt").into_iter();
    let messages: Vec<_> = prompts
        .chain(state.later().iter().filter_map(|later| later.text.as_ref()))
        .collect();
    let messages = messages.into_iter().rev().take(MESSAGES_MAX);
    let by_model = |call: &&Call| {
        let judged = call.assessed().map(|assessed| assessed.source);
        judged == Some(RiskSource::Model)
    };
    let workspace = state.texts().get("workspace");
    let workspace = workspace.and_then(|blob| contents.bytes(&blob.commitment));
    let workspace = workspace.and_then(|bytes| serde_json::from_slice(bytes).ok());
    Ok(Brief::Assess(Box::new(Question {
        run: state.run(),
        call: id,
        proposal: proposed.digest,
        tool: proposed.tool.clone(),
        declared: proposed.declared,
        arguments: said(runs).ok_or(BriefError::Content("arguments"))?,
        command: command_input(contents, proposed),
        conversation: messages.filter(|_| attended).filter_map(said).collect(),
        tier_matters,
        plugin: state.started().plugin,
        workspace: workspace.map(|record: WorkspaceRecord| record.path),
        judged_before: state.calls().filter(by_model).count(),
    })))
}

fn reconcile(state: &RunState, contents: &Contents, id: CallId) -> Result<Brief, BriefError> {
    let proposed = state.call(id).and_then(|call| call.proposed());
    let proposed = proposed.ok_or(BriefError::Content("proposal"))?;
    let blob = proposed.execute_arguments.unwrap_or(proposed.arguments);
    let read = |commitment, what| contents.bytes(commitment).ok_or(BriefError::Content(what));
    let arguments = serde_json::from_slice(read(&blob.commitment, "arguments")?)
        .map_err(|_| BriefError::Content("arguments"))?;
    let precondition = match &proposed.precondition {
        None => None,
        Some(blob) => {
            let bytes = read(&blob.commitment, "precondition")?;
            let aim: Aim =
                serde_json::from_slice(bytes).map_err(|_| BriefError::Content("precondition"))?;
            Some(aim.into_precondition())
        }
    };
    let tool = proposed.tool.clone();
    Ok(Brief::Reconcile {
        run: state.run(),
        call: id,
        tool,
        arguments,
        precondition,
    })
}
