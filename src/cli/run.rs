//! `tillerman run`: one prompt, no terminal needed. The answer goes to stdout, progress to stderr; or everything to
//! stdout as JSON lines.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::output::Output;
use super::ready::{NotReady, Ready};
use super::schema::Schema;
use super::show::Show;
use super::{replay, resume, rpc};
use crate::args::Dialect;
use crate::message::{Image, Tally};
use crate::model::scripted::Tape;
use crate::runtime::{Envelope, RunId, Said, Seat, SessionGone, TaskRow, Unsaid};
use crate::task::{TaskId, TaskStatus};
use crate::terminal::Look;
use crate::terminal::exit::{Exit, Signals};

/// Most bytes of a prompt from stdin.
const MAX_PROMPT: u64 = 10 * 1024 * 1024;

/// What happens, as it is told.
pub type Feed = Receiver<Envelope>;

/// How to run.
pub struct Setup {
    /// JSON lines instead of text, and whose.
    pub json: Option<Dialect>,
    /// Also wait for tasks and for what the agent says to their results.
    pub wait: bool,
    /// Colours of stderr.
    pub look: Look,
    /// Columns of the terminal, if there is one.
    pub width: Option<usize>,
    /// It can write over a line, so that a wait is counted down in place.
    pub in_place: bool,
    /// Where the last answer goes, too.
    pub output: Option<Output>,
    /// What the answer is held to.
    pub schema: Option<Schema>,
}

/// How long a reader may read nothing before what is left to tell is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often an answer that is not valid is sent back.
const SENT_BACK: usize = 2;

/// The prompt as a whole: the words of the command line, and stdin where one of them is `-`.
///
/// # Errors
/// A sentence when stdin cannot be read, is not UTF-8 or too long, or when nothing is asked.
pub fn prompt(words: &[String]) -> Result<String, String> {
    let said: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "-").collect();
    let mut prompt = said.join(" ");
    if said.len() < words.len() {
        let mut input = String::new();
        let read = io::stdin().lock().take(MAX_PROMPT + 1).read_to_string(&mut input);
        read.map_err(|error| format!("cannot read the prompt from stdin: {error}"))?;
        if input.len() as u64 > MAX_PROMPT {
            return Err(format!("the prompt on stdin has over {MAX_PROMPT} bytes; put it into a file and name that"));
        }
        if !prompt.is_empty() {
            prompt.push_str("\n\n");
        }
        prompt.push_str(&input);
    }
    if prompt.trim().is_empty() {
        return Err(
            "the prompt is empty; say what to do, for example tillerman run \"explain src/main.rs\", or pipe it in"
                .to_owned(),
        );
    }
    Ok(prompt)
}

/// What is said to the agent.
pub enum Course {
    /// One line.
    Prompt(Said),
    /// Nothing: these tasks go on.
    Tasks(Vec<TaskId>),
    /// The lines of a recording, each at its place.
    Recording(Arc<Tape>),
    /// What is ordered on stdin, line by line.
    Orders,
}

/// Runs to the end and shuts the runtime down. Whatever happens, the last JSON line is `session.end`.
pub async fn run(ready: Result<(Ready, Feed), NotReady>, course: Course, setup: &Setup) -> Exit {
    let mut show = Show::new(ready.as_ref().ok().map(|(ready, _)| ready), setup);
    let (mut ready, mut feed) = match ready {
        Ok(ready) => ready,
        Err(error) => {
            show.fault(&error.why);
            return show.end(error.exit, Tally::default(), &[]).await;
        }
    };
    show.begin(&ready);
    let watched = match course {
        Course::Prompt(prompt) => answered(&ready, &mut feed, prompt, &mut show, setup.schema.as_ref()).await,
        Course::Tasks(tasks) => resume::watch(&ready, &mut feed, &tasks, &mut show).await,
        Course::Recording(tape) => replay::watch(&ready, &mut feed, &tape, &mut show).await,
        Course::Orders => rpc::watch(&ready, &mut feed, &mut show).await,
    };
    let (mut exit, alive) = match watched {
        Ok(exit) => (exit, alive(&ready).await),
        Err(why) => {
            show.fault(&why);
            (Exit::Failed, vec![])
        }
    };
    if let Some(output) = &setup.output
        && let Err(why) = output.write(show.last())
    {
        show.fault(&why);
        exit = if exit == Exit::Done { Exit::Failed } else { exit };
    }
    let tally = ready.runtime.status(&ready.session).await.map(|status| status.since_open).unwrap_or_default();
    ready.end().await;
    if let Some(fault) = ready.recording_fault() {
        show.fault(&fault);
    }
    show.end(exit, tally, &alive).await
}

