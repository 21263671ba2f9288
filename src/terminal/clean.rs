//! Text from models, tools and files made harmless: nothing in it can move the cursor, set a title, reach the clipboard
//! or reorder what is read. Colours of programs are dropped with the rest.

use std::iter::Peekable;
use std::str::Chars;

const ESC: char = '\x1b';

/// The text without control sequences; line breaks stay, tabs become four spaces.
///
/// CSI, OSC, DCS and the other string sequences vanish whole, in their 7-bit and 8-bit spelling; one that never ends
/// takes the rest of its line. CR LF becomes LF, a lone CR starts a new line, other control characters vanish.
/// Bidirectional overrides and isolates are shown as `\u{202e}`.
pub fn clean(text: &str) -> String {
    if !text.chars().any(needs_care) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(one) = chars.next() {
        match one {
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            ESC => escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut chars),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.extend(one.escape_unicode()),
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
    (one.is_control() && one != '\n') || matches!(one, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
