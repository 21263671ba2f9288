//! Where a line mentions files. Text in, places out; whether there is such a file is not known here.

use super::Seat;

/// Mentions of one line that are looked at.
const MOST: usize = 20;

/// Endings of pictures.
const PICTURES: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

/// A path that a line names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    /// As it was written, without `@` and quotes.
    pub(super) path: String,
    /// It stands without an `@`, as a terminal writes what is dragged into it: only a picture is meant.
    pub(super) is_bare: bool,
}

/// What is mentioned as `@path` or `@"my path"` at the beginning of a word; at a prompt also pictures by whole paths.
pub(super) fn mentions(text: &str, seat: Seat) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    let mut rest = text;
    let mut begins = true;
    while let Some(first) = rest.chars().next() {
        let (length, mention) = match begins {
            true => word(rest, seat),
            false => (first.len_utf8(), None),
        };
        begins = mention.is_none() && (first.is_whitespace() || matches!(first, '(' | '[' | ','));
        if let Some(mention) = mention.filter(|mention| !found.contains(mention)) {
            found.push(mention);
        }
        if found.len() == MOST {
            break;
        }
        rest = &rest[length..];
    }
    found
}

/// What a word mentions, and how many bytes are read with it.
fn word(text: &str, seat: Seat) -> (usize, Option<Mention>) {
    let first = text.chars().next().map_or(1, char::len_utf8);
    if let Some(behind) = text.strip_prefix('@') {
        let (length, path) = match behind.strip_prefix('"') {
            Some(inside) => match inside.find(['"', '\n']) {
                Some(end) => (end + 3, inside[..end].to_owned()),
                None => return (first, None),
            },
            None => {
                let end = behind.find(char::is_whitespace).unwrap_or(behind.len());
                (end + 1, behind[..end].to_owned())
            }
        };
        let is_path = !path.is_empty() && !path.starts_with('@');
        return if is_path { (length, Some(Mention { path, is_bare: false })) } else { (first, None) };
    }
    match (seat, dragged(text)) {
        (Seat::Prompt, Some((length, path))) => (length, Some(Mention { path, is_bare: true })),
        _ => (first, None),
    }
}

/// The whole path of a picture, as terminals write it: in quotes, or with a backslash before each blank.
fn dragged(text: &str) -> Option<(usize, String)> {
    let quote = text.chars().next().filter(|first| matches!(first, '\'' | '"'));
    let (length, path) = match quote {
        Some(quote) => {
            let end = text[1..].find([quote, '\n'])?;
            (end + 2, text[1..=end].to_owned())
        }
        None => {
            let (mut path, mut length, mut is_bound) = (String::new(), 0, false);
            for c in text.chars() {
                if c.is_whitespace() && !is_bound {
                    break;
                }
                length += c.len_utf8();
                is_bound = c == '\\' && !is_bound;
                if !is_bound {
                    path.push(c);
                }
            }
            (length, path)
        }
    };
    let path = path.strip_prefix("file://").map(str::to_owned).unwrap_or(path);
    let small = path.to_ascii_lowercase();
    let is_whole = path.starts_with('/') || path.starts_with("~/");
    (is_whole && PICTURES.iter().any(|ending| small.ends_with(ending))).then_some((length.min(text.len()), path))
}
