//! Budgets that hold: what each task, all tasks of a day and a whole run may use, what they have used, and what is set
//! aside for calls under way. Every model call is a line of ledger.jsonl. Whether to call is asked here before each call;
//! who calls, and what a call may cost, is known elsewhere.

mod account;
mod balance;
mod books;
mod clock;
mod family;
mod fold;
mod line;
mod past;
mod pen;
mod pot;
mod sums;
mod written;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::watch;

pub use self::account::{Account, AtWork, Call, Purpose, Quote};
pub use self::balance::Balance;
pub use self::clock::Clock;
pub use self::past::Estimate;
pub use self::sums::Sums;

use self::books::{Books, Start};
use self::line::Line;
use self::past::Past;
use self::pot::{FLEET, WHOLE};
use self::written::Written;
use crate::message::{Budget, Change};

/// The accounts of a program. Cheap to clone; clones are the same ledger.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Clock,
    books: Mutex<Books>,
    written: Written,
    /// Told of every change of a budget and of the time that is left.
    changed: watch::Sender<()>,
}

/// A task whose account is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Its number, as in `t_001`.
    pub task: String,
    /// When it was dispatched; with the number it names the task for ever.
    pub created: Timestamp,
    /// The role that does it.
    pub agent: Option<String>,
    /// What it may use in all its attempts.
    pub budget: Budget,
    /// The task that asked for it, if one did: what it uses of money and tokens, that one has not.
    pub parent: Option<Box<Opening>>,
}

/// Whether the next call may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leave {
    /// By estimate one that sums up still fits behind it.
    Call,
    /// Only one that sums up.
    SumUp {
        /// What is nearly used up, as in `$0.46 of $0.50`.
        what: String,
    },
    /// Not even that.
    Nothing {
        /// What is used up.
        what: String,
    },
}

/// Why a budget is not granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Short {
    /// What all share has not as much left.
    #[error("{}", pot_is_short(wanted.as_deref(), left.as_deref(), limit))]
    Pot {
        /// What was asked for; `None` for no certain amount.
        wanted: Option<String>,
        /// What is left; `None` when nothing is.
        left: Option<String>,
        /// Of what, as in `$5.00 for all tasks of a day`.
        limit: String,
    },
    /// A limit that is not there cannot be raised.
    #[error("it has no limit that could be raised by {example}; set one, without the +")]
    NoLimit {
        /// What was asked for.
        example: String,
    },
    /// The task is over.
    #[error("its account is closed")]
    Closed,
}

fn pot_is_short(wanted: Option<&str>, left: Option<&str>, limit: &str) -> String {
    let left = left.map_or("nothing".to_owned(), |left| format!("only {left}"));
    let wanted = wanted.map_or(String::new(), |wanted| format!(", and {wanted} was to be set aside"));
    format!("{left} is left of {limit}{wanted}; ask for less, wait until other tasks end, or raise the limit")
}

impl Ledger {
    /// The ledger in this file, which is made with the first call; `fleet` limits all tasks of a day together, `whole`
    /// everything that this program does. When a day begins the clock says. A fleet's limit needs to know what was used
    /// today, so then the file is read at once.
    pub fn open(path: &Path, fleet: Budget, whole: Budget, clock: Clock) -> Ledger {
        let ledger = Ledger::over(Some(path.to_owned()), fleet, whole, clock);
        if !fleet.is_unlimited() {
            ledger.inner.past(|_| ());
        }
        ledger
    }

    /// A ledger that leaves no file.
    pub fn in_memory(fleet: Budget, whole: Budget) -> Ledger {
        Ledger::over(None, fleet, whole, Clock::system())
    }

    fn over(path: Option<PathBuf>, fleet: Budget, whole: Budget, clock: Clock) -> Ledger {
        let inner = Inner {
            books: Mutex::new(Books::new(fleet, whole, clock.today())),
            written: Written::new(path),
            clock,
            changed: watch::Sender::new(()),
        };
        Ledger { inner: Arc::new(inner) }
    }

    /// Opens the account of a new task and sets its budget aside. Waits for nothing.
    ///
    /// # Errors
    /// [`Short::Pot`] when what all share has not as much left.
    pub fn dispatch(&self, opening: &Opening) -> Result<Account, Short> {
        self.begin(opening, Sums::default(), Sums::default())
    }

    /// Opens the account of a task that goes on, with what it has used before; one that is open already gets the budget
    /// that is given. Reads the file: not for those who may not wait.
    ///
    /// # Errors
    /// As [`Ledger::dispatch`].
    pub fn resume(&self, opening: &Opening) -> Result<Account, Short> {
        if self.inner.books().is_open(&opening.task) {
            if self.inner.books().replace(&opening.task, opening.budget) {
                self.inner.changed.send_replace(());
            }
            return Ok(self.account(opening));
        }
        if let Some(parent) = &opening.parent {
            self.remember(parent);
        }
        let (spent, lent) = self.inner.past(|past| past.with_below(&opening.task, opening.created));
        self.begin(opening, spent, lent)
    }

