//! A change of a file as people read it: line numbers, signs, the words that differ. It comes as a unified diff, which the
//! tools that write files make.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::Look;
use super::clean::clean;
use super::ink::{Ink, Line, clipped, piece, width, written};
use super::theme::Tone;

/// Longest line in which words are compared.
const LINE: usize = 500;
/// How long that may take.
const TIME: Duration = Duration::from_millis(5);
/// Lines that share less are not compared word by word.
const ALIKE: f32 = 0.4;

/// A line of a diff.
#[derive(Clone)]
enum Row<'a> {
    Same(usize, &'a str),
    Gone(usize, &'a str),
    Come(usize, &'a str),
    /// Words about the diff, and places that are left out.
    Note(&'a str),
}

/// The lines of a unified diff, each within the width.
pub(super) fn lines(unified: &str, look: Look, room: usize) -> Vec<String> {
    let rows = rows(unified);
    let number = |row: &Row<'_>| match row {
        Row::Same(line, _) | Row::Gone(line, _) | Row::Come(line, _) => *line,
        Row::Note(_) => 0,
    };
    let digits = rows.iter().map(number).max().unwrap_or(0).to_string().len();
    let mut lines = Vec::new();
    let mut at = 0;
    while let Some(row) = rows.get(at) {
        let (gone, come) = replaced(&rows[at..]);
        if gone + come == 0 {
            lines.push(single(row, digits));
            at += 1;
            continue;
        }
        let (gone, come) = (&rows[at..at + gone], &rows[at + gone..at + gone + come]);
        at += gone.len() + come.len();
        lines.extend(compared(gone, come, digits));
    }
    lines.iter().map(|line| written(&clipped(line, room), look)).collect()
}

fn rows(unified: &str) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let (mut old, mut new) = (1, 1);
    for line in unified.lines() {
        if line.starts_with("--- ") && rows.is_empty() || line.starts_with("+++ ") && rows.is_empty() {
            continue;
        }
        if let Some(head) = line.strip_prefix("@@ ") {
            (old, new) = begins(head).unwrap_or((old, new));
            if !rows.is_empty() {
                rows.push(Row::Note("⋮"));
            }
            continue;
        }
        let rest = line.get(1..).unwrap_or_default();
        match line.chars().next() {
            Some('-') => {
                rows.push(Row::Gone(old, rest));
                old += 1;
            }
            Some('+') => {
                rows.push(Row::Come(new, rest));
                new += 1;
            }
            Some(' ') | None => {
                rows.push(Row::Same(new, rest));
                (old, new) = (old + 1, new + 1);
            }
            Some('\\') => {}
            Some(_) => rows.push(Row::Note(line)),
        }
    }
    rows
}

/// The first lines of a hunk: `-3,2 +4,1 @@`.
fn begins(head: &str) -> Option<(usize, usize)> {
    let mut sides = head.split(' ').map(|side| {
        let mut figures = side.get(1..)?.split(',').map(|figure| figure.parse::<usize>().ok());
        let (line, count) = (figures.next()??, figures.next().flatten().unwrap_or(1));
        // A side without lines is named by the line before it.
        Some(line + usize::from(count == 0))
    });
    Some((sides.next()??, sides.next()??))
}

/// How many lines go here, and how many come in their place.
fn replaced(rows: &[Row<'_>]) -> (usize, usize) {
    let gone = rows.iter().take_while(|row| matches!(row, Row::Gone(..))).count();
    let come = rows[gone..].iter().take_while(|row| matches!(row, Row::Come(..))).count();
    (gone, come)
}

fn single(row: &Row<'_>, digits: usize) -> Line {
    match row {
        Row::Same(line, text) => numbered(*line, ' ', digits, vec![piece(clean(text), Ink::DIM)], Tone::Plain),
        Row::Gone(line, text) => {
            numbered(*line, '-', digits, vec![piece(clean(text), Ink::PLAIN.toned(Tone::Bad))], Tone::Bad)
        }
        Row::Come(line, text) => {
            numbered(*line, '+', digits, vec![piece(clean(text), Ink::PLAIN.toned(Tone::Good))], Tone::Good)
        }
        Row::Note(text) => vec![piece(format!("{:>1$}  {2}", "", digits, clean(text)), Ink::DIM)],
    }
}

fn numbered(line: usize, sign: char, digits: usize, text: Line, tone: Tone) -> Line {
    let number = piece(format!("  {line:>digits$} "), Ink::DIM);
    let sign = piece(format!("{sign} "), Ink::PLAIN.toned(tone));
    [number, sign].into_iter().chain(text).collect()
}

/// Lines that go and lines that come, one by one beside each other where they are alike.
fn compared(gone: &[Row<'_>], come: &[Row<'_>], digits: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = gone.iter().chain(come).map(|row| single(row, digits)).collect();
    for (at, pair) in gone.iter().zip(come).enumerate() {
        let (Row::Gone(old_line, old), Row::Come(new_line, new)) = pair else { continue };
        if let Some((old, new)) = words(&clean(old), &clean(new)) {
            lines[at] = numbered(*old_line, '-', digits, old, Tone::Bad);
            lines[gone.len() + at] = numbered(*new_line, '+', digits, new, Tone::Good);
        }
    }
    lines
}

/// Both lines with a line under what differs; `None` when hardly anything is the same.
fn words(old: &str, new: &str) -> Option<(Line, Line)> {
    if old.len().max(new.len()) > LINE {
        return None;
    }
    let diff = TextDiff::configure().timeout(TIME).diff_words(old, new);
    let (mut was, mut is) = (Line::new(), Line::new());
    let mut same = 0;
    for change in diff.iter_all_changes() {
        let (bad, good) = (Ink::PLAIN.toned(Tone::Bad), Ink::PLAIN.toned(Tone::Good));
        match change.tag() {
            ChangeTag::Equal => {
                same += change.value().trim().len();
                was.push(piece(change.value(), bad));
                is.push(piece(change.value(), good));
            }
            ChangeTag::Delete => was.push(piece(change.value(), Ink { bold: true, under: true, ..bad })),
            ChangeTag::Insert => is.push(piece(change.value(), Ink { bold: true, under: true, ..good })),
        }
    }
    let longest = width(&was).max(width(&is)).max(1);
    (same as f32 >= ALIKE * longest as f32).then_some((was, is))
}
