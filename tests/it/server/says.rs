//! Well-formed streamed replies in all wire formats.

use std::fmt::Write;

use serde_json::{Value, json};

/// What a model says in one reply: blocks in order, then why it stopped and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Says {
    pub(super) blocks: Vec<Said>,
    stop: Option<&'static str>,
    pub(super) input: u64,
    pub(super) cached: u64,
    pub(super) output: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    Text(String),
    Thinking { text: String, signature: String },
    Call { id: String, name: String, args: String },
}

/// A reply without content; add to it.
pub fn says() -> Says {
    Says { blocks: Vec::new(), stop: None, input: 10, cached: 0, output: 5 }
}

impl Says {
    pub fn text(mut self, text: impl Into<String>) -> Says {
        self.blocks.push(Said::Text(text.into()));
        self
    }

    /// Reasoning; the signature is sent where the format has one.
    pub fn thinking(mut self, text: &str, signature: &str) -> Says {
        self.blocks.push(Said::Thinking { text: text.to_owned(), signature: signature.to_owned() });
        self
    }

    pub fn call(self, id: &str, name: &str, args: Value) -> Says {
        self.call_raw(id, name, &args.to_string())
    }

    /// A call whose arguments may be no JSON.
    pub fn call_raw(mut self, id: &str, name: &str, args: &str) -> Says {
        self.blocks.push(Said::Call { id: id.to_owned(), name: name.to_owned(), args: args.to_owned() });
        self
    }

    /// Uncached input, cached input and output tokens; 10, 0 and 5 otherwise.
    pub fn usage(mut self, input: u64, cached: u64, output: u64) -> Says {
        (self.input, self.cached, self.output) = (input, cached, output);
        self
    }

    /// In the words of Anthropic, for example `max_tokens` or `refusal`; otherwise it follows from the blocks.
    pub fn stop(mut self, stop: &'static str) -> Says {
        self.stop = Some(stop);
        self
    }

    pub(super) fn stop_reason(&self) -> &'static str {
        let calls = self.blocks.iter().any(|block| matches!(block, Said::Call { .. }));
        self.stop.unwrap_or(if calls { "tool_use" } else { "end_turn" })
    }

    /// The kind of the stream and its bytes, in the format of the path it is asked for on.
    pub fn on(&self, path: &str) -> (&'static str, String) {
        let events = "text/event-stream";
        match path.split('?').next().unwrap_or_default() {
            path if path.ends_with("/messages") => (events, self.anthropic()),
            path if path.ends_with("/responses") => (events, self.responses()),
            path if path.ends_with("enerateContent") => (events, self.gemini()),
            path if path.ends_with("/api/chat") => ("application/x-ndjson", self.ollama()),
            _ => (events, self.openai()),
        }
    }

    /// The event stream of Anthropic Messages.
    pub fn anthropic(&self) -> String {
        let mut out = String::new();
        let mut event =
            |data: Value| write!(out, "event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap()).unwrap();
        let usage = json!({"input_tokens": self.input, "cache_read_input_tokens": self.cached,
            "cache_creation_input_tokens": 0, "output_tokens": 1});
        event(json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "model": "scripted", "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}}));
        event(json!({"type": "ping"}));
        for (index, block) in self.blocks.iter().enumerate() {
            let (start, deltas) = match block {
                Said::Text(text) => {
                    let (a, b) = halves(text);
                    let delta = |text| json!({"type": "text_delta", "text": text});
                    (json!({"type": "text", "text": ""}), vec![delta(a), delta(b)])
                }
                Said::Thinking { text, signature } => {
                    let (a, b) = halves(text);
                    let delta = |text| json!({"type": "thinking_delta", "thinking": text});
                    let seal = json!({"type": "signature_delta", "signature": signature});
                    (json!({"type": "thinking", "thinking": "", "signature": ""}), vec![delta(a), delta(b), seal])
                }
                Said::Call { id, name, args } => {
                    let (a, b) = halves(args);
                    let delta = |text| json!({"type": "input_json_delta", "partial_json": text});
                    (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), vec![delta(a), delta(b)])
                }
            };
            event(json!({"type": "content_block_start", "index": index, "content_block": start}));
            for delta in deltas {
                event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            }
            event(json!({"type": "content_block_stop", "index": index}));
        }
        event(json!({"type": "message_delta", "delta": {"stop_reason": self.stop_reason(), "stop_sequence": null},
            "usage": {"output_tokens": self.output}}));
        event(json!({"type": "message_stop"}));
        out
    }

    /// The event stream of OpenAI Chat Completions.
    pub fn openai(&self) -> String {
        let mut out = String::new();
        let mut chunk = |choices: Value, usage: Value| {
            let data = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
                "choices": choices, "usage": usage});
            write!(out, "data: {data}\n\n").unwrap();
        };
        let mut delta = |delta: Value, finish: Value| {
            chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}]), Value::Null);
        };
        delta(json!({"role": "assistant", "content": null}), Value::Null);
        let mut index = 0;
        for block in &self.blocks {
            match block {
                Said::Text(text) => {
                    let (a, b) = halves(text);
                    delta(json!({"content": a}), Value::Null);
                    delta(json!({"content": b}), Value::Null);
                }
                Said::Thinking { text, .. } => delta(json!({"reasoning_content": text}), Value::Null),
                Said::Call { id, name, args } => {
                    let (a, b) = halves(args);
                    let open = json!({"index": index, "id": id, "type": "function",
                        "function": {"name": name, "arguments": a}});
                    delta(json!({"tool_calls": [open]}), Value::Null);
                    delta(json!({"tool_calls": [{"index": index, "function": {"arguments": b}}]}), Value::Null);
                    index += 1;
                }
            }
        }
        let finish = match self.stop_reason() {
            "tool_use" => "tool_calls",
            "max_tokens" => "length",
            "refusal" => "content_filter",
            _ => "stop",
        };
        delta(json!({}), json!(finish));
        let prompt = self.input + self.cached;
        chunk(
            json!([]),
            json!({"prompt_tokens": prompt, "completion_tokens": self.output, "total_tokens": prompt + self.output,
                "prompt_tokens_details": {"cached_tokens": self.cached}}),
        );
        out.push_str("data: [DONE]\n\n");
        out
    }
}

