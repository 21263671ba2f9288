//! Questions of tasks: written down, told to people and to a main agent that may answer, answered by whoever comes first,
//! and closed at their deadline with the default. What a task does meanwhile is in `park`.

use std::time::Duration;

use jiff::Timestamp;
use ractor::{ActorRef, RpcReplyPort};
use tokio::time::Instant;

use super::answer::Replied;
use super::asking::{Asking, MOST_PATIENCE, Waiter, write_down};
use super::crew::{CrewMsg, State};
use super::feed::{News, Source};
use super::mail::{Letter, PERSON, Unsent};
use super::main_agent::MainMsg;
use super::park::{Held, ParkMsg, set_parked};
use super::pending::Pending;
use super::queue::{Doubt, Heard};
use super::roster::{Entry, Stage};
use super::{ControlError, leave};
use crate::config::Authority;
use crate::message::{NoteId, NoteKind};
use crate::task::{Asked as Fate, Asker, GIVE_UP, Question, TaskId, TaskStatus, now, one_line};

/// Questions of one task that are open at a time.
const MOST_OPEN: usize = 8;

/// Most characters of an answer where it is only called to mind.
const ANSWER: usize = 200;

/// When a default is tried again that could not be written down.
const AGAIN: Duration = Duration::from_secs(30);

/// Who took a default: nobody.
pub(super) const NOBODY: &str = "deadline";

/// Answers an answer.
pub(super) type Answered = RpcReplyPort<Result<Replied, ControlError>>;

/// What became of the note with an answer.
pub(super) type Sent = Result<NoteId, Unsent>;

/// An answer as it is ordered.
pub(super) struct Order {
    pub(super) words: String,
    /// `person` or `main`.
    pub(super) from: String,
    pub(super) reply: Answered,
}

/// What is given to a question.
pub(super) enum Given {
    Answer {
        text: String,
        from: String,
        reply: Answered,
    },
    /// Nobody answered.
    Silence,
}

impl State {
    pub(super) fn ask(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId, asking: Asking, waiter: Waiter) {
        let Some(entry) = self.tasks.get_mut(&id) else { return waiter.refuse(self.absent(id)) };
        let questions = &mut entry.parking.questions;
        if questions.open().count() + questions.writing >= MOST_OPEN {
            return self.unasked(id, waiter, ControlError::TooManyQuestions(id));
        }
        questions.writing += 1;
        let above = questions.all.iter().map(|pending| pending.question.number).max().unwrap_or_default();
        let parks = matches!(entry.stage, Stage::Parked);
        let (site, crew, dir) = (self.site.clone(), myself.clone(), entry.dir.clone());
        tokio::spawn(async move {
            let written = site.on_disk(move || {
                let asked = write_down(&dir, asking, above)?;
                if parks { set_parked(&dir).map(|()| asked) } else { Ok(asked) }
            });
            let asked = written.await.unwrap_or_else(Err).map(Box::new);
            // Without a crew there is nobody left to ask.
            let _ = crew.cast(CrewMsg::Park(ParkMsg::Asked(id, asked, waiter)));
        });
    }

    pub(super) fn asked(
        &mut self,
        myself: &ActorRef<CrewMsg>,
        id: TaskId,
        asked: Result<Box<Question>, String>,
        waiter: Waiter,
    ) {
        let Some(entry) = self.tasks.get_mut(&id) else { return waiter.refuse(self.absent(id)) };
        entry.parking.questions.written();
        match (asked, waiter) {
            (Ok(question), Waiter::Nobody) => self.enter(myself, *question),
            (Ok(question), Waiter::Tool(reply)) => {
                self.enter(myself, (*question).clone());
                let _ = reply.send(Ok(*question));
            }
            (Ok(question), Waiter::Gate(request, reply)) => {
                entry.parking.leaves.asked(request.key, question.number);
                self.enter(myself, (*question).clone());
                let _ = reply.send(leave::rests(&request, &question));
            }
            (Err(why), Waiter::Nobody) => {
                let words = format!("It was to ask something and could not: {why}");
                self.bury(myself, id, TaskStatus::Failed, words);
            }
            (Err(why), waiter) => self.unasked(id, waiter, ControlError::Files(why)),
        }
    }

