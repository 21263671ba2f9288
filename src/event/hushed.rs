//! Events without secrets, the streams of a run included: no observer gets any other.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{AgentEvent, Ending};
use crate::message::{CallId, Message};
use crate::secret::{Secrets, Stream};

/// The streams of one run.
pub(super) struct Hushed {
    secrets: Secrets,
    streams: Mutex<Streams>,
}

struct Streams {
    text: Stream,
    thinking: Stream,
    /// Of tools that run.
    calls: HashMap<CallId, Stream>,
}

impl Hushed {
    pub(super) fn new(secrets: Secrets) -> Hushed {
        let (text, thinking) = (secrets.known_stream(), secrets.known_stream());
        Hushed { secrets, streams: Mutex::new(Streams { text, thinking, calls: HashMap::new() }) }
    }

    /// What is to be shown when this happens: nothing while all of it is held back.
    pub(super) fn pass<'a>(&self, event: &'a AgentEvent) -> Vec<Cow<'a, AgentEvent>> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            AgentEvent::Text { text } => {
                piece(event, streams.text.push(text), |text| AgentEvent::Text { text }).into_iter().collect()
            }
            AgentEvent::Thinking { text } => {
                piece(event, streams.thinking.push(text), |text| AgentEvent::Thinking { text }).into_iter().collect()
            }
            AgentEvent::ToolProgress { call, chunk } => {
                let stream = streams.calls.entry(call.clone()).or_insert_with(|| self.secrets.stream());
                let shown = |chunk| AgentEvent::ToolProgress { call: call.clone(), chunk };
                piece(event, stream.push(chunk), shown).into_iter().collect()
            }
            other => {
                let mut shown = streams.rest(other);
                drop(streams);
                shown.push(self.whole(other));
                shown
            }
        }
    }

    /// An event that stands for itself.
    fn whole<'a>(&self, event: &'a AgentEvent) -> Cow<'a, AgentEvent> {
        let mut copy = match event {
            AgentEvent::Replied { .. }
            | AgentEvent::ToolStarted { .. }
            | AgentEvent::ToolFinished { .. }
            | AgentEvent::Noted { .. }
            | AgentEvent::Retrying { .. }
            | AgentEvent::Failed { .. }
            | AgentEvent::RunEnded { .. } => event.clone(),
            AgentEvent::RunStarted
            | AgentEvent::TurnStarted { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::CallOpened { .. }
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::Compacted { .. }
            | AgentEvent::Progressed { .. }
            | AgentEvent::TurnEnded { .. } => return Cow::Borrowed(event),
        };
        match &mut copy {
            AgentEvent::Replied { message, .. } => {
                let said = std::mem::replace(message, Message::user(""));
                *message = Arc::unwrap_or_clone(Arc::new(said).hushed(&self.secrets));
            }
            AgentEvent::ToolStarted { call } => self.secrets.hide_known_in(&mut call.args.0),
            AgentEvent::ToolFinished { result, .. } => result.hush(&self.secrets),
            AgentEvent::Noted { note, .. } => self.secrets.hide_known_in(&mut note.text),
            AgentEvent::Retrying { why, .. } | AgentEvent::Failed { why } => self.secrets.hide_in(why),
            AgentEvent::RunEnded { ending } => ending.hush(&self.secrets),
            _ => {}
        }
        Cow::Owned(copy)
    }
}

impl Streams {
    /// What is held back of streams that this event ends.
    fn rest(&mut self, event: &AgentEvent) -> Vec<Cow<'static, AgentEvent>> {
        let mut rest =
            vec![AgentEvent::Thinking { text: self.thinking.end() }, AgentEvent::Text { text: self.text.end() }];
        if let AgentEvent::ToolFinished { result, .. } = event
            && let Some(mut stream) = self.calls.remove(&result.call)
        {
            rest.push(AgentEvent::ToolProgress { call: result.call.clone(), chunk: stream.end() });
        }
        rest.retain(|event| match event {
            AgentEvent::Thinking { text } | AgentEvent::Text { text } => !text.is_empty(),
            AgentEvent::ToolProgress { chunk, .. } => !chunk.is_empty(),
            _ => false,
        });
        rest.into_iter().map(Cow::Owned).collect()
    }
}

impl Ending {
    fn hush(&mut self, secrets: &Secrets) {
        match self {
            Ending::Completed { answer } | Ending::TurnLimit { answer } | Ending::BudgetSpent { answer, .. } => {
                secrets.hide_known_in(answer);
            }
            Ending::Stuck { evidence: why } | Ending::Failed { why } => secrets.hide_in(why),
            Ending::Aborted | Ending::Parked => {}
        }
    }
}

/// A piece of a stream: as it came, without what it had to hide, or not yet.
fn piece<'a>(
    event: &'a AgentEvent,
    shown: Cow<'_, str>,
    event_of: impl FnOnce(String) -> AgentEvent,
) -> Option<Cow<'a, AgentEvent>> {
    match shown {
        Cow::Borrowed(_) => Some(Cow::Borrowed(event)),
        Cow::Owned(text) => (!text.is_empty()).then(|| Cow::Owned(event_of(text))),
    }
}
