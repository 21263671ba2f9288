//! Anthropic Messages, streamed: how a conversation is written in this format. How a reply is read is in
//! `anthropic/reading`, the way there in `http`, trying again in `retry`.

mod reading;

use serde_json::{Value, json};

use super::Request;
use super::draft::{Draft, plain_id, sendable};
use super::encoded::{Transcript, field, json};
use super::line::{Format, Line, Reading};
use super::provider::Cache;
use crate::message::{Block, Image, Message, Role, Thinking, ToolSpec};
use reading::Events;

/// A model behind an Anthropic door.
pub(super) struct Anthropic {
    pub(super) line: Line,
}

impl Format for Anthropic {
    fn line(&self) -> &Line {
        &self.line
    }

    fn encode(&self, request: &Request<'_>, streamed: bool) -> Vec<u8> {
        let line = &self.line;
        let append = |out: &mut Transcript, message: &Message| self.append(out, message);
        line.encoded.build(request, append, |transcript| {
            let mut out = transcript.begin(request, tools);
            out.extend_from_slice(b"{\"model\":");
            json(&mut out, &line.id.model);
            field(&mut out, "max_tokens", &line.max_tokens(request));
            field(&mut out, "stream", &streamed);
            if line.quirks.cache == Cache::Top {
                field(&mut out, "cache_control", &json!({"type": "ephemeral"}));
            }
            line.add_body(&mut out);
            if !request.system.is_empty() {
                field(&mut out, "system", request.system);
            }
            if !transcript.tools.is_empty() {
                out.extend_from_slice(b",\"tools\":");
                out.extend_from_slice(&transcript.tools);
                if request.tools.is_empty() {
                    field(&mut out, "tool_choice", &json!({"type": "none"}));
                }
            }
            out.extend_from_slice(b",\"messages\":[");
            out.extend_from_slice(&transcript.bytes);
            out.extend_from_slice(if transcript.role.is_some() { b"]}]}" } else { b"]}" });
            out
        })
    }

    fn reading<'a>(&'a self, draft: Draft<'a>) -> Box<dyn Reading + Send + 'a> {
        Box::new(Events::new(&self.line, draft))
    }
}

impl Anthropic {
    /// Adjacent messages of one role become one.
    fn append(&self, out: &mut Transcript, message: &Message) {
        let begins: &[u8] = br#"{"role":"user","content":["#;
        out.person_first(message.role, begins, br#"{"type":"text","text":"(The beginning is summed up.)"}"#);
        let opening: &[u8] = match message.role {
            Role::User => begins,
            Role::Assistant => br#"{"role":"assistant","content":["#,
        };
        for (block, own) in message.parts() {
            if let Some(part) = self.block(block, own) {
                out.push_part(message.role, opening, &part, matches!(block, Block::Result(_)));
            }
        }
    }

    /// A block in the format, a result with its pictures; `None` for one that is empty or not for this model.
    fn block(&self, block: &Block, own: &[Block]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match block {
            Block::Text { text } if text.trim().is_empty() => return None,
            Block::Text { text } => json(&mut out, &json!({"type": "text", "text": text})),
            Block::Thinking(thinking) => json(&mut out, &self.thinking(thinking)?),
            Block::Image(image) => json(&mut out, &picture(image)),
            Block::Call(call) => {
                out.extend_from_slice(b"{\"type\":\"tool_use\"");
                field(&mut out, "id", &plain_id(&call.id));
                field(&mut out, "name", &call.name);
                // Not as a value: what the model wrote comes back to it letter by letter.
                out.extend_from_slice(b",\"input\":");
                out.extend_from_slice(sendable(&call.args).as_bytes());
                out.push(b'}');
            }
            Block::Result(result) => {
                let text = if result.output.trim().is_empty() { "(no output)" } else { &result.output };
                let pictures = own.iter().filter_map(|block| match block {
                    Block::Image(image) => Some(picture(image)),
                    Block::Text { .. } | Block::Thinking(_) | Block::Call(_) | Block::Result(_) => None,
                });
                let content = match own {
                    [] => json!(text),
                    _ => std::iter::once(json!({"type": "text", "text": text})).chain(pictures).collect(),
                };
                let id = plain_id(&result.call);
                let mut value = json!({"type": "tool_result", "tool_use_id": id, "content": content});
                if result.is_error {
                    value["is_error"] = Value::Bool(true);
                }
                json(&mut out, &value);
            }
        }
        Some(out)
    }

    fn thinking(&self, thinking: &Thinking) -> Option<Value> {
        let opaque = thinking.opaque.as_ref().filter(|opaque| self.line.wrote(opaque))?;
        match (&opaque.data["signature"], &opaque.data["redacted"]) {
            (Value::String(signature), _) => {
                Some(json!({"type": "thinking", "thinking": thinking.text, "signature": signature}))
            }
            (_, Value::String(data)) => Some(json!({"type": "redacted_thinking", "data": data})),
            (_, _) => None,
        }
    }
}

fn picture(image: &Image) -> Value {
    let source = json!({"type": "base64", "media_type": image.media_type, "data": image.data});
    json!({"type": "image", "source": source})
}

fn tools(specs: &[ToolSpec]) -> Vec<u8> {
    let tool =
        |spec: &ToolSpec| json!({"name": spec.name, "description": spec.description, "input_schema": spec.schema});
    let mut out = Vec::new();
    json(&mut out, &specs.iter().map(tool).collect::<Vec<Value>>());
    out
}
