//! The loop.

use std::sync::Arc;
use std::time::Instant;

use super::inbox::{Heard, Inbox};
use super::{Agent, Outcome, RunError};
use crate::event::{AgentEvent, Ending, Events};
use crate::message::ToolResult;
use crate::model::{Delta, Request};
use crate::session::{Record, Session};
use crate::tool::ToolContext;

/// Runs until the model has answered.
///
/// # Errors
/// See [`RunError`].
pub async fn run(
    agent: &Agent,
    session: &mut Session,
    inbox: &mut Inbox,
    events: &Events,
) -> Result<Outcome, RunError> {
    events.emit(&AgentEvent::RunStarted);
    let abort = inbox.abort().clone();
    let (mut answer, mut done, mut turn) = (String::new(), false, 0);
    let outcome = loop {
        match inbox.listen(done, agent.limits.keep_follow_ups) {
            Heard::Sealed => break Outcome::Answered(answer),
            Heard::Notes(notes) => {
                for note in notes {
                    session.append(Record::Note { note: note.clone() })?;
                    events.emit(&AgentEvent::Noted { note });
                }
            }
        }
        turn += 1;
        events.emit(&AgentEvent::TurnStarted { turn });
        let since = Instant::now();
        let mut tell = |delta| match delta {
            Delta::Text(text) => events.emit(&AgentEvent::Text { text }),
            Delta::Thinking(text) => events.emit(&AgentEvent::Thinking { text }),
            Delta::CallOpened { id, name } => events.emit(&AgentEvent::CallOpened { id, name }),
            Delta::Retrying { attempt, wait, why } => events.emit(&AgentEvent::Retrying { attempt, wait, why }),
        };
        let cache_key = session.id().clone();
        let request = Request {
            system: &agent.system,
            messages: session.context(),
            tools: agent.tools.specs(),
            max_tokens: agent.limits.max_tokens,
            cache_key: cache_key.as_str(),
        };
        let reply = tokio::select! {
            biased;
            () = abort.cancelled() => break Outcome::Aborted,
            reply = agent.model.reply(request, &mut tell) => reply?,
        };
        let message = Arc::new(reply.message.clone());
        let model = agent.model.id().to_string();
        session.append(Record::Assistant { message: Arc::clone(&message), usage: reply.usage, model })?;
        session.settle().await?;
        events.emit(&AgentEvent::Replied { message: reply.message, usage: reply.usage, took: since.elapsed() });
        for call in message.calls() {
            let cx = ToolContext {
                call: call.id.clone(),
                cancel: abort.clone(),
                progress: Arc::new(|_| ()),
                artifacts: agent.artifacts.clone(),
            };
            events.emit(&AgentEvent::ToolStarted { call: call.clone() });
            let said = match agent.tools.find(&call.name) {
                Some(tool) => tool.call(call.args.clone(), &cx).await,
                None => Err(crate::tool::ToolError::new(format!("there is no tool {}", call.name))),
            };
            let is_error = said.is_err();
            let (output, details) =
                said.map_or_else(|e| (e.to_string(), serde_json::Value::Null), |o| (o.text, o.details));
            let result = ToolResult { call: call.id.clone(), output, details, is_error };
            session
                .append(Record::ToolResult { message: Arc::new(crate::message::Message::result(result.clone())) })?;
            events.emit(&AgentEvent::ToolFinished { result, took: since.elapsed() });
        }
        done = message.calls().next().is_none();
        answer = message.text();
        events.emit(&AgentEvent::TurnEnded { turn });
    };
    let ending = match &outcome {
        Outcome::Answered(answer) => Ending::Completed { answer: answer.clone() },
        Outcome::Aborted => Ending::Aborted,
        Outcome::TurnLimit(answer) => Ending::TurnLimit { answer: answer.clone() },
    };
    events.emit(&AgentEvent::RunEnded { ending });
    Ok(outcome)
}
