//! A card on a screen of a known size: what does not fit is counted, never dropped in silence.
//!
//! Rows are shared out: a part that needs less than its share leaves the rest to the others. What
//! is left out of a part is told in its last row, by whole lines and bytes.

use std::fmt;
use std::iter::Sum;

use placet_ledger::view::Card;

use super::{DIFF, Look, Part, facts, parts, title};
use crate::ui::text::rows::Row;

/// A diff gets so many times as many rows as another part.
const DIFF_WEIGHT: usize = 2;

/// Columns of the names before facts.
const NAME_COLUMNS: usize = 14;

/// What a screen tells of a card beside the card itself.
#[derive(Debug, Clone)]
pub(crate) struct Beside {
    /// How its run is named.
    pub(crate) prefix: String,
    /// What is left of the run's budget.
    pub(crate) budget: String,
}

/// How much of a card is not on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cut {
    /// The lines of which a part is left out.
    pub(crate) lines: usize,
    /// The bytes that are left out.
    pub(crate) bytes: usize,
}

impl Cut {
    /// Whether all is on the screen: a row that is left out is a part of a line at least.
    pub(crate) const fn is_nothing(self) -> bool {
        self.lines == 0
    }

    /// What these rows hold.
    fn of(rows: &[Row]) -> Self {
        let begun: usize = rows.iter().map(|row| row.lines).sum();
        let torn = rows.first().is_some_and(|row| !row.first);
        Self {
            lines: begun.saturating_add(usize::from(torn)),
            bytes: rows.iter().map(|row| row.bytes).sum(),
        }
    }
}

impl Sum for Cut {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            lines: sum.lines.saturating_add(one.lines),
            bytes: sum.bytes.saturating_add(one.bytes),
        })
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, bytes } = self;
        let line = if *lines == 1 { "line" } else { "lines" };
        let byte = if *bytes == 1 { "byte" } else { "bytes" };
        write!(f, "{lines} {line}, {bytes} {byte}")
    }
}

/// A card, or what a screen holds of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Fitted {
    /// Its rows.
    pub(crate) rows: Vec<String>,
    /// What is left out.
    pub(crate) cut: Cut,
}

/// A card in at most `rows` rows; `None` where so few cannot hold one.
pub(crate) fn card(card: &Card, beside: &Beside, look: &Look, rows: usize) -> Option<Fitted> {
    let parts = all_parts(card, beside, look, rows);
    let wanted: Vec<Wanted> = parts.iter().map(Shown::wanted).collect();
    let shares = shares(&wanted, rows.checked_sub(parts.len())?)?;
    let fitted = parts.into_iter().zip(shares);
    let fitted: Vec<Fitted> = fitted
        .map(|(part, share)| part.fitted(share, look))
        .collect();
    Some(Fitted {
        cut: fitted.iter().map(|part| part.cut).sum(),
        rows: fitted.into_iter().flat_map(|part| part.rows).collect(),
    })
}

/// The title of a card, broken into rows.
pub(crate) fn heading(card: &Card, beside: &Beside, look: &Look) -> Vec<String> {
    let title = title(card, &beside.prefix);
    let rows = wrapped(&title, look.width.saturating_sub(1));
    rows.iter().map(|row| look.title(row)).collect()
}

/// A text of ours in rows, broken at spaces where that is possible.
pub(crate) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let room = room.max(1);
    let mut rows = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    while rest.len() > room {
        let row = rest.iter().take(room.saturating_add(1));
        let space = row.rev().position(|c| *c == ' ');
        let space = space.map(|back| room.saturating_sub(back));
        let next = rest.split_off(space.filter(|at| *at > 0).unwrap_or(room));
        rows.push(rest.into_iter().collect());
        rest = next;
        if rest.first() == Some(&' ') {
            rest.remove(0);
        }
    }
    rows.push(rest.into_iter().collect());
    rows
}

/// A part on the screen, with a row that names it.
struct Shown {
    name: String,
    is_diff: bool,
    rows: Vec<Row>,
}

/// How many rows a part has, and how much it counts where not all have room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    rows: usize,
    weight: usize,
}

