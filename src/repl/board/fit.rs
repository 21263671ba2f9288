//! Styled lines made to fit: cut to a width in columns, filled up to one. Of control sequences only colours get through.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a line is made of.
enum Piece<'a> {
    /// A sequence that colours.
    Style(&'a str),
    /// What is seen, and the columns that it takes.
    Sign(&'a str, usize),
}

/// The line in exactly so many columns: cut with `…`, or filled with spaces.
pub(super) fn fit(line: &str, width: usize) -> String {
    let (mut line, taken) = cut_to(line, width);
    line.extend(std::iter::repeat_n(' ', width - taken));
    line
}

/// The line in at most so many columns, with `…` where something is missing.
pub(super) fn cut(line: &str, width: usize) -> String {
    cut_to(line, width).0
}

/// Columns that a styled line takes. A sign that terminals disagree about counts as its widest.
pub(super) fn columns(line: &str) -> usize {
    pieces(line).map(|piece| if let Piece::Sign(_, wide) = piece { wide } else { 0 }).sum()
}

/// The end of a plain text in at most so many columns.
pub(super) fn end(text: &str, width: usize) -> &str {
    let mut used = 0;
    let fits = text.grapheme_indices(true).rev().take_while(|(_, sign)| {
        used += wide(sign);
        used <= width
    });
    fits.last().map_or("", |(at, _)| &text[at..])
}

fn cut_to(line: &str, width: usize) -> (String, usize) {
    let whole = columns(line) <= width;
    let room = if whole { width } else { width.saturating_sub(1) };
    let (mut kept, mut used, mut styled) = (String::new(), 0, false);
    for piece in pieces(line) {
        match piece {
            Piece::Style(style) => {
                styled = !matches!(style, "\x1b[0m" | "\x1b[m");
                kept.push_str(style);
            }
            Piece::Sign(_, wide) if used + wide > room => break,
            Piece::Sign(sign, wide) => {
                kept.push_str(sign);
                used += wide;
            }
        }
    }
    if !whole && width > 0 {
        kept.push('…');
        used += 1;
    }
    if styled {
        kept.push_str("\x1b[0m");
    }
    (kept, used)
}

fn pieces(line: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = line;
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            if first == '\x1b' {
                let end = sequence(rest);
                let (sequence, after) = rest.split_at(end);
                rest = after;
                if sequence.starts_with("\x1b[") && sequence.ends_with('m') {
                    return Some(Piece::Style(sequence));
                }
                continue;
            }
            let sign = rest.graphemes(true).next()?;
            rest = &rest[sign.len()..];
            if !first.is_control() {
                return Some(Piece::Sign(sign, wide(sign)));
            }
        }
    })
}

/// Where the control sequence ends that the text begins with.
fn sequence(text: &str) -> usize {
    let body = text.strip_prefix("\x1b[").unwrap_or("");
    let parameters = body.len() - body.trim_start_matches(|c| matches!(c, ' '..='?')).len();
    match body[parameters..].chars().next() {
        Some(last @ '@'..='~') => 2 + parameters + last.len_utf8(),
        Some(_) | None => 1,
    }
}

fn wide(sign: &str) -> usize {
    sign.width().max(sign.chars().filter_map(UnicodeWidthChar::width).sum())
}
