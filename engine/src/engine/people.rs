//! What people say about a run beside answering it: each word is recorded by itself and drives
//! nothing.

use placet_ledger::content::{Contents, Text, Texts};
use placet_ledger::digest::Digest;
use placet_ledger::error::LedgerError;
use placet_ledger::event::{Event, SegmentEnd, SegmentReason, Settlement};
use placet_ledger::id::{CallId, Name, RunId};
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::run::{Caller, Command, Rejection, RunState, Turn};

use super::explain::no_proposal;
use super::{Engine, EngineError};
use crate::effects::propose;
use crate::tool::registry::Lookup;

/// One text by its name; none where there is nothing to say.
fn texts(name: &str, text: Option<String>) -> Texts {
    let text = text.filter(|text| !text.is_empty());
    let named = text.map(|text| (name.to_owned(), Text::plain(text)));
    named.into_iter().collect()
}

impl Engine {
    /// Gives a pending call other arguments: a new proposal in its place, gated anew. Returns the
    /// id of the call that stands there now.
    pub async fn amend(
        &self,
        run: RunId,
        caller: &Caller,
        call: CallId,
        arguments: &[u8],
    ) -> Result<CallId, EngineError> {
        let tool = self
            .ledger
            .look(run, |state, _| {
                let found = state.call(call).ok_or(Rejection::UnknownCall(call))?;
                Ok::<_, Rejection>(found.tool().cloned())
            })
            .await?
            .map_err(LedgerError::from)?;
        let (registry, _, _) = self.equip(run).await?;
        let name = tool.as_ref().map(Name::as_str).unwrap_or_default();
        let Lookup::Tool(found) = registry.visible(name) else {
            // The record names it, so that nobody mistook it for another.
            return Err(EngineError::NoSuchTool {
                name: name.to_owned(),
                nearest: None,
            });
        };
        let act = propose(call, found, arguments).await;
        let Command::Propose(proposal) = &act.command else {
            return Err(no_proposal(&act));
        };
        let command = Command::Amend(proposal.clone());
        let recorded = self.ledger.act(run, caller, command, act.texts).await?;
        let amended = recorded.iter().find_map(|record| match record.event() {
            Event::CallProposed(event) => Some(event.call),
            _ => None,
        });
        Ok(amended.unwrap_or(call))
    }

    /// Replies to a question.
    pub async fn reply(
        &self,
        run: RunId,
        caller: &Caller,
        (call, request): (CallId, Digest),
        text: String,
    ) -> Result<(), EngineError> {
        let texts = Texts::from([(String::from("text"), Text::plain(text))]);
        let command = Command::Reply { call, request };
        self.ledger.act(run, caller, command, texts).await?;
        Ok(())
    }

    /// Says what became of a call in doubt, which ends it.
    pub async fn settle(
        &self,
        run: RunId,
        caller: &Caller,
        (call, request): (CallId, Digest),
        (verdict, note): (Settlement, Option<String>),
    ) -> Result<(), EngineError> {
        let command = Command::SettleDoubt {
            call,
            request,
            verdict,
        };
        let texts = texts("note", note);
        self.ledger.act(run, caller, command, texts).await?;
        Ok(())
    }

    /// Takes an approval back before its execution started.
    pub async fn revoke(
        &self,
        run: RunId,
        caller: &Caller,
        call: CallId,
        note: Option<String>,
    ) -> Result<(), EngineError> {
        let texts = texts("note", note);
        let command = Command::Revoke { call };
        self.ledger.act(run, caller, command, texts).await?;
        Ok(())
    }

    /// Adds a message to a run in which no call is open.
    pub async fn prompt(
        &self,
        run: RunId,
        caller: &Caller,
        text: String,
    ) -> Result<(), EngineError> {
        self.end_lost_question(run).await?;
        let texts = Texts::from([(String::from("text"), Text::plain(text))]);
        self.ledger.act(run, caller, Command::Prompt, texts).await?;
        Ok(())
    }

    /// Ends the segment of a driver that died while it asked the model: nobody waits for the reply.
    async fn end_lost_question(&self, run: RunId) -> Result<(), EngineError> {
        let _driving = match self.take(run).await {
            Ok(driving) => driving,
            // Who drives it has the question, or alone may end what is left of it.
            Err(EngineError::Elsewhere { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let asks = |state: &RunState, _: &Contents| {
            let called = matches!(state.turn(), Turn::Called { .. });
            state.segment().is_some() && called && !state.is_cancelling()
        };
        if !self.ledger.look(run, asks).await? {
            return Ok(());
        }
        self.take_up(run, SegmentReason::Resumed, None).await?;
        self.lay_down(run, SegmentEnd::Interrupted).await
    }

    /// Ends the segment of a run that was only taken up for that.
    async fn lay_down(&self, run: RunId, reason: SegmentEnd) -> Result<(), EngineError> {
        let command = Command::PutDown {
            reason,
            active_ms: 0,
        };
        self.ledger
            .handle(run, &Caller::Driver, command, Texts::new())
            .await?;
        Ok(self.ledger.commit(run).await?)
    }

    /// Changes the live policy. What is pending stays so.
    pub async fn change_policy(
        &self,
        run: RunId,
        caller: &Caller,
        policy: ApprovalPolicy,
        reason: Option<String>,
    ) -> Result<(), EngineError> {
        let texts = texts("reason", reason);
        let command = Command::ChangePolicy(policy);
        self.ledger.act(run, caller, command, texts).await?;
        Ok(())
    }

    /// Leaves a run that waits to whoever answers later: nobody attends it from here on.
    pub async fn park(&self, run: RunId) -> Result<(), EngineError> {
        let _driving = self.take(run).await?;
        let waits = |state: &RunState, _: &Contents| {
            state.segment().is_none() && state.awaited().next().is_some()
        };
        if !self.ledger.look(run, waits).await? {
            let why = "the run does not wait for an approval or a reply";
            return Err(LedgerError::from(Rejection::OutOfTurn(why)).into());
        }
        self.take_up(run, SegmentReason::Resumed, Some(Attendance::Park))
            .await?;
        self.lay_down(run, SegmentEnd::Parked).await
    }
}
