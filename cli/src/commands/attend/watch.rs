//! What is shown while a run is driven: events on standard output, progress beside it.

use std::collections::BTreeMap;

use placet_engine::engine::{Elsewhere, EngineError, Stopped};
use placet_ledger::envelope::Recorded;
use placet_ledger::event::{Event, ModelTask};
use placet_ledger::id::{CallId, RunId};

use super::Drive;
use crate::error::{CommandError, Kind};
use crate::open::Open;
use crate::reading;
use crate::ui::Printer;
use crate::ui::card::Look;
use crate::ui::progress::Progress;
use crate::ui::text;
use crate::wire::log::EventOut;
use crate::wiring::{Meanwhile, Wiring};

/// Drives a run until it waits or ends, and shows what goes on; or says why it is not driven here.
pub(super) fn drive(
    wiring: &mut Wiring<'_>,
    open: &mut Open,
    run: RunId,
    how: Drive,
) -> Result<Result<Stopped, Elsewhere>, CommandError> {
    wiring.block_on(open.tell_of(run))?;
    let look = reading::look(wiring);
    // The events tell what goes on, and may go to the same screen.
    let columns = wiring.printer.columns_beside().filter(|_| !how.events);
    let progress = columns.map(|width| Progress::new(&Look { width, ..look }));
    let mut watch = Watch {
        run,
        heard: String::new(),
        events: how.events,
        progress,
        tools: BTreeMap::new(),
    };
    let Open {
        engine,
        ledger,
        told,
        ..
    } = open;
    let now = || ledger.monotonic_ms();
    let tell = |printer: &mut Printer<'_>, what| watch.tell(printer, what, now());
    let work = engine.drive(run, how.reason, how.attendance);
    let stopped = wiring.watch_while(told, tell, work);
    watch.end(&mut wiring.printer);
    match stopped? {
        Ok(stopped) => Ok(Ok(stopped)),
        Err(EngineError::Elsewhere { why, .. }) => Ok(Err(why)),
        Err(error) => Err(error.into()),
    }
}

struct Watch {
    run: RunId,
    /// What was shown of a reply that is still arriving.
    heard: String,
    events: bool,
    progress: Option<Progress>,
    tools: BTreeMap<CallId, String>,
}

impl Watch {
    fn tell(
        &mut self,
        printer: &mut Printer<'_>,
        what: Meanwhile,
        now_ms: u64,
    ) -> Result<(), CommandError> {
        match what {
            Meanwhile::Recorded(recorded) => {
                self.show(printer, &recorded, now_ms);
                if self.events {
                    let line = EventOut::facts(&recorded);
                    let line = line.map_err(|error| CommandError::new(Kind::Failed, error))?;
                    printer.value(&line)?;
                }
            }
            Meanwhile::Heard(piece) => {
                if let Some(progress) = &mut self.progress {
                    printer.beside(&progress.heard(&piece));
                    self.heard.push_str(&piece);
                }
            }
            Meanwhile::Time => {
                if let Some(progress) = &mut self.progress {
                    printer.beside(&progress.tick(now_ms));
                }
            }
        }
        Ok(())
    }

    /// What begins with a record, if anything does that takes time.
    fn show(&mut self, printer: &mut Printer<'_>, recorded: &Recorded, now_ms: u64) {
        let Some(progress) = &mut self.progress else {
            return;
        };
        let began = match recorded.envelope.event() {
            Event::ModelCalled(called) => Some(match called.task {
                ModelTask::Turn => String::from("asking the model"),
                ModelTask::Classify(call) => format!("asking {} about {call}", called.model),
                ModelTask::Compact => String::from("asking the model for a summary"),
            }),
            // Whatever is heard of a reply is heard before it is recorded.
            Event::ModelReplied(_) => {
                printer.streamed(self.run, std::mem::take(&mut self.heard));
                None
            }
            Event::ModelFailed(failed) => {
                self.heard.clear();
                failed
                    .retry_ms
                    .map(|ms| format!("waiting {ms} ms to ask the model again"))
            }
            Event::CallProposed(proposed) => {
                let tool = text::marked(proposed.tool.as_str());
                self.tools.insert(proposed.call, tool);
                None
            }
            Event::ExecutionStarted(started) => {
                let call = started.call;
                let tool = self.tools.get(&call).map_or("", String::as_str);
                Some(format!("running {call} {tool}").trim_end().to_owned())
            }
            _ => None,
        };
        let written = match began {
            Some(what) => progress.begin(what, now_ms),
            None => progress.end(),
        };
        printer.beside(&written);
    }

    fn end(&mut self, printer: &mut Printer<'_>) {
        if let Some(progress) = &mut self.progress {
            printer.beside(&progress.end());
        }
    }
}
