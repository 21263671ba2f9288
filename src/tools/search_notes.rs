//! The tool `search_notes`: paragraphs and list items below `memory/` that hold the words, ranked by how many of them and
//! how rare they are. Words alone: nothing here knows what they mean.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::files;
use super::looking::Sight;
use super::walk::walk;
use crate::tool::{Signature, ToolError, ToolOutput};
use crate::workspace::policy::{PathError, PathPolicy};

/// The folder of notes, from the base.
const FOLDER: &str = "memory";
/// Files that are read, and bytes of each.
const FILES: usize = 1_000;
const LARGEST: u64 = 1 << 20;
/// Bytes of all files together.
const MOST: usize = 32 << 20;
/// Places that are shown when nobody says, and characters of each.
const PLACES: usize = 10;
const LONGEST: usize = 600;
/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] = &[("query", "words"), ("text", "words"), ("pattern", "words"), ("top_k", "limit")];

/// The same for all agents: compiled once, whoever uses it.
pub(super) static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("search_notes", include_str!("search_notes.md"), true).understanding(NAMES));

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    words: String,
    #[schemars(range(min = 1, max = 50))]
    limit: Option<usize>,
}

/// A paragraph or a list item.
struct Place {
    /// `memory/a.md:12`
    name: String,
    text: String,
    words: HashMap<String, u32>,
    /// How many words there are.
    length: u32,
}

/// Searches what a policy lets read.
pub(super) fn search(args: &Args, sight: &Sight<'_>) -> Result<ToolOutput, ToolError> {
    let mut wanted: Vec<String> = words(&args.words).collect();
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        return Err(ToolError::new("words holds no word; say what to look for"));
    }
    let (places, files, cut) = read(sight.policy, sight.stop)?;
    let found = ranked(&places, &wanted);
    let (count, limit) = (found.len(), args.limit.unwrap_or(PLACES));
    let mut lines: Vec<String> = found.into_iter().take(limit).map(told).collect();
    if lines.is_empty() {
        lines.push(format!("no note holds {} ({files} files below {FOLDER}/)", wanted.join(" or ")));
    }
    if count > limit {
        lines.push(format!("[{} more; say more words]", count - limit));
    }
    if cut {
        lines.push("[not all of memory/ was read: it is too large]".to_owned());
    }
    Ok(ToolOutput::new(lines.join("\n"), json!({ "found": count, "files": files, "cut": cut })))
}

/// All places of all notes, the number of files, and whether there is more.
fn read(policy: &PathPolicy, stop: &CancellationToken) -> Result<(Vec<Place>, usize, bool), ToolError> {
    let root = match policy.resolve(FOLDER) {
        Ok(root) => root,
        Err(PathError::Missing { .. }) => return Ok((Vec::new(), 0, false)),
        Err(error) => return Err(files::told(error)),
    };
    let (mut places, mut read, mut bytes, mut cut) = (Vec::new(), 0, 0, false);
    for entry in walk(&root, true).build().flatten() {
        if stop.is_cancelled() {
            return Err(ToolError::new("aborted"));
        }
        let is_note = entry.path().extension().is_some_and(|end| end.eq_ignore_ascii_case("md"));
        let Ok(below) = entry.path().strip_prefix(&root) else { continue };
        let path = format!("{FOLDER}/{}", below.display());
        if !is_note || entry.file_type().is_none_or(|kind| !kind.is_file()) {
            continue;
        }
        if read == FILES || bytes > MOST {
            cut = true;
            break;
        }
        let mut text = Vec::new();
        // A file that is gone or may not be read holds no note.
        let Ok(Ok(_)) = policy.open(&path).map(|file| file.take(LARGEST).read_to_end(&mut text)) else { continue };
        (read, bytes) = (read + 1, bytes + text.len());
        cut |= text.len() as u64 == LARGEST;
        places.extend(split(&path, &String::from_utf8_lossy(&text)));
    }
    Ok((places, read, cut))
}

/// Paragraphs; an item of a list is one by itself. Headings belong to what follows them.
fn split(path: &str, text: &str) -> Vec<Place> {
    let (mut places, mut heading, mut open) = (Vec::new(), String::new(), None::<(usize, String)>);
    let mut close = |open: &mut Option<(usize, String)>, heading: &str| {
        if let Some((line, text)) = open.take() {
            places.push(Place::of(format!("{path}:{line}"), text, heading));
        }
    };
    for (number, line) in text.lines().enumerate() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with('#') || bare.starts_with(['-', '*', '+']) {
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
    places
}

impl Place {
    fn of(name: String, text: String, heading: &str) -> Place {
        let mut all = HashMap::new();
        for word in words(&text).chain(words(heading)) {
            *all.entry(word).or_insert(0) += 1;
        }
        Place { name, text, length: all.values().sum(), words: all }
    }

    /// How often it holds the word, or one that begins with it.
    fn holds(&self, wanted: &str) -> u32 {
        let near = |word: &str| word == wanted || (wanted.chars().count() > 2 && word.starts_with(wanted));
        self.words.iter().filter(|(word, _)| near(word)).map(|(_, count)| count).sum()
    }
}

/// Those that hold any of the words, the best first.
fn ranked<'a>(places: &'a [Place], wanted: &[String]) -> Vec<&'a Place> {
    let all = places.len() as f64;
    let usual = places.iter().map(|place| f64::from(place.length)).sum::<f64>() / all.max(1.0);
    let mut found: Vec<(f64, &Place)> = places.iter().map(|place| (0.0, place)).collect();
    for word in wanted {
        let counts: Vec<u32> = places.iter().map(|place| place.holds(word)).collect();
        let holding = counts.iter().filter(|count| **count > 0).count() as f64;
        // The usual ranking of documents by words: rare words count most, long texts less.
        let rare = (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln();
        for ((score, place), count) in found.iter_mut().zip(counts) {
            let often = f64::from(count);
            let long = 0.25 + 0.75 * f64::from(place.length) / usual.max(1.0);
            *score += rare * often * 2.2 / (often + 1.2 * long);
        }
    }
    found.retain(|(score, _)| *score > 0.0);
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut seen = HashSet::new();
    found.into_iter().map(|(_, place)| place).filter(|place| seen.insert(&place.text)).collect()
}

fn told(place: &Place) -> String {
    let text = match place.text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &place.text[..cut]),
        None => place.text.clone(),
    };
    format!("{}: {text}", place.name)
}

/// In small letters.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}
