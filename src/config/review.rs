//! What a person cannot see in the files that an agent is told to follow, for whoever is asked to trust them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

/// Files that every prompt or run is made of.
const FILES: [&str; 7] = ["config.md", "AGENTS.md", "CLAUDE.md", "SOUL.md", "IDENTITY.md", "USER.md", "mcp.json"];

/// Folders of skills, agents and notes.
const FOLDERS: [&str; 5] = ["skills", "agents", "memory", ".claude/skills", ".agents/skills"];

/// Most files that are looked at, and most bytes of each.
const MOST: usize = 500;
const LONGEST: u64 = 1 << 20;

/// Most places that are told.
const TOLD: usize = 10;

/// Lines with characters that take no room, turn the line around or are control characters, as a sentence for each:
/// what a model reads there, a person does not see.
pub fn review(root: &Path) -> Vec<String> {
    let folders = FOLDERS.iter().flat_map(|folder| {
        let walk = WalkDir::new(root.join(folder)).max_depth(4).sort_by_file_name().into_iter().filter_map(Result::ok);
        walk.filter(|entry| entry.file_type().is_file() && entry.path().extension().is_some_and(|end| end == "md"))
            .map(walkdir::DirEntry::into_path)
    });
    let files = FILES.iter().map(|file| root.join(file)).chain(folders).take(MOST);
    files.flat_map(|path| hidden(root, path)).take(TOLD).collect()
}

fn hidden(root: &Path, path: PathBuf) -> Vec<String> {
    let mut bytes = Vec::new();
    // What cannot be read is told where it is needed; a pipe is no file of instructions.
    if !path.is_file() || File::open(&path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes)).is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let each = lines.filter_map(|(at, line)| {
        let found = line.chars().find(|c| is_hidden(*c))?;
        Some(format!("{name} line {} has a character that nobody sees (U+{:04X})", at + 1, u32::from(found)))
    });
    each.take(TOLD).collect()
}

/// Joiners and variants of signs belong to ordinary texts.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
        | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}
