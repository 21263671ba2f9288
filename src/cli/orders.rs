//! `tillerman tasks steer|follow-up|answer|budget|abort|dispatch|resume|watch`: orders to the tillerman that works in the workspace, and what
//! became of them. Nothing is done here.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::json;
use super::{run, watch};
use crate::args::Tasks;
use crate::message::{BudgetError, Change, NoteId};
use crate::runtime::{Done, Order, Table};
use crate::server::control::{Client, Unanswered};
use crate::session::fate::{self, Fate};
use crate::task::{Brief, NoPriority, NoTaskId, Priority, TaskDir, TaskId};
use crate::terminal::Look;
use crate::terminal::clean::clean;
use crate::terminal::exit::{Exit, Signals};
use crate::workspace::Workspace;

/// How often it is looked whether a note was seen.
const LOOK: Duration = Duration::from_millis(100);

/// Looks after which it is asked whether anybody is still there to see it.
const THERE: u32 = 20;

/// What an order needs to know.
pub struct Setup<'a> {
    /// Where it is given.
    pub workspace: &'a Workspace,
    /// Colours or not.
    pub look: Look,
    /// JSON lines instead of text.
    pub json: bool,
    /// The terminal can be drawn on.
    pub in_place: bool,
}

/// Why an order was not given, or not done.
#[derive(Debug, thiserror::Error)]
pub enum NotOrdered {
    /// The id is none.
    #[error(transparent)]
    Id(#[from] NoTaskId),
    /// There are no words.
    #[error("{0}")]
    Words(String),
    /// Nobody did it; the sentence says why.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    /// It was given, but not seen.
    #[error("{0}")]
    Unseen(String),
    /// Nobody reads any more, or signals cannot be caught.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A note that was taken.
struct Taken {
    task: TaskId,
    note: NoteId,
}

/// Gives the orders of a command, one after the other; `None` for a command that gives none.
///
/// # Errors
/// [`NotOrdered`] for the first that was not done; the ones after it are not given.
pub async fn orders(command: &Tasks, setup: &Setup<'_>) -> Option<Result<Exit, NotOrdered>> {
    Some(match command {
        Tasks::Steer { id, text, wait } => note(id, text, *wait, setup, |task, text| Order::Steer { task, text }).await,
        Tasks::FollowUp { id, text, wait } => {
            note(id, text, *wait, setup, |task, text| Order::FollowUp { task, text }).await
        }
        Tasks::Answer { id, text, question } => answer(id, text, *question, setup).await,
        Tasks::Abort { ids } => abort(ids, setup).await,
        Tasks::Budget { id, change } => budget(id, change, setup).await,
        Tasks::Dispatch { text, title, agent, touches, rows, after, priority, approval, budget } => {
            let (title, agent, touches) = (title.clone().unwrap_or_default(), agent.clone(), touches.clone());
            let brief = Brief {
                title,
                agent,
                touches,
                budget: budget.unwrap_or_default(),
                approval: *approval,
                ..Brief::default()
            };
            match order(brief, after, priority.as_deref()) {
                Ok(brief) => dispatch(text, brief, rows.as_deref(), setup).await,
                Err(error) => Err(error),
            }
        }
        Tasks::Continue { id, text } => go_on(id, text, setup).await,
        Tasks::Resume { ids } => resume(ids, setup).await,
        Tasks::Watch => watch::watch(setup).await,
        Tasks::List | Tasks::Show { .. } | Tasks::Tail { .. } => return None,
    })
}

async fn note(
    id: &str,
    words: &[String],
    wait: bool,
    setup: &Setup<'_>,
    order: impl FnOnce(TaskId, String) -> Order,
) -> Result<Exit, NotOrdered> {
    let task: TaskId = id.parse()?;
    let text = run::prompt(words).map_err(NotOrdered::Words)?;
    let client = Client::new(setup.workspace);
    let note = match client.order(&order(task, text)).await? {
        Done::Queued { note } => note,
        other => return Err(strange(&other)),
    };
    let taken = Taken { task, note };
    setup.tell(&format!("{} queued {note}", setup.look.name(task)), taken.line("queued"))?;
    if wait { seen(&taken, &client, setup).await } else { Ok(Exit::Done) }
}

/// Waits until a note is in the worker's conversation, or never will be.
async fn seen(taken: &Taken, client: &Client, setup: &Setup<'_>) -> Result<Exit, NotOrdered> {
    let Taken { task, note } = taken;
    let mut signals = Signals::catch()?;
    let journal = setup.workspace.worker_sessions().join(format!("{task}.jsonl"));
    for look in 0_u32.. {
        // The end is looked for first: what was seen before it is then in the journal.
        let over = TaskDir::open(&setup.workspace.tasks(), *task).is_ok_and(|dir| matches!(dir.result(), Ok(Some(_))));
        match fate_of(&journal, *note) {
            Some(Fate::Seen { turn }) => {
                let mut line = taken.line("seen");
                line["turn"] = turn.into();
                setup.tell(&format!("{} {note} seen at turn {turn}", setup.look.name(task)), line)?;
                return Ok(Exit::Done);
            }
            Some(Fate::Dropped { why }) => return Err(NotOrdered::Unseen(format!("{task} never hears {note}: {why}"))),
            Some(Fate::Waits) | None if over => {
                let why =
                    format!("{task} ended before it heard {note}; the note waits, and is heard if the task goes on");
                return Err(NotOrdered::Unseen(why));
            }
            Some(Fate::Waits) | None => {}
        }
        if look % THERE == THERE - 1 {
            match client.order(&Order::Task { task: *task }).await {
                Err(Unanswered::Nobody { .. } | Unanswered::Broken(_)) => {
                    let why = format!(
                        "the tillerman that worked here has ended; {note} waits, and is heard if {task} goes on"
                    );
                    return Err(NotOrdered::Unseen(why));
                }
                other => drop(other?),
            }
        }
        tokio::select! {
            exit = signals.next() => return Ok(exit),
            () = sleep(LOOK) => {}
        }
    }
    Ok(Exit::Failed)
}

fn fate_of(journal: &Path, note: NoteId) -> Option<Fate> {
    let sent = fate::sent(journal).ok()?;
    sent.into_iter().find(|sent| sent.posted.note.id == note).map(|sent| sent.fate)
}

async fn answer(id: &str, words: &[String], question: Option<u32>, setup: &Setup<'_>) -> Result<Exit, NotOrdered> {
    let task: TaskId = id.parse()?;
    let text = run::prompt(words).map_err(NotOrdered::Words)?;
    match Client::new(setup.workspace).order(&Order::Answer { task, question, text }).await? {
        Done::Answered(replied) => {
            let line = json!({
                "v": json::VERSION, "type": "answered", "agent": task, "question": replied.question,
                "answer": replied.answer, "note": replied.note, "late": replied.late,
            });
            setup.tell(&clean(&replied.to_string()), line)?;
            Ok(Exit::Done)
        }
        other => Err(strange(&other)),
    }
}

async fn abort(ids: &[String], setup: &Setup<'_>) -> Result<Exit, NotOrdered> {
    let client = Client::new(setup.workspace);
    for task in tasks(ids)? {
        client.order(&Order::Abort { task }).await?;
        let line = json!({"v": json::VERSION, "type": "stopping", "agent": task});
        setup.tell(&format!("{} is told to stop", setup.look.name(task)), line)?;
    }
    Ok(Exit::Done)
}

/// A brief with its place among the others.
fn order(brief: Brief, after: &[String], priority: Option<&str>) -> Result<Brief, NotOrdered> {
    let priority = priority.map_or(Ok(Priority::Normal), str::parse);
    let priority = priority.map_err(|error: NoPriority| NotOrdered::Words(error.to_string()))?;
    Ok(Brief { after: tasks(after)?, priority, ..brief })
}

/// One task, or one for each row of a file: all of them or none.
async fn dispatch(words: &[String], brief: Brief, rows: Option<&Path>, setup: &Setup<'_>) -> Result<Exit, NotOrdered> {
    let body = run::prompt(words).map_err(NotOrdered::Words)?;
    let brief = Box::new(Brief { body, ..brief });
    let order = match rows {
        None => Order::Dispatch { brief, session: None },
        Some(file) => {
            let file = std::path::absolute(file)?;
            // Looked at here first, where its name is understood and nobody need be at work.
            Table::File(file.clone()).fill(&brief).map_err(|why| NotOrdered::Words(why.to_string()))?;
            Order::Batch { brief, table: Table::File(file), session: None }
        }
    };
    let tasks = match Client::new(setup.workspace).order(&order).await? {
        Done::Dispatched { task } => vec![task],
        Done::Batch(batch) => batch.tasks,
        other => return Err(strange(&other)),
    };
    for task in tasks {
        let line = json!({"v": json::VERSION, "type": "dispatched", "agent": task});
        setup.tell(&format!("{} dispatched", setup.look.name(task)), line)?;
    }
    Ok(Exit::Done)
}

async fn resume(ids: &[String], setup: &Setup<'_>) -> Result<Exit, NotOrdered> {
    let client = Client::new(setup.workspace);
    for task in tasks(ids)? {
        match client.order(&Order::Resume { task, session: None, text: None }).await? {
            Done::Resumed(resumed) => {
                let line = json!({"v": json::VERSION, "type": "resumed", "agent": task, "attempt": resumed.attempt});
                setup.tell(&format!("{} goes on: attempt {}", setup.look.name(task), resumed.attempt), line)?;
            }
            other => return Err(strange(&other)),
        }
    }
    Ok(Exit::Done)
}

async fn budget(id: &str, change: &[String], setup: &Setup<'_>) -> Result<Exit, NotOrdered> {
    let task: TaskId = id.parse()?;
    let change = (!change.is_empty()).then(|| change.join(" ").parse::<Change>()).transpose();
    let change = change.map_err(|error: BudgetError| NotOrdered::Words(error.to_string()))?;
    match Client::new(setup.workspace).order(&Order::Budget { task, change }).await? {
        Done::Budgeted(told) => {
            let line = json!({"v": json::VERSION, "type": "budget", "agent": task, "balance": told.balance});
            setup.tell(&format!("{} {}", setup.look.name(task), told.balance), line)?;
            Ok(Exit::Done)
        }
        other => Err(strange(&other)),
    }
}

async fn go_on(id: &str, words: &[String], setup: &Setup<'_>) -> Result<Exit, NotOrdered> {
    let task: TaskId = id.parse()?;
    let text = Some(run::prompt(words).map_err(NotOrdered::Words)?);
    match Client::new(setup.workspace).order(&Order::Resume { task, session: None, text }).await? {
        Done::Resumed(resumed) => {
            let line = json!({"v": json::VERSION, "type": "resumed", "agent": task, "attempt": resumed.attempt});
            setup.tell(&format!("{} goes on: attempt {}", setup.look.name(task), resumed.attempt), line)?;
            Ok(Exit::Done)
        }
        other => Err(strange(&other)),
    }
}

fn tasks(ids: &[String]) -> Result<Vec<TaskId>, NoTaskId> {
    ids.iter().map(|id| id.parse()).collect()
}

pub(super) fn strange(done: &Done) -> NotOrdered {
    let told = serde_json::to_string(done).unwrap_or_default();
    NotOrdered::Unseen(format!(
        "the answer is none to this order; is it another version of tillerman? {}",
        clean(&told)
    ))
}

impl Taken {
    fn line(&self, kind: &str) -> Value {
        json!({"v": json::VERSION, "type": kind, "agent": self.task, "note": self.note})
    }
}

impl Setup<'_> {
    fn tell(&self, text: &str, line: Value) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if self.json {
            writeln!(out, "{line}")?
        } else {
            writeln!(out, "{text}")?
        }
        out.flush()
    }
}

impl NotOrdered {
    /// Nobody works there, so that it may be done here.
    pub fn is_alone(&self) -> bool {
        matches!(self, NotOrdered::Unanswered(Unanswered::Nobody { .. }))
    }

    /// The reader of stdout has gone, which is no fault.
    pub fn nobody_reads(&self) -> bool {
        matches!(self, NotOrdered::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What the program ends with.
    pub fn exit(&self) -> Exit {
        match self {
            NotOrdered::Id(_) | NotOrdered::Words(_) => Exit::Usage,
            NotOrdered::Unanswered(_) | NotOrdered::Unseen(_) | NotOrdered::Io(_) => Exit::Failed,
        }
    }
}
