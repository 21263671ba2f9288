//! A session as a list of its entries, from which everything else is told anew each time: slow, and easy to believe.

use std::collections::BTreeSet;

/// What an entry is, as far as the model cares.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Root,
    User,
    /// With the ids of its calls.
    Reply(Vec<String>),
    Discarded,
    Started(String),
    /// Its words may be the beginning of what is said.
    Result(String),
    Note(u64),
    Dropped(u64),
    Report(u32),
    Restored,
    Title,
    /// What stays begins with that entry.
    Shortened(Option<usize>),
    Branch(usize),
}

/// A session as a list: where each entry hangs, what it is, and its words.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub entries: Vec<(Option<usize>, What, String)>,
    /// Entries up to here were paid for elsewhere.
    pub inherited: usize,
}

pub const BEFORE: &str = "! left behind: the conversation branched here before";
pub const AFTER: &str = "! left behind: the conversation branched here; what";
pub const UNKNOWN: &str = "! interrupted, effects unknown";
pub const NEVER: &str = "! interrupted: the program ended before";

impl Model {
    pub fn leaf(&self) -> Option<usize> {
        match self.entries.last()? {
            (_, What::Branch(to), _) => Some(*to),
            _ => Some(self.entries.len() - 1),
        }
    }

    pub fn add(&mut self, what: What, words: &str) {
        self.entries.push((self.leaf(), what, words.to_owned()));
    }

    fn path(&self, to: Option<usize>) -> Vec<usize> {
        let mut path: Vec<usize> = std::iter::successors(to, |at| self.entries[*at].0).collect();
        path.reverse();
        path
    }

    /// Entry and words of each message; results stand in the order of their calls.
    pub fn context(&self) -> Vec<(usize, String)> {
        let mut context: Vec<(usize, String)> = Vec::new();
        let mut calls: (usize, Vec<String>) = (0, Vec::new());
        for at in self.path(self.leaf()) {
            let (_, what, words) = &self.entries[at];
            match what {
                What::User | What::Note(_) | What::Report(_) | What::Restored => {
                    context.push((at, format!("User {words}")))
                }
                What::Reply(ids) => {
                    context.push((at, format!("Assistant {words}")));
                    calls = (context.len(), ids.clone());
                }
                What::Result(call) => {
                    let place = |line: &str| calls.1.iter().position(|id| line.starts_with(&format!("{id} ")));
                    let mine = calls.1.iter().position(|id| id == call);
                    let before = context[calls.0..].iter().take_while(|(_, line)| place(line) <= mine).count();
                    context.insert(calls.0 + before, (at, format!("{call} {words}")));
                }
                What::Shortened(kept) => {
                    let from = kept.and_then(|kept| context.iter().position(|(entry, _)| *entry == kept));
                    context.splice(..from.unwrap_or(context.len()), [(at, format!("User {words}"))]);
                }
                _ => {}
            }
        }
        context
    }

    /// The calls on the way that no result answers, and whether each was started.
    pub fn open(&self) -> Vec<(String, bool)> {
        let path = self.path(self.leaf());
        let whats: Vec<&What> = path.iter().map(|at| &self.entries[*at].1).collect();
        let Some(What::Reply(calls)) = whats.iter().rfind(|what| matches!(what, What::Reply(_))) else { return vec![] };
        let answered = |call: &str| whats.iter().any(|what| matches!(what, What::Result(id) if id == call));
        let open = calls.iter().filter(|call| !answered(call));
        open.map(|call| (call.clone(), whats.contains(&&What::Started(call.clone())))).collect()
    }

    /// Answers all open calls: with the one text if they were started, else with the other.
    pub fn answer(&mut self, started: &str, not_started: &str) {
        for (call, was) in self.open() {
            self.add(What::Result(call), if was { started } else { not_started });
        }
    }

    fn is_spoken(&self, at: usize) -> bool {
        use What::{Note, Reply, Report, Restored, Result, Shortened, User};
        matches!(self.entries[at].1, User | Reply(_) | Result(_) | Note(_) | Report(_) | Restored | Shortened(_))
    }

    fn spoken(&self, at: Option<usize>) -> Option<usize> {
        self.path(at).into_iter().rfind(|at| self.is_spoken(*at))
    }

    /// The numbers of the ends of all branches.
    pub fn tips(&self) -> BTreeSet<usize> {
        let all = (0..self.entries.len()).filter(|at| self.is_spoken(*at));
        let parents: BTreeSet<usize> = all.clone().filter_map(|at| self.spoken(self.entries[at].0)).collect();
        let mut tips: BTreeSet<usize> = all.filter(|at| !parents.contains(at)).collect();
        match self.spoken(self.leaf()) {
            Some(here) => drop(tips.insert(here)),
            None if tips.is_empty() => {}
            None => tips.extend(self.leaf()),
        }
        tips
    }

    /// Where a switch goes to; `None` when it stands there already.
    pub fn end_of_branch(&self, to: usize) -> Option<usize> {
        let Some(spoken) = self.spoken(Some(to)) else { return Some(to) };
        let below = |at: &usize| self.path(Some(*at)).contains(&spoken);
        let tip = (spoken..self.entries.len()).rev().find(|at| self.is_spoken(*at) && below(at))?;
        let is_end =
            |at: &usize| !matches!(self.entries[*at].1, What::Branch(_)) && self.spoken(Some(*at)) == Some(tip);
        let end = (tip..self.entries.len()).rev().find(is_end);
        end.filter(|_| self.spoken(self.leaf()) != Some(tip))
    }

    pub fn find<T>(&self, find: impl Fn(&What) -> Option<T>) -> BTreeSet<T>
    where
        T: Ord,
    {
        self.entries.iter().filter_map(|(_, what, _)| find(what)).collect()
    }

    /// The same up to an entry, as a session of its own.
    pub fn forked(&self, at: usize) -> Model {
        let mut fork = Model { entries: vec![(None, What::Root, String::new())], inherited: 0 };
        let mut places = vec![0; self.entries.len()];
        for at in self.path(Some(at)) {
            let (_, what, words) = &self.entries[at];
            let what = match what {
                What::Root | What::Branch(_) => continue,
                What::Shortened(kept) => What::Shortened(kept.map(|kept| places[kept])),
                what => what.clone(),
            };
            places[at] = fork.entries.len();
            fork.add(what, words);
        }
        fork.inherited = fork.entries.len() - 1;
        fork.answer(AFTER, BEFORE);
        fork
    }
}
