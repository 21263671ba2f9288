//! Does what a reply asks for: calls run side by side or in order, each is answered, whatever happens to it.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::RunError;
use super::fit::cut_middle;
use super::inbox::Inbox;
use super::run::{Halt, Run};
use super::think::Calls;
use crate::event::{AgentEvent, Events};
use crate::message::{Image, Message, ToolCall, ToolResult};
use crate::session::{Record, Session, SessionError};
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};

/// The answer to a call that an abort ended or kept from starting.
const ABORTED: &str = "aborted by the user";

/// The answer to a call that the end of the program ended.
const INTERRUPTED: &str = "interrupted, effects unknown: the program ended before this call was answered. Check what it \
                           did before you repeat it.";

/// The answer to a call that had to wait when somebody steered.
const SKIPPED: &str = "skipped: a new instruction came first";

/// Most bytes of an output that a model reads, whatever the tool's own policy.
const MOST_OUTPUT: usize = 256 << 10;

/// How long aborted tools have to end by themselves and say how far they came.
const GRACE: Duration = Duration::from_millis(30);

/// How long a tool may take that has no shorter limit of its own.
const LONGEST: Duration = Duration::from_secs(3_600);

/// Runs the calls and writes their results down, in the order of the calls for the model.
///
/// Calls that change the same thing run one after the other, all others side by side, unless the limits say one at a
/// time. A call that had to wait for another is skipped when a steer waits to be heard by then, unless steers wait (C-9).
pub(super) async fn act(run: &mut Run<'_>, calls: Calls) -> Result<(), Halt> {
    if calls.calls.is_empty() {
        return Ok(());
    }
    let mut stage = Stage::set(run, calls)?;
    stage.open(run).await?;
    let abort = run.inbox.abort().clone();
    let mut late: Option<String> = None;
    let time_up = run.purse.time_to_sum_up();
    tokio::pin!(time_up);
    let mut deadline: Option<Instant> = None;
    while !stage.running.is_empty() {
        let grace = deadline.unwrap_or_else(Instant::now);
        tokio::select! {
            biased;
            () = abort.cancelled(), if deadline.is_none() => {
                stage.cancel.cancel();
                deadline = Some(Instant::now() + GRACE);
            }
            what = &mut time_up, if deadline.is_none() => {
                stage.cancel.cancel();
                deadline = Some(Instant::now() + GRACE);
                late = Some(format!("stopped: the time is used up ({what})"));
            }
            () = sleep_until(grace), if deadline.is_some() => break,
            Some(done) = stage.running.next() => {
                let line = done.line;
                if stage.finish(run, done)? {
                    stage.cancel.cancel();
                    deadline = deadline.or(Some(Instant::now() + GRACE));
                }
                if deadline.is_none() {
                    stage.next(run, line).await?;
                }
            }
        }
    }
    // What is left is dropped here, with every process it owns.
    drop(stage.running);
    let panicked = stage.panicked;
    let why = panicked.as_ref().map(|(tool, _)| format!("stopped: tool {tool} panicked")).or(late);
    answer_open(run.session, run.events, why.as_deref().unwrap_or(stopped(run.inbox)))?;
    match panicked {
        Some((tool, message)) => Err(RunError::ToolPanicked { tool, message }.into()),
        None if abort.is_cancelled() => Err(Halt::Aborted),
        None => Ok(()),
    }
}

/// Answers every call that is still open.
pub(super) fn answer_open(session: &mut Session, events: &Events, why: &str) -> Result<(), SessionError> {
    for call in session.open_calls().to_vec() {
        let result = ToolResult { call, output: why.to_owned(), details: Value::Null, is_error: true };
        write(session, events, result, vec![], Duration::ZERO)?;
    }
    Ok(())
}

/// The pictures are for the model alone; who watches reads in the output what they show.
fn write(
    session: &mut Session,
    events: &Events,
    result: ToolResult,
    images: Vec<Image>,
    took: Duration,
) -> Result<(), SessionError> {
    session.append(Record::ToolResult { message: Arc::new(Message::showing(result.clone(), images)) })?;
    events.emit(&AgentEvent::ToolFinished { result, took });
    Ok(())
}

/// The calls of one reply: what runs, and what waits in which line.
struct Stage {
    lines: Vec<VecDeque<Job>>,
    running: FuturesUnordered<BoxFuture<'static, Done>>,
    cancel: CancellationToken,
    panicked: Option<(String, String)>,
    /// Pictures that were shown, and their bytes.
    shown: (usize, usize),
}