    fn unasked(&mut self, id: TaskId, waiter: Waiter, why: ControlError) {
        if let (Waiter::Gate(request, _), Some(entry)) = (&waiter, self.tasks.get_mut(&id)) {
            entry.parking.leaves.forget(request.key);
        }
        waiter.refuse(why);
    }

    /// A question that is on the disk: its time runs, and whoever may answer is told.
    pub(super) fn enter(&mut self, myself: &ActorRef<CrewMsg>, question: Question) {
        let id = question.task;
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let left = Duration::try_from(question.deadline.duration_since(Timestamp::now())).unwrap_or_default();
        let due = Instant::now() + left.min(MOST_PATIENCE);
        self.clock.due.insert((due, id, question.number));
        entry.parking.questions.all.push(Pending { question: question.clone(), due, taken: false });
        if may_decide(&self.site.config.authority, &question) {
            let doubt = Box::new(Doubt { question: question.clone(), title: entry.brief.title.clone() });
            // A main agent that is gone is not asked; a person still is.
            let _ = entry.patron.main.cast(MainMsg::Question(Heard::Asked(doubt, self.site.busy.token())));
        }
        let is_of_order = question.asker == Asker::Dependency;
        self.site.feed.tell(Source::Task(id), News::Asked(question));
        self.clock.arm(myself);
        if is_of_order {
            // What it asks about may have changed while it was written down, or since an earlier program.
            self.look(myself, id);
        }
    }

    /// The words of somebody for a question.
    pub(super) fn answer(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId, number: Option<u32>, order: Order) {
        let Some(entry) = self.tasks.get_mut(&id) else { return drop(order.reply.send(Err(self.absent(id)))) };
        if matches!(entry.stage, Stage::Adopting(_)) {
            return entry.hold(Held::Order(number, order));
        }
        let Order { words, from, reply } = order;
        let question = match entry.parking.questions.pick(number) {
            Some(question) => question.clone(),
            None => return drop(reply.send(Err(ControlError::NoQuestion(id)))),
        };
        if question.asker == Asker::Permission && from != PERSON {
            return drop(reply.send(Err(ControlError::ForPerson { task: id, question: question.name() })));
        }
        let text = match question.choose(&words) {
            Ok(text) => text,
            Err(why) => return drop(reply.send(Err(ControlError::Unfit(why.to_string())))),
        };
        match &question.state {
            Fate::Open => self.give(myself, id, question.number, Given::Answer { text, from, reply }),
            Fate::Defaulted { .. } => {
                entry.parking.leaves.said(question.number, Some(&text));
                let letter = Letter { kind: NoteKind::Steer, text: question.afterthought(&text, &from), from };
                let replied =
                    Replied { task: id, question: question.number, answer: text, note: NoteId(0), late: true };
                self.late(myself, letter, replied, reply);
            }
            Fate::Answered { .. } | Fate::Moot { .. } => {
                let _ = reply.send(Err(closed(&question)));
            }
        }
    }

    /// The default is taken already, so that the answer can only change the course.
    fn late(&mut self, myself: &ActorRef<CrewMsg>, letter: Letter, replied: Replied, reply: Answered) {
        let id = replied.task;
        let (noted, sent) = ractor::concurrency::oneshot();
        tokio::spawn(async move {
            // The crew answers every note, or is gone.
            let sent = sent.await.unwrap_or(Err(ControlError::ShuttingDown));
            let _ = reply.send(sent.map(|note| Replied { note, ..replied }));
        });
        self.note(myself, id, letter, noted.into());
    }