    fn begin(&self, opening: &Opening, spent: Sums, lent: Sums) -> Result<Account, Short> {
        let name: Arc<str> = opening.task.as_str().into();
        let parent = opening.parent.as_ref().map(|parent| parent.task.as_str().into());
        let start = Start { budget: opening.budget, spent, lent, draws: account::TASK, parent };
        self.inner.books().open(&name, start)?;
        Ok(self.account(opening))
    }

    /// Lets the limit of a task that is over hold for those that it asked for.
    fn remember(&self, opening: &Opening) {
        if let Some(parent) = &opening.parent {
            self.remember(parent);
        }
        let (spent, lent) = self.inner.past(|past| past.with_below(&opening.task, opening.created));
        let parent = opening.parent.as_ref().map(|parent| parent.task.as_str().into());
        let start = Start { budget: opening.budget, spent, lent, draws: account::TASK, parent };
        self.inner.books().remember(&opening.task.as_str().into(), start);
    }

    fn account(&self, opening: &Opening) -> Account {
        let Opening { task, created, agent, parent, .. } = opening.clone();
        let parent = parent.map(|parent| parent.task);
        Account::new(self.inner.clone(), task.into(), Some(created), (agent, parent), account::TASK)
    }

    /// The account of a conversation's main agent. It is limited by what limits the whole program only.
    pub fn main(&self, session: &str) -> Account {
        let name: Arc<str> = format!("main {session}").into();
        let mut books = self.inner.books();
        if !books.is_open(&name) {
            // Only tasks are refused.
            let none = Sums::default();
            let start =
                Start { budget: Budget::default(), spent: none, lent: none, draws: account::MAIN, parent: None };
            let _ = books.open(&name, start);
        }
        drop(books);
        Account::new(self.inner.clone(), name, None, (None, None), account::MAIN)
    }

    /// Closes the account of a task that is over; what it did not use is free for others.
    pub fn close(&self, task: &str) {
        self.inner.books().close(task);
        self.inner.sharers_changed();
    }

    /// Changes the budget of a task that is not over.
    ///
    /// # Errors
    /// [`Short`] says what is missing; then nothing has changed.
    pub fn change(&self, task: &str, change: Change) -> Result<Budget, Short> {
        let budget = self.inner.books().change(task, change)?;
        self.inner.changed.send_replace(());
        Ok(budget)
    }

    /// What an order makes of a budget.
    ///
    /// # Errors
    /// [`Short::NoLimit`] for a raise of what is not limited.
    pub fn changed(budget: Budget, change: Change) -> Result<Budget, Short> {
        books::changed(budget, change)
    }

    /// How a task that is not over stands; `None` for any other.
    pub fn balance(&self, task: &str) -> Option<Balance> {
        self.inner.books().balance(task)
    }

    /// How a task stands that nobody works on, by what the file says.
    pub fn past(&self, opening: &Opening) -> Balance {
        let (own, lent) = self.inner.past(|past| past.with_below(&opening.task, opening.created));
        let spent = own.plus(lent);
        Balance { budget: opening.budget, spent, engaged: spent }
    }

    /// How all tasks of this day stand, those of earlier programs too. Reads the file when nobody did before.
    pub fn fleet(&self) -> Balance {
        self.inner.past(|_| ());
        self.inner.books().pot(FLEET)
    }

    /// How everything stands that this program did.
    pub fn whole(&self) -> Balance {
        self.inner.books().pot(WHOLE)
    }

    /// Ends when every call that was made by now is in the file, or the disk does not answer for some seconds.
    pub async fn settled(&self) {
        self.inner.written.settled().await;
    }

    /// What tasks like this one took. Reads the file when nobody did before.
    pub fn estimate(&self, agent: Option<&str>, model: &str) -> Option<Estimate> {
        self.inner.past(|past| past.estimate(agent, model, |task| self.inner.books().is_open(task)))
    }
}

impl Inner {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books_at(self.clock.now())
    }

    fn books_at(&self, now: Timestamp) -> MutexGuard<'_, Books> {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        books.roll(self.clock.day(now));
        books
    }

    /// Looks at what the file says. Waits for the disk; the books do not.
    fn past<T>(&self, look: impl FnOnce(&Past) -> T) -> T {
        self.written.past(&self.clock, |used, day| self.books().recall(used, day), look)
    }

    /// Others that are at work have more time each, or less, where they share it. Where they do not, nobody is woken:
    /// ten thousand that wait would look for nothing at each beginning and end of one.
    fn sharers_changed(&self) {
        if self.books().shares_time() {
            self.changed.send_replace(());
        }
    }

    fn serve(&self) {
        self.written.serve(&self.clock, |used, day| self.books().recall(used, day));
    }

    /// Has a line written by a thread that may wait for the disk.
    fn write(self: &Arc<Inner>, line: Line<'static>) {
        if !self.written.take(line) {
            return;
        }
        let inner = self.clone();
        match Handle::try_current() {
            Ok(runtime) if self.written.is_kept() => drop(runtime.spawn_blocking(move || inner.serve())),
            // Nobody else is there to wait, or there is nothing to wait for.
            _ => inner.serve(),
        }
    }
}