impl Shown {
    /// What a call changes counts more than what else is told of it.
    fn wanted(&self) -> Wanted {
        Wanted {
            rows: self.rows.len(),
            weight: if self.is_diff { DIFF_WEIGHT } else { 1 },
        }
    }

    /// The part with at most `share` rows below its name.
    fn fitted(self, share: usize, look: &Look) -> Fitted {
        let mut out = vec![self.name];
        if self.rows.len() <= share {
            out.extend(self.rows.into_iter().map(|row| row.shown));
            return Fitted {
                rows: out,
                cut: Cut::default(),
            };
        }
        let kept = share.saturating_sub(1);
        let cut = Cut::of(self.rows.get(kept..).unwrap_or_default());
        if share == 0 {
            // Both in one row; the name is ours, and gives way.
            let told = format!("+ {cut}: v");
            let room = look.width.saturating_sub(told.len().saturating_add(2));
            if let Some(name) = out.last_mut() {
                let kept: String = name.trim_end().chars().take(room).collect();
                *name = format!("{kept} {told}");
            }
        } else {
            out.extend(self.rows.into_iter().take(kept).map(|row| row.shown));
            out.push(left_out(cut, look));
        }
        Fitted { rows: out, cut }
    }
}

/// The row that tells how much is left out.
fn left_out(cut: Cut, look: &Look) -> String {
    let how = if look.width < 50 {
        "v"
    } else {
        "v shows all of it"
    };
    let told = format!("    + {cut}: {how}");
    if told.len() < look.width {
        told
    } else {
        told.trim_start().to_owned()
    }
}

fn all_parts(card: &Card, beside: &Beside, look: &Look, most: usize) -> Vec<Shown> {
    let mut facts = facts(card, look);
    facts.push(("budget left", beside.budget.clone()));
    let mut rows = facts
        .into_iter()
        .flat_map(|(name, value)| fact(name, &value, look));
    // The first fact names the part, so that none stands without a name.
    let first = rows.next().map(|row| row.shown).unwrap_or_default();
    let facts = Shown {
        name: first,
        is_diff: false,
        rows: rows.collect(),
    };
    let parts = parts(card, look, most).into_iter().map(|part| {
        let Part { name, beside, rows } = part;
        let is_diff = name == DIFF;
        let mut named = fact(name, &beside, look).into_iter();
        let first = named.next().map(|row| row.shown.trim_end().to_owned());
        Shown {
            name: first.unwrap_or_default(),
            is_diff,
            rows: named.chain(rows).collect(),
        }
    });
    std::iter::once(facts).chain(parts).collect()
}

/// A fact as rows; all but the first are indented to its value.
fn fact(name: &str, value: &str, look: &Look) -> Vec<Row> {
    let room = look.width.saturating_sub(NAME_COLUMNS.saturating_add(4));
    let mut rows = Vec::new();
    for (index, piece) in wrapped(value, room).into_iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        let bytes = piece.len();
        rows.push(Row {
            shown: format!("  {name:<NAME_COLUMNS$} {piece}"),
            first: index == 0,
            lines: usize::from(index == 0),
            bytes,
        });
    }
    rows
}

/// How many rows each part gets, of `rows`: the first one half of them if it needs that many,
/// since it tells how the call was judged; what is left the others share by weight.
fn shares(wanted: &[Wanted], rows: usize) -> Option<Vec<usize>> {
    let (first, wanted) = wanted.split_first()?;
    // Its name is a fact as well, which a count in the same row would cut.
    let first = first.rows.min((rows / 2).max(1));
    let mut order: Vec<(usize, Wanted)> = wanted.iter().copied().enumerate().collect();
    order.sort_by_key(|(_, wanted)| wanted.rows / wanted.weight);
    let mut weight: usize = wanted.iter().map(|wanted| wanted.weight).sum();
    let mut left = rows.checked_sub(first)?;
    let mut shares = vec![0; wanted.len()];
    for (index, wanted) in order {
        let fair = left.saturating_mul(wanted.weight) / weight.max(1);
        let share = wanted.rows.min(fair);
        *shares.get_mut(index)? = share;
        left = left.saturating_sub(share);
        weight = weight.saturating_sub(wanted.weight);
    }
    shares.insert(0, first);
    Some(shares)
}

#[cfg(test)]
mod tests;
