//! `tillerman replay FILE`: a recording is played through the real loop and the real tools. What people said then is
//! said again, each line at its place; what models said comes from the file, and no other model is ever asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};

use super::ready::{self, NotReady, Ready};
use super::run::{Course, Feed, Setup, drain, run};
use super::show::Show;
use crate::args::Common;
use crate::config::{self, Cast, Config, Flags};
use crate::event::AgentEvent;
use crate::message::{NoteId, Tally};
use crate::model::Model;
use crate::model::scripted::recorded::{Act, Line};
use crate::model::scripted::{Scripted, Tape};
use crate::runtime::{Envelope, News, Open, RunId, Said, Source, StartError, last_task};
use crate::task::{Question, TaskId};
use crate::terminal::exit::{Exit, Signals};
use crate::workspace::Workspace;

/// How long everything may take to come to rest when the recording is over. What goes on then was stopped in it.
const REST: Duration = Duration::from_secs(2);

/// Plays the recording to its end.
pub async fn replay(common: &Common, file: &Path, fast: bool, setup: &Setup) -> Exit {
    let (model, tape) = match Scripted::from_recording(file, fast) {
        Ok(played) => played,
        Err(error) => return refuse(error.to_string(), setup).await,
    };
    let begun = match prepare(common, model, &tape) {
        Ok(config) => ready::start(config, Open::New).await,
        Err(error) => Err(error),
    };
    run(begun, Course::Recording(tape), setup).await
}

async fn refuse(why: String, setup: &Setup) -> Exit {
    let mut show = Show::new(None, setup);
    show.fault(&why);
    show.end(Exit::Usage, Tally::default(), &[]).await
}

/// Settings under which only the recording answers.
fn prepare(common: &Common, model: Scripted, tape: &Tape) -> Result<Config, NotReady> {
    let sandbox = common.sandbox.map(|reach| reach.name().to_owned());
    let (model_id, network) = (Some(model.id().to_string()), common.network);
    let flags = Flags { model: model_id, sandbox, network, trust: common.trust, ..Flags::default() };
    let before = tape.header().tasks;
    let (mut config, note) = match &common.workspace {
        Some(_) => {
            let config = config::load(ready::workspace(common)?, &flags, &|name| std::env::var(name).ok())?;
            let last = last_task(&config.workspace).map_err(StartError::from)?;
            if last != before && tape.has_workers() {
                let why = format!(
                    "tasks get numbers from t_{:03} on here and had them from t_{:03} on in the recording; play it \
                     without -w, or in a folder with as many tasks",
                    last + 1,
                    before + 1
                );
                return Err(NotReady { exit: Exit::Usage, why });
            }
            (config, None)
        }
        None => {
            let dir = scratch(before).map_err(|why| NotReady { exit: Exit::Failed, why })?;
            let workspace = Workspace::open(&dir.join("workspace"), &dir.join("home"))?;
            let note = format!("played in {}, which is yours to keep; -w DIR plays in DIR", dir.display());
            (config::load(workspace, &flags, &|_| None)?, Some(note))
        }
    };
    config.warnings.extend(note);
    config.models = config.models.only(Arc::new(model));
    config.choice.why = "a recording; no model is asked".to_owned();
    config.cast = Cast::default();
    // Room is made where it was made then.
    let window = tape.header().window;
    (config.main.context_window, config.worker.context_window) = (window, window);
    if let Some(path) = &common.record {
        config.recorder = Some(ready::recorder(path, &config)?);
    }
    Ok(config)
}

/// A folder of its own, in which tasks get the numbers that they had.
fn scratch(tasks: u32) -> Result<PathBuf, String> {
    let parent = std::env::temp_dir();
    let failed = |error: std::io::Error| format!("cannot make a folder in {}: {error}", parent.display());
    let dir = tempfile::Builder::new().prefix("tillerman-replay-").tempdir_in(&parent).map_err(failed)?.keep();
    let (workspace, home) = (dir.join("workspace"), dir.join("home"));
    fs::create_dir_all(&workspace).and_then(|()| fs::create_dir_all(&home)).map_err(failed)?;
    if tasks > 0 {
        let journals = Workspace::open(&workspace, &home).map_err(|error| error.to_string())?.worker_sessions();
        let last = journals.join(format!("{}.jsonl", TaskId(tasks)));
        fs::create_dir_all(&journals).and_then(|()| fs::write(last, "")).map_err(failed)?;
    }
    Ok(dir)
}

