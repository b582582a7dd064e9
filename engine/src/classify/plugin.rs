//! An external judge: a program of the user, known by its digest and shut in, asked once per call.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use placet_ledger::digest::Digest;
use placet_ledger::event::{Demand, RiskSource};
use placet_ledger::id::{CallId, Name, RunId};
use placet_ledger::risk::RiskTier;
use serde::Serialize;
use serde_json::Value;

use super::verdict::{Spoken, Word, clipped, spoken};
use super::{Judgement, Question};
use crate::contain::{Container, Ending, Job, Limits};
use crate::shell::{self, Hazard, Reading};
use crate::stop::Halt;

/// How long a plugin may take.
pub const PLUGIN_LIMIT_MS: u64 = 2_000;

/// How long a plugin that took too long has to end, before nobody waits for it any more.
const ENDING_MS: u64 = 4_000;

/// Bytes that a plugin may write: a word, or a word and a reason.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// The exit status by which a plugin says `deny` without a word, as hooks of agents do.
const DENIES: i32 = 2;

/// What a plugin did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its exit status.
    pub exit: i32,
    /// All that it wrote.
    pub stdout: Vec<u8>,
    /// What it complained of.
    pub stderr: Vec<u8>,
}

/// Runs a plugin; an error says why there is no answer.
#[async_trait]
pub trait Plugin: Send + Sync {
    /// The digest that it is pinned by.
    fn digest(&self) -> Digest;

    /// Runs it once for a run, with this on its standard input.
    async fn ask(&self, run: RunId, input: Vec<u8>) -> Result<Answer, String>;
}

/// A plugin that is a program on this machine.
#[derive(Debug, Clone)]
pub struct Program {
    /// What it is shut in by.
    pub container: Container,
    /// Its absolute path.
    pub path: PathBuf,
    /// The digest of its file.
    pub digest: Digest,
    /// The folder for files that tell of processes while they run.
    pub marks: PathBuf,
}

impl Program {
    /// It works in its own folder, where it may change nothing, and has no network.
    fn job(&self, run: RunId, input: Vec<u8>) -> Result<Job, String> {
        let folder = self.path.parent().ok_or("it has no folder")?.to_owned();
        let argv = vec![self.path.display().to_string()];
        Ok(Job {
            program: self.path.clone(),
            digest: Some(self.digest),
            argv,
            read_only: vec![folder.clone()],
            workspace: folder,
            hidden: Vec::new(),
            network: BTreeSet::new(),
            env: BTreeMap::new(),
            stdin: String::from_utf8(input).map_err(|_| "its input is no text")?,
            limits: Limits {
                time_ms: PLUGIN_LIMIT_MS,
                memory_bytes: 512 * 1024 * 1024,
                processes: 32,
                file_bytes: 1024 * 1024,
                head_bytes: OUTPUT_BYTES_MAX,
                tail_bytes: 0,
            },
            // Whoever takes the run up ends it with what its calls left.
            mark: self
                .marks
                .join(format!("{run}-plugin-{}", uuid::Uuid::new_v4())),
        })
    }
}

#[async_trait]
impl Plugin for Program {
    fn digest(&self) -> Digest {
        self.digest
    }

    async fn ask(&self, run: RunId, input: Vec<u8>) -> Result<Answer, String> {
        let job = self.job(run, input)?;
        let ran = self.container.run(&job, &Halt::default()).await;
        let ran = ran.map_err(|error| error.to_string())?;
        if ran.stdout.cut > 0 {
            return Err(format!("it wrote more than {OUTPUT_BYTES_MAX} bytes"));
        }
        match ran.ending {
            Ending::Exited(exit) => Ok(Answer {
                exit,
                stdout: ran.stdout.head,
                stderr: ran.stderr.head,
            }),
            Ending::Signalled(signal) => Err(format!("it was ended by signal {signal}")),
            Ending::TimedOut => Err(too_long()),
            Ending::Stopped => Err(String::from("it was stopped")),
            Ending::OverMemory => Err(String::from("it used too much memory")),
            Ending::OverProcesses => Err(String::from("it had too many processes")),
        }
    }
}

