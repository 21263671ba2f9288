//! `tillerman run`: one prompt, no terminal needed. The answer goes to stdout, progress to stderr; or everything to
//! stdout as JSON lines.

use std::collections::HashSet;
use std::io::{self, IsTerminal, Read, Write};
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::json::{End, Lines};
use super::ready::{NotReady, Ready};
use crate::event::{AgentEvent, Ending};
use crate::message::{Role, Usage};
use crate::model::Fault;
use crate::runtime::{Envelope, News, RunId, Source, TaskRow};
use crate::task::TaskId;
use crate::terminal::Look;
use crate::terminal::clean::clean;
use crate::terminal::exit::{Exit, Signals};
use crate::terminal::screen::{Screen, Texts};

/// Most bytes of a prompt from stdin.
const MAX_PROMPT: u64 = 10 * 1024 * 1024;
/// Columns of progress when nobody says how wide stderr is.
const WIDTH: usize = 100;

/// What happens, as it is told.
pub type Feed = Receiver<Envelope>;

/// How to run.
pub struct Setup {
    /// JSON lines instead of text.
    pub json: bool,
    /// Also wait for tasks and for what the agent says to their results.
    pub wait: bool,
    /// Colours of stderr.
    pub look: Look,
    /// Columns of the terminal, if there is one.
    pub width: Option<usize>,
}

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
        return Err("the prompt is empty; say what to do, for example tillerman run \"explain src/main.rs\"".to_owned());
    }
    Ok(prompt)
}

/// Runs the prompt to its end and shuts the runtime down. Whatever happens, the last JSON line is `session.end`.
pub async fn run(ready: Result<(Ready, Feed), NotReady>, prompt: String, setup: &Setup) -> Exit {
    let mut show = Show::new(ready.as_ref().ok().map(|(ready, _)| ready), setup);
    let (ready, mut feed) = match ready {
        Ok(ready) => ready,
        Err(error) => {
            show.fault(&error.why);
            return show.end(error.exit, Usage::default(), &[]);
        }
    };
    show.begin(&ready);
    let (exit, alive) = match watch(&ready, &mut feed, prompt, &mut show).await {
        Ok(exit) => (exit, alive(&ready).await),
        Err(why) => {
            show.fault(&why);
            (Exit::Failed, vec![])
        }
    };
    let usage = ready.runtime.status(&ready.session).await.map_or(Usage::default(), |status| status.usage);
    ready.runtime.shutdown().await;
    show.end(exit, usage, &alive)
}

async fn alive(ready: &Ready) -> Vec<TaskRow> {
    let mut rows = ready.runtime.tasks().await;
    rows.retain(|row| !row.status.is_over());
    rows
}