/// Says the lines and shows what comes of them, until the recording is over, a signal comes or nobody reads.
pub(super) async fn watch(ready: &Ready, feed: &mut Feed, tape: &Tape, show: &mut Show) -> Result<Exit, String> {
    let mut signals = Signals::catch().map_err(|error| format!("cannot catch signals: {error}"))?;
    let mut lines = Box::pin(direct(ready, tape));
    let mut tick = interval(Duration::from_secs(1));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // No run is waited for; the recording tells when it is over.
    let none = RunId(0);
    loop {
        tokio::select! {
            biased;
            exit = signals.next() => return Ok(exit),
            news = show.next(feed) => {
                if news.as_ref().is_ok_and(is_end) {
                    tape.end();
                }
                show.news(news, ready, none).await?;
            }
            said = &mut lines => {
                said?;
                break;
            }
            _ = tick.tick() => show.tick(),
        }
        if show.unread {
            return Ok(Exit::Done);
        }
    }
    drain(feed, ready, none, show).await?;
    let (given, all) = (tape.given(), tape.exchanges());
    if !tape.is_given() {
        return Err(format!(
            "the replay went another way than the recording: {given} of its {all} exchanges were played"
        ));
    }
    Ok(show.exit(ready).await)
}

/// What a recording counts, too.
fn is_end(envelope: &Envelope) -> bool {
    match (&envelope.source, &envelope.news) {
        (Source::Main { .. }, News::Agent(AgentEvent::RunEnded { .. })) | (_, News::TaskEnded(_)) => true,
        (
            _,
            News::Agent(_)
            | News::TaskQueued { .. }
            | News::TaskHeld { .. }
            | News::Granted(_)
            | News::TaskStarted { .. }
            | News::Titled { .. },
        ) => false,
        (_, News::Asked(_) | News::Settled(_) | News::Permission(_) | News::Walls { .. }) => false,
    }
}

/// Says every line when it is due, then waits for the end.
async fn direct(ready: &Ready, tape: &Tape) -> Result<(), String> {
    let runtime = &ready.runtime;
    for (number, line) in tape.lines().enumerate() {
        tokio::select! {
            biased;
            () = tape.due(number) => {}
            // Nothing goes on any more that could make it due.
            () = runtime.idle() => {}
        }
        act(ready, line).await?;
    }
    tokio::select! {
        biased;
        () = tape.over() => {}
        () = runtime.idle() => {}
    }
    // Whoever is still at work was so when the recording ended.
    let _ = timeout(REST, runtime.idle()).await;
    Ok(())
}

async fn act(ready: &Ready, line: &Line) -> Result<(), String> {
    let Line { to, act, text, images, .. } = line;
    let text = text.clone();
    match to.parse::<TaskId>() {
        // A task may have ended a moment earlier than it did then; the person would be told so too.
        Ok(task) => to_task(ready, task, *act, text).await,
        Err(_) => to_main(ready, *act, Said { text, images: images.clone() }).await?,
    }
    Ok(())
}

async fn to_task(ready: &Ready, task: TaskId, act: Act, text: String) {
    let runtime = &ready.runtime;
    let done = match act {
        Act::Abort => runtime.abort(task).await,
        Act::TakeBack => return take_back(ready, Some(task), &text).await,
        Act::FollowUp => runtime.follow_up(task, text).await.map(drop),
        Act::Answer => {
            let (question, words) = Question::addressed(&text);
            runtime.answer(task, question, words.to_owned()).await.map(drop)
        }
        Act::Say | Act::Steer => runtime.steer(task, text).await.map(drop),
    };
    if let Err(error) = done {
        tracing::info!(%error, "a line of the recording reached nobody");
    }
}

async fn to_main(ready: &Ready, act: Act, said: Said) -> Result<(), String> {
    let (runtime, session) = (&ready.runtime, &ready.session);
    let done = match act {
        // Only tasks ask.
        Act::Answer | Act::Say => runtime.say(session, said).await.map(drop),
        Act::Steer => runtime.steer_main(session, said.text).await.map(drop),
        Act::FollowUp => runtime.follow_up_main(session, said.text).await.map(drop),
        Act::Abort => runtime.abort_main(session).await.map(drop),
        Act::TakeBack => {
            take_back(ready, None, &said.text).await;
            Ok(())
        }
    };
    done.map_err(|error| error.to_string())
}

async fn take_back(ready: &Ready, to: Option<TaskId>, note: &str) {
    // It may have been heard a moment earlier than it was then; the person would be told so too.
    if let Ok(note) = note.parse()
        && let Err(error) = ready.runtime.withdraw(&ready.session, to, NoteId(note)).await
    {
        tracing::info!(%error, "a note of the recording was not taken back");
    }
}
