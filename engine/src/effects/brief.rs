//! The brief for an effect: all that it needs to know, gathered from the folded run, pure.

use placet_ledger::budget::Spend;
use placet_ledger::canonical::EncodeError;
use placet_ledger::content::{Blob, Contents};
use placet_ledger::digest::Digest;
use placet_ledger::event::RiskSource;
use placet_ledger::gate_input::command_input;
use placet_ledger::id::{CallId, Name, RunId};
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::precondition::{Aim, Precondition};
use placet_ledger::run::{Aside, AsideStands, Call, Effect, RunState, Turn};
use placet_ledger::time::Timestamp;
use serde_json::Value;

use crate::classify::{MESSAGES_MAX, Question, Said};
use crate::context::{Conversation, Provider};
use crate::model::Request;
use crate::model::estimate::reserve;
use crate::price::Price;
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
    /// Wait until the model may be called again, where it could not answer before.
    Prepare {
        /// Whether it is to say first in fewer words what was said so far.
        compact: bool,
        /// Digest of what would be sent.
        context: Digest,
        /// What that may take.
        reserved: Spend,
        /// When it may be called.
        not_before: Option<Timestamp>,
        /// How long the segment may still be active, from its beginning on.
        left_ms: Option<u64>,
    },
    /// Call the model for a summary.
    Compact {
        /// The conversation.
        request: Request,
        /// How many replies of the run it sums up.
        replies: usize,
        /// How it is called.
        calling: Calling,
    },
    /// Call the model. Tools of the request are named; the handler knows the rest of them.
    Complete {
        /// The conversation.
        request: Request,
        /// The tools that the run has.
        tools: Vec<ScopeTool>,
        /// The id of the first call that the reply may name.
        next_call: CallId,
        /// How it is called.
        calling: Calling,
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

/// How a model is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calling {
    /// The run.
    pub run: RunId,
    /// Which attempt it is.
    pub attempt: u32,
    /// What its tokens cost.
    pub price: Price,
    /// How long the segment may still be active, from its beginning on.
    pub left_ms: Option<u64>,
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
            conversation.config().ok_or(BriefError::Content("config"))?;
            let input = conversation.input_tokens(tools.len());
            let left = state.usage().remaining(state.limits());
            let reserved = reserve(conversation.terms(), input, &left);
            // Where a cap ends the run there is nothing to wait for.
            let goes_on = state
                .usage()
                .blocks_turn(state.limits(), reserved)
                .is_none();
            Ok(Brief::Prepare {
                compact: conversation.replies_to_shorten(input).is_some(),
                context,
                reserved,
                not_before: not_before(state).filter(|_| goes_on),
                left_ms: left.duration_ms,
            })
        }
        Effect::Compact { attempt } => {
            conversation.extend(state, contents)?;
            let tools = conversation.tools(state);
            let tools = tools.ok_or(BriefError::Content("scope"))?;
            let input = conversation.input_tokens(tools.len());
            // As long as nothing else is said, what was found too long still is.
            let replies = conversation.replies_to_shorten(input);
            let replies = replies.ok_or(BriefError::Content("beginning"))?;
            Ok(Brief::Compact {
                request: Request {
                    output_tokens: output_tokens(state, conversation),
                    ..conversation.summary(replies)
                },
                replies,
                calling: calling(state, conversation, attempt),
            })
        }
        Effect::Complete { attempt } => {
            conversation.extend(state, contents)?;
            let request = Request {
                messages: conversation.messages().to_vec(),
                tools: Vec::new(),
                output_tokens: output_tokens(state, conversation),
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
                calling: calling(state, conversation, attempt),
            })
        }
        Effect::Propose(call) => propose(state, contents, call),
        Effect::Assess(call) => assess(state, contents, call),
        Effect::Reconcile(call) => reconcile(state, contents, call),
    }
}

/// When the model may be called again that could not answer.
fn not_before(state: &RunState) -> Option<Timestamp> {
    if let Some(Aside {
        stands: AsideStands::Failed { retry, .. },
        ..
    }) = state.aside()
    {
        return *retry;
    }
    match state.turn() {
        Turn::Failed { retry, .. } => retry.map(|retry| retry.at),
        Turn::Ready | Turn::Called { .. } | Turn::Replied { .. } => None,
    }
}

/// What was set aside for output in the open call of the model, where its tokens are counted.
fn output_tokens(state: &RunState, conversation: &Conversation) -> Option<u64> {
    conversation.terms()?;
    let open = |reserved: Spend| Some(reserved.tokens.output);
    match (state.aside(), state.turn()) {
        (
            Some(Aside {
                stands: AsideStands::Called { reserved, .. },
                ..
            }),
            _,
        )
        | (_, Turn::Called { reserved, .. }) => open(*reserved),
        (_, Turn::Ready | Turn::Replied { .. } | Turn::Failed { .. }) => None,
    }
}

fn calling(state: &RunState, conversation: &Conversation, attempt: u32) -> Calling {
    let price = conversation.terms().and_then(|terms| terms.price);
    Calling {
        run: state.run(),
        attempt,
        price: price.unwrap_or(Price::FREE),
        left_ms: state.usage().remaining(state.limits()).duration_ms,
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
        asking: state.is_asking(),
        left: state.usage().remaining(state.limits()),
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
