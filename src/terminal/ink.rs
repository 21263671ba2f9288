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

/// One sign of a line, as a reader counts.
struct Sign<'a> {
    text: &'a str,
    ink: Ink,
    width: usize,
}

impl Sign<'_> {
    fn is_space(&self) -> bool {
        self.text == " "
    }
}

/// The line in parts that are no wider than the width: broken at spaces, beside wide signs, and within what is too long.
/// Spaces at a break go; nothing else does. Nothing is one empty part.
pub(super) fn flow(line: &[Piece], width: usize) -> Vec<Line> {
    let signs: Vec<Sign<'_>> = line.iter().flat_map(signs).collect();
    let mut rest = signs.as_slice();
    let mut lines = Vec::new();
    while !rest.is_empty() || lines.is_empty() {
        let (now, later) = rest.split_at(part(rest, width.max(2)));
        lines.push(joined(now));
        let spaces = later.iter().take_while(|sign| sign.is_space()).count();
        rest = &later[spaces..];
    }
    lines
}

fn signs(piece: &Piece) -> impl Iterator<Item = Sign<'_>> {
    piece.text.graphemes(true).map(|text| Sign { text, ink: piece.ink, width: text.width() })
}

/// How many signs make the next part; at least one, where there is one.
fn part(signs: &[Sign<'_>], width: usize) -> usize {
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
fn may_break(before: &Sign<'_>, after: &Sign<'_>) -> bool {
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

/// Signs as pieces again, without spaces at the end.
fn joined(signs: &[Sign<'_>]) -> Line {
    let mut line: Line = Vec::new();
    for sign in signs {
        match line.last_mut() {
            Some(piece) if piece.ink == sign.ink => piece.text.push_str(sign.text),
            _ => line.push(piece(sign.text, sign.ink)),
        }
    }
    line
}
