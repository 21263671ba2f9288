//! An edit as people read it: a unified diff with few lines around, and how many lines came and went.

use serde_json::json;

use super::{Found, line_of};
use crate::tool::ToolOutput;

/// Lines of the diff kept in the details.
const DIFF: usize = 80;
/// Lines around a change.
const AROUND: usize = 2;
/// Lines named to the model.
const LINES: usize = 8;

/// Lines that went, and those that came in their place.
struct Hunk<'a> {
    /// Of the old text, from 1.
    line: usize,
    old: Vec<&'a str>,
    new: Vec<String>,
}

impl Hunk<'_> {
    fn changes(&self) -> bool {
        !self.old.is_empty() || !self.new.is_empty()
    }
}

/// What changed in `text`; the edits are sorted and apart.
pub(super) fn told(path: &str, text: &str, found: &[Found]) -> ToolOutput {
    let hunks = hunks(text, found);
    let (removed, added) = hunks.iter().fold((0, 0), |(old, new), hunk| (old + hunk.old.len(), new + hunk.new.len()));
    let line = hunks.first().map_or(1, |hunk| hunk.line);
    let places = match hunks.as_slice() {
        [] | [_] => format!("at line {line}"),
        hunks => {
            let lines: Vec<String> = hunks.iter().take(LINES).map(|hunk| hunk.line.to_string()).collect();
            let more = if hunks.len() > LINES { ", …" } else { "" };
            format!("in {} places, lines {}{more}", hunks.len(), lines.join(", "))
        }
    };
    let details = json!({ "line": line, "added": added, "removed": removed, "diff": unified(path, text, &hunks) });
    ToolOutput::new(format!("Edited {path} {places} (+{added} -{removed})"), details)
}

/// Whole lines around each edit, as few as tell it; edits that share a line are one.
fn hunks<'a>(text: &'a str, found: &[Found]) -> Vec<Hunk<'a>> {
    let begin = |at: usize| text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = |at: usize| text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
    let mut hunks = Vec::new();
    let mut rest = found;
    while let Some(first) = rest.first() {
        let (from, mut to, mut count) = (begin(first.start), end(first.end), 1);
        while let Some(next) = rest.get(count).filter(|next| next.start < to) {
            to = end(next.end);
            count += 1;
        }
        let (these, after) = rest.split_at(count);
        let new = pieces(text, from, to, these);
        // Two edits may undo each other.
        hunks.extend(Some(trimmed(line_of(text, from), &text[from..to], &new)).filter(|it| it.changes()));
        rest = after;
    }
    hunks
}

/// The new text of the lines from `from` to `to`.
fn pieces(text: &str, from: usize, to: usize, found: &[Found]) -> String {
    let (mut new, mut done) = (String::new(), from);
    for found in found {
        new.push_str(&text[done..found.start]);
        new.push_str(&found.new);
        done = found.end;
    }
    new + &text[done..to]
}

/// Without the lines that begin and end both texts.
fn trimmed<'a>(line: usize, old: &'a str, new: &str) -> Hunk<'a> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[same..], &new[same..]);
    let ends = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let new = new[..new.len() - ends].iter().map(|line| (*line).to_owned()).collect();
    Hunk { line: line + same, old: old[..old.len() - ends].to_vec(), new }
}

fn unified(path: &str, text: &str, hunks: &[Hunk<'_>]) -> String {
    let mut lines = vec![format!("--- a/{path}"), format!("+++ b/{path}")];
    let (mut shift, mut done, mut reached) = (0, 1, text);
    for (at, hunk) in hunks.iter().enumerate() {
        // What stands before the next hunk is shown once.
        let before = AROUND.min(hunk.line - done);
        let next = hunks.get(at + 1).map_or(usize::MAX, |next| next.line);
        let mut rest = reached.split_inclusive('\n').skip(hunk.line - before - done);
        let lead: Vec<&str> = rest.by_ref().take(before).collect();
        let end = hunk.line + hunk.old.len();
        let trail: Vec<&str> = rest.skip(hunk.old.len()).take(AROUND.min(next - end)).collect();
        let around = lead.len() + trail.len();
        let (old, new) = (hunk.old.len() + around, hunk.new.len() + around);
        // A side without lines is named by the line before it.
        let side = |line: usize, count: usize| format!("{},{count}", line.saturating_sub(usize::from(count == 0)));
        let (here, there) = (hunk.line - before, (hunk.line - before).saturating_add_signed(shift));
        lines.push(format!("@@ -{} +{} @@", side(here, old), side(there, new)));
        lead.iter().for_each(|line| push(&mut lines, ' ', line));
        hunk.old.iter().for_each(|line| push(&mut lines, '-', line));
        hunk.new.iter().for_each(|line| push(&mut lines, '+', line));
        trail.iter().for_each(|line| push(&mut lines, ' ', line));
        shift += hunk.new.len() as isize - hunk.old.len() as isize;
        let passed: usize = reached.split_inclusive('\n').take(end + trail.len() - done).map(str::len).sum();
        (done, reached) = (end + trail.len(), &reached[passed..]);
    }
    if lines.len() > DIFF {
        let more = lines.len() - DIFF;
        lines.truncate(DIFF);
        lines.push(format!("… {more} more lines"));
    }
    lines.join("\n") + "\n"
}

fn push(lines: &mut Vec<String>, mark: char, line: &str) {
    let bare = line.strip_suffix('\n');
    lines.push(format!("{mark}{}", bare.unwrap_or(line)));
    if bare.is_none() {
        lines.push("\\ No newline at end of file".to_owned());
    }
}
