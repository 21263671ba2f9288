//! The loop, and how a run is closed. What it says to the model is in `think`, what tools do in `act`, how the
//! conversation is shortened in `compact`.

use std::mem;
use std::sync::Arc;

use tokio::time::Instant;

use super::act;
use super::compact::policy::When;
use super::compact::{self, Watch};
use super::gauge::Gauge;
use super::inbox::{Heard, Inbox};
use super::purse::Purse;
use super::stuck::{self, Judge};
use super::{Agent, Outcome, RunError};
use crate::event::{AgentEvent, Ending, Events};
use crate::ledger::{Account, Leave};
use crate::message::{Message, Note, Role};
use crate::session::{End, Record, Session, SessionError};

/// Runs from the conversation as it stands to an outcome.
///
/// The caller has appended the line that is to be answered. Whatever the outcome, the session is left valid, with every
/// call answered, and the inbox sealed; [`Inbox::take_unheard`] then gives back what nobody heard. Dropping the future
/// ends the run where it stands: the session opens again from its file.
///
/// # Errors
/// A fault that a person must act on, told to the observers too.
pub async fn run(
    agent: &Agent,
    session: &mut Session,
    inbox: &mut Inbox,
    events: &Events,
) -> Result<Outcome, RunError> {
    events.emit(&AgentEvent::RunStarted);
    let _at_work = agent.account.as_ref().map(Account::at_work);
    let mut run = Run::new(agent, session, inbox, events);
    let ended = match turns(&mut run).await {
        Ok(outcome) => compact::after(&mut run).await.map(|()| outcome),
        Err(Halt::Aborted) => Ok(Outcome::Aborted),
        Err(Halt::Spent(what)) => Ok(run.spent(what)),
        Err(Halt::Failed(error)) => Err(error),
    };
    let ended = run.close(ended).await;
    if let Err(error) = &ended {
        events.emit(&AgentEvent::Failed { why: error.to_string() });
    }
    events.emit(&AgentEvent::RunEnded { ending: ending(&ended) });
    ended
}

async fn turns(run: &mut Run<'_>) -> Result<Outcome, Halt> {
    loop {
        if run.listen().await? == Ears::Sealed {
            return Ok(Outcome::Answered(mem::take(&mut run.answer)));
        }
        let last = run.begin_turn()?;
        compact::look(run, When::Call).await?;
        let last = run.look_into_purse(last)?;
        let reply = run.think(last.is_some()).await?;
        let calls = run.remember(reply, last.is_some()).await?;
        let since = Instant::now();
        act::act(run, calls).await?;
        let stuck = stuck::look(run, since.elapsed())?;
        run.events.emit(&AgentEvent::TurnEnded { turn: run.turn });
        compact::look(run, When::Turn).await?;
        match last {
            Some(Last::Turns) => return Ok(Outcome::TurnLimit(mem::take(&mut run.answer))),
            Some(Last::Budget(what)) => return Ok(run.spent(what)),
            None => {}
        }
        if mem::take(&mut run.parks) && run.inbox.rest() {
            return Ok(Outcome::Parked);
        }
        if let Some(evidence) = stuck
            && run.inbox.rest()
        {
            return Ok(Outcome::Stuck(evidence));
        }
    }
}

/// What a run knows while it goes on.
pub(super) struct Run<'a> {
    pub(super) agent: &'a Agent,
    pub(super) session: &'a mut Session,
    pub(super) inbox: &'a mut Inbox,
    pub(super) events: &'a Events,
    pub(super) gauge: Gauge,
    pub(super) purse: Purse,
    /// How long the conversation is.
    pub(super) watch: Watch,
    /// Counts model calls of the loop, from 1.
    pub(super) turn: u32,
    /// The model asked for nothing more.
    pub(super) done: bool,
    /// What it said last, over all pieces of an answer that was cut.
    pub(super) answer: String,
    /// The next reply goes on where this answer was cut.
    pub(super) goes_on: bool,
    /// A new line or note waits for its answer, so it must be durable before the model is asked.
    pub(super) fresh: bool,
    /// It answered nothing and was asked once more.
    pub(super) nudged: bool,
    /// Replies in a row that reached the limit of tokens or paused.
    pub(super) cuts: u32,
    /// A tool asked for a rest after this turn.
    pub(super) parks: bool,
    /// Says whether it gets anywhere.
    pub(super) judge: Judge,
}

