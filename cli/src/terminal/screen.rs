//! The real terminal: raw keys from standard input, the second screen on standard error.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEvent, KeyEventKind,
    KeyModifiers, poll, read,
};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use placet_engine::stop::Stop;
use rustix::termios::{QueueSelector, tcdrain, tcflush, tcgetwinsize};

use super::{Happening, Key, Programs, Size, Terminal};

/// How long a wish to stop may stay unseen while a key is waited for.
const GLANCE: Duration = Duration::from_millis(50);

/// The size where the terminal tells none.
const SIZE_DEFAULT: Size = Size {
    columns: 80,
    rows: 24,
};

/// Whether the screen is taken: a terminal belongs to the process, so that this does too.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back as it was found, if it was taken. Every way out of the program calls
/// it, and calling it twice does no harm.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Nobody is left to be told that the terminal is gone.
        drop(execute!(
            io::stderr(),
            DisableBracketedPaste,
            cursor::Show,
            LeaveAlternateScreen
        ));
        drop(disable_raw_mode());
    }
}

/// The real terminal.
pub struct Screen {
    programs: Programs,
    /// Whether somebody else has the terminal, or had it until a moment ago.
    lent: Arc<AtomicBool>,
}

impl Screen {
    /// The terminal of this process; `lent` is set while another program has it.
    pub fn new(programs: Programs, lent: Arc<AtomicBool>) -> Self {
        Self { programs, lent }
    }

    fn lend<T>(&mut self, work: impl FnOnce(&Programs) -> io::Result<T>) -> io::Result<T> {
        self.leave();
        // Until the next key: a Ctrl-C that ended the other program may reach us after its end,
        // and on our screen Ctrl-C is a key and no signal.
        self.lent.store(true, Ordering::SeqCst);
        let done = work(&self.programs);
        self.enter()?;
        done
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

impl Terminal for Screen {
    fn size(&self) -> Size {
        match tcgetwinsize(io::stderr()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size {
                columns: usize::from(size.ws_col),
                rows: usize::from(size.ws_row),
            },
            _ => SIZE_DEFAULT,
        }
    }

    fn enter(&mut self) -> io::Result<()> {
        TAKEN.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        execute!(
            io::stderr(),
            EnterAlternateScreen,
            cursor::Hide,
            EnableBracketedPaste
        )
    }

    fn leave(&mut self) {
        restore();
        self.lent.store(false, Ordering::SeqCst);
    }

    fn draw(&mut self, rows: &[String]) -> io::Result<()> {
        let mut frame = String::from("\x1b[H");
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                frame.push_str("\r\n");
            }
            frame.push_str(row);
            frame.push_str("\x1b[K");
        }
        frame.push_str("\x1b[J");
        let mut screen = io::stderr().lock();
        screen.write_all(frame.as_bytes())?;
        screen.flush()
    }

    fn discard(&mut self) -> io::Result<()> {
        // What is on its way to the screen is not seen yet.
        tcdrain(io::stderr())?;
        tcflush(io::stdin(), QueueSelector::IFlush)?;
        while poll(Duration::ZERO)? {
            read()?;
        }
        Ok(())
    }

    fn next(&mut self, stop: &Stop) -> io::Result<Happening> {
        loop {
            if stop.is_raised() {
                return Ok(Happening::Stopped);
            }
            if !poll(GLANCE)? {
                continue;
            }
            match read()? {
                Event::Resize(..) => return Ok(Happening::Resized),
                Event::Paste(text) => return Ok(Happening::Key(Key::Paste(text))),
                Event::Key(event) if event.kind != KeyEventKind::Release => {
                    self.lent.store(false, Ordering::SeqCst);
                    return Ok(Happening::Key(key(event)));
                }
                Event::Key(_) | Event::Mouse(_) | Event::FocusGained | Event::FocusLost => {}
            }
        }
    }

    fn page(&mut self, text: &str, stop: &Stop) -> io::Result<()> {
        if self.lend(|programs| programs.page(text))? {
            return Ok(());
        }
        self.leave();
        let written = writeln!(
            io::stderr(),
            "{text}\nno pager: any key goes back to the card"
        );
        drop(written);
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        self.discard()?;
        while !matches!(self.next(stop)?, Happening::Key(_) | Happening::Stopped) {}
        self.enter()
    }

    fn edit(&mut self, text: &str, suffix: &str) -> io::Result<String> {
        self.lend(|programs| programs.edit(text, suffix))
    }
}

fn key(event: KeyEvent) -> Key {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    let plain = event.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    match event.code {
        KeyCode::Char('c') if control => Key::Interrupt,
        KeyCode::Char('u') if control => Key::Clear,
        KeyCode::Char(c) if plain => Key::Char(c),
        KeyCode::Enter if plain => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => Key::Other,
    }
}
