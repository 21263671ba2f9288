//! Ollama's own format, streamed: how a conversation is written in it. How a reply is read is in `ollama/reading`. Its
//! OpenAI-compatible door cannot be told how long a context to keep, so it is not used.

mod reading;

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};
use url::Url;

use super::draft::{Draft, sendable};
use super::encoded::{Transcript, field, json};
use super::eyes::beside_results;
use super::line::{Format, Line, Reading};
use super::{Fault, ModelError, Request};
use crate::message::{Block, Message, Role, ToolCall, ToolResult, ToolSpec};
use reading::Lines;

/// A model behind Ollama's own door.
pub(super) struct Ollama {
    pub(super) line: Line,
    /// The model cannot think, so it is not told how hard.
    pub(super) thoughtless: AtomicBool,
}

impl Format for Ollama {
    fn line(&self) -> &Line {
        &self.line
    }

    fn encode(&self, request: &Request<'_>, streamed: bool) -> Vec<u8> {
        let line = &self.line;
        let append = |out: &mut Transcript, message: &Message| self.append(out, message);
        line.encoded.build(request, append, |transcript| {
            let mut out = Vec::with_capacity(transcript.bytes.len() + request.system.len() + 4096);
            out.extend_from_slice(b"{\"model\":");
            json(&mut out, &line.id.model);
            field(&mut out, "stream", &streamed);
            // Otherwise it drops the oldest messages, or the beginning of the text, without a word.
            field(&mut out, "truncate", &false);
            field(&mut out, "shift", &false);
            let limits = [("num_ctx", line.figures.window), ("num_predict", line.max_tokens(request))];
            let limits = Map::from_iter(limits.map(|(name, tokens)| (name.to_owned(), tokens.into())));
            field(&mut out, "options", &line.options("options", limits));
            let thoughtless = self.thoughtless.load(Ordering::Relaxed);
            line.add_body_without(&mut out, if thoughtless { &["options", "think"] } else { &["options"] });
            // It has no word for "call none", and calls in a conversation need no list of tools.
            if !request.tools.is_empty() {
                field(&mut out, "tools", &request.tools.iter().map(tool).collect::<Vec<Value>>());
            }
            out.extend_from_slice(b",\"messages\":[");
            let mut messages = &transcript.bytes[..];
            if request.system.is_empty() {
                messages = messages.strip_prefix(b",").unwrap_or(messages);
            } else {
                json(&mut out, &json!({"role": "system", "content": request.system}));
            }
            out.extend_from_slice(messages);
            out.extend_from_slice(b"]}");
            out
        })
    }

    fn reading<'a>(&'a self, draft: Draft<'a>) -> Box<dyn Reading + Send + 'a> {
        Box::new(Lines::new(&self.line, draft))
    }

    /// An effort is for all models; one that cannot think refuses to be told of it.
    fn reword(&self, _: &Request<'_>, error: &ModelError) -> bool {
        let refused = error.fault == Fault::BadRequest && error.message.contains("does not support thinking");
        if refused {
            self.thoughtless.store(true, Ordering::Relaxed);
        }
        refused
    }
}

impl Ollama {
    /// Every message begins with a comma. Results go right behind the calls that they answer.
    fn append(&self, out: &mut Transcript, message: &Message) {
        match message.role {
            Role::Assistant => {
                self.append_assistant(out, message);
                out.results = out.bytes.len();
            }
            Role::User => {
                for result in message.results() {
                    let bytes = result_message(out, result);
                    out.insert_result(&bytes);
                }
                append_user(&mut out.bytes, &beside_results(message));
            }
        }
    }

    fn append_assistant(&self, out: &mut Transcript, message: &Message) {
        let text = message.text();
        let mut calls = message.calls().peekable();
        if text.is_empty() && calls.peek().is_none() {
            return;
        }
        let bytes = &mut out.bytes;
        bytes.extend_from_slice(br#",{"role":"assistant""#);
        field(bytes, "content", &text);
        let thought = self.thought(message);
        if !thought.is_empty() {
            field(bytes, "thinking", &thought);
        }
        if calls.peek().is_some() {
            out.names = message.calls().map(|call| (call.id.clone(), call.name.clone())).collect();
            bytes.extend_from_slice(b",\"tool_calls\":[");
            calls.for_each(|call| append_call(bytes, call));
            bytes.push(b']');
        }
        bytes.push(b'}');
    }

    /// The reasoning that this very model wrote in a message.
    fn thought(&self, message: &Message) -> String {
        let own = message.blocks.iter().filter_map(|block| match block {
            Block::Thinking(thinking) if thinking.opaque.as_ref().is_some_and(|opaque| self.line.wrote(opaque)) => {
                Some(thinking.text.as_str())
            }
            Block::Text { .. } | Block::Thinking(_) | Block::Image(_) | Block::Call(_) | Block::Result(_) => None,
        });
        own.collect()
    }
}

/// Where replies are asked for. The base may be that of the OpenAI-compatible door.
pub(super) fn url(mut base: Url) -> Url {
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/v1").or_else(|| path.strip_suffix("/api")).unwrap_or(path).to_owned();
    base.set_path(&format!("{path}/api/chat"));
    base
}

fn append_call(out: &mut Vec<u8>, call: &ToolCall) {
    out.extend_from_slice(if out.last() == Some(&b'[') { b"" } else { b"," });
    out.extend_from_slice(b"{\"id\":");
    json(out, &call.id.0);
    out.extend_from_slice(b",\"function\":{\"name\":");
    json(out, &call.name);
    // Not as a value: what the model wrote comes back to it letter by letter.
    out.extend_from_slice(b",\"arguments\":");
    out.extend_from_slice(sendable(&call.args).as_bytes());
    out.extend_from_slice(b"}}");
}

fn result_message(out: &Transcript, result: &ToolResult) -> Vec<u8> {
    let text = if result.output.trim().is_empty() { "(no output)" } else { &result.output };
    let name = out.names.get(&result.call).map_or("tool", String::as_str);
    let mut bytes = vec![b','];
    json(&mut bytes, &json!({"role": "tool", "tool_name": name, "tool_call_id": result.call.0, "content": text}));
    bytes
}

fn append_user(out: &mut Vec<u8>, message: &Message) {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Text { text } if !text.trim().is_empty() => texts.push(text.as_str()),
            Block::Image(image) => images.push(image.data.as_str()),
            Block::Text { .. } | Block::Thinking(_) | Block::Call(_) | Block::Result(_) => {}
        }
    }
    if texts.is_empty() && images.is_empty() {
        return;
    }
    out.extend_from_slice(br#",{"role":"user""#);
    field(out, "content", &texts.join("\n\n"));
    if !images.is_empty() {
        field(out, "images", &images);
    }
    out.push(b'}');
}

fn tool(spec: &ToolSpec) -> Value {
    let function = json!({"name": spec.name, "description": spec.description, "parameters": spec.schema});
    json!({"type": "function", "function": function})
}