async fn alive(ready: &Ready) -> Vec<TaskRow> {
    let mut rows = ready.runtime.tasks().await;
    // What waits for an answer is not interrupted: it waits on.
    rows.retain(|row| !row.status.is_over() && row.status != TaskStatus::Parked);
    rows
}

/// Says the prompt and shows what comes of it. An answer that does not hold to the schema is sent back.
async fn answered(
    ready: &Ready,
    feed: &mut Feed,
    mut prompt: Said,
    show: &mut Show,
    schema: Option<&Schema>,
) -> Result<Exit, String> {
    let mut signals = Signals::catch().map_err(|error| format!("cannot catch signals: {error}"))?;
    let Some(schema) = schema else { return watch(ready, feed, prompt, show, &mut signals).await };
    prompt.text = schema.asked(&prompt.text);
    let mut left = SENT_BACK;
    loop {
        let exit = watch(ready, feed, prompt, show, &mut signals).await?;
        if exit != Exit::Done || show.unread {
            return Ok(exit);
        }
        match schema.read(show.last().unwrap_or_default()) {
            Ok((text, value)) => {
                show.settle_on(&text, value);
                return Ok(Exit::Done);
            }
            Err(why) if left > 0 => {
                show.remark(&format!("the answer is sent back: {why}"));
                left -= 1;
                prompt = Said::from(schema.sent_back(&why));
            }
            Err(why) => {
                show.unanswered();
                return Err(format!("the answer is not what the schema asks for, after {SENT_BACK} more tries: {why}"));
            }
        }
    }
}

/// Says a line and shows what comes of it, until it is over, a signal comes or nobody reads.
async fn watch(
    ready: &Ready,
    feed: &mut Feed,
    prompt: Said,
    show: &mut Show,
    signals: &mut Signals,
) -> Result<Exit, String> {
    let prompt = match spoken(ready, prompt, show).await {
        Ok(prompt) => prompt,
        Err(unsaid) => {
            show.fault(&unsaid.to_string());
            return Ok(Exit::Usage);
        }
    };
    let run = match ready.runtime.say(&ready.session, prompt).await {
        Ok(run) => run,
        Err(error @ SessionGone::TakesNoImages { .. }) => {
            show.fault(&error.to_string());
            return Ok(Exit::Usage);
        }
        Err(error) => return Err(error.to_string()),
    };
    let mut tick = interval(Duration::from_secs(1));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut over = false;
    loop {
        tokio::select! {
            biased;
            exit = signals.next() => return Ok(exit),
            news = show.next(feed) => {
                over |= show.news(news, ready, run).await?;
                if over && !show.wait {
                    break;
                }
            }
            () = ready.runtime.idle(), if over => {
                drain(feed, ready, run, show).await?;
                break;
            }
            _ = tick.tick() => show.tick(),
        }
        if show.unread {
            return Ok(Exit::Done);
        }
    }
    Ok(show.exit(ready).await)
}

/// The prompt with the template or skill that it names, and the files that it mentions.
async fn spoken(ready: &Ready, prompt: Said, show: &mut Show) -> Result<Said, Unsaid> {
    let spoken = ready.runtime.spoken(&ready.session, &prompt.text, Seat::Elsewhere).await?;
    spoken.told.iter().for_each(|told| show.remark(told));
    let images = prompt.images.into_iter().chain(spoken.said.images).take(Image::MOST).collect();
    Ok(Said { text: spoken.said.text, images })
}

/// What was told before everything came to rest.
pub(super) async fn drain(feed: &mut Feed, ready: &Ready, run: RunId, show: &mut Show) -> Result<(), String> {
    while let Ok(envelope) = feed.try_recv() {
        if timeout(PATIENCE, show.room()).await.is_err() {
            break;
        }
        show.news(Ok(envelope), ready, run).await?;
    }
    Ok(())
}
