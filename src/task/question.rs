//! A question of a task, as a file: `.tasks/t_004/questions/q_001.md`. Who is asked, who answers and what happens then
//! is decided in `runtime`.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{TaskDir, TaskError, TaskId, one_line};
use crate::markdown;

/// An option of questions that the runtime asks: chosen, it ends the task as failed.
pub const GIVE_UP: &str = "give up";

/// Options of a question whether a call may be made.
pub const ALLOW: &str = "allow";
/// The other one.
pub const DENY: &str = "deny";

/// Questions of one task that are read; its own worker could write any number of files there.
const READ: u32 = 1_000;

/// A question that rests a task until it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Whose.
    pub task: TaskId,
    /// Counts from 1 within the task.
    pub number: u32,
    /// One line or a few.
    pub text: String,
    /// What may be chosen, by its number from 1; empty when any words will do.
    pub options: Vec<String>,
    /// What is taken at the deadline; one of the options if there are any.
    pub default: String,
    /// When it was asked.
    pub asked: Timestamp,
    /// When the default is taken.
    pub deadline: Timestamp,
    /// Who asks.
    pub asker: Asker,
    /// What became of it.
    pub state: Asked,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// The worker itself.
    Worker,
    /// The runtime: the worker goes round in circles.
    Stuck,
    /// The runtime: a task that this one waited for did not end well.
    Dependency,
    /// The runtime: a call of the worker must be allowed. Only a person may answer.
    Permission,
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Asked {
    /// It waits.
    Open,
    /// Somebody answered.
    Answered {
        /// The words, or the option in full.
        text: String,
        /// `person`, `main` or a task as in `t_003`.
        from: String,
        /// When.
        at: Timestamp,
    },
    /// The deadline came first.
    Defaulted {
        /// When.
        at: Timestamp,
    },
    /// The task ended, so nobody needs an answer.
    Moot {
        /// Why.
        why: String,
    },
}

/// Words that are no answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoChoice {
    /// A number beyond the options.
    #[error("{question} has options 1 to {options}; answer with one of them or in your own words")]
    Beyond {
        /// As in `q_001 of t_004`.
        question: String,
        /// How many there are.
        options: usize,
    },
    /// Nothing at all.
    #[error("the answer to {0} is empty; name an option or say it in words")]
    Nothing(String),
}

/// The frontmatter of a question's file; its body is the text.
#[derive(Serialize, Deserialize)]
struct Front {
    task: TaskId,
    asker: Asker,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    options: Vec<String>,
    default: String,
    asked: Timestamp,
    deadline: Timestamp,
    #[serde(flatten)]
    state: Asked,
}

impl Question {
    /// What the words of an answer mean: an option by its number or its name, else the words themselves.
    ///
    /// # Errors
    /// A number that no option has, and no words at all.
    pub fn choose(&self, words: &str) -> Result<String, NoChoice> {
        let words = words.trim();
        if words.is_empty() {
            return Err(NoChoice::Nothing(self.to_string()));
        }
        let words = match (self.asker, words.to_ascii_lowercase().as_str()) {
            (Asker::Permission, "y" | "yes") => ALLOW,
            (Asker::Permission, "n" | "no") => DENY,
            _ => words,
        };
        let named = self.options.iter().find(|option| option.eq_ignore_ascii_case(words));
        let digits = words.bytes().all(|byte| byte.is_ascii_digit());
        match (named, self.options.len()) {
            (Some(option), _) => Ok(option.clone()),
            (None, 1..) if digits => {
                let at = words.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let beyond = || NoChoice::Beyond { question: self.to_string(), options: self.options.len() };
                at.and_then(|at| self.options.get(at)).cloned().ok_or_else(beyond)
            }
            (None, _) => Ok(words.to_owned()),
        }
    }

