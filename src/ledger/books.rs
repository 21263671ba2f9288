//! The books: who may use how much, has used how much, and what is set aside for whom. Pure sums: knows no file, waits
//! for nothing. What a call costs is known to whoever makes it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::Date;
use tokio::time::Instant;

use super::balance::{Balance, LOW};
use super::family::Above;
use super::pot::{Bound, FLEET, Pot, Room, place};
use super::sums::{Currency, Sums};
use super::{Leave, Short};
use crate::message::{Budget, Change};

/// All accounts that are open, and the pots that they draw on.
pub(super) struct Books {
    pots: [Pot; 2],
    pub(super) accounts: HashMap<Arc<str>, Holder>,
    /// The fleet's pot is filled anew with each.
    day: Date,
}

/// One account.
pub(super) struct Holder {
    pub(super) budget: Budget,
    /// In all its life, except for the time since `since`.
    pub(super) spent: Sums,
    /// Of that, what a pot does not count: it was used before the account was opened, or on an earlier day.
    base: [Sums; 2],
    /// For the call under way, and for one that sums up.
    pub(super) reserve: Sums,
    /// It has been at work since then.
    since: Option<Instant>,
    draws: [bool; 2],
    engaged: [Sums; 2],
    warned: bool,
    pub(super) above: Above,
}

/// An account that is opened.
pub(super) struct Start {
    pub(super) budget: Budget,
    /// In earlier attempts.
    pub(super) spent: Sums,
    /// By its own tasks until now, of money and tokens.
    pub(super) lent: Sums,
    pub(super) draws: [bool; 2],
    /// The task that asked for it.
    pub(super) parent: Option<Arc<str>>,
}

/// How long an account may be at work.
pub(super) struct TimeLeft {
    pub(super) left: Duration,
    /// So much more than it may.
    pub(super) over: Duration,
    /// What limits it, in words.
    pub(super) what: String,
}

impl Books {
    pub(super) fn new(fleet: Budget, whole: Budget, day: Date) -> Books {
        Books { pots: [fleet, whole].map(Pot::new), accounts: HashMap::new(), day }
    }

    /// Lets what earlier programs used on a day count, as long as it lasts.
    pub(super) fn recall(&mut self, used: Sums, day: Date) {
        if day == self.day {
            self.pots[FLEET].closed = self.pots[FLEET].closed.plus(used);
        }
    }

    /// Opens an account and sets its budget aside.
    pub(super) fn open(&mut self, name: &Arc<str>, start: Start) -> Result<(), Short> {
        let Start { budget, spent, lent, draws, parent } = start;
        let used = spent.plus(lent);
        let wants = |currency: Currency| currency.limit(&budget).map(|own| own.saturating_sub(used.get(currency)));
        let parent = parent.filter(|parent| self.accounts.contains_key(parent));
        self.has_room_above(parent.as_ref(), wants)?;
        // Who is always there needs no room of its own: a pot that has run dry is met at the first call.
        for (at, pot) in self.pots.iter().enumerate().filter(|(at, _)| draws[*at] && draws[FLEET]) {
            let from_above = |currency: Currency| self.limiting(parent.as_ref(), currency).is_some();
            pot.has_room(at, |currency| if from_above(currency) { Some(0) } else { wants(currency) })?;
        }
        let above = self.enter(name, parent, spent, lent);
        self.accounts.insert(name.clone(), Holder::of(budget, spent, draws, above));
        self.engage(name);
        Ok(())
    }

    /// Closes it; what it did not use is free again. Its own tasks that go on are under its limit still.
    pub(super) fn close(&mut self, name: &str) {
        self.rest(name);
        let Some(holder) = self.accounts.get_mut(name).filter(|holder| !holder.above.is_over()) else { return };
        for (at, pot) in self.pots.iter_mut().enumerate().filter(|(at, _)| holder.draws[*at]) {
            pot.engaged = pot.engaged.less(std::mem::take(&mut holder.engaged[at]));
            pot.closed = pot.closed.plus(holder.spent.less(holder.base[at]));
        }
        self.leave(name);
    }

