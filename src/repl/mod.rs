//! The prompt: lines in, events out, neither ever in the other's way. What the agent does with a line is told in `runtime`.

mod act;
mod answering;
pub mod board;
mod budget;
pub mod command;
pub mod complete;
pub mod composer;
pub mod deed;
mod desk;
mod diff;
mod helm;
pub mod help;
pub mod inquiry;
mod keys;
mod look;
mod out;
pub mod painter;
pub mod panel;
mod permit;
pub mod roam;
mod said;
mod seat;
mod sheet;
mod shell;
mod sight;
mod strip;
mod talk;
mod typed;
mod work;

use std::io::{self, BufRead, IsTerminal, Read};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{MissedTickBehavior, interval};

use self::complete::Completer;
use self::desk::Desk;
use self::out::{Out, width};
use self::talk::{Next, Place, Talk};
use self::typed::Typed;
use crate::runtime::{Envelope, Runtime};
use crate::session::SessionId;
use crate::terminal::Look;
use crate::terminal::clean::{clean, one_line};
use crate::terminal::exit::{Exit, Signals};
use crate::terminal::screen::{Screen, Texts};
use crate::terminal::wrap::wrapped;

/// Most bytes of a line that comes from a pipe.
const MAX_LINE: u64 = 10 * 1024 * 1024;

/// What the prompt starts with.
pub struct Setup {
    /// Colours or not.
    pub look: Look,
    /// The first line: version, folder, model and why.
    pub headline: String,
    /// What a person should know before anything else.
    pub warnings: Vec<String>,
    /// The workspace's root; files are named from it and `!` commands run in it.
    pub root: PathBuf,
    /// Where typed lines are remembered.
    pub history: PathBuf,
    /// The conversation goes on: its last messages are shown first.
    pub resumed: bool,
    /// The terminal cannot move its cursor.
    pub dumb: bool,
}

/// Talks until the person leaves, the input ends or a signal comes. Does not end the runtime.
///
/// # Errors
/// When the terminal, a thread or a signal handler cannot be had.
pub async fn run(runtime: &Runtime, session: &SessionId, feed: Receiver<Envelope>, setup: Setup) -> io::Result<Exit> {
    let mut signals = Signals::catch()?;
    let (typed, mut lines) = unbounded_channel();
    let at_terminal = io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal();
    let mut threads = None;
    let completer = Completer::new(setup.root.clone());
    let seen = runtime.transcript(session).await.map_or(0, |said| said.len());
    let (out, texts) = if at_terminal && !setup.dumb {
        runtime.can_ask(true);
        greet(runtime, session, &setup).await;
        let (desk, taken) = Desk::take(setup.history.clone(), completer.clone(), setup.look, typed)?;
        threads = Some(taken);
        (Out::Above(desk), Texts::Shown)
    } else {
        Out::Plain.news(warnings(&setup)).await;
        read_plainly(typed)?;
        (Out::Plain, Texts::Hidden)
    };
    let mut screen = Screen::new(setup.look, width(), setup.root.clone(), texts);
    if texts == Texts::Shown {
        // Folded until Ctrl-T; no thought is there yet that could be opened.
        screen.set_thoughts(false);
    }
    let mut talk = Talk::new(runtime, session, screen, out, Place { root: setup.root, completer, seen });
    // A script says its next line when the last is answered; a person may say it at once.
    let patient = !io::stdin().is_terminal();
    let exit = hold(&mut talk, &mut lines, feed, Hold { signals: &mut signals, raw: threads.is_some(), patient }).await;
    talk.leave().await;
    if let Some(threads) = &mut threads
        && !threads.leave().await
    {
        tracing::warn!("the terminal takes nothing any more; it is left to itself");
    }
    Ok(exit)
}

struct Hold<'a> {
    signals: &'a mut Signals,
    /// Ctrl-C is a key.
    raw: bool,
    patient: bool,
}

/// The conversation itself.
async fn hold(
    talk: &mut Talk<'_>,
    typed: &mut UnboundedReceiver<Typed>,
    mut feed: Receiver<Envelope>,
    with: Hold<'_>,
) -> Exit {
    talk.redraw().await;
    talk.learn_all().await;
    let completer = talk.completer.clone();
    let mut tick = interval(Duration::from_secs(1));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let waiting = with.patient && talk.is_waiting();
        let next = tokio::select! {
            biased;
            exit = with.signals.next() => match exit {
                // At a terminal it is Ctrl-C in the moment in which no line is read: as good as on an empty line.
                Exit::Interrupted if with.raw => talk.act(Typed::Interrupt { empty: true }).await,
                exit => return exit,
            },
            news = feed.recv() => talk.hear(news).await,
            act = typed.recv(), if !waiting => talk.act(act.unwrap_or(Typed::End)).await,
            () = talk.settled(), if waiting => Next::GoOn,
            () = completer.changed() => talk.renew(),
            _ = tick.tick() => talk.tick().await,
        };
        if next == Next::Leave {
            return talk.exit().await;
        }
        talk.redraw().await;
    }
}

async fn greet(runtime: &Runtime, session: &SessionId, setup: &Setup) {
    let mut lines = wrapped(&setup.headline, width());
    lines.extend(warnings(setup));
    if setup.resumed {
        let status = runtime.status(session).await;
        let name = status.ok().and_then(|status| status.name);
        lines.extend(name.map(|name| setup.look.dim(format!("going on with: {}", one_line(&name)))));
        let said = runtime.transcript(session).await;
        lines.extend(sheet::earlier(&said.unwrap_or_default(), sheet::EARLIER, setup.look, width()));
    }
    let hint = "/help shows what works here; Ctrl-D leaves";
    lines.push(setup.look.dim(hint));
    Out::Plain.answer(lines).await;
}

fn warnings(setup: &Setup) -> impl Iterator<Item = String> {
    setup.warnings.iter().map(|warning| format!("{} {}", setup.look.warn("⚠"), clean(warning)))
}

/// Lines of stdin, as they are, on a thread of their own: reading cannot be interrupted, so nobody waits for it.
fn read_plainly(typed: UnboundedSender<Typed>) -> io::Result<()> {
    let read = move || {
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        // A longer line goes on as the next; what is no UTF-8 is seen by its � and loses nothing around it.
        while let Ok(1..) = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
            if typed.send(Typed::Line(text)).is_err() {
                return;
            }
            line.clear();
        }
        // The reader may have left before the input ended.
        let _ = typed.send(Typed::End);
    };
    thread::Builder::new().name("stdin".into()).spawn(read).map(drop)
}
