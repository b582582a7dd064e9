//! Where a run stands, in a few lines.

use super::Printer;
use crate::error::CommandError;
use crate::wire::run::RunReport;

/// Prints where a run stands.
pub(crate) fn print(printer: &mut Printer<'_>, report: &RunReport) -> Result<(), CommandError> {
    let mut out = format!(
        "run {} {}",
        report.run,
        report.outcome.unwrap_or(report.state)
    );
    out.push('\n');
    for call in &report.declined {
        let tool = call.tool.as_deref().unwrap_or("(unknown tool)");
        out.push_str(&format!("  declined {} {tool}: {}\n", call.call, call.why));
    }
    for call in &report.pending {
        out.push_str(&format!(
            "  waits {} {}: {}\n",
            call.call, call.tool, call.kind
        ));
    }
    printer.data(&out)
}
