//! The crew in large numbers, in one process: a child of the bench, so that its memory is its own.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;
use tillerman::config::{self, Flags};
use tillerman::message::{Message, Usage};
use tillerman::model::{Delta, Model, ModelError, ModelId, Reply, Request, Stop};
use tillerman::runtime::{Open, Runtime};
use tillerman::session::SessionId;
use tillerman::task::{Brief, TaskId};
use tillerman::workspace::Workspace;
use tokio::sync::Notify;

use crate::server::{Answer, Server, memory};
use crate::table::{at, mb, median, ms, row};

/// The word that makes the bench its own child; behind it stands how many workers.
pub(crate) const CHILD: &str = "crew-of";

/// How many workers stand at once, if the machine lets one process open enough files.
const WORKERS: usize = 10_000;

/// Open files of a worker that waits for its model: its journal, and its inbox once it was told something.
const FILES_EACH: usize = 2;

/// Runs the children and waits for them; each prints its own rows.
pub(crate) fn measure() {
    let limit =
        getrlimit(Resource::Nofile).maximum.map_or(WORKERS, |files| (files as usize).saturating_sub(100) / FILES_EACH);
    let workers = WORKERS.min(limit).to_string();
    let this = std::env::current_exe().expect("the bench knows its own path");
    let status = Command::new(this).args([CHILD, &workers]).status().expect("the bench starts itself");
    assert!(status.success(), "the crew of many ended with {status}");
}

/// What the child does.
pub(crate) fn child(workers: usize) {
    // Each journal is an open file, and the usual limit is 1,024.
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("a limit may be raised to its maximum");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(async {
        one_stream().await;
        many(workers).await;
    });
}

/// A model that lets workers wait for ever and counts them; the main agent, which hears of each end, it answers at once.
struct Silent {
    id: ModelId,
    waiting: Arc<Waiting>,
}

#[derive(Default)]
struct Waiting {
    count: AtomicUsize,
    changed: Notify,
}

struct Guard(Arc<Waiting>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
        self.0.changed.notify_one();
    }
}

impl Model for Silent {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn reply<'a>(
        &'a self,
        request: Request<'a>,
        _on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        async move {
            if request.tools.iter().any(|tool| tool.name == "dispatch") {
                let (message, usage) = (Message::assistant("noted"), Usage::default());
                let model = self.id.clone();
                return Ok(Reply { message, usage, stop: Stop::EndTurn, model, cost: None });
            }
            self.waiting.count.fetch_add(1, Ordering::SeqCst);
            let _guard = Guard(Arc::clone(&self.waiting));
            self.waiting.changed.notify_one();
            std::future::pending().await
        }
        .boxed()
    }
}

impl Waiting {
    async fn until(&self, count: usize) {
        while self.count.load(Ordering::SeqCst) != count {
            self.changed.notified().await;
        }
    }
}

/// A runtime in a fresh workspace with one open session.
pub(crate) async fn runtime(
    flags: Flags,
    model: Option<(Arc<dyn Model>, usize)>,
    folder: &Path,
) -> (Runtime, SessionId) {
    let (root, home) = (folder.join("work"), folder.join("home"));
    std::fs::create_dir_all(&root).expect("the temporary folder is writable");
    let workspace = Workspace::open(&root, &home).expect("a fresh workspace opens");
    let key = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "bench".to_owned());
    let mut config = config::load(workspace, &flags, &key).expect("a fresh workspace has a sound config");
    // Only what a run itself asks is measured.
    config.titles = false;
    if let Some((model, workers)) = model {
        config.choice.id = model.id().clone();
        config.models = config.models.with(model);
        config.crew.running = workers;
    }
    let runtime = Runtime::start(config).await.expect("the runtime starts");
    let session = runtime.open(Open::New).await.expect("a session opens");
    (runtime, session)
}

/// Abort of the main agent while the provider streams: until the provider sees its connection closed.
async fn one_stream() {
    let server = Server::start(|_| Answer::Holds);
    let flags = Flags {
        model: Some("anthropic/bench".into()),
        base_url: Some(server.url.clone()),
        trust: true,
        ..Flags::default()
    };
    let folder = TempDir::new().expect("the temporary folder is writable");
    let (runtime, session) = runtime(flags, None, folder.path()).await;
    let mut took = Vec::new();
    for round in 0..30 {
        runtime.say(&session, "go").await.expect("an idle main agent takes a line");
        until(|| server.holding() == 1).await;
        let started = Instant::now();
        runtime.abort_main(&session).await.expect("the session is open");
        until(|| server.log().len() > round).await;
        took.push(server.log()[round].answered.saturating_duration_since(started));
        runtime.idle().await;
    }
    row("abort → model stream closed, p50", "", ms(median(took.iter().copied())));
    row("abort → model stream closed, p99", "< 50 ms", ms(at(took.into_iter(), 0.99)));
    runtime.shutdown().await;
}

async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
}

/// Ten thousand workers, each waiting for its model: dispatched, steered, aborted, one by one.
async fn many(workers: usize) {
    let waiting = Arc::new(Waiting::default());
    let id = ModelId { provider: "bench".into(), model: "silent".into() };
    let model = Arc::new(Silent { id, waiting: Arc::clone(&waiting) });
    let folder = TempDir::new().expect("the temporary folder is writable");
    let flags = Flags { trust: true, ..Flags::default() };
    let (runtime, session) = runtime(flags, Some((model, workers)), folder.path()).await;
    let before = memory(std::process::id(), "VmRSS");

    let started = Instant::now();
    let mut tasks = Vec::with_capacity(workers);
    for number in 0..workers {
        let brief = Brief { title: format!("task {number}"), body: "wait".into(), ..Brief::default() };
        tasks.push(runtime.dispatch(&session, brief).await.expect("the crew has room"));
    }
    waiting.until(workers).await;
    let took = started.elapsed();
    row(
        &format!("{workers} workers dispatched, each at its first model call"),
        "",
        format!("{:.1} s", took.as_secs_f64()),
    );
    let after = memory(std::process::id(), "VmRSS");
    let each = after.saturating_sub(before) as f64 / workers as f64 / 1024.0;
    row(&format!("{workers} workers in one process"), "< 400 MB", mb(after));
    row("… each, waiting for its model", "< 16 KiB", format!("{each:.1} KiB"));

    let steered = steer(&runtime, &tasks).await;
    row("steer acknowledged, p50", "", ms(median(steered.iter().copied())));
    row("steer acknowledged, p99", "< 20 ms", ms(at(steered.iter().copied(), 0.99)));

    let aborted = abort(&runtime, &tasks, &waiting).await;
    row("abort → model call dropped, p50", "", ms(median(aborted.iter().copied())));
    row("abort → model call dropped, p99", "< 50 ms", ms(at(aborted.iter().copied(), 0.99)));
    runtime.shutdown().await;
}

async fn steer(runtime: &Runtime, tasks: &[TaskId]) -> Vec<Duration> {
    let mut took = Vec::with_capacity(tasks.len());
    for task in tasks {
        let started = Instant::now();
        runtime.steer(*task, "hurry".into()).await.expect("a running worker takes a note");
        took.push(started.elapsed());
    }
    took
}

async fn abort(runtime: &Runtime, tasks: &[TaskId], waiting: &Waiting) -> Vec<Duration> {
    let mut took = Vec::with_capacity(tasks.len());
    for (done, task) in tasks.iter().enumerate() {
        let started = Instant::now();
        runtime.abort(*task).await.expect("a running worker can be aborted");
        waiting.until(tasks.len() - done - 1).await;
        took.push(started.elapsed());
    }
    took
}
