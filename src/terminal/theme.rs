//! Themes: which colour each kind of text has.

/// What a piece of text is, for its colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    Good,
    Bad,
    Warn,
    Name,
    Heading,
    Code,
    Link,
    Comment,
    Keyword,
    Literal,
    Number,
    Function,
    Type,
}

/// Which colours are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Theme {
    /// The sixteen colours of the terminal, as the person has set them: readable on every background.
    #[default]
    Ansi,
    /// Of 256 colours those that are easy on a dark background.
    Dark,
    /// Of 256 colours those that are readable on a light one.
    Light,
}

impl Theme {
    /// All of them by name, the default first.
    pub const NAMES: [(&'static str, Theme); 3] =
        [("ansi", Theme::Ansi), ("dark", Theme::Dark), ("light", Theme::Light)];

    /// The theme of this name.
    pub fn named(name: &str) -> Option<Theme> {
        Theme::NAMES.iter().find(|(known, _)| *known == name).map(|(_, theme)| *theme)
    }

    /// The parameters of the SGR sequence; empty for the colour of plain text.
    pub(super) fn sgr(self, tone: Tone) -> &'static str {
        let [ansi, dark, light] = match tone {
            Tone::Plain => [""; 3],
            Tone::Good => ["32", "38;5;114", "38;5;28"],
            Tone::Bad => ["31", "38;5;203", "38;5;160"],
            Tone::Warn => ["33", "38;5;179", "38;5;130"],
            Tone::Name => ["36", "38;5;80", "38;5;30"],
            Tone::Heading => ["", "38;5;117", "38;5;25"],
            Tone::Code => ["36", "38;5;180", "38;5;94"],
            Tone::Link => ["34", "38;5;75", "38;5;26"],
            Tone::Comment => ["2", "38;5;245", "38;5;243"],
            Tone::Keyword => ["35", "38;5;176", "38;5;127"],
            Tone::Literal => ["32", "38;5;114", "38;5;28"],
            Tone::Number => ["36", "38;5;173", "38;5;130"],
            Tone::Function => ["34", "38;5;75", "38;5;25"],
            Tone::Type => ["36", "38;5;180", "38;5;94"],
        };
        match self {
            Theme::Ansi => ansi,
            Theme::Dark => dark,
            Theme::Light => light,
        }
    }
}
