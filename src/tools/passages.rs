//! Text files below a folder as passages, and those that hold some words, ranked by how many of them and how rare they are.
//! Words alone: nothing here knows what they mean. Which folders there are, their tools say.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::files;
use super::looking::Sight;
use super::walk::walk;
use crate::tool::{ToolError, ToolOutput};
use crate::workspace::policy::PathError;

/// Files that are read, and bytes of each.
const FILES: usize = 1_000;
const LARGEST: u64 = 1 << 20;
/// Bytes of all files together.
const MOST: u64 = 32 << 20;
/// Bytes of files whose passages are kept; taken apart they need about ten times as much memory. Others are read each time.
const KEPT: u64 = 4 << 20;
/// Characters of a passage after which the next line begins another: tables and logs have no paragraphs.
const LONG: usize = 1_200;

/// What other runtimes call the fields of a search.
pub(super) const NAMES: &[(&str, &str)] =
    &[("query", "words"), ("text", "words"), ("pattern", "words"), ("top_k", "limit")];

/// What to look for.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    words: String,
    #[schemars(range(min = 1, max = 50))]
    limit: Option<usize>,
}

/// A folder whose files are searched. What was read of them is kept until they change, as far as it is little.
pub(super) struct Shelf {
    /// From the base.
    folder: &'static str,
    /// What is in it, for a sentence: `note`.
    item: &'static str,
    /// How names of files that are read end.
    ends: &'static [&'static str],
    /// Passages that are shown when nobody says how many, and characters of each.
    usual: usize,
    shown: usize,
    kept: Mutex<BTreeMap<PathBuf, Kept>>,
}

/// A file as it was when it was read.
struct Kept {
    stamp: Stamp,
    passages: Arc<[Passage]>,
}

/// Changes with the file: device, number, size, and when it was changed.
type Stamp = (u64, u64, u64, i64, i64);

/// A paragraph or a list item.
struct Passage {
    /// `memory/a.md:12`
    name: String,
    text: String,
    words: HashMap<String, u32>,
    /// How many words there are.
    length: u32,
}

/// All files of a shelf.
#[derive(Default)]
struct Read {
    passages: Vec<Arc<[Passage]>>,
    files: usize,
    /// There is more.
    cut: bool,
}

impl Shelf {
    pub(super) const fn new(
        folder: &'static str,
        item: &'static str,
        ends: &'static [&'static str],
        (usual, shown): (usize, usize),
    ) -> Shelf {
        Shelf { folder, item, ends, usual, shown, kept: Mutex::new(BTreeMap::new()) }
    }

    /// The passages that hold any of the words, the best first, as far as the policy lets them be read.
    pub(super) fn search(&self, args: &Args, sight: &Sight<'_>) -> Result<ToolOutput, ToolError> {
        let limit = args.limit.unwrap_or(self.usual);
        let mut wanted: Vec<String> = words(&args.words).collect();
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.is_empty() {
            return Err(ToolError::new("words holds no word; say what to look for"));
        }
        let read = self.read(sight)?;
        let passages: Vec<&Passage> = read.passages.iter().flat_map(|passages| passages.iter()).collect();
        let found = ranked(&passages, &wanted);
        let count = found.len();
        let mut lines: Vec<String> = found.into_iter().take(limit).map(|found| self.told(found)).collect();
        let Shelf { folder, item, .. } = self;
        if lines.is_empty() {
            lines.push(format!("no {item} holds {} ({} files below {folder}/)", wanted.join(" or "), read.files));
        }
        if count > limit {
            lines.push(format!("[{} more; say more words]", count - limit));
        }
        if read.cut {
            lines.push(format!("[not all of {folder}/ was read: it is too large]"));
        }
        Ok(ToolOutput::new(lines.join("\n"), json!({ "found": count, "files": read.files, "cut": read.cut })))
    }

    fn read(&self, sight: &Sight<'_>) -> Result<Read, ToolError> {
        let root = match sight.policy.resolve(self.folder) {
            Ok(root) => root,
            Err(PathError::Missing { .. }) => return Ok(Read::default()),
            Err(error) => return Err(files::told(error)),
        };
        let (mut all, mut bytes, mut there) = (Read::default(), 0, HashSet::new());
        for entry in walk(&root, true).build().flatten() {
            if sight.stop.is_cancelled() {
                return Err(ToolError::new("aborted"));
            }
            let Ok(below) = entry.path().strip_prefix(&root) else { continue };
            let is_meant = entry.path().extension().and_then(|end| end.to_str()).is_some_and(|end| self.reads(end));
            if !is_meant || entry.file_type().is_none_or(|kind| !kind.is_file()) {
                continue;
            }
            if all.files == FILES || bytes > MOST {
                all.cut = true;
                break;
            }
            let path = format!("{}/{}", self.folder, below.display());
            // A file that is gone or may not be read holds nothing.
            let Ok(file) = sight.policy.open(&path) else { continue };
            let Ok(meta) = file.metadata() else { continue };
            let Some(passages) = self.passages(entry.path().into(), &path, file, &meta) else { continue };
            (all.files, bytes) = (all.files + 1, bytes + meta.len().min(LARGEST));
            all.cut |= meta.len() >= LARGEST;
            all.passages.push(passages);
            there.insert(entry.into_path());
        }
        self.kept().retain(|path, _| !path.starts_with(&root) || there.contains(path));
        Ok(all)
    }

    fn reads(&self, end: &str) -> bool {
        self.ends.iter().any(|known| end.eq_ignore_ascii_case(known))
    }

    /// What a file holds, read anew if it has changed.
    fn passages(&self, real: PathBuf, path: &str, file: File, meta: &Metadata) -> Option<Arc<[Passage]>> {
        let stamp = (meta.dev(), meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec());
        if let Some(known) = self.kept().get(&real).filter(|known| known.stamp == stamp) {
            return Some(Arc::clone(&known.passages));
        }
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes).ok()?;
        let passages: Arc<[Passage]> = split(path, &String::from_utf8_lossy(&bytes)).into();
        let mut kept = self.kept();
        kept.remove(&real);
        if kept.values().map(|file| file.stamp.2).sum::<u64>() + meta.len() <= KEPT {
            kept.insert(real, Kept { stamp, passages: Arc::clone(&passages) });
        }
        Some(passages)
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self, passage: &Passage) -> String {
        let text = match passage.text.char_indices().nth(self.shown) {
            Some((cut, _)) => format!("{}…", &passage.text[..cut]),
            None => passage.text.clone(),
        };
        format!("{}: {text}", passage.name)
    }
}

