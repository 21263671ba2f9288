//! Where the prompt's lines go: above the line being typed, or plainly to stdout and stderr when there is no prompt.

use std::io::{self, Write};
use std::sync::mpsc::SyncSender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::line::Line;

/// Lines that may wait; whoever writes then waits for the terminal.
const WAITING: usize = 1024;
/// Lines that are printed at once.
const BATCH: usize = 256;
/// How often it is checked whether the line being typed still stands in the way.
const CHECK: Duration = Duration::from_millis(500);

/// Where lines go. Clones share the way.
#[derive(Clone)]
pub(super) enum Out {
    /// Above the prompt, through the thread that prints.
    Above(Sender<String>),
    /// To stdout what was asked for, to stderr all else.
    Plain,
}

impl Out {
    /// Prints above a prompt, from a thread that ends when every clone is gone.
    pub(super) fn above(printer: SyncSender<String>, line: Line) -> io::Result<(Out, JoinHandle<()>)> {
        let (lines, waiting) = channel(WAITING);
        let printing = thread::Builder::new().name("print".into()).spawn(move || print(waiting, &printer, &line))?;
        Ok((Out::Above(lines), printing))
    }

    /// What happens meanwhile.
    pub(super) async fn news(&self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            match self {
                // It fails only when the thread is gone, and then so is the terminal.
                Out::Above(to) => drop(to.send(line).await),
                Out::Plain => write(&mut io::stderr().lock(), &line),
            }
        }
    }

    /// What was asked for.
    pub(super) async fn answer(&self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            match self {
                Out::Above(_) => self.news([line]).await,
                Out::Plain => write(&mut io::stdout().lock(), &line),
            }
        }
    }

    /// The same, from where nobody may wait; answers whether it was taken.
    pub(super) fn answer_now(&self, line: String) -> bool {
        match self {
            Out::Above(to) => to.try_send(line).is_ok(),
            Out::Plain => {
                write(&mut io::stdout().lock(), &line);
                true
            }
        }
    }
}

fn print(mut waiting: Receiver<String>, printer: &SyncSender<String>, line: &Line) {
    while let Some(first) = waiting.blocking_recv() {
        let mut batch = shown(first);
        for _ in 1..BATCH {
            let Ok(next) = waiting.try_recv() else { break };
            batch.push('\n');
            batch.push_str(&shown(next));
        }
        while !line.wait_until_safe(width(), CHECK) {}
        // The editor has gone when it takes no more: then the terminal is free.
        if let Err(unsent) = printer.send(batch) {
            write(&mut io::stdout().lock(), &unsent.0);
        }
    }
}

/// An empty line has to be something, or the editor would not print it.
fn shown(line: String) -> String {
    if line.is_empty() { " ".to_owned() } else { line }
}

/// A terminal that is gone is noticed where it is read.
fn write(to: &mut impl Write, line: &str) {
    let _ = writeln!(to, "{line}");
    let _ = to.flush();
}

/// Columns of the terminal.
pub(super) fn width() -> usize {
    crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns).max(20))
}
