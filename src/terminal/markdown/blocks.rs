//! Blocks told apart line by line: quotes and lists around paragraphs, headings, tables, code. A line is judged by itself
//! and by what is open, never by what comes later, so that what is complete can be shown.

use super::code::Code;
use super::inline::inline;
use super::list::{self, Fence, Mark, spaces};
use super::table::Table;
use super::{Page, tail};
use crate::terminal::ink::{Ink, Line, Piece, flow, piece, width, written};
use crate::terminal::theme::Tone;

/// Quotes and lists within each other; what is deeper is text.
const DEEPEST: usize = 16;
/// Most bytes of a paragraph; it goes on as another one.
const PARAGRAPH: usize = 16 * 1024;
/// Most bytes of a table's rows; it goes on with columns of its own.
const TABLE: usize = 64 * 1024;
/// Columns that are left for text however deep it stands.
const LEAST: usize = 10;
/// Columns of a rule.
const RULE: usize = 40;

/// What is around a line.
#[derive(Debug, Clone)]
enum Around {
    Quote,
    Item {
        mark: Mark,
        indent: usize,
        /// Its mark was not shown yet.
        fresh: bool,
    },
}

/// What is open and may go on with the next line.
#[derive(Debug, Clone, Default)]
enum Leaf {
    #[default]
    None,
    /// Its lines, without the spaces before them.
    Paragraph(String),
    Table(Table),
    Fence(Fence, Code),
}

/// Where we are in the text.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    around: Vec<Around>,
    leaf: Leaf,
    /// Lines were empty since the last that was shown; within so many quotes.
    gap: Option<usize>,
    /// Something was shown.
    begun: bool,
}

impl Blocks {
    /// Takes one line, clean and without its end.
    pub(super) fn line(&mut self, line: &str, page: Page, out: &mut Vec<String>) {
        let (matched, rest) = self.within(line);
        let all = matched == self.around.len();
        if let Leaf::Fence(fence, code) = &mut self.leaf
            && all
        {
            if fence.is_closed_by(rest) {
                self.leaf = Leaf::None;
                return;
            }
            let text = &rest[spaces(rest).min(fence.indent)..];
            let line = if page.look.color { code.line(text) } else { vec![piece(text, Ink::PLAIN)] };
            return self.code(line, page, out);
        }
        if rest.trim().is_empty() {
            return self.blank(matched, page, out);
        }
        // A paragraph goes on also without the marks around it.
        if matches!(self.leaf, Leaf::Paragraph(_)) && !all && !begins(rest, false) {
            return self.more(rest, page, out);
        }
        let before = self.around.get(matched).cloned();
        if !all {
            self.leave(matched, page, out);
        }
        let rest = self.enter(rest, before, page, out);
        if !rest.trim().is_empty() {
            self.words(rest, page, out);
        }
    }

    /// The text is over.
    pub(super) fn finish(mut self, page: Page, out: &mut Vec<String>) {
        self.leave(0, page, out);
    }

    /// The same with no more of what is unfinished than so many rows of a table, or bytes of a paragraph, to be looked at.
    pub(super) fn glimpse(&self, rows: usize, most: usize) -> Blocks {
        let leaf = match &self.leaf {
            Leaf::Paragraph(text) => Leaf::Paragraph(tail(text, most).to_owned()),
            Leaf::Table(table) => Leaf::Table(table.glimpse(rows)),
            Leaf::Fence(fence, code) => Leaf::Fence(fence.clone(), code.glimpse()),
            leaf => leaf.clone(),
        };
        Blocks { around: self.around.clone(), leaf, ..*self }
    }

