//! The running program through its own door: real files, real actors, real tools, and a model that a test plays.

mod ask;
mod attempts;
mod batches;
mod call;
mod cast;
mod chosen;
mod control;
mod crowd;
mod edit;
mod ends;
mod keeps;
mod leave;
mod library;
mod lookout;
mod mail;
mod memory;
mod order;
mod permit;
mod purse;
mod report;
mod restart;
mod rests;
mod rights;
mod still;
mod story;
mod title;
mod tray;
mod turns;
mod wake;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tillerman::config::{self, Config, Flags};
use tillerman::event::{AgentEvent, Ending};
use tillerman::message::{Block, CallId, Message, RawArgs, Role, ToolCall, Usage};
use tillerman::model::catalog::Choice;
use tillerman::model::{Delta, Model, ModelError, ModelId, Reply, Request, Stop};
use tillerman::runtime::{Envelope, News, Open, RunId, Runtime, Source};
use tillerman::session::SessionId;
use tillerman::task::{TaskDir, TaskId, TaskReport, TaskStatus};
use tillerman::workspace::Workspace;
use tokio::sync::broadcast::Receiver;

use crate::patience::PATIENCE;

/// What the played model is asked.
pub(super) struct Ask {
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) tools: Vec<String>,
    pub(super) system: String,
}

impl Ask {
    /// The first message: a worker's begins with `Task t_001: title`.
    pub(super) fn first(&self) -> String {
        self.messages.first().map(|message| message.text()).unwrap_or_default()
    }

    /// The text of the last message.
    pub(super) fn last(&self) -> String {
        self.messages.last().map(|message| message.text()).unwrap_or_default()
    }

    /// The outputs of the last message, if it answers calls.
    pub(super) fn outputs(&self) -> Vec<String> {
        let results = |message: &Arc<Message>| message.results().map(|result| result.output.clone()).collect();
        self.messages.last().map(results).unwrap_or_default()
    }

    pub(super) fn is_worker(&self) -> bool {
        self.first().starts_with("Task t_")
    }

    /// How many messages hold these words.
    pub(super) fn count(&self, words: &str) -> usize {
        self.messages.iter().filter(|message| message.text().contains(words)).count()
    }
}

/// A model that a test plays.
pub(super) struct Played {
    id: ModelId,
    /// Of each call.
    usage: Usage,
    play: Box<dyn Fn(Ask) -> BoxFuture<'static, Message> + Send + Sync>,
}

impl Model for Played {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn reply<'a>(
        &'a self,
        request: Request<'a>,
        _: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        tillerman::message::check_answered(request.messages.iter().map(AsRef::as_ref)).unwrap();
        let ask = Ask {
            messages: request.messages.to_vec(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            system: request.system.to_owned(),
        };
        let message = (self.play)(ask);
        Box::pin(async move {
            let message = message.await;
            let stop = if message.calls().next().is_some() { Stop::ToolUse } else { Stop::EndTurn };
            Ok(Reply { message, usage: self.usage, stop, model: self.id.clone(), cost: None })
        })
    }
}

