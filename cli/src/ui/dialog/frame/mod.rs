//! What stands on the screen at each step of the walk: rows of text, and nothing else.
//!
//! Rows of a card come from `card::screen`; everything below the rule is ours, so that nothing an
//! agent wrote stands where keys and questions stand.

#[cfg(test)]
mod tests;

use placet_ledger::approval::Miss;
use placet_ledger::view::Card;

use super::{Always, Asks, At, NEXT, Verdict, Walk, Warning, Writing, named};
use crate::terminal::Size;
use crate::ui::card::Look;
use crate::ui::card::screen::{self, Beside, Cut, Fitted, wrapped};
use crate::ui::text::rows::{Paint, rows};
use crate::ui::text::{self, Letters, Margin};

/// Fewer columns hold no count of what is left out of the longest text, fewer rows no card.
const SIZE_MIN: Size = Size {
    columns: 36,
    rows: 10,
};

/// Rows of a line that is being written; its end is what is shown.
const LINE_ROWS: usize = 3;

/// Columns of a key beside what it is offered for; a longer one stands on the card alone.
const KEY_COLUMNS: usize = 28;

/// Columns of a note on the summary.
const NOTE_COLUMNS: usize = 40;

/// What is shown of a card.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    /// The card.
    pub(crate) card: Card,
    /// What else is told of it.
    pub(crate) beside: Beside,
    /// Why an approval by whoever sits here does not count.
    pub(crate) miss: Option<Miss>,
}

/// A screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Its rows, no more than there are.
    pub(crate) rows: Vec<String>,
    /// What is left out of its card; `None` where the window is too small for what it is about.
    pub(crate) cut: Option<Cut>,
}

/// The screen of this moment. Without `keys` it is what stands there before keys count.
pub(crate) fn frame(walk: &Walk, shown: &[Shown], size: Size, look: &Look, keys: bool) -> Frame {
    let look = Look {
        width: size.columns,
        ..look.clone()
    };
    let big = size.columns >= SIZE_MIN.columns && size.rows >= SIZE_MIN.rows;
    let fitted = big.then(|| fitted(walk, shown, size.rows, &look));
    let Some((Fitted { mut rows, cut }, footer)) = fitted.flatten() else {
        return too_small(size, &look);
    };
    rows.push("-".repeat(size.columns.saturating_sub(1)));
    let Footer { keys: keyed, told } = footer;
    if keys {
        rows.extend(keyed);
        rows.extend(told);
    } else if let Some(warning) = walk.warning(cut) {
        rows.extend(keyed.iter().map(|_| String::new()));
        rows.extend(wrapped(&unseen(warning), look.width.saturating_sub(1)));
    } else {
        rows.push(String::new());
    }
    let cut = Some(cut);
    Frame { rows, cut }
}

/// What stands above the rule, and below it. Room for the keys is left before they appear, so that
/// the rows above do not move then.
fn fitted(walk: &Walk, shown: &[Shown], rows: usize, look: &Look) -> Option<(Fitted, Footer)> {
    let mut below = footer(walk, shown, Cut::default(), look).len();
    loop {
        let room = rows.checked_sub(below.saturating_add(1))?;
        let above = above(walk, shown, room, look)?;
        let footer = footer(walk, shown, above.cut, look);
        // A warning tells what is left out, and takes rows itself.
        if footer.len() <= below {
            return Some((above, footer));
        }
        below = footer.len();
    }
}

fn above(walk: &Walk, shown: &[Shown], room: usize, look: &Look) -> Option<Fitted> {
    let page = |rows| Fitted {
        rows: cut(rows, room),
        cut: Cut::default(),
    };
    match walk.at() {
        At::Card(index) | At::Writing { card: index, .. } => card(*index, walk, shown, room, look),
        At::Help(index) => Some(page(help(*index, walk, look))),
        At::Summary => Some(page(summary(walk, shown, look))),
    }
}