    pub(super) fn is_open(&self, name: &str) -> bool {
        self.accounts.get(name).is_some_and(|holder| !holder.above.is_over())
    }

    /// Decides about the next call of an account, and sets aside what it and a call that sums up may take.
    pub(super) fn admit(&mut self, name: &str, call: Sums, last: Sums) -> Leave {
        let bounds = self.bounds(name);
        let tightest = bounds.iter().map(|bound| (bound.room(call, last), bound)).min_by(|a, b| a.0.cmp(&b.0));
        let leave = match tightest {
            None | Some((Room::Both, _)) => Leave::Call,
            Some((Room::One, bound)) => Leave::SumUp { what: bound.words() },
            Some((Room::None, bound)) => Leave::Nothing { what: bound.words() },
        };
        if let Some(holder) = self.accounts.get_mut(name) {
            holder.reserve = match &leave {
                Leave::Call => call.plus(last),
                Leave::SumUp { .. } => last,
                Leave::Nothing { .. } => Sums::default(),
            };
            self.engage(name);
        }
        leave
    }

    /// Whether a call beside the loop leaves enough for one that sums up.
    pub(super) fn affords(&mut self, name: &str, call: Sums, last: Sums) -> bool {
        // It is no turn.
        let call = Sums { turns: 0, ..call };
        self.bounds(name).iter().all(|bound| bound.room(call, last) == Room::Both)
    }

    /// A call is over. What was set aside for one that sums up stays so.
    pub(super) fn charge(&mut self, name: &str, cost: Sums, last: Sums, draws: [bool; 2]) {
        let is_open = self.is_open(name);
        if let Some(holder) = self.accounts.get_mut(name) {
            holder.spent = holder.spent.plus(cost);
            holder.reserve = if is_open { last } else { Sums::default() };
            self.engage(name);
        }
        if !is_open {
            // A run that was dropped is still being paid for when its account is closed.
            let pots = self.pots.iter_mut().enumerate().filter(|(at, _)| draws[*at]);
            pots.for_each(|(_, pot)| pot.closed = pot.closed.plus(cost));
        }
    }

    /// Nothing is under way any more.
    pub(super) fn release(&mut self, name: &str) {
        if let Some(holder) = self.accounts.get_mut(name) {
            holder.reserve = Sums::default();
            self.engage(name);
        }
    }

    /// It is at work from now on.
    pub(super) fn work(&mut self, name: &str) {
        let Some(holder) = self.accounts.get_mut(name).filter(|holder| holder.since.is_none()) else { return };
        holder.since = Some(Instant::now());
        self.count_time(name, true);
    }

    /// It is no longer at work.
    pub(super) fn rest(&mut self, name: &str) {
        self.count_time(name, false);
        let Some(holder) = self.accounts.get_mut(name) else { return };
        let time = holder.since.take().map(|since| since.elapsed()).unwrap_or_default();
        holder.spent.time = holder.spent.time.saturating_add(time);
        holder.reserve = Sums::default();
        self.engage(name);
    }

    /// Changes a budget, if the pots have as much.
    pub(super) fn change(&mut self, name: &str, change: Change) -> Result<Budget, Short> {
        let holder = self.accounts.get(name).filter(|holder| !holder.above.is_over()).ok_or(Short::Closed)?;
        let (old, new) = (holder.budget, changed(holder.budget, change)?);
        let more = |currency: Currency, own: Sums| match (currency.limit(&old), currency.limit(&new)) {
            (Some(old), Some(new)) if new > old => Some(new - old),
            (None, Some(new)) => Some(new.saturating_sub(own.get(currency)).max(1)),
            _ => Some(0),
        };
        let parent = holder.above.parent();
        self.has_room_above(parent, |currency| more(currency, holder.above.engaged()))?;
        for (at, pot) in self.pots.iter().enumerate().filter(|(at, _)| holder.draws[*at]) {
            let from_above = |currency: Currency| self.limiting(parent, currency).is_some();
            pot.has_room(
                at,
                |currency| if from_above(currency) { Some(0) } else { more(currency, holder.engaged[at]) },
            )?;
        }
        self.replace(name, new);
        Ok(new)
    }

