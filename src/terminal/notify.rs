//! What is told to a person who looks elsewhere: a notification of the desktop, a bell, the terminal's title. Bytes for a
//! terminal; when they are written is the front ends' affair.

use super::clean::one_line;
use super::wrap::cut;

/// Columns of a notification's text.
const TEXT: usize = 120;

/// How a terminal takes a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notifier {
    /// OSC 9: iTerm2, WezTerm, Ghostty, kitty.
    Text,
    /// OSC 777: foot, rxvt.
    Titled,
    /// Nothing is known of it: the bell alone.
    Bell,
}

impl Notifier {
    /// What the environment says about the terminal.
    pub fn of(env: &dyn Fn(&str) -> Option<String>) -> Notifier {
        let program = env("TERM_PROGRAM").unwrap_or_default();
        let term = env("TERM").unwrap_or_default();
        let set = |name: &str| env(name).is_some_and(|value| !value.is_empty());
        let known = ["iTerm.app", "WezTerm", "ghostty"].contains(&program.as_str());
        if known || term.contains("kitty") || set("KITTY_WINDOW_ID") {
            Notifier::Text
        } else if term.starts_with("foot") || term.starts_with("rxvt") {
            Notifier::Titled
        } else {
            Notifier::Bell
        }
    }

    /// A notification with a bell. Within tmux it is handed through to the terminal outside, where tmux allows that
    /// (`allow-passthrough`); the bell is tmux's own.
    pub fn notify(self, text: &str, inside_tmux: bool) -> String {
        // A semicolon begins another field.
        let text = cut(&one_line(text), TEXT).replace(';', ",");
        let sequence = match self {
            Notifier::Text => format!("\x1b]9;{text}\x07"),
            Notifier::Titled => format!("\x1b]777;notify;tillerman;{text}\x07"),
            Notifier::Bell => return "\x07".to_owned(),
        };
        if inside_tmux {
            return format!("\x1bPtmux;{}\x1b\\\x07", sequence.replace('\x1b', "\x1b\x1b"));
        }
        sequence + "\x07"
    }
}

/// The title of the terminal: `! needs you`, `▶2 tillerman`, `tillerman`.
pub fn title(asking: bool, running: usize) -> String {
    let words = match (asking, running) {
        (true, _) => "! tillerman needs you".to_owned(),
        (false, 0) => "tillerman".to_owned(),
        (false, running) => format!("▶{running} tillerman"),
    };
    format!("\x1b]0;{words}\x07")
}
