//! One exchange while it goes on: what was asked, what streamed so far, and how fast.

use std::time::Duration;

use tokio::time::Instant;

use super::Recorder;
use super::entry::{self, Entry};
use crate::message::{Block, RawArgs, Role, Thinking, ToolCall};
use crate::model::scripted::format::{OneOrMore, When};
use crate::model::scripted::recorded::{Recorded, agent};
use crate::model::{Delta, Fault, ModelError, Reply, Request};

/// Most characters of a user's text that tell a request from others.
const TELLING: usize = 120;

/// An exchange. Dropped before its end, it is written down as one that nobody waited for.
pub(super) struct Exchange<'a> {
    recorder: &'a Recorder,
    agent: String,
    when: When,
    /// What streamed since the last attempt began.
    said: Vec<Block>,
    since: Instant,
    pieces: u32,
    largest: usize,
    ended: bool,
}

impl<'a> Exchange<'a> {
    pub(super) fn begin(recorder: &'a Recorder, request: &Request<'_>) -> Exchange<'a> {
        recorder.asked();
        let agent = agent(request.cache_key).to_owned();
        Exchange {
            recorder,
            when: when(&agent, request),
            agent,
            said: Vec::new(),
            since: Instant::now(),
            pieces: 0,
            largest: 0,
            ended: false,
        }
    }

    pub(super) fn hear(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) => {
                self.piece(text);
                match self.said.last_mut() {
                    Some(Block::Text { text: said }) => said.push_str(text),
                    _ => self.said.push(Block::text(text.clone())),
                }
            }
            Delta::Thinking(text) => {
                self.piece(text);
                match self.said.last_mut() {
                    Some(Block::Thinking(said)) => said.text.push_str(text),
                    _ => self.said.push(Block::Thinking(Thinking { text: text.clone(), opaque: None })),
                }
            }
            Delta::CallOpened { id, name } => {
                self.pieces += 1;
                let (id, name) = (id.clone(), name.clone());
                self.said.push(Block::Call(ToolCall { id, name, args: RawArgs(String::new()) }));
            }
            // Played again, nothing is discarded: the reply that was taken comes.
            Delta::Discarded { .. } => {}
            // It only waits with others before it is sent.
            Delta::Retrying { attempt: 1, wait, .. } => self.since = Instant::now() + *wait,
            Delta::Retrying { wait, why, .. } => self.retrying(*wait, why),
        }
    }

    pub(super) fn end(mut self, replied: &Result<Reply, ModelError>) {
        self.ended = true;
        let entry = match replied {
            Ok(reply) => {
                let (usage, stop) = (&reply.usage, reply.stop);
                let (response, exact) = entry::says(&reply.message.blocks, &reply.model, usage, stop);
                self.entry(
                    response,
                    Recorded {
                        model: Some(reply.model.to_string()),
                        blocks: exact,
                        cost: reply.cost,
                        ..self.recorded()
                    },
                )
            }
            Err(error) => {
                let response = entry::fails(error.fault, &error.message, error.retry_after);
                let model = Some(error.provider.clone());
                self.entry(response, Recorded { model, blocks: self.before(), ..self.recorded() })
            }
        };
        self.recorder.ended(entry);
    }

    /// The attempt failed and is made again: an exchange of its own, the next one begins after the wait.
    fn retrying(&mut self, wait: Duration, why: &str) {
        let response = entry::fails(fault_of(why), why, Some(wait));
        let recorded = Recorded { blocks: self.before(), retried: true, ..self.recorded() };
        self.recorder.ended(self.entry(response, recorded));
        self.said.clear();
        (self.since, self.pieces, self.largest) = (Instant::now() + wait, 0, 0);
    }

    fn piece(&mut self, text: &str) {
        self.pieces += 1;
        self.largest = self.largest.max(text.chars().count());
    }

    /// What was said before a fault.
    fn before(&self) -> Option<Vec<Block>> {
        (!self.said.is_empty()).then(|| self.said.clone())
    }

    fn recorded(&self) -> Recorded {
        let agent = self.agent.clone();
        Recorded { agent, model: None, after: 0, retried: false, aborted: false, blocks: None, cost: None }
    }

    fn entry(&self, response: serde_json::Value, recorded: Recorded) -> Entry {
        let each = self.since.elapsed() / self.pieces.max(1);
        let latency = u64::try_from(each.as_millis()).unwrap_or(u64::MAX);
        let chunk_size = (self.largest > 0).then_some(self.largest);
        Entry { lines: Vec::new(), when: self.when.clone(), response, latency, chunk_size, recorded }
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let response = entry::part(&self.said);
            let recorded = Recorded { aborted: true, blocks: Some(self.said.clone()), ..self.recorded() };
            self.recorder.ended(self.entry(response, recorded));
        }
    }
}

/// How this request is told from all others: who asks, by the folder in a worker's prompt, and what it was told last.
/// Further requests of the same kind are told apart by their number. Nothing in it changes with the folder or the hour.
fn when(agent: &str, request: &Request<'_>) -> When {
    let user = request.messages.iter().rev().filter(|message| message.role == Role::User).map(|message| message.text());
    let user = user.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    let first = user.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let folder = format!("/.tasks/{agent}");
    When {
        user_message: Some(first.chars().take(TELLING).collect()),
        system_message: request.system.contains(&folder).then_some(OneOrMore::One(folder)),
        ..When::default()
    }
}

/// The kind of a fault of which only the words are left.
fn fault_of(why: &str) -> Fault {
    match entry::status_in(why) {
        Some(429) => Fault::RateLimited,
        Some(_) => Fault::Unavailable,
        None => Fault::Network,
    }
}
