//! The dialog with a person: the walk, drawn on their terminal and moved by their keys.

use std::collections::BTreeMap;
use std::io;

use placet_engine::stop::Stop;
use placet_ledger::id::{CallId, RunId};
use placet_ledger::view::{Card, CardKind};
use serde_json::Value;

use crate::terminal::{Happening, Key, Terminal};
use crate::ui::card::{self, Look};
use crate::ui::dialog::frame::{self, Frame, Shown};
use crate::ui::dialog::{At, Move, Verdict, Walk};

/// Other arguments for a call, as a person wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Amendment {
    /// The run.
    pub(super) run: RunId,
    /// The call.
    pub(super) call: CallId,
    /// Their text, which is JSON.
    pub(super) text: String,
}

/// How a walk ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// What was decided is to be sent.
    Send,
    /// A call is to get other arguments before the walk goes on.
    Amend(Amendment),
    /// Everything goes on waiting.
    Park,
    /// The person, or the system, wants the program to stop.
    Stop,
}

/// Walks the cards; the terminal is given back however that ends. `draft` is an amendment that
/// came to nothing.
pub(super) fn talk(
    terminal: &mut dyn Terminal,
    walk: &mut Walk,
    shown: &[Shown],
    (look, stop): (&Look, &Stop),
    draft: Option<Amendment>,
) -> io::Result<End> {
    let mut drafts = BTreeMap::new();
    drafts.extend(draft.map(|draft| ((draft.run, draft.call), draft.text)));
    terminal.enter()?;
    let end = Talk {
        terminal: &mut *terminal,
        walk,
        shown,
        look,
        stop,
        on_screen: None,
        drafts,
    }
    .go();
    terminal.leave();
    end
}

struct Talk<'a> {
    terminal: &'a mut dyn Terminal,
    walk: &'a mut Walk,
    shown: &'a [Shown],
    look: &'a Look,
    stop: &'a Stop,
    /// The card, or the summary, that was on the screen when its keys began to count, and the key
    /// that was warned about there.
    on_screen: Option<(At, Option<char>)>,
    /// What was written in the editor and is no JSON, or no proposal.
    drafts: BTreeMap<(RunId, CallId), String>,
}

impl Talk<'_> {
    fn go(mut self) -> io::Result<End> {
        loop {
            let size = self.terminal.size();
            self.present()?;
            let frame = self.draw(true)?;
            // A change of size that was thrown away with what was typed.
            if self.terminal.size() != size {
                self.walk.forget();
                continue;
            }
            if let Some(cut) = frame.cut {
                self.walk.on_screen(cut);
            }
            let key = match self.terminal.next(self.stop)? {
                Happening::Resized => {
                    self.walk.forget();
                    continue;
                }
                Happening::Stopped => return Ok(End::Stop),
                Happening::Key(key) => key,
            };
            if frame.cut.is_none() {
                match key {
                    Key::Interrupt | Key::Char('s') => return Ok(End::Stop),
                    Key::Char('p') => return Ok(End::Park),
                    // What is told may be what there is no room for.
                    _ => self.walk.hush(),
                }
                continue;
            }
            match self.walk.press(&key) {
                Move::Show => {}
                Move::Page(card) => self.page(card),
                Move::Edit(card) => {
                    if let Some(end) = self.edit(card)? {
                        return Ok(end);
                    }
                }
                Move::Send => return Ok(End::Send),
                Move::Park => return Ok(End::Park),
                Move::Stop => return Ok(End::Stop),
            }
        }
    }

    /// A card, a summary or a warning that was not on the screen before: keys count from when it
    /// is.
    fn present(&mut self) -> io::Result<()> {
        let now = (self.walk.at().clone(), self.walk.warned());
        let known = self
            .on_screen
            .as_ref()
            .is_some_and(|(at, warned)| *at == now.0 && (now.1.is_none() || *warned == now.1));
        match now.0 {
            At::Card(_) | At::Summary if known => self.on_screen = Some(now),
            At::Card(_) | At::Summary => {
                if let Some(cut) = self.draw(false)?.cut {
                    self.terminal.discard()?;
                    self.walk.on_screen(cut);
                    self.on_screen = Some(now);
                }
            }
            At::Writing { .. } | At::Help(_) => {}
        }
        Ok(())
    }

    fn draw(&mut self, keys: bool) -> io::Result<Frame> {
        let size = self.terminal.size();
        let frame = frame::frame(self.walk, self.shown, size, self.look, keys);
        self.terminal.draw(&frame.rows)?;
        Ok(frame)
    }

    /// The whole card in the person's pager; its colours are not every pager's.
    fn page(&mut self, index: usize) {
        let Some(Shown { card, beside, .. }) = self.shown.get(index) else {
            return;
        };
        let look = Look {
            color: false,
            width: self.terminal.size().columns,
            ..self.look.clone()
        };
        let text = card::card(card, &beside.prefix, &look);
        match self.terminal.page(&text, self.stop) {
            Ok(()) => self.walk.shown_whole(index),
            Err(error) => {
                let what = format!("cannot show it in the pager: {error}");
                self.walk.tell(what);
            }
        }
        self.on_screen = None;
    }

    /// The arguments of a call, or the reply to a question, in the person's editor.
    fn edit(&mut self, index: usize) -> io::Result<Option<End>> {
        self.on_screen = None;
        let Some(Shown { card, .. }) = self.shown.get(index) else {
            return Ok(None);
        };
        match card.kind {
            CardKind::Approval => self.amend(card),
            CardKind::Question => {
                match self.terminal.edit("", ".txt") {
                    Ok(text) if text.trim().is_empty() => self.walk.tell("nothing was written"),
                    Ok(text) => {
                        let reply = Verdict::Reply(text.trim_end().to_owned());
                        self.walk.decide(index, reply);
                    }
                    Err(error) => self.walk.tell(error.to_string()),
                }
                Ok(None)
            }
            CardKind::InDoubt => Ok(None),
        }
    }

    fn amend(&mut self, card: &Card) -> io::Result<Option<End>> {
        let (run, call) = (card.run, card.call);
        let given = card.arguments_given.as_ref().or(card.arguments.as_ref());
        let Some(given) = given else {
            self.walk.tell("the arguments cannot be read");
            return Ok(None);
        };
        let pretty = serde_json::to_string_pretty(given)? + "\n";
        let before = self.drafts.remove(&(run, call)).unwrap_or(pretty);
        let text = match self.terminal.edit(&before, ".json") {
            Ok(text) => text,
            Err(error) => {
                self.walk.tell(error.to_string());
                return Ok(None);
            }
        };
        match serde_json::from_str::<Value>(&text) {
            Ok(value) if value == *given => {
                self.walk.tell("nothing was changed");
                Ok(None)
            }
            Ok(Value::Object(_)) => Ok(Some(End::Amend(Amendment { run, call, text }))),
            found => {
                self.drafts.insert((run, call), text);
                let why = match found {
                    Ok(_) => String::from("this is not an object"),
                    Err(error) => format!("this is not JSON: {error}"),
                };
                self.walk.tell(format!("{why}; e opens your text again"));
                Ok(None)
            }
        }
    }
}
