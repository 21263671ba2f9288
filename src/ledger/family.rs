//! Tasks of a task: the money and the tokens that they use or have set aside are lent to them by the task that asked for
//! them, and what they leave goes back. Turns and time are each one's own.

use std::sync::Arc;

use super::Short;
use super::books::{Books, Holder, Start};
use super::pot::Bound;
use super::sums::{Currency, Sums};

/// What binds an account to the one above it, and to those below.
#[derive(Default)]
pub(super) struct Above {
    parent: Option<Arc<str>>,
    /// What it had used when it was opened, its own tasks included: that is lent already.
    base: Sums,
    /// Lent to it by its parent since then.
    engaged: Sums,
    /// Lent by it to its own tasks, used up or not.
    lent: Sums,
    /// Its own tasks that go on.
    children: usize,
    /// It is closed, and there for the sake of those only.
    over: bool,
}

impl Above {
    pub(super) fn parent(&self) -> Option<&Arc<str>> {
        self.parent.as_ref()
    }

    pub(super) fn engaged(&self) -> Sums {
        self.engaged
    }

    pub(super) fn lent(&self) -> Sums {
        self.lent
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }
}

/// What tasks lend each other.
pub(super) fn flowing(sums: Sums) -> Sums {
    Sums { usd: sums.usd, tokens: sums.tokens, ..Sums::default() }
}

impl Books {
    /// The ties of an account that is opened. One that was there for its tasks keeps what it knows of them.
    pub(super) fn enter(&mut self, name: &Arc<str>, parent: Option<Arc<str>>, spent: Sums, lent: Sums) -> Above {
        if let Some(before) = self.accounts.remove(name) {
            return Above { over: false, ..before.above };
        }
        if let Some(holder) = parent.as_ref().and_then(|parent| self.accounts.get_mut(parent)) {
            holder.above.children += 1;
        }
        Above { parent, base: flowing(spent).plus(lent), lent, ..Above::default() }
    }

    /// Lets the limit of an account hold for those below it, if it is not open.
    pub(super) fn remember(&mut self, name: &Arc<str>, start: Start) {
        if self.accounts.contains_key(name) {
            return;
        }
        let Start { budget, spent, lent, draws, parent } = start;
        let above = Above { over: true, ..self.enter(name, parent, spent, lent) };
        self.accounts.insert(name.clone(), Holder::of(budget, spent, draws, above));
    }

    /// The nearest account above, from here on, that limits this currency.
    pub(super) fn limiting<'a>(
        &'a self,
        from: Option<&'a Arc<str>>,
        currency: Currency,
    ) -> Option<(&'a Arc<str>, u64)> {
        if !matches!(currency, Currency::Usd | Currency::Tokens) {
            return None;
        }
        let mut above = from;
        while let Some(name) = above {
            let holder = self.accounts.get(name)?;
            if let Some(limit) = currency.limit(&holder.budget) {
                return Some((name, limit));
            }
            above = holder.above.parent.as_ref();
        }
        None
    }

    /// Whether so much more fits under the limits above.
    pub(super) fn has_room_above(
        &self,
        parent: Option<&Arc<str>>,
        wants: impl Fn(Currency) -> Option<u64>,
    ) -> Result<(), Short> {
        for currency in Currency::ALL {
            let Some((name, limit)) = self.limiting(parent, currency) else { continue };
            let left = limit.saturating_sub(self.used(name, currency));
            let wanted = wants(currency);
            if wanted.unwrap_or(1) > left {
                return Err(Short::Pot {
                    wanted: wanted.map(|amount| currency.show(amount)),
                    left: (left > 0).then(|| currency.show(left)),
                    limit: format!("{} of {name}", currency.show(limit)),
                });
            }
        }
        Ok(())
    }

    /// The limit above an account that has none of its own.
    pub(super) fn bound_above(&self, holder: &Holder, currency: Currency) -> Option<Bound> {
        let (name, limit) = self.limiting(holder.above.parent(), currency)?;
        let others = self.used(name, currency).saturating_sub(holder.above.engaged.get(currency));
        let mine = flowing(holder.spent).plus(holder.above.lent).less(holder.above.base).get(currency);
        Some(Bound { currency, limit, used: others.saturating_add(mine), pot: None, task: Some(name.clone()) })
    }

    /// Used by an account, lent by it or set aside for its last words.
    fn used(&self, name: &str, currency: Currency) -> u64 {
        let used = |holder: &Holder| holder.spent.plus(holder.reserve).plus(holder.above.lent).get(currency);
        self.accounts.get(name).map(used).unwrap_or_default()
    }

    /// Has the parent lend what an account has or may take by now.
    pub(super) fn engage_above(&mut self, name: &str) {
        let Some(holder) = self.accounts.get_mut(name) else { return };
        let Some(parent) = holder.above.parent.clone() else { return };
        let above = &mut holder.above;
        let mine = flowing(holder.spent.plus(holder.reserve)).plus(above.lent).less(above.base);
        let engaged = Sums::each(|currency| match currency.limit(&holder.budget).filter(|_| !above.over) {
            Some(own) => own.saturating_sub(above.base.get(currency)).max(mine.get(currency)),
            None => mine.get(currency),
        });
        let engaged = flowing(engaged);
        let before = std::mem::replace(&mut above.engaged, engaged);
        if let Some(holder) = self.accounts.get_mut(&parent) {
            holder.above.lent = holder.above.lent.less(before).plus(engaged);
            self.engage(&parent);
        }
    }

    /// An account is closed: what it did not use goes back. It stays for its tasks; the last of them takes it along.
    pub(super) fn leave(&mut self, name: &str) {
        let Some(holder) = self.accounts.get_mut(name) else { return };
        (holder.above.over, holder.reserve) = (true, Sums::default());
        let (parent, children) = (holder.above.parent.clone(), holder.above.children);
        self.engage_above(name);
        if children > 0 {
            return;
        }
        self.accounts.remove(name);
        let Some(parent) = parent else { return };
        let Some(holder) = self.accounts.get_mut(&parent) else { return };
        holder.above.children = holder.above.children.saturating_sub(1);
        if holder.above.over && holder.above.children == 0 {
            self.leave(&parent);
        }
    }
}
