//! What the thread at the terminal does with its work: keys into the line, lines and scenes onto the screen. The terminal
//! is raw while it sits there, and as it was before when it leaves, also by a panic.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::process::Command;

use crossterm::event::{Event, KeyEventKind};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use signal_hook::consts::SIGTSTP;
use signal_hook::low_level::raise;
use tokio::sync::mpsc::UnboundedSender;

use super::composer::{Act, Around, Composer};
use super::desk::Inbox;
use super::keys::Keys;
use super::painter::{Frame, Painter, Size};
use super::panel::{Scene, input_rows, panel};
use super::typed::Typed;
use crate::terminal::Look;

/// Pastes come in one piece, the focus is told, keys are told apart, the title is put aside.
const ENTER: &str = "\x1b[?2004h\x1b[?1004h\x1b[>1u\x1b[22;0t";
const LEAVE: &str = "\x1b[23;0t\x1b[<u\x1b[?1004l\x1b[?2004l\x1b[?25h";
/// Lines that wait while a whole screen is shown.
const HELD: usize = 5_000;
/// A text that the person's editor gives back, in bytes at most.
const EDITED: u64 = 10 * 1024 * 1024;

/// The thread's own things.
pub(super) struct Seat {
    composer: Composer,
    painter: Painter,
    look: Look,
    typed: UnboundedSender<Typed>,
    scene: Scene,
    frame: Option<Frame>,
    /// Lines that are not drawn yet, and how many were lost before them.
    held: VecDeque<String>,
    lost: usize,
    /// Bytes for the terminal.
    out: Vec<u8>,
}

impl Seat {
    pub(super) fn take(composer: Composer, look: Look, typed: UnboundedSender<Typed>) -> io::Result<Seat> {
        let painter = Painter::new(reflows(&|name| std::env::var(name).ok()));
        let (scene, frame, held, lost) = (Scene::default(), None, VecDeque::new(), 0);
        let seat = Seat { composer, painter, look, typed, scene, frame, held, lost, out: Vec::new() };
        enter()?;
        Ok(seat)
    }

    /// Works until it is to leave.
    pub(super) fn sit(&mut self, keys: &Keys, next: impl Fn() -> Inbox) {
        self.draw();
        loop {
            let work = next();
            for event in work.events {
                self.event(event, keys);
            }
            if work.renew {
                self.composer.renew();
            }
            for text in work.given {
                self.composer.give(&text);
            }
            for sequence in work.signals {
                self.out.extend_from_slice(sequence.as_bytes());
            }
            if let Some(scene) = work.scene {
                self.look = scene.look;
                self.scene = scene;
            }
            if let Some(frame) = work.frame {
                self.frame = frame;
            }
            self.held.extend(work.lines);
            if work.leave {
                self.frame = None;
            }
            self.draw();
            if work.leave {
                return;
            }
        }
    }

    /// Lines wait while a whole screen is shown; too many do not.
    fn draw(&mut self) {
        let size = size();
        if let Some(frame) = &self.frame {
            let over = self.held.len().saturating_sub(HELD);
            self.held.drain(..over);
            self.lost += over;
            self.painter.fill(frame, size, &mut self.out);
        } else {
            if self.lost > 0 {
                let told = format!("… {} lines passed meanwhile and are not shown", std::mem::take(&mut self.lost));
                self.held.push_front(self.look.dim(told));
            }
            let view = self.composer.view(self.scene.busy, size.width, input_rows(size), self.look);
            let lines = Vec::from(std::mem::take(&mut self.held));
            self.painter.paint(&lines, &panel(&self.scene, &view, size), size, &mut self.out);
        }
        if !self.out.is_empty() {
            let mut terminal = io::stdout().lock();
            // A terminal that is gone is noticed where it is read.
            let _ = terminal.write_all(&self.out).and_then(|()| terminal.flush());
            self.out.clear();
        }
    }

    fn event(&mut self, event: Option<Event>, keys: &Keys) {
        match event {
            Some(Event::Key(key)) if key.kind == KeyEventKind::Release => {}
            Some(Event::Key(key)) if self.frame.is_some() => self.tell(Typed::Key(key)),
            Some(Event::Key(key)) => {
                let act = self
                    .composer
                    .key(key, Around { width: size().width, busy: self.scene.busy, stops: self.scene.stops });
                self.act(act, keys);
            }
            Some(Event::Paste(text)) if self.frame.is_none() => {
                let act = self.composer.paste(&text);
                self.act(act, keys);
            }
            Some(Event::Paste(text)) => self.tell(Typed::Pasted(text)),
            Some(Event::Resize(..)) => {
                self.painter.forget_frame(&mut self.out);
                self.tell(Typed::Redraw);
            }
            Some(Event::FocusGained) => self.tell(Typed::Focus(true)),
            Some(Event::FocusLost) => self.tell(Typed::Focus(false)),
            Some(_) => {}
            None => self.tell(Typed::End),
        }
    }

