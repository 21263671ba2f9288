//! What stands within a paragraph, a heading or a cell: emphasis, code, links, as styled pieces. Nothing is lost: what
//! has no style of its own is shown as it was written, and without colours the marks stay.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::terminal::Look;
use crate::terminal::clean::clean;
use crate::terminal::ink::{Ink, Line, piece};
use crate::terminal::theme::Tone;

/// Begins every line that is parsed. To the parser it is white space, but none with which a block could begin, so that
/// all of it is one paragraph; blocks were told apart before.
const GUARD: char = '\u{a0}';

/// The lines of a text. Its own line breaks are kept.
pub(super) fn inline(text: &str, base: Ink, look: Look) -> Vec<Line> {
    let mut guarded = String::with_capacity(text.len() + 8);
    for (at, line) in text.lines().enumerate() {
        guarded.extend([if at == 0 { "" } else { "\n" }]);
        guarded.push(GUARD);
        guarded.push_str(line.trim_start());
    }
    let mut writer = Writer { look, lines: vec![Vec::new()], inks: vec![base], links: Vec::new(), fresh: true };
    for event in Parser::new_ext(&guarded, Options::ENABLE_STRIKETHROUGH) {
        writer.take(event);
    }
    writer.lines
}

struct Writer {
    look: Look,
    lines: Vec<Line>,
    /// The style of what comes, and those around it; never empty.
    inks: Vec<Ink>,
    /// Links that are open: the address and the words so far.
    links: Vec<(String, String)>,
    /// A line has just begun, with its guard.
    fresh: bool,
}

impl Writer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(tag) => self.close(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.code(&text),
            Event::SoftBreak | Event::HardBreak => self.line_break(),
            Event::InlineHtml(html) if ["<br>", "<br/>", "<br />"].contains(&&*html) => {
                self.lines.push(Vec::new());
            }
            Event::Html(text) | Event::InlineHtml(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text);
            }
            Event::FootnoteReference(name) => self.text(&format!("[^{name}]")),
            Event::Rule | Event::TaskListMarker(_) => {}
        }
    }

    fn ink(&self) -> Ink {
        self.inks.last().copied().unwrap_or_default()
    }

    fn open(&mut self, tag: Tag<'_>) {
        let ink = self.ink();
        let ink = match tag {
            Tag::Emphasis => self.marked("*", Ink { italic: true, ..ink }),
            Tag::Strong => self.marked("**", Ink { bold: true, ..ink }),
            Tag::Strikethrough => self.marked("~~", Ink { strike: true, ..ink }),
            Tag::Link { dest_url, title, .. } | Tag::Image { dest_url, title, .. } => {
                let title = if title.is_empty() { String::new() } else { format!(" “{title}”") };
                self.links.push((format!("{dest_url}{title}"), String::new()));
                Ink { under: true, ..ink.toned(Tone::Link) }
            }
            _ => ink,
        };
        self.inks.push(ink);
    }

    fn close(&mut self, tag: TagEnd) {
        self.inks.pop();
        match tag {
            TagEnd::Emphasis => drop(self.marked("*", Ink::PLAIN)),
            TagEnd::Strong => drop(self.marked("**", Ink::PLAIN)),
            TagEnd::Strikethrough => drop(self.marked("~~", Ink::PLAIN)),
            TagEnd::Link | TagEnd::Image => {
                let (address, words) = self.links.pop().unwrap_or_default();
                let bare = |text: &str| text.trim_start_matches("mailto:").trim_end_matches('/').to_owned();
                if !address.is_empty() && bare(&address) != bare(&words) {
                    let gap = if words.is_empty() { "" } else { " " };
                    self.put(&format!("{gap}({address})"), Ink { dim: true, ..self.ink() });
                }
            }
            _ => {}
        }
    }

    /// Without colours a style is told by its marks.
    fn marked(&mut self, mark: &str, ink: Ink) -> Ink {
        if !self.look.color {
            self.put(mark, Ink::PLAIN);
        }
        ink
    }

    fn text(&mut self, text: &str) {
        let text = if std::mem::take(&mut self.fresh) { text.strip_prefix(GUARD).unwrap_or(text) } else { text };
        self.put(text, self.ink());
    }

    fn code(&mut self, text: &str) {
        // A line break within it has become a space, and the guard stands behind that.
        let text = text.replace(&format!(" {GUARD}"), " ");
        self.fresh = false;
        match self.look.color {
            true => self.put(&text, self.ink().toned(Tone::Code)),
            false => self.put(&format!("`{text}`"), self.ink()),
        }
    }

    fn line_break(&mut self) {
        self.lines.push(Vec::new());
        self.fresh = true;
    }

    fn put(&mut self, text: &str, ink: Ink) {
        // An entity can stand for any character: the text was clean before it was parsed.
        let text = match text.chars().any(char::is_control) || text.contains(GUARD) {
            true => clean(&text.replace(&format!("\n{GUARD}"), " ")).replace('\n', " "),
            false => text.to_owned(),
        };
        if let Some((_, words)) = self.links.last_mut() {
            words.push_str(&text);
        }
        if let Some(line) = self.lines.last_mut().filter(|_| !text.is_empty()) {
            line.push(piece(text, ink));
        }
    }
}
