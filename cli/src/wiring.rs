//! The composition root: opens home, store, ledger and engine for a verb.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use placet_engine::clock::SystemClock;
use placet_engine::contain::{Helper, helper};
use placet_engine::engine::Engine;
use placet_engine::heard::Heard;
use placet_engine::ids::LiveStamps;
use placet_engine::outfit::LocalOutfit;
use placet_engine::policy::rules::shipped;
use placet_engine::tool::command::Machine;
use placet_engine::workspace::ClosedSet;
use placet_ledger::approval::{Assurance, Channel};
use placet_ledger::clock::Clock;
use placet_ledger::envelope::Recorded;
use placet_ledger::event::LedgerCreated;
use placet_ledger::id::{LedgerId, Name, Principal, StreamId};
use placet_ledger::ledger::{Ledger, NewLedger, local_principal};
use placet_ledger::run::Caller;
use placet_ledger::store::sled::SledStore;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::unbounded_channel;

use crate::args::GlobalArgs;
use crate::config::{self, Config, Place};
use crate::copied::{self, Copied};
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::home::Home;
use crate::in_force;
use crate::io::Io;
use crate::models::Models;
use crate::open::{Open, Told};
use crate::opening::{Opening, STORE_FORMAT};
use crate::terminal;
use crate::ui::{Printer, text};
use crate::unusable::cannot;

/// What a verb works with.
pub(crate) struct Wiring<'a> {
    /// Options that every verb takes.
    pub(crate) global: GlobalArgs,
    /// Where everything of the ledger lies.
    pub(crate) home: Home,
    config_place: Place,
    /// The user's config, once a verb needed it: one that cannot be read stops no other verb.
    config: OnceCell<Config>,
    /// Why rules are there, as far as the open ledger tells.
    pub(crate) reasons: BTreeMap<Name, String>,
    /// Where results and remarks go.
    pub(crate) printer: Printer<'a>,
    runtime: Runtime,
}

/// What happens while something is waited for.
pub(crate) enum Meanwhile {
    /// A model said something.
    Heard(String),
    /// A record was appended.
    Recorded(Box<Recorded>),
    /// Time passed.
    Time,
}

/// How often time that passes is told.
const TICK: Duration = Duration::from_millis(100);

impl<'a> Wiring<'a> {
    /// Finds the home, and where the config would be.
    pub(crate) fn new(global: GlobalArgs, mut printer: Printer<'a>) -> Result<Self, CommandError> {
        let home = Home::locate(&global, printer.io())?;
        let config_place = Place::locate(global.config.as_deref(), printer.io());
        if home.from_env {
            printer.note(&format!("home {} (from PLACET_HOME)", home.dir.display()));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(cannot("start the threads of this process"))?;
        Ok(Self {
            global,
            home,
            config_place,
            config: OnceCell::new(),
            reasons: BTreeMap::new(),
            printer,
            runtime,
        })
    }

    /// The user's config, read when it is first needed.
    pub(crate) fn config(&self) -> Result<&Config, CommandError> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let config = self.config_place.read()?;
        Ok(self.config.get_or_init(|| config))
    }

    /// Who serves models. Where the config cannot be read nothing is driven, so that nobody has to
    /// be known then.
    pub(crate) fn models(&mut self) -> Models {
        let config = self.config().cloned().unwrap_or_default();
        let folder = self.config_folder();
        Models::of(&config, folder, self.printer.io())
    }

    /// The folder of the user's config.
    pub(crate) fn config_folder(&self) -> PathBuf {
        self.config_place.folder()
    }

    /// Where the user's config is, or would be.
    pub(crate) fn config_path(&self) -> PathBuf {
        self.config_place.path().to_owned()
    }

