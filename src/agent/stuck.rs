//! Whether a run gets anywhere, judged by facts: what each turn called, what came back, and what of it is new. Silence
//! and time are no facts here: a slow build is not stuck.

mod evidence;
mod look;
mod plain;
mod seen;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use self::evidence::Trail;
pub(super) use self::look::look;
use self::plain::plain;
use self::seen::Seen;

/// Highest score of a turn.
pub const MOST: u8 = 7;

/// What a turn weighs that brought nothing new at once.
const FLAT: u32 = 1_000;
/// What a turn weighs that brought next to nothing.
const THIN: u32 = FLAT / 12;
/// Turns of full weight until the run is reminded, unless it is said otherwise; as many again, and it is stuck.
pub const PATIENCE: u32 = 4;

/// Turns after which doing the same again is no small circle any more, and turns after which it is none.
const CIRCLE: u32 = 4;
const ROUND: u32 = 2 * CIRCLE;

/// Bytes below which an output says too little to be the same as another one.
const BRIEF: usize = 32;
/// Lines of an output that are looked at; more are taken for new.
const LINES: usize = 512;

/// One call of a turn and what came of it.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The call's id: names of files may be made from it.
    pub id: &'a str,
    /// Its arguments as they were written.
    pub args: &'a str,
    /// What kind of tool it is.
    pub kind: Kind,
    /// What the model was told.
    pub output: &'a str,
    /// It failed: refused, or an exit code other than 0.
    pub failed: bool,
}

/// What a call can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only looks.
    Reads,
    /// It changes a file that is known beforehand.
    Writes,
    /// It may change anything.
    Acts,
}

/// What a turn brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// How much is new, from 0 to [`MOST`].
    pub score: u8,
    /// Turns in a row, this one included, that brought nothing.
    pub flat: u32,
    /// What to do about it.
    pub verdict: Verdict,
}

/// What to do about a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Fine,
    /// Tell the model, once; with the evidence.
    Remind(String),
    /// End the run; with the evidence.
    Stuck(String),
}

/// Watches one run, turn by turn.
///
/// Each turn that brings nothing new tires it: fully when it repeats what was done a moment ago, less when the turn took
/// long (it waited for something), when only the failure was an old one, or when the same was done many turns ago. A turn
/// that brings something lets it rest. It remembers a bounded number of outputs; what it has forgotten is new again.
#[derive(Debug)]
pub struct Judge {
    patience: u32,
    turn: u32,
    flat: u32,
    fatigue: u32,
    reminded: bool,
    calls: Seen,
    pairs: Seen,
    failures: Seen,
    lines: Seen,
    /// Calls that failed when they were last made.
    red: Seen,
    trail: Trail,
}

/// What one call brought.
struct Worth {
    score: u8,
    /// When there is no score: how much it tires.
    weight: u32,
}

impl Default for Judge {
    fn default() -> Judge {
        Judge::of(PATIENCE)
    }
}

impl Judge {
    /// One that reminds after so many turns of full weight; 0 for never.
    pub fn of(patience: u32) -> Judge {
        let seen = || Seen::of(2_048);
        Judge {
            patience,
            turn: 0,
            flat: 0,
            fatigue: 0,
            reminded: false,
            calls: seen(),
            pairs: seen(),
            failures: seen(),
            lines: Seen::of(8_192),
            red: seen(),
            trail: Trail::default(),
        }
    }

    /// Somebody said something: whatever was tried before may be right now.
    pub fn heard(&mut self) {
        self.rest();
        self.flat = 0;
    }

    /// The model no longer knows what it had read, so it may read it again.
    pub fn forget(&mut self) {
        *self = Judge { turn: self.turn, ..Judge::of(self.patience) };
    }

    /// Judges a turn without calls: it said something, which is neither something new nor nothing.
    pub fn spoke(&mut self) -> Judgement {
        self.turn += 1;
        self.flat = 0;
        Judgement { score: 1, flat: 0, verdict: Verdict::Fine }
    }

