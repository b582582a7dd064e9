//! One decision as a sentence: given these events, when this command comes, then these events
//! follow, or this rejection.

use placet_ledger::answers::AnswerSet;
use placet_ledger::approval::{Answer, Assurance, CallAnswer, Channel};
use placet_ledger::content::Blobs;
use placet_ledger::digest::Digest;
use placet_ledger::envelope::{Envelope, Header, stream_genesis};
use placet_ledger::event::Event;
use placet_ledger::id::{EventId, LedgerId, RunId, StreamId, Version};
use placet_ledger::judge::Verdict;
use placet_ledger::run::{
    Caller, Command, Decided, Given, Origin, Rejection, RunState, decide, evolve, fold,
};
use placet_ledger::time::Timestamp;
use uuid::Uuid;

use crate::facts::{self, ANSWER, AUTHORITY, Fact};
use crate::world::person;

const LEDGER: LedgerId = LedgerId::new(Uuid::from_u128(1));

const RUN: RunId = RunId::new(Uuid::from_u128(2));

/// 2026-12-01T09:00:00Z, when every story begins.
const START_MS: u64 = 1_796_115_600_000;

fn origin() -> Origin {
    Origin {
        ledger: LEDGER,
        created: Digest::from_bytes([7; 32]),
    }
}

fn stream() -> StreamId {
    RUN.stream()
}

/// What happened so far, and who comes now.
#[derive(Clone)]
pub struct Scenario {
    records: Vec<Envelope>,
    state: Option<RunState>,
    at: Timestamp,
    caller: Option<Caller>,
    blobs: Blobs,
    verdict: Option<Verdict>,
}

/// What a command came to.
pub struct Then {
    scenario: Scenario,
    decided: Result<Vec<Decided>, Rejection>,
}

/// A story of these facts.
///
/// # Panics
///
/// If one of them cannot follow those before it.
#[track_caller]
pub fn given(facts: impl IntoIterator<Item = Fact>) -> Scenario {
    let mut scenario = Scenario {
        records: Vec::new(),
        state: None,
        at: Timestamp::EPOCH.plus_ms(START_MS),
        caller: None,
        blobs: Blobs::new(),
        verdict: None,
    };
    for fact in facts {
        scenario = scenario.and(&fact);
    }
    scenario
}

/// No run at all.
pub fn nothing() -> Scenario {
    given([])
}

impl Scenario {
    /// The state so far.
    pub fn state(&self) -> Option<&RunState> {
        self.state.as_ref()
    }

    /// The state that the records so far fold to.
    ///
    /// # Panics
    ///
    /// If they do not fold.
    #[track_caller]
    pub fn folded(&self) -> Option<RunState> {
        match fold(&origin(), stream(), &self.records) {
            Ok(state) => state,
            Err(error) => panic!("{error}: {error:?}"),
        }
    }

    /// The records so far.
    pub fn records(&self) -> &[Envelope] {
        &self.records
    }

    /// The story goes on with one more fact.
    ///
    /// # Panics
    ///
    /// If it cannot follow.
    #[must_use]
    #[track_caller]
    pub fn and(mut self, fact: &Fact) -> Self {
        self.at = self.at.plus_ms(fact.later_ms());
        let decided = fact.build(self.state.as_ref());
        if let Err(error) = self.add(decided) {
            panic!("{error}, after:\n{}", self.listing());
        }
        self
    }

    /// The command comes so much later.
    #[must_use]
    pub fn later(mut self, ms: u64) -> Self {
        self.at = self.at.plus_ms(ms);
        self
    }

    /// The command comes from a driver, whatever it is.
    #[must_use]
    pub fn from_driver(mut self) -> Self {
        self.caller = Some(Caller::Driver);
        self
    }

    /// The command comes from this person, known so surely.
    #[must_use]
    pub fn from_person(mut self, principal: &str, assurance: Assurance) -> Self {
        self.caller = Some(Caller::Person {
            principal: facts::name(principal),
            channel: Channel::Cli,
            assurance,
        });
        self
    }

    /// The command brings texts by these names.
    #[must_use]
    pub fn with(mut self, texts: &[&str]) -> Self {
        let named = texts
            .iter()
            .map(|name| ((*name).to_owned(), facts::blob(name)));
        self.blobs.extend(named);
        self
    }