impl Says {
    /// The event stream of Gemini.
    pub fn gemini(&self) -> String {
        let mut out = String::new();
        let usage = json!({"promptTokenCount": self.input + self.cached, "cachedContentTokenCount": self.cached,
            "candidatesTokenCount": self.output, "totalTokenCount": self.input + self.cached + self.output});
        let mut chunk = |parts: Value, finish: Value| {
            let candidate = json!({"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0});
            let data = json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"});
            write!(out, "data: {data}\n\n").unwrap();
        };
        let mut proof = None;
        for block in &self.blocks {
            match block {
                Said::Text(text) => {
                    let (a, b) = halves(text);
                    chunk(json!([{"text": a}]), Value::Null);
                    chunk(json!([{"text": b}]), Value::Null);
                }
                Said::Thinking { text, signature } => {
                    chunk(json!([{"text": text, "thought": true}]), Value::Null);
                    proof = Some(signature.clone()).filter(|signature| !signature.is_empty());
                }
                Said::Call { id, name, args } => {
                    let mut call = json!({"name": name, "args": value(args)});
                    if !id.is_empty() {
                        call["id"] = json!(id);
                    }
                    let mut part = json!({"functionCall": call});
                    if let Some(proof) = proof.take() {
                        part["thoughtSignature"] = json!(proof);
                    }
                    chunk(json!([part]), Value::Null);
                }
            }
        }
        let finish = match self.stop_reason() {
            "max_tokens" => "MAX_TOKENS",
            "refusal" => "SAFETY",
            _ => "STOP",
        };
        chunk(json!([]), json!(finish));
        out
    }

    /// The lines of Ollama's own format.
    pub fn ollama(&self) -> String {
        let mut out = String::new();
        let mut line = |message: Value, end: Value| {
            let mut data = json!({"model": "scripted", "created_at": "2026-11-20T00:00:00Z", "message": message});
            data["done"] = json!(end.is_object());
            data.as_object_mut().unwrap().extend(end.as_object().cloned().unwrap_or_default());
            writeln!(out, "{data}").unwrap();
        };
        for block in &self.blocks {
            match block {
                Said::Text(text) => {
                    let (a, b) = halves(text);
                    line(json!({"role": "assistant", "content": a}), Value::Null);
                    line(json!({"role": "assistant", "content": b}), Value::Null);
                }
                Said::Thinking { text, .. } => {
                    line(json!({"role": "assistant", "content": "", "thinking": text}), Value::Null);
                }
                Said::Call { id, name, args } => {
                    let call = json!({"id": id, "function": {"name": name, "arguments": value(args)}});
                    line(json!({"role": "assistant", "content": "", "tool_calls": [call]}), Value::Null);
                }
            }
        }
        let reason = if self.stop_reason() == "max_tokens" { "length" } else { "stop" };
        let end = json!({"done_reason": reason, "prompt_eval_count": self.input + self.cached,
            "eval_count": self.output});
        line(json!({"role": "assistant", "content": ""}), end);
        out
    }
}

/// Arguments where the format wants an object; what is none goes as a string.
fn value(args: &str) -> Value {
    let empty = if args.is_empty() { Some(Value::Null) } else { None };
    empty.or_else(|| serde_json::from_str(args).ok()).unwrap_or_else(|| json!(args))
}

pub(super) fn halves(text: &str) -> (&str, &str) {
    let middle = (text.len() / 2..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.split_at(middle)
}
