//! What each key does to the line. Emacs' keys, as in a shell, and those that are the prompt's own.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::draft::Reach;
use super::{Act, Around, Composer, MARGIN, Search, TWICE, beside};

impl Composer {
    /// One key.
    pub fn key(&mut self, key: KeyEvent, around: Around) -> Act {
        if key.kind == KeyEventKind::Release {
            return Act::Nothing;
        }
        let escaped = self.escaped.take();
        if self.search.is_some() {
            return self.search_key(key);
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Enter | KeyCode::Tab | KeyCode::BackTab | KeyCode::Esc => self.ending_key(key, escaped, around),
            KeyCode::Up | KeyCode::Down if alt => {
                if key.code == KeyCode::Up {
                    Act::TakeBack
                } else {
                    Act::Nothing
                }
            }
            KeyCode::Up => self.vertical(false, around.width),
            KeyCode::Down => self.vertical(true, around.width),
            KeyCode::Char(letter) if control => self.control_key(letter, alt, around),
            KeyCode::Char(letter) if alt => self.alt_key(letter),
            KeyCode::Char(letter) => {
                self.draft.insert(letter.encode_utf8(&mut [0; 4]));
                self.edited()
            }
            KeyCode::Left if self.draft.is_empty() && !control && !alt => Act::Board,
            _ => self.motion_key(key.code, control || alt),
        }
    }

    /// Enter, Tab and Esc: what ends a line, a choice or a run.
    fn ending_key(&mut self, key: KeyEvent, escaped: Option<Instant>, around: Around) -> Act {
        let newline = key.modifiers.contains(KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Enter if key.modifiers.contains(KeyModifiers::ALT) => Act::FollowUp(self.taken()),
            KeyCode::Enter if newline => self.insert("\n"),
            KeyCode::Enter if self.draft.text()[..self.draft.cursor()].ends_with('\\') => {
                self.draft.delete(Reach::SignBefore);
                self.insert("\n")
            }
            KeyCode::Enter => match self.menu.chosen().cloned() {
                Some(choice) => self.take_up(choice),
                None => Act::Send(self.taken()),
            },
            KeyCode::Tab => match self.menu.best().cloned() {
                Some(choice) => self.take_up(choice),
                None if around.busy && !self.draft.is_empty() => Act::FollowUp(self.taken()),
                None => Act::Nothing,
            },
            KeyCode::BackTab => {
                self.menu.step(false);
                Act::Nothing
            }
            _ if self.menu.is_open() => {
                self.shut();
                Act::Nothing
            }
            _ if escaped.is_some_and(|before| before.elapsed() < TWICE) => Act::Rewind,
            _ => {
                self.escaped = Some(Instant::now());
                // Once on a quiet prompt is the first half of twice.
                if around.stops { Act::Stop } else { Act::Nothing }
            }
        }
    }

    fn take_up(&mut self, choice: crate::repl::complete::Candidate) -> Act {
        self.accept(choice);
        Act::Nothing
    }

    fn control_key(&mut self, letter: char, alt: bool, around: Around) -> Act {
        let busy_line = !self.draft.is_empty();
        match letter {
            'a' => self.go(Reach::LineStart),
            'e' => self.go(Reach::LineEnd),
            'b' => self.go(Reach::SignBefore),
            'f' => self.go(Reach::SignAfter),
            'p' => return self.vertical(false, around.width),
            'n' => return self.vertical(true, around.width),
            'j' => return self.insert("\n"),
            'c' => {
                self.draft.go(Reach::End);
                self.draft.cut(Reach::Start);
                self.shut();
                return Act::Interrupt { empty: !busy_line };
            }
            'd' if !busy_line => return Act::End,
            'd' => self.draft.delete(Reach::SignAfter),
            'h' if alt => self.draft.cut(Reach::WordBefore),
            'h' => self.backspace(),
            'w' => self.draft.cut(Reach::BlankBefore),
            'u' => self.draft.cut(Reach::LineStart),
            'k' => self.draft.cut(Reach::LineEnd),
            'y' => self.draft.yank(),
            // Terminals send the first for Ctrl-/ and Ctrl-_.
            '7' | '_' | '/' => self.draft.undo(),
            'r' => self.search = Some(Search { words: String::new(), at: 0 }),
            's' => self.swap_stash(),
            'g' => return Act::Edit,
            'l' => return Act::Clear,
            'o' => return Act::Expand,
            't' => return Act::Thoughts,
            'z' => return Act::Suspend,
            _ => return Act::Nothing,
        }
        self.edited()
    }

