//! The crew's door: what actors are asked by message becomes a plain async call with a plain error.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ractor::rpc::CallResult;
use ractor::{ActorRef, RpcReplyPort};

use crate::config::Authority;
use crate::message::{Budget, NoteId};
use crate::model::ModelId;
use crate::runtime::adopt::Adoption;
use crate::runtime::answer::Replied;
use crate::runtime::ask::Order;
use crate::runtime::asking::{Asking, Waiter};
use crate::runtime::assemble;
use crate::runtime::call::Caller;
use crate::runtime::crew::CrewMsg;
use crate::runtime::feed::{News, Source};
use crate::runtime::leave::Filed;
use crate::runtime::mail::Letter;
use crate::runtime::order;
use crate::runtime::park::ParkMsg;
use crate::runtime::purse::{self, Grant};
use crate::runtime::roster::{Dispatched, Patron};
use crate::runtime::site::Site;
use crate::runtime::{ControlError, TaskDetail, TaskRow};
use crate::task::{self, Brief, Question, Task, TaskDir, TaskError, TaskId, TaskReport, TaskStatus, one_line};
use crate::tools::gate::{Answer, Request};

/// Longest title made from a brief, in characters.
const TITLE: usize = 60;

/// What Markdown puts around a line.
const MARKS: [char; 7] = ['#', '-', '*', '`', '>', ' ', '\t'];

/// How long the crew may take to answer. Its handlers wait for nothing, so only a machine without air comes near this.
const ANSWER: Duration = Duration::from_secs(30);

/// How much longer for each row of a batch, whose files are written before it answers.
const EACH_ROW: Duration = Duration::from_millis(200);

/// The way to the crew.
#[derive(Clone)]
pub(in crate::runtime) struct Door {
    crew: ActorRef<CrewMsg>,
    site: Arc<Site>,
}

impl Door {
    pub(in crate::runtime) fn to(crew: ActorRef<CrewMsg>, site: Arc<Site>) -> Door {
        Door { crew, site }
    }

    /// What runs and commands share.
    pub(in crate::runtime) fn site(&self) -> Arc<Site> {
        self.site.clone()
    }

    pub(in crate::runtime) async fn dispatch(&self, brief: Brief, patron: Patron) -> Result<TaskId, ControlError> {
        self.grant(brief, patron).await.map(|(id, _)| id)
    }

    /// Hands work to the crew, and says what it may use.
    pub(in crate::runtime) async fn grant(
        &self,
        brief: Brief,
        patron: Patron,
    ) -> Result<(TaskId, Grant), ControlError> {
        self.order(brief, |brief, reply| CrewMsg::Dispatch(Box::new(brief), patron, reply)).await
    }

    /// Hands work to the crew for a call that waits for the report.
    pub(in crate::runtime) async fn call(
        &self,
        brief: Brief,
        caller: Caller,
        patron: Patron,
    ) -> Result<TaskId, ControlError> {
        let order = |brief, reply| CrewMsg::Call(Box::new((brief, caller)), patron, reply);
        self.order(brief, order).await.map(|(id, _)| id)
    }

    /// Hands all rows of a table to the crew, or none; they differ in title and body only.
    pub(in crate::runtime) async fn batch(
        &self,
        mut briefs: Vec<Brief>,
        patron: Patron,
    ) -> Result<Vec<TaskId>, ControlError> {
        let Some(first) = briefs.first().cloned() else { return Ok(Vec::new()) };
        let (fitting, model) = self.fitting(first).await?;
        for brief in &mut briefs {
            let (title, body) = (title(brief), std::mem::take(&mut brief.body));
            *brief = Brief { title, body, ..fitting.clone() };
        }
        let patience = ANSWER + EACH_ROW * u32::try_from(briefs.len()).unwrap_or(u32::MAX);
        let ids = self.request_within(patience, |reply| CrewMsg::Batch(briefs, patron, reply)).await??;
        let grant = self.granted(&fitting, &model).await;
        if let Some(last) = ids.last().filter(|_| !grant.is_empty()) {
            self.site.feed.tell(Source::Task(*last), News::Granted(grant));
        }
        Ok(ids)
    }

    async fn order(
        &self,
        brief: Brief,
        order: impl FnOnce(Brief, Dispatched) -> CrewMsg,
    ) -> Result<(TaskId, Grant), ControlError> {
        let (brief, model) = self.fitting(brief).await?;
        let asked = brief.clone();
        let id = self.request(|reply| order(brief, reply)).await??;
        let grant = self.granted(&asked, &model).await;
        if !grant.is_empty() {
            self.site.feed.tell(Source::Task(id), News::Granted(grant));
        }
        Ok((id, grant))
    }