    /// Writes the answer into the inbox of the worker; the question is settled when that is done.
    pub(super) fn give(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId, number: u32, given: Given) {
        let Some(entry) = self.tasks.get_mut(&id) else { return given.refuse(self.absent(id)) };
        if entry.is_between() {
            return entry.hold(Held::Answer(number, given));
        }
        let waits = entry.waits();
        let (Some(pending), Some(ears)) = (entry.parking.questions.find(number), &entry.ears) else {
            return given.refuse(ControlError::AlreadyEnded(id));
        };
        if pending.taken || !pending.question.is_open() {
            return given.refuse(closed(&pending.question));
        }
        pending.taken = true;
        let question = &pending.question;
        let answer = given.answer(question);
        if waits && question.asker != Asker::Worker && answer == GIVE_UP {
            return self.give_up(myself, id, number, given);
        }
        entry.parking.leaves.said(number, given.words());
        let (text, from) = match &given {
            Given::Answer { text, from, .. } => (question.reply(text, from), from.clone()),
            Given::Silence => (question.silence(), NOBODY.to_owned()),
        };
        let crew = myself.clone();
        ears.post.send(Letter { kind: NoteKind::Answer, text, from }, move |sent| {
            // Without a crew the note waits on the disk, and the next program finds it.
            let _ = crew.cast(CrewMsg::Park(ParkMsg::Given(id, number, given, sent)));
        });
    }

    /// What became of the note with an answer to a question, named by its task and its number in it.
    pub(super) fn given(&mut self, myself: &ActorRef<CrewMsg>, of: (TaskId, u32), given: Given, sent: Sent) {
        let (id, number) = of;
        let Some(entry) = self.tasks.get_mut(&id) else { return given.refuse(ControlError::AlreadyEnded(id)) };
        let Some(pending) = entry.parking.questions.find(number) else { return };
        pending.taken = false;
        let note = match sent {
            Ok(note) => note,
            Err(Unsent::TooLate(note)) => {
                let number = note.id;
                if let Some(inbox) = entry.ears.as_mut().and_then(|ears| ears.inbox.as_mut()) {
                    inbox.refill([note]);
                }
                number
            }
            // Its run has just closed its ears: it is known soon what comes after it.
            Err(Unsent::Ended(_)) => return self.give(myself, id, number, given),
            Err(Unsent::Full) => return self.not_given(myself, of, given, ControlError::NotesFull(id)),
            Err(Unsent::Unwritten(why)) => return self.not_given(myself, of, given, ControlError::Files(why)),
        };
        self.settle(id, number, given, note);
        self.rouse(id);
    }

    /// Nothing is written down, so the question is open still.
    fn not_given(&mut self, myself: &ActorRef<CrewMsg>, of: (TaskId, u32), given: Given, why: ControlError) {
        let (id, number) = of;
        if let Some(entry) = self.tasks.get_mut(&id) {
            entry.parking.leaves.unsaid(number);
        }
        if let Given::Silence = given {
            tracing::warn!(task = %id, %why, "a default could not be taken; it is tried again");
            self.clock.due.insert((Instant::now() + AGAIN, id, number));
            self.clock.arm(myself);
        }
        given.refuse(why);
    }

