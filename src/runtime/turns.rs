//! Whose turn it is: who begins when a place is free, after a last look at its files; who is held back again by them, and
//! who is asked first. What is found in the files is decided in `order`, how questions go about in `ask`.

use std::collections::{BTreeSet, HashSet};

use ractor::{Actor, ActorRef};

use super::asking::{self, Asking};
use super::crew::{CrewMsg, State};
use super::feed::{News, Source};
use super::job::Job;
use super::mail::Ears;
use super::order::{self, Looked};
use super::roster::{Entry, Stage};
use super::waiting::Rank;
use super::worker::{Assignment, Worker};
use crate::task::{Asked, Asker, GIVE_UP, TaskId, TaskStatus};

/// The looks at task.md of those that wait.
#[derive(Default)]
pub(super) struct Looks {
    /// Being read.
    under_way: HashSet<TaskId>,
    /// Nothing stands against their beginning at this moment.
    clear: HashSet<TaskId>,
    /// Ends of tasks so far: a file that was read before one may be behind.
    ends: u64,
}

impl Looks {
    /// Its files were written or read just now, and it comes after nothing.
    pub(super) fn is_clear(&mut self, id: TaskId) {
        self.clear.insert(id);
    }
}

impl State {
    /// Starts what waits, in order, as long as there are places. Each is looked at first.
    pub(super) async fn advance(&mut self, myself: &ActorRef<CrewMsg>) {
        while !self.site.is_closing() {
            let free = self.site.config.crew.running.saturating_sub(self.running);
            if free == 0 {
                // Who goes on waiting may be changed meanwhile.
                return self.looks.clear.clear();
            }
            let next = self.queue.first(free);
            for id in &next {
                let waits = self.tasks.get(id).filter(|entry| matches!(entry.stage, Stage::Queued));
                match waits {
                    // What it came after, it has seen.
                    Some(entry) if entry.began => self.looks.is_clear(*id),
                    Some(_) if !self.looks.clear.contains(id) => self.look(myself, *id),
                    Some(_) | None => {}
                }
            }
            let Some(id) = next.first().copied().filter(|id| self.looks.clear.remove(id)) else { return };
            self.queue.leave(id);
            self.start(myself, id).await;
        }
    }

    async fn start(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let Some((post, inbox)) = entry.ears.as_mut().and_then(Ears::open) else { return };
        let known = entry.has_rested().then(|| entry.brief.clone());
        let is_new = !(entry.began && entry.has_rested());
        entry.began = true;
        let (meter, begun) = entry.begin();
        let job = Job {
            site: self.site.clone(),
            crew: myself.clone(),
            patron: entry.patron.clone(),
            dir: entry.dir.clone(),
            title: entry.brief.title.clone(),
            attempt: entry.attempt,
            meter: meter.clone(),
            begun,
            known,
        };
        let assignment = Assignment { job, crew: myself.clone(), tiller: post.tiller, inbox };
        match Actor::spawn_linked(None, Worker, assignment, myself.get_cell()).await {
            Ok((worker, _)) => {
                entry.stage = Stage::Running { worker, meter, begun };
                self.running += 1;
                let title = entry.brief.title.clone();
                if is_new {
                    self.site.feed.tell(Source::Task(id), News::TaskStarted { title });
                }
            }
            Err(error) => self.bury(myself, id, TaskStatus::Failed, format!("no worker could be started: {error}")),
        }
    }

    /// A task that could not be taken on.
    pub(super) fn forget(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId) {
        self.queue.leave(id);
        self.tasks.remove(&id);
        self.site.ledger.close(&id.to_string());
        self.release(myself, id);
    }

    /// Has the files of a task read that waits.
    pub(super) fn look(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId) {
        let Some(entry) = self.tasks.get(&id) else { return };
        self.looks.clear.remove(&id);
        if !self.looks.under_way.insert(id) {
            return;
        }
        let (site, crew, known, ends) = (self.site.clone(), myself.clone(), entry.brief.clone(), self.looks.ends);
        let tasks = self.site.config.workspace.tasks();
        tokio::spawn(async move {
            let looked = site.on_disk(move || order::look(&tasks, id, &known)).await;
            let looked = looked.unwrap_or_else(|panic| Looked { doubts: vec![panic], ..Looked::default() });
            // A crew that is gone begins nothing.
            let _ = crew.cast(CrewMsg::Looked(id, Box::new(looked), ends));
        });
    }