    /// The gate says so.
    #[must_use]
    pub fn gate_says(mut self, verdict: Verdict) -> Self {
        self.verdict = Some(verdict);
        self
    }

    /// What this command comes to.
    pub fn when(self, command: Command) -> Then {
        let caller = self.caller.clone().unwrap_or_else(|| caller(&command));
        let given = Given {
            at: self.at,
            caller,
            authority: AUTHORITY,
            rules: facts::rules(),
            blobs: self.blobs.clone(),
            verdict: self.verdict.clone(),
        };
        let decided = decide(self.state.as_ref(), &given, command);
        Then {
            scenario: self,
            decided,
        }
    }

    /// What answering all that is pending comes to: `true` approves.
    ///
    /// # Panics
    ///
    /// If the lines name a call twice, or one that is not pending.
    #[track_caller]
    pub fn when_answered(self, lines: &[(u32, bool)]) -> Then {
        let answer = |(number, approve): &(u32, bool)| match approve {
            true => (*number, Answer::Approve),
            false => (*number, Answer::Deny),
        };
        self.when_told(lines.iter().map(answer))
    }

    /// What answering all that is pending in these words comes to.
    ///
    /// # Panics
    ///
    /// If the lines name a call twice, or one that is not pending.
    #[track_caller]
    pub fn when_told(self, lines: impl IntoIterator<Item = (u32, Answer)>) -> Then {
        let pending = self
            .state
            .as_ref()
            .map(RunState::pending)
            .unwrap_or_default();
        let line = |(number, answer)| CallAnswer {
            call: facts::call(number),
            request: pending
                .get(&facts::call(number))
                .copied()
                .unwrap_or(Digest::from_bytes([0; 32])),
            answer,
            note: None,
        };
        let lines: Vec<_> = lines.into_iter().map(line).collect();
        match AnswerSet::covering(ANSWER, &pending, lines) {
            Ok(set) => self.when(Command::Answer(set)),
            Err(error) => panic!("{error}"),
        }
    }

    /// Records what was decided, with the time and caller that stand.
    fn add(&mut self, decided: Decided) -> Result<(), String> {
        let version = self
            .state
            .as_ref()
            .map_or(Some(Version::ZERO), |state| state.head().version.next());
        let origin = origin();
        let genesis = stream_genesis(origin.ledger, &origin.created, stream());
        let number = u128::try_from(self.records.len()).unwrap_or(0);
        let caller = person().map_err(|error| error.to_string())?;
        let header = Header {
            actor: decided.actor(&caller),
            at: self.at,
            cause: self.state.as_ref().map(|state| state.head().id),
            id: EventId::new(Uuid::from_u128(number)),
            ledger: LEDGER,
            prev: self
                .state
                .as_ref()
                .map_or(genesis, |state| state.head().digest),
            stream: stream(),
            version: version.unwrap_or_default(),
        };
        let envelope = Envelope::write(header, decided.event, decided.blobs)
            .map_err(|error| error.to_string())?;
        let state = evolve(self.state.clone(), &envelope).map_err(|error| error.to_string())?;
        self.state = Some(state);
        self.records.push(envelope);
        Ok(())
    }

    /// The events so far, one a line.
    fn listing(&self) -> String {
        let names = self.records.iter().map(|record| record.event().name());
        names.collect::<Vec<_>>().join("\n")
    }
}

/// Who may send a command, if anybody has to.
fn caller(command: &Command) -> Caller {
    if !is_of_person(command) {
        return Caller::Driver;
    }
    match person() {
        Ok(person) => person,
        Err(error) => panic!("{error}"),
    }
}

/// Whether a command is a person's alone; every other one is a driver's.
pub const fn is_of_person(command: &Command) -> bool {
    match command {
        Command::Start(_)
        | Command::Answer(_)
        | Command::Tighten(_)
        | Command::Narrow(_)
        | Command::Amend(_)
        | Command::Revoke { .. }
        | Command::Reply { .. }
        | Command::SettleDoubt { .. }
        | Command::Prompt
        | Command::ChangePolicy(_)
        | Command::Cancel => true,
        Command::TakeUp { .. }
        | Command::PutDown { .. }
        | Command::CallModel { .. }
        | Command::CallJudge { .. }
        | Command::RecordSummary { .. }
        | Command::RecordReply { .. }
        | Command::RecordModelFailure { .. }
        | Command::Propose(_)
        | Command::Refuse { .. }
        | Command::Assess(_)
        | Command::Gate { .. }
        | Command::Begin { .. }
        | Command::RecordOutcome(_)
        | Command::RecordDoubt { .. }
        | Command::Settle { .. }
        | Command::Expire
        | Command::Finish { .. } => false,
    }
}

