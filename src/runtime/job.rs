//! One run of a worker, on its own task: read the brief, build the agent, run, close the task. Journal first, files
//! second. Knows what a task needs, not when its turn comes.

use std::path::Path;
use std::sync::Arc;

use ractor::ActorRef;

use super::control::{Control, Door, Ration};
use super::crew::CrewMsg;
use super::evidence::Evidence;
use super::feed::Source;
use super::handover;
use super::launch::{Home, Run, fly};
use super::mail::Ears;
use super::meter::{Begun, Meter};
use super::park::Carried;
use super::records::Recorded;
use super::roster::Patron;
use super::site::Site;
use super::{ask, assemble, park};
use crate::agent::Agent;
use crate::agent::inbox::Inbox;
use crate::event::{AgentEvent, Ending, Events, Observer};
use crate::message::{Message, Note, Role, Spent, Tally, Usage};
use crate::session::{End, Record, Session, SessionError};
use crate::task::{Brief, Progress, Task, TaskDir, TaskError, TaskId, TaskReport, TaskStatus, Track, now};

/// What a worker is to do, and for whom.
pub(super) struct Job {
    pub(super) site: Arc<Site>,
    pub(super) crew: ActorRef<CrewMsg>,
    /// Gets the report, also of what the worker dispatches, if it may.
    pub(super) patron: Patron,
    pub(super) dir: TaskDir,
    pub(super) title: String,
    /// From 1.
    pub(super) attempt: u32,
    pub(super) meter: Arc<Meter>,
    pub(super) begun: Begun,
    /// What it was asked, of a task that has rested: a hand may have broken task.md meanwhile.
    pub(super) known: Option<Brief>,
}

impl Job {
    pub(super) fn id(&self) -> TaskId {
        self.dir.id()
    }
}

/// The whole task, from task.md to result.md, or from one rest to the next. Never fails: a fault is a report too.
pub(super) async fn carry_out(job: Job, inbox: Inbox) -> Carried {
    let job = Arc::new(job);
    let ration = Arc::new(Ration::default());
    let mut before = Tally::default();
    let mut seen = None;
    let home = match prepare(job.clone(), ration.clone()).await {
        Ok(Prepared { agent, session, evidence, before: paid, opening }) => {
            (before, seen) = (paid, Some(evidence.clone()));
            job.meter.window(agent.limits.context_window);
            let (id, model) = (job.id().to_string(), agent.model.id().to_string());
            let recorded = Recorded {
                session: &job.patron.session,
                agent: &id,
                model,
                opening: &opening,
                call: job.patron.call.clone(),
            };
            let own: Arc<dyn Observer> = evidence;
            let events = events(&job, ration, job.site.records.watch(&recorded).into_iter().chain([own]));
            fly(Run { agent, session, inbox, events }).await
        }
        Err(why) => {
            let events = events(&job, ration, []);
            let ending = Ending::Failed { why: why.clone() };
            events.emit(&AgentEvent::RunStarted);
            events.emit(&AgentEvent::Failed { why });
            events.emit(&AgentEvent::RunEnded { ending: ending.clone() });
            Home { session: None, ending, fault: None, interrupted: false, unheard: Vec::new() }
        }
    };
    let home = match park::rests(&job, home).await {
        Ok(rests) => return rests,
        Err(home) => home,
    };
    let mut report = report(&job, home, before);
    if let Some(seen) = seen {
        seen.fill(&mut report);
        // A fault there costs a list that is only for help.
        report.changed = job.site.on_disk(move || seen.changed()).await.unwrap_or_default();
    }
    Carried::Over(Box::new(close(&job.site, job.dir.clone(), report).await))
}

/// Writes result.md. If the disk refuses, the report says so: it is then the only place with the answer.
pub(super) async fn close(site: &Site, dir: TaskDir, mut report: TaskReport) -> TaskReport {
    let mut written = report.clone();
    let finish = move || {
        written.assumptions = dir.close_questions(&ask::moot(written.status));
        written.total = dir.total(&written);
        dir.finish(&written).map(|()| written)
    };
    let why = match site.on_disk(finish).await {
        Ok(Ok(written)) => return written,
        Ok(Err(error)) => error.to_string(),
        Err(panic) => panic,
    };
    tracing::error!(task = %report.id, %why, "result.md could not be written");
    report.answer.push_str(&format!("\n\n(result.md could not be written: {why})"));
    report
}

/// Closes a task that has no worker to close it. What it was told and did not hear is not hidden.
pub(super) async fn bury(site: &Site, ears: Option<Ears>, dir: TaskDir, mut report: TaskReport) -> TaskReport {
    let journal = site.journal(report.id);
    let look = move || ears.map_or(Ok(Vec::new()), |ears| ears.post.unheard(&journal));
    match site.on_disk(look).await.map(|unheard| unheard.map_err(|error| error.to_string())) {
        Ok(Ok(unheard)) => report.answer.push_str(&too_late(&unheard)),
        Ok(Err(why)) | Err(why) => tracing::warn!(task = %report.id, %why, "it is not known which notes were heard"),
    }
    close(site, dir, report).await
}

