//! What came in from outside: the commands of people, of the clock and of whoever drove, read off
//! the records that they made.

use placet_ledger::answers::AnswerSet;
use placet_ledger::approval::{Actor, Answer, Assurance, By, CallAnswer, Channel};
use placet_ledger::content::{Blob, Text, Texts};
use placet_ledger::envelope::Envelope;
use placet_ledger::event::{ApprovalGranted, Event, RunStarted, SegmentEnd};
use placet_ledger::id::{CallId, Name};
use placet_ledger::run::{Caller, Command, Start};

use super::Replay;
use crate::effects::proposal;

impl Replay<'_> {
    /// The command of whoever stands outside, if that made the next record.
    pub(super) fn given(&self, at: usize) -> Option<(Caller, Command, Texts)> {
        let record = self.recording.run.get(at)?;
        let texts = self.texts(record);
        let driver = |command| Some((Caller::Driver, command, Texts::new()));
        match record.event() {
            Event::RunStarted(event) => {
                Some((starter(record), Command::Start(start(event)), texts))
            }
            Event::SegmentStarted(event) => driver(Command::TakeUp {
                attendance: event.attendance,
                driver: event.driver,
                host: event.host,
                reason: event.reason,
            }),
            Event::SegmentEnded(event) => match event.reason {
                SegmentEnd::Lost => self.given(at + 1),
                SegmentEnd::Parked | SegmentEnd::Waiting | SegmentEnd::Interrupted => {
                    let (reason, active_ms) = (event.reason, event.active_ms);
                    driver(Command::PutDown { reason, active_ms })
                }
                // Nothing pending is left behind by a run that ends by itself.
                SegmentEnd::Cancelled | SegmentEnd::Finished => None,
            },
            Event::ApprovalGranted(ApprovalGranted::ByPerson(_)) | Event::ApprovalDenied(_) => {
                self.answers(at)
            }
            Event::ApprovalExpired(_) => driver(Command::Expire),
            Event::CallProposed(_)
            | Event::ApprovalRevoked(_)
            | Event::QuestionAnswered(_)
            | Event::ExecutionSettled(_)
            | Event::PromptAdded(_)
            | Event::PolicyChanged(_)
            | Event::LimitsTightened(_)
            | Event::ToolsNarrowed(_)
            | Event::RunCancelRequested(_) => {
                let (caller, command) = said(record)?;
                Some((caller, command, texts))
            }
            Event::ModelCalled(_)
            | Event::ModelReplied(_)
            | Event::ModelFailed(_)
            | Event::ContextCompacted(_)
            | Event::RiskAssessed(_)
            | Event::CallRefused(_)
            | Event::ApprovalRequested(_)
            | Event::QuestionAsked(_)
            // With the answers that it came with.
            | Event::ToolAllowed(_)
            | Event::ApprovalGranted(ApprovalGranted::Automatic(_))
            | Event::ExecutionStarted(_)
            | Event::ExecutionRefused(_)
            | Event::ExecutionSucceeded(_)
            | Event::ExecutionFailed(_)
            | Event::ExecutionStale(_)
            | Event::ExecutionInterrupted(_)
            | Event::ExecutionInDoubt(_)
            | Event::RunParked(_)
            | Event::RunFinished(_)
            | Event::LedgerCreated(_)
            | Event::RulesAdopted(_)
            | Event::GrantAdded(_)
            | Event::GrantRevoked(_)
            | Event::ClockStepped(_)
            | Event::AttemptRefused(_) => None,
        }
    }

    /// The whole set of answers of which the record at this place is the first.
    fn answers(&self, at: usize) -> Option<(Caller, Command, Texts)> {
        let mut lines = Vec::new();
        let mut texts = Texts::new();
        let mut set = None;
        for record in self.recording.run.get(at..)? {
            let (id, by, call, request, answer) = match record.event() {
                Event::ApprovalGranted(ApprovalGranted::ByPerson(event)) => (
                    event.answer,
                    &event.by,
                    event.call,
                    event.request,
                    Answer::Approve,
                ),
                Event::ApprovalDenied(event) => (
                    event.answer,
                    &event.by,
                    event.call,
                    event.request,
                    Answer::Deny,
                ),
                Event::ToolAllowed(event) => {
                    self.approved_for_good(&mut lines, &event.tool);
                    continue;
                }
                _ => break,
            };
            if set.as_ref().is_some_and(|(first, _)| *first != id) {
                break;
            }
            set.get_or_insert_with(|| (id, person(by)));
            if let Some(note) = self.texts(record).remove("note") {
                texts.insert(format!("note.{call}"), note);
            }
            lines.push(CallAnswer {
                call,
                request,
                answer,
                note: None,
            });
        }
        let (id, caller) = set?;
        let pending = lines.iter().map(|line| (line.call, line.request)).collect();
        let set = AnswerSet::covering(id, &pending, lines).ok()?;
        Some((caller, Command::Answer(set), texts))
    }

    fn texts(&self, record: &Envelope) -> Texts {
        let text = |name: &String, blob: &Blob| {
            let bytes = self.recording.contents.bytes(&blob.commitment)?.to_vec();
            Some((
                name.clone(),
                Text {
                    media: blob.media,
                    bytes,
                },
            ))
        };
        record
            .blobs()
            .iter()
            .filter_map(|(name, blob)| text(name, blob))
            .collect()
    }

    /// The tool of a call, as it was proposed.
    fn tool(&self, call: CallId) -> Option<&Name> {
        self.recording
            .run
            .iter()
            .find_map(|record| match record.event() {
                Event::CallProposed(event) if event.call == call => Some(&event.tool),
                _ => None,
            })
    }

    /// With one of the approvals its tool was allowed.
    fn approved_for_good(&self, lines: &mut [CallAnswer], tool: &Name) {
        let mut approved = lines.iter_mut().filter(|line| line.answer.approves());
        if let Some(line) = approved.find(|line| self.tool(line.call) == Some(tool)) {
            line.answer = Answer::ApproveAlways;
        }
    }
}

