//! What a terminal shows: colours, harmless text, lines that fit, and one line per event. Both front ends that write to
//! a terminal use it; when something is shown, and where it goes, is theirs to decide.

mod call;
pub mod clean;
pub mod crew;
mod diff;
pub mod exit;
mod ink;
pub mod markdown;
pub mod notify;
pub mod screen;
mod sign;
pub mod story;
pub mod theme;
mod thought;
pub mod tree;
mod voice;
pub mod wrap;

use std::fmt::Display;
use std::io::IsTerminal;

use self::theme::{Theme, Tone};

/// When to colour, as asked for on the command line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// Only on a terminal that can, and when the environment does not say otherwise.
    #[default]
    Auto,
    /// Also into a pipe.
    Always,
    /// Not at all.
    Never,
}

/// How text is written: with colours or plainly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    /// SGR sequences may be written.
    pub color: bool,
    /// Which colours.
    pub theme: Theme,
    /// Signs that say something by themselves are written as words.
    pub words: bool,
}

impl Look {
    /// No colours.
    pub const PLAIN: Look = Look { color: false, theme: Theme::Ansi, words: false };

    /// Decides for one stream: the flag first, then `NO_COLOR`, `CLICOLOR_FORCE` and `FORCE_COLOR`, then the terminal.
    pub fn choose(choice: ColorChoice, env: &dyn Fn(&str) -> Option<String>, stream: &impl IsTerminal) -> Look {
        Look { color: colored(choice, env, stream.is_terminal()), theme: Theme::default(), words: false }
    }

    /// The same with words instead of signs, for whoever listens to a screen reader or reads a log.
    pub fn in_words(self, words: bool) -> Look {
        Look { words, ..self }
    }

    /// The colour of what went well.
    pub fn good(self, text: impl Display) -> String {
        self.paint(self.theme.sgr(Tone::Good), text)
    }

    /// The colour of what went wrong.
    pub fn bad(self, text: impl Display) -> String {
        self.paint(self.theme.sgr(Tone::Bad), text)
    }

    /// The colour of what wants attention.
    pub fn warn(self, text: impl Display) -> String {
        self.paint(self.theme.sgr(Tone::Warn), text)
    }

    /// Names: tasks, tools, commands.
    pub fn name(self, text: impl Display) -> String {
        self.paint(self.theme.sgr(Tone::Name), text)
    }

    /// What is read only when looked for.
    pub fn dim(self, text: impl Display) -> String {
        self.paint("2", text)
    }

    /// Headings.
    pub fn bold(self, text: impl Display) -> String {
        self.paint("1", text)
    }

    fn paint(self, sgr: &str, text: impl Display) -> String {
        let text = text.to_string();
        let text = if self.words { sign::word(&text).map_or(text, str::to_owned) } else { text };
        if self.color { format!("\x1b[{sgr}m{text}\x1b[0m") } else { text }
    }
}

/// Whether colours are written to a stream that is, or is not, a terminal.
pub fn colored(choice: ColorChoice, env: &dyn Fn(&str) -> Option<String>, terminal: bool) -> bool {
    let set = |name: &str| env(name).is_some_and(|value| !value.is_empty());
    let forced = |name: &str| env(name).is_some_and(|value| !value.is_empty() && value != "0");
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if set("NO_COLOR") => false,
        ColorChoice::Auto if forced("CLICOLOR_FORCE") || forced("FORCE_COLOR") => true,
        ColorChoice::Auto => terminal && !is_dumb(env),
    }
}

/// The terminal cannot move its cursor, or says so.
pub fn is_dumb(env: &dyn Fn(&str) -> Option<String>) -> bool {
    env("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Of the names, the one a person probably meant.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = names.into_iter().map(|name| (strsim::jaro_winkler(word, name), name));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0));
    best.filter(|(score, _)| *score > 0.75).map(|(_, name)| name)
}