/// A call that can be run.
struct Job {
    call: ToolCall,
    tool: Arc<dyn Tool>,
}

/// A call that was run.
struct Done {
    line: usize,
    call: ToolCall,
    said: Result<Result<ToolOutput, ToolError>, Box<dyn Any + Send>>,
    took: Duration,
}

impl Stage {
    /// Puts each call into its line; those that cannot be run are answered.
    fn set(run: &mut Run<'_>, calls: Calls) -> Result<Stage, Halt> {
        let Calls { calls, cut, allowed } = calls;
        let mut lines: Vec<VecDeque<Job>> = Vec::new();
        let mut writers: HashMap<PathBuf, usize> = HashMap::new();
        let last = calls.len() - 1;
        for (index, call) in calls.into_iter().enumerate() {
            let job = if allowed { job(run, call.clone(), cut && index == last) } else { Err(USED_UP.to_owned()) };
            let job = match job {
                Ok(job) => job,
                Err(output) => {
                    let result = ToolResult { call: call.id, output, details: Value::Null, is_error: true };
                    write(run.session, run.events, result, vec![], Duration::ZERO)?;
                    continue;
                }
            };
            // A tool may panic here too; then it does so again when it is called, where that is dealt with.
            let writes = || std::panic::catch_unwind(AssertUnwindSafe(|| job.tool.writes(&job.call.args)));
            let line = match (run.agent.limits.parallel, lines.len()) {
                (false, 1..) => 0,
                (false, 0) => lines.len(),
                (true, new) => match writes().ok().flatten() {
                    Some(path) => *writers.entry(path).or_insert(new),
                    None => new,
                },
            };
            match lines.get_mut(line) {
                Some(line) => line.push_back(job),
                None => lines.push(VecDeque::from([job])),
            }
        }
        let cancel = run.inbox.abort().child_token();
        Ok(Stage { lines, running: FuturesUnordered::new(), cancel, panicked: None, shown: (0, 0) })
    }

    /// Starts the first of each line, once it is durable that they start.
    async fn open(&mut self, run: &mut Run<'_>) -> Result<(), Halt> {
        let first: Vec<(usize, Job)> =
            self.lines.iter_mut().enumerate().filter_map(|(line, jobs)| Some((line, jobs.pop_front()?))).collect();
        for (_, job) in &first {
            run.session.append(Record::ToolStarted { call: job.call.id.clone() })?;
        }
        if first.iter().all(|(_, job)| job.tool.spec().read_only) {
            run.session.settle_meanwhile().await?;
        } else {
            run.session.settle().await?;
        }
        if run.inbox.abort().is_cancelled() {
            return Err(Halt::Aborted);
        }
        for (line, job) in first {
            self.start(run, line, job);
        }
        Ok(())
    }

    /// Starts what comes next in a line, or answers the rest of it when a steer waits.
    async fn next(&mut self, run: &mut Run<'_>, line: usize) -> Result<(), Halt> {
        let Some(jobs) = self.lines.get_mut(line) else { return Ok(()) };
        if run.inbox.is_steered() && !run.agent.limits.steer_waits {
            for job in jobs.drain(..) {
                let result =
                    ToolResult { call: job.call.id, output: SKIPPED.to_owned(), details: Value::Null, is_error: true };
                write(run.session, run.events, result, vec![], Duration::ZERO)?;
            }
        }
        let Some(job) = jobs.pop_front() else { return Ok(()) };
        run.session.append(Record::ToolStarted { call: job.call.id.clone() })?;
        run.session.settle_meanwhile().await?;
        self.start(run, line, job);
        Ok(())
    }

    fn start(&mut self, run: &Run<'_>, line: usize, job: Job) {
        let Job { call, tool } = job;
        let (events, id) = (run.events.clone(), call.id.clone());
        let cx = ToolContext {
            call: call.id.clone(),
            cancel: self.cancel.clone(),
            progress: Arc::new(move |chunk| events.emit(&AgentEvent::ToolProgress { call: id.clone(), chunk })),
            artifacts: run.agent.artifacts.clone(),
            secrets: run.session.secrets().clone(),
        };
        run.events.emit(&AgentEvent::ToolStarted { call: call.clone() });
        self.running.push(Box::pin(async move {
            let since = Instant::now();
            let args = call.args.clone();
            let work =
                async { timeout(LONGEST, tool.call(args, &cx)).await.unwrap_or_else(|_| Err(endless(&call.name))) };
            let said = AssertUnwindSafe(work).catch_unwind().await;
            Done { line, call, said, took: since.elapsed() }
        }));
    }

