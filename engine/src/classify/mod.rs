//! What judges a command that no rule knows: plugin, model; anything unclear is high-risk.
//!
//! A plugin is asked first, about every gated call of a run that has one. It may raise anything; it
//! lowers no hazard, and no tool that says itself how risky it is. What it leaves to others is
//! judged by the rule, and else by the model, which is asked only where its word would change what
//! happens, and never about what clearly changes something. Only the exact words `read-only` and
//! `low-risk` lower anything.

mod model;
mod plugin;
mod prompt;
mod verdict;

use std::fmt;
use std::sync::Arc;

use placet_ledger::budget::{Limits, Spend};
use placet_ledger::canonical;
use placet_ledger::content::{Commitment, Text, Texts};
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::event::{Demand, RiskSource};
use placet_ledger::id::{CallId, Name, RunId};
use placet_ledger::judge::CommandInput;
use placet_ledger::risk::{DeclaredRisk, RiskTier};
use placet_ledger::run::{Assessment, Command};
use serde::Serialize;

use crate::policy::{Certain, certain, mutating};
use plugin::Lowers;

pub use model::{Classifier, MODEL_LIMIT_MS};
pub use plugin::{Answer, PLUGIN_LIMIT_MS, Plugin, Program};
pub use prompt::{MESSAGE_CHARS_MAX, MESSAGES_MAX, PROMPT_VERSION};

/// A text with its commitment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The commitment.
    pub commitment: Commitment,
    /// The text.
    pub text: String,
}

/// A proposal that is to be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// Digest of its proposal.
    pub proposal: Digest,
    /// The tool.
    pub tool: Name,
    /// What the tool declares.
    pub declared: DeclaredRisk,
    /// The arguments of the half that executes, canonical JSON.
    pub arguments: Said,
    /// What a command would run.
    pub command: Option<CommandInput>,
    /// The newest messages of a person in an interactive run, newest first.
    pub conversation: Vec<Said>,
    /// Whether the verdict depends on the tier.
    pub tier_matters: bool,
    /// Digest of the plugin that judges every gated call of the run.
    pub plugin: Option<Digest>,
    /// The folder that the run works in.
    pub workspace: Option<String>,
    /// How many calls of the run a model judged before.
    pub judged_before: usize,
    /// Whether it is recorded that a model is asked about it now.
    pub asking: bool,
    /// What is left of the run's caps.
    pub left: Limits,
}

/// What was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What judged.
    pub source: RiskSource,
    /// The tier.
    pub tier: RiskTier,
    /// What a plugin wants beside it.
    pub demand: Option<Demand>,
    /// Why.
    pub reason: String,
    /// The model, with the version of its prompt and where it was asked.
    pub model: Option<Asked>,
    /// What asking it took, where that is known.
    pub used: Option<Spend>,
}

/// What comes of having a call judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assessed {
    /// A judgement.
    Judged(Judgement),
    /// A model is to be asked, which is recorded first.
    Ask {
        /// The model.
        model: Name,
        /// Digest of all that will be given to it.
        inputs: Digest,
        /// What that may take.
        reserved: Spend,
    },
}

/// Whom a judgement comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The model.
    pub model: Name,
    /// Version of the prompt.
    pub prompt: u32,
    /// Where it was asked.
    pub endpoint: String,
}

/// All that was given to whatever judged, every text by its commitment.
#[derive(Serialize)]
struct Inputs<'a> {
    arguments: Commitment,
    conversation: Vec<Commitment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<u32>,
    proposal: Digest,
    tool: &'a Name,
}

