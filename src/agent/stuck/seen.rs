//! What was met before, and in which turn: a bounded memory that forgets its older half at once.

use std::collections::HashMap;

/// It.
#[derive(Debug)]
pub(super) struct Seen {
    most: usize,
    young: HashMap<u64, u32>,
    old: HashMap<u64, u32>,
}

impl Seen {
    /// Remembers at least so many, and at most twice as many.
    pub(super) fn of(most: usize) -> Seen {
        Seen { most, young: HashMap::new(), old: HashMap::new() }
    }

    /// The turn in which it was last met, if it was; it is met now.
    pub(super) fn meet(&mut self, key: u64, turn: u32) -> Option<u32> {
        let last = self.last(key);
        if self.young.len() >= self.most {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, turn);
        last
    }

    pub(super) fn last(&self, key: u64) -> Option<u32> {
        self.young.get(&key).or_else(|| self.old.get(&key)).copied()
    }

    /// Forgets it; answers when it was last met.
    pub(super) fn forget(&mut self, key: u64) -> Option<u32> {
        let (young, old) = (self.young.remove(&key), self.old.remove(&key));
        young.or(old)
    }
}
