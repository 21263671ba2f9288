//! What a typed line means: words for the agent, a note for a worker, a shell command or a slash command.

mod entry;

use super::deed::{self, Deed};
use super::inquiry::{self, Inquiry};
use super::permit;
use super::roam::{self, Roam};
use crate::message::{Approval, BudgetError, Change};
use crate::runtime::Word;
use crate::task::{Question, TaskId};
use crate::terminal::nearest;

pub use entry::{COMMANDS, Entry, FORMS, KEYS, named};

/// A typed line, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Nothing was typed.
    Nothing,
    /// Words for the main agent: a line when it is idle, a steer while it works.
    Say(String),
    /// Words for the main agent when it is done with what it does now.
    FollowUp(String),
    /// Words for a worker.
    Steer(TaskId, String),
    /// More work for a worker when it is done with what it does now.
    FollowUpTask(TaskId, String),
    /// A shell command of the person; of a private one the agent does not hear.
    Shell {
        /// The command.
        text: String,
        /// It was typed with `!!`.
        private: bool,
    },
    /// An answer to what a worker asks, to one of its questions or to the one that is open.
    Answer(TaskId, Option<u32>, String),
    /// A word to a call that waits for it; to the one that has waited for longest when none is named.
    Permit(Option<u64>, Word),
    /// Stop a worker, or the current run of the main agent.
    Abort(Option<TaskId>),
    /// Go on with a task that ended before it was done.
    Resume(TaskId),
    /// Go on with a task that has ended, with new words for its worker.
    Continue(TaskId, String),
    /// Hand over work.
    Dispatch(String, Option<Approval>),
    /// A task for each row of a file.
    Batch(String, String),
    /// The commands that the agent has in the background, or the end of one.
    Jobs(Option<u32>),
    /// All tasks.
    Tasks,
    /// All tasks on a full screen.
    Board,
    /// One task.
    Task(TaskId),
    /// Watch a worker live.
    Attach(TaskId),
    /// Stop watching.
    Detach,
    /// What may be used and what was: of a task or of all, or an order to change it.
    Budget(Option<TaskId>, Option<Change>),
    /// Where everything stands.
    Status,
    /// Tokens and money, by model.
    Cost,
    /// About in a conversation, or into another.
    Roam(Roam),
    /// Something to be looked at.
    Inquire(Inquiry),
    /// Something to be done that is no work for an agent.
    Deed(Deed),
    /// All commands, or one.
    Help(Option<&'static Entry>),
    /// Leave.
    Quit,
}

/// A line that makes no sense, with what to type instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misread {
    /// No such command.
    #[error("no command {name}{}; /help lists all", near.as_ref().map(|near| format!(", did you mean {near}?")).unwrap_or_default())]
    Unknown {
        /// As typed.
        name: String,
        /// The closest that exists.
        near: Option<String>,
    },
    /// A command without what it needs.
    #[error("use it like this: {0}")]
    Usage(String),
    /// Something else where a budget belongs.
    #[error("{0}")]
    Budget(BudgetError),
    /// Something else where a task id belongs.
    #[error("`{0}` is no task id; write it like t_001, /tasks lists them")]
    NoTask(String),
}

/// Reads a typed line.
///
/// # Errors
/// [`Misread`] when a slash command is unknown or lacks what it needs.
pub fn read(line: &str) -> Result<Input, Misread> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(Input::Nothing);
    }
    if let Some(command) = line.strip_prefix('!') {
        return shell(command);
    }
    if let Some((task, text)) = addressed(line) {
        return text_for(task, text, "@t_001 TEXT").map(|(task, text)| Input::Steer(task, text));
    }
    let (name, rest) = split(line);
    // A path at the start of a sentence is no command.
    if !line.starts_with('/') || name[1..].contains('/') {
        return Ok(Input::Say(line.to_owned()));
    }
    // Other names mean the same.
    slash(named(name).map_or(name, |entry| entry.name), rest)
}

fn slash(name: &str, rest: &str) -> Result<Input, Misread> {
    match name {
        "/help" => help(rest),
        "/status" => Ok(Input::Status),
        "/cost" => Ok(Input::Cost),
        "/tasks" => Ok(Input::Tasks),
        "/board" => Ok(Input::Board),
        "/jobs" if rest.is_empty() => Ok(Input::Jobs(None)),
        "/jobs" => match split(rest) {
            ("kill", id) if id.parse::<u32>().is_ok() => Ok(Input::Jobs(id.parse().ok())),
            _ => Err(Misread::Usage("/jobs [kill 2]".to_owned())),
        },
        "/task" => task(rest, "/task t_001").map(Input::Task),
        "/attach" => task(rest, "/attach t_001").map(Input::Attach),
        "/detach" => Ok(Input::Detach),
        "/steer" => steer(rest),
        "/follow-up" => follow_up(rest),
        "/answer" => answer(rest),
        "/budget" => budget(rest),
        "/approve" => permit::approve(rest).map(|(id, word)| Input::Permit(id, word)),
        "/deny" => {
            let (id, word) = permit::deny(rest);
            Ok(Input::Permit(id, word))
        }
        "/resume" => Ok(resume(rest)),
        "/continue" => go_on(rest),
        "/dispatch" => dispatch(rest),
        "/batch" => match split(rest) {
            (_, "") => Err(Misread::Usage("/batch FILE TEXT, for example /batch files.csv review {{file}}".to_owned())),
            (file, text) => Ok(Input::Batch(file.to_owned(), text.to_owned())),
        },
        "/abort" if rest.is_empty() => Ok(Input::Abort(None)),
        "/abort" => task(rest, "/abort [t_001]").map(|id| Input::Abort(Some(id))),
        "/quit" => Ok(Input::Quit),
        _ => None
            .or_else(|| roam::read(name, rest).map(|read| read.map(Input::Roam)))
            .or_else(|| inquiry::read(name, rest).map(|read| read.map(Input::Inquire)))
            .or_else(|| deed::read(name, rest).map(|read| read.map(Input::Deed)))
            .unwrap_or_else(|| Err(unknown(name))),
    }
}