    fn alt_key(&mut self, letter: char) -> Act {
        match letter {
            'b' => self.go(Reach::WordBefore),
            'f' => self.go(Reach::WordAfter),
            'd' => self.draft.cut(Reach::WordAfter),
            'y' => self.draft.yank_before(),
            'z' => self.draft.redo(),
            't' => self.draft.swap(),
            '<' => self.go(Reach::Start),
            '>' => self.go(Reach::End),
            '\r' | '\n' => return Act::FollowUp(self.taken()),
            _ => return Act::Nothing,
        }
        self.edited()
    }

    fn motion_key(&mut self, code: KeyCode, words: bool) -> Act {
        match code {
            KeyCode::Left if words => self.go(Reach::WordBefore),
            KeyCode::Right if words => self.go(Reach::WordAfter),
            KeyCode::Left => self.go(Reach::SignBefore),
            KeyCode::Right => self.go(Reach::SignAfter),
            KeyCode::Home if words => self.go(Reach::Start),
            KeyCode::End if words => self.go(Reach::End),
            KeyCode::Home => self.go(Reach::LineStart),
            KeyCode::End => self.go(Reach::LineEnd),
            KeyCode::Backspace if words => self.draft.cut(Reach::WordBefore),
            KeyCode::Backspace => self.backspace(),
            KeyCode::Delete if words => self.draft.cut(Reach::WordAfter),
            KeyCode::Delete => self.draft.delete(Reach::SignAfter),
            _ => return Act::Nothing,
        }
        self.edited()
    }

    fn search_key(&mut self, key: KeyEvent) -> Act {
        let Some(mut search) = self.search.take() else { return Act::Nothing };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return Act::Nothing,
            KeyCode::Char('c' | 'g') if control => return Act::Nothing,
            KeyCode::Enter | KeyCode::Tab | KeyCode::Right => {
                let found = self.past.find(&search.words, search.at + 1);
                if let Some(line) = found.last().map(|line| (*line).to_owned()) {
                    self.replace(line);
                }
                return Act::Nothing;
            }
            KeyCode::Up => search.at = search.at.saturating_sub(1),
            KeyCode::Down => search.at += 1,
            KeyCode::Char('r') if control => search.at += 1,
            KeyCode::Backspace => {
                search.words.pop();
                search.at = 0;
            }
            KeyCode::Char('u') if control => search.words.clear(),
            KeyCode::Char(letter) if !control => {
                search.words.push(letter);
                search.at = 0;
            }
            _ => {}
        }
        let last = self.past.find(&search.words, super::HITS).len().saturating_sub(1);
        search.at = search.at.min(last);
        self.search = Some(search);
        Act::Nothing
    }

    /// Among the choices, else among the rows of the line, else among the lines typed before.
    fn vertical(&mut self, down: bool, width: usize) -> Act {
        if self.menu.is_open() {
            self.menu.step(down);
            return Act::Nothing;
        }
        let room = width.saturating_sub(MARGIN + 1);
        if let Some(to) = beside(self.draft.text(), self.draft.cursor(), room, down) {
            self.draft.jump(to);
            return Act::Nothing;
        }
        let line = if down { self.past.forth() } else { self.past.back(self.draft.text()) };
        if let Some(line) = line {
            self.draft.set(line);
        }
        Act::Nothing
    }

    fn insert(&mut self, text: &str) -> Act {
        self.draft.insert(text);
        self.edited()
    }

    fn go(&mut self, reach: Reach) {
        self.draft.go(reach);
    }

    fn backspace(&mut self) {
        match self.pasted.before(self.draft.text(), self.draft.cursor()) {
            Some(from) => self.draft.replace(from..self.draft.cursor(), ""),
            None => self.draft.delete(Reach::SignBefore),
        }
    }

    fn swap_stash(&mut self) {
        let line = self.text();
        let next = self.stash.take();
        if !line.trim().is_empty() {
            self.stash = Some(line);
        }
        self.replace(next.unwrap_or_default());
    }

    fn edited(&mut self) -> Act {
        self.changed();
        Act::Nothing
    }
}
