//! `tillerman rpc`: another program gives orders as lines of JSON on stdin and reads on stdout what happens and what came
//! of each. Orders are obeyed one after the other; what happens is told beside them.

mod obey;
mod order;
mod reading;

use serde_json::Value;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{Duration, sleep};
use tokio_util::task::AbortOnDropHandle;

use self::obey::Hands;
use self::order::{Asked, Order};
use self::reading::{Heard, LONGEST, Reading};
use super::ready::Ready;
use super::run::{Feed, drain};
use super::show::Show;
use crate::runtime::{Envelope, News, RunId, Word};
use crate::terminal::exit::{Exit, Signals};

/// Answers that may wait to be told.
const WAITING: usize = 16;
/// Between two looks whether the main agent has come to rest.
const LOOK: Duration = Duration::from_millis(20);

/// What came of a line.
struct Answer {
    id: Value,
    command: String,
    outcome: Result<Value, String>,
    /// Nothing more is read.
    quits: bool,
}

/// Obeys until stdin ends and what runs is done, an order or a signal ends it, or nobody reads.
pub(super) async fn watch(ready: &Ready, feed: &mut Feed, show: &mut Show) -> Result<Exit, String> {
    let mut signals = Signals::catch().map_err(|error| format!("cannot catch signals: {error}"))?;
    let runtime = &ready.runtime;
    // Whoever gives orders can say a word about a call, too.
    runtime.can_ask(true);
    let hands = Hands { runtime: runtime.clone(), session: ready.session.clone() };
    let (tell, mut answers) = mpsc::channel(WAITING);
    let _hands = AbortOnDropHandle::new(tokio::spawn(listen(hands, tell)));
    let mut rest = Box::pin(rest(ready, show.wait));
    let mut over = false;
    loop {
        tokio::select! {
            biased;
            exit = signals.next() => return Ok(exit),
            answer = next(&mut answers, show), if !over => match answer {
                Some(answer) => {
                    show.response(&answer.id, &answer.command, &answer.outcome);
                    if answer.quits {
                        return Ok(Exit::Done);
                    }
                }
                None => {
                    over = true;
                    alone(ready);
                }
            },
            news = show.next(feed) => {
                if over && news.as_ref().is_ok_and(asks) {
                    alone(ready);
                }
                // No run is waited for.
                show.news(news, ready, RunId(0)).await?;
            }
            () = &mut rest, if over => break,
        }
        if show.unread {
            return Ok(Exit::Done);
        }
    }
    drain(feed, ready, RunId(0), show).await?;
    Ok(Exit::Done)
}

/// The next answer, when there is room to tell it.
async fn next(answers: &mut Receiver<Answer>, show: &Show) -> Option<Answer> {
    show.room().await;
    answers.recv().await
}

/// Reads and obeys until nothing more is to be read.
async fn listen(hands: Hands, tell: Sender<Answer>) {
    let mut reading = Reading::new(tokio::io::stdin());
    loop {
        let asked = match reading.next().await {
            Ok(Some(Heard::Line(line))) => order::read(&line),
            Ok(Some(Heard::TooLong)) => Some(wrong(format!("the line has over {LONGEST} bytes; it was left out"))),
            Ok(None) => return,
            Err(error) => {
                // What the other side of it does not tell is told before the end.
                let _ = tell.send(answer(wrong(format!("stdin cannot be read: {error}")), &hands).await).await;
                return;
            }
        };
        let Some(asked) = asked else { continue };
        let answer = answer(asked, &hands).await;
        let quits = answer.quits;
        if tell.send(answer).await.is_err() || quits {
            return;
        }
    }
}

fn wrong(why: String) -> Asked {
    Asked { id: Value::Null, command: "parse".to_owned(), order: Err(why) }
}

async fn answer(asked: Asked, hands: &Hands) -> Answer {
    let Asked { id, command, order } = asked;
    let quits = matches!(order, Ok(Order::Quit));
    let outcome = match order {
        Ok(order) => hands.obey(order).await,
        Err(why) => Err(why),
    };
    Answer { id, command, outcome, quits }
}

/// Waits until nothing goes on: in the main agent, or anywhere.
async fn rest(ready: &Ready, wait: bool) {
    if wait {
        return ready.runtime.idle().await;
    }
    // One that is gone does nothing.
    while let Ok(status) = ready.runtime.status(&ready.session).await {
        if !status.busy && status.queued == 0 {
            return;
        }
        sleep(LOOK).await;
    }
}

fn asks(envelope: &Envelope) -> bool {
    matches!(&envelope.news, News::Permission(permission) if permission.settled.is_none())
}

/// Nobody can say a word any more: calls that wait for one are denied.
fn alone(ready: &Ready) {
    ready.runtime.can_ask(false);
    let word = || Word::No("nobody is there to ask any more".to_owned());
    while ready.runtime.permit(None, word()).is_ok() {}
}