    /// How many of the quotes and items around go on in this line, and what stands within them.
    fn within<'a>(&self, line: &'a str) -> (usize, &'a str) {
        let mut rest = line;
        for (at, around) in self.around.iter().enumerate() {
            rest = match around {
                Around::Quote => match list::quoted(rest) {
                    Some(rest) => rest,
                    None => return (at, rest),
                },
                Around::Item { .. } if rest.trim().is_empty() => "",
                Around::Item { indent, .. } if spaces(rest) >= *indent => &rest[*indent..],
                Around::Item { .. } => return (at, rest),
            };
        }
        (self.around.len(), rest)
    }

    fn blank(&mut self, matched: usize, page: Page, out: &mut Vec<String>) {
        self.close(page, out);
        if matched < self.around.len() {
            self.leave(matched, page, out);
        }
        let quotes = self.quotes();
        self.gap = Some(self.gap.map_or(quotes, |gap| gap.min(quotes)));
    }

    fn quotes(&self) -> usize {
        self.around.iter().filter(|around| matches!(around, Around::Quote)).count()
    }

    /// Goes into the quotes and items that begin in this line; answers what stands within them.
    fn enter<'a>(&mut self, line: &'a str, mut before: Option<Around>, page: Page, out: &mut Vec<String>) -> &'a str {
        let mut rest = line;
        while self.around.len() < DEEPEST && spaces(rest) < 4 {
            let in_paragraph = matches!(self.leaf, Leaf::Paragraph(_));
            if let Some(quoted) = list::quoted(rest) {
                self.close(page, out);
                self.around.push(Around::Quote);
                rest = quoted;
            } else if let Some(item) = list::item(rest, in_paragraph).filter(|_| !list::is_rule(rest)) {
                self.close(page, out);
                let mark = match &before {
                    Some(Around::Item { mark, .. }) => mark.next(item.mark),
                    Some(Around::Quote) | None => item.mark,
                };
                self.around.push(Around::Item { mark, indent: item.indent, fresh: true });
                rest = item.rest;
            } else {
                break;
            }
            before = None;
        }
        rest
    }

    /// Takes a line that is not empty, within what is around it.
    fn words(&mut self, line: &str, page: Page, out: &mut Vec<String>) {
        match &mut self.leaf {
            Leaf::Paragraph(text) => {
                if let Some(level) = list::underline(line) {
                    let text = std::mem::take(text);
                    self.leaf = Leaf::None;
                    return self.heading(level, &text, page, out);
                }
                let last = text.rfind('\n').map_or(0, |at| at + 1);
                if let Some(table) = Table::begin(&text[last..], line) {
                    text.truncate(last.saturating_sub(1));
                    self.close(page, out);
                    self.leaf = Leaf::Table(table);
                    return;
                }
                if !begins(line, true) && !list::is_definition(line) {
                    return self.more(line, page, out);
                }
            }
            Leaf::Table(table) if line.contains('|') && !begins(line, true) => {
                table.push(line);
                if table.size > TABLE {
                    let lines = table.take(page);
                    self.show(&lines, page, out);
                }
                return;
            }
            Leaf::Table(_) | Leaf::Fence(..) | Leaf::None => {}
        }
        self.close(page, out);
        self.open(line, page, out);
    }

    /// A paragraph goes on.
    fn more(&mut self, line: &str, page: Page, out: &mut Vec<String>) {
        if let Leaf::Paragraph(text) = &mut self.leaf {
            text.extend(["\n", line.trim_start()]);
            if text.len() > PARAGRAPH {
                self.close(page, out);
            }
        }
    }

    /// Begins a block; one that is a single line is shown.
    fn open(&mut self, line: &str, page: Page, out: &mut Vec<String>) {
        if spaces(line) >= 4 {
            self.code(vec![piece(&line[4..], Ink::PLAIN)], page, out);
        } else if let Some((level, words)) = list::heading(line) {
            self.heading(level, words, page, out);
        } else if let Some(fence) = list::fence(line) {
            // A word says the language, which the eye sees; more than a word says more.
            if fence.info.contains(' ') {
                self.show(&[vec![piece(format!("  {}", fence.info), Ink::DIM)]], page, out);
            }
            let code = Code::of(&fence.info);
            self.leaf = Leaf::Fence(fence, code);
        } else if list::is_rule(line) {
            let room = page.room.saturating_sub(width(&self.marks(page, false))).min(RULE);
            self.show(&[vec![piece("─".repeat(room), Ink::DIM)]], page, out);
        } else if list::is_definition(line) {
            self.show(&[vec![piece(line.trim(), Ink::DIM)]], page, out);
        } else {
            self.leaf = Leaf::Paragraph(line.trim_start().to_owned());
        }
    }

    fn heading(&mut self, level: usize, words: &str, page: Page, out: &mut Vec<String>) {
        let ink = Ink { under: level == 1, italic: level > 3, ..Ink::BOLD.toned(Tone::Heading) };
        let mut lines = inline(words, ink, page.look);
        if !page.look.color
            && let Some(first) = lines.first_mut()
        {
            first.insert(0, piece(format!("{} ", "#".repeat(level)), ink));
        }
        self.gap = self.gap.or(Some(self.quotes()));
        self.show(&lines, page, out);
    }

    /// A line of code.
    fn code(&mut self, mut line: Line, page: Page, out: &mut Vec<String>) {
        line.insert(0, piece("  ", Ink::PLAIN));
        self.show(&[line], page, out);
    }

    /// Shows what is open.
    fn close(&mut self, page: Page, out: &mut Vec<String>) {
        match std::mem::take(&mut self.leaf) {
            Leaf::Paragraph(text) if !text.is_empty() => {
                let lines = inline(&text, Ink::PLAIN, page.look);
                self.show(&lines, page, out);
            }
            Leaf::Table(mut table) => {
                let lines = table.take(page);
                self.show(&lines, page, out);
            }
            Leaf::Paragraph(_) | Leaf::Fence(..) | Leaf::None => {}
        }
    }

    /// Goes out of all but so many of the quotes and items around.
    fn leave(&mut self, keep: usize, page: Page, out: &mut Vec<String>) {
        self.close(page, out);
        let is_fresh = |around: &Around| matches!(around, Around::Item { fresh: true, .. });
        if self.around.iter().skip(keep).any(is_fresh) {
            self.show(&[vec![]], page, out);
        }
        self.around.truncate(keep);
    }

    /// Lines with what is around them.
    fn show(&mut self, lines: &[Line], page: Page, out: &mut Vec<String>) {
        let gap = self.gap.take().filter(|_| self.begun);
        out.extend(gap.map(|quotes| written(&[piece("│ ".repeat(quotes), Ink::DIM)], page.look)));
        for line in lines {
            let room = page.room.saturating_sub(width(&self.marks(page, false)));
            for part in flow(line, room) {
                let mut whole = self.marks(page, true);
                self.around.iter_mut().for_each(Around::shown);
                whole.extend(part);
                out.push(written(&whole, page.look));
            }
        }
        self.begun |= !lines.is_empty();
    }

    /// What stands before a line; no more than leaves some room.
    fn marks(&self, page: Page, say: bool) -> Vec<Piece> {
        let mut depth = 0;
        let mut marks = Vec::new();
        for around in &self.around {
            marks.push(match around {
                Around::Quote => piece("│ ", Ink::DIM),
                Around::Item { mark, fresh, .. } => {
                    let text = mark.text(depth);
                    depth += usize::from(mark.number.is_none());
                    let blank = " ".repeat(width(&[piece(text.as_str(), Ink::PLAIN)]));
                    piece(if *fresh && say { text } else { blank }, Ink::PLAIN)
                }
            });
        }
        while marks.len() > 1 && width(&marks) + LEAST > page.room {
            marks.remove(0);
        }
        marks
    }
}

impl Around {
    fn shown(&mut self) {
        if let Around::Item { fresh, .. } = self {
            *fresh = false;
        }
    }
}

/// The line begins a block of its own.
fn begins(line: &str, in_paragraph: bool) -> bool {
    spaces(line) < 4
        && (list::quoted(line).is_some()
            || list::heading(line).is_some()
            || list::fence(line).is_some()
            || list::is_rule(line)
            || list::item(line, in_paragraph).is_some())
}