fn unknown(name: &str) -> Misread {
    let names = COMMANDS.iter().flat_map(|entry| std::iter::once(entry.name).chain(entry.also.iter().copied()));
    Misread::Unknown { name: name.to_owned(), near: nearest(name, names).map(str::to_owned) }
}

fn help(rest: &str) -> Result<Input, Misread> {
    if rest.is_empty() {
        return Ok(Input::Help(None));
    }
    let name = format!("/{}", rest.trim_start_matches('/'));
    named(&name).map(|entry| Input::Help(Some(entry))).ok_or_else(|| unknown(&name))
}

fn shell(command: &str) -> Result<Input, Misread> {
    let (private, text) = command.strip_prefix('!').map_or((false, command), |command| (true, command));
    match text.trim() {
        "" => Err(Misread::Usage("!COMMAND, for example !git status; !!COMMAND keeps it from the agent".to_owned())),
        text => Ok(Input::Shell { text: text.to_owned(), private }),
    }
}

/// A task that goes on; anything else that is named is a conversation, as elsewhere.
fn resume(rest: &str) -> Input {
    // The id of a conversation begins with its day.
    let is_day = rest.len() >= 8 && rest.bytes().take(8).all(|byte| byte.is_ascii_digit());
    match (rest, task(rest, "")) {
        ("", _) => Input::Roam(Roam::Sessions),
        (_, Ok(task)) if !is_day => Input::Resume(task),
        (id, _) => Input::Roam(Roam::Open(id.to_owned())),
    }
}

fn steer(rest: &str) -> Result<Input, Misread> {
    let (id, text) = split(rest);
    text_for(task(id, "/steer t_001 TEXT")?, text, "/steer t_001 TEXT").map(|(task, text)| Input::Steer(task, text))
}

fn go_on(rest: &str) -> Result<Input, Misread> {
    const USAGE: &str = "/continue t_001 TEXT";
    let (id, text) = split(rest);
    text_for(task(id, USAGE)?, text, USAGE).map(|(task, text)| Input::Continue(task, text))
}

fn follow_up(rest: &str) -> Result<Input, Misread> {
    const USAGE: &str = "/follow-up [t_001] TEXT";
    let (first, text) = split(rest);
    match first.parse() {
        Ok(task) => text_for(task, text, USAGE).map(|(task, text)| Input::FollowUpTask(task, text)),
        Err(_) if rest.is_empty() => Err(Misread::Usage(USAGE.to_owned())),
        Err(_) => Ok(Input::FollowUp(rest.to_owned())),
    }
}

fn answer(rest: &str) -> Result<Input, Misread> {
    const USAGE: &str = "/answer t_001 2";
    let (id, words) = split(rest);
    let task = task(id, USAGE)?;
    let (question, words) = Question::addressed(words);
    text_for(task, words, USAGE).map(|(task, words)| Input::Answer(task, question, words))
}

fn dispatch(rest: &str) -> Result<Input, Misread> {
    const USAGE: &str = "/dispatch [--approval ask] TEXT";
    let (approval, text) = match rest.strip_prefix("--approval").filter(|rest| rest.starts_with(['=', ' '])) {
        Some(rest) => {
            let (word, text) = split(rest[1..].trim_start());
            (Some(word.parse().map_err(|_| Misread::Usage(USAGE.to_owned()))?), text)
        }
        None => (None, rest),
    };
    match text {
        "" => Err(Misread::Usage(USAGE.to_owned())),
        _ => Ok(Input::Dispatch(text.to_owned(), approval)),
    }
}

fn budget(rest: &str) -> Result<Input, Misread> {
    const USAGE: &str = "/budget [t_001 [+0.25]]";
    let (first, change) = split(rest);
    if first.is_empty() {
        return Ok(Input::Budget(None, None));
    }
    let task = task(first, USAGE)?;
    let change = (!change.is_empty()).then(|| change.parse()).transpose();
    change.map(|change| Input::Budget(Some(task), change)).map_err(|error: BudgetError| Misread::Budget(error))
}

fn text_for(task: TaskId, text: &str, usage: &str) -> Result<(TaskId, String), Misread> {
    match text {
        "" => Err(Misread::Usage(usage.to_owned())),
        _ => Ok((task, text.to_owned())),
    }
}

/// `@t_001 text`; anything else after an `@` is a mention for the agent.
fn addressed(line: &str) -> Option<(TaskId, &str)> {
    let (name, text) = split(line.strip_prefix('@')?);
    let id = name.trim_end_matches([':', ',']).parse().ok()?;
    Some((id, text))
}

pub(super) fn task(word: &str, usage: &str) -> Result<TaskId, Misread> {
    let word = word.trim_start_matches('@');
    if word.is_empty() {
        return Err(Misread::Usage(usage.to_owned()));
    }
    // `3` and `t3` are what people type.
    let digits = word.trim_start_matches('t').trim_start_matches('_');
    format!("t_{digits}").parse().map_err(|_| Misread::NoTask(word.chars().take(40).collect()))
}

fn split(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim())
}