    /// What the worker reads when somebody chose this. The first line is the whole answer for whoever reads by machine.
    pub fn reply(&self, answer: &str, from: &str) -> String {
        let (name, asked) = (self.name(), one_line(&self.text, ASKED));
        let what = match (self.asker, answer) {
            (Asker::Permission, ALLOW) => "It goes through once: make this very call again, with the same arguments.",
            (Asker::Permission, _) => "It is not done; do without it, or say in your answer what is missing.",
            (Asker::Worker | Asker::Stuck | Asker::Dependency, _) => {
                return format!("{name}: {answer}\n\nThat is what {from} answers to: {asked}");
            }
        };
        format!("{name}: {answer}\n\n{what} That is what {from} answers to: {asked}")
    }

    /// What it reads when nobody answered.
    pub fn silence(&self) -> String {
        let (name, default, text) = (self.name(), &self.default, one_line(&self.text, ASKED));
        if self.asker == Asker::Permission {
            return format!("{name}: {default}\n\nNobody answered in time, so it is not done: {text}");
        }
        format!("{name}: {default}\n\nNobody answered in time, so your default is taken. You asked: {text}")
    }

    /// What it reads when somebody answers after that.
    pub fn afterthought(&self, answer: &str, from: &str) -> String {
        let (name, default, text) = (self.name(), &self.default, one_line(&self.text, ASKED));
        if self.asker == Asker::Permission {
            return format!("A late answer of {from} to {name}: {answer}\n\nUntil now nothing was allowed: {text}");
        }
        format!(
            "A late answer of {from} to {name}: {answer}\n\nUntil now the default `{default}` held. You asked: {text}"
        )
    }

    /// `JWT or session cookie?: jwt (nobody answered by 14:30)`, if the default was taken.
    pub fn assumption(&self) -> Option<String> {
        let Asked::Defaulted { at } = &self.state else { return None };
        let (text, default) = (one_line(&self.text, ASKED), one_line(&self.default, ASKED));
        Some(format!("{text} {default} ({}: nobody answered until {at})", self.name()))
    }

    /// `q_002 cookie`: the question that an answer names, if it names one, and the words.
    pub fn addressed(words: &str) -> (Option<u32>, &str) {
        let words = words.trim();
        let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        match number(first.trim_end_matches(':')) {
            Some(number) => (Some(number), rest.trim()),
            None => (None, words),
        }
    }

    /// The question that a note of the runtime answers, from its first words.
    pub fn answered_by(note: &str) -> Option<u32> {
        number(note.split_once(':')?.0)
    }

    /// All that is said in it.
    pub fn wording(&self) -> String {
        format!("{} {}", self.text, self.options.join(" "))
    }

    /// `q_001`, as its file is called.
    pub fn name(&self) -> String {
        format!("q_{:03}", self.number)
    }

    /// It waits for an answer.
    pub fn is_open(&self) -> bool {
        self.state == Asked::Open
    }
}

/// Most characters of a question where it is only called to mind.
const ASKED: usize = 300;

impl TaskDir {
    /// Writes a question down under the next free number above the one that it has, which it is given back with. It is there whole or not at all.
    ///
    /// # Errors
    /// [`TaskError::NotADirectory`] when a link or a file stands where questions belong, [`TaskError::Files`] when the
    /// disk refuses.
    pub fn ask(&self, mut question: Question) -> Result<Question, TaskError> {
        let folder = self.questions_folder()?;
        // Those that are known may have lost their files.
        let taken = numbers(&folder).last().map_or(question.number, |last| question.number.max(*last));
        question.number = taken.saturating_add(1);
        loop {
            let path = folder.join(format!("{}.md", question.name()));
            let text = self.rendered(&question)?;
            match self.write_new(&path, text.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && question.number < u32::MAX => {
                    question.number += 1;
                }
                done => return done.map(|()| question).map_err(|source| TaskError::Files { path, source }),
            }
        }
    }

