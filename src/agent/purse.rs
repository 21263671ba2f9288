//! What a run may still spend: asks its account before each call, by an estimate of what that takes, and tells it what
//! came. The sums are kept in `ledger`; a run without an account spends as it likes.

use std::future::pending;
use std::time::Duration;

use super::run::Run;
use crate::ledger::{Account, Call, Leave, Purpose, Sums};
use crate::message::{Usage, Usd};
use crate::model::Reply;
use crate::model::tokens::Size;

/// Tokens that a reply is thought to have before there was one.
const REPLY: u64 = 400;

/// How long a call that is under way may go on when the time is used up.
const LATE: Duration = Duration::from_secs(30);

/// How long a call that sums up is thought to take at least, and at most, as a part of the whole time.
const SHORTEST: Duration = Duration::from_millis(500);
const PART: u32 = 5;

/// How long tools may take to end.
const END: Duration = Duration::from_millis(100);

/// The purse of one run.
#[derive(Default)]
pub(super) struct Purse {
    account: Option<Account>,
    /// Tokens of the longest reply so far.
    longest: u64,
    /// The last reply's.
    usage: Usage,
    /// The slowest call so far.
    slowest: Duration,
    /// Kept back for a call that sums up.
    last: Sums,
    /// A call beside the loop was paid for since the next one was admitted.
    pub(super) lighter: bool,
}

impl Purse {
    pub(super) fn of(account: Option<&Account>) -> Purse {
        Purse { account: account.cloned(), ..Purse::default() }
    }

    /// Turns are limited by the account.
    pub(super) fn counts_turns(&self) -> bool {
        let balance = self.account.as_ref().and_then(Account::balance);
        balance.is_some_and(|balance| balance.budget.turns.is_some())
    }

    /// Says once that most of a limit is used.
    pub(super) fn low(&self) -> Option<String> {
        self.account.as_ref().and_then(Account::low)
    }

    /// A reply came. What its provider did not count is guessed.
    pub(super) fn replied(&mut self, purpose: Purpose, reply: &Reply, asked: u64, took: Duration) {
        let (usage, estimated) = counted(reply, asked);
        self.charge(purpose, &reply.model.to_string(), (usage, reply.cost), estimated);
        (self.longest, self.usage) = (self.longest.max(usage.output), usage);
        self.slowest = self.slowest.max(took);
    }

    /// A call was stopped before its end. It is paid for all the same, as far as anybody can tell.
    pub(super) fn stopped(&mut self, model: &str, asked: u64) {
        self.charge(Purpose::Stopped, model, (Usage { input: asked, ..Usage::default() }, None), true);
    }

    /// A call beside the loop, or a reply that was not taken.
    pub(super) fn paid(&mut self, purpose: Purpose, model: &str, usage: Usage, cost: Option<Usd>) {
        self.lighter = true;
        self.charge(purpose, model, (usage, cost), false);
    }

    /// Every call so far is written down.
    pub(super) async fn settled(&self) {
        if let Some(account) = &self.account {
            account.settled().await;
        }
    }

    fn charge(&mut self, purpose: Purpose, model: &str, (usage, cost): (Usage, Option<Usd>), estimated: bool) {
        if let Some(account) = &self.account {
            account.charge(Call { purpose, model, usage, cost, estimated }, self.last);
        }
    }

    /// Ends when there is just time enough to sum up; answers what is used up.
    pub(super) fn time_to_sum_up(&self) -> impl Future<Output = String> + Send + use<> {
        let (account, spare) = (self.account.clone(), self.slow().saturating_add(END));
        async move {
            match account {
                Some(account) => account.time_up(spare, Duration::ZERO).await,
                None => pending().await,
            }
        }
    }

    /// Ends some time after the time is used up: so long may a call go on that was begun before.
    pub(super) fn time_over(&self) -> impl Future<Output = String> + Send + use<> {
        let account = self.account.clone();
        async move {
            match account {
                Some(account) => account.time_up(Duration::ZERO, LATE).await,
                None => pending().await,
            }
        }
    }

    /// How long a call may take.
    fn slow(&self) -> Duration {
        let whole = self.account.as_ref().and_then(Account::balance).and_then(|balance| balance.budget.time);
        let slow = self.slowest.max(SHORTEST);
        whole.map_or(slow, |whole| slow.min(whole / PART))
    }

    fn cost(&self, usage: Usage, turns: u32, time: Duration) -> Sums {
        let cost = self.account.as_ref().and_then(|account| account.quote(&usage));
        Sums { turns, time, ..Sums::of_call(&usage, cost) }
    }
}

impl Run<'_> {
    /// Whether the next call may be made.
    pub(super) fn leave(&mut self) -> Leave {
        if self.purse.account.is_none() {
            return Leave::Call;
        }
        let asked = self.gauge.measure(self.session.context());
        let (most, purse) = (self.agent.limits.max_tokens, &mut self.purse);
        let reply = purse.longest.max(REPLY).min(most);
        let caches = purse.usage.cache_read + purse.usage.cache_write > 0;
        let cached = if caches { purse.usage.context().min(asked) } else { 0 };
        let call = Usage { input: asked - cached, cache_read: cached, output: reply, ..Usage::default() };
        // Without the tools nothing of the prompt is in a cache.
        let alone = |asked: u64| match caches {
            true => Usage { cache_write: asked, output: reply, ..Usage::default() },
            false => Usage { input: asked, output: reply, ..Usage::default() },
        };
        let grown = match purse.usage.prompt() {
            0 => 0,
            before => asked.saturating_sub(before),
        };
        let (turns, slow) = (1, purse.slow());
        let last = purse.cost(alone(asked), turns, slow);
        let then = purse.cost(alone(asked + grown.max(reply)), turns, slow);
        let call = purse.cost(call, turns, slow).plus(then.less(last));
        purse.last = last;
        purse.lighter = false;
        purse.account.as_ref().map_or(Leave::Call, |account| account.admit(call, last))
    }

    /// Whether a summary of a text of so many tokens can be paid for, with room for what comes then.
    pub(super) fn affords_summary(&self, input: u64, output: u64) -> bool {
        let purse = &self.purse;
        let cost = purse.cost(Usage { input, output, ..Usage::default() }, 0, purse.slowest);
        purse.account.as_ref().is_none_or(|account| account.affords(cost, purse.last))
    }

    /// Tokens of the request that is made now.
    pub(super) fn asked(&mut self) -> u64 {
        if self.purse.account.is_none() { 0 } else { self.gauge.measure(self.session.context()) }
    }
}

/// What a reply took, and whether that is a guess: some servers count nothing. The pilot is no model and takes nothing.
fn counted(reply: &Reply, asked: u64) -> (Usage, bool) {
    if reply.usage.context() > 0 || reply.model.provider == "pilot" {
        return (reply.usage, false);
    }
    let said = Size::guess_all(&[std::sync::Arc::new(reply.message.clone())]);
    (Usage { input: asked, output: said.text.max(1), ..Usage::default() }, true)
}
