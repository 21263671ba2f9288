//! OpenAI Chat Completions, streamed: how a conversation is written in this format. How a reply is read is in
//! `chat/reading`; where the many servers that speak it differ is data, see `provider::Quirks`.

mod reading;

use serde_json::{Value, json};

use super::Request;
use super::draft::{Draft, sendable, short_id};
use super::encoded::{Transcript, field, json};
use super::eyes::beside_results;
use super::line::{Format, Line, Reading};
use super::provider::{Cache, Reasoning};
use crate::message::{Block, CallId, Image, Message, Role, ToolCall, ToolResult, ToolSpec};
use reading::Chunks;

/// Stands between results and what a person says, where a server wants it.
const BRIDGE: &[u8] = br#",{"role":"assistant","content":"I have the results."}"#;

/// A model behind a Chat Completions door.
pub(super) struct Chat {
    pub(super) line: Line,
}

impl Format for Chat {
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
            field(&mut out, &line.quirks.max_tokens, &line.max_tokens(request));
            field(&mut out, "stream", &streamed);
            if streamed && line.quirks.usage {
                field(&mut out, "stream_options", &json!({"include_usage": true}));
            }
            match line.quirks.cache {
                Cache::None => {}
                Cache::Top => field(&mut out, "cache_control", &json!({"type": "ephemeral"})),
                Cache::Key if request.cache_key.is_empty() => {}
                Cache::Key => field(&mut out, "prompt_cache_key", request.cache_key),
            }
            line.add_body(&mut out);
            if !transcript.tools.is_empty() {
                out.extend_from_slice(b",\"tools\":");
                out.extend_from_slice(&transcript.tools);
                if request.tools.is_empty() {
                    field(&mut out, "tool_choice", "none");
                }
            }
            out.extend_from_slice(b",\"messages\":[");
            let mut messages = &transcript.bytes[..];
            if request.system.is_empty() {
                messages = messages.strip_prefix(b",").unwrap_or(messages);
            } else {
                json(&mut out, &json!({"role": line.quirks.system, "content": request.system}));
            }
            out.extend_from_slice(messages);
            out.extend_from_slice(b"]}");
            out
        })
    }

    fn reading<'a>(&'a self, draft: Draft<'a>) -> Box<dyn Reading + Send + 'a> {
        Box::new(Chunks::new(&self.line, draft))
    }
}

impl Chat {
    /// Every message begins with a comma. Results go right behind the calls that they answer.
    fn append(&self, out: &mut Transcript, message: &Message) {
        match message.role {
            Role::Assistant => {
                self.append_assistant(&mut out.bytes, message);
                out.results = out.bytes.len();
                out.names = message.calls().map(|call| (call.id.clone(), call.name.clone())).collect();
            }
            Role::User => {
                for result in message.results() {
                    out.insert_result(&self.result(result));
                }
                let mut said = Vec::new();
                append_user(&mut said, &beside_results(message));
                let is_next = out.results == out.bytes.len() && !out.names.is_empty();
                if is_next && !said.is_empty() && self.line.quirks.bridge {
                    out.bytes.extend_from_slice(BRIDGE);
                }
                out.bytes.append(&mut said);
            }
        }
    }

    fn append_assistant(&self, out: &mut Vec<u8>, message: &Message) {
        let text = message.text();
        let calls: Vec<&ToolCall> = message.calls().collect();
        if text.is_empty() && calls.is_empty() {
            return;
        }
        out.extend_from_slice(br#",{"role":"assistant""#);
        field(out, "content", &(!text.is_empty()).then_some(text));
        match self.line.quirks.reasoning {
            Reasoning::Drop => {}
            // A thinking model wants the field on every message, also on one that it did not write.
            Reasoning::Content => field(out, "reasoning_content", &self.thought(message)),
            Reasoning::Details => {
                for details in self.proofs(message).filter_map(|(_, data)| data.get("details")) {
                    field(out, "reasoning_details", details);
                }
            }
        }
        if !calls.is_empty() {
            let calls: Vec<Value> = calls.into_iter().map(|call| self.call(message, call)).collect();
            field(out, "tool_calls", &calls);
        }
        out.push(b'}');
    }

    fn call(&self, message: &Message, call: &ToolCall) -> Value {
        let function = json!({"name": call.name, "arguments": sendable(&call.args)});
        let mut value = json!({"id": self.call_id(&call.id), "type": "function", "function": function});
        let extra = self.proofs(message).find_map(|(_, data)| data.get("calls")?.get(&call.id.0));
        if let Some(extra) = extra {
            value["extra_content"] = extra.clone();
        }
        value
    }

    fn result(&self, result: &ToolResult) -> Vec<u8> {
        let text = if result.output.trim().is_empty() { "(no output)" } else { &result.output };
        let mut out = vec![b','];
        json(&mut out, &json!({"role": "tool", "tool_call_id": self.call_id(&result.call), "content": text}));
        out
    }

    fn call_id(&self, id: &CallId) -> String {
        if self.line.quirks.short_ids { short_id(id) } else { id.0.clone() }
    }

    /// The reasoning that this very model wrote in a message.
    fn thought(&self, message: &Message) -> String {
        self.proofs(message).map(|(text, _)| text).collect()
    }

    fn proofs<'m>(&self, message: &'m Message) -> impl Iterator<Item = (&'m str, &'m Value)> {
        message.blocks.iter().filter_map(|block| match block {
            Block::Thinking(thinking) => {
                let opaque = thinking.opaque.as_ref().filter(|opaque| self.line.wrote(opaque))?;
                Some((thinking.text.as_str(), &opaque.data))
            }
            Block::Text { .. } | Block::Image(_) | Block::Call(_) | Block::Result(_) => None,
        })
    }
}

fn append_user(out: &mut Vec<u8>, message: &Message) {
    let mut parts = Vec::new();
    let mut images = false;
    for block in &message.blocks {
        match block {
            Block::Text { text } if !text.trim().is_empty() => parts.push(json!({"type": "text", "text": text})),
            Block::Image(image) => {
                images = true;
                parts.push(json!({"type": "image_url", "image_url": {"url": data_url(image)}}));
            }
            Block::Text { .. } | Block::Thinking(_) | Block::Call(_) | Block::Result(_) => {}
        }
    }
    if parts.is_empty() {
        return;
    }
    // Many servers read only a plain string; parts are for what no string can say.
    let content = if images {
        Value::Array(parts)
    } else {
        let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        Value::String(texts.join("\n\n"))
    };
    out.push(b',');
    json(out, &json!({"role": "user", "content": content}));
}

fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.media_type, image.data)
}

fn tools(specs: &[ToolSpec]) -> Vec<u8> {
    let tool = |spec: &ToolSpec| {
        let function = json!({"name": spec.name, "description": spec.description, "parameters": spec.schema});
        json!({"type": "function", "function": function})
    };
    let mut out = Vec::new();
    json(&mut out, &specs.iter().map(tool).collect::<Vec<Value>>());
    out
}