    /// All its questions, by number; of those whose file makes no sense, why.
    pub fn questions(&self) -> Vec<Result<Question, TaskError>> {
        let folder = self.questions_path();
        // Whoever put a link there wants something else to be read.
        let ours = fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_dir());
        let numbers = if ours { numbers(&folder) } else { Vec::new() };
        numbers.into_iter().map(|number| self.question(number)).collect()
    }

    /// Writes down what became of a question. A file that a hand has broken is put aside, not overwritten.
    ///
    /// # Errors
    /// [`TaskError::Files`] when the disk refuses.
    pub fn settle(&self, question: &Question) -> Result<(), TaskError> {
        let name = question.name();
        let path = self.questions_folder()?.join(format!("{name}.md"));
        if path.exists() && self.question(question.number).is_err() {
            let aside = path.with_file_name(format!("{name}.broken.md"));
            fs::rename(&path, aside).map_err(|source| TaskError::Files { path: path.clone(), source })?;
        }
        self.put(&format!("questions/{name}.md"), &Front::of(question), &format!("{}\n", question.text.trim_end()))
    }

    /// At the end of the task: nobody needs an answer any more. Gives back what was assumed for want of one.
    pub fn close_questions(&self, why: &str) -> Vec<String> {
        let mut assumptions = Vec::new();
        for mut question in self.questions().into_iter().flatten() {
            assumptions.extend(question.assumption());
            if question.is_open() {
                question.state = Asked::Moot { why: why.to_owned() };
                if let Err(error) = self.settle(&question) {
                    tracing::warn!(%error, "a question stays open in its file");
                }
            }
        }
        assumptions
    }

    /// The folder, made if need be; a link in its place could lead anywhere.
    fn questions_folder(&self) -> Result<PathBuf, TaskError> {
        let folder = self.questions_path();
        let files = |source| TaskError::Files { path: folder.clone(), source };
        match fs::symlink_metadata(&folder) {
            Ok(meta) if !meta.is_dir() => return Err(TaskError::NotADirectory(folder)),
            Ok(_) => {}
            Err(_) => {
                match fs::create_dir(&folder) {
                    // Another question came first; a link is none that it made.
                    Err(_) if fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_dir()) => return Ok(folder),
                    made => made.map_err(files)?,
                }
                if self.is_durable() {
                    fs::File::open(self.path()).and_then(|dir| dir.sync_all()).map_err(files)?;
                }
            }
        }
        Ok(folder)
    }

    fn questions_path(&self) -> PathBuf {
        self.path().join("questions")
    }

    fn question(&self, number: u32) -> Result<Question, TaskError> {
        let markdown::Document { front, body } = self.load::<Front>(&format!("questions/q_{number:03}.md"))?;
        let Front { asker, options, default, asked, deadline, state, .. } = front;
        let (task, text) = (self.id(), body.trim().to_owned());
        Ok(Question { task, number, text, options, default, asked, deadline, asker, state })
    }

    fn rendered(&self, question: &Question) -> Result<String, TaskError> {
        let body = format!("{}\n", question.text.trim_end());
        markdown::render(&Front::of(question), &body).map_err(|source| TaskError::Markdown { id: self.id(), source })
    }

    fn write_new(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut temp = tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(folder)?;
        temp.write_all(bytes)?;
        if self.is_durable() {
            temp.as_file().sync_all()?;
        }
        temp.persist_noclobber(path).map_err(|failed| failed.error)?;
        if self.is_durable() { fs::File::open(folder)?.sync_all() } else { Ok(()) }
    }
}

impl Front {
    fn of(question: &Question) -> Front {
        Front {
            task: question.task,
            asker: question.asker,
            options: question.options.clone(),
            default: question.default.clone(),
            asked: question.asked,
            deadline: question.deadline,
            state: question.state.clone(),
        }
    }
}

/// The numbers of the questions in a folder, rising.
fn numbers(folder: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let named = |name: &str| number(name.strip_suffix(".md")?);
    let mut numbers: Vec<u32> =
        entries.flatten().take(2 * READ as usize).filter_map(|entry| named(entry.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    numbers.truncate(READ as usize);
    numbers
}

/// `q_001`; beyond 999 the number simply grows.
fn number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("q_").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let number = digits.parse().ok().filter(|number| *number > 0)?;
    (format!("q_{number:03}") == name).then_some(number)
}

impl fmt::Display for Question {
    /// `q_001 of t_004`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.name(), self.task)
    }
}
