//! What keys do on the board.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use reedline::LineBuffer;

use super::{Board, Deed, Mode, View, What};
use crate::task::{TaskId, TaskStatus};
use crate::terminal::clean::one_line;

/// Most bytes of a line that is typed here.
const MOST: usize = 8 * 1024;

impl Board {
    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Deed {
        if key.kind == KeyEventKind::Release {
            return Deed::Nothing;
        }
        self.notice = None;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match std::mem::replace(&mut self.mode, Mode::Watch) {
            Mode::Watch if control => {
                if key.code == KeyCode::Char('c') {
                    Deed::Back
                } else {
                    Deed::Nothing
                }
            }
            Mode::Watch => self.watch(key.code),
            Mode::Sure(task) if key.code == KeyCode::Char('y') => Deed::Abort(task),
            Mode::Sure(_) => Deed::Nothing,
            Mode::Type(task, what, line) => self.typing(key, task, what, line),
        }
    }

    fn watch(&mut self, code: KeyCode) -> Deed {
        match code {
            KeyCode::Char('q') => return Deed::Back,
            KeyCode::Esc => return self.escape(),
            KeyCode::Up | KeyCode::Char('k') if self.is_choosing() => self.step(-1),
            KeyCode::Down | KeyCode::Char('j') if self.is_choosing() => self.step(1),
            KeyCode::Enter | KeyCode::Right if self.is_choosing() => self.on_list = false,
            KeyCode::Left | KeyCode::Char('p') | KeyCode::BackTab => self.step(-1),
            KeyCode::Right | KeyCode::Char('n') => self.step(1),
            KeyCode::Tab if self.is_narrow() => self.on_list = !self.on_list,
            KeyCode::Tab => self.step(1),
            KeyCode::Char(digit @ '1'..='9') => {
                let at = usize::from(digit as u8 - b'1');
                if let Some(id) = self.rows.get(at).map(|row| row.id) {
                    self.choose(Some(id));
                    self.on_list = false;
                }
            }
            KeyCode::Up | KeyCode::Char('k') => self.scroll(-1),
            KeyCode::Down | KeyCode::Char('j') => self.scroll(1),
            KeyCode::PageUp => self.scroll(-self.page()),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll(self.page()),
            KeyCode::Home | KeyCode::Char('g') => self.top = Some(0),
            KeyCode::End | KeyCode::Char('G') => self.top = None,
            KeyCode::Char('f') => (self.view, self.top) = (View::Log, None),
            KeyCode::Char('d') => {
                let edits = matches!(self.view, View::Edits);
                (self.view, self.top) = (if edits { View::Log } else { View::Edits }, None);
            }
            other => return self.of_chosen(other),
        }
        Deed::Nothing
    }

    /// Keys that are for the chosen worker.
    fn of_chosen(&mut self, code: KeyCode) -> Deed {
        let Some((id, status)) = self.row().map(|row| (row.id, row.status)) else { return Deed::Nothing };
        match code {
            KeyCode::Char('s') if status.is_over() => self.begin(id, What::Continue),
            KeyCode::Char('s') => self.begin(id, What::Steer),
            KeyCode::Char('A') | KeyCode::Enter => match self.question().map(|question| question.number) {
                Some(number) => self.begin(id, What::Answer(number)),
                None => self.say(format!("{id} asks nothing")),
            },
            KeyCode::Char('a') if status.is_over() => self.say(format!("{id} has ended already")),
            KeyCode::Char('a') => self.mode = Mode::Sure(id),
            KeyCode::Char('r') if !status.is_over() => self.say(format!("{id} goes on already")),
            KeyCode::Char('r') if status == TaskStatus::Done => self.begin(id, What::Continue),
            KeyCode::Char('r') => return Deed::Retry(id, None),
            KeyCode::Char('o') if matches!(self.view, View::Result(_)) => (self.view, self.top) = (View::Log, None),
            KeyCode::Char('o') => return Deed::Open(id),
            _ => {}
        }
        Deed::Nothing
    }

    /// From a result or the changes back to the log, from the log to the list, from there to the prompt.
    fn escape(&mut self) -> Deed {
        if !matches!(self.view, View::Log) {
            (self.view, self.top) = (View::Log, None);
        } else if self.is_narrow() && !self.on_list {
            self.on_list = true;
        } else {
            return Deed::Back;
        }
        Deed::Nothing
    }

    fn typing(&mut self, key: KeyEvent, task: TaskId, what: What, mut line: LineBuffer) -> Deed {
        let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Esc => return Deed::Nothing,
            KeyCode::Char('c') if !plain => return Deed::Nothing,
            KeyCode::Enter => {
                let text = line.get_buffer().trim().to_owned();
                return match what {
                    _ if text.is_empty() => Deed::Nothing,
                    What::Steer => Deed::Steer(task, text),
                    What::Answer(number) => Deed::Answer(task, number, text),
                    What::Continue => Deed::Retry(task, Some(text)),
                };
            }
            KeyCode::Char(one) if plain => line.insert_str(&typed(one.encode_utf8(&mut [0; 4]), line.len())),
            KeyCode::Char('u') => line.clear_to_insertion_point(),
            KeyCode::Char('k') => line.clear_to_end(),
            KeyCode::Char('w') => line.delete_word_left(),
            KeyCode::Char('a') | KeyCode::Home => line.move_to_start(),
            KeyCode::Char('e') | KeyCode::End => line.move_to_end(),
            KeyCode::Backspace => line.delete_left_grapheme(),
            KeyCode::Delete => line.delete_right_grapheme(),
            KeyCode::Left => line.move_left(),
            KeyCode::Right => line.move_right(),
            _ => {}
        }
        self.mode = Mode::Type(task, what, line);
        Deed::Nothing
    }

    fn begin(&mut self, task: TaskId, what: What) {
        self.mode = Mode::Type(task, what, LineBuffer::new());
    }

    fn step(&mut self, by: isize) {
        let Some(last) = self.rows.len().checked_sub(1) else { return };
        let at = self.at().unwrap_or(0).saturating_add_signed(by).min(last);
        self.choose(self.rows.get(at).map(|row| row.id));
    }

    fn scroll(&mut self, by: isize) {
        let (all, seen) = self.extent();
        let last = all.saturating_sub(seen);
        let top = self.top.unwrap_or(last).min(last).saturating_add_signed(by);
        // At its end it is followed again; a result stays where it is.
        self.top = (top < last || matches!(self.view, View::Result(_))).then_some(top.min(last));
    }

    fn page(&self) -> isize {
        isize::try_from(self.extent().1.saturating_sub(1).max(1)).unwrap_or(1)
    }

    fn is_choosing(&self) -> bool {
        self.is_narrow() && self.on_list
    }
}

/// What is taken of a text into a line that has so many bytes already: one line, within the cap.
pub(super) fn typed(text: &str, has: usize) -> String {
    let text = if text == " " { text.to_owned() } else { one_line(text) };
    let end = text.floor_char_boundary(MOST.saturating_sub(has).min(text.len()));
    text[..end].to_owned()
}