fn too_small(size: Size, look: &Look) -> Frame {
    let what = "This window is too small for a card. Make it larger, or: p park, s stop.";
    let mut rows = wrapped(what, look.width.saturating_sub(1));
    rows.truncate(size.rows.max(1));
    Frame { rows, cut: None }
}

/// At most so many rows; the last one says how many are not there.
fn cut(mut rows: Vec<String>, room: usize) -> Vec<String> {
    if rows.len() > room {
        let kept = room.saturating_sub(1);
        let left = rows.len().saturating_sub(kept);
        rows.truncate(kept);
        rows.push(format!("+ {left} more rows"));
    }
    rows
}

fn card(index: usize, walk: &Walk, shown: &[Shown], room: usize, look: &Look) -> Option<Fitted> {
    let Shown { card, beside, .. } = shown.get(index)?;
    let mut rows = Vec::new();
    let of = walk.asked().len();
    if of > 1 {
        rows.push(format!("card {} of {of}", index.saturating_add(1)));
    }
    rows.extend(screen::heading(card, beside, look));
    let room = room.checked_sub(rows.len())?;
    let fitted = screen::card(card, beside, look, room)?;
    rows.extend(fitted.rows);
    let cut = fitted.cut;
    Some(Fitted { rows, cut })
}

/// What stands below the rule.
struct Footer {
    /// The keys, or what is being written.
    keys: Vec<String>,
    /// What is told.
    told: Vec<String>,
}

impl Footer {
    const fn len(&self) -> usize {
        self.keys.len().saturating_add(self.told.len())
    }
}

fn footer(walk: &Walk, shown: &[Shown], cut: Cut, look: &Look) -> Footer {
    let room = look.width.saturating_sub(1);
    let told = told(walk, cut);
    Footer {
        keys: below_rule(walk, shown, look),
        told: told.map_or_else(Vec::new, |told| wrapped(&told, room)),
    }
}

/// What is told of the last key, or of the card; `cut` is what is left out of it.
fn told(walk: &Walk, cut: Cut) -> Option<String> {
    if let Some(warning) = walk.warning(cut) {
        return Some(format!("{}: {}", unseen(warning), again(warning)));
    }
    match (walk.say(), walk.at()) {
        (Some(say), _) => Some(text::sentence(say).replace('\n', " ")),
        (None, At::Card(card)) => walk
            .verdict(*card)
            .map(|verdict| format!("your answer so far: {}", word(verdict, always(walk, *card)))),
        (None, At::Writing { .. } | At::Help(_) | At::Summary) => None,
    }
}

/// What would be approved though nobody saw it.
fn unseen(warning: Warning) -> String {
    let Warning { key, cards, cut } = warning;
    match (key, cards) {
        _ if cut.is_nothing() => String::from("now all of it is on the screen"),
        ('A', 1) => format!("{cut} of 1 card were not on the screen"),
        ('A', cards) => format!("{cut} of {cards} cards were not on the screen"),
        (_, _) => format!("{cut} are not on the screen"),
    }
}

/// What to press after a warning.
fn again(warning: Warning) -> String {
    let Warning { key, cut, .. } = warning;
    match key {
        'A' => String::from("v shows a card whole, A again approves all"),
        key if cut.is_nothing() => format!("{key} again approves"),
        key => format!("v shows them, {key} again approves"),
    }
}

/// The keys, or the line that is being written.
fn below_rule(walk: &Walk, shown: &[Shown], look: &Look) -> Vec<String> {
    let room = look.width.saturating_sub(1);
    let mut rows = Vec::new();
    match walk.at() {
        At::Card(index) => {
            let card = shown.get(*index).map(|shown| &shown.card);
            rows.extend(key_rows(walk, card, look));
        }
        At::Writing { what, line, .. } => {
            rows.extend(wrapped(asks_for(*what), room));
            rows.extend(written(line.text(), look));
        }
        At::Help(_) => rows.push(String::from("any key goes back to the card")),
        At::Summary => rows.extend(wrapped("Enter sends it  b back  p park  s stop", room)),
    }
    rows
}