fn events(job: &Job, ration: Arc<Ration>, records: impl IntoIterator<Item = Arc<dyn Observer>>) -> Events {
    let progress: Arc<dyn Observer> = Arc::new(Progress::of(job.dir.clone()));
    let feed = job.site.feed.watch(Source::Task(job.id()));
    let track: Arc<dyn Observer> = Arc::new(Track::of(job.dir.clone()));
    let own: [Arc<dyn Observer>; 5] = [job.meter.clone(), ration, progress, track, feed];
    Events::to(own.into_iter().chain(records)).without(&job.site.config.secrets)
}

struct Prepared {
    agent: Agent,
    session: Session,
    evidence: Arc<Evidence>,
    /// Of earlier attempts.
    before: Tally,
    opening: String,
}

/// Reads the brief as it is now (a hand may have improved it while it waited), and opens the journal with it.
async fn prepare(job: Arc<Job>, ration: Arc<Ration>) -> Result<Prepared, String> {
    let site = job.site.clone();
    let prepared = site.on_disk(move || {
        let task = brief(&job).map_err(|error| error.to_string())?;
        let control = Control {
            crew: Door::to(job.crew.clone(), job.site.clone()),
            own: job.id().to_string(),
            patron: job.patron.clone(),
            depth: task.brief.depth,
            ration,
            tiller: None,
        };
        let mut agent = assemble::worker(&job.site, &task, control)?;
        let path = job.site.journal(job.id());
        let opened = journal(&path, &task, &job.site).map_err(|error| error.to_string())?;
        let Opened { session, opening, goes_on } = opened;
        let evidence = Evidence::of(agent.tools.clone(), job.site.config.workspace.root(), job.dir.path());
        evidence.recall(session.context());
        let mut before = session.bill().total();
        if goes_on {
            before = Tally::default();
            job.dir.earlier(task.attempt).iter().for_each(|report| before.add(report.tally()));
            let spent = session.bill().total().since(before);
            if before == Tally::default() {
                job.meter.go_on(session.bill().clone());
            }
            agent.limits.max_turns = agent.limits.max_turns.map(|most| most.saturating_sub(spent.calls));
        }
        Ok(Prepared { agent, session, evidence: Arc::new(evidence), before, opening })
    });
    prepared.await.unwrap_or_else(|panic| Err(format!("a fault inside the program: {panic}")))
}

/// The task as its file says now. One that has rested goes on as it was asked when that file makes no sense any more.
fn brief(job: &Job) -> Result<Task, TaskError> {
    let read = job.dir.task().and_then(|task| job.dir.set_status(TaskStatus::Running).map(|()| task));
    match (read, &job.known) {
        (Ok(task), _) => Ok(Task { attempt: job.attempt, ..task }),
        (Err(error @ (TaskError::Markdown { .. } | TaskError::Budget { .. })), Some(brief)) => {
            tracing::warn!(%error, "a task goes on as it was asked at first");
            // A file for people, and no reason to stop.
            let _ = job.dir.progress(&format!("goes on as it was asked at first: {error}"));
            let (dir, brief) = (job.dir.clone(), brief.clone());
            Ok(Task { dir, status: TaskStatus::Running, created: now(), attempt: job.attempt, brief })
        }
        (Err(error), _) => Err(error),
    }
}

/// A journal in which a run may begin.
struct Opened {
    session: Session,
    /// What it begins with.
    opening: String,
    /// It begins with nothing new: the attempt has rested, and its notes say what is new.
    goes_on: bool,
}

/// The journal at the beginning of an attempt, and what that begins with: the brief, or where it goes on from.
fn journal(path: &Path, task: &Task, site: &Site) -> Result<Opened, SessionError> {
    let (durability, secrets) = (site.durability(), &site.config.secrets);
    let found = if path.exists() { Some(Session::open(path)?) } else { None };
    let rests = |session: &Session| {
        session.attempt().max(1) == task.attempt && matches!(session.end(), Some(End::Parked | End::Stuck { .. }))
    };
    // The brief is all there is of a task that was ended before it began.
    let mut session = match found {
        Some(session) if rests(&session) => {
            let opening = format!("{} goes on after its rest", task.dir.id());
            let mut session = session.with_durability(durability);
            session.keep_from(secrets);
            return Ok(Opened { session, opening, goes_on: true });
        }
        Some(session) if task.attempt > 1 => session.with_durability(durability),
        Some(_) => return Err(SessionError::Exists(path.to_owned())),
        None => Session::create_named(path)?.with_durability(durability),
    };
    session.keep_from(secrets);
    session.append(Record::Attempt { number: task.attempt })?;
    if session.context().is_empty() {
        let opening = secrets.hide_known(&opening(task)).into_owned();
        session.append(Record::user(opening.clone()))?;
        let tasks = task.dir.path().parent().unwrap_or(task.dir.path());
        if let Some(words) = handover::words(tasks, &task.brief.after) {
            session.append(Record::Reminder { message: Arc::new(Message::user(words)) })?;
        }
        return Ok(Opened { session, opening, goes_on: false });
    }
    let words = again(task);
    session.append(Record::Reminder { message: Arc::new(Message::user(words.clone())) })?;
    Ok(Opened { session, opening: words, goes_on: false })
}

