//! HTML with no more nesting than a cap, in one pass over its bytes: tags that open a level too many are left out, as are
//! comments and scripts. Not a parser; what it lets through by mistake, the tree shows.

use std::collections::HashMap;

use super::html::DEEPEST;

/// Deepest nesting of what puts a mark before each of its lines.
const DEEPEST_MARKS: usize = 10;

/// Elements without an end.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];
/// Elements that end where the next of their kind begins.
const OPEN_ENDED: [&str; 10] = ["p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot"];
/// Elements whose content is not HTML.
const RAW: [&str; 5] = ["script", "style", "iframe", "noframes", "xmp"];
/// Elements whose lines all get a mark.
const MARKED: [&str; 4] = ["blockquote", "ul", "ol", "dl"];
/// Elements that an end tag of an outer one does not end.
const WALLS: [&str; 12] = [
    "table",
    "caption",
    "template",
    "svg",
    "math",
    "select",
    "object",
    "button",
    "marquee",
    "applet",
    "foreignobject",
    "html",
];

/// Elements whose end ends no other: what they hold stays open.
const LETTERS: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// The HTML without levels beyond the cap.
pub(super) fn flattened(html: &str) -> String {
    let mut flat = Flat { out: String::with_capacity(html.len()), open: Vec::new(), counts: HashMap::new() };
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        flat.out.push_str(&rest[..at]);
        rest = flat.tag(&rest[at..]);
    }
    flat.out.push_str(rest);
    flat.out
}

struct Flat {
    out: String,
    /// Names of the levels that are open, in small letters.
    open: Vec<String>,
    counts: HashMap<String, usize>,
}

impl Flat {
    /// Takes what begins with `<` and answers what is behind it.
    fn tag<'a>(&mut self, text: &'a str) -> &'a str {
        if let Some(comment) = text.strip_prefix("<!--") {
            return comment.find("-->").map_or("", |end| &comment[end + 3..]);
        }
        let (is_end, name_at) = if text.starts_with("</") { (true, 2) } else { (false, 1) };
        let name: &str = {
            let name = &text[name_at..];
            let end = name.find(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/')).unwrap_or(name.len());
            &name[..end]
        };
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.out.push('<');
            return &text[1..];
        }
        let length = length(text);
        let (tag, rest) = text.split_at(length);
        let name = name.to_ascii_lowercase();
        if is_end {
            self.end(&name);
            self.out.push_str(tag);
            return rest;
        }
        if RAW.contains(&name.as_str()) {
            return after_end(rest, &name);
        }
        let is_level = !VOID.contains(&name.as_str()) && !OPEN_ENDED.contains(&name.as_str());
        if !is_level {
            self.out.push_str(tag);
        } else if self.takes(&name) {
            self.out.push_str(tag);
            *self.counts.entry(name.clone()).or_default() += 1;
            self.open.push(name);
        }
        rest
    }

    fn takes(&self, name: &str) -> bool {
        let marks = || MARKED.iter().filter_map(|name| self.counts.get(*name)).sum::<usize>();
        self.open.len() < DEEPEST && (!MARKED.contains(&name) || marks() < DEEPEST_MARKS)
    }

    fn end(&mut self, name: &str) {
        if self.counts.get(name).is_none_or(|count| *count == 0) {
            return;
        }
        let is_wall = |open: &String| WALLS.contains(&open.as_str());
        let Some(at) = self.open.iter().rposition(|open| open == name) else { return };
        if self.open[at + 1..].iter().any(is_wall) {
            return;
        }
        let until = if LETTERS.contains(&name) { at + 1 } else { self.open.len() };
        for closed in self.open.drain(at..until) {
            if let Some(count) = self.counts.get_mut(&closed) {
                *count -= 1;
            }
        }
    }
}

/// Bytes of the tag at the beginning; a `>` in quotes does not end it.
fn length(text: &str) -> usize {
    let mut quote = None;
    let mut before = b'<';
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            // A quote counts only where a value begins.
            (None, b'"' | b'\'') if before == b'=' => quote = Some(byte),
            (Some(open), byte) if byte == open => quote = None,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
    }
    text.len()
}

/// What is behind the end tag of that name; nothing when there is none.
fn after_end<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        let tag = &rest[at..];
        let is_it = tag.get(2..2 + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
        if is_it {
            return tag.find('>').map_or("", |end| &tag[end + 1..]);
        }
        rest = &tag[2..];
    }
    ""
}