/// Why the loop stops before the model is done.
pub(super) enum Halt {
    Aborted,
    /// What is used up.
    Spent(String),
    Failed(RunError),
}

/// Why a turn is the last one.
enum Last {
    Turns,
    /// What is nearly used up.
    Budget(String),
}

#[derive(PartialEq, Eq)]
enum Ears {
    Open,
    Sealed,
}

impl<'a> Run<'a> {
    pub(super) fn new(agent: &'a Agent, session: &'a mut Session, inbox: &'a mut Inbox, events: &'a Events) -> Run<'a> {
        Run {
            gauge: Gauge::new(agent, session),
            purse: Purse::of(agent.account.as_ref()),
            agent,
            session,
            inbox,
            events,
            watch: Watch::default(),
            turn: 0,
            done: false,
            answer: String::new(),
            goes_on: false,
            fresh: true,
            nudged: false,
            cuts: 0,
            parks: false,
            judge: Judge::of(agent.limits.flat_turns),
        }
    }

    /// Takes waiting notes into the conversation. When the model is done and there are none, the ears close.
    async fn listen(&mut self) -> Result<Ears, Halt> {
        let (notes, cleared) = match self.inbox.listen(self.done, self.agent.limits.keep_follow_ups).await {
            Heard::Aborted => return Err(Halt::Aborted),
            Heard::Sealed => return Ok(Ears::Sealed),
            Heard::Notes { notes, cleared } => (notes, cleared),
        };
        self.set_aside(&cleared, "cleared by a steer")?;
        let turn = self.turn + 1;
        for (at, note) in notes.iter().enumerate() {
            if let Err(error) = self.session.append(Record::Note { note: note.clone(), turn }) {
                // What the journal does not have was not heard.
                self.inbox.refill(notes[at..].iter().cloned());
                return Err(error.into());
            }
            self.events.emit(&AgentEvent::Noted { note: note.clone(), turn });
            self.fresh = true;
            self.judge.heard();
        }
        Ok(Ears::Open)
    }

    /// Writes down that nobody will hear these.
    fn set_aside(&mut self, notes: &[Note], why: &str) -> Result<(), SessionError> {
        if notes.is_empty() {
            return Ok(());
        }
        let notes = notes.iter().map(|note| note.id).collect();
        self.session.append(Record::Dropped { notes, why: why.to_owned() }).map(drop)
    }

    /// Counts the turn and answers whether it is the last one, in which the model may only sum up. Without money for
    /// any call it does not begin.
    fn begin_turn(&mut self) -> Result<Option<Last>, Halt> {
        let leave = self.leave();
        if let Leave::Nothing { what } = leave {
            return Err(Halt::Spent(what));
        }
        let (used, most) = (self.turn, self.agent.limits.max_turns.filter(|_| !self.purse.counts_turns()));
        self.turn += 1;
        self.events.emit(&AgentEvent::TurnStarted { turn: self.turn });
        match most {
            Some(most) if used >= most => {
                self.sum_up(&format!("All {used} turns of this run are used up"))?;
                return Ok(Some(Last::Turns));
            }
            // As of a budget of turns: from four fifths on.
            Some(most) if used > 0 && u64::from(used) == (u64::from(most) * 4).div_ceil(5) => {
                self.hurry(&format!("{used} of {most} turns"))?;
            }
            _ => {}
        }
        self.heed(leave)
    }

    /// Says that the end is near.
    fn hurry(&mut self, what: &str) -> Result<(), Halt> {
        self.remind(&format!(
            "Most of the budget is used ({what}). Do what matters most now and come to an end: when it is used up, one last \
             turn without tools sums up."
        ))
    }

    /// Looks again whether the turn can be paid for, when a summary was paid for since it began.
    fn look_into_purse(&mut self, last: Option<Last>) -> Result<Option<Last>, Halt> {
        if !self.purse.lighter || last.is_some() {
            return Ok(last);
        }
        let leave = self.leave();
        self.heed(leave)
    }

    fn heed(&mut self, leave: Leave) -> Result<Option<Last>, Halt> {
        match leave {
            Leave::Call => {
                if let Some(what) = self.purse.low() {
                    self.hurry(&what)?;
                }
                Ok(None)
            }
            Leave::SumUp { what } => {
                self.sum_up(&format!("The budget is nearly used up ({what})"))?;
                Ok(Some(Last::Budget(what)))
            }
            Leave::Nothing { what } => Err(Halt::Spent(what)),
        }
    }

    fn sum_up(&mut self, why: &str) -> Result<(), Halt> {
        self.remind(&format!(
            "{why}, so no tool can be called any more. Sum up now, honestly: what is done, what was checked and how, \
             what is not done, and where to find it."
        ))
    }

    /// The end of a run that may spend no more; what was said last in it is its answer.
    fn spent(&mut self, what: String) -> Outcome {
        if self.turn == 0 {
            // The conversation's last words answer an earlier line.
            return Outcome::BudgetSpent { what, answer: String::new() };
        }
        let said = |message: &&Arc<Message>| message.role == Role::Assistant && !message.text().trim().is_empty();
        let answer = match mem::take(&mut self.answer) {
            answer if answer.trim().is_empty() => {
                self.session.context().iter().rev().find(said).map(|message| message.text()).unwrap_or_default()
            }
            answer => answer,
        };
        Outcome::BudgetSpent { what, answer }
    }

    /// Says something to the model that no person said.
    pub(super) fn remind(&mut self, text: &str) -> Result<(), Halt> {
        self.session.append(Record::Reminder { message: Arc::new(Message::user(text)) })?;
        Ok(())
    }

    /// Leaves a valid, durable session and a sealed inbox behind.
    async fn close(&mut self, ended: Result<Outcome, RunError>) -> Result<Outcome, RunError> {
        self.inbox.close().await;
        self.session.notes_given(self.inbox.next_note());
        let closed = self.write_end(&ended).await;
        self.purse.settled().await;
        match (ended, closed) {
            (Ok(_), Err(error)) => Err(error.into()),
            (ended, _) => ended,
        }
    }

    async fn write_end(&mut self, ended: &Result<Outcome, RunError>) -> Result<(), SessionError> {
        let (why, end) = match ended {
            Ok(Outcome::Answered(_)) => (String::new(), End::Completed),
            Ok(Outcome::TurnLimit(_)) => ("not run: the turns of this run are used up".to_owned(), End::TurnLimit),
            Ok(Outcome::BudgetSpent { what, .. }) => {
                (format!("not run: {what} is used up"), End::BudgetSpent { what: what.clone() })
            }
            Ok(Outcome::Parked) => (String::new(), End::Parked),
            Ok(Outcome::Stuck(evidence)) => (format!("not run: {evidence}"), End::Stuck { evidence: evidence.clone() }),
            Ok(Outcome::Aborted) => {
                let end = if self.inbox.is_interrupted() { End::Interrupted } else { End::Aborted };
                (act::stopped(self.inbox).to_owned(), end)
            }
            Err(error) => (format!("not run: {error}"), End::Failed { why: error.to_string() }),
        };
        act::answer_open(self.session, self.events, &why)?;
        if end == End::Aborted && !self.inbox.is_interrupted() {
            // There is nothing left to steer. Follow-ups stay: whoever started the run decides about them.
            let steers = self.inbox.steers();
            self.set_aside(&steers, "the run was stopped before it was heard")?;
        }
        self.session.append(Record::Ended { end })?;
        self.session.settle().await
    }
}

fn ending(ended: &Result<Outcome, RunError>) -> Ending {
    match ended {
        Ok(Outcome::Answered(answer)) => Ending::Completed { answer: answer.clone() },
        Ok(Outcome::Aborted) => Ending::Aborted,
        Ok(Outcome::TurnLimit(answer)) => Ending::TurnLimit { answer: answer.clone() },
        Ok(Outcome::BudgetSpent { what, answer }) => Ending::BudgetSpent { what: what.clone(), answer: answer.clone() },
        Ok(Outcome::Parked) => Ending::Parked,
        Ok(Outcome::Stuck(evidence)) => Ending::Stuck { evidence: evidence.clone() },
        Err(error) => Ending::Failed { why: error.to_string() },
    }
}

impl<E: Into<RunError>> From<E> for Halt {
    fn from(error: E) -> Halt {
        Halt::Failed(error.into())
    }
}
