//! The calls of a stream, put together from deltas that servers number, name and cut as they like.
//!
//! A delta belongs to the call of its index, or to the newest call where it has none. It begins a
//! call of its own where it cannot belong there: it has another id, or it brings a name although
//! the arguments of that call are complete.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::super::draft::Draft;
use super::super::fault::Fault;
use super::super::reader::misshapen;
use super::{CallDelta, Function};

/// Where the pieces of a stream go.
#[derive(Debug, Default)]
pub(in crate::model::hosted) struct Calls {
    /// The newest call of each index.
    of_index: BTreeMap<u64, usize>,
    /// How complete the arguments of each call are.
    read: Vec<Braces>,
    /// The call that a server makes in the form of before there were several.
    only: Option<usize>,
}

impl Calls {
    /// A piece of a call.
    pub(super) fn delta(&mut self, delta: CallDelta, draft: &mut Draft) -> Result<(), Fault> {
        let Function { name, arguments } = delta.function.unwrap_or_default();
        let (id, name) = (delta.id.unwrap_or_default(), name.unwrap_or_default());
        let piece = arguments.map_or_else(|| Ok(String::new()), |raw| piece(&raw))?;
        let newest = draft.calls.len().checked_sub(1);
        let before = match delta.index {
            Some(index) => self.of_index.get(&index).copied(),
            None => newest,
        };
        let named = !name.is_empty() && (!piece.is_empty() || id.is_empty());
        let before = before.filter(|place| self.continues(*place, &id, named, draft));
        let place = match before {
            Some(place) => place,
            // Nothing says which call this would be.
            None if id.is_empty() && name.is_empty() => {
                return Err(Fault::form("a piece of a call that did not begin"));
            }
            None => draft.begin_call(String::new(), String::new()),
        };
        if let Some(index) = delta.index {
            self.of_index.insert(index, place);
        }
        if let Some(call) = draft.calls.get_mut(place) {
            // Some servers repeat both with every piece.
            if call.id.is_empty() {
                call.id = id;
            }
            if call.name.is_empty() {
                call.name = name;
            }
        }
        self.argue(place, &piece, draft);
        Ok(())
    }

    /// A piece of the one call in the older form.
    pub(super) fn one(&mut self, function: Function, draft: &mut Draft) -> Result<(), Fault> {
        let name = function.name.unwrap_or_default();
        let place = match self.only {
            Some(place) => place,
            None => draft.begin_call(String::new(), name),
        };
        self.only = Some(place);
        let arguments = function.arguments;
        let piece = arguments.map_or_else(|| Ok(String::new()), |raw| piece(&raw))?;
        self.argue(place, &piece, draft);
        Ok(())
    }

    /// Whether a piece belongs to a call; `named` where it brings a name and what goes with it.
    fn continues(&self, place: usize, id: &str, named: bool, draft: &Draft) -> bool {
        let Some(call) = draft.calls.get(place) else {
            return false;
        };
        let is_other = !id.is_empty() && !call.id.is_empty() && id != call.id;
        let is_complete = self.read.get(place).is_some_and(Braces::are_closed);
        let begins = named && !call.name.is_empty() && is_complete;
        !is_other && !begins
    }

    fn argue(&mut self, place: usize, piece: &str, draft: &mut Draft) {
        while self.read.len() <= place {
            self.read.push(Braces::default());
        }
        if let Some(braces) = self.read.get_mut(place) {
            braces.read(piece);
        }
        draft.argue(place, piece);
    }
}

/// Arguments are a text that holds JSON; some servers send the JSON itself.
fn piece(raw: &RawValue) -> Result<String, Fault> {
    match raw.get() {
        "null" => Ok(String::new()),
        text if text.starts_with('"') => {
            serde_json::from_str(text).map_err(|error| misshapen(&error))
        }
        json => Ok(json.to_owned()),
    }
}

/// Whether an object has come to its end, read a piece at a time and each byte once.
#[derive(Debug, Default)]
struct Braces {
    depth: u64,
    has_begun: bool,
    in_text: bool,
    is_escaped: bool,
}

impl Braces {
    fn read(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match (byte, self.in_text) {
                _ if self.is_escaped => self.is_escaped = false,
                (b'\\', true) => self.is_escaped = true,
                (b'"', _) => self.in_text = !self.in_text,
                (b'{' | b'[', false) => {
                    self.has_begun = true;
                    self.depth = self.depth.saturating_add(1);
                }
                (b'}' | b']', false) => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    const fn are_closed(&self) -> bool {
        self.has_begun && self.depth == 0 && !self.in_text
    }
}

#[cfg(test)]
mod tests;
