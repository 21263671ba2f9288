//! What could be meant by the word that is being typed: commands, tasks, files, models, conversations. Text in, candidates
//! out; who shows them, and which key takes one, is not here.

mod files;
mod fuzzy;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::files::Files;
use self::fuzzy::Names;
use super::answering::usable;
use super::command::{COMMANDS, named};
use crate::config::Config;
use crate::model::provider::Effort;
use crate::runtime::{Summary, TaskRow, Vocabulary};
use crate::task::TaskStatus;
use crate::terminal::clean::one_line;
use crate::terminal::story;

/// Most candidates at once.
pub const MOST: usize = 50;

/// What a word may become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Takes the place of the text from `from` to the cursor. Ends in a space where the next word can begin.
    pub insert: String,
    /// What a menu shows.
    pub shown: String,
    /// A line about it; may be empty.
    pub help: String,
    /// The byte where the word begins.
    pub from: usize,
}

/// Something that has a name, and a line about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// As it is typed.
    pub name: String,
    /// One line; may be empty.
    pub help: String,
}

/// Knows what there is to name. Cheap to clone; clones share what they know.
#[derive(Clone)]
pub struct Completer {
    known: Arc<Mutex<Known>>,
    files: Files,
}

#[derive(Default)]
struct Known {
    /// Those that can hear something first, then the others, the youngest first.
    tasks: Vec<Task>,
    sessions: Vec<Offer>,
    models: Vec<Offer>,
    words: Vec<Offer>,
}

struct Task {
    offer: Offer,
    is_over: bool,
}

/// What stands behind a command.
enum Wanted {
    Task,
    Session,
    Model,
    Effort,
    Command,
    File,
}

impl Completer {
    /// For the files below this folder. Nothing is read before somebody types an `@`.
    pub fn new(root: PathBuf) -> Completer {
        Completer { known: Arc::default(), files: Files::below(root) }
    }

    /// The tasks that there are now.
    pub fn set_tasks(&self, rows: &[TaskRow]) {
        let task = |row: &TaskRow| Task {
            is_over: row.status.is_over(),
            offer: Offer {
                name: row.id.to_string(),
                help: format!("{} · {}", state(row.status), one_line(&row.title)),
            },
        };
        let mut tasks: Vec<Task> = rows.iter().rev().map(task).collect();
        tasks.sort_by_key(|task| task.is_over);
        self.known().tasks = tasks;
    }

    /// The conversations that there are now, the latest first.
    pub fn set_sessions(&self, sessions: &[Summary]) {
        let offer = |session: &Summary| Offer { name: session.id.to_string(), help: one_line(&session.title) };
        self.known().sessions = sessions.iter().map(offer).collect();
    }

    /// The models that can be named, as `provider/model`.
    pub fn set_models(&self, models: Vec<Offer>) {
        self.known().models = models;
    }

    /// The models of the providers whose keys are at hand.
    pub fn set_models_of(&self, config: &Config) {
        let offers = usable(config).flat_map(|provider| {
            provider.models.iter().map(|model| {
                let window = model.window.map(|window| format!("window {}", story::count(window)));
                Offer { name: format!("{}/{}", provider.id, model.id), help: window.unwrap_or_default() }
            })
        });
        self.set_models(offers.collect());
    }

    /// Templates and skills, as they are now.
    pub fn set_vocabulary(&self, vocabulary: &Vocabulary) {
        let offers = vocabulary.names().into_iter().map(|(name, help)| Offer { name, help: one_line(&help) });
        self.set_words(offers.collect());
    }

    /// What can be said with a `/` besides the commands: templates and skills, named with it.
    pub fn set_words(&self, words: Vec<Offer>) {
        self.known().words = words;
    }

    /// Ends when other files were found than before, so that candidates may be asked for again. For one waiter.
    pub async fn changed(&self) {
        self.files.changed().await;
    }

    /// What the word before the cursor, a place in bytes, may become: at most [`MOST`], the best first. None where nothing is to be
    /// completed, and none where only what stands there already would be. Files that were not looked for yet are missing;
    /// see [`Completer::changed`]. Never waits for the disk.
    pub fn candidates(&self, text: &str, cursor: usize) -> Vec<Candidate> {
        let cursor = text.floor_char_boundary(cursor);
        let head = &text[..cursor];
        let from = word(head);
        let typed = &head[from..];
        let found = match (command(head), typed.strip_prefix('@')) {
            (Some(_), _) if from == 0 => self.commands(typed, from),
            (Some((name, 0)), _) => self.argument(name, typed, from),
            (_, Some(name)) => {
                let tasks = if from == 0 { self.addressees(name) } else { Vec::new() };
                tasks.into_iter().chain(self.mentions(name, from)).take(MOST).collect()
            }
            _ => Vec::new(),
        };
        let is_there = found.len() == 1 && found[0].insert.trim_end() == typed;
        if is_there { Vec::new() } else { found }
    }

    fn commands(&self, typed: &str, from: usize) -> Vec<Candidate> {
        let known = self.known();
        let command = COMMANDS.iter().map(|entry| (entry.name, entry.usage, entry.help));
        let words = known.words.iter().map(|offer| (offer.name.as_str(), "TEXT", offer.help.as_str()));
        let all: Vec<_> = command.chain(words).collect();
        let names = Names::of(all.iter().map(|(name, ..)| &name[1..]));
        let candidate = |at: usize| {
            let (name, usage, help) = all[at];
            let insert = if usage.is_empty() { name.to_owned() } else { format!("{name} ") };
            Candidate { insert, shown: name.to_owned(), help: help.to_owned(), from }
        };
        names.best(&typed[1..], MOST).into_iter().map(candidate).collect()
    }