/// What a worker reads that goes on after an end. Nothing of what it did is repeated for it.
fn again(task: &Task) -> String {
    let last = task.dir.earlier(task.attempt).pop().map(|report| report.status);
    let how = match last {
        Some(TaskStatus::Interrupted) | None => "was interrupted: the program ended",
        Some(TaskStatus::Aborted) => "was aborted by a person",
        Some(TaskStatus::Done) => "was done; what is wanted now is said below",
        Some(TaskStatus::LimitTurns) => "used up its turns",
        Some(TaskStatus::Partial) => "used up its budget",
        Some(_) => "failed",
    };
    format!(
        "This is attempt {} at task {}. The one before {how}. What it did is above; none of it is run again for you, and \
         what a call did that has no answer of its own is unknown. Look at what is there before you repeat a step, then \
         go on with the task.",
        task.attempt,
        task.dir.id()
    )
}

/// The first message of a worker: its brief, under the task's number and title.
fn opening(task: &Task) -> String {
    format!("Task {}: {}\n\n{}", task.dir.id(), task.brief.title, task.brief.body)
}

fn report(job: &Job, home: Home, before: Tally) -> TaskReport {
    let last_words = || home.session.as_ref().map(last_words).unwrap_or_default();
    let (status, mut answer) = match home.ending {
        Ending::Completed { answer } => (TaskStatus::Done, answer),
        Ending::TurnLimit { answer } => (TaskStatus::LimitTurns, answer),
        Ending::BudgetSpent { what, answer } => match answer.trim() {
            "" => (TaskStatus::Partial, after(&format!("Used up: {what}."), &last_words())),
            _ => (TaskStatus::Partial, format!("Budget used up: {what}.\n\n{answer}")),
        },
        Ending::Stuck { evidence } => (TaskStatus::Failed, after(&evidence, &last_words())),
        Ending::Parked => (TaskStatus::Failed, after("It waited for an answer that cannot come.", &last_words())),
        Ending::Failed { why } => (TaskStatus::Failed, after(&why, &last_words())),
        Ending::Aborted if home.interrupted => {
            (TaskStatus::Interrupted, after("The program ended before the task did.", &last_words()))
        }
        Ending::Aborted => (TaskStatus::Aborted, after("Aborted before it was done.", &last_words())),
    };
    answer.push_str(&too_late(&home.unheard));
    let mut report = TaskReport {
        id: job.id(),
        title: job.title.clone(),
        attempt: job.attempt,
        status,
        answer,
        turns: 0,
        usage: Usage::default(),
        spent: Spent::default(),
        started: None,
        ended: now(),
        took: std::time::Duration::ZERO,
        dir: job.dir.path().to_owned(),
        verified: Vec::new(),
        files: Vec::new(),
        changed: Vec::new(),
        assumptions: Vec::new(),
        total: Spent::default(),
    };
    job.meter.fill(&mut report, job.begun);
    if let Some(session) = &home.session {
        // The journal knows of calls too that no event told of.
        let Tally { usage, spent, .. } = session.bill().total().since(before);
        (report.usage, report.spent) = (usage, spent);
    }
    report
}

/// What the worker said last, so that a stopped task still tells how far it came.
fn last_words(session: &Session) -> String {
    let spoken = session.context().iter().rev().filter(|message| message.role == Role::Assistant);
    spoken.map(|message| message.text()).find(|text| !text.trim().is_empty()).unwrap_or_default()
}

fn after(what: &str, last_words: &str) -> String {
    match last_words.trim() {
        "" => format!("{what}\n"),
        words => format!("{what}\n\nIts last words before that:\n\n{words}\n"),
    }
}

/// Notes were acknowledged; that they were not heard must not be hidden.
fn too_late(unheard: &[Note]) -> String {
    if unheard.is_empty() {
        return String::new();
    }
    let notes: Vec<String> = unheard.iter().map(|note| format!("- {} {}", note.id, note.text)).collect();
    format!("\n\nNotes that came too late to be heard:\n\n{}\n", notes.join("\n"))
}
