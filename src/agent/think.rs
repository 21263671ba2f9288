//! Asks the model, and takes its reply into the conversation. Replies that are empty, cut or refused are dealt with
//! here; how a provider is spoken to is the model's business.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::RunError;
use super::compact;
use super::run::{Halt, Run};
use crate::event::{AgentEvent, Events};
use crate::ledger::Purpose;
use crate::message::{ToolCall, Usage, Usd};
use crate::model::{Delta, Fault, Reply, Request, Stop};
use crate::session::Record;

/// Most replies in a row that may reach the limit of tokens, or pause, before the run gives up.
const MOST_CUTS: u32 = 3;

impl Run<'_> {
    /// Asks the model; when the conversation turns out too long, makes room and asks once more.
    pub(super) async fn think(&mut self, last: bool) -> Result<Thought, Halt> {
        match self.ask(last).await {
            Err(Halt::Failed(RunError::Model(error))) if error.fault == Fault::Overflow => {
                compact::at_once(self).await?;
            }
            other => return other,
        }
        self.ask(last).await.map_err(|halt| match halt {
            Halt::Failed(RunError::Model(error)) if error.fault == Fault::Overflow => {
                Halt::Failed(compact::no_room(self))
            }
            other => other,
        })
    }

    async fn ask(&mut self, last: bool) -> Result<Thought, Halt> {
        if self.fresh {
            self.session.settle().await?;
        } else {
            self.session.settle_meanwhile().await?;
        }
        tokio::select! {
            biased;
            () = self.inbox.abort().cancelled() => return Err(Halt::Aborted),
            () = self.purse.settled() => {}
        }
        let asked = self.asked();
        let request = Request {
            system: &self.agent.system,
            messages: self.session.context(),
            tools: if last { &[] } else { self.agent.tools.specs() },
            max_tokens: self.agent.limits.max_tokens,
            cache_key: self.session.id().as_str(),
        };
        let events = self.events;
        let (mut discarded, mut spent) = (Vec::new(), (Usage::default(), Some(Usd(0))));
        let (over, purpose) = (self.purse.time_over(), if last { Purpose::SumUp } else { Purpose::Turn });
        let mut tell = |delta| match delta {
            Delta::Discarded { usage, cost, model, why } => {
                spent.0.add(usage);
                spent.1 = spent.1.zip(cost).map(|(before, now)| before.plus(now));
                discarded.push(Record::Discarded { usage, model: model.to_string(), cost, why });
            }
            Delta::Text(_) | Delta::Thinking(_) | Delta::CallOpened { .. } | Delta::Retrying { .. } => {
                tell(events, delta);
            }
        };
        let since = Instant::now();
        // Dropping the model's future closes its stream.
        let reply = tokio::select! {
            biased;
            () = self.inbox.abort().cancelled() => Err(Halt::Aborted),
            reply = self.agent.model.reply(request, &mut tell) => Ok(reply.map_err(|mut error| {
                // What a server says may repeat what it was sent.
                self.session.secrets().hide_in(&mut error.message);
                error
            })),
            what = over => Err(Halt::Spent(what)),
        };
        // They were paid for, whatever came after them.
        for record in discarded {
            if let Record::Discarded { usage, model, cost, .. } = &record {
                self.purse.paid(Purpose::Discarded, model, *usage, *cost);
            }
            self.session.append(record)?;
        }
        if reply.is_err() {
            self.purse.stopped(&self.agent.model.id().to_string(), asked);
        }
        let reply = reply??;
        self.purse.replied(purpose, &reply, asked, since.elapsed());
        self.fresh = false;
        Ok(Thought { reply, took: since.elapsed(), spent })
    }

    /// Writes the reply down and answers what it wants to be done.
    pub(super) async fn remember(&mut self, thought: Thought, last: bool) -> Result<Calls, Halt> {
        let Thought { reply, took, spent } = thought;
        let Reply { mut message, usage, stop, model, cost } = reply;
        // It stays as long as the conversation; a stream leaves twice the room that it needs.
        message.shrink_to_fit();
        // Before its calls do anything, so that what they did is what is told.
        let message = Arc::new(message).hushed(self.session.secrets());
        let (text, calls): (String, Vec<ToolCall>) = (message.text(), message.calls().cloned().collect());
        let usual = model == *self.agent.model.id() && !last;
        let model = model.to_string();
        let silent = text.trim().is_empty() && calls.is_empty();
        self.session.append(if silent {
            Record::Discarded { usage, model: model.clone(), cost, why: "it said nothing".to_owned() }
        } else {
            Record::Assistant { message: Arc::clone(&message), usage, model: model.clone(), cost }
        })?;
        self.gauge.replied(self.session.context(), usage, usual);
        let said = Arc::unwrap_or_clone(message);
        let (mut usage, cost) = (usage, cost.zip(spent.1).map(|(cost, before)| cost.plus(before)));
        usage.add(spent.0);
        self.events.emit(&AgentEvent::Replied { message: said, usage, took, model: model.clone(), cost });
        if stop == Stop::Refusal {
            return Err(RunError::Refused { model, said: text.trim().to_owned() }.into());
        }
        if !mem::take(&mut self.goes_on) {
            self.answer.clear();
        }
        self.answer.push_str(&text);
        self.done = calls.is_empty();
        if stop == Stop::MaxTokens && !last {
            self.cut(&calls, silent, model)?;
        } else if stop == Stop::Paused && !last {
            self.pause(model)?;
        } else if silent && !last {
            self.nudge(model)?;
        } else {
            self.cuts = 0;
            self.nudged = false;
        }
        Ok(Calls { calls, cut: stop == Stop::MaxTokens, allowed: !last })
    }

    /// The reply reached the limit of tokens: it goes on, a bounded number of times.
    fn cut(&mut self, calls: &[ToolCall], silent: bool, model: String) -> Result<(), Halt> {
        let max_tokens = self.agent.limits.max_tokens;
        self.cuts += 1;
        if self.cuts > MOST_CUTS {
            return Err(RunError::CutOff { model, max_tokens, times: self.cuts }.into());
        }
        if calls.is_empty() {
            self.done = false;
            self.goes_on = true;
            let how = if silent { "Think less and answer" } else { "Go on exactly where you stopped" };
            self.remind(&format!("Your reply was cut off at its limit of {max_tokens} tokens. {how}."))?;
        }
        Ok(())
    }

    /// The model rests: it is asked again with what it has said, a bounded number of times.
    fn pause(&mut self, model: String) -> Result<(), Halt> {
        self.cuts += 1;
        if self.cuts > MOST_CUTS {
            return Err(RunError::NeverDone { model, times: self.cuts }.into());
        }
        self.done = false;
        self.goes_on = true;
        Ok(())
    }

    /// The model said nothing: it is asked once more.
    fn nudge(&mut self, model: String) -> Result<(), Halt> {
        if self.nudged {
            return Err(RunError::NothingSaid { model }.into());
        }
        self.nudged = true;
        self.done = false;
        self.remind("Your last reply was empty. Answer now, or call a tool.")
    }
}

/// A reply and how long it took.
pub(super) struct Thought {
    reply: Reply,
    took: Duration,
    /// On replies before it that were not taken.
    spent: (Usage, Option<Usd>),
}

/// What a reply wants to be done.
pub(super) struct Calls {
    pub(super) calls: Vec<ToolCall>,
    /// The reply was cut, so the last call may be half a call.
    pub(super) cut: bool,
    /// Tools may be called in this turn.
    pub(super) allowed: bool,
}

/// Shows a piece of a reply to whoever watches.
pub(super) fn tell(events: &Events, delta: Delta) {
    events.emit(&match delta {
        Delta::Text(text) => AgentEvent::Text { text },
        Delta::Thinking(text) => AgentEvent::Thinking { text },
        Delta::CallOpened { id, name } => AgentEvent::CallOpened { id, name },
        Delta::Retrying { attempt, wait, why } => AgentEvent::Retrying { attempt, wait, why },
        // Nothing to see but the retry that follows.
        Delta::Discarded { .. } => return,
    });
}