    /// Puts a budget in place that a hand has written, and answers whether it is another; the pots are not asked, for the
    /// task is there already.
    pub(super) fn replace(&mut self, name: &str, budget: Budget) -> bool {
        let other = self.accounts.get(name).is_some_and(|holder| holder.budget != budget);
        if other {
            // How its time counts against the pots may be another from here on.
            self.anew(name, |holder| (holder.budget, holder.warned) = (budget, false));
        }
        other
    }

    /// Whether a pot limits the time of all that draw on it.
    pub(super) fn shares_time(&self) -> bool {
        self.pots.iter().any(|pot| pot.budget.time.is_some())
    }

    /// How long it may be at work; `None` when nothing limits that.
    pub(super) fn time_left(&mut self, name: &str) -> Option<TimeLeft> {
        let time = |bound: &Bound| {
            let sharers = bound.pot.map_or(1, |at| self.pots[at].running.0.max(1));
            let share = |amount: u64| Duration::from_millis(amount / sharers);
            TimeLeft {
                left: share(bound.limit.saturating_sub(bound.used)),
                over: share(bound.used.saturating_sub(bound.limit)),
                what: bound.currency.share(bound.limit, bound.limit) + place(bound.pot),
            }
        };
        let bounds = self.bounds(name);
        bounds.iter().filter(|bound| bound.currency == Currency::Time).map(time).min_by_key(|time| time.left)
    }

    /// Says once that most of a limit is used: which, and how much.
    pub(super) fn low(&mut self, name: &str) -> Option<String> {
        let is_low = |bound: &&Bound| bound.used.saturating_mul(100) >= bound.limit.saturating_mul(LOW);
        let words = self.bounds(name).iter().find(is_low).map(Bound::words)?;
        let holder = self.accounts.get_mut(name).filter(|holder| !holder.warned)?;
        holder.warned = true;
        Some(words)
    }

    pub(super) fn balance(&self, name: &str) -> Option<Balance> {
        let holder = self.accounts.get(name).filter(|holder| !holder.above.is_over())?;
        let spent = holder.spent_now().plus(holder.above.lent());
        Some(Balance { budget: holder.budget, spent, engaged: spent })
    }

    pub(super) fn pot(&mut self, at: usize) -> Balance {
        let drawn = self.accounts.values().filter(|holder| holder.draws[at] && !holder.above.is_over());
        let spent = drawn.map(|holder| holder.spent_now().less(holder.base[at])).fold(Sums::default(), Sums::plus);
        let pot = &self.pots[at];
        let engaged = Sums::each(|currency| pot.used(currency));
        Balance { budget: pot.budget, spent: spent.plus(pot.closed), engaged }
    }

    /// All limits that an account is under.
    fn bounds(&self, name: &str) -> Vec<Bound> {
        let Some(holder) = self.accounts.get(name) else { return Vec::new() };
        let (spent, lent) = (holder.spent_now(), holder.above.lent());
        let own = |currency: Currency| {
            let limit = currency.limit(&holder.budget)?;
            let used = spent.get(currency).saturating_add(lent.get(currency));
            Some(Bound { currency, limit, used, pot: None, task: None })
        };
        let mut bounds: Vec<Bound> = Currency::ALL.into_iter().filter_map(own).collect();
        // What it has of its own was set aside when it was opened.
        let shared = || Currency::ALL.into_iter().filter(|currency| currency.limit(&holder.budget).is_none());
        bounds.extend(shared().filter_map(|currency| self.bound_above(holder, currency)));
        for (at, pot) in self.pots.iter().enumerate().filter(|(at, _)| holder.draws[*at]) {
            let parent = holder.above.parent();
            // And what a task above it has.
            let shared = shared().filter(|currency| self.limiting(parent, *currency).is_none());
            bounds.extend(shared.filter_map(|currency| {
                let limit = currency.limit(&pot.budget)?;
                let mine = holder.spent.less(holder.base[at]).get(currency);
                let others = pot.used(currency).saturating_sub(holder.engaged[at].get(currency));
                let used = others.saturating_add(mine);
                Some(Bound { currency, limit, used, pot: Some(at), task: None })
            }));
        }
        bounds
    }

