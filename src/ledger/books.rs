//! The books: who may use how much, has used how much, and what is set aside for whom. Pure sums: knows no file, waits
//! for nothing. What a call costs is known to whoever makes it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::Date;
use tokio::time::Instant;

use super::balance::{Balance, LOW};
use super::pot::{Bound, FLEET, Pot, Room, place};
use super::sums::{Currency, Sums};
use super::{Leave, Short};
use crate::message::{Budget, Change};

/// All accounts that are open, and the pots that they draw on.
pub(super) struct Books {
    pots: [Pot; 2],
    accounts: HashMap<Arc<str>, Holder>,
    /// The fleet's pot is filled anew with each.
    day: Date,
}

/// One account.
struct Holder {
    budget: Budget,
    /// In all its life, except for the time since `since`.
    spent: Sums,
    /// Of that, what a pot does not count: it was used before the account was opened, or on an earlier day.
    base: [Sums; 2],
    /// For the call under way, and for one that sums up.
    reserve: Sums,
    /// It has been at work since then.
    since: Option<Instant>,
    draws: [bool; 2],
    engaged: [Sums; 2],
    warned: bool,
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
    pub(super) fn open(&mut self, name: &Arc<str>, budget: Budget, spent: Sums, draws: [bool; 2]) -> Result<(), Short> {
        // Who is always there needs no room of its own: a pot that has run dry is met at the first call.
        for (at, pot) in self.pots.iter().enumerate().filter(|(at, _)| draws[*at] && draws[FLEET]) {
            let wants = |currency: Currency| currency.limit(&budget).map(|own| own.saturating_sub(spent.get(currency)));
            pot.has_room(at, wants)?;
        }
        let (base, engaged) = ([spent; 2], [Sums::default(); 2]);
        let reserve = Sums::default();
        let holder = Holder { budget, spent, base, reserve, since: None, draws, engaged, warned: false };
        self.accounts.insert(name.clone(), holder);
        self.engage(name);
        Ok(())
    }

    /// Closes it; what it did not use is free again.
    pub(super) fn close(&mut self, name: &str) -> Option<Sums> {
        self.rest(name);
        let holder = self.accounts.remove(name)?;
        for (at, pot) in self.pots.iter_mut().enumerate().filter(|(at, _)| holder.draws[*at]) {
            pot.engaged = pot.engaged.less(holder.engaged[at]);
            pot.closed = pot.closed.plus(holder.spent.less(holder.base[at]));
        }
        Some(holder.spent)
    }

    pub(super) fn is_open(&self, name: &str) -> bool {
        self.accounts.contains_key(name)
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
        match self.accounts.get_mut(name) {
            Some(holder) => {
                holder.spent = holder.spent.plus(cost);
                holder.reserve = last;
                self.engage(name);
            }
            // A run that was dropped is still being paid for when its account is closed.
            None => {
                let pots = self.pots.iter_mut().enumerate().filter(|(at, _)| draws[*at]);
                pots.for_each(|(_, pot)| pot.closed = pot.closed.plus(cost));
            }
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
        let Some(holder) = self.accounts.get(name) else { return Err(Short::Closed) };
        let (old, new) = (holder.budget, changed(holder.budget, change)?);
        for (at, pot) in self.pots.iter().enumerate().filter(|(at, _)| holder.draws[*at]) {
            let own = holder.engaged[at];
            let more = |currency: Currency| match (currency.limit(&old), currency.limit(&new)) {
                (Some(old), Some(new)) if new > old => Some(new - old),
                (None, Some(new)) => Some(new.saturating_sub(own.get(currency)).max(1)),
                _ => Some(0),
            };
            pot.has_room(at, more)?;
        }
        self.replace(name, new);
        Ok(new)
    }

    /// Puts a budget in place that a hand has written; the pots are not asked, for the task is there already.
    pub(super) fn replace(&mut self, name: &str, budget: Budget) {
        // How its time counts against the pots may be another from here on.
        self.anew(name, |holder| (holder.budget, holder.warned) = (budget, false));
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
        let holder = self.accounts.get(name)?;
        let spent = holder.spent_now();
        Some(Balance { budget: holder.budget, spent, engaged: spent })
    }

    pub(super) fn pot(&mut self, at: usize) -> Balance {
        let drawn = self.accounts.values().filter(|holder| holder.draws[at]);
        let spent = drawn.map(|holder| holder.spent_now().less(holder.base[at])).fold(Sums::default(), Sums::plus);
        let pot = &self.pots[at];
        let engaged = Sums::each(|currency| pot.used(currency));
        Balance { budget: pot.budget, spent: spent.plus(pot.closed), engaged }
    }

    /// All limits that an account is under.
    fn bounds(&self, name: &str) -> Vec<Bound> {
        let Some(holder) = self.accounts.get(name) else { return Vec::new() };
        let spent = holder.spent_now();
        let own = |currency: Currency| {
            let limit = currency.limit(&holder.budget)?;
            Some(Bound { currency, limit, used: spent.get(currency), pot: None })
        };
        let mut bounds: Vec<Bound> = Currency::ALL.into_iter().filter_map(own).collect();
        for (at, pot) in self.pots.iter().enumerate().filter(|(at, _)| holder.draws[*at]) {
            // What it has of its own was set aside when it was opened.
            let shared = Currency::ALL.into_iter().filter(|currency| currency.limit(&holder.budget).is_none());
            bounds.extend(shared.filter_map(|currency| {
                let limit = currency.limit(&pot.budget)?;
                let mine = holder.spent.less(holder.base[at]).get(currency);
                let others = pot.used(currency).saturating_sub(holder.engaged[at].get(currency));
                Some(Bound { currency, limit, used: others.saturating_add(mine), pot: Some(at) })
            }));
        }
        bounds
    }

    /// Sets aside in the pots what an account has or may take by now.
    fn engage(&mut self, name: &str) {
        let Some(holder) = self.accounts.get_mut(name) else { return };
        for (at, pot) in self.pots.iter_mut().enumerate().filter(|(at, _)| holder.draws[*at]) {
            let mine = holder.spent.less(holder.base[at]).plus(holder.reserve);
            let engaged = Sums::each(|currency| match currency.limit(&holder.budget) {
                Some(own) => own.saturating_sub(holder.base[at].get(currency)).max(mine.get(currency)),
                None => mine.get(currency),
            });
            pot.engaged = pot.engaged.less(holder.engaged[at]).plus(engaged);
            holder.engaged[at] = engaged;
        }
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
    fn spent_now(&self) -> Sums {
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
