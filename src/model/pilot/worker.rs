//! The pilot as worker: it executes a runbook, one command per turn, and obeys notes between them.
//! Everything it knows it reads from the conversation, so a run that was interrupted continues where it stood.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::json;

use super::account::{Account, Entry, Fate};
use super::talk::{is_reminder, was_cut_off};
use super::{Speech, asking, runbook};
use crate::message::{CallId, Message, Role, ToolSpec};

/// What to say and call next.
pub(super) fn reply(messages: &[Arc<Message>], tools: &[ToolSpec]) -> Speech {
    if opening(messages).starts_with(SHORTENED) {
        return Speech::of(
            "Stopped: the conversation was shortened, and with it my record of the steps that ran. \
             progress.md still has it. I run nothing twice.",
        );
    }
    let mut work = Work::default();
    let mut heard = Vec::new();
    for message in messages {
        // Only what came after its last words is news.
        heard = work.follow(message, heard);
    }
    let mut speech = Speech::default();
    heard.iter().for_each(|word| speech.say(word));
    match work.next() {
        Some((place, step)) if tools.iter().any(|tool| tool.name == "ask") && asking::args(&step).is_some() => {
            speech.say(&format!("Step {place} of {}: {}", work.total(), first_line(&step)));
            speech.call("ask", asking::args(&step).unwrap_or_default());
        }
        Some((place, step)) if tools.iter().any(|tool| tool.name == "shell") => {
            speech.say(&format!("Step {place} of {}: {}", work.total(), first_line(&step)));
            speech.call("shell", json!({ "command": step }));
        }
        Some(_) => {
            work.stop = Some(if tools.is_empty() { "the turns are used up" } else { "no shell is on offer" });
            speech.say(&work.account().to_string());
        }
        None => speech.say(&work.account().to_string()),
    }
    speech
}

/// The conversation is a worker's: it opens with a task's number and title.
pub(super) fn is_worker(messages: &[Arc<Message>]) -> bool {
    let opening = opening(messages);
    // A shortened conversation quotes what opened it.
    let shortened = opening.starts_with(SHORTENED).then(|| opening.lines().filter_map(|line| line.strip_prefix("- ")));
    opening.lines().take(1).chain(shortened.into_iter().flatten()).any(is_title)
}

/// What the first message of a shortened conversation begins with.
const SHORTENED: &str = "[Previous conversation summary]";

fn opening(messages: &[Arc<Message>]) -> String {
    messages.iter().find(|message| message.role == Role::User).map(|message| message.text()).unwrap_or_default()
}

