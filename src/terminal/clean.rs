//! Text from models, tools and files made harmless: nothing in it can move the cursor, set a title, reach the clipboard,
//! reorder what is read or hide in it. Colours of programs are dropped with the rest.

use std::iter::Peekable;
use std::str::Chars;

const ESC: char = '\x1b';
/// Makes one sign of two, as in many emoji.
const JOINER: char = '\u{200d}';
/// Keeps two letters apart that would be written as one.
const NON_JOINER: char = '\u{200c}';

/// The text without control sequences; line breaks stay, tabs become four spaces.
///
/// CSI, OSC, DCS and the other string sequences vanish whole, in their 7-bit and 8-bit spelling; one that never ends
/// takes the rest of its line. CR LF becomes LF, a lone CR starts a new line, other control characters vanish.
/// What reorders a line or is not seen (bidirectional controls, zero-width and tag characters) is shown as `\u{202e}`.
/// Joiners between letters that are not ASCII and the variation of an emoji stay: they are how such text is written.
pub fn clean(text: &str) -> String {
    if !text.chars().any(needs_care) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(one) = chars.next() {
        let last = std::mem::replace(&mut before, one);
        match one {
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            ESC => escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut chars),
            JOINER | NON_JOINER if !last.is_ascii() && chars.peek().is_some_and(|next| !next.is_ascii()) => {
                out.push(one)
            }
            '\u{fe00}'..='\u{fe0f}' if varies(last) => out.push(one),
            unseen if is_unseen(unseen) => out.extend(unseen.escape_unicode()),
            control if control.is_control() => {}
            plain => out.push(plain),
        }
    }
    out
}

/// The text as one line: clean, trimmed, line breaks and runs of space as single spaces.
pub fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn needs_care(one: char) -> bool {
    (one.is_control() && one != '\n') || is_unseen(one)
}

/// Characters that take no room, look like nothing, or change the order of what is around them.
fn is_unseen(one: char) -> bool {
    matches!(one,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// What may be written in two ways: an emoji or a sign, or the digit of a key.
fn varies(one: char) -> bool {
    matches!(one, '0'..='9' | '#' | '*') || !(one.is_ascii() || is_unseen(one))
}

fn escape(chars: &mut Peekable<Chars>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_csi(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            skip_string(chars);
        }
        Some(' '..='/') => {
            while chars.next_if(|next| matches!(next, ' '..='/')).is_some() {}
            chars.next_if(|next| !next.is_control());
        }
        Some(next) if !next.is_control() => {
            chars.next();
        }
        Some(_) | None => {}
    }
}

/// Parameters and intermediates, then one final byte.
fn skip_csi(chars: &mut Peekable<Chars>) {
    while chars.next_if(|next| matches!(next, ' '..='?')).is_some() {}
    chars.next_if(|next| matches!(next, '@'..='~'));
}

/// Up to BEL or the string terminator, at most to the end of the line.
fn skip_string(chars: &mut Peekable<Chars>) {
    while let Some(next) = chars.next_if(|next| *next != '\n') {
        match next {
            '\x07' | '\u{9c}' => return,
            ESC => {
                chars.next_if(|after| *after == '\\');
                return;
            }
            _ => {}
        }
    }
}