    /// Writes a result down and answers whether the tool panicked.
    fn finish(&mut self, run: &mut Run<'_>, done: Done) -> Result<bool, Halt> {
        let Done { call, said, took, .. } = done;
        let (mut panicked, mut shown) = (false, Vec::new());
        let (output, details, is_error) = match said {
            Ok(Ok(ToolOutput { text, details, images, parks })) => {
                run.parks |= parks;
                let all = images.len();
                shown = self.fitting(images);
                let text = if shown.len() < all { format!("{text}\n{NOT_SHOWN}") } else { text };
                (text, details, false)
            }
            Ok(Err(error)) => {
                run.parks |= error.parks;
                (error.to_string(), error.details, true)
            }
            Err(panic) => {
                let words = words(panic.as_ref());
                let output = format!("tool {} panicked: {words}", call.name);
                self.panicked.get_or_insert((call.name, words));
                panicked = true;
                (output, Value::Null, true)
            }
        };
        let result = ToolResult { call: call.id, output: cut_middle(output, MOST_OUTPUT), details, is_error };
        write(run.session, run.events, result, shown, took)?;
        Ok(panicked)
    }

    /// Those of the pictures that still fit into one request.
    fn fitting(&mut self, images: Vec<Image>) -> Vec<Image> {
        let (count, bytes) = &mut self.shown;
        let mut fits = |image: &Image| {
            let fits = *count < Image::MOST && *bytes + image.bytes() <= Image::TOTAL;
            if fits {
                *count += 1;
                *bytes += image.bytes();
            }
            fits
        };
        images.into_iter().filter(|image| fits(image)).collect()
    }
}

/// Said of a picture that came with too many others.
const NOT_SHOWN: &str = "[image left out: the other calls showed as many as go together; ask for it again]";

/// The answer to a call that did not end.
fn endless(tool: &str) -> ToolError {
    let minutes = LONGEST.as_secs() / 60;
    ToolError::new(format!("{tool} did not end within {minutes} minutes and was stopped; ask for less at once"))
}

/// The answer to calls of a run that was stopped from outside.
pub(super) fn stopped(inbox: &Inbox) -> &'static str {
    if inbox.is_interrupted() { INTERRUPTED } else { ABORTED }
}

/// The answer to a call in the turn that has no tools.
const USED_UP: &str = "not run: this turn has no tools";

/// What a call asks for, or a sentence about why it cannot be done.
fn job(run: &Run<'_>, call: ToolCall, cut: bool) -> Result<Job, String> {
    let Some(tool) = run.agent.tools.find(&call.name) else {
        return Err(unknown(&call.name, run.agent.tools.names().collect()));
    };
    let args = call.args.0.trim();
    // Tools read their arguments themselves, an empty text and a fence included; here it only counts that nothing half
    // is ever executed.
    let whole = args.is_empty() || args.starts_with("```") || serde_json::from_str::<IgnoredAny>(args).is_ok();
    match serde_json::from_str::<IgnoredAny>(args) {
        Err(_) if cut => Err(format!(
            "the call of {} was cut off because the reply reached its limit of {} tokens; nothing was done. Send it \
             again in smaller pieces.",
            call.name, run.agent.limits.max_tokens
        )),
        Err(error) if !whole => Err(format!(
            "the arguments of {} are not JSON: {error}; nothing was done. Send one JSON object as the tool's schema \
             describes it.",
            call.name
        )),
        Ok(_) | Err(_) => Ok(Job { call, tool: Arc::clone(tool) }),
    }
}

/// Names the tools there are, the most similar first.
fn unknown(name: &str, mut names: Vec<&str>) -> String {
    if names.is_empty() {
        return format!("there is no tool {name}, nor any other; answer without tools");
    }
    let asked = name.to_lowercase();
    let distance = |name: &&str| (1_000.0 * (1.0 - strsim::jaro_winkler(&asked, &name.to_lowercase()))) as u64;
    names.sort_by_key(distance);
    format!("there is no tool {name}; there are {}", names.join(", "))
}

/// The words of a panic.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no words given".to_owned())
}
