//! The line editor on its own thread: what is typed comes out of a channel, what is printed goes in through another.
//! Neither blocks the other side; what the words mean is read elsewhere.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use reedline::{
    EditCommand, Emacs, ExternalPrinter, FileBackedHistory, KeyCode, KeyModifiers, Keybindings, Prompt, PromptEditMode,
    PromptHistorySearch, PromptHistorySearchStatus, Reedline, ReedlineEvent, Signal, default_emacs_keybindings,
};
use tokio::sync::mpsc::UnboundedSender;

use super::line::Line;
use super::out::width;

/// Lines that the history keeps.
const HISTORY: usize = 2_000;
/// Batches of lines that may wait to be printed.
const WAITING: usize = 64;
/// How often the editor looks for something to print while nobody types.
const LOOK: Duration = Duration::from_millis(20);
/// How often it is looked whether the editor has left; it looks at its flag fifty times a second itself. Counted, because
/// a clock goes on while the program stands still.
const CLOSE: usize = 100;

const STOP: &str = "stop";
const INTERRUPT: &str = "interrupt";
const FOLLOW_UP: &str = "follow up";

/// What a person did at the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    /// Enter.
    Line(String),
    /// Alt+Enter.
    FollowUp(String),
    /// Esc.
    Stop,
    /// Ctrl-C.
    Interrupt {
        /// There was nothing to clear.
        empty: bool,
    },
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// A running editor, seen from outside.
pub(super) struct Editor {
    /// Takes lines to print above the prompt.
    pub(super) printer: SyncSender<String>,
    /// What stands in the prompt.
    pub(super) line: Line,
    state: Arc<Mutex<Shown>>,
    repaint: Box<dyn Fn() + Send + Sync>,
    leave: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Editor {
    /// Starts the editor; `typed` gets what is typed, in order.
    ///
    /// The channel is unbounded: a person fills it, and a reader that waits to print must not stop the typing.
    pub(super) fn start(history: PathBuf, color: bool, typed: UnboundedSender<Typed>) -> io::Result<Editor> {
        let printer = ExternalPrinter::new(WAITING);
        let sender = printer.sender();
        let line = Line::default();
        let (state, leave) = (Arc::new(Mutex::new(Shown::default())), Arc::new(AtomicBool::new(false)));
        let mut reedline = Reedline::create()
            .with_external_printer(printer)
            .with_poll_interval(LOOK)
            .with_highlighter(Box::new(line.clone()))
            .with_edit_mode(Box::new(Emacs::new(keys())))
            .with_break_signal(leave.clone())
            .with_ansi_colors(color)
            .use_bracketed_paste(true);
        // A history that cannot be kept is no reason not to talk.
        if let Ok(history) = FileBackedHistory::with_file(HISTORY, history) {
            reedline = reedline.with_history(Box::new(history));
        }
        let repaint = reedline.repaint_signal();
        let sign = Sign { state: state.clone(), line: line.clone() };
        let thread = thread::Builder::new().name("prompt".into()).spawn(move || read(reedline, &sign, &typed))?;
        let repaint = Box::new(move || repaint.request_repaint());
        Ok(Editor { printer: sender, line, state, repaint, leave, thread: Some(thread) })
    }

    /// Shows in the prompt whether the next line will be a steer, and at its right end a wait that is counted down.
    pub(super) fn show(&self, busy: bool, countdown: Option<String>) {
        let shown = Shown { busy, countdown: countdown.unwrap_or_default() };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state != shown {
            *state = shown;
            drop(state);
            (self.repaint)();
        }
    }

    /// Takes the prompt off the screen; the terminal is as it was before. Answers whether it could: the editor of a
    /// terminal that is gone reads its end for ever and is left to itself.
    pub(super) async fn close(&mut self) -> bool {
        self.leave.store(true, Ordering::Relaxed);
        let mut looks = 0;
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            if looks == CLOSE {
                return false;
            }
            looks += 1;
            tokio::time::sleep(LOOK / 4).await;
        }
        if let Some(thread) = self.thread.take() {
            // A panic of the editor has been reported by its own hook.
            let _ = thread.join();
        }
        self.line.close();
        true
    }
}

