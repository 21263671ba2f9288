//! Styled text: pieces with a style each, broken into lines that fit, and written with or without colours.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::Look;
use super::theme::Tone;

/// How a piece of text is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ink {
    pub(super) tone: Tone,
    pub(super) bold: bool,
    pub(super) italic: bool,
    pub(super) under: bool,
    pub(super) strike: bool,
    pub(super) dim: bool,
}

impl Ink {
    pub(super) const PLAIN: Ink =
        Ink { tone: Tone::Plain, bold: false, italic: false, under: false, strike: false, dim: false };
    pub(super) const DIM: Ink = Ink { dim: true, ..Ink::PLAIN };
    pub(super) const BOLD: Ink = Ink { bold: true, ..Ink::PLAIN };

    pub(super) fn toned(self, tone: Tone) -> Ink {
        Ink { tone, ..self }
    }

    /// The parameters of the SGR sequence; empty when there is nothing to say.
    fn sgr(self, look: Look) -> String {
        let marks = [(self.bold, "1"), (self.dim, "2"), (self.italic, "3"), (self.under, "4"), (self.strike, "9")];
        let marks = marks.iter().filter(|(set, _)| *set).map(|(_, code)| *code);
        let tone = Some(look.theme.sgr(self.tone)).filter(|code| !code.is_empty());
        marks.chain(tone).collect::<Vec<_>>().join(";")
    }
}

/// Text of one style, without line breaks and control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) ink: Ink,
}

/// A line, or what is to become several.
pub(super) type Line = Vec<Piece>;

/// A piece.
pub(super) fn piece(text: impl Into<String>, ink: Ink) -> Piece {
    Piece { text: text.into(), ink }
}

/// Columns that a line takes.
pub(super) fn width(line: &[Piece]) -> usize {
    line.iter().map(|piece| piece.text.width()).sum()
}

/// A line as it is written, without spaces at its end.
pub(super) fn written(line: &[Piece], look: Look) -> String {
    let mut out = String::new();
    let last = line.iter().rposition(|piece| !piece.text.trim_end().is_empty());
    for (at, piece) in line.iter().enumerate().take(last.map_or(0, |last| last + 1)) {
        let text = if Some(at) == last { piece.text.trim_end() } else { &piece.text };
        let sgr = if look.color { piece.ink.sgr(look) } else { String::new() };
        match sgr.is_empty() {
            true => out.push_str(text),
            false => out.extend(["\x1b[", &sgr, "m", text, "\x1b[0m"]),
        }
    }
    out
}

/// One sign of a line, as a reader counts, with its style.
struct Sign<'a, S> {
    text: &'a str,
    style: S,
    width: usize,
}

impl<S> Sign<'_, S> {
    fn is_space(&self) -> bool {
        self.text == " "
    }
}

/// The line in parts that are no wider than the width: broken at spaces, beside wide signs, and within what is too long.
/// Spaces at a break go; nothing else does. Nothing is one empty part.
pub(super) fn flow(line: &[Piece], width: usize) -> Vec<Line> {
    let signs: Vec<_> = line.iter().flat_map(|piece| signs(&piece.text, piece.ink)).collect();
    parts(&signs, width, width).into_iter().map(joined).collect()
}

/// The line cut to the width, with `…` where something is missing.
pub(super) fn clipped(line: &[Piece], room: usize) -> Line {
    if width(line) <= room {
        return line.to_vec();
    }
    let signs: Vec<_> = line.iter().flat_map(|piece| signs(&piece.text, piece.ink)).collect();
    let mut used = 1;
    let fits = signs.iter().take_while(|sign| {
        used += sign.width;
        used <= room
    });
    let count = fits.count();
    let mut line = joined(&signs[..count]);
    line.push(piece("…", Ink::DIM));
    line
}