/// What a line is written for.
const fn asks_for(what: Writing) -> &'static str {
    match what {
        Writing::Deny => "why not? Enter denies, with or without words; Esc goes back",
        Writing::DenyAll => "why none of them? Enter denies all, Esc goes back",
        Writing::Reply => "your answer; the agent reads it. Enter keeps it, Esc goes back",
        Writing::Settle { done: true } => "it took effect: how do you know? Esc goes back",
        Writing::Settle { done: false } => "it did not take effect: how do you know? Esc goes back",
    }
}

/// The end of a line that is being written, as it will be shown to others.
fn written(line: &str, look: &Look) -> Vec<String> {
    let margin = Margin {
        indent: 0,
        width: look.width.saturating_sub(1),
        letters: Letters::Kept,
    };
    let paint = Paint {
        letters: Letters::Kept,
        color: None,
        strong: &[],
    };
    let all = rows(line, margin, usize::MAX, |_| paint);
    let from = all.len().saturating_sub(LINE_ROWS);
    let mut rows: Vec<String> = all.into_iter().skip(from).map(|row| row.shown).collect();
    if let Some(last) = rows.last_mut() {
        last.push_str(if line.is_empty() { " _" } else { "_" });
    }
    rows
}

fn key_rows(walk: &Walk, card: Option<&Card>, look: &Look) -> Vec<String> {
    let index = match walk.at() {
        At::Card(index) | At::Help(index) => Some(*index),
        At::Writing { .. } | At::Summary => None,
    };
    let asks = index
        .and_then(|index| walk.asked().get(index))
        .map(|asked| asked.asks);
    let labels: Vec<String> = walk
        .keys()
        .into_iter()
        .filter_map(|key| Some(format!("{} {}", named(key), label(key, asks?, card))))
        .collect();
    let room = look.width.saturating_sub(1);
    let mut rows: Vec<String> = Vec::new();
    for label in labels {
        match rows.last_mut() {
            Some(row) if row.len().saturating_add(label.len()).saturating_add(2) <= room => {
                row.push_str("  ");
                row.push_str(&label);
            }
            _ => rows.push(label),
        }
    }
    rows
}

fn label(key: char, asks: Asks, card: Option<&Card>) -> String {
    let label = match (key, asks) {
        ('a', _) => "approve",
        ('d', _) => "deny",
        ('A', _) => "approve all",
        ('D', _) => "deny all",
        ('t', asks) => return format!("always {}", cleared(asks, card)),
        ('e', Asks::Question) => "answer in the editor",
        ('e', _) => "edit",
        ('v', _) => "view whole",
        ('r', _) => "answer",
        ('y', _) => "it is done",
        ('n', Asks::InDoubt) => "it is not",
        ('n' | 'l', _) => "leave it",
        (NEXT, _) => "next",
        ('b', _) => "back",
        ('p', _) => "park",
        ('s', _) => "stop",
        ('?', _) => "help",
        _ => "",
    };
    label.to_owned()
}

/// What can be cleared beside a call.
fn always(walk: &Walk, card: usize) -> Always {
    match walk.asked().get(card).map(|asked| asked.asks) {
        Some(Asks::Approval { always, .. }) => always,
        Some(Asks::Question | Asks::InDoubt) | None => Always::Nothing("it asks something else"),
    }
}

/// What `t` clears, by its name.
fn cleared(asks: Asks, card: Option<&Card>) -> String {
    let tool = || card.map_or("it", |card| card.tool.as_str()).to_owned();
    match asks {
        Asks::Approval {
            always: Always::Command,
            ..
        } => {
            let key = card
                .and_then(card_key)
                .filter(|key| key.len() <= KEY_COLUMNS);
            let key = key.map(|key| format!(" ({key})")).unwrap_or_default();
            format!("this command{key}")
        }
        Asks::Approval {
            always: Always::Tool | Always::Nothing(_),
            ..
        }
        | Asks::Question
        | Asks::InDoubt => tool(),
    }
}

