//! What the demo prints: the person's lines, the feed as the prompt would show it, every step of the workers, the files.

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;

use super::Setup;
use super::scene::Scene;
use crate::event::AgentEvent;
use crate::message::{CallId, ToolCall, ToolResult};
use crate::runtime::{Envelope, News, Source};
use crate::task::TaskId;
use crate::terminal::clean::one_line;
use crate::terminal::exit::Exit;
use crate::terminal::screen::{Screen, Texts};
use crate::terminal::wrap::cut;
use crate::terminal::{Look, story};

/// Columns of a call before its outcome.
const CALL: usize = 44;

/// Prints the demo.
pub(super) struct Show {
    look: Look,
    width: usize,
    screen: Screen,
    calls: HashMap<CallId, ToolCall>,
}

impl Show {
    pub(super) fn new(setup: &Setup, scene: &Scene) -> Show {
        let width = setup.width.clamp(60, 120);
        let screen = Screen::new(setup.look, width, scene.workspace(), Texts::Shown);
        Show { look: setup.look, width, screen, calls: HashMap::new() }
    }

    pub(super) fn begin(&self) {
        say(&self.look.bold("tillerman demo"));
        say("The replies come from a script: no language model, no key, no network.");
        say("All else is real: the loop, the tools, two workers, every file.");
    }

    /// A line of the person, to the main agent or to a worker.
    pub(super) fn person(&self, to: Option<TaskId>, line: &str) {
        let to = to.map(|task| format!("@{task} ")).unwrap_or_default();
        say(&format!("\n{} {}{line}", self.look.good(">"), self.look.name(to)));
    }

    pub(super) fn news(&mut self, envelope: &Envelope) {
        self.screen.show(envelope).iter().for_each(|line| say(line));
        if let (Source::Task(task), News::Agent(event)) = (&envelope.source, &envelope.news)
            && let Some(line) = self.step(event)
        {
            let task = self.look.dim(format!("{task} │"));
            say(&format!("{task} {line}"));
        }
    }

    /// What a worker says between its steps, and each step with its outcome.
    fn step(&mut self, event: &AgentEvent) -> Option<String> {
        match event {
            AgentEvent::Replied { message, .. } => {
                message.calls().next()?;
                Some(cut(&one_line(&message.text()), self.width - 8))
            }
            AgentEvent::ToolStarted { call } => {
                self.calls.insert(call.id.clone(), call.clone());
                None
            }
            AgentEvent::ToolFinished { result, .. } => {
                let call = story::call(&self.calls.remove(&result.call)?, CALL);
                let outcome = cut(&outcome(result), self.width.saturating_sub(CALL + 14).max(20));
                Some(format!("{} {call} {}", self.look.dim("├"), self.look.dim(format!("→ {outcome}"))))
            }
            _ => None,
        }
    }

    /// The end: every file, and how to go on.
    pub(super) fn finish(&self, scene: &Scene, took: Duration) {
        say(&format!(
            "\n{} in {}. Everything it wrote, in {}:",
            self.look.bold("Done"),
            story::span(took),
            scene.dir.display()
        ));
        for written in scene.written() {
            let path = written.path.display();
            let note = if written.changed { " (changed)" } else { "" };
            say(&format!("  {path}{}", self.look.dim(note)));
        }
        say("\nThe folder is yours to keep. Look around in it with the built-in pilot:");
        let (workspace, home) = (scene.workspace(), scene.home());
        say(&format!("  TILLERMAN_HOME={} tillerman -w {} -m pilot", home.display(), workspace.display()));
    }
}

/// The line of a result that tells most: the last of a command, the first of anything else.
fn outcome(result: &ToolResult) -> String {
    let lines: Vec<&str> = result.output.lines().filter(|line| !line.trim().is_empty()).collect();
    let telling = match (lines.as_slice(), result.details.get("exit_code").is_some()) {
        ([.., before, last], true) if last.starts_with("exit code") => format!("{before} · {last}"),
        ([.., last], true) => (*last).to_owned(),
        ([first, ..], false) => (*first).to_owned(),
        ([], _) => "(nothing)".to_owned(),
    };
    one_line(&telling)
}

/// A reader that has gone is no reason to stop.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

pub(super) fn complain(why: &str) -> Exit {
    let _ = writeln!(io::stderr().lock(), "tillerman: {why}");
    Exit::Failed
}