/// A line that is written already, in parts that are no wider than the width; those after the first hang by so many columns.
pub(super) fn fitted(line: &str, width: usize, hang: usize) -> Vec<String> {
    let runs = runs(line);
    if runs.iter().map(|(_, text)| text.width()).sum::<usize>() <= width {
        return vec![line.to_owned()];
    }
    let signs: Vec<_> = runs.into_iter().flat_map(|(sgr, text)| signs(text, sgr)).collect();
    let mut lines = Vec::new();
    for part in parts(&signs, width, width.saturating_sub(hang)) {
        let mut out = " ".repeat(if lines.is_empty() { 0 } else { hang });
        for run in part.chunk_by(|one, next| one.style == next.style) {
            let sgr = run.first().map_or("", |sign| sign.style);
            let end = if sgr.is_empty() { "" } else { "\x1b[0m" };
            out.push_str(sgr);
            out.extend(run.iter().map(|sign| sign.text));
            out.push_str(end);
        }
        lines.push(out);
    }
    lines
}

/// The texts of a line that is written already, each with the sequence that colours it.
fn runs(line: &str) -> Vec<(&str, &str)> {
    let (mut rest, mut sgr) = (line, "");
    let mut runs = Vec::new();
    while let Some((begin, end)) = rest.find("\x1b[").and_then(|at| Some((at, at + rest[at..].find('m')?))) {
        runs.push((sgr, &rest[..begin]));
        sgr = Some(&rest[begin..=end]).filter(|sgr| *sgr != "\x1b[0m").unwrap_or_default();
        rest = &rest[end + 1..];
    }
    runs.push((sgr, rest));
    runs
}

fn signs<'a, S: Copy>(text: &'a str, style: S) -> impl Iterator<Item = Sign<'a, S>> {
    text.graphemes(true).map(move |text| Sign { text, style, width: text.width() })
}

/// Parts of a line: the first and the others have so many columns.
fn parts<'s, 'a, S>(signs: &'s [Sign<'a, S>], first: usize, others: usize) -> Vec<&'s [Sign<'a, S>]> {
    let mut rest = signs;
    let mut parts = Vec::new();
    while !rest.is_empty() || parts.is_empty() {
        let width = if parts.is_empty() { first } else { others };
        let (now, later) = rest.split_at(part(rest, width.max(2)));
        let end = now.iter().rposition(|sign| !sign.is_space()).map_or(0, |last| last + 1);
        parts.push(if later.is_empty() { now } else { &now[..end] });
        rest = &later[later.iter().take_while(|sign| sign.is_space()).count()..];
    }
    parts
}

/// How many signs make the next part; at least one, where there is one.
fn part<S>(signs: &[Sign<'_, S>], width: usize) -> usize {
    let indent = signs.iter().take_while(|sign| sign.is_space()).count();
    let (mut used, mut last) = (0, None);
    for (at, sign) in signs.iter().enumerate() {
        if at > indent && may_break(&signs[at - 1], sign) {
            last = Some(at);
        }
        used += sign.width;
        if used > width && !sign.is_space() {
            return last.unwrap_or(at).max(1);
        }
    }
    signs.len()
}

/// Whether a line may end between two signs.
fn may_break<S>(before: &Sign<'_, S>, after: &Sign<'_, S>) -> bool {
    const NOT_FIRST: &str = "，。、；：？！）》」』】〉’”…·～ー々";
    const NOT_LAST: &str = "（《「『【〈‘“";
    match (before.is_space(), after.is_space()) {
        (true, _) => true,
        (false, true) => false,
        // Chinese, Japanese and Korean break between any two signs, but not before what closes nor behind what opens.
        (false, false) => {
            (before.width == 2 || after.width == 2)
                && !NOT_FIRST.contains(after.text)
                && !NOT_LAST.contains(before.text)
        }
    }
}

/// Signs as pieces again.
fn joined(signs: &[Sign<'_, Ink>]) -> Line {
    let runs = signs.chunk_by(|one, next| one.style == next.style);
    let joined =
        |run: &[Sign<'_, Ink>]| Some(piece(run.iter().map(|sign| sign.text).collect::<String>(), run.first()?.style));
    runs.filter_map(joined).collect()
}