fn read(mut editor: Reedline, sign: &Sign, typed: &UnboundedSender<Typed>) {
    loop {
        let signal = editor.read_line(sign);
        // What is typed before the next prompt is neither echoed nor a signal: the terminal stays raw in between.
        if let Err(error) = enable_raw_mode() {
            tracing::warn!(%error, "the terminal cannot be made raw");
        }
        let act = match signal {
            Ok(Signal::Success(line)) => Typed::Line(line),
            Ok(Signal::CtrlC) => Typed::Interrupt { empty: false },
            Ok(Signal::HostCommand(word)) if word == INTERRUPT => {
                Typed::Interrupt { empty: taken(&mut editor).is_empty() }
            }
            Ok(Signal::HostCommand(word)) if word == FOLLOW_UP => Typed::FollowUp(taken(&mut editor)),
            Ok(Signal::HostCommand(_)) => Typed::Stop,
            Ok(Signal::CtrlD) => Typed::End,
            Ok(Signal::ExternalBreak(_)) => break,
            Ok(_) => continue,
            Err(error) => {
                tracing::warn!(%error, "the terminal cannot be read");
                Typed::End
            }
        };
        let last = act == Typed::End;
        if typed.send(act).is_err() || last {
            break;
        }
    }
    if let Err(error) = disable_raw_mode() {
        tracing::warn!(%error, "the terminal is left raw; `stty sane` mends it");
    }
    if let Err(error) = editor.sync_history() {
        tracing::warn!(%error, "the history of the prompt is not kept");
    }
}

/// The line as it stands, which is then cleared.
fn taken(editor: &mut Reedline) -> String {
    let line = editor.current_buffer_contents().to_owned();
    editor.run_edit_commands(&[EditCommand::Clear]);
    line
}

fn keys() -> Keybindings {
    let mut keys = default_emacs_keybindings();
    // While the history is searched, these two end the search and nothing else.
    let unless_searching = |word: &str, otherwise| {
        let command = ReedlineEvent::Multiple(vec![ReedlineEvent::Esc, ReedlineEvent::ExecuteHostCommand(word.into())]);
        ReedlineEvent::UntilFound(vec![command, otherwise])
    };
    keys.add_binding(KeyModifiers::NONE, KeyCode::Esc, unless_searching(STOP, ReedlineEvent::Esc));
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('c'), unless_searching(INTERRUPT, ReedlineEvent::CtrlC));
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, ReedlineEvent::ExecuteHostCommand(FOLLOW_UP.into()));
    let newline = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('j'), newline.clone());
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::Enter, newline);
    keys
}

/// What changes in the prompt while nobody types.
#[derive(Default, PartialEq, Eq)]
struct Shown {
    busy: bool,
    /// Empty when nothing is waited for.
    countdown: String,
}

/// The prompt: three columns, what Enter will do, and a countdown at the right end of the line.
struct Sign {
    state: Arc<Mutex<Shown>>,
    line: Line,
}

impl Sign {
    fn state(&self) -> MutexGuard<'_, Shown> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Prompt for Sign {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        let countdown = self.state().countdown.clone();
        // The editor's estimate of the rows of a line counts it in, and is right only while there is room for both.
        Cow::Owned(if self.line.leaves_room_for(&countdown, width()) { countdown } else { String::new() })
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(if self.state().busy { " ↳ " } else { " > " })
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(" · ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let sign = match search.status {
            PromptHistorySearchStatus::Passing => "search",
            PromptHistorySearchStatus::Failing => "not found",
        };
        Cow::Owned(format!("({sign}: {}) ", search.term))
    }
}