fn start(event: &RunStarted) -> Start {
    Start {
        agent: event.agent.clone(),
        attendance: event.attendance,
        binary: event.binary.clone(),
        containment: event.containment,
        http_approval: event.http_approval,
        limits: event.limits,
        model: event.model.clone(),
        park_expiry_ms: event.park_expiry_ms,
        plugin: event.plugin,
        policy: event.policy,
        tool_allowlist: event.tool_allowlist.clone(),
        tools: event.tools,
    }
}

/// What a person said beside answering, if a record is of that.
fn said(record: &Envelope) -> Option<(Caller, Command)> {
    Some(match record.event() {
        Event::CallProposed(event) => {
            // It bears the id of the call that it stands in for.
            let amended = Command::Amend(proposal(event.supersedes?, event));
            (starter(record), amended)
        }
        Event::ApprovalRevoked(event) => {
            let call = event.call;
            (person(&event.by), Command::Revoke { call })
        }
        Event::QuestionAnswered(event) => {
            let (call, request) = (event.call, event.request);
            (person(&event.by), Command::Reply { call, request })
        }
        Event::ExecutionSettled(event) => {
            let command = Command::SettleDoubt {
                call: event.call,
                request: event.request?,
                verdict: event.verdict,
            };
            (person(&event.by), command)
        }
        Event::PromptAdded(event) => (person(&event.by), Command::Prompt),
        Event::PolicyChanged(event) => (person(&event.by), Command::ChangePolicy(event.policy)),
        Event::LimitsTightened(event) => (person(&event.by), Command::Tighten(event.limits)),
        Event::ToolsNarrowed(event) => (person(&event.by), Command::Narrow(event.tools.clone())),
        Event::RunCancelRequested(event) => (person(&event.by), Command::Cancel),
        _ => return None,
    })
}

/// Who started a run or amended a call, as its record's header says.
fn starter(record: &Envelope) -> Caller {
    match &record.header().actor {
        Actor::Person { name } => Caller::Person {
            principal: name.clone(),
            channel: Channel::Cli,
            assurance: Assurance::SameUser,
        },
        Actor::Policy | Actor::Allowlist | Actor::Engine | Actor::Clock => Caller::Driver,
    }
}

fn person(by: &By) -> Caller {
    match by {
        By::Person {
            assurance,
            channel,
            principal,
        } => Caller::Person {
            principal: principal.clone(),
            channel: *channel,
            assurance: *assurance,
        },
        By::Policy { .. } | By::List { .. } | By::Grant { .. } | By::Rule { .. } | By::Tool => {
            Caller::Driver
        }
    }
}
