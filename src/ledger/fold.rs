//! When the file is long, its calls become a line for each task and day; what it was is kept as ledger.1.jsonl. No sum
//! that anybody asks for changes by it. A kill leaves the old file or the new one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;

use super::line::{Line, each};

/// Bytes from which on the file is long: about 30,000 calls.
pub(super) const LONG: u64 = 8 << 20;
/// Most lines that are kept of days before the last one; older tasks count from nothing when they go on.
const KEPT: usize = 10_000;

/// Whose calls of which day are one line: the task and when it was dispatched, or the conversation.
type Key = (String, Option<Timestamp>, Option<String>, Date);

/// Folds the file and answers how long it is then. Nobody may write to it meanwhile.
///
/// # Errors
/// What the system said; the file is then what it was.
pub(super) fn fold(path: &Path, day: impl Fn(Timestamp) -> Date) -> io::Result<u64> {
    let mut folded: HashMap<Key, (u64, Line<'static>)> = HashMap::new();
    let mut last_day = Date::MIN;
    each(path, 0, |at, line| {
        let on = day(line.at);
        last_day = last_day.max(on);
        let session = line.session.as_deref().map(str::to_owned);
        match folded.entry((line.task.to_string(), line.dispatched, session, on)) {
            Entry::Occupied(mut found) => {
                let (last, sum) = found.get_mut();
                *last = at;
                sum.add(line);
            }
            Entry::Vacant(free) => drop(free.insert((at, line.folded()))),
        }
    })?;
    let mut lines: Vec<(bool, u64, Line<'static>)> =
        folded.into_iter().map(|((.., on), (at, line))| (on == last_day, at, line)).collect();
    lines.sort_by_key(|(is_last, at, _)| (*is_last, *at));
    let old = lines.iter().filter(|(is_last, ..)| !is_last).count();
    let mut bytes = Vec::new();
    for (.., line) in lines.iter().skip(old.saturating_sub(KEPT)) {
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
    }
    // What a kill leaves behind under this name is written over the next time.
    let new = path.with_file_name("ledger.new");
    fs::copy(path, &new)?;
    File::open(&new)?.sync_all()?;
    fs::rename(&new, path.with_file_name("ledger.1.jsonl"))?;
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    Ok(bytes.len() as u64)
}