/// An event as a line of a failure.
fn line(decided: &Decided) -> String {
    let body = match decided.event.body() {
        Ok(body) => body.to_string(),
        Err(error) => error.to_string(),
    };
    let blobs: Vec<_> = decided.blobs.keys().cloned().collect();
    format!("{} {body} [{}]", decided.event.name(), blobs.join(", "))
}

impl Then {
    /// Whether the command was turned down.
    pub const fn is_rejected(&self) -> bool {
        self.decided.is_err()
    }

    /// The story before the command.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The story with whatever the command came to, or as it was where it was turned down.
    ///
    /// # Panics
    ///
    /// If something was decided that cannot follow.
    #[must_use]
    #[track_caller]
    pub fn keep(self) -> Scenario {
        let Self {
            mut scenario,
            decided,
        } = self;
        scenario.blobs = Blobs::new();
        scenario.verdict = None;
        for one in decided.unwrap_or_default() {
            let told = line(&one);
            if let Err(error) = scenario.add(one) {
                panic!("{told}: {error}, after:\n{}", scenario.listing());
            }
        }
        scenario
    }

    /// Exactly these events follow, and the run folds with them.
    ///
    /// # Panics
    ///
    /// If others do, or none.
    #[track_caller]
    pub fn then(self, facts: impl IntoIterator<Item = Fact>) -> Scenario {
        let Self {
            mut scenario,
            decided,
        } = self;
        let decided = match decided {
            Ok(decided) => decided,
            Err(why) => panic!("the command was rejected: {why} ({why:?})"),
        };
        let mut expected = Vec::new();
        for fact in facts {
            let fact = fact.build(scenario.state.as_ref());
            expected.push(fact.clone());
            if let Err(error) = scenario.add(fact) {
                panic!("{error}, after:\n{}", scenario.listing());
            }
        }
        let lines = |list: &[Decided]| list.iter().map(line).collect::<Vec<_>>().join("\n  ");
        assert!(
            decided == expected,
            "expected\n  {}\nfound\n  {}",
            lines(&expected),
            lines(&decided)
        );
        let folded = fold(&origin(), stream(), &scenario.records);
        assert_eq!(
            folded.as_ref(),
            Ok(&scenario.state),
            "the fold is another state"
        );
        scenario
    }

    /// These kinds of events follow, whatever they say.
    ///
    /// # Panics
    ///
    /// If others do, or none.
    #[track_caller]
    pub fn then_named(self, names: &[&str]) -> Scenario {
        let Self {
            mut scenario,
            decided,
        } = self;
        let decided = match decided {
            Ok(decided) => decided,
            Err(why) => panic!("the command was rejected: {why} ({why:?})"),
        };
        let found: Vec<_> = decided.iter().map(|one| one.event.name()).collect();
        assert_eq!(found, names);
        for one in decided {
            if let Err(error) = scenario.add(one) {
                panic!("{error}, after:\n{}", scenario.listing());
            }
        }
        scenario
    }

    /// Nothing is left to record.
    ///
    /// # Panics
    ///
    /// If something is.
    #[track_caller]
    pub fn then_nothing(self) {
        self.then([]);
    }

    /// The command is turned down for this reason.
    ///
    /// # Panics
    ///
    /// If it is not, or for another reason.
    #[track_caller]
    pub fn then_rejected(self, rejection: &Rejection) {
        match self.decided {
            Err(why) => assert_eq!(&why, rejection),
            Ok(decided) => {
                let lines: Vec<_> = decided.iter().map(line).collect();
                panic!("expected: {rejection}\nfound\n  {}", lines.join("\n  "));
            }
        }
    }
}

/// Whether this event may stand after the story.
pub fn can_follow(scenario: Scenario, event: Event, blobs: Blobs) -> Result<(), String> {
    let mut scenario = scenario;
    scenario.add(Decided { event, blobs })
}
