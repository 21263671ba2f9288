//! One account, as whoever makes the calls holds it: may I call, I have called, how long may I work.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::balance::Balance;
use super::books::TimeLeft;
use super::line::Line;
use super::sums::Sums;
use super::{Inner, Leave};
use crate::message::{Usage, Usd};

/// The pots that a task draws on: the fleet's, and that of the whole run.
pub(super) const TASK: [bool; 2] = [true, true];
/// A main agent is limited with the whole run only.
pub(super) const MAIN: [bool; 2] = [false, true];

/// What tokens cost; `None` when nobody knows.
pub type Quote = Arc<dyn Fn(&Usage) -> Option<Usd> + Send + Sync>;

/// The account of a task or of a main agent. Cheap to clone; clones are the same account.
#[derive(Clone)]
pub struct Account {
    inner: Arc<Inner>,
    name: Arc<str>,
    born: Option<Timestamp>,
    agent: Option<Arc<str>>,
    parent: Option<Arc<str>>,
    draws: [bool; 2],
    quote: Option<Quote>,
}

/// What a call was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A turn of the loop.
    Turn,
    /// The last turn, without tools.
    SumUp,
    /// A summary of a part of the conversation.
    Summary,
    /// A name for the conversation.
    Title,
    /// A reply that was not taken.
    Discarded,
    /// A turn that was stopped before its end; what it cost is a guess.
    Stopped,
}

/// A call that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<'a> {
    /// What for.
    pub purpose: Purpose,
    /// Who answered, `provider/model`.
    pub model: &'a str,
    /// Its tokens.
    pub usage: Usage,
    /// What it cost; `None` when nobody knows.
    pub cost: Option<Usd>,
    /// The tokens are a guess.
    pub estimated: bool,
}

/// At work until this is dropped.
pub struct AtWork {
    account: Account,
}

impl Purpose {
    /// It counts as a turn.
    pub(super) fn is_turn(self) -> bool {
        match self {
            Purpose::Turn | Purpose::SumUp | Purpose::Stopped => true,
            Purpose::Summary | Purpose::Title | Purpose::Discarded => false,
        }
    }
}

impl Account {
    pub(super) fn new(
        inner: Arc<Inner>,
        name: Arc<str>,
        born: Option<Timestamp>,
        (agent, parent): (Option<String>, Option<String>),
        draws: [bool; 2],
    ) -> Account {
        Account { inner, name, born, agent: agent.map(Arc::from), parent: parent.map(Arc::from), draws, quote: None }
    }

    /// The same, knowing what tokens of its model cost.
    #[must_use]
    pub fn quoting(self, quote: Quote) -> Account {
        Account { quote: Some(quote), ..self }
    }

    /// What tokens cost; `None` when nobody knows.
    pub fn quote(&self, usage: &Usage) -> Option<Usd> {
        self.quote.as_ref().and_then(|quote| quote(usage))
    }

    /// Whether a call may be made that takes so much by estimate, when one that sums up takes `last`. What they may take
    /// is set aside until [`Account::charge`].
    pub fn admit(&self, call: Sums, last: Sums) -> Leave {
        self.inner.books().admit(&self.name, call, last)
    }

    /// Whether a call beside the loop, which can do without it, leaves enough for one that sums up.
    pub fn affords(&self, call: Sums, last: Sums) -> bool {
        self.inner.books().affords(&self.name, call, last)
    }

    /// Takes a call into the sums, and has it written to the file; whoever makes the next one waits for that with
    /// [`Account::settled`]. `last` stays set aside for one that sums up.
    pub fn charge(&self, call: Call<'_>, last: Sums) {
        let Call { purpose, model, usage, cost, estimated } = call;
        let cost = cost.or_else(|| self.quote(&usage));
        let turns = u32::from(purpose.is_turn());
        let sums = Sums { turns, ..Sums::of_call(&usage, cost) };
        let at = self.inner.clock.now();
        let worked = {
            let mut books = self.inner.books_at(at);
            books.charge(&self.name, sums, last, self.draws);
            books.balance(&self.name).map(|balance| balance.spent.time).unwrap_or_default()
        };
        let (task, session) = match self.name.split_once(' ') {
            Some((main, session)) => (main.to_owned(), Some(session.to_owned().into())),
            None => (self.name.to_string(), None),
        };
        let line = Line {
            v: Line::VERSION,
            at,
            task: task.into(),
            dispatched: self.born,
            session,
            agent: self.agent.as_deref().map(|agent| agent.to_owned().into()),
            parent: self.parent.as_deref().map(|parent| parent.to_owned().into()),
            purpose,
            model: model.to_owned().into(),
            input: usage.input,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            output: usage.output,
            usd: cost.map(Usd::dollars),
            estimated,
            worked_ms: super::sums::millis(worked),
            turns: None,
        };
        self.inner.write(line);
    }

    /// As [`Ledger::settled`](super::Ledger::settled).
    pub async fn settled(&self) {
        self.inner.written.settled().await;
    }

    /// Nothing is under way any more: what was set aside is free.
    pub fn release(&self) {
        self.inner.books().release(&self.name);
    }

    /// Counts the time from here until what is given back is dropped.
    #[must_use]
    pub fn at_work(&self) -> AtWork {
        self.inner.books().work(&self.name);
        self.inner.sharers_changed();
        AtWork { account: self.clone() }
    }

    /// How it stands; `None` when it is closed.
    pub fn balance(&self) -> Option<Balance> {
        self.inner.books().balance(&self.name)
    }

    /// Says once, after most of a limit was used, which and how much: `$0.41 of $0.50`.
    pub fn low(&self) -> Option<String> {
        self.inner.books().low(&self.name)
    }

    /// How long it may still be at work; `None` when nothing limits that.
    pub fn time_left(&self) -> Option<Duration> {
        self.inner.books().time_left(&self.name).map(|time| time.left)
    }

    /// Ends when no more than `spare` of its time is left, or, with `late`, so long after it was used up; answers what
    /// is used up. Never ends while nothing limits its time. Heeds changes of the budget.
    pub async fn time_up(&self, spare: Duration, late: Duration) -> String {
        let mut changed = self.inner.changed.subscribe();
        loop {
            let time = self.inner.books().time_left(&self.name);
            let Some(TimeLeft { left, over, what }) = time else {
                if changed.changed().await.is_err() {
                    return pending().await;
                }
                continue;
            };
            let wait = left.saturating_sub(spare).saturating_add(late.saturating_sub(over));
            if wait.is_zero() {
                return what;
            }
            tokio::select! {
                () = sleep(wait) => {}
                _ = changed.changed() => {}
            }
        }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.account.inner.books().rest(&self.account.name);
        self.account.inner.sharers_changed();
    }
}