    /// The first word behind a command, if it can be named.
    fn argument(&self, command: &str, typed: &str, from: usize) -> Vec<Candidate> {
        let Some(wanted) = wanted(command) else {
            return typed.strip_prefix('@').map(|name| self.mentions(name, from)).unwrap_or_default();
        };
        let known = self.known();
        let is_task = matches!(wanted, Wanted::Task);
        let offers: Vec<Offer> = match wanted {
            Wanted::Task => known.tasks.iter().map(|task| task.offer.clone()).collect(),
            Wanted::Session => known.sessions.clone(),
            Wanted::Model => known.models.clone(),
            Wanted::Effort => {
                Effort::WORDS.iter().map(|(word, _)| Offer { name: (*word).to_owned(), help: String::new() }).collect()
            }
            Wanted::Command => {
                let entry = |name: &str, help: &str| Offer { name: name[1..].to_owned(), help: help.to_owned() };
                let words = known.words.iter().map(|offer| entry(&offer.name, &offer.help));
                COMMANDS.iter().map(|command| entry(command.name, command.help)).chain(words).collect()
            }
            Wanted::File => {
                drop(known);
                return self.paths(typed, |path, is_open| end(path.to_owned(), is_open), from);
            }
        };
        let typed = if is_task { typed.trim_start_matches('@') } else { typed.trim_start_matches('/') };
        pick(&offers, typed, |name| format!("{name} "), from)
    }

    /// Workers that words can go to.
    fn addressees(&self, typed: &str) -> Vec<Candidate> {
        let known = self.known();
        let alive = known.tasks.iter().filter(|task| !task.is_over);
        let offers: Vec<Offer> = alive.map(|task| task.offer.clone()).collect();
        let addressed = pick(&offers, typed, |name| format!("@{name} "), 0)
            .into_iter()
            .map(|candidate| Candidate { shown: format!("@{}", candidate.shown), ..candidate });
        addressed.collect()
    }

    fn mentions(&self, typed: &str, from: usize) -> Vec<Candidate> {
        let (typed, is_quoted) = match typed.strip_prefix('"') {
            Some(typed) => (typed, true),
            None => (typed, false),
        };
        let mention = |path: &str, is_open: bool| match is_quoted || path.contains(' ') {
            true if is_open => format!("@\"{path}"),
            true => format!("@\"{path}\" "),
            false => end(format!("@{path}"), is_open),
        };
        self.paths(typed, mention, from)
    }

    fn paths(&self, typed: &str, insert: impl Fn(&str, bool) -> String, from: usize) -> Vec<Candidate> {
        let found = self.files.now();
        let places = found.names.best(typed.strip_prefix("./").unwrap_or(typed), MOST);
        let candidate = |at: usize| {
            let path = &found.paths[at];
            let (insert, shown) = (insert(path, path.ends_with('/')), path.clone());
            Candidate { insert, shown, help: String::new(), from }
        };
        places.into_iter().map(candidate).collect()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A folder is gone on in; behind all else the next word begins.
fn end(path: String, is_open: bool) -> String {
    if is_open { path } else { path + " " }
}

fn pick(offers: &[Offer], typed: &str, insert: impl Fn(&str) -> String, from: usize) -> Vec<Candidate> {
    let names = Names::of(offers.iter().map(|offer| offer.name.as_str()));
    let candidate = |at: usize| {
        let Offer { name, help } = offers[at].clone();
        Candidate { insert: insert(&name), shown: name, help, from }
    };
    names.best(typed, MOST).into_iter().map(candidate).collect()
}

/// Where the last word of a text begins; a mention may be in quotes, with blanks in it.
fn word(head: &str) -> usize {
    let quoted = head.rfind("@\"").filter(|at| {
        let is_word = head[..*at].chars().next_back().is_none_or(char::is_whitespace);
        is_word && !head[at + 2..].contains(['"', '\n'])
    });
    quoted.unwrap_or_else(|| {
        let last = head.char_indices().rev().find(|(_, c)| c.is_whitespace());
        last.map_or(0, |(at, c)| at + c.len_utf8())
    })
}

/// The command that a line begins with, and how many whole words stand behind it before the last.
fn command(head: &str) -> Option<(&str, usize)> {
    let mut words = head.strip_prefix('/').map(|_| head.split_whitespace())?;
    let name = words.next().unwrap_or("/");
    // A path at the start of a sentence is no command.
    let is_path = name[1..].contains('/');
    let is_open = !head.ends_with(char::is_whitespace);
    (!is_path).then(|| (name, words.count().saturating_sub(usize::from(is_open))))
}

/// What the first word behind a command names, as its usage says.
fn wanted(command: &str) -> Option<Wanted> {
    let entry = named(command)?;
    let first = entry.usage.split([' ', '[', ']']).find(|word| !word.is_empty())?;
    Some(match first {
        "t_001" => Wanted::Task,
        "ID" => Wanted::Session,
        "MODEL" => Wanted::Model,
        "LEVEL" => Wanted::Effort,
        "COMMAND" => Wanted::Command,
        "FILE" => Wanted::File,
        _ => return None,
    })
}

fn state(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Queued => "waits",
        TaskStatus::Running => "runs",
        TaskStatus::Parked => "asks",
        TaskStatus::Done => "done",
        TaskStatus::Failed => "failed",
        TaskStatus::Aborted => "aborted",
        TaskStatus::LimitTurns | TaskStatus::Partial => "at its limit",
        TaskStatus::Interrupted => "interrupted",
    }
}
