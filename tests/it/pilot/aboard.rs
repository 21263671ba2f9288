//! The pilot in the real program: its lines reach real tools, workers and files.

use tempfile::TempDir;
use tillerman::config::{Flags, load};
use tillerman::event::{AgentEvent, Ending};
use tillerman::runtime::{Envelope, News, Open, RunId, Runtime, Source};
use tillerman::session::SessionId;
use tillerman::task::{TaskId, TaskReport, TaskStatus};
use tillerman::workspace::Workspace;
use tokio::sync::broadcast::Receiver;
use tokio::time::timeout;

use crate::patience::PATIENCE;

/// A program whose model is the pilot, because there is no key.
struct Aboard {
    _ground: TempDir,
    runtime: Runtime,
    session: SessionId,
    feed: Receiver<Envelope>,
    seen: Vec<Envelope>,
}

impl Aboard {
    async fn new() -> Aboard {
        let ground = TempDir::new().unwrap();
        let root = ground.path().join("work");
        std::fs::create_dir(&root).unwrap();
        let workspace = Workspace::open(&root, &ground.path().join("home")).unwrap();
        let runtime = Runtime::start(load(workspace, &Flags::default(), &|_| None).unwrap()).await.unwrap();
        let session = runtime.open(Open::New).await.unwrap();
        let feed = runtime.feed();
        Aboard { _ground: ground, runtime, session, feed, seen: Vec::new() }
    }

    /// The first piece of news that fits and was not asked for before.
    async fn until<T>(&mut self, find: impl Fn(&Envelope) -> Option<T>) -> T {
        if let Some((at, found)) = self.seen.iter().enumerate().find_map(|(at, news)| Some((at, find(news)?))) {
            self.seen.remove(at);
            return found;
        }
        let found = async {
            loop {
                let envelope = self.feed.recv().await.unwrap();
                match find(&envelope) {
                    Some(found) => return found,
                    None => self.seen.push(envelope),
                }
            }
        };
        timeout(PATIENCE, found).await.unwrap()
    }

    /// The answer to a line.
    async fn answer(&mut self, line: &str) -> String {
        let said = self.runtime.say(&self.session, line.to_owned()).await.unwrap();
        self.until(|envelope| answered(envelope).filter(|(run, _)| *run == said)).await.1
    }

    /// The next answer of the main agent.
    async fn told(&mut self) -> String {
        self.until(answered).await.1
    }

    async fn ended(&mut self) -> TaskReport {
        self.until(|envelope| match &envelope.news {
            News::TaskEnded(report) => Some(report.clone()),
            _ => None,
        })
        .await
    }
}

fn answered(envelope: &Envelope) -> Option<(RunId, String)> {
    match (&envelope.source, &envelope.news) {
        (Source::Main { run, .. }, News::Agent(AgentEvent::RunEnded { ending: Ending::Completed { answer } })) => {
            Some((*run, answer.clone()))
        }
        _ => None,
    }
}

/// A worker's command runs.
fn works(envelope: &Envelope) -> Option<()> {
    let started = matches!(envelope.news, News::Agent(AgentEvent::ToolStarted { .. }));
    (started && matches!(envelope.source, Source::Task(_))).then_some(())
}

#[tokio::test]
async fn a_worker_is_dispatched_steered_and_relayed_while_the_prompt_answers() {
    let mut aboard = Aboard::new().await;
    let answer = aboard.answer("dispatch count:\nuntil [ -e go ]; do sleep 0.01; done\necho two\necho three").await;
    assert!(answer.starts_with("On it: t_001 “count” runs in the background."), "{answer}");
    assert_eq!(aboard.answer("6 * 7").await, "6 * 7 = 42");
    aboard.until(works).await;
    assert_eq!(aboard.answer("@t_001 skip").await, "queued #1 for t_001");
    assert_eq!(aboard.answer("steer t_001 also run echo four").await, "queued #2 for t_001");
    assert_eq!(aboard.answer("write go: now").await, "Created go (1 lines, 4 bytes)");
    let report = aboard.ended().await;
    let answer = report.answer.clone();
    assert_eq!((report.status, report.id), (TaskStatus::Done, TaskId(1)));
    assert!(answer.starts_with("Done: 3 of 4 steps succeeded, see below for the others."), "{answer}");
    assert!(answer.contains("2. `echo two`: skipped, a note said so\n3. `echo three`: exit 0"), "{answer}");
    assert!(answer.contains("4. `echo four`: exit 0"), "{answer}");
    assert_eq!(aboard.told().await, answer);
    aboard.runtime.shutdown().await;
}

#[tokio::test]
async fn an_aborted_worker_is_relayed_as_aborted() {
    let mut aboard = Aboard::new().await;
    aboard.answer("dispatch nap: sleep 300").await;
    aboard.until(works).await;
    assert_eq!(aboard.answer("abort t_001").await, "t_001 is being aborted");
    assert_eq!(aboard.ended().await.status, TaskStatus::Aborted);
    let told = aboard.told().await;
    assert!(told.starts_with("Aborted before it was done."), "{told}");
    aboard.runtime.shutdown().await;
}

#[tokio::test]
async fn order_batches_budgets_calls_and_going_on_can_be_tried_without_a_key() {
    let mut aboard = Aboard::new().await;
    aboard.answer("dispatch first: echo one").await;
    aboard.ended().await;
    aboard.answer("dispatch then after t_001 budget 2 turns: cat .tasks/t_001/result.md; echo two").await;
    let report = aboard.ended().await;
    assert_eq!((report.id, report.status), (TaskId(2), TaskStatus::Partial), "{}", report.answer);
    let made = aboard.answer("batch 3, 4: echo $(({{item}} * 2))").await;
    assert_eq!(made, "2 tasks are dispatched: t_003 to t_004. You will be told when each ends.");
    let mut answers = [aboard.ended().await.answer, aboard.ended().await.answer];
    answers.sort();
    assert!(answers[0].contains("6") && answers[1].contains("8"), "{answers:?}");
    let called = aboard.answer("call tester: echo tested").await;
    assert!(called.contains("[Worker completed t_005]") && called.contains("tested"), "{called}");
    assert_eq!(
        aboard.answer("continue t_001 also run echo more").await,
        "t_001 goes on. You will be told when it ends."
    );
    let more = aboard.until(|envelope| match &envelope.news {
        News::TaskEnded(report) if report.attempt == 2 => Some(report.answer.clone()),
        _ => None,
    });
    let more = more.await;
    assert!(more.contains("`echo one`: exit 0") && more.contains("`echo more`: exit 0"), "{more}");
    aboard.runtime.shutdown().await;
}