    /// What the files of a task say that waits, read when so many tasks had ended.
    pub(super) fn looked(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId, looked: Looked, ends: u64) {
        self.looks.under_way.remove(&id);
        let Looked { brief, open, circle, mut doubts, missed } = looked;
        let is_away = |before: &&TaskId| !self.tasks.contains_key(before);
        let away: Vec<String> = open.iter().filter(is_away).map(TaskId::to_string).collect();
        if ends != self.looks.ends && !away.is_empty() {
            // It may have ended since: now its files tell how.
            return self.look(myself, id);
        }
        let waits = |entry: &&mut Entry| !entry.began && matches!(entry.stage, Stage::Queued | Stage::Parked);
        let Some(entry) = self.tasks.get_mut(&id).filter(waits) else { return };
        entry.brief = brief.unwrap_or_else(|| std::mem::take(&mut entry.brief));
        let (rank, after) = (Rank::from(entry.brief.priority), entry.brief.after.clone());
        let waits = |before: &TaskId| *before != id && !circle.contains(before) && self.tasks.contains_key(before);
        let after: BTreeSet<TaskId> = after.into_iter().filter(waits).collect();
        if after.is_empty() {
            // It rests, and nobody has opened its conversation.
            let away = (!away.is_empty())
                .then(|| format!("It comes after what nobody is at: {}. Go on without?", away.join(", ")));
            doubts.extend(missed.into_iter().chain(away));
        }
        let Some(entry) = self.tasks.get(&id) else { return };
        if matches!(entry.stage, Stage::Parked) {
            return self.reconsider(id, &doubts);
        }
        match doubts.into_iter().find(|doubt| !entry.was_asked(doubt)) {
            Some(doubt) => self.park_with(myself, id, asking(doubt)),
            None => self.place(id, rank, after),
        }
    }

    /// Where a task stands after a look that found nothing against it: in the line, or beside it.
    fn place(&mut self, id: TaskId, rank: Rank, after: BTreeSet<TaskId>) {
        let (was_held, before) = (self.queue.ahead(id).is_none(), self.queue.after(id));
        if !after.is_empty() {
            let is_news = after.iter().any(|it| !before.contains(it));
            self.queue.leave(id);
            self.queue.hold(id, after);
            return if is_news {
                self.waits(id)
            };
        }
        if was_held {
            self.queue.leave(id);
            self.queue.join(id, rank);
        }
        self.looks.is_clear(id);
    }

    /// A task is over, or has become another one for those that come after it: they are looked at.
    pub(super) fn release(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId) {
        self.looks.ends += 1;
        for (waiting, free) in self.queue.over(id) {
            let Some(entry) = self.tasks.get(&waiting) else { continue };
            match free {
                true => self.queue.join(waiting, Rank::from(entry.brief.priority)),
                false => self.look(myself, waiting),
            }
        }
        self.stir(myself, id);
    }

    /// Tasks that rest because of what this one left them without are looked at again.
    pub(super) fn stir(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId) {
        let rests = |entry: &Entry| matches!(entry.stage, Stage::Parked) && entry.brief.after.contains(&id);
        let resting: Vec<TaskId> =
            self.tasks.iter().filter(|(_, entry)| rests(entry) && !entry.began).map(|(id, _)| *id).collect();
        resting.into_iter().for_each(|id| self.look(myself, id));
    }

    /// A task that rests for what it asks of its forerunners: where that is there now, nobody needs to answer any more.
    fn reconsider(&mut self, id: TaskId, doubts: &[String]) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let pending =
            entry.parking.questions.all.iter_mut().find(|it| it.is_free() && it.question.asker == Asker::Dependency);
        let Some(pending) = pending.filter(|it| !doubts.iter().any(|doubt| is_same(&it.question.text, doubt))) else {
            return;
        };
        let why = if doubts.is_empty() { "nothing is missing any more" } else { "something else is missing now" };
        pending.question.state = Asked::Moot { why: why.to_owned() };
        let (question, due, main, dir) =
            (pending.question.clone(), pending.due, entry.patron.main.clone(), entry.dir.clone());
        self.is_settled(&question, due, &main);
        let site = self.site.clone();
        tokio::spawn(async move {
            let line = format!("{} needs no answer: {why}", question.name());
            let written = site.on_disk(move || {
                // A file for people, and no reason to stop.
                let _ = dir.progress(&line);
                dir.settle(&question)
            });
            if let Ok(Err(error)) = written.await {
                tracing::warn!(%error, "the file of a question is behind");
            }
        });
        self.rouse(id);
    }
}

impl Entry {
    /// That this was asked of it before, and is asked still or was answered: it goes on in spite of it.
    fn was_asked(&self, doubt: &str) -> bool {
        let asked = self.parking.questions.all.iter().map(|pending| &pending.question);
        let stands = |state: &Asked| matches!(state, Asked::Open | Asked::Answered { .. });
        asked.into_iter().any(|it| it.asker == Asker::Dependency && stands(&it.state) && is_same(&it.text, doubt))
    }
}

/// A question may have been cut where it was written down.
fn is_same(asked: &str, doubt: &str) -> bool {
    asked == doubt || (asked.chars().count() >= asking::TEXT && doubt.starts_with(asked))
}

/// What is asked in the name of a task whose turn has come.
fn asking(doubt: String) -> Asking {
    Asking {
        text: doubt,
        options: vec!["go on".to_owned(), GIVE_UP.to_owned()],
        default: GIVE_UP.to_owned(),
        patience: asking::PATIENCE,
        asker: Asker::Dependency,
    }
}
