//! Which files of a folder changed while something ran, by what the system says of each. Who changed them it does not say.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::walk::walk;

/// Files and folders that are looked at, and how long that may take.
const ENTRIES: usize = 100_000;
const TIME: Duration = Duration::from_secs(2);

/// The stamps of the system lag behind its clock by as much.
const LAG: i128 = 10_000;

/// A span of time in microseconds since 1970, both ends included.
pub type Span = (i128, i128);

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// Paths from the folder, in order. Files that are gone are not among them, nor what git ignores.
    pub files: Vec<String>,
    /// Not all of the folder was looked at: it has too much in it.
    pub cut: bool,
}

/// The files whose content, name or rights changed last within one of the spans. Blocks; looks at 100,000 entries at most,
/// for two seconds at most.
pub fn changed(root: &Path, spans: &[Span]) -> Changed {
    let mut found = Changed::default();
    let began = Instant::now();
    let mut walk = walk(root, false);
    let own = root.join(".tasks");
    walk.filter_entry(move |entry| entry.file_name() != ".git" && entry.path() != own);
    for (count, entry) in walk.build().flatten().enumerate() {
        if count >= ENTRIES || began.elapsed() > TIME {
            found.cut = true;
            break;
        }
        let Some(meta) = entry.metadata().ok().filter(|meta| !meta.is_dir()) else { continue };
        let at = i128::from(meta.ctime()) * 1_000_000 + i128::from(meta.ctime_nsec()) / 1_000;
        if spans.iter().any(|(from, to)| (from - LAG..=to + LAG).contains(&at)) {
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
            found.files.push(path.display().to_string());
        }
    }
    found
}
