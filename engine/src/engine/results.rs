//! What tools read back of earlier calls, from the ledger alone.

use std::collections::BTreeMap;

use async_trait::async_trait;
use placet_ledger::content::{Blob, Contents};
use placet_ledger::error::LedgerError;
use placet_ledger::id::{CallId, EventId, Name, Principal, RunId};
use placet_ledger::ledger::Ledger;
use placet_ledger::projection::{ANSWER_ROWS_MAX, Answer, Decision, Page, Query};
use placet_ledger::run::{Call, Close, Phase, RunState};
use placet_ledger::time::Timestamp;

use super::equip::read;
use crate::record::WorkspaceRecord;
use crate::tool::retrieve::{EARLIER_CALLS_MAX, Earlier, Past, Results, Unread};

/// Reads results back from the ledger.
pub(super) struct FromLedger(pub(super) Ledger);

/// What runs have in common whose calls are told to each other.
struct Owner {
    agent: Name,
    by: Option<Principal>,
    workspace: WorkspaceRecord,
}

/// Where a call stands among all: when it was over, then which of the runs went on last, then its
/// place in the run.
type Place = (Timestamp, u64, usize);

#[async_trait]
impl Results for FromLedger {
    async fn result(&self, run: RunId, call: CallId) -> Option<String> {
        let result =
            |state: &RunState, contents: &Contents| text(contents, state.call(call)?.result()?);
        self.0.look(run, result).await.ok().flatten()
    }

    async fn newest(&self, run: RunId, tool: &str) -> Result<Option<String>, Unread> {
        let newest = |state: &RunState, contents: &Contents| {
            let Some((_, call)) = succeeded(state, tool).last() else {
                return Ok(None);
            };
            let result = call.result().and_then(|blob| text(contents, blob));
            result.map(Some).ok_or(Unread)
        };
        self.0.look(run, newest).await.map_err(|_| Unread)?
    }

    async fn earlier(&self, run: RunId, tool: &str) -> Result<Earlier, Unread> {
        let owner = |state: &RunState, contents: &Contents| {
            Some(Owner {
                agent: state.started().agent.clone(),
                by: state.starter().cloned(),
                workspace: read(state, contents, "workspace")?,
            })
        };
        let owner = self.0.look(run, owner).await.map_err(|_| Unread)?;
        let owner = owner.ok_or(Unread)?;
        let (decisions, is_cut) = self.allowed(&owner, tool).await?;
        let mut runs: BTreeMap<RunId, Vec<Decision>> = BTreeMap::new();
        for decision in decisions {
            runs.entry(decision.run).or_default().push(decision);
        }
        let mut placed = Vec::new();
        for (run, decisions) in runs {
            placed.extend(self.past(run, &owner.workspace, tool, &decisions).await?);
        }
        placed.sort_by_key(|(place, _)| *place);
        Ok(Earlier {
            calls: placed.into_iter().rev().map(|(_, past)| past).collect(),
            is_cut,
        })
    }
}

impl FromLedger {
    /// The newest decisions that allowed calls of a tool, and whether there are older ones.
    async fn allowed(&self, owner: &Owner, tool: &str) -> Result<(Vec<Decision>, bool), Unread> {
        let tool: Name = tool.parse().map_err(|_| Unread)?;
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let left = EARLIER_CALLS_MAX.saturating_sub(all.len());
            let query = Query::Allowed {
                tool: tool.clone(),
                agent: owner.agent.clone(),
                by: owner.by.clone(),
                page: Page {
                    after,
                    limit: left.min(ANSWER_ROWS_MAX),
                },
            };
            let answer = self.0.query(query).await.map_err(|_| Unread)?;
            let Answer::Decisions { decisions, next } = answer else {
                return Err(Unread);
            };
            all.extend(decisions);
            after = next;
            if after.is_none() || all.len() >= EARLIER_CALLS_MAX {
                return Ok((all, after.is_some()));
            }
        }
    }

    /// Those calls of one run that succeeded, if it worked in this workspace; all of them, without
    /// arguments, of a run that cannot be looked at. The decisions come newest first.
    async fn past(
        &self,
        run: RunId,
        workspace: &WorkspaceRecord,
        tool: &str,
        decisions: &[Decision],
    ) -> Result<Vec<(Place, Past)>, Unread> {
        let newest = decisions.iter().map(|decision| decision.position.get());
        let newest = newest.max().unwrap_or_default();
        let look = |state: &RunState, contents: &Contents| {
            let found: WorkspaceRecord = read(state, contents, "workspace")?;
            let is_asked = |call: &Call| decisions.iter().any(|asked| asked.call == call.id());
            let calls = succeeded(state, tool).filter(|(_, call)| is_asked(call));
            let past = calls.map(|(place, call)| {
                let at = time(call.last()).unwrap_or_else(|| state.started_at());
                let past = Past {
                    run,
                    call: call.id(),
                    at,
                    arguments: call.proposed().and_then(|proposed| {
                        serde_json::from_slice(contents.bytes(&proposed.arguments.commitment)?).ok()
                    }),
                };
                ((at, newest, place), past)
            });
            Some(if found == *workspace {
                past.collect()
            } else {
                Vec::new()
            })
        };
        let looked = match self.0.look(run, look).await {
            Ok(looked) => looked,
            // That says nothing about the run.
            Err(LedgerError::Unreachable(_) | LedgerError::Busy | LedgerError::Conflict) => {
                return Err(Unread);
            }
            Err(_) => None,
        };
        Ok(looked.unwrap_or_else(|| {
            let unread = (0..).zip(decisions.iter().rev()).map(|(place, decision)| {
                let past = Past {
                    run,
                    call: decision.call,
                    at: decision.at,
                    arguments: None,
                };
                ((decision.at, newest, place), past)
            });
            unread.collect()
        }))
    }
}

/// The calls of a tool that succeeded, in the order in which they ran.
fn succeeded<'a>(state: &'a RunState, tool: &str) -> impl Iterator<Item = (usize, &'a Call)> {
    // A call that took another one's place stands where that stood.
    let calls = state.replies().iter().flat_map(|reply| &reply.calls);
    let calls = calls.filter_map(|call| state.call(*call)).enumerate();
    calls.filter(move |(_, call)| {
        call.phase() == Phase::Closed(Close::Succeeded)
            && call.tool().is_some_and(|name| name.as_str() == tool)
    })
}

fn text(contents: &Contents, blob: &Blob) -> Option<String> {
    let bytes = contents.bytes(&blob.commitment)?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// When a record was written, as its id says.
fn time(record: EventId) -> Option<Timestamp> {
    let (seconds, nanos) = record.uuid().get_timestamp()?.to_unix();
    let micros = i64::try_from(seconds).ok()?.checked_mul(1_000_000)?;
    Timestamp::from_micros(micros.checked_add(i64::from(nanos / 1_000))?)
}
