//! `!command`: a person's own shell command, run in the workspace and shown. What it wrote goes with the next line that is said,
//! unless it was private.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::out::Out;
use crate::sandbox::{self, Captured, Command, End, Environment, Finished, Limits, Walls};
use crate::secret::Secrets;
use crate::terminal::clean::clean;
use crate::terminal::wrap::Stream;
use crate::terminal::{Look, story};

/// Lines that are shown; the rest is in the spool.
const SHOWN: usize = 500;
/// A person may wait longer than a model.
const TIME: Duration = Duration::from_secs(3600);

/// Bytes of a command's output that are told, half from its beginning and half from its end, and how many commands are.
const TOLD: usize = 8_000;
const COMMANDS: usize = 8;

/// What commands wrote, until the agent is told. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Overheard(Arc<Mutex<Vec<String>>>);

impl Overheard {
    /// Puts it behind the words of a line: lists and titles show how a line begins.
    pub(super) fn tell(&self, line: &mut String) {
        for told in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            line.push_str("\n\n");
            line.push_str(&told);
        }
    }

    fn add(&self, command: &str, finished: &Finished) {
        let Captured { head, tail, .. } = &finished.output;
        let all = String::from_utf8_lossy(&[&head[..], &tail[..]].concat()).into_owned();
        let text = match all.len() > TOLD || finished.output.gap() > 0 {
            false => all,
            true => {
                let begin = all.floor_char_boundary(TOLD / 2);
                let end = all.ceil_char_boundary(all.len().saturating_sub(TOLD / 2).max(begin));
                format!("{}\n[… {} bytes in all …]\n{}", &all[..begin], finished.output.bytes, &all[end..])
            }
        };
        let text: Vec<String> = text.lines().map(clean).collect();
        let told = format!("I ran `{command}` here, {}:\n```\n{}\n```", how(finished.end), text.join("\n"));
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == COMMANDS {
            all.remove(0);
        }
        all.push(told);
    }
}

/// A running command.
pub(super) struct Shell {
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl Shell {
    /// Starts it; what it writes appears as it comes, and is overheard if somebody shall hear of it.
    pub(super) fn start(text: String, cwd: PathBuf, to: (Out, Look), overheard: Option<Overheard>) -> Shell {
        let cancel = CancellationToken::new();
        let spool = std::env::temp_dir().join(format!("tillerman-{}.log", std::process::id()));
        let walls = Walls::open();
        // It is the person's own, at their own terminal: shown as it is.
        let secrets = Secrets::default();
        let command = Command { text, cwd, environment: Environment::inherited(), spool, stdin: None, walls, secrets };
        let task = tokio::spawn(show(command, to, overheard, cancel.clone()));
        Shell { cancel, task }
    }

    /// It has ended by itself.
    pub(super) fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits for its end.
    pub(super) async fn wait(self) {
        // A panic has been reported by its own hook.
        let _ = self.task.await;
    }

    /// Ends it with all its processes.
    pub(super) async fn end(self) {
        self.cancel.cancel();
        self.wait().await;
    }
}

async fn show(command: Command, to: (Out, Look), overheard: Option<Overheard>, cancel: CancellationToken) {
    let (out, look) = to;
    let limits = Limits { time: TIME, ..Limits::default() };
    let (mut stream, mut shown, mut missed) = (Stream::default(), 0, 0);
    let mut show = |lines: Vec<String>| {
        for line in lines {
            shown += 1;
            if shown > SHOWN || !out.answer_now(line) {
                missed += 1;
            }
        }
    };
    let ended = sandbox::run(&command, &limits, &cancel, &mut |piece| show(stream.push(piece, usize::MAX))).await;
    show(stream.finish(usize::MAX));
    match ended {
        Ok(finished) => {
            if let Some(overheard) = overheard {
                overheard.add(&command.text, &finished);
            }
            out.news([verdict(&finished, missed, look)]).await;
        }
        Err(error) => out.news([format!("{} {error}", look.bad("✗"))]).await,
    }
}

fn how(end: End) -> String {
    match end {
        End::Exited(code) => format!("exit code {code}"),
        End::Signalled(signal) => format!("ended by signal {signal}"),
        End::TimedOut => "until its time was over".to_owned(),
        End::Aborted => "until I stopped it".to_owned(),
    }
}

fn verdict(finished: &Finished, missed: usize, look: Look) -> String {
    let (mark, how) = match finished.end {
        End::Exited(0) => (look.good("✓"), String::new()),
        End::Exited(code) => (look.bad("✗"), format!("exit code {code} ")),
        End::Signalled(signal) => (look.bad("✗"), format!("signal {signal} ")),
        End::TimedOut => (look.bad("✗"), "timed out ".to_owned()),
        End::Aborted => (look.warn("■"), "stopped ".to_owned()),
    };
    let spool = finished.output.spool.as_ref().map(|spool| format!(", all of it in {}", spool.path.display()));
    let more = match missed {
        0 => String::new(),
        _ => format!(" · {missed} more lines{}", spool.unwrap_or_default()),
    };
    format!("{mark} {}{more}", look.dim(format!("{how}{}", story::span(finished.took))))
}
