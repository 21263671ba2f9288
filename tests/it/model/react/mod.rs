//! Tools in words: what a model writes and what is read from it, what it is sent, and that the loop cannot tell.

mod play;
mod read;
mod told;
mod wire;

use std::sync::{Arc, Mutex};

use serde_json::json;
use tillerman::message::{Block, Message, ToolSpec};
use tillerman::model::react::React;
use tillerman::model::scripted::{Scripted, Step};
use tillerman::model::{Delta, Model, Reply};

use super::talk::Ask;

/// A tool with these fields, the first of which is required.
fn tool(name: &str, fields: &[&str]) -> ToolSpec {
    let properties: serde_json::Map<_, _> =
        fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
    let schema = json!({"type": "object", "properties": properties, "required": fields.get(..1).unwrap_or_default()});
    ToolSpec {
        name: name.to_owned(),
        description: format!("The {name}.").into(),
        schema: schema.into(),
        read_only: true,
    }
}

fn tools() -> Vec<ToolSpec> {
    let mut count = tool("count", &["numbers"]);
    count.schema = json!({"properties": {"numbers": {"type": "array"}}, "required": ["numbers"]}).into();
    let mut edit = tool("edit", &["path", "text"]);
    edit.schema = json!({"properties": {"path": {}, "text": {}}, "required": ["path", "text"]}).into();
    vec![count, edit, tool("now", &[]), tool("read", &["path", "limit"])]
}

/// What was made of a reply, and how it was told.
struct Heard {
    reply: Reply,
    deltas: Vec<Delta>,
    /// Conversations that the inner model was sent, a line each message, its role first.
    sent: Vec<Vec<String>>,
}

/// Asks a model that says these things, one after the other.
async fn hear(steps: impl IntoIterator<Item = Step>, ask: &Ask) -> Heard {
    let inner = Arc::new(Scripted::replies(steps));
    let model: Arc<dyn Model> = Arc::new(React::new(Arc::clone(&inner) as Arc<dyn Model>));
    let deltas = Mutex::new(Vec::new());
    let mut take = |delta| deltas.lock().unwrap().push(delta);
    let reply = model.reply(ask.request(), &mut take).await.unwrap();
    let asked = inner.asked();
    assert!(asked.iter().all(|asked| asked.tools.is_empty()), "the inner model gets no tools");
    let sent = asked.iter().map(|asked| asked.messages.iter().map(|message| line(message)).collect()).collect();
    Heard { reply, deltas: deltas.into_inner().unwrap(), sent }
}

/// A question to a model that has [`tools`].
fn question() -> Ask {
    Ask { tools: tools(), ..Ask::new([Message::user("what is in it?")]) }
}

fn line(message: &Message) -> String {
    let role = format!("{:?}", message.role).to_lowercase();
    format!("{role}: {}", message.text())
}

/// `thought …`, `text …` and `tool {…}`.
fn blocks(message: &Message) -> Vec<String> {
    let line = |block: &Block| match block {
        Block::Text { text } => format!("text {text}"),
        Block::Thinking(thinking) => format!("thought {}", thinking.text),
        Block::Call(call) => format!("{} {}", call.name, call.args.0),
        Block::Image(_) | Block::Result(_) => panic!("{block:?} in a reply"),
    };
    message.blocks.iter().map(line).collect()
}

/// The same of what was told while it streamed: pieces of one kind are joined, a retry begins anew, calls are names.
fn told(deltas: &[Delta]) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for delta in deltas {
        let (kind, text) = match delta {
            Delta::Text(text) => ("text ", text.as_str()),
            Delta::Thinking(text) => ("thought ", text.as_str()),
            Delta::CallOpened { name, .. } => ("", name.as_str()),
            Delta::Discarded { .. } => continue,
            Delta::Retrying { .. } => {
                told.clear();
                continue;
            }
        };
        match told.last_mut() {
            Some(last) if !kind.is_empty() && last.starts_with(kind) => last.push_str(text),
            _ => told.push(format!("{kind}{text}")),
        }
    }
    told
}