pub(super) fn played<F>(name: &str, play: impl Fn(Ask) -> F + Send + Sync + 'static) -> Arc<dyn Model>
where
    F: Future<Output = Message> + Send + 'static,
{
    played_as(&format!("played/{name}"), Usage { input: 10, output: 2, ..Usage::default() }, play)
}

/// The same under the name of a real one, with what each call takes.
pub(super) fn played_as<F>(id: &str, usage: Usage, play: impl Fn(Ask) -> F + Send + Sync + 'static) -> Arc<dyn Model>
where
    F: Future<Output = Message> + Send + 'static,
{
    let id = ModelId::parse(id).unwrap();
    Arc::new(Played { id, usage, play: Box::new(move |ask| Box::pin(play(ask))) })
}

pub(super) fn says(text: impl Into<String>) -> Message {
    Message::assistant(text)
}

/// An answer that calls tools, with ids unique in the whole test.
pub(super) fn calls<const N: usize>(calls: [(&str, Value); N]) -> Message {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let block = |(name, args): (&str, Value)| {
        let id = CallId(format!("call_{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        Block::Call(ToolCall { id, name: name.to_owned(), args: RawArgs(args.to_string()) })
    };
    Message { role: Role::Assistant, blocks: calls.into_iter().map(block).collect() }
}

pub(super) fn dispatch(task: &str) -> (&'static str, Value) {
    ("dispatch", json!({ "task": task }))
}

/// A folder to work in and a home, gone with the test.
pub(super) struct Ground {
    dir: PathBuf,
    /// `None` when it is somebody else's.
    _own: Option<tempfile::TempDir>,
}

impl Ground {
    pub(super) fn new() -> Ground {
        let own = tempfile::tempdir().unwrap();
        std::fs::create_dir(own.path().join("work")).unwrap();
        Ground { dir: own.path().to_owned(), _own: Some(own) }
    }

    /// A ground that lies there already.
    pub(super) fn at(dir: PathBuf) -> Ground {
        Ground { dir, _own: None }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.clone()
    }

    pub(super) fn root(&self) -> PathBuf {
        self.dir.join("work").canonicalize().unwrap()
    }

    pub(super) fn workspace(&self) -> Workspace {
        Workspace::open(&self.root(), &self.dir.join("home")).unwrap()
    }

    pub(super) fn config(&self, model: Arc<dyn Model>) -> Config {
        let mut config = config::load(self.workspace(), &Flags::default(), &|_| None).unwrap();
        // Who counts questions counts none for titles.
        config.titles = false;
        config.choice = Choice { id: model.id().clone(), why: "the test plays it".to_owned() };
        config.models = config.models.with(model);
        config
    }
}

/// A running program with one open conversation.
pub(super) struct Boat {
    pub(super) ground: Ground,
    pub(super) runtime: Runtime,
    pub(super) session: SessionId,
    pub(super) feed: Receiver<Envelope>,
}

pub(super) async fn boat(model: Arc<dyn Model>) -> Boat {
    boat_with(model, |_| {}).await
}

pub(super) async fn boat_with(model: Arc<dyn Model>, change: impl FnOnce(&mut Config)) -> Boat {
    let ground = Ground::new();
    let mut config = ground.config(model);
    change(&mut config);
    let runtime = Runtime::start(config).await.unwrap();
    let feed = runtime.feed();
    let session = runtime.open(Open::New).await.unwrap();
    Boat { ground, runtime, session, feed }
}

impl Boat {
    pub(super) async fn say(&self, text: &str) -> RunId {
        self.runtime.say(&self.session, text.to_owned()).await.unwrap()
    }

    /// Reads the feed until something is found in it.
    pub(super) async fn until<T>(&mut self, find: impl Fn(&Envelope) -> Option<T>) -> T {
        let search = async {
            loop {
                let envelope = self.feed.recv().await.unwrap();
                if let Some(found) = find(&envelope) {
                    return found;
                }
            }
        };
        tokio::time::timeout(PATIENCE, search).await.expect("it never came by in the feed")
    }

    /// Waits for the end of a run of the main agent.
    pub(super) async fn run_ended(&mut self, run: RunId) -> Ending {
        self.until(|envelope| match (&envelope.source, &envelope.news) {
            (Source::Main { run: this, .. }, News::Agent(AgentEvent::RunEnded { ending })) if *this == run => {
                Some(ending.clone())
            }
            _ => None,
        })
        .await
    }

    /// Says a line and waits for the answer.
    pub(super) async fn answer(&mut self, text: &str) -> String {
        let run = self.say(text).await;
        match self.run_ended(run).await {
            Ending::Completed { answer } => answer,
            other => panic!("{other:?}"),
        }
    }

    /// Waits for the end of a task.
    pub(super) async fn task_ended(&mut self, id: u32) -> TaskReport {
        self.until(|envelope| match &envelope.news {
            News::TaskEnded(report) if report.id == TaskId(id) => Some(report.clone()),
            _ => None,
        })
        .await
    }

    pub(super) async fn idle(&self) {
        tokio::time::timeout(PATIENCE, self.runtime.idle()).await.expect("it never became idle");
    }

    pub(super) fn task(&self, id: u32) -> TaskDir {
        TaskDir::open(&self.ground.root().join(".tasks"), TaskId(id)).unwrap()
    }

    pub(super) async fn status(&self, id: u32) -> TaskStatus {
        self.runtime.task(TaskId(id)).await.unwrap().row.status
    }
}

/// The answers of all runs of main agents that are in the feed by now, in order.
pub(super) fn endings(feed: &mut Receiver<Envelope>) -> Vec<Ending> {
    let mut endings = Vec::new();
    while let Ok(envelope) = feed.try_recv() {
        if let (Source::Main { .. }, News::Agent(AgentEvent::RunEnded { ending })) = (envelope.source, envelope.news) {
            endings.push(ending);
        }
    }
    endings
}

/// Waits until a condition holds, looking often.
pub(super) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

pub(super) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
