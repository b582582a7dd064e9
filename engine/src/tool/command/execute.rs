//! The hidden half: checks what was shown, runs it shut in, and tells what came of it.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::clock::Clock;
use placet_ledger::containment::Part;
use placet_ledger::content::Text;
use placet_ledger::id::{CallId, RunId};
use placet_ledger::permit::{Granted, Permit};
use placet_ledger::precondition::Precondition;
use placet_ledger::program::Program;
use serde_json::Value;

use super::guard::{Guard, Stamps};
use super::operands::Operands;
use super::program::{SHELL, digest_of, is_systems};
use super::report::{Aside, exit, report};
use super::{Commands, timeout_s};
use crate::clock::SystemClock;
use crate::contain::{ContainError, Container, Ending, Job, Limits, Ran, end_leftovers};
use crate::stop::Halt;
use crate::tool::{ExecuteTool, Interrupted, Output, Reconciled, ToolError, reading};
use crate::workspace::visible;

/// Bytes of each output that are kept from its beginning, and as many from its end.
const OUTPUT_BYTES: usize = 256 * 1024;

/// Bytes of memory, and of one file: what compilers of large programs need, and no machine dies of.
const BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// Processes and threads at once: what a parallel build needs.
const PROCESSES_MAX: u64 = 512;

/// The hidden half.
#[derive(Debug)]
pub(super) struct Executing(pub(super) Arc<Commands>);

#[async_trait]
impl ExecuteTool for Executing {
    async fn execute(&self, permit: Permit, halt: &Halt) -> Result<Output, ToolError> {
        let granted = permit.spend();
        let commands = Arc::clone(&self.0);
        let prepared = reading(move || prepare(&commands, granted)).await?;
        let container = self.container(&prepared)?;
        let since_ms = SystemClock.monotonic_ms();
        let ran = container.run(&prepared.job, halt).await;
        let duration_ms = SystemClock.monotonic_ms().saturating_sub(since_ms);
        let ran = ran.map_err(not_run)?;
        let level = container.level_with(&prepared.job.network);
        let commands = Arc::clone(&self.0);
        let missing = level.missing().clone();
        let told = tokio::task::spawn_blocking(move || {
            let after = prepared.after(&commands);
            let aside = Aside {
                duration_ms,
                missing,
                ..after
            };
            report(&ran, &aside).pipe(|text| (ran.ending, text))
        });
        let told = told.await;
        let (ending, text) = told.map_err(|_| ToolError::in_doubt("its result was lost"))?;
        ended(ending, text)
    }

    async fn reconcile(&self, interrupted: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        let mark = self.0.mark(interrupted.run, interrupted.call);
        let ended = reading(move || Ok(end_leftovers(&mark))).await?;
        // Whether a command took effect shows in nothing that can be looked at; nor does it show
        // that it never began, since what tells that it runs is gone once it has run.
        Err(ToolError::in_doubt(match ended {
            Ok(true) => String::from(
                "what the command had started was still running and was ended now; what it did \
                 until then stands",
            ),
            Ok(false) => String::from(
                "nothing of the command runs any more; how far it came cannot be told",
            ),
            Err(error) => format!(
                "whether anything of the command still runs cannot be told ({error}); nor how far \
                 it came"
            ),
        }))
    }
}
