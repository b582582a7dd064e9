//! Goes through the tokens of a command and gives the answer.

use super::hazard::{Hazard, HazardKind};
use super::lexer::Lexer;
use super::position::{Position, Role};
use super::token::{Effect, Expansion, Lexeme, Operator, Stop, Token};
use super::{Plain, Reading, Word};

/// Builtins of bash whose arguments may be assignments to arrays.
const ASSIGNING: [&str; 8] = [
    "alias", "declare", "eval", "export", "let", "local", "readonly", "typeset",
];

/// Reserved words of bash that are programs, or nothing, to dash.
const OF_BASH: [&str; 5] = ["[[", "coproc", "function", "select", "time"];

fn is_of_bash(word: &Lexeme) -> bool {
    word.unquoted().is_some_and(|text| OF_BASH.contains(&text))
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Reader {
    position: Position,
    hazards: Vec<Hazard>,
    /// The first reason why the command is not plain.
    not_plain: Option<&'static str>,
    words: Vec<Word>,
    /// The command at hand is one of [`ASSIGNING`].
    assigns: bool,
    /// In one of the shells, what stands here may be the arguments of a command: a `case` among
    /// them is none, and would hide what follows as a pattern.
    parted: bool,
    /// A `[[` was met, inside of which bash has rules of its own.
    has_test: bool,
}

impl Reader {
    /// Reads a command to its end, or to where no more can be said.
    pub(super) fn read(mut self, command: &str) -> Reading {
        match self.tokens(&mut Lexer::new(command)) {
            Ok(()) => {}
            Err(Stop::Hazard(hazard)) => self.hazards.push(hazard),
            Err(Stop::Doubt(why)) => self.not_plain(why),
        }
        self.answer()
    }

    fn tokens(&mut self, lexer: &mut Lexer<'_>) -> Result<(), Stop> {
        while let Some(token) = lexer.next()? {
            self.token(token, lexer)?;
        }
        Ok(())
    }

    fn answer(self) -> Reading {
        if !self.hazards.is_empty() {
            return Reading::Hazard(self.hazards);
        }
        match self.not_plain {
            Some(why) => Reading::Neither(why.to_owned()),
            None if self.words.is_empty() => Reading::Neither("no command".to_owned()),
            None => Reading::Plain(Plain { words: self.words }),
        }
    }

    fn not_plain(&mut self, why: &'static str) {
        self.not_plain.get_or_insert(why);
    }

    fn hazard(&mut self, kind: HazardKind, at: usize) {
        self.hazards.push(Hazard { kind, at });
    }

    fn token(&mut self, token: Token, lexer: &Lexer<'_>) -> Result<(), Stop> {
        match token {
            Token::Word(word) => self.word(word),
            Token::Operator(operator) => {
                self.operator(operator);
                Ok(())
            }
            Token::Redirection { at, effect, extent } => {
                match effect {
                    Effect::File => self.hazard(HazardKind::Redirection, at),
                    Effect::Harmless => self.not_plain("a redirection"),
                }
                self.position = self.position.redirection(extent);
                Ok(())
            }
            // Patterns between `[[` and `]]` may hold a `#` that is no comment.
            Token::Comment { at } if self.has_test => Err(lexer.part(at, "a `#` after `[[`")),
            Token::Comment { .. } => {
                self.not_plain("a comment");
                Ok(())
            }
        }
    }

    fn operator(&mut self, operator: Operator) {
        self.not_plain(match operator {
            Operator::Newline => "a newline",
            Operator::Separator => "a control operator",
            Operator::CaseBreak => "a reserved word",
            Operator::Open | Operator::Close => "a parenthesis",
        });
        self.position = self.position.operator(operator);
        self.assigns = false;
        self.parted = false;
    }

    fn word(&mut self, word: Lexeme) -> Result<(), Stop> {
        if let Some(why) = word.not_plain {
            self.not_plain(why);
        }
        self.parted |= self.position.may_be_arguments();
        let (mut role, mut next) = self.position.word(&word);
        if self.parted && next == Position::CaseSubject {
            (role, next) = (Role::Name, Position::Arguments);
        }
        self.parted |= role == Role::Grammar && is_of_bash(&word);
        self.position = next;
        match role {
            Role::Name => self.name(&word)?,
            Role::Argument => self.argument(&word)?,
            Role::Assignment => self.not_plain("an assignment"),
            Role::Grammar => self.reserved(&word),
        }
        self.words.push(word.into_word());
        Ok(())
    }

    fn name(&mut self, word: &Lexeme) -> Result<(), Stop> {
        if word.has_subscript() {
            return Err(Stop::hazard(HazardKind::Arithmetic, word.at));
        }
        match word.expansion {
            Expansion::Variable => self.hazard(HazardKind::ExpandingName, word.at),
            Expansion::Pattern => self.not_plain("a command name that is a pattern"),
            Expansion::Never if word.has_brace => self.not_plain("a command name with braces"),
            Expansion::Never if word.text.is_empty() => self.not_plain("a command without a name"),
            // Bash takes it for a job, dash for a program.
            Expansion::Never if word.text.starts_with('%') => {
                self.not_plain("a command name that may be a job");
            }
            Expansion::Never => {}
        }
        self.assigns = word
            .unquoted()
            .is_some_and(|name| ASSIGNING.contains(&name));
        Ok(())
    }

    fn argument(&mut self, word: &Lexeme) -> Result<(), Stop> {
        if self.assigns && word.has_subscript() {
            return Err(Stop::hazard(HazardKind::Arithmetic, word.at));
        }
        // It needs no `;` before `then`, so that a command may begin here.
        if self.has_test && word.unquoted() == Some("]]") {
            self.position = Position::Prefix;
        }
        Ok(())
    }

    fn reserved(&mut self, word: &Lexeme) {
        self.not_plain("a reserved word");
        self.has_test |= word.unquoted() == Some("[[");
    }
}
