//! Why a call was not done, in words for people; records and JSON keep the identifiers.

use placet_ledger::event::RefusalKind;

use super::text;
use crate::wire::run::{UnsuccessfulCall, Why};

/// The word that opens the row of a call that was not done.
pub(super) const fn word(why: Why) -> &'static str {
    match why {
        Why::Failed => "failed",
        Why::Stale => "stale",
        Why::Interrupted => "interrupted",
        Why::NotDone => "not done",
        Why::Denied => "denied",
        Why::Expired => "expired",
        Why::Revoked => "revoked",
        Why::Refused(RefusalKind::Nobody) => "declined",
        Why::Refused(
            RefusalKind::UnknownTool
            | RefusalKind::HiddenHalf
            | RefusalKind::BadArguments
            | RefusalKind::DeniedTool
            | RefusalKind::RepeatOf
            | RefusalKind::OverLimit
            | RefusalKind::Rule,
        ) => "refused",
    }
}

/// What there is to say beside the word; where there is nothing, a note or the tool says it.
pub(super) fn reason(call: &UnsuccessfulCall) -> Option<String> {
    let kind = match call.why {
        Why::Refused(kind) => kind,
        Why::Expired => return Some(String::from("not answered, or not started, in time")),
        Why::Failed | Why::Stale | Why::Interrupted | Why::NotDone | Why::Denied | Why::Revoked => {
            return None;
        }
    };
    let reason = match kind {
        RefusalKind::UnknownTool => "there is no such tool",
        RefusalKind::HiddenHalf => "that name cannot be called",
        RefusalKind::BadArguments => "the arguments do not fit",
        RefusalKind::DeniedTool => "not a tool of this run",
        RefusalKind::RepeatOf => {
            let of = call.of.as_ref().map(|of| format!(" ({of})"));
            return Some(format!(
                "the same was denied before{}",
                of.unwrap_or_default()
            ));
        }
        RefusalKind::OverLimit => "over a limit of the run",
        RefusalKind::Rule => {
            let rule = call.rule.as_deref().map(text::marked);
            let rule = rule.unwrap_or_else(|| String::from("a rule"));
            return Some(format!("{rule} forbids it"));
        }
        RefusalKind::Nobody => "nobody was there to ask",
    };
    Some(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_told_in_words() {
        let told = |why| {
            let call = UnsuccessfulCall {
                call: String::from("c4"),
                tool: None,
                named: None,
                why,
                of: Some(String::from("c3")),
                rule: Some(String::from("rule:rm")),
                detail: None,
            };
            format!("{}: {}", word(why), reason(&call).unwrap_or_default())
        };
        for (why, expected) in [
            (Why::Failed, "failed: "),
            (Why::Stale, "stale: "),
            (Why::Interrupted, "interrupted: "),
            (Why::NotDone, "not done: "),
            (Why::Denied, "denied: "),
            (
                Why::Expired,
                "expired: not answered, or not started, in time",
            ),
            (Why::Revoked, "revoked: "),
            (
                Why::Refused(RefusalKind::UnknownTool),
                "refused: there is no such tool",
            ),
            (
                Why::Refused(RefusalKind::HiddenHalf),
                "refused: that name cannot be called",
            ),
            (
                Why::Refused(RefusalKind::BadArguments),
                "refused: the arguments do not fit",
            ),
            (
                Why::Refused(RefusalKind::DeniedTool),
                "refused: not a tool of this run",
            ),
            (
                Why::Refused(RefusalKind::RepeatOf),
                "refused: the same was denied before (c3)",
            ),
            (
                Why::Refused(RefusalKind::OverLimit),
                "refused: over a limit of the run",
            ),
            (
                Why::Refused(RefusalKind::Rule),
                "refused: rule:rm forbids it",
            ),
            (
                Why::Refused(RefusalKind::Nobody),
                "declined: nobody was there to ask",
            ),
        ] {
            assert_eq!(told(why), expected);
        }
    }
}