    /// Waits for work.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Waits for work on an open ledger, and tells what happens meanwhile.
    pub(crate) fn watch_while<T>(
        &mut self,
        told: &mut Option<Told>,
        mut tell: impl FnMut(&mut Printer<'_>, Meanwhile) -> Result<(), CommandError>,
        work: impl Future<Output = T>,
    ) -> Result<T, CommandError> {
        let Some(told) = told else {
            return Ok(self.block_on(work));
        };
        let stop = self.printer.io().stop.clone();
        let printer = &mut self.printer;
        self.runtime.block_on(async {
            tokio::pin!(work);
            let mut ticks = tokio::time::interval(TICK);
            let mut failed = None;
            let done = loop {
                let happened = tokio::select! {
                    biased;
                    // What was said comes before the record that it is said.
                    Some(text) = told.heard.recv() => Meanwhile::Heard(text),
                    Some(recorded) = told.recorded.recv() => {
                        Meanwhile::Recorded(Box::new(recorded))
                    }
                    done = &mut work => break done,
                    _ = ticks.tick() => Meanwhile::Time,
                };
                if failed.is_none()
                    && let Err(error) = tell(printer, happened)
                {
                    // Work that is dropped would leave effects without an outcome.
                    stop.raise();
                    failed = Some(error);
                }
            };
            while let (None, Ok(text)) = (&failed, told.heard.try_recv()) {
                failed = tell(printer, Meanwhile::Heard(text)).err();
            }
            while let (None, Ok(recorded)) = (&failed, told.recorded.try_recv()) {
                failed = tell(printer, Meanwhile::Recorded(Box::new(recorded))).err();
            }
            failed.map_or(Ok(done), Err)
        })
    }

    /// Whether a person is there to be asked.
    pub(crate) fn attended(&mut self) -> bool {
        !self.printer.json() && self.printer.io().terminal.is_some()
    }

    /// The person at this end, as the system knows them.
    pub(crate) fn principal(&mut self) -> Result<Principal, CommandError> {
        local_principal(self.printer.io().uid)
            .map_err(|error| CommandError::new(Kind::Failed, error))
    }

    /// Whoever calls this verb.
    pub(crate) fn caller(&mut self) -> Result<Caller, CommandError> {
        self.caller_by(Channel::Cli)
    }

    /// Whoever came in this way.
    pub(crate) fn caller_by(&mut self, channel: Channel) -> Result<Caller, CommandError> {
        Ok(Caller::Person {
            principal: self.principal()?,
            channel,
            assurance: Assurance::SameUser,
        })
    }

    /// Opens the ledger, or makes it where there is none; `tell` asks to be told of appends.
    pub(crate) fn open_or_create(&mut self, tell: bool) -> Result<Open, CommandError> {
        in_force::rules(self.config()?)?;
        if self.home.is_free() {
            self.create()?;
        }
        let tell = tell || self.printer.shows_progress();
        let open = self.open_telling(tell)?;
        self.adopt(&open)?;
        Ok(open)
    }

    /// Opens the ledger that is there, and brings the rules of the config into force: for what
    /// grants or drives. A config that cannot be read refuses before anything is recorded.
    pub(crate) fn open(&mut self) -> Result<Open, CommandError> {
        in_force::rules(self.config()?)?;
        let open = self.open_as_it_is()?;
        self.adopt(&open)?;
        Ok(open)
    }

    /// Opens the ledger that is there, with the rules that are in force: for what only looks, or
    /// turns down.
    pub(crate) fn open_as_it_is(&mut self) -> Result<Open, CommandError> {
        let tell = self.printer.shows_progress();
        self.open_telling(tell)
    }

    /// Brings the rules of the config into force, where others are.
    pub(crate) fn adopt(&mut self, open: &Open) -> Result<(), CommandError> {
        let caller = self.caller()?;
        let adopted = in_force::adopt(&open.ledger, self.config()?, &caller);
        if let Some(said) = self.block_on(adopted)? {
            self.printer.note(&said);
        }
        self.reasons = in_force::reasons_now(&open.ledger);
        Ok(())
    }

    fn open_telling(&mut self, tell: bool) -> Result<Open, CommandError> {
        let ledger = self.reach()?;
        self.listen();
        self.reasons = in_force::reasons_now(&ledger);
        let outfit = self.outfit()?;
        let stop = self.printer.io().stop.clone();
        let place = self.home.place(self.printer.io().uid)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let engine = Engine::new(ledger.clone(), Arc::new(outfit), clock, place, stop);
        let engine = engine.leased_by(self.home.leases());
        let (listener, heard) = unbounded_channel();
        let engine = if self.printer.shows_progress() {
            engine.heard_by(Heard::by(listener))
        } else {
            engine
        };
        let (sender, recorded) = unbounded_channel();
        let told = tell.then_some(Told {
            sender,
            recorded,
            heard,
        });
        Ok(Open {
            ledger,
            engine,
            told,
        })
    }

    /// The ledger that is there: held by this process from now on, or reached through the one that
    /// holds it.
    pub(crate) fn reach(&mut self) -> Result<Ledger, CommandError> {
        let opening = Arc::new(Opening::new(self.home.clone(), self.head_dir()?));
        let reached = self.block_on(Ledger::shared(opening.clone()));
        reached.map_err(|error| opening.failed().unwrap_or_else(|| error.into()))
    }

    /// Opens a copy of the store to read what is there, even where it must not be written to any
    /// more.
    pub(crate) fn open_copy(&mut self) -> Result<Copied, CommandError> {
        let head_dir = self.head_dir()?;
        let temporary = self.temporary();
        Ok(copied::open(&self.home, &head_dir, &temporary)?)
    }

    /// The folder for temporary files.
    pub(crate) fn temporary(&mut self) -> PathBuf {
        self.printer.io().temporary()
    }

    /// How the program is called to look at this ledger once more.
    pub(crate) fn program(&self) -> String {
        let mut program = String::from("placet");
        for (option, path) in [
            ("--home", &self.global.home),
            ("--config", &self.global.config),
        ] {
            if let Some(path) = path {
                let word = text::shell_word(&text::sentence(&path.display().to_string()));
                program = format!("{program} {option} {word}");
            }
        }
        program
    }

    /// The folder of the head file of the ledger in the home.
    pub(crate) fn head_dir(&self) -> Result<PathBuf, CommandError> {
        let dir = self.home.dir.display();
        let ledger = self.home.ledger().ok_or_else(|| {
            if self.home.is_free() {
                CommandError::new(Kind::NotFound, format!("there is no ledger at {dir}"))
                    .hint("placet run makes one; --home DIR or PLACET_HOME names another place")
            } else {
                let what = format!("what lies at {dir} is no ledger, or only a part of one");
                CommandError::new(Kind::Integrity, what).hint("name another place with --home DIR")
            }
        })?;
        Ok(self.home.head_dir(ledger))
    }

    /// What equips runs.
    pub(crate) fn outfit(&mut self) -> Result<LocalOutfit, CommandError> {
        let models = self.models();
        Ok(LocalOutfit {
            closed: self.closed(&models)?,
            locks: self.home.locks(),
            machine: Arc::new(machine(self.printer.io(), self.home.running())),
            providers: Arc::new(models),
        })
    }

    /// What no tool may touch: the home, the head files, the config, keys, the program itself.
    fn closed(&mut self, models: &Models) -> Result<ClosedSet, CommandError> {
        let mut closed = ClosedSet::new();
        let failed = |error| CommandError::new(Kind::Failed, error);
        if let Some(program) = &self.printer.io().program {
            closed.close_file(program).map_err(failed)?;
        }
        closed.close_folder(&self.home.dir).map_err(failed)?;
        closed.close_folder(self.home.state_dir()).map_err(failed)?;
        // Another run may use the default home; its keys are as little for tools as ours.
        if let Some(home) = Home::default_dir(self.printer.io()) {
            closed.close_folder(&home).map_err(failed)?;
        }
        // The default folder is read by every run that names no other file.
        if let Some(folder) = config::default_folder(self.printer.io()) {
            closed.close_folder(&folder).map_err(failed)?;
        }
        // What it says is obeyed, so that a tool must never come near it.
        if self.config_place.is_named() {
            closed
                .close_apart(self.config_place.path())
                .map_err(failed)?;
        }
        for key in models.key_files() {
            closed.close_apart(&key).map_err(failed)?;
        }
        Ok(closed)
    }

    fn create(&mut self) -> Result<(), CommandError> {
        if let Some(left) = self.home.left_in_state() {
            let (home, left) = (self.home.dir.display(), left.display());
            let what = format!("there was a ledger at {home}: its head file is still in {left}");
            return Err(CommandError::new(Kind::Integrity, what)
                .hint(format!("put the home back, or remove {left} to begin anew")));
        }
        self.home.make_parents()?;
        let ledger = LedgerId::new(uuid::Uuid::new_v4());
        let staged = self.home.staged_for(ledger)?;
        let made = self
            .build(&staged.home, ledger)
            .and_then(|()| self.home.adopt(staged));
        if let Err(error) = made {
            // What was half made is of no use to anyone.
            drop(std::fs::remove_dir_all(self.home.head_dir(ledger)));
            // Where somebody else made one at the same time, that one is used.
            return self.home.ledger().map_or(Err(error), |_| Ok(()));
        }
        let dir = self.home.dir.display().to_string();
        self.printer.note(&format!("made a new ledger at {dir}"));
        self.printer.note(&format!(
            "  hint: move {dir}/recovery.key to a safe place offline; it alone can replace a \
             stolen ledger key"
        ));
        Ok(())
    }

    fn build(&mut self, staging: &Home, ledger: LedgerId) -> Result<(), CommandError> {
        let by = self.principal()?;
        let store = SledStore::create(&staging.dir, ledger, &staging.head_dir(ledger))?;
        let keys = staging.furnish()?;
        let created = LedgerCreated {
            format: STORE_FORMAT,
            journal: StreamId::new(uuid::Uuid::new_v4()),
            key: keys.key,
            recovery: keys.recovery,
        };
        let new = NewLedger {
            ledger,
            created,
            rules: in_force::text(shipped())?,
            by,
        };
        let stamps = LiveStamps::new(Arc::new(SystemClock));
        let made = self.block_on(Ledger::create(&store, &stamps, new));
        store.close();
        Ok(made?)
    }

    /// Turns the first Ctrl-C, and a wish to terminate, into a wish to stop.
    pub(crate) fn listen(&mut self) {
        let io = self.printer.io();
        if !io.signals {
            return;
        }
        let (stop, terminated) = (io.stop.clone(), io.terminated.clone());
        // They are listened for from now on, not from when the task is first run.
        let lent = io.lent.clone();
        let entered = self.runtime.enter();
        let mut signals = Signals::new(lent);
        drop(entered);
        self.runtime.spawn(async move {
            if signals.next().await == ExitStatus::Terminated {
                terminated.store(true, Ordering::Relaxed);
            }
            stop.raise();
            // Whoever asks twice does not want to wait for a tool that hangs: the record knows
            // what had started.
            let status = signals.next().await;
            terminal::restore();
            std::process::exit(status.code().into());
        });
    }
}

/// What commands are run with here; `marks` is the folder of files that tell what runs.
pub(crate) fn machine(io: &Io, marks: PathBuf) -> Machine {
    let helper = io.program.clone().map(|program| Helper {
        program,
        arguments: vec![helper::VERB.to_owned()],
    });
    let home = io.var("HOME").map(PathBuf::from);
    Machine::new(helper, home, io.var("PATH").unwrap_or_default(), marks)
}

/// Ctrl-C, and a signal to terminate; one that cannot be listened for does what it always does.
struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    /// Whether another program has the terminal, for which Ctrl-C is meant then.
    lent: Arc<AtomicBool>,
}

impl Signals {
    fn new(lent: Arc<AtomicBool>) -> Self {
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            lent,
        }
    }

    /// How a process ends that the next one asks to end.
    async fn next(&mut self) -> ExitStatus {
        loop {
            let asked = tokio::select! {
                () = heard(self.interrupt.as_mut()) => ExitStatus::Interrupted,
                () = heard(self.terminate.as_mut()) => ExitStatus::Terminated,
            };
            if asked == ExitStatus::Terminated || !self.lent.load(Ordering::SeqCst) {
                return asked;
            }
        }
    }
}

async fn heard(signal: Option<&mut Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending::<()>().await;
}
