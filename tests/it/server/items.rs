//! Well-formed streamed replies of OpenAI Responses.

use std::fmt::Write;

use serde_json::{Value, json};

use super::says::{Said, Says, halves};

impl Says {
    /// The event stream of OpenAI Responses.
    pub fn responses(&self) -> String {
        let mut out = String::new();
        let mut number = 0;
        let mut event = |mut data: Value| {
            data["sequence_number"] = json!(number);
            number += 1;
            write!(out, "event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap()).unwrap();
        };
        let begun = json!({"id": "resp_1", "object": "response", "model": "scripted", "status": "in_progress",
            "error": null, "output": []});
        event(json!({"type": "response.created", "response": begun}));
        event(json!({"type": "response.in_progress", "response": begun}));
        let items: Vec<Value> = self.blocks.iter().enumerate().map(|(index, block)| whole(index, block)).collect();
        for (index, (block, item)) in self.blocks.iter().zip(&items).enumerate() {
            event(json!({"type": "response.output_item.added", "output_index": index, "item": hollow(item)}));
            for mut piece in pieces(block) {
                piece["output_index"] = json!(index);
                piece["item_id"] = item["id"].clone();
                event(piece);
            }
            event(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        }
        let (status, reason) = match self.stop_reason() {
            "max_tokens" => ("incomplete", json!({"reason": "max_output_tokens"})),
            "refusal" => ("incomplete", json!({"reason": "content_filter"})),
            _ => ("completed", Value::Null),
        };
        let prompt = self.input + self.cached;
        let usage = json!({"input_tokens": prompt, "output_tokens": self.output, "total_tokens": prompt + self.output,
            "input_tokens_details": {"cached_tokens": self.cached, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0}});
        event(json!({"type": format!("response.{status}"), "response": {"id": "resp_1", "object": "response",
            "model": "scripted", "status": status, "error": null, "incomplete_details": reason, "output": items,
            "usage": usage}}));
        out
    }
}

/// The finished item.
fn whole(index: usize, said: &Said) -> Value {
    let id = format!("it_{index}");
    match said {
        Said::Text(text) => {
            let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
            json!({"type": "message", "id": id, "status": "completed", "role": "assistant", "content": content})
        }
        Said::Thinking { text, signature } => {
            let summary = json!([{"type": "summary_text", "text": text}]);
            json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": signature})
        }
        Said::Call { id: call, name, args } => {
            json!({"type": "function_call", "id": id, "status": "completed", "call_id": call, "name": name,
                "arguments": args})
        }
    }
}

/// The item as it is announced.
fn hollow(item: &Value) -> Value {
    let mut item = item.clone();
    for (field, nothing) in [("content", json!([])), ("summary", json!([])), ("arguments", json!(""))] {
        if let Some(value) = item.get_mut(field) {
            *value = nothing;
        }
    }
    item
}

/// What comes between the announcement of an item and its end.
fn pieces(said: &Said) -> Vec<Value> {
    match said {
        Said::Text(text) => {
            let (a, b) = halves(text);
            let part = |text| json!({"type": "output_text", "text": text, "annotations": []});
            let delta = |text| json!({"type": "response.output_text.delta", "content_index": 0, "delta": text});
            vec![
                json!({"type": "response.content_part.added", "content_index": 0, "part": part("")}),
                delta(a),
                delta(b),
                json!({"type": "response.output_text.done", "content_index": 0, "text": text}),
                json!({"type": "response.content_part.done", "content_index": 0, "part": part(text)}),
            ]
        }
        Said::Thinking { text, .. } => {
            let (a, b) = halves(text);
            let part = |text| json!({"type": "summary_text", "text": text});
            let delta =
                |text| json!({"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": text});
            vec![
                json!({"type": "response.reasoning_summary_part.added", "summary_index": 0, "part": part("")}),
                delta(a),
                delta(b),
                json!({"type": "response.reasoning_summary_text.done", "summary_index": 0, "text": text}),
                json!({"type": "response.reasoning_summary_part.done", "summary_index": 0, "part": part(text)}),
            ]
        }
        Said::Call { args, .. } => {
            let (a, b) = halves(args);
            let delta = |text| json!({"type": "response.function_call_arguments.delta", "delta": text});
            vec![delta(a), delta(b), json!({"type": "response.function_call_arguments.done", "arguments": args})]
        }
    }
}
