//! `!command`: a person's own shell command, run in the workspace and shown; the conversation does not hear of it.

use std::path::PathBuf;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::out::Out;
use crate::sandbox::{self, Command, End, Environment, Finished, Limits, Walls};
use crate::secret::Secrets;
use crate::terminal::wrap::Stream;
use crate::terminal::{Look, story};

/// Lines that are shown; the rest is in the spool.
const SHOWN: usize = 500;
/// A person may wait longer than a model.
const TIME: Duration = Duration::from_secs(3600);

/// A running command.
pub(super) struct Shell {
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl Shell {
    /// Starts it; what it writes appears as it comes.
    pub(super) fn start(text: String, cwd: PathBuf, out: Out, look: Look) -> Shell {
        let cancel = CancellationToken::new();
        let spool = std::env::temp_dir().join(format!("tillerman-{}.log", std::process::id()));
        let walls = Walls::open();
        // It is the person's own, at their own terminal: shown as it is.
        let secrets = Secrets::default();
        let command = Command { text, cwd, environment: Environment::inherited(), spool, stdin: None, walls, secrets };
        let task = tokio::spawn(show(command, out, look, cancel.clone()));
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

async fn show(command: Command, out: Out, look: Look, cancel: CancellationToken) {
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
        Ok(finished) => out.news([verdict(&finished, missed, look)]).await,
        Err(error) => out.news([format!("{} {error}", look.bad("✗"))]).await,
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