/// Says the prompt and shows what comes of it, until it is over, a signal comes or nobody reads.
async fn watch(ready: &Ready, feed: &mut Feed, prompt: String, show: &mut Show) -> Result<Exit, String> {
    let mut signals = Signals::catch().map_err(|error| format!("cannot catch signals: {error}"))?;
    let run = ready.runtime.say(&ready.session, prompt).await.map_err(|error| error.to_string())?;
    let mut tick = interval(Duration::from_secs(1));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut over = false;
    loop {
        tokio::select! {
            biased;
            exit = signals.next() => return Ok(exit),
            news = feed.recv() => {
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

/// What was told before everything came to rest.
async fn drain(feed: &mut Feed, ready: &Ready, run: RunId, show: &mut Show) -> Result<(), String> {
    while let Ok(envelope) = feed.try_recv() {
        show.news(Ok(envelope), ready, run).await?;
    }
    Ok(())
}

/// What kind of fault ended the run. Its end is told a moment before the session is home, so that is waited for.
async fn fault(ready: &Ready) -> Option<Fault> {
    for _ in 0..100 {
        let status = ready.runtime.status(&ready.session).await.ok()?;
        if !status.busy {
            return status.fault;
        }
        sleep(Duration::from_millis(10)).await;
    }
    None
}

/// Shows a run on stdout and stderr.
struct Show {
    json: Option<Lines>,
    screen: Screen,
    look: Look,
    /// Words stream to stdout as they come, because a person reads it.
    live: bool,
    ending: Option<Ending>,
    result: Option<String>,
    usage: Usage,
    /// Tasks that began in this run.
    started: HashSet<TaskId>,
    /// Tasks are waited for.
    wait: bool,
    /// Nobody reads stdout any more.
    unread: bool,
}

impl Show {
    fn new(ready: Option<&Ready>, setup: &Setup) -> Show {
        let session = ready.map(|ready| ready.session.to_string()).unwrap_or_default();
        let root = ready.map(|ready| ready.root.clone()).unwrap_or_default();
        let live = !setup.json && io::stdout().is_terminal();
        let texts = if live { Texts::Shown } else { Texts::Hidden };
        Show {
            json: setup.json.then(|| Lines::new(session)),
            screen: Screen::new(setup.look, setup.width.unwrap_or(WIDTH), root, texts),
            look: setup.look,
            live,
            ending: None,
            result: None,
            usage: Usage::default(),
            started: HashSet::new(),
            wait: setup.wait,
            unread: false,
        }
    }

    fn begin(&mut self, ready: &Ready) {
        if let Some(json) = &mut self.json {
            let line = json.start(&ready.model, &ready.why, &ready.root.display().to_string());
            self.answer(&line);
        } else {
            self.progress(&self.look.dim(ready.headline()));
        }
        for warning in &ready.warnings {
            self.progress(&format!("{} {}", self.look.warn("⚠"), clean(warning)));
        }
    }

    /// Shows one piece of news; answers whether our run is over.
    async fn news(&mut self, news: Result<Envelope, RecvError>, ready: &Ready, run: RunId) -> Result<bool, String> {
        let envelope = match news {
            Ok(envelope) => envelope,
            Err(RecvError::Lagged(missed)) => {
                let line = self.json.as_mut().map(|json| json.missed(missed));
                self.either(line, format!("… {missed} events passed too fast to be shown"));
                return self.recover(ready).await;
            }
            Err(RecvError::Closed) => return Err("the runtime ended before the run did".to_owned()),
        };
        if let Source::Main { session, .. } = &envelope.source
            && *session != ready.session
        {
            return Ok(false);
        }
        self.show(&envelope);
        self.count(&envelope);
        let (Source::Main { run: whose, .. }, News::Agent(AgentEvent::RunEnded { ending })) =
            (&envelope.source, &envelope.news)
        else {
            return Ok(false);
        };
        self.ended(ending);
        Ok(*whose == run)
    }

    /// The end may have been among what was missed: then the conversation knows what was said last.
    async fn recover(&mut self, ready: &Ready) -> Result<bool, String> {
        let status = ready.runtime.status(&ready.session).await.map_err(|error| error.to_string())?;
        if status.busy || status.queued > 0 {
            return Ok(false);
        }
        let said = ready.runtime.transcript(&ready.session).await.map_err(|error| error.to_string())?;
        let last = said.last().filter(|message| message.role == Role::Assistant && status.fault.is_none());
        if let Some(message) = last {
            self.ended(&Ending::Completed { answer: message.text() });
        }
        Ok(true)
    }

    /// Adds what tasks of this run cost; one that an earlier program left may be told too, and was paid there.
    fn count(&mut self, envelope: &Envelope) {
        match (&envelope.source, &envelope.news) {
            (Source::Task(task), News::TaskStarted { .. }) => drop(self.started.insert(*task)),
            (Source::Task(task), News::TaskEnded(report)) if self.started.contains(task) => {
                self.usage.add(report.usage);
            }
            _ => {}
        }
    }

    fn show(&mut self, envelope: &Envelope) {
        let lines = match &mut self.json {
            Some(json) => json.news(envelope),
            None => self.screen.show(envelope),
        };
        let to_stdout = self.json.is_some() || (self.live && matches!(envelope.source, Source::Main { .. }));
        for line in lines {
            if to_stdout { self.answer(&line) } else { self.progress(&line) }
        }
    }

    fn ended(&mut self, ending: &Ending) {
        if let Ending::Completed { answer } | Ending::TurnLimit { answer } = ending {
            if self.json.is_none() && !self.live && !answer.is_empty() {
                self.answer(answer.trim_end());
            }
            self.result = Some(answer.clone());
        }
        self.ending = Some(ending.clone());
    }

    fn tick(&mut self) {
        if self.json.is_none() {
            let lines = self.screen.tick();
            lines.iter().for_each(|line| self.progress(line));
        }
    }

    /// What the last run's ending means for a script.
    async fn exit(&self, ready: &Ready) -> Exit {
        match &self.ending {
            Some(Ending::Completed { .. }) => Exit::Done,
            Some(Ending::TurnLimit { .. }) => Exit::Limit,
            Some(Ending::Aborted) => Exit::Interrupted,
            Some(Ending::Failed { .. }) | None => fault(ready).await.map_or(Exit::Failed, Exit::from),
        }
    }

    fn fault(&mut self, why: &str) {
        let line = self.json.as_mut().map(|json| json.error(why));
        self.either(line, format!("{} {}", self.look.bad("✗"), clean(why)));
    }

    fn end(&mut self, exit: Exit, main: Usage, alive: &[TaskRow]) -> Exit {
        for row in alive {
            let title = clean(&row.title);
            let line = format!("{} {} interrupted · {title} · --wait waits for it", self.look.warn("■"), row.id);
            self.progress(&line);
        }
        let mut usage = self.usage;
        usage.add(main);
        let interrupted = alive.iter().map(|row| row.id.to_string()).collect();
        let result = self.result.take();
        let end = End { exit, usage, result: result.as_deref(), interrupted };
        if let Some(line) = self.json.as_mut().map(|json| json.end(&end)) {
            self.answer(&line);
        }
        exit
    }

    fn either(&mut self, json: Option<String>, text: String) {
        match json {
            Some(line) => self.answer(&line),
            None => self.progress(&text),
        }
    }

    fn answer(&mut self, line: &str) {
        let mut out = io::stdout().lock();
        self.unread |= writeln!(out, "{line}").and_then(|()| out.flush()).is_err();
    }

    /// Progress that nobody reads is no reason to stop.
    fn progress(&self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}