    /// It is answered: in its file, for whoever watches, and for a main agent that was to hear of it.
    fn settle(&mut self, id: TaskId, number: u32, given: Given, note: NoteId) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let Some(pending) = entry.parking.questions.find(number) else { return };
        let answer = given.answer(&pending.question);
        let (state, who) = match &given {
            Given::Answer { text, from, .. } => {
                (Fate::Answered { text: text.clone(), from: from.clone(), at: now() }, from.as_str())
            }
            Given::Silence => (Fate::Defaulted { at: now() }, "nobody in time, so by default"),
        };
        let line = format!("{} answered by {who}: {answer}", pending.question.name());
        pending.question.state = state;
        let (question, due) = (pending.question.clone(), pending.due);
        let (main, dir) = (entry.patron.main.clone(), entry.dir.clone());
        self.is_settled(&question, due, &main);
        let site = self.site.clone();
        tokio::spawn(async move {
            let written = site.on_disk(move || {
                let _ = dir.progress(&line);
                dir.settle(&question)
            });
            if let Ok(Err(error)) = written.await {
                tracing::warn!(%error, "the file of a question is behind");
            }
            if let Given::Answer { reply, .. } = given {
                let _ = reply.send(Ok(Replied { task: id, question: number, answer, note, late: false }));
            }
        });
    }

    /// Nobody needs to answer it any more: its time is over, and whoever watches or was to answer hears of it.
    pub(super) fn is_settled(&mut self, question: &Question, due: Instant, main: &ActorRef<MainMsg>) {
        self.clock.due.remove(&(due, question.task, question.number));
        self.site.feed.tell(Source::Task(question.task), News::Settled(question.clone()));
        // A main agent that is gone was not to answer.
        let _ = main.cast(MainMsg::Question(Heard::Settled(question.task, question.number)));
    }

    /// Chosen for a question of the runtime: the task is over without another model call.
    fn give_up(&mut self, myself: &ActorRef<CrewMsg>, id: TaskId, number: u32, given: Given) {
        let Some(pending) = self.tasks.get_mut(&id).and_then(|entry| entry.parking.questions.find(number)) else {
            return;
        };
        let who = match &given {
            Given::Answer { from, .. } => format!("{from} said so"),
            Given::Silence => "nobody answered in time".to_owned(),
        };
        let words = format!("Given up, {who}.\n\n{}", pending.question.text);
        self.queue.leave(id);
        self.settle(id, number, given, NoteId(0));
        self.bury(myself, id, TaskStatus::Failed, words);
    }

    pub(super) fn due(&mut self, myself: &ActorRef<CrewMsg>) {
        self.clock.armed = None;
        let now = Instant::now();
        while let Some((at, id, number)) = self.clock.due.first().copied().filter(|(at, ..)| *at <= now) {
            self.clock.due.remove(&(at, id, number));
            let is_open = |entry: &mut Entry| entry.parking.questions.find(number).is_some_and(|it| it.is_free());
            if self.tasks.get_mut(&id).is_some_and(is_open) {
                self.give(myself, id, number, Given::Silence);
            }
        }
        self.clock.arm(myself);
    }

    /// The task is over, so nobody needs an answer any more. Its files say so already.
    pub(super) fn close_questions(&mut self, entry: &mut Entry, status: TaskStatus) {
        for pending in entry.parking.questions.all.iter_mut().filter(|pending| pending.question.is_open()) {
            pending.question.state = Fate::Moot { why: moot(status) };
            self.is_settled(&pending.question, pending.due, &entry.patron.main);
        }
        let id = entry.dir.id();
        entry.refuse_held(&ControlError::AlreadyEnded(id));
    }
}

/// Whether a main agent may answer in a person's place. What the runtime asks is about how its task goes on, and that is
/// the dispatcher's to say.
pub(in crate::runtime) fn may_decide(authority: &Authority, question: &Question) -> bool {
    match question.asker {
        Asker::Worker => authority.covers(&question.wording()),
        Asker::Stuck | Asker::Dependency => true,
        Asker::Permission => false,
    }
}

/// Why a question of a task that has ended needs no answer.
pub(super) fn moot(status: TaskStatus) -> String {
    format!("the task has ended: {status}")
}

/// In what way a question is not open.
fn closed(question: &Question) -> ControlError {
    let how = match &question.state {
        Fate::Open => "an answer is just being written down".to_owned(),
        Fate::Answered { text, from, .. } => format!("{from} answered {}", one_line(text, ANSWER)),
        Fate::Defaulted { .. } => format!("the default was taken: {}", question.default),
        Fate::Moot { why } => why.clone(),
    };
    ControlError::Closed { task: question.task, question: question.name(), how }
}

impl Given {
    fn words(&self) -> Option<&str> {
        if let Given::Answer { text, .. } = self { Some(text) } else { None }
    }

    fn answer(&self, question: &Question) -> String {
        match self {
            Given::Answer { text, .. } => text.clone(),
            Given::Silence => question.default.clone(),
        }
    }

    pub(super) fn refuse(self, why: ControlError) {
        if let Given::Answer { reply, .. } = self {
            let _ = reply.send(Err(why));
        }
    }
}