/// Paragraphs; an item of a list is one by itself. Headings belong to what follows them.
fn split(path: &str, text: &str) -> Vec<Passage> {
    let (mut passages, mut heading, mut open) = (Vec::new(), String::new(), None::<(usize, String)>);
    let mut close = |open: &mut Option<(usize, String)>, heading: &str| {
        if let Some((line, text)) = open.take() {
            passages.push(Passage::of(format!("{path}:{line}"), text, heading));
        }
    };
    for (number, line) in text.lines().enumerate() {
        let bare = line.trim();
        let is_long = open.as_ref().is_some_and(|(_, text)| text.len() > LONG);
        if is_long || bare.is_empty() || bare.starts_with('#') || bare.starts_with(['-', '*', '+']) {
            close(&mut open, &heading);
        }
        if let Some(title) = bare.strip_prefix('#') {
            heading = title.trim_start_matches('#').trim().to_owned();
        } else if !bare.is_empty() {
            match &mut open {
                Some((_, text)) => text.extend([" ", bare]),
                None => open = Some((number + 1, bare.to_owned())),
            }
        }
    }
    close(&mut open, &heading);
    passages
}

impl Passage {
    fn of(name: String, text: String, heading: &str) -> Passage {
        let mut all = HashMap::new();
        for word in words(&text).chain(words(heading)) {
            *all.entry(word).or_insert(0) += 1;
        }
        Passage { name, text, length: all.values().sum(), words: all }
    }

    /// How often it holds the word, or one that begins with it.
    fn holds(&self, wanted: &str) -> u32 {
        let near = |word: &str| word == wanted || (wanted.chars().count() > 2 && word.starts_with(wanted));
        self.words.iter().filter(|(word, _)| near(word)).map(|(_, count)| count).sum()
    }
}

/// Those that hold any of the words, the best first.
fn ranked<'a>(passages: &[&'a Passage], wanted: &[String]) -> Vec<&'a Passage> {
    let all = passages.len() as f64;
    let usual = passages.iter().map(|passage| f64::from(passage.length)).sum::<f64>() / all.max(1.0);
    let mut found: Vec<(f64, &Passage)> = passages.iter().map(|passage| (0.0, *passage)).collect();
    for word in wanted {
        let counts: Vec<u32> = passages.iter().map(|passage| passage.holds(word)).collect();
        let holding = counts.iter().filter(|count| **count > 0).count() as f64;
        // The usual ranking of documents by words: rare words count most, long texts less.
        let rare = (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln();
        for ((score, passage), count) in found.iter_mut().zip(counts) {
            let often = f64::from(count);
            let long = 0.25 + 0.75 * f64::from(passage.length) / usual.max(1.0);
            *score += rare * often * 2.2 / (often + 1.2 * long);
        }
    }
    found.retain(|(score, _)| *score > 0.0);
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut seen = HashSet::new();
    found.into_iter().map(|(_, passage)| passage).filter(|passage| seen.insert(&passage.text)).collect()
}

/// In small letters.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}