fn too_long() -> String {
    format!("it gave no answer within {PLUGIN_LIMIT_MS} ms")
}

/// What a plugin reads.
#[derive(Serialize)]
struct Input<'a> {
    version: u32,
    run: RunId,
    call: CallId,
    proposal: Digest,
    tool: &'a Name,
    arguments: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<&'a str>,
    /// As it is without a plugin and a model.
    tier: RiskTier,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Command<'a>>,
}

#[derive(Serialize)]
struct Command<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    hazards: Vec<Hazard>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<&'a str>,
    network: &'a BTreeSet<u16>,
}

fn input(question: &Question, unsaid: &Judgement) -> Vec<u8> {
    let command = question.command.as_ref().map(|command| {
        let text = command.text.as_deref();
        Command {
            text,
            key: text.and_then(shell::key),
            hazards: match text.map(shell::read) {
                Some(Reading::Hazard(hazards)) => hazards,
                Some(Reading::Plain(_) | Reading::Neither(_)) | None => Vec::new(),
            },
            program: command
                .program
                .as_ref()
                .map(|program| program.path.as_str()),
            network: &command.network,
        }
    });
    let input = Input {
        version: 1,
        run: question.run,
        call: question.call,
        proposal: question.proposal,
        tool: &question.tool,
        arguments: serde_json::from_str(&question.arguments.text).unwrap_or_default(),
        workspace: question.workspace.as_deref(),
        tier: unsaid.tier,
        reason: &unsaid.reason,
        command,
    };
    let mut bytes = serde_json::to_vec(&input).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// What the plugin of a run says of a call; `None` where it leaves that to others. `unsaid` is what
/// is certain without it.
pub(super) async fn ask(
    question: &Question,
    pinned: Digest,
    plugin: Option<&dyn Plugin>,
    unsaid: &Judgement,
) -> Option<Judgement> {
    let judged = |tier, demand, reason| {
        Some(Judgement {
            used: None,
            source: RiskSource::Plugin,
            tier,
            demand,
            reason,
            model: None,
        })
    };
    let spoken = match plugin.filter(|plugin| plugin.digest() == pinned) {
        Some(plugin) => answered(plugin, question.run, input(question, unsaid)).await,
        None => Err(String::from("it is not there")),
    };
    let Spoken { word, reason } = match spoken {
        Ok(spoken) => spoken,
        Err(why) => {
            let reason = format!("the plugin is unsure: {why}");
            // Under a policy that clears everything, a plugin that fails would forbid nothing.
            return judged(RiskTier::HighRisk, Some(Demand::Ask), reason);
        }
    };
    let reason = reason.unwrap_or_else(|| String::from("as the plugin says"));
    match word {
        Word::Pass => None,
        Word::Demand(demand) => judged(unsaid.tier, Some(demand), reason),
        Word::Tier(said) => match question.may_lower() {
            Lowers::Anything => judged(said, None, reason),
            Lowers::Nothing => (said > unsaid.tier)
                .then(|| judged(said, None, reason))
                .flatten(),
        },
    }
}

/// How far a plugin may lower a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lowers {
    /// As far as it likes.
    Anything,
    /// Below what is certain it does not go.
    Nothing,
}

async fn answered(plugin: &dyn Plugin, run: RunId, input: Vec<u8>) -> Result<Spoken, String> {
    let limit = Duration::from_millis(PLUGIN_LIMIT_MS.saturating_add(ENDING_MS));
    let answer = tokio::time::timeout(limit, plugin.ask(run, input)).await;
    let answer = answer.map_err(|_| too_long())??;
    match answer.exit {
        0 => spoken(&answer.stdout).ok_or_else(|| {
            let wrote = clipped(&String::from_utf8_lossy(&answer.stdout));
            format!("it wrote {wrote:?}")
        }),
        DENIES => {
            let why = String::from_utf8_lossy(&answer.stderr);
            let why = why.trim();
            Ok(Spoken {
                word: Word::Demand(Demand::Deny),
                reason: (!why.is_empty()).then(|| clipped(why)),
            })
        }
        other => Err(format!("it ended with status {other}")),
    }
}
