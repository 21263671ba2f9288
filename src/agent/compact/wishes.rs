//! What people said must or must not be, found by the program in their own words, so that no summary can lose it. It
//! finds too much rather than too little; what it finds is quoted, never put in other words.

use crate::session::{EntryId, Wish};

/// Most wishes that are kept, most of one line, most characters of one, and how many of the oldest stay when there are
/// too many: what is said first holds longest.
const MOST: usize = 40;
const EACH: usize = 8;
const LONG: usize = 300;
const OLDEST: usize = 10;

/// Of a longer text only so many bytes at both ends are looked at: the middle is something that was pasted.
const ENDS: usize = 2_000;

/// Words that make a sentence a wish, in small letters; those of one word stand alone in it.
const WORDS: [&str; 26] = [
    "never",
    "always",
    "must",
    "mustn't",
    "only",
    "don't",
    "dont",
    "cannot",
    "avoid",
    "without",
    "unless",
    "forbidden",
    "required",
    "niemals",
    "nie",
    "immer",
    "nur",
    "muss",
    "nicht",
    "jamais",
    "toujours",
    "nunca",
    "siempre",
    "jamás",
    "никогда",
    "всегда",
];

const PHRASES: [&str; 12] = [
    "do not",
    "make sure",
    "not allowed",
    "leave it",
    "keep the",
    "keep it",
    "不要",
    "不能",
    "禁止",
    "必须",
    "务必",
    "始终",
];

/// Adds the wishes of a line that a person said.
pub(super) fn find(wishes: &mut Vec<Wish>, entry: EntryId, said: &str) {
    let mut found = 0;
    for sentence in sentences(said) {
        if found < EACH && is_wish(sentence) && !wishes.iter().any(|wish| wish.text == sentence) {
            let text = sentence.chars().take(LONG).collect();
            wishes.push(Wish { entry, text });
            found += 1;
        }
    }
    while wishes.len() > MOST {
        wishes.remove(OLDEST);
    }
}

/// The sentences of a text, without code and quotations.
fn sentences(text: &str) -> Vec<&str> {
    let parts = match text.len() {
        ..=8_000 => vec![text],
        long => {
            let (head, tail) = (text.floor_char_boundary(ENDS), text.ceil_char_boundary(long - ENDS));
            vec![&text[..head], &text[tail..]]
        }
    };
    let mut code = false;
    let mut found = Vec::new();
    for line in parts.into_iter().flat_map(str::lines) {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        if code || fence || line.starts_with('>') || line.starts_with("    ") || line.starts_with('\t') {
            continue;
        }
        found.extend(split(line));
    }
    found
}

/// At the ends of sentences: a mark with a space behind it, or one of those that need none.
fn split(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut marks = line.char_indices().peekable();
    while let Some((at, mark)) = marks.next() {
        let ends = match mark {
            '.' | '!' | '?' | ';' => marks.peek().is_none_or(|(_, next)| next.is_whitespace()),
            '\u{3002}' | '\u{ff01}' | '\u{ff1f}' | '\u{ff1b}' => true,
            _ => false,
        };
        if ends {
            let end = at + mark.len_utf8();
            found.push(&line[from..end]);
            from = end;
        }
    }
    found.push(&line[from..]);
    let tidy = |part: &'_ str| -> usize { part.len() - part.trim_start_matches(['-', '*', ' ', '\t']).len() };
    found.into_iter().map(|part| part[tidy(part)..].trim_end()).filter(|part| !part.is_empty()).collect()
}

fn is_wish(sentence: &str) -> bool {
    let small = sentence.to_lowercase().replace('’', "'");
    let mut words = small.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    words.any(|word| WORDS.contains(&word)) || PHRASES.iter().any(|phrase| small.contains(phrase))
}
