//! A line of ledger.jsonl: one model call, or those of a task on a day that was folded into one. Who writes it is in
//! `written`.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::account::Purpose;
use super::sums::Sums;
use crate::message::{Usage, Usd};

/// The version of the format.
const VERSION: u32 = 1;
/// Longer lines are none.
const LONGEST: u64 = 64 << 10;

/// One model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line<'a> {
    pub(super) v: u32,
    pub(super) at: Timestamp,
    /// `main` or a task's number.
    #[serde(borrow)]
    pub(super) task: Cow<'a, str>,
    /// When the task was dispatched; with its number it names the task for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dispatched: Option<Timestamp>,
    /// The conversation of a main agent.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<Cow<'a, str>>,
    /// The role of a worker.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<Cow<'a, str>>,
    /// The task that asked for the task.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<Cow<'a, str>>,
    /// What the call was for.
    pub(super) purpose: Purpose,
    /// Who answered, `provider/model`.
    #[serde(borrow)]
    pub(super) model: Cow<'a, str>,
    pub(super) input: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) output: u64,
    /// US dollars; null when nobody knows the price.
    pub(super) usd: Option<f64>,
    /// The provider did not say, so this is our guess.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) estimated: bool,
    /// How long the task has been at work, in all its attempts.
    #[serde(default)]
    pub(super) worked_ms: u64,
    /// How many turns were folded into it; a call of its own has none of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) turns: Option<u32>,
}

impl Line<'_> {
    pub(super) const VERSION: u32 = VERSION;

    pub(super) fn read(text: &[u8]) -> Option<Line<'_>> {
        serde_json::from_slice(text).ok().filter(|line: &Line<'_>| line.v == VERSION)
    }

    /// What it adds to the sums of its task, time aside.
    pub(super) fn cost(&self) -> Sums {
        let (input, cache_read) = (self.input, self.cache_read);
        let usage = Usage { input, cache_read, cache_write: self.cache_write, output: self.output, reasoning: 0 };
        let cost = Sums::of_call(&usage, self.usd.and_then(Usd::from_dollars));
        Sums { turns: self.turns(), ..cost }
    }

    fn turns(&self) -> u32 {
        self.turns.unwrap_or(u32::from(self.purpose.is_turn()))
    }

    /// The first of those that become one.
    pub(super) fn folded(&self) -> Line<'static> {
        let owned = |text: &Cow<'_, str>| Cow::Owned(text.to_string());
        Line {
            v: VERSION,
            at: self.at,
            task: owned(&self.task),
            dispatched: self.dispatched,
            session: self.session.as_ref().map(owned),
            agent: self.agent.as_ref().map(owned),
            parent: self.parent.as_ref().map(owned),
            purpose: Purpose::Turn,
            model: owned(&self.model),
            input: self.input,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            output: self.output,
            usd: self.usd,
            estimated: self.estimated,
            worked_ms: self.worked_ms,
            turns: Some(self.turns()),
        }
    }

    /// Takes a later one of the same task in.
    pub(super) fn add(&mut self, line: &Line<'_>) {
        (self.at, self.worked_ms) = (self.at.max(line.at), self.worked_ms.max(line.worked_ms));
        self.turns = Some(self.turns().saturating_add(line.turns()));
        self.usd = match (self.usd, line.usd) {
            (Some(own), Some(more)) => Some(own + more),
            (own, more) => own.or(more),
        };
        self.estimated |= line.estimated;
        for (own, more) in [
            (&mut self.input, line.input),
            (&mut self.cache_read, line.cache_read),
            (&mut self.cache_write, line.cache_write),
            (&mut self.output, line.output),
        ] {
            *own = own.saturating_add(more);
        }
    }
}

/// Shows every line of the file from `from` on, with where it begins; what is no line is passed over.
///
/// # Errors
/// What the system said.
pub(super) fn each(path: &Path, from: u64, mut show: impl FnMut(u64, &Line<'_>)) -> io::Result<()> {
    let (mut file, mut at) = (File::open(path)?, from);
    file.seek(SeekFrom::Start(at))?;
    let mut lines = BufReader::with_capacity(256 << 10, file);
    if at > 0 {
        at += lines.skip_until(b'\n')? as u64;
    }
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = lines.by_ref().take(LONGEST).read_until(b'\n', &mut bytes)? as u64;
        if read == 0 {
            return Ok(());
        }
        if let Some(line) = Line::read(bytes.trim_ascii_end()) {
            show(at, &line);
        }
        at += read;
        if read == LONGEST && bytes.last() != Some(&b'\n') {
            at += lines.skip_until(b'\n')? as u64;
        }
    }
}
