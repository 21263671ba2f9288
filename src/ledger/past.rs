//! What ledger.jsonl says of tasks: what each has used in all its attempts, and what tasks like a new one took.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::family::flowing;
use super::line::{self, Line};
use super::sums::{Currency, Sums};

/// How far back it is read, in bytes: far more than a file that is folded has.
const REACH: u64 = 128 << 20;
/// Most tasks that an estimate is made of; the latest count.
const SIMILAR: usize = 50;
/// Fewer are given with the least and the most that one took.
const FEW: usize = 4;

/// All of it.
#[derive(Default)]
pub(super) struct Past {
    lives: HashMap<(String, i64), Life>,
    today: Sums,
    next: u64,
}

/// One task.
struct Life {
    agent: Option<String>,
    parent: Option<String>,
    model: String,
    sums: Sums,
    /// The number of its latest line.
    last: u64,
}

/// What tasks like another took: half of them lie between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// A quarter took less.
    pub low: Sums,
    /// A quarter took more.
    pub high: Sums,
    /// How many there are.
    pub tasks: usize,
}

impl Past {
    /// Reads the file; what begins before `old` and is of this day is what earlier programs used on it.
    pub(super) fn read(path: &Path, old: u64, is_today: impl Fn(Timestamp) -> bool) -> Past {
        let mut past = Past::default();
        match past.load(path, old, is_today) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %path.display(), %error, "what tasks have used before is not known");
            }
            Ok(()) | Err(_) => {}
        }
        past
    }

    fn load(&mut self, path: &Path, old: u64, is_today: impl Fn(Timestamp) -> bool) -> io::Result<()> {
        let from = path.metadata()?.len().saturating_sub(REACH);
        line::each(path, from, |at, line| {
            let more = self.take(line);
            if at < old && is_today(line.at) && line.task != "main" {
                self.today = self.today.plus(more);
            }
        })
    }

    /// Takes a call and answers what it adds.
    pub(super) fn take(&mut self, line: &Line<'_>) -> Sums {
        self.next += 1;
        let cost = line.cost();
        let Some(born) = line.dispatched else { return cost };
        let life = self.lives.entry((line.task.to_string(), born.as_second())).or_insert_with(|| Life {
            agent: line.agent.as_deref().map(str::to_owned),
            parent: line.parent.as_deref().map(str::to_owned),
            model: line.model.to_string(),
            sums: Sums::default(),
            last: 0,
        });
        let worked = Duration::from_millis(line.worked_ms);
        let more = Sums { time: worked.saturating_sub(life.sums.time), ..cost };
        life.sums = life.sums.plus(more);
        life.last = self.next;
        more
    }

    /// What programs before this one used today.
    pub(super) fn today(&self) -> Sums {
        self.today
    }

    /// What a task has used so far.
    pub(super) fn of(&self, task: &str, created: Timestamp) -> Sums {
        self.lives.get(&(task.to_owned(), created.as_second())).map(|life| life.sums).unwrap_or_default()
    }

    /// That, and what of money and tokens the tasks have used that it asked for, and those that they asked for.
    pub(super) fn with_below(&self, task: &str, created: Timestamp) -> (Sums, Sums) {
        // A task is never older than the one that asked for it, also where a number is given again.
        let (mut below, mut above) = (Sums::default(), vec![(task, created.as_second())]);
        while let Some((parent, since)) = above.pop() {
            let asked =
                |((_, born), life): &(&(String, i64), &Life)| life.parent.as_deref() == Some(parent) && *born >= since;
            let children: Vec<_> = self.lives.iter().filter(asked).collect();
            for ((child, born), life) in children {
                below = below.plus(flowing(life.sums));
                above.push((child, *born));
            }
        }
        (self.of(task, created), below)
    }

    /// Tasks of the same role and model; where there are few, of the same model. One whose model counts no tokens tells
    /// nothing.
    pub(super) fn estimate(
        &self,
        agent: Option<&str>,
        model: &str,
        is_open: impl Fn(&str) -> bool,
    ) -> Option<Estimate> {
        let same = |life: &&Life| life.model == model && life.sums.tokens > 0;
        let over = self.lives.iter().filter(|((task, _), _)| !is_open(task)).map(|(_, life)| life);
        let alike: Vec<&Life> = over.filter(same).collect();
        let of_role: Vec<&Life> = alike.iter().copied().filter(|life| life.agent.as_deref() == agent).collect();
        let mut lives = if of_role.len() >= FEW { of_role } else { alike };
        lives.sort_by_key(|life| std::cmp::Reverse(life.last));
        lives.truncate(SIMILAR);
        let quartile = |quarter: usize| {
            Sums::each(|currency| {
                let mut amounts: Vec<u64> = lives.iter().map(|life| life.sums.get(currency)).collect();
                amounts.sort_unstable();
                let last = amounts.len().saturating_sub(1);
                let at = if lives.len() < FEW { last * (quarter / 2) } else { (last * quarter).div_ceil(4) };
                amounts.get(at).copied().unwrap_or_default()
            })
        };
        let tasks = lives.len();
        (tasks > 0).then(|| Estimate { low: quartile(1), high: quartile(3), tasks })
    }
}

impl fmt::Display for Estimate {
    /// `est. $0.18-0.41 (9 similar tasks)`; tokens where nothing is known to cost money.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let currency = if self.high.usd.0 > 0 { Currency::Usd } else { Currency::Tokens };
        let [low, high] = [self.low, self.high].map(|sums| currency.show(sums.get(currency)));
        let tasks = if self.tasks == 1 { "1 similar task".to_owned() } else { format!("{} similar tasks", self.tasks) };
        match low == high {
            true => write!(f, "est. {high} ({tasks})"),
            false => {
                let low = low.trim_end_matches(" tokens");
                write!(f, "est. {low}-{} ({tasks})", high.trim_start_matches('$'))
            }
        }
    }
}
