//! What the program tells its warden, once of the walls and then of each command, and what it hears. How either is done
//! is not here.

use std::ffi::{CString, OsStr};
use std::path::PathBuf;

use super::wire::{Reader, Writer};
use super::{Command, Limits, Tier};
use crate::workspace::policy::Bounds;

/// The most processes and threads of one command at the same time, beside 64 for each processor.
pub(super) const PROCESSES: u64 = 512;

/// Which walls are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) tier: Tier,
    pub(super) network: bool,
    pub(super) bounds: Bounds,
    /// Folders that programs are in or need, beside those of the system.
    pub(super) programs: Vec<PathBuf>,
}

impl Plan {
    pub(super) fn write(&self) -> Writer {
        let mut to = Writer::default();
        to.number(self.tier as u64);
        to.number(self.network.into());
        to.text(self.bounds.base.as_os_str());
        to.number(self.bounds.read.is_some().into());
        to.paths(self.bounds.read.as_deref().unwrap_or_default());
        for paths in [&self.bounds.write, &self.bounds.protected, &self.bounds.hidden, &self.programs] {
            to.paths(paths);
        }
        to
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Plan> {
        let mut from = Reader(bytes);
        let tier = Tier::ALL.into_iter().find(|tier| Some(*tier as u64) == Reader(bytes).number())?;
        let (_, network, base) = (from.number()?, from.number()? == 1, from.path()?);
        let (some, read) = (from.number()? == 1, from.paths()?);
        let (write, protected, hidden) = (from.paths()?, from.paths()?, from.paths()?);
        let bounds = Bounds { base, read: some.then_some(read), write, protected, hidden };
        Some(Plan { tier, network, bounds, programs: from.paths()? })
    }
}

/// A command as the system wants to have it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) cwd: CString,
    pub(super) arguments: Vec<CString>,
    pub(super) environment: Vec<CString>,
    /// Bytes of the largest file.
    pub(super) file: u64,
}

impl Order {
    pub(super) fn write(command: &Command, limits: &Limits, shell: &str, mark: (&str, &OsStr)) -> Writer {
        let mut to = Writer::default();
        to.number(limits.file);
        to.text(command.cwd.as_os_str());
        [shell, "-c", &command.text].iter().for_each(|argument| to.bytes(argument.as_bytes()));
        let variables = command.environment.variables().chain([(OsStr::new(mark.0), mark.1)]);
        for (name, value) in variables {
            let mut variable = name.to_owned();
            variable.push("=");
            variable.push(value);
            to.text(&variable);
        }
        to
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Order> {
        let mut from = Reader(bytes);
        let file = from.number()?;
        let mut strings = Vec::new();
        while !from.0.is_empty() {
            strings.push(CString::new(from.bytes()?).ok()?);
        }
        let environment = strings.split_off(strings.len().min(4));
        let mut strings = strings.into_iter();
        Some(Order { cwd: strings.next()?, arguments: strings.collect(), environment, file })
    }
}

/// What is heard of a command, in twelve bytes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// There is no shell: the number of the error.
    NoShell(i32),
    /// There is no such folder, or it may not be entered: the number of the error.
    NoFolder(i32),
    /// The shell ended with this code; whether others may be left.
    Exited(i32, bool),
    /// The same, by this signal.
    Signalled(i32, bool),
    /// So many are left.
    Left(i32),
}

impl Word {
    pub(super) fn write(self) -> [u8; 12] {
        let (kind, number, more) = match self {
            Word::NoShell(error) => (0, error, false),
            Word::NoFolder(error) => (1, error, false),
            Word::Exited(code, more) => (2, code, more),
            Word::Signalled(signal, more) => (3, signal, more),
            Word::Left(count) => (4, count, false),
        };
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&i32::to_le_bytes(kind));
        bytes[4..8].copy_from_slice(&number.to_le_bytes());
        bytes[8..].copy_from_slice(&i32::from(more).to_le_bytes());
        bytes
    }

    pub(super) fn read(bytes: [u8; 12]) -> Option<Word> {
        let at = |index: usize| Some(i32::from_le_bytes(*bytes.get(index..)?.first_chunk()?));
        let (number, more) = (at(4)?, at(8)? != 0);
        Some(match at(0)? {
            0 => Word::NoShell(number),
            1 => Word::NoFolder(number),
            2 => Word::Exited(number, more),
            3 => Word::Signalled(number, more),
            4 => Word::Left(number),
            _ => return None,
        })
    }
}

/// Asks everybody to end.
pub(super) const ASK: u8 = b'T';
/// Wants to know how many are left.
pub(super) const COUNT: u8 = b'C';
/// Ends everybody.
pub(super) const KILL: u8 = b'K';
