//! What a person did at the prompt, as the conversation hears of it.

use crossterm::event::KeyEvent;

/// One act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    /// Enter.
    Line(String),
    /// Alt+Enter, or Tab while a run goes on.
    FollowUp(String),
    /// Esc.
    Stop,
    /// Esc twice.
    Rewind,
    /// Ctrl-C.
    Interrupt {
        /// There was nothing to clear.
        empty: bool,
    },
    /// Alt+Up.
    TakeBack,
    /// Ctrl-T.
    Thoughts,
    /// Ctrl-O.
    Expand,
    /// The left arrow on an empty line.
    Board,
    /// A key while a whole screen is shown.
    Key(KeyEvent),
    /// A text pasted while a whole screen is shown.
    Pasted(String),
    /// The terminal has another size, or came back.
    Redraw,
    /// The terminal has lost the focus, or has it again.
    Focus(bool),
    /// Something that cannot be done, and why.
    Refused(String),
    /// Ctrl-D, or the terminal is gone.
    End,
}