impl Question {
    /// What is certain without asking anybody: what a rule knows, or the floor.
    pub fn unsaid(&self) -> Judgement {
        let judged = |source, tier, reason| Judgement {
            source,
            tier,
            demand: None,
            reason,
            model: None,
            used: None,
        };
        let Some(command) = &self.command else {
            let tier = self.declared.known().unwrap_or(RiskTier::HighRisk);
            let reason = String::from("as the tool declares");
            return judged(RiskSource::Floor, tier, reason);
        };
        match certain(command) {
            Certain::ReadOnly => {
                let reason = String::from("plainly read-only");
                judged(RiskSource::Rule, RiskTier::ReadOnly, reason)
            }
            Certain::HighRisk(why) => judged(RiskSource::Floor, RiskTier::HighRisk, why),
            Certain::Nothing(why) => {
                let found = command.text.as_deref().and_then(mutating);
                let why = found.map_or(why, |found| format!("it changes things: {found}"));
                judged(RiskSource::Floor, RiskTier::HighRisk, why)
            }
        }
    }

    /// The command, where a model may say how risky it is and that would change what happens.
    fn for_a_model(&self) -> Option<&str> {
        let command = self.command.as_ref().filter(|_| self.tier_matters)?;
        let text = command.text.as_deref()?;
        match certain(command) {
            Certain::Nothing(_) => mutating(text).is_none().then_some(text),
            Certain::ReadOnly | Certain::HighRisk(_) => None,
        }
    }

    /// How far a plugin may lower the call.
    fn may_lower(&self) -> Lowers {
        match self.command.as_ref().map(certain) {
            Some(Certain::ReadOnly | Certain::Nothing(_)) => Lowers::Anything,
            Some(Certain::HighRisk(_)) | None => Lowers::Nothing,
        }
    }

    fn inputs(&self, prompt: Option<u32>, source: RiskSource) -> Digest {
        let inputs = Inputs {
            arguments: self.arguments.commitment,
            conversation: self
                .conversation
                .iter()
                .map(|said| said.commitment)
                .collect(),
            plugin: match source {
                RiskSource::Plugin => self.plugin,
                RiskSource::Rule | RiskSource::Model | RiskSource::Floor => None,
            },
            prompt,
            proposal: self.proposal,
            tool: &self.tool,
        };
        digest(
            Purpose::Inputs,
            &canonical::to_vec(&inputs).unwrap_or_default(),
        )
    }
}

impl Judgement {
    /// How it is recorded.
    pub fn record(self, question: &Question) -> (Command, Texts) {
        let (model, prompt, endpoint) = match self.model {
            Some(asked) => (Some(asked.model), Some(asked.prompt), Some(asked.endpoint)),
            None => (None, None, None),
        };
        let mut texts = Texts::from([(String::from("reason"), Text::plain(self.reason))]);
        texts.extend(endpoint.map(|at| (String::from("endpoint"), Text::plain(at))));
        let command = Command::Assess(Assessment {
            call: question.call,
            demand: self.demand,
            inputs: question.inputs(prompt, self.source),
            model,
            prompt,
            proposal: question.proposal,
            source: self.source,
            tier: self.tier,
            used: self.used,
        });
        (command, texts)
    }
}

/// Who can be asked about a call.
#[derive(Clone, Default)]
pub struct Judges {
    /// The plugin of the run.
    pub plugin: Option<Arc<dyn Plugin>>,
    /// The model that judges commands.
    pub classifier: Option<Classifier>,
}

impl fmt::Debug for Judges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judges")
            .field("plugin", &self.plugin.is_some())
            .field("classifier", &self.classifier.as_ref().map(|by| &by.name))
            .finish()
    }
}

/// Has a call judged. A model is asked only once that is recorded.
pub async fn assess(question: &Question, judges: &Judges) -> Assessed {
    let unsaid = question.unsaid();
    if question.asking {
        let command = question.for_a_model();
        return Assessed::Judged(match (command, &judges.classifier) {
            (Some(command), Some(classifier)) => model::ask(question, command, classifier).await,
            (_, _) => model::nobody(),
        });
    }
    if let Some(pinned) = question.plugin {
        let plugin = judges.plugin.as_deref();
        if let Some(said) = plugin::ask(question, pinned, plugin, &unsaid).await {
            return Assessed::Judged(said);
        }
    }
    match (question.for_a_model(), &judges.classifier) {
        (Some(command), Some(classifier)) => model::intent(question, command, classifier),
        (Some(_) | None, _) => Assessed::Judged(unsaid),
    }
}