/// The allowlist key of a card's command. In quotes, so that it is no word of ours.
fn card_key(card: &Card) -> Option<String> {
    let key = crate::ui::card::key(card)?.ok()?;
    Some(text::quoted(&key, Letters::Marked))
}

/// What each key does, in a sentence.
fn help(index: usize, walk: &Walk, look: &Look) -> Vec<String> {
    let asks = walk.asked().get(index).map(|asked| asked.asks);
    let mut lines: Vec<&str> = match asks {
        Some(Asks::Approval { always, miss }) => {
            let mut lines = vec![match miss {
                None => "a  approve this call: it runs once, as shown",
                Some(_) => "a  does nothing here: your approval is not what the call needs",
            }];
            lines.extend([
                "d  deny it; your words go to the agent",
                "A  approve all that is not denied, once every card was on the screen",
                "D  deny all, with one note",
            ]);
            lines.extend(match always {
                _ if miss.is_some() => None,
                Always::Tool => {
                    Some("t  approve it, and this tool from the next turn of the run on")
                }
                Always::Command => Some(
                    "t  approve it, and grant its allowlist key: unasked in every run from then on",
                ),
                Always::Nothing(_) => None,
            });
            lines.push("e  edit the arguments in $EDITOR: recorded at once, judged anew");
            lines
        }
        Some(Asks::Question) => vec![
            "r  answer the agent in a line",
            "e  answer in $EDITOR, in as many lines as you like",
            "n  leave the question waiting",
        ],
        Some(Asks::InDoubt) => vec![
            "y  it took effect, and how you know",
            "n  it did not, and how you know",
            "l  leave it in doubt",
        ],
        None => Vec::new(),
    };
    lines.extend([
        "v  the whole card in $PAGER, with its diff",
        "b  the card before; Space the next one, without a verdict",
        "p  leave this run waiting, and end",
        "s  stop, as Ctrl-C does; placet runs resume goes on",
        "",
    ]);
    if let Some(Asks::Approval { .. }) = asks {
        lines.push("A card that was cut is approved at the second press, or once v showed it.");
    }
    lines.extend(["No answer is sent before the summary, where Enter sends it."]);
    let room = look.width.saturating_sub(1);
    lines.iter().flat_map(|line| wrapped(line, room)).collect()
}

/// What would be sent.
fn summary(walk: &Walk, shown: &[Shown], look: &Look) -> Vec<String> {
    let room = look.width.saturating_sub(1);
    let mut rows = vec![look.title("your answers")];
    for (index, Shown { card, beside, .. }) in shown.iter().enumerate() {
        let verdict = walk.verdict(index);
        let verdict = verdict.map(|verdict| word(verdict, always(walk, index)));
        let verdict = verdict.unwrap_or_default();
        let (call, tool, run) = (card.call, &card.tool, &beside.prefix);
        let line = format!("{call} {tool} of {run}: {verdict}");
        // No row of a note begins where a row of ours does.
        let indented = wrapped(&line, room.saturating_sub(4)).into_iter();
        let indented = indented.enumerate();
        rows.extend(indented.map(|(index, row)| {
            let indent = if index == 0 { "  " } else { "    " };
            format!("{indent}{row}")
        }));
    }
    rows
}

/// A verdict in a few words.
fn word(verdict: &Verdict, always: Always) -> String {
    let short = |text: &str| text::excerpt(text, NOTE_COLUMNS);
    match verdict {
        Verdict::Approve => String::from("approve"),
        Verdict::Always => match always {
            Always::Command => String::from("approve, and always commands of its key"),
            Always::Tool | Always::Nothing(_) => String::from("approve, and always this tool"),
        },
        Verdict::Deny(None) => String::from("deny"),
        Verdict::Deny(Some(note)) => format!("deny: {}", short(note)),
        Verdict::Reply(text) => format!("answer: {}", short(text)),
        Verdict::Settle { done: true, note } => format!("it took effect: {}", short(note)),
        Verdict::Settle { done: false, note } => format!("it did not: {}", short(note)),
        Verdict::Leave => String::from("left waiting"),
    }
}
