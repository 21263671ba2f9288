//! A line of ledger.jsonl: one model call. Appended in one write before the next call is made, so that sums outlive the
//! program however it ends.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::account::Purpose;
use super::sums::Sums;
use crate::message::{Usage, Usd};

/// The version of the format.
const VERSION: u32 = 1;

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
        Sums { turns: u32::from(self.purpose.is_turn()), ..cost }
    }
}

/// Writes lines. What the disk refuses is told once; the sums of this program hold without it.
pub(super) struct Pen {
    path: Option<PathBuf>,
    file: Option<File>,
    refused: bool,
}

impl Pen {
    pub(super) fn new(path: Option<PathBuf>) -> Pen {
        Pen { path, file: None, refused: false }
    }

    pub(super) fn write(&mut self, line: &Line<'_>) {
        let Some(path) = self.path.clone() else { return };
        match self.append(&path, line) {
            Ok(()) => self.refused = false,
            Err(error) => {
                // A folder that comes back, or a disk that has room again, is found at the next call.
                self.file = None;
                if !std::mem::replace(&mut self.refused, true) {
                    tracing::warn!(path = %path.display(), %error, "model calls are not written down");
                }
            }
        }
    }

    fn append(&mut self, path: &Path, line: &Line<'_>) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open(path)?),
        };
        file.write_all(&bytes)
    }
}

/// The file, with a whole line at its end: one that was cut is left as it is, and passed over by readers.
fn open(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    if file.metadata()?.len() > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}
