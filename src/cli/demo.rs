//! `tillerman demo`: the real loop, tools, workers and files, driven by a script in a copy of workspace.example.
//! Needs no key and no network. It is a front end like any other: it says, steers and watches the feed.

mod scene;
mod show;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use self::scene::Scene;
use self::show::Show;
use crate::event::{AgentEvent, Ending};
use crate::message::ToolCall;
use crate::runtime::{Envelope, News, Open, Runtime, Source};
use crate::task::{TaskId, TaskStatus};
use crate::terminal::Look;
use crate::terminal::exit::{Exit, Signals};

/// Longer than this it cannot take, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the person of the play says first.
const LINE: &str = "Please fix the failing test, and write me a report about the cart.";

/// What that person sends to the second worker once the first is done.
const STEER: &str = "Also write what goes back to a customer who pays with a 50.00 note.";

/// How to play.
pub struct Setup {
    /// Colours of stdout.
    pub look: Look,
    /// Columns of the terminal.
    pub width: usize,
    /// Where the demo's folder is made, for example `/tmp`.
    pub parent: PathBuf,
}

/// Plays the demo and ends. Its folder is kept, and it says where.
pub async fn demo(setup: &Setup) -> Exit {
    let began = Instant::now();
    let scene = match Scene::build(&setup.parent) {
        Ok(scene) => scene,
        Err(why) => return show::complain(&why),
    };
    let mut show = Show::new(setup, &scene);
    show.begin();
    let left = || format!("what it wrote so far is in {}", scene.dir.display());
    match play(&scene, &mut show).await {
        Ok(Exit::Done) => {
            show.finish(&scene, began.elapsed());
            Exit::Done
        }
        Ok(exit) => {
            show::complain(&format!("stopped; {}", left()));
            exit
        }
        Err(why) => show::complain(&format!("{why}; {}", left())),
    }
}

async fn play(scene: &Scene, show: &mut Show) -> Result<Exit, String> {
    let mut signals = Signals::catch().map_err(|error| format!("cannot catch signals: {error}"))?;
    let config = scene.config()?;
    let runtime = Runtime::start(config).await.map_err(|error| error.to_string())?;
    let played = tokio::select! {
        exit = signals.next() => Ok(exit),
        played = tokio::time::timeout(PATIENCE, acts(&runtime, show)) => {
            played.unwrap_or_else(|_| Err(format!("the demo did not end within {} s", PATIENCE.as_secs())))
        }
    };
    runtime.shutdown().await;
    played
}

/// A line; two workers; when the first is relayed, a steer to the second; the second is relayed.
async fn acts(runtime: &Runtime, show: &mut Show) -> Result<Exit, String> {
    let session = runtime.open(Open::New).await.map_err(|error| error.to_string())?;
    let mut play = Play { feed: runtime.feed(), show, running: Vec::new(), loaded: Vec::new() };
    play.show.person(None, LINE);
    runtime.say(&session, LINE.to_owned()).await.map_err(|error| error.to_string())?;
    let first = play.until_relayed().await?;
    let second =
        play.running.first().copied().ok_or_else(|| format!("{first} has ended, but no second worker runs"))?;
    play.show.person(Some(second), STEER);
    runtime.steer(second, STEER.to_owned()).await.map_err(|error| error.to_string())?;
    play.until_relayed().await?;
    Ok(Exit::Done)
}

/// The play as it goes on.
struct Play<'a> {
    feed: Receiver<Envelope>,
    show: &'a mut Show,
    running: Vec<TaskId>,
    /// Ended tasks whose results the main agent has in hand.
    loaded: Vec<TaskId>,
}

impl Play<'_> {
    /// Follows the feed until the main agent has told of a worker's result.
    async fn until_relayed(&mut self) -> Result<TaskId, String> {
        loop {
            let envelope = match self.feed.recv().await {
                Ok(envelope) => envelope,
                Err(RecvError::Lagged(missed)) => return Err(format!("{missed} events passed too fast")),
                Err(RecvError::Closed) => return Err("the runtime ended before the demo did".to_owned()),
            };
            self.show.news(&envelope);
            match (&envelope.source, &envelope.news) {
                (Source::Task(id), News::TaskStarted { .. }) => self.running.push(*id),
                (Source::Task(id), News::TaskEnded(report)) if report.status == TaskStatus::Done => {
                    self.running.retain(|running| running != id);
                }
                (Source::Task(id), News::TaskEnded(report)) => {
                    return Err(format!("{id} ended as {}: {}", report.status, report.answer.trim()));
                }
                (Source::Main { .. }, News::Agent(event)) => match event {
                    AgentEvent::ToolStarted { call } => self.loaded.extend(result_of(call)),
                    AgentEvent::RunEnded { ending: Ending::Completed { .. } } => {
                        if let Some(told) = self.loaded.pop() {
                            return Ok(told);
                        }
                    }
                    AgentEvent::RunEnded { ending } => return Err(format!("the main agent ended as {ending:?}")),
                    _ => {}
                },
                _ => {}
            }
        }
    }
}

/// The task whose result.md a call loads.
fn result_of(call: &ToolCall) -> Option<TaskId> {
    let (task, _) = call.args.0.split_once("/result.md")?;
    task.rsplit('/').next()?.parse().ok()
}