    /// Sets aside in the pots what an account has or may take by now.
    pub(super) fn engage(&mut self, name: &str) {
        let Some(holder) = self.accounts.get_mut(name) else { return };
        let draws = holder.draws.map(|draws| draws && !holder.above.is_over());
        for (at, pot) in self.pots.iter_mut().enumerate().filter(|(at, _)| draws[*at]) {
            let (mine, lent) = (holder.spent.less(holder.base[at]).plus(holder.reserve), holder.above.lent());
            let engaged = Sums::each(|currency| match currency.limit(&holder.budget) {
                // What is lent is set aside by those that have it.
                Some(own) => {
                    let used = holder.base[at].get(currency).saturating_add(lent.get(currency));
                    own.saturating_sub(used).max(mine.get(currency))
                }
                None => mine.get(currency),
            });
            pot.engaged = pot.engaged.less(holder.engaged[at]).plus(engaged);
            holder.engaged[at] = engaged;
        }
        self.engage_above(name);
    }

    /// Counts the time of an account that has no limit of its own among those that the pots limit, or no longer.
    fn count_time(&mut self, name: &str, begins: bool) {
        let Some(holder) = self.accounts.get(name) else { return };
        let Some(since) = holder.since.filter(|_| holder.budget.time.is_none()) else { return };
        for (_, pot) in self.pots.iter_mut().enumerate().filter(|(at, _)| holder.draws[*at]) {
            let ((count, starts), at) = (pot.running, since.duration_since(pot.origin));
            pot.running = match begins {
                true => (count + 1, starts.saturating_add(at)),
                false => (count.saturating_sub(1), starts.saturating_sub(at)),
            };
        }
    }

    /// With a new day the fleet's pot is full again, except for what tasks that go on still hold. A call that is under
    /// way counts when it is over, time as it passes. A clock that is set back begins no day again.
    pub(super) fn roll(&mut self, day: Date) {
        if day <= self.day {
            return;
        }
        self.day = day;
        self.pots[FLEET].closed = Sums::default();
        let names: Vec<Arc<str>> = self.accounts.keys().cloned().collect();
        for name in names {
            self.anew(&name, |holder| holder.base[FLEET] = holder.spent);
        }
    }

    /// Changes an account when all its time is counted; what is set aside for it, and that it works, stays.
    fn anew(&mut self, name: &str, change: impl FnOnce(&mut Holder)) {
        let Some(holder) = self.accounts.get(name) else { return };
        let (works, reserve) = (holder.since.is_some(), holder.reserve);
        self.rest(name);
        if let Some(holder) = self.accounts.get_mut(name) {
            change(holder);
            holder.reserve = reserve;
        }
        self.engage(name);
        if works {
            self.work(name);
        }
    }
}

impl Holder {
    /// With nothing set aside yet.
    pub(super) fn of(budget: Budget, spent: Sums, draws: [bool; 2], above: Above) -> Holder {
        let (base, engaged, reserve) = ([spent; 2], [Sums::default(); 2], Sums::default());
        Holder { budget, spent, base, reserve, since: None, draws, engaged, warned: false, above }
    }

    pub(super) fn spent_now(&self) -> Sums {
        let time = self.since.map(|since| since.elapsed()).unwrap_or_default();
        Sums { time: self.spent.time.saturating_add(time), ..self.spent }
    }
}

/// The budget after an order; a raise of what has no limit is a misunderstanding.
pub(super) fn changed(budget: Budget, change: Change) -> Result<Budget, Short> {
    if let Change::Raise(by) = change {
        let raised = |currency: &Currency| currency.limit(&by).is_some() && currency.limit(&budget).is_none();
        if let Some(currency) = Currency::ALL.into_iter().find(raised) {
            let amount = currency.limit(&by).unwrap_or_default();
            return Err(Short::NoLimit { example: currency.show(amount) });
        }
    }
    Ok(budget.changed(change))
}
