//! OpenAI Responses: how a conversation is written in this format. Nothing is stored at the provider; every request
//! carries the whole conversation, sealed reasoning included. How a reply is read is in `responses/reading`.

mod reading;

use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use super::draft::{Draft, plain_id, plain_name, sendable};
use super::encoded::{Transcript, field, json};
use super::line::{Format, Line, Reading};
use super::provider::Cache;
use super::{Fault, ModelError, Request};
use crate::message::{Block, Image, Message, Opaque, Role, ToolCall, ToolResult, ToolSpec};
use reading::Items;

/// The provider refuses to be asked for fewer tokens.
const MIN_TOKENS: u64 = 16;

/// A model behind a Responses door.
pub(super) struct Responses {
    pub(super) line: Line,
    /// What is sent instead of the line's own fields to an account that may not have summaries of reasoning.
    pub(super) unsummed: OnceLock<Map<String, Value>>,
}

impl Format for Responses {
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
            field(&mut out, "max_output_tokens", &line.max_tokens(request).max(MIN_TOKENS));
            field(&mut out, "stream", &streamed);
            field(&mut out, "store", &false);
            if line.quirks.cache == Cache::Key && !request.cache_key.is_empty() {
                field(&mut out, "prompt_cache_key", request.cache_key);
            }
            line.add_fields(&mut out, self.unsummed.get().unwrap_or(&line.body));
            if !request.system.is_empty() {
                field(&mut out, "instructions", request.system);
            }
            if !transcript.tools.is_empty() {
                out.extend_from_slice(b",\"tools\":");
                out.extend_from_slice(&transcript.tools);
                field(&mut out, "tool_choice", if request.tools.is_empty() { "none" } else { "auto" });
                field(&mut out, "parallel_tool_calls", &true);
            }
            out.extend_from_slice(b",\"input\":[");
            out.extend_from_slice(transcript.bytes.strip_prefix(b",").unwrap_or(&transcript.bytes));
            out.extend_from_slice(b"]}");
            out
        })
    }

    fn reading<'a>(&'a self, draft: Draft<'a>) -> Box<dyn Reading + Send + 'a> {
        Box::new(Items::new(&self.line, draft))
    }

    /// Summaries of reasoning are for organizations that the provider has verified.
    fn reword(&self, _: &Request<'_>, error: &ModelError) -> bool {
        let says = |word| error.message.to_lowercase().contains(word);
        let refused = error.fault == Fault::BadRequest && says("reasoning") && says("summar");
        if refused {
            // Another call may have been refused meanwhile; this one was written before that.
            self.unsummed.get_or_init(|| without_summaries(&self.line.body));
        }
        refused
    }
}

impl Responses {
    /// Every item begins with a comma. Results go right behind the calls that they answer.
    fn append(&self, out: &mut Transcript, message: &Message) {
        match message.role {
            Role::Assistant => {
                self.append_assistant(&mut out.bytes, message);
                out.results = out.bytes.len();
            }
            Role::User => {
                for (block, own) in message.parts() {
                    if let Block::Result(result) = block {
                        out.insert_result(&output(result, own));
                    }
                }
                append_user(&mut out.bytes, message);
            }
        }
    }

    /// No item goes back under its own id: nothing is stored that the id could name, and the provider refuses an id
    /// without the item that it once stood next to. What is sealed goes out right before what it led to, or, when that
    /// never came, not at all.
    fn append_assistant(&self, out: &mut Vec<u8>, message: &Message) {
        let mut sealed = Vec::new();
        let mut phase = None;
        for block in &message.blocks {
            match block {
                Block::Thinking(thinking) => {
                    let Some(opaque) = thinking.opaque.as_ref().filter(|opaque| self.line.wrote(opaque)) else {
                        continue;
                    };
                    append_sealed(&mut sealed, opaque);
                    phase = opaque.data["phase"].as_str().or(phase);
                }
                Block::Text { text } if text.is_empty() => {}
                Block::Text { text } => {
                    out.append(&mut sealed);
                    append_text(out, text, phase.take());
                }
                Block::Call(call) => {
                    out.append(&mut sealed);
                    append_call(out, call);
                }
                Block::Image(_) | Block::Result(_) => {}
            }
        }
    }
}

fn without_summaries(body: &Map<String, Value>) -> Map<String, Value> {
    let mut body = body.clone();
    if let Some(Value::Object(reasoning)) = body.get_mut("reasoning") {
        reasoning.shift_remove("summary");
        if reasoning.is_empty() {
            body.shift_remove("reasoning");
        }
    }
    body
}

fn append_sealed(out: &mut Vec<u8>, opaque: &Opaque) {
    let Value::Object(item) = &opaque.data["item"] else { return };
    out.extend_from_slice(b",{");
    let mut first = true;
    for (name, value) in item {
        // Reasoning that can be read is not taken back; its sealed form stands for it.
        if ["id", "status", "content"].contains(&name.as_str()) {
            continue;
        }
        out.extend_from_slice(if first { b"" } else { b"," });
        json(out, name);
        out.push(b':');
        json(out, value);
        first = false;
    }
    out.push(b'}');
}

fn append_text(out: &mut Vec<u8>, text: &str, phase: Option<&str>) {
    out.extend_from_slice(br#",{"type":"message","role":"assistant""#);
    if let Some(phase) = phase {
        field(out, "phase", phase);
    }
    field(out, "content", &json!([{"type": "output_text", "text": text}]));
    out.push(b'}');
}

fn append_call(out: &mut Vec<u8>, call: &ToolCall) {
    out.extend_from_slice(br#",{"type":"function_call""#);
    field(out, "call_id", &plain_id(&call.id));
    field(out, "name", &plain_name(&call.name));
    field(out, "arguments", &sendable(&call.args));
    out.push(b'}');
}

fn append_user(out: &mut Vec<u8>, message: &Message) {
    let parts: Vec<Value> = message.parts().filter_map(|(block, _)| part(block)).collect();
    if !parts.is_empty() {
        out.push(b',');
        json(out, &json!({"type": "message", "role": "user", "content": parts}));
    }
}

/// Text or a picture, from a person or a tool.
fn part(block: &Block) -> Option<Value> {
    match block {
        Block::Text { text } if !text.trim().is_empty() => Some(json!({"type": "input_text", "text": text})),
        Block::Image(image) => Some(json!({"type": "input_image", "detail": "auto", "image_url": data_url(image)})),
        Block::Text { .. } | Block::Thinking(_) | Block::Call(_) | Block::Result(_) => None,
    }
}

fn output(result: &ToolResult, images: &[Block]) -> Vec<u8> {
    let text = if result.output.trim().is_empty() { "(no output)" } else { &result.output };
    let said = match images {
        [] => json!(text),
        shown => {
            std::iter::once(Block::text(text)).chain(shown.iter().cloned()).filter_map(|block| part(&block)).collect()
        }
    };
    let mut out = vec![b','];
    json(&mut out, &json!({"type": "function_call_output", "call_id": plain_id(&result.call), "output": said}));
    out
}

fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.media_type, image.data)
}

fn tools(specs: &[ToolSpec]) -> Vec<u8> {
    // Not strict: that form of schema has no optional fields.
    let tool = |spec: &ToolSpec| {
        json!({"type": "function", "name": spec.name, "description": spec.description, "parameters": spec.schema,
            "strict": false})
    };
    let mut out = Vec::new();
    json(&mut out, &specs.iter().map(tool).collect::<Vec<Value>>());
    out
}
