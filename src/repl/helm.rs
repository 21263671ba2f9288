//! The worker board at the prompt: opened, fed with rows and news, drawn as a whole screen, and its deeds done. What is on it is
//! told in `board`.

use crossterm::event::KeyEvent;
use jiff::Timestamp;

use super::board::{Board, Deed};
use super::desk::Desk;
use super::out::Out;
use super::painter::Frame;
use super::seat::size;
use super::talk::Talk;
use crate::runtime::{Envelope, News, TaskRow};

impl Talk<'_> {
    /// Shows the board in place of the conversation, which goes on.
    pub(super) async fn open_board(&mut self) {
        let Out::Above(_) = self.out else {
            return self.complain("the board needs a terminal; /tasks lists all workers").await;
        };
        let mut board = Board::new(self.look, self.root.clone(), place());
        board.set_rows(self.runtime.tasks().await);
        self.board = Some(board);
        self.fill_board().await;
    }

    /// Takes a key while the board is shown.
    pub(super) async fn board_key(&mut self, key: KeyEvent) {
        let Some(board) = &mut self.board else { return };
        let runtime = self.runtime;
        let done = match board.key(key) {
            Deed::Nothing => Ok(String::new()),
            Deed::Back => return self.close_board(),
            Deed::Steer(task, text) => {
                runtime.steer(task, text).await.map(|note| format!("steer {note} for {task} waits to be seen"))
            }
            Deed::Answer(task, question, text) => {
                runtime.answer(task, Some(question), text).await.map(|replied| replied.to_string())
            }
            Deed::Abort(task) => runtime.abort(task).await.map(|()| format!("{task} is being ended")),
            Deed::Retry(task, text) => {
                let again = match text {
                    None => runtime.resume(task, &self.session).await,
                    Some(text) => runtime.go_on(task, text, &self.session).await,
                };
                again.map(|resumed| format!("{task} goes on, attempt {}", resumed.attempt))
            }
            Deed::Open(task) => runtime.task(task).await.map(|detail| {
                board.show_result(&detail);
                String::new()
            }),
        };
        let said = done.unwrap_or_else(|error| format!("✗ {error}"));
        if !said.is_empty() {
            board.say(said);
            self.sight.stale = true;
        }
        self.fill_board().await;
    }

    /// A text that is pasted while the board is shown.
    pub(super) fn board_paste(&mut self, text: &str) {
        if let Some(board) = &mut self.board {
            board.paste(text);
        }
    }

    /// What the board has to know of a piece of news.
    pub(super) fn tell_board(&mut self, envelope: &Envelope) {
        let Some(board) = &mut self.board else { return };
        board.hear(envelope);
        if let News::Permission(permission) = &envelope.news
            && permission.settled.is_none()
        {
            board.say("the main agent's call waits for your word: esc goes back");
        }
    }

    /// Tells the board what workers did before it was opened.
    async fn fill_board(&mut self) {
        let Some(board) = &mut self.board else { return };
        for task in board.unknown() {
            let detail = self.runtime.task(task).await;
            let progress = detail.map_or_else(|error| error.to_string(), |detail| detail.progress);
            board.seed(task, &progress);
        }
    }

    /// Draws the board, with these rows where they are new; answers whether it is shown.
    pub(super) async fn draw_board(&mut self, desk: &Desk, rows: Option<Vec<TaskRow>>) -> bool {
        if let (Some(board), Some(rows)) = (&mut self.board, rows) {
            board.set_rows(rows);
            self.fill_board().await;
        }
        let Some(board) = &mut self.board else { return false };
        board.resize(place());
        let (rows, cursor) = board.draw(Timestamp::now());
        let cursor = cursor.map(|(column, row)| (usize::from(row), usize::from(column)));
        desk.fill(Some(Frame { rows, cursor }));
        true
    }

    fn close_board(&mut self) {
        self.board = None;
        self.sight.stale = true;
        if let Out::Above(desk) = &self.out {
            desk.fill(None);
        }
    }
}

fn place() -> (u16, u16) {
    let size = size();
    let cells = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    (cells(size.width), cells(size.height))
}