    fn act(&mut self, act: Act, keys: &Keys) {
        match act {
            Act::Nothing => {}
            Act::Send(line) => self.tell(Typed::Line(line)),
            Act::FollowUp(line) => self.tell(Typed::FollowUp(line)),
            Act::Stop => self.tell(Typed::Stop),
            Act::Rewind => self.tell(Typed::Rewind),
            Act::Interrupt { empty } => self.tell(Typed::Interrupt { empty }),
            Act::End => self.tell(Typed::End),
            Act::TakeBack => self.tell(Typed::TakeBack),
            Act::Thoughts => self.tell(Typed::Thoughts),
            Act::Expand => self.tell(Typed::Expand),
            Act::Board => self.tell(Typed::Board),
            Act::Refuse(why) => self.tell(Typed::Refused(why)),
            Act::Clear => self.painter.clear(&mut self.out),
            Act::Edit => self.away(keys, Seat::edit),
            Act::Suspend => self.away(keys, |_| {
                // To this thread, so that it stands still here until the shell continues it, and takes the terminal after the
                // shell has given it back. One that cannot be stopped goes on at once.
                raise(SIGTSTP).map_err(|error| error.to_string())
            }),
        }
    }

    fn tell(&self, typed: Typed) {
        // It fails only when the conversation is over.
        let _ = self.typed.send(typed);
    }

    /// Gives the terminal to somebody else for a while.
    fn away(&mut self, keys: &Keys, go: impl FnOnce(&mut Seat) -> Result<(), String>) {
        self.painter.lift(size(), &mut self.out);
        let mut terminal = io::stdout().lock();
        let _ = terminal.write_all(&self.out).and_then(|()| terminal.flush());
        drop(terminal);
        self.out.clear();
        if !keys.rest() {
            return self.tell(Typed::Refused("the terminal is busy; press the key again".to_owned()));
        }
        leave();
        let went = go(self);
        if let Err(error) = enter() {
            tracing::warn!(%error, "the terminal cannot be made raw");
        }
        keys.go_on();
        if let Err(why) = went {
            self.tell(Typed::Refused(why));
        }
        self.tell(Typed::Redraw);
    }

    /// The line in the person's own editor.
    fn edit(&mut self) -> Result<(), String> {
        let editor = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
        let editor = editor.into_iter().find(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
        let cannot = |error: io::Error| format!("the line cannot be edited: {error}");
        let mut file = tempfile::Builder::new().prefix("tillerman-").suffix(".md").tempfile().map_err(cannot)?;
        file.write_all(self.composer.text().as_bytes()).and_then(|()| file.flush()).map_err(cannot)?;
        let mut command = Command::new("sh");
        // An editor may be a command with arguments, as for every program that starts one.
        command.args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(file.path());
        let ended = command.status().map_err(cannot)?;
        if !ended.success() {
            return Err(format!("`{editor}` ended with {ended}; the line is as it was (EDITOR names another editor)"));
        }
        let length = std::fs::metadata(file.path()).map_err(cannot)?.len();
        if length > EDITED {
            return Err(format!("what the editor left has {length} bytes; a line has {EDITED} at most"));
        }
        let bytes = std::fs::read(file.path()).map_err(cannot)?;
        let text = String::from_utf8_lossy(&bytes);
        self.composer.replace(String::new());
        match self.composer.paste(text.trim_end_matches(['\n', '\r'])) {
            Act::Refuse(why) => Err(why),
            _ => Ok(()),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.composer.close();
        self.painter.lift(size(), &mut self.out);
        let mut terminal = io::stdout().lock();
        let _ = terminal.write_all(&self.out).and_then(|()| terminal.flush());
        drop(terminal);
        leave();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    let mut terminal = io::stdout().lock();
    terminal.write_all(ENTER.as_bytes()).and_then(|()| terminal.flush())
}

fn leave() {
    let mut terminal = io::stdout().lock();
    let _ = terminal.write_all(LEAVE.as_bytes()).and_then(|()| terminal.flush());
    if let Err(error) = disable_raw_mode() {
        tracing::warn!(%error, "the terminal is left raw; `stty sane` mends it");
    }
}

/// Columns and rows of the terminal; 80 and 24 when it does not say.
pub(super) fn size() -> Size {
    let (width, height) = crossterm::terminal::size().unwrap_or_default();
    let or = |said: u16, usual: usize| if said == 0 { usual } else { usize::from(said) };
    Size { width: or(width, 80), height: or(height, 24) }
}

/// Whether a row that gets too wide goes on in the next one. xterm, the Linux console and GNU screen cut it instead.
fn reflows(env: &dyn Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| env(name).is_some_and(|value| !value.is_empty());
    let inside_tmux = set("TMUX");
    let term = env("TERM").unwrap_or_default();
    inside_tmux || !(set("XTERM_VERSION") || set("STY") || term.starts_with("linux"))
}
