//! The line being typed: keys in, the text and what is to be done with it out. Draws rows, but on no terminal.

mod draft;
mod keys;
mod layout;
mod menu;
mod past;
mod pasted;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use self::draft::Draft;
use self::layout::{Layout, MARGIN, beside};
use self::menu::Menu;
use self::past::Past;
use self::pasted::Pasted;
use super::complete::{Candidate, Completer};
use crate::terminal::Look;
use crate::terminal::wrap::cut;

/// A second Esc within this time goes back in the conversation.
const TWICE: Duration = Duration::from_millis(600);
/// Lines that a search shows.
const HITS: usize = 8;

/// What a key is to do beyond the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Nothing, but the line may look different.
    Nothing,
    /// The line is sent.
    Send(String),
    /// The line is for later.
    FollowUp(String),
    /// What runs is to stop.
    Stop,
    /// Back in the conversation.
    Rewind,
    /// Ctrl-C.
    Interrupt {
        /// There was nothing to clear.
        empty: bool,
    },
    /// Ctrl-D on an empty line.
    End,
    /// The youngest steer that nobody has read yet is wanted back.
    TakeBack,
    /// Thoughts are shown, or no longer.
    Thoughts,
    /// The last call is to be shown whole.
    Expand,
    /// The board of all workers.
    Board,
    /// The line goes into the person's own editor.
    Edit,
    /// The screen is to be emptied.
    Clear,
    /// The program is to be stopped until the shell continues it.
    Suspend,
    /// Something cannot be done, and why.
    Refuse(String),
}

/// What is around the line when a key is pressed.
#[derive(Debug, Clone, Copy)]
pub struct Around {
    /// Columns of the terminal.
    pub width: usize,
    /// A run goes on: a line can be kept for when it is done.
    pub busy: bool,
    /// There is something that Esc stops.
    pub stops: bool,
}

/// A line as it is typed.
pub struct Composer {
    draft: Draft,
    pasted: Pasted,
    past: Past,
    menu: Menu,
    completer: Completer,
    /// What there is to choose is not wanted until the next letter.
    shut: bool,
    search: Option<Search>,
    stash: Option<String>,
    escaped: Option<Instant>,
}

/// Letters that an earlier line is looked for with.
struct Search {
    words: String,
    at: usize,
}

/// The line as rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The line itself.
    pub rows: Vec<String>,
    /// Where the cursor stands in them.
    pub cursor: (usize, usize),
    /// What there is to choose, below it.
    pub menu: Vec<String>,
}

impl Composer {
    /// An empty line; lines typed before come from a file.
    pub fn new(history: PathBuf, completer: Completer) -> Composer {
        Composer {
            draft: Draft::default(),
            pasted: Pasted::default(),
            past: Past::of(history),
            menu: Menu::default(),
            completer,
            shut: false,
            search: None,
            stash: None,
            escaped: None,
        }
    }

    /// The line with everything that was pasted into it.
    pub fn text(&self) -> String {
        self.pasted.unfold(self.draft.text())
    }

    /// What can be chosen has changed.
    pub fn renew(&mut self) {
        if !self.shut {
            self.choices();
        }
    }

    /// Text that was pasted.
    pub fn paste(&mut self, text: &str) -> Act {
        if let Some(search) = &mut self.search {
            search.words.extend(text.lines().take(1));
            return Act::Nothing;
        }
        match self.pasted.take(text) {
            Some(text) => {
                self.draft.insert(&text);
                self.changed();
                Act::Nothing
            }
            None => Act::Refuse(format!(
                "the paste of {} bytes is too long for one line (10 MB at most); write it into a file and name that: @FILE",
                text.len()
            )),
        }
    }

    /// Puts a text before what stands in the line.
    pub fn give(&mut self, text: &str) {
        let rest = self.text();
        self.replace(if rest.trim().is_empty() { text.to_owned() } else { format!("{text}\n{rest}") });
    }

    /// Another line.
    pub fn replace(&mut self, text: String) {
        self.pasted.clear();
        self.draft.set(text);
        self.shut();
    }

    fn shut(&mut self) {
        self.menu.close();
        self.shut = true;
    }

    /// The lines that were sent are written down.
    pub fn close(&mut self) {
        self.past.close();
    }

    /// The line as it is to be drawn: so many columns, at most so many rows.
    pub fn view(&self, busy: bool, width: usize, most: usize, look: Look) -> View {
        let room = width.saturating_sub(MARGIN + 1);
        if let Some(search) = &self.search {
            return self.searching(search, room, look);
        }
        let laid = Layout::of(self.draft.text(), self.draft.cursor(), room).window(most);
        let sign = if busy { " ↳ " } else { " > " };
        let margin = |at| if at == 0 { look.name(sign) } else { " ".repeat(MARGIN) };
        let rows = laid.rows.iter().enumerate().map(|(at, row)| format!("{}{row}", margin(at))).collect();
        let cursor = (laid.cursor.0, laid.cursor.1 + MARGIN);
        View { rows, cursor, menu: self.menu.rows(width.saturating_sub(1), look) }
    }

    fn searching(&self, search: &Search, room: usize, look: Look) -> View {
        let laid = Layout::of(&search.words, search.words.len(), room).window(1);
        let words = laid.rows.first().map_or("", String::as_str);
        let found = self.past.find(&search.words, HITS);
        let at = search.at.min(found.len().saturating_sub(1));
        let row = |(which, line): (usize, &&str)| {
            let line = cut(&crate::terminal::clean::one_line(line), room);
            if which == at { format!(" › {}", look.bold(line)) } else { format!("   {}", look.dim(line)) }
        };
        let mut menu: Vec<String> = found.iter().enumerate().map(row).collect();
        if menu.is_empty() {
            menu.push(look.dim(cut("   no earlier line says this; esc goes back", room + MARGIN)));
        }
        View { rows: vec![format!("{}{words}", look.name(" ? "))], cursor: (0, laid.cursor.1 + MARGIN), menu }
    }

    /// The text is another: so is what could be chosen.
    fn changed(&mut self) {
        self.past.rest_unless(self.draft.text());
        self.shut = false;
        self.choices();
    }

    fn choices(&mut self) {
        let choices = self.completer.candidates(self.draft.text(), self.draft.cursor());
        self.menu.set(choices);
    }

    fn accept(&mut self, choice: Candidate) {
        let to = self.draft.cursor();
        self.draft.replace(choice.from.min(to)..to, &choice.insert);
        self.changed();
    }

    /// The line, which is then empty, and remembered.
    fn taken(&mut self) -> String {
        let (shown, whole) = (self.draft.text().to_owned(), self.text());
        self.past.keep(&whole, &shown);
        self.draft = std::mem::take(&mut self.draft).emptied();
        self.pasted.clear();
        self.shut();
        whole
    }
}
