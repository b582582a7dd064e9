//! Where a run stands, in a few lines.

use super::Printer;
use crate::error::CommandError;
use crate::wire::run::RunReport;

/// Prints where a run stands.
pub(crate) fn print(printer: &mut Printer<'_>, report: &RunReport) -> Result<(), CommandError> {
    let mut lines = vec![format!(
        "run {} {}",
        report.run,
        report.outcome.unwrap_or(report.state)
    )];
    lines.extend(report.cap.iter().map(|cap| format!("  ended on {cap}")));
    lines.extend(report.declined.iter().map(|call| {
        let tool = call.tool.as_deref().unwrap_or("(unknown tool)");
        format!("  declined {} {tool}: {}", call.call, call.why)
    }));
    lines.extend(report.unsuccessful.iter().map(|call| {
        let tool = call.tool.as_deref().unwrap_or_default();
        format!("  {} {} {tool}", call.why, call.call)
    }));
    let waits = report.pending.iter();
    lines.extend(waits.map(|call| format!("  waits {} {}: {}", call.call, call.tool, call.kind)));
    lines.push(String::new());
    printer.data(&lines.join("\n"))
}