    async fn granted(&self, brief: &Brief, model: &ModelId) -> Grant {
        let (site, brief, model) = (self.site.clone(), brief.clone(), model.clone());
        self.site.on_disk(move || purse::grant(&site, &brief, &model)).await.unwrap_or_default()
    }

    /// A brief that can be carried out here, complete, and the model that does it.
    async fn fitting(&self, mut brief: Brief) -> Result<(Brief, ModelId), ControlError> {
        brief.title = title(&brief);
        brief.after.sort_unstable();
        brief.after.dedup();
        if let Some(outside) = brief.touches.iter().find(|path| !is_below(path)) {
            return Err(ControlError::Outside(outside.clone()));
        }
        if !brief.after.is_empty() {
            // The crew answers in order: what was dispatched before this, beside it in one turn too, has its number then.
            self.request(CrewMsg::Live).await?;
            let (tasks, after) = (self.tasks(), brief.after.clone());
            let checked = self.site.on_disk(move || order::check(&tasks, &after)).await;
            checked.map_err(ControlError::Files)??;
        }
        let (model, budget) = self.fits(&brief).await?;
        brief.budget = budget;
        Ok((brief, model))
    }

    /// A role or a model that does not exist, or a budget that nobody can hold, is refused here, where somebody can still
    /// name another. Answers with the model and the budget.
    async fn fits(&self, brief: &Brief) -> Result<(ModelId, Budget), ControlError> {
        assemble::granted(&self.site, brief).map_err(ControlError::Unfit)?;
        let config = &self.site.config;
        if brief.agent.is_none() && brief.model.is_none() && config.cast.worker.is_none() {
            // At once: dispatches side by side keep their order.
            let (budget, model) = (brief.budget.or(config.worker_budget), self.site.model_of(brief.session.as_deref()));
            purse::is_priced(&self.site, budget, &model).map_err(ControlError::Unfit)?;
            return Ok((model, budget));
        }
        let (site, brief) = (self.site.clone(), brief.clone());
        let fits = move || assemble::fits(&site, &brief);
        self.site.on_disk(fits).await.map_err(ControlError::Files)?.map_err(ControlError::Unfit)
    }

    pub(in crate::runtime) async fn resume(
        &self,
        id: TaskId,
        patron: Patron,
        words: Option<Letter>,
    ) -> Result<TaskId, ControlError> {
        self.request(|reply| CrewMsg::Resume(id, patron, words, reply)).await?
    }

    /// A question of a worker; answers when it is written down.
    pub(in crate::runtime) async fn ask(&self, id: TaskId, asking: Asking) -> Result<Question, ControlError> {
        self.request(|reply| CrewMsg::Park(ParkMsg::Ask(id, Box::new(asking), Waiter::Tool(reply)))).await?
    }

    /// A call of a worker that a person must allow; answers when it is known what is to become of it.
    pub(in crate::runtime) async fn leave(&self, id: TaskId, request: Request) -> Answer {
        let order = |reply| CrewMsg::Park(ParkMsg::Leave(id, Box::new(request), reply));
        self.request(order).await.unwrap_or_else(|why| Answer::No(why.to_string()))
    }

    pub(in crate::runtime) async fn answer(
        &self,
        id: TaskId,
        question: Option<u32>,
        words: String,
        from: String,
    ) -> Result<Replied, ControlError> {
        let order = |reply| Box::new(Order { words, from, reply });
        self.request(|reply| CrewMsg::Park(ParkMsg::Answer(id, question, order(reply)))).await?
    }

    /// Takes on a task that rests since an earlier program.
    pub(in crate::runtime) async fn adopt(&self, id: TaskId, patron: Patron) -> Result<TaskId, ControlError> {
        let order = |reply| Box::new(Adoption { patron, reply: Some(reply) });
        self.request(|reply| CrewMsg::Park(ParkMsg::Adopt(id, order(reply)))).await?
    }

    /// The open questions of all tasks that the crew knows.
    pub(in crate::runtime) async fn questions(&self) -> Result<Vec<Question>, ControlError> {
        let rows = self.request(CrewMsg::Live).await?;
        Ok(rows.into_iter().flat_map(|row| row.questions).collect())
    }

    /// What a main agent may answer.
    pub(in crate::runtime) fn authority(&self) -> &Authority {
        &self.site.config.authority
    }

    pub(in crate::runtime) async fn note(&self, id: TaskId, letter: Letter) -> Result<NoteId, ControlError> {
        self.request(|reply| CrewMsg::Note(id, letter, reply)).await?
    }

    pub(in crate::runtime) async fn abort(&self, id: TaskId) -> Result<(), ControlError> {
        self.request(|reply| CrewMsg::Abort(id, reply)).await?
    }

