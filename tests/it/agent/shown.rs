//! What a test compares: events, messages and whole conversations, a line each.

use std::sync::Arc;

use tillerman::event::{AgentEvent, Ending};
use tillerman::message::{Message, NoteKind, Role};

/// An event in a few words.
pub fn line(event: &AgentEvent) -> String {
    match event {
        AgentEvent::RunStarted => "run".into(),
        AgentEvent::TurnStarted { turn } => format!("turn {turn}"),
        AgentEvent::Text { text } => format!("text {text}"),
        AgentEvent::Thinking { text } => format!("thinking {text}"),
        AgentEvent::CallOpened { id, name } => format!("opened {id} {name}"),
        AgentEvent::Replied { message, usage, took, .. } => {
            format!("replied {} tokens in {took:?}: {}", usage.total_tokens(), words(message))
        }
        AgentEvent::ToolStarted { call } => format!("started {} {}", call.id, call.name),
        AgentEvent::ToolProgress { call, chunk } => format!("progress {call} {chunk}"),
        AgentEvent::ToolFinished { result, took } => {
            let how = if result.is_error { "failed" } else { "finished" };
            format!("{how} {} in {took:?}: {}", result.call, result.output)
        }
        AgentEvent::Noted { note, .. } => match note.kind {
            NoteKind::Steer => format!("steer {} {}", note.id, note.text),
            NoteKind::Answer => format!("answer {} {}", note.id, note.text),
            NoteKind::FollowUp | NoteKind::Line => format!("follow-up {} {}", note.id, note.text),
        },
        AgentEvent::Compacted { before, after, .. } => format!("compacted {}", before > after),
        AgentEvent::Retrying { attempt, wait, why } => format!("retrying {attempt} in {wait:?}: {why}"),
        AgentEvent::Failed { why } => format!("failed {why}"),
        AgentEvent::Progressed { turn, score, flat } => format!("turn {turn} scored {score}, flat {flat}"),
        AgentEvent::TurnEnded { turn } => format!("turn {turn} ended"),
        AgentEvent::RunEnded { ending } => match ending {
            Ending::Completed { answer } => format!("completed {answer}"),
            Ending::Aborted => "aborted".into(),
            Ending::TurnLimit { answer } => format!("turn limit {answer}"),
            Ending::BudgetSpent { what, answer } => format!("spent {what}: {answer}"),
            Ending::Parked => "parked".into(),
            Ending::Stuck { evidence } => format!("stuck {evidence}"),
            Ending::Failed { why } => format!("ended failed {why}"),
        },
    }
}

/// `user: …`, `assistant: … [id tool args]`, `id = output`, `id ! error`.
pub fn lines(messages: &[Arc<Message>]) -> Vec<String> {
    messages
        .iter()
        .map(|message| match (message.role, message.results().next()) {
            (Role::User, Some(result)) if result.is_error => format!("{} ! {}", result.call, result.output),
            (Role::User, Some(result)) => format!("{} = {}", result.call, result.output),
            (Role::User, None) => format!("user: {}", words(message)),
            (Role::Assistant, _) => format!("assistant: {}", words(message)),
        })
        .collect()
}

fn words(message: &Message) -> String {
    let calls = message.calls().map(|call| format!("[{} {} {}]", call.id, call.name, call.args.0));
    std::iter::once(message.text()).chain(calls).filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
}
