//! What people of a world say beside answering, and a judge whose row does not wait for them long.

use placet_engine::policy::gate;
use placet_ledger::digest::Digest;
use placet_ledger::event::Settlement;
use placet_ledger::id::{CallId, RunId};
use placet_ledger::judge::{GateInput, Judge, Verdict};
use placet_ledger::policy::ApprovalPolicy;
use serde_json::Value;

use crate::world::{World, WorldError, person};

/// The gate, but for one tool whose calls may stay unanswered for a shorter time than the park.
#[derive(Debug, Clone, Copy)]
pub struct Impatient {
    /// The tool.
    pub tool: &'static str,
    /// For how long its calls wait.
    pub expires_ms: u64,
}

impl Judge for Impatient {
    fn judge(&self, input: &GateInput<'_>) -> Verdict {
        match gate(input) {
            Verdict::Ask {
                rule,
                demands,
                tier,
                expires_ms: _,
            } if input.tool.as_str() == self.tool => Verdict::Ask {
                rule,
                demands,
                tier,
                expires_ms: Some(self.expires_ms),
            },
            other => other,
        }
    }
}

impl World {
    /// Gives a pending call other arguments; returns the call that stands in its place.
    pub async fn amend(
        &self,
        run: RunId,
        call: CallId,
        arguments: &Value,
    ) -> Result<CallId, WorldError> {
        let (caller, arguments) = (person()?, arguments.to_string());
        let amended = self
            .engine()
            .amend(run, &caller, call, arguments.as_bytes());
        Ok(amended.await?)
    }

    /// Replies to the question of a call.
    pub async fn reply(&self, run: RunId, call: CallId, text: &str) -> Result<(), WorldError> {
        let asked = self.displayed(run, call).await?;
        let text = text.to_owned();
        Ok(self
            .engine()
            .reply(run, &person()?, (call, asked), text)
            .await?)
    }

    /// Says what became of a call in doubt.
    pub async fn settle(
        &self,
        run: RunId,
        call: CallId,
        verdict: Settlement,
        note: Option<&str>,
    ) -> Result<(), WorldError> {
        let doubt = (call, self.displayed(run, call).await?);
        let (caller, note) = (person()?, note.map(str::to_owned));
        let settled = self.engine().settle(run, &caller, doubt, (verdict, note));
        Ok(settled.await?)
    }

    /// Takes an approval back.
    pub async fn revoke(
        &self,
        run: RunId,
        call: CallId,
        note: Option<&str>,
    ) -> Result<(), WorldError> {
        let note = note.map(str::to_owned);
        Ok(self.engine().revoke(run, &person()?, call, note).await?)
    }

    /// Adds a message.
    pub async fn prompt(&self, run: RunId, text: &str) -> Result<(), WorldError> {
        let text = text.to_owned();
        Ok(self.engine().prompt(run, &person()?, text).await?)
    }

    /// Changes the live policy.
    pub async fn change_policy(
        &self,
        run: RunId,
        policy: ApprovalPolicy,
        reason: Option<&str>,
    ) -> Result<(), WorldError> {
        let (caller, reason) = (person()?, reason.map(str::to_owned));
        let changed = self.engine().change_policy(run, &caller, policy, reason);
        Ok(changed.await?)
    }

    /// The digest that a card of this call displays: of its doubt, or of what it asks.
    async fn displayed(&self, run: RunId, call: CallId) -> Result<Digest, WorldError> {
        let displayed = self
            .ledger()
            .look(run, |state, _| {
                let found = state.call(call)?;
                let asked = found.question().map(|asked| asked.digest);
                found.doubt().or(asked)
            })
            .await?;
        Ok(displayed.unwrap_or(Digest::from_bytes([0; 32])))
    }
}