/// `Task t_001: try`
fn is_title(line: &str) -> bool {
    let number = line.strip_prefix("Task t_").and_then(|rest| rest.split_once(": ")).map(|(number, _)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A runbook on its way.
#[derive(Default)]
struct Work {
    opened: bool,
    left: VecDeque<String>,
    entries: Vec<Entry>,
    /// The call that is under way, by its id.
    running: Option<CallId>,
    /// The next step was called, and a person must allow it first.
    held: bool,
    stop: Option<&'static str>,
    unheeded: Vec<String>,
}

impl Work {
    /// Takes one message into account. Answers what there is to say about the notes since the last reply.
    fn follow(&mut self, message: &Message, mut heard: Vec<String>) -> Vec<String> {
        if message.role == Role::Assistant {
            self.start(message);
            return Vec::new();
        }
        for result in message.results() {
            if self.running.as_ref() == Some(&result.call) {
                self.running = None;
                self.held = asking::is_held(result);
                if self.held {
                    // Whatever is answered, the same call finds it out.
                    self.left.extend(self.entries.pop().map(|entry| entry.command));
                    self.left.rotate_right(1);
                    continue;
                }
                if let Some(entry) = self.entries.last_mut() {
                    let asked = asking::args(&entry.command).is_some() && !result.is_error;
                    entry.fate = if asked { Fate::Asked { answer: None, by_default: false } } else { Fate::of(result) };
                }
            }
        }
        let text = message.text();
        if was_cut_off(&text)
            && let Some(entry) = self.entries.last_mut().filter(|entry| entry.fate.ends_the_run())
        {
            entry.fate = Fate::CutOff;
        }
        if text.trim().is_empty() || is_reminder(&text) {
            return heard;
        }
        if let Some((answer, by_default)) = asking::answer(&text) {
            let held = self.held;
            let said = match self.asked() {
                Some(entry) => {
                    entry.fate = Fate::Asked { answer: Some(answer.to_owned()), by_default };
                    format!("Answered: {answer}")
                }
                None if held => format!("Answered: {answer}"),
                // The program asked in its place, whether to go on.
                None => self.obey(answer),
            };
            heard.push(said);
            return heard;
        }
        if self.opened {
            heard.extend(text.lines().filter(|line| !line.trim().is_empty()).map(|line| self.obey(line)));
        } else {
            self.opened = true;
            // The first line is the task's number and title.
            let brief = text.split_once('\n').map_or(text.as_str(), |(_, brief)| brief);
            self.left = runbook::steps(brief).into();
        }
        heard
    }

    /// A call of the worker is the next step.
    fn start(&mut self, message: &Message) {
        if let Some(call) = message.calls().next()
            && let Some(command) = self.left.pop_front()
        {
            self.entries.push(Entry { command, fate: Fate::Unknown });
            self.running = Some(call.id.clone());
        }
    }

    /// The step that waits for an answer.
    fn asked(&mut self) -> Option<&mut Entry> {
        self.entries.iter_mut().rev().find(|entry| matches!(entry.fate, Fate::Asked { answer: None, .. }))
    }

    fn obey(&mut self, line: &str) -> String {
        let line = line.trim();
        let lower = line.to_lowercase();
        let order = lower.trim_end_matches(['.', '!']);
        let run = ["also run ", "also run: ", "then run ", "run "].iter().find_map(|verb| strip(line, verb));
        let run = run.map(runbook::command);
        match (order, run) {
            ("skip" | "skip it" | "skip next" | "skip the next step" | "skip the next one" | "skip step", _) => {
                self.skip()
            }
            ("stop" | "stop now" | "stop here" | "that is enough", _) => {
                self.stop = Some("a note said stop");
                "Stopping, as asked.".to_owned()
            }
            ("continue" | "go on" | "resume" | "ok", _) => "Going on.".to_owned(),
            (_, Some(command)) if !command.is_empty() => {
                self.left.push_back(command.to_owned());
                format!("Added at the end: {command}")
            }
            _ => {
                self.unheeded.push(line.to_owned());
                format!("Not understood, so nothing changes: {line}")
            }
        }
    }

    fn skip(&mut self) -> String {
        match self.left.pop_front() {
            None => "Nothing is left to skip.".to_owned(),
            Some(command) => {
                let said = format!("Skipping, as asked: {}", first_line(&command));
                self.entries.push(Entry { command, fate: Fate::Skipped });
                said
            }
        }
    }

    /// The next step and its place, while nothing speaks against going on.
    fn next(&self) -> Option<(usize, String)> {
        let failed = self.entries.iter().any(|entry| entry.fate.ends_the_run());
        let step = self.left.front().filter(|_| !failed && self.stop.is_none())?;
        let answers = self.entries.iter().rev().filter_map(|entry| match &entry.fate {
            Fate::Asked { answer, .. } => answer.as_deref(),
            _ => None,
        });
        Some((self.entries.len() + 1, asking::filled(step, answers.into_iter().next())))
    }

    fn total(&self) -> usize {
        self.entries.len() + self.left.len()
    }

    fn account(self) -> Account {
        Account { entries: self.entries, left: self.left.into(), stop: self.stop, unheeded: self.unheeded }
    }
}

fn strip<'a>(line: &'a str, verb: &str) -> Option<&'a str> {
    let (head, rest) = line.split_at_checked(verb.len())?;
    head.eq_ignore_ascii_case(verb).then(|| rest.trim())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