    /// All tasks: what is going on from the crew, what is over from the disk.
    pub(in crate::runtime) async fn rows(&self) -> Result<Vec<TaskRow>, ControlError> {
        let live = self.request(CrewMsg::Live).await?;
        let (root, site) = (self.tasks(), self.site.clone());
        self.site
            .on_disk(move || {
                let listing = task::list(&root).map_err(files)?;
                for skipped in listing.skipped {
                    tracing::debug!(error = %skipped, "a task is left out of the list");
                }
                let mut rows = live;
                let known: std::collections::HashSet<TaskId> = rows.iter().map(|row| row.id).collect();
                let over = listing.tasks.into_iter().filter(|task| !known.contains(&task.dir.id()));
                let past = |task: Task| past(&site, &task, task.dir.result().ok().flatten().as_ref());
                rows.extend(over.map(past));
                rows.sort_by_key(|row| row.id);
                Ok(rows)
            })
            .await
            .map_err(ControlError::Files)?
    }

    /// Everything about one task.
    pub(in crate::runtime) async fn detail(&self, id: TaskId) -> Result<TaskDetail, ControlError> {
        let live = self.request(CrewMsg::Live).await?.into_iter().find(|row| row.id == id);
        let (root, site) = (self.tasks(), self.site.clone());
        self.site
            .on_disk(move || {
                let dir = TaskDir::open(&root, id).map_err(|_| ControlError::NoSuchTask(id))?;
                let task = dir.task().map_err(files)?;
                let result = dir.result().map_err(files)?;
                let row = live.unwrap_or_else(|| past(&site, &task, result.as_ref()));
                let progress = dir.progress_text();
                Ok(TaskDetail { row, brief: task.brief, progress, result, dir: dir.path().to_owned() })
            })
            .await
            .map_err(ControlError::Files)?
    }

    fn tasks(&self) -> PathBuf {
        self.site.config.workspace.tasks()
    }

    pub(in crate::runtime) async fn request<T: Send + 'static>(
        &self,
        message: impl FnOnce(RpcReplyPort<T>) -> CrewMsg,
    ) -> Result<T, ControlError> {
        self.request_within(ANSWER, message).await
    }

    async fn request_within<T: Send + 'static>(
        &self,
        patience: Duration,
        message: impl FnOnce(RpcReplyPort<T>) -> CrewMsg,
    ) -> Result<T, ControlError> {
        match self.crew.call(message, Some(patience)).await {
            Ok(CallResult::Success(answer)) => Ok(answer),
            Ok(CallResult::Timeout) => Err(ControlError::NoAnswer(patience.as_secs())),
            Ok(CallResult::SenderError) | Err(_) => Err(ControlError::ShuttingDown),
        }
    }
}

/// The row of a task without a worker.
fn past(site: &Site, task: &Task, result: Option<&TaskReport>) -> TaskRow {
    TaskRow {
        id: task.dir.id(),
        title: task.brief.title.clone(),
        status: result.map_or(task.status, |report| report.status),
        attempt: task.attempt,
        turn: result.map_or(0, |report| report.turns),
        doing: String::new(),
        said: String::new(),
        started: result.and_then(|report| report.started),
        took: result.map_or(Duration::ZERO, |report| report.took),
        usage: result.map(|report| report.usage).unwrap_or_default(),
        spent: result.map(|report| report.spent).unwrap_or_default(),
        place_in_queue: None,
        agent: task.brief.agent.clone(),
        context: 0,
        window: 0,
        budget: task.brief.budget,
        score: Vec::new(),
        flat: 0,
        quiet: None,
        questions: open_questions(site, task),
        after: Vec::new(),
        priority: task.brief.priority,
        jobs: Vec::new(),
    }
}

/// What a task asks that rests since an earlier program.
fn open_questions(site: &Site, task: &Task) -> Vec<Question> {
    let parked = task.status == TaskStatus::Parked;
    let read = || Filed::read(&task.dir, &site.journal(task.dir.id())).unwrap_or_default();
    let asked = if parked { read().questions } else { Vec::new() };
    asked.into_iter().filter(Question::is_open).collect()
}

/// A path that leads nowhere but down. Whether links on the way lead out is the path policy's business.
fn is_below(path: &str) -> bool {
    let parts = || Path::new(path).components();
    !path.is_empty() && parts().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The given title as one line, or the first line of the body that says something.
fn title(brief: &Brief) -> String {
    let given = one_line(&brief.title, TITLE * 2);
    if !given.is_empty() {
        return given;
    }
    let words = brief.body.lines().map(|line| {
        let line = line.trim_matches(MARKS);
        line.strip_prefix("[ ]").map_or(line, |step| step.trim_matches(MARKS))
    });
    let first = words.into_iter().find(|line| !line.is_empty()).unwrap_or("untitled");
    one_line(first, TITLE)
}

fn files(error: TaskError) -> ControlError {
    ControlError::Files(error.to_string())
}
