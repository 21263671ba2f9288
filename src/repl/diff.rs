//! `/diff`: what changed since the last commit, as git tells it, or the files that a task's report names.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::talk::Talk;
use crate::runtime::TaskDetail;
use crate::sandbox::{self, Command, Environment, Finished, Limits, Walls};
use crate::secret::Secrets;
use crate::task::TaskId;
use crate::terminal::Look;
use crate::terminal::clean::clean;

/// How long git may take.
const TIME: Duration = Duration::from_secs(20);
/// Lines that are shown.
const LINES: usize = 400;
/// Files of a task that are asked for.
const FILES: usize = 200;

/// No program of a repository's own is run for it. A folder without a commit has nothing to compare with.
const GIT: &str = "git -c core.fsmonitor=false -c core.quotePath=false";

impl Talk<'_> {
    pub(super) async fn diff(&self, task: Option<TaskId>) {
        let shown = match task {
            None => self.changes(&[]).await,
            Some(task) => match self.runtime.task(task).await {
                Ok(detail) => match files(&detail) {
                    files if files.is_empty() => Ok(vec![format!("{task} has changed no files yet")]),
                    files => self.changes(&files).await,
                },
                Err(error) => Err(error.to_string()),
            },
        };
        match shown {
            Ok(lines) => self.out.answer(lines).await,
            Err(why) => self.complain(why).await,
        }
    }

    async fn changes(&self, files: &[String]) -> Result<Vec<String>, String> {
        let files: String = files.iter().map(|file| format!(" '{}'", file.replace('\'', r"'\''"))).collect();
        let against = "$(git rev-parse -q --verify HEAD || git hash-object -t tree /dev/null)";
        let text = format!(
            "{GIT} --no-pager diff --no-color --no-ext-diff --no-textconv {against} --{files} && \
             {GIT} ls-files --others --exclude-standard --{files} | sed 's/^/new file: /'"
        );
        let finished = run(text, &self.root).await?;
        let output = [&finished.output.head[..], &finished.output.tail[..]].concat();
        let output = String::from_utf8_lossy(&output).into_owned();
        if finished.end != sandbox::End::Exited(0) {
            return Err(format!("git does not tell: {}", output.lines().next().unwrap_or("it is not there")));
        }
        let all = output.lines().count();
        let mut lines: Vec<String> = output.lines().take(LINES).map(|line| colored(line, self.look)).collect();
        match all {
            0 => lines.push("nothing changed since the last commit".to_owned()),
            _ if all > LINES || finished.output.gap() > 0 => {
                lines.push(self.look.dim("… more; `!git diff` or an editor shows all of it"));
            }
            _ => {}
        }
        Ok(lines)
    }
}

/// What a task's report names, while it runs what it may change.
fn files(detail: &TaskDetail) -> Vec<String> {
    let reported = detail.result.iter().flat_map(|report| report.files.iter().chain(&report.changed));
    let files: Vec<String> = reported.take(FILES).cloned().collect();
    if detail.result.is_some() { files } else { detail.brief.touches.iter().take(FILES).cloned().collect() }
}

async fn run(text: String, root: &Path) -> Result<Finished, String> {
    let spool = std::env::temp_dir().join(format!("tillerman-diff-{}.log", std::process::id()));
    let (walls, secrets) = (Walls::open(), Secrets::default());
    let (cwd, environment) = (root.to_owned(), Environment::inherited());
    let command = Command { text, cwd, environment, spool, stdin: None, walls, secrets };
    let limits = Limits { time: TIME, head: 256 << 10, spool: 0, ..Limits::default() };
    let finished = sandbox::run(&command, &limits, &CancellationToken::new(), &mut |_| {}).await;
    finished.map_err(|error| error.to_string())
}

fn colored(line: &str, look: Look) -> String {
    let text = clean(line);
    match line.as_bytes().first() {
        _ if line.starts_with("+++") || line.starts_with("---") => look.bold(text),
        _ if line.starts_with("diff ") || line.starts_with("new file: ") => look.bold(text),
        Some(b'+') => look.good(text),
        Some(b'-') => look.bad(text),
        Some(b'@') => look.name(text),
        _ => text,
    }
}