    /// Judges a turn with calls, which took so long from the first start to the last end.
    pub fn turn(&mut self, steps: &[Step<'_>], took: Duration) -> Judgement {
        self.turn += 1;
        let mut key = DefaultHasher::new();
        let mut worths = Vec::with_capacity(steps.len());
        for step in steps {
            let (pair, worth) = self.step(step);
            pair.hash(&mut key);
            worths.push(worth);
        }
        self.trail.push(key.finish(), steps);
        let score = worths.iter().fold(0, |sum: u8, worth| sum.saturating_add(worth.score)).min(MOST);
        if score == 0 {
            // Each whole second that it waited makes the turn weigh less.
            let seconds = u32::try_from(took.as_secs()).unwrap_or(u32::MAX).saturating_add(1);
            let weight = worths.iter().map(|worth| worth.weight).min().unwrap_or(THIN);
            self.flat += 1;
            self.fatigue = self.fatigue.saturating_add(weight / seconds);
        } else {
            self.flat = 0;
            match score {
                1 => self.fatigue = self.fatigue.saturating_add(THIN),
                _ => self.rest(),
            }
        }
        Judgement { score, flat: self.flat, verdict: self.verdict() }
    }

    fn verdict(&mut self) -> Verdict {
        let most = self.patience.saturating_mul(FLAT);
        if most == 0 || self.fatigue < most || (self.reminded && self.fatigue / 2 < most) {
            return Verdict::Fine;
        }
        if self.reminded {
            return Verdict::Stuck(self.trail.evidence(self.flat));
        }
        self.reminded = true;
        Verdict::Remind(self.trail.evidence(self.flat))
    }

    fn rest(&mut self) {
        self.fatigue = 0;
        self.reminded = false;
    }

    /// What a call brought, and what it is recognised by.
    fn step(&mut self, step: &Step<'_>) -> (u64, Worth) {
        let call = key(&(step.tool, canonical(step.args)));
        let told = plain(&step.output.replace(&kept(step.id), "◦"));
        let pair = key(&(call, step.failed, &told));
        let last = self.pairs.meet(pair, self.turn);
        let is_new = self.calls.meet(call, self.turn).is_none();
        let was_red = self.red.last(call).is_some();
        match step.failed {
            true => self.red.meet(call, self.turn),
            false => self.red.forget(call),
        };
        let says_more = self.says_more(step, &told);
        let failure = step.failed.then(|| self.failures.meet(failure(step, &told), self.turn)).flatten();
        let worth = match last {
            Some(last) => Worth { score: 0, weight: again(self.turn.saturating_sub(last)) },
            // It is answered otherwise than before: something has changed, perhaps for the better.
            None if !is_new => Worth { score: if was_red && !step.failed { 4 } else { 2 }, weight: 0 },
            // A failure that says little is an answer, as of `grep -q` or `test -e`.
            None if step.failed && failure.is_some() && told.len() > BRIEF => Worth { score: 0, weight: FLAT / 2 },
            None if step.failed => Worth { score: 1, weight: 0 },
            None if step.kind == Kind::Writes => Worth { score: 3, weight: 0 },
            None if says_more => Worth { score: 2, weight: 0 },
            // It says nothing, and what it did cannot be seen from here.
            None if step.kind == Kind::Acts && told.len() <= BRIEF && !repeats(step, &told) => {
                Worth { score: 2, weight: 0 }
            }
            None => Worth { score: 1, weight: 0 },
        };
        (pair, worth)
    }

    /// Whether an output has a line that no output had before and that the model did not write itself.
    fn says_more(&mut self, step: &Step<'_>, told: &str) -> bool {
        let mut more = told.lines().count() > LINES;
        for line in told.lines().take(LINES).map(str::trim).filter(|line| !line.is_empty()) {
            let is_new = self.lines.meet(key(&line), self.turn).is_none();
            more |= is_new && !step.args.contains(line);
        }
        more
    }
}

/// How much doing the same again tires, so many turns after it was last done.
fn again(turns: u32) -> u32 {
    if turns <= CIRCLE {
        FLAT
    } else if turns <= ROUND {
        FLAT / 2
    } else {
        THIN
    }
}

/// Whether an output is only what the model wrote itself.
fn repeats(step: &Step<'_>, told: &str) -> bool {
    let mut lines = told.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    lines.peek().is_some() && lines.all(|line| step.args.contains(line))
}

/// What a failure is recognised by, whatever it was that failed.
fn failure(step: &Step<'_>, told: &str) -> u64 {
    let mut told = told.to_owned();
    if let Ok(serde_json::Value::Object(args)) = serde_json::from_str(step.args) {
        for value in args.values().filter_map(|value| value.as_str()).filter(|value| value.len() > 2) {
            told = told.replace(value, "◦");
        }
    }
    key(&(step.tool, told))
}

/// Arguments in one spelling.
fn canonical(args: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<serde_json::Value>(args) else { return args.trim().to_owned() };
    value.sort_all_objects();
    value.to_string()
}

/// The name of the file in which all of a long output is kept.
fn kept(call: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    format!("{}.txt", call.chars().map(plain).collect::<String>())
}

fn key(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
