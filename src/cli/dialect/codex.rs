//! Our lines as those of `codex exec --json`: a thread, one turn, and items that are started and completed.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{number, tasks, text};

/// What has to be remembered between the lines.
#[derive(Default)]
pub struct Codex {
    session: String,
    items: u64,
    /// Calls of the main agent that go on, by id.
    open: HashMap<String, Open>,
    /// Reasoning of the reply that streams.
    thoughts: String,
    /// The last error.
    fault: Option<String>,
}

/// A call that goes on.
struct Open {
    item: String,
    name: String,
    args: Value,
}

impl Codex {
    pub(super) fn say(&mut self, line: &Value) -> Vec<Value> {
        let main = line["agent"] == "main";
        match (text(line, "type"), main) {
            ("session.start", _) => {
                self.session = text(line, "session").to_owned();
                vec![json!({"type": "thread.started", "thread_id": self.session}), json!({"type": "turn.started"})]
            }
            ("reasoning.delta", true) => {
                self.thoughts.push_str(text(line, "text"));
                vec![]
            }
            ("retry", true) => {
                self.thoughts.clear();
                vec![self.whole(json!({"type": "error", "message": line["message"]}))]
            }
            ("warning", _) => vec![self.whole(json!({"type": "error", "message": line["message"]}))],
            ("message", true) => self.replied(line),
            ("tool.start", true) => self.started(line),
            ("tool.end", true) => self.ended(line),
            ("worker.end", false) => vec![self.returned(line)],
            ("error", true) => {
                self.fault = Some(text(line, "message").to_owned());
                vec![json!({"type": "error", "message": line["message"]})]
            }
            ("session.end", _) => vec![self.end(line)],
            _ => vec![],
        }
    }

    fn replied(&mut self, line: &Value) -> Vec<Value> {
        let thoughts = std::mem::take(&mut self.thoughts);
        let mut lines = Vec::new();
        if !thoughts.is_empty() {
            lines.push(self.whole(json!({"type": "reasoning", "text": thoughts})));
        }
        if !text(line, "text").is_empty() {
            lines.push(self.whole(json!({"type": "agent_message", "text": line["text"]})));
        }
        lines
    }

    fn started(&mut self, line: &Value) -> Vec<Value> {
        let open = Open { item: self.next(), name: text(line, "name").to_owned(), args: line["args"].clone() };
        let body = self.body(&open, None);
        let item = item(&open.item, body);
        let silent = item["type"] == "file_change";
        self.open.insert(text(line, "call").to_owned(), open);
        // There a change is told only when it is done.
        if silent { vec![] } else { vec![json!({"type": "item.started", "item": item})] }
    }

    fn ended(&mut self, line: &Value) -> Vec<Value> {
        let Some(open) = self.open.remove(text(line, "call")) else { return vec![] };
        let body = self.body(&open, Some(line));
        vec![json!({"type": "item.completed", "item": item(&open.item, body)})]
    }

    /// A call as an item without its id; `end` is the line that ended it.
    fn body(&self, open: &Open, end: Option<&Value>) -> Value {
        let Open { name, args, .. } = open;
        let output = end.map(|end| text(end, "output")).unwrap_or_default();
        let failed = end.is_some_and(|end| end["is_error"] == true);
        let status = match (end, failed) {
            (None, _) => "in_progress",
            (Some(_), false) => "completed",
            (Some(_), true) => "failed",
        };
        let details = end.map(|end| &end["details"]);
        match name.as_str() {
            "shell" => {
                let code = details.map_or(Value::Null, |details| details["exit_code"].clone());
                let status = if code.as_i64().is_some_and(|code| code != 0) { "failed" } else { status };
                json!({
                    "type": "command_execution", "command": args["command"], "aggregated_output": output,
                    "exit_code": code, "status": status,
                })
            }
            "write_file" | "edit_file" => {
                let added = details.is_some_and(|details| details["created"] == true);
                let kind = if added { "add" } else { "update" };
                json!({"type": "file_change", "changes": [{"path": args["path"], "kind": kind}], "status": status})
            }
            "dispatch" => self.collab("spawn_agent", &tasks(output), &args["task"], status),
            "steer" => self.collab("send_input", &tasks(text(args, "id")), &args["message"], status),
            "abort" => self.collab("close_agent", &tasks(text(args, "id")), &Value::Null, status),
            _ => {
                let done = json!({"content": [{"type": "text", "text": output}], "structured_content": null});
                json!({
                    "type": "mcp_tool_call", "server": "tillerman", "tool": name, "arguments": args,
                    "result": if end.is_some() && !failed { done } else { Value::Null },
                    "error": if failed { json!({"message": output}) } else { Value::Null },
                    "status": status,
                })
            }
        }
    }

    fn collab(&self, tool: &str, agents: &[&str], prompt: &Value, status: &str) -> Value {
        let state = |agent: &&str| ((*agent).to_owned(), json!({"status": "running", "message": null}));
        let states: Map<String, Value> = match tool {
            "spawn_agent" => agents.iter().map(state).collect(),
            _ => Map::new(),
        };
        json!({
            "type": "collab_tool_call", "tool": tool, "sender_thread_id": self.session,
            "receiver_thread_ids": agents, "prompt": prompt, "agents_states": states, "status": status,
        })
    }

    /// A task's end, as the end of a wait for it.
    fn returned(&mut self, line: &Value) -> Value {
        let agent = text(line, "agent");
        let state = match text(line, "status") {
            "done" => "completed",
            "aborted" | "interrupted" => "shutdown",
            _ => "errored",
        };
        let mut call = self.collab("wait", &[agent], &Value::Null, "completed");
        call["agents_states"][agent] = json!({"status": state, "message": line["answer"]});
        self.whole(call)
    }

    fn end(&mut self, line: &Value) -> Value {
        if line["exit_code"] == 0 {
            let used = |field| number(&line["usage"], field);
            return json!({"type": "turn.completed", "usage": {
                "input_tokens": used("input") + used("cache_read") + used("cache_write"),
                "cached_input_tokens": used("cache_read"), "cache_write_input_tokens": used("cache_write"),
                "output_tokens": used("output"), "reasoning_output_tokens": used("reasoning"),
            }});
        }
        let message = self.fault.take().unwrap_or_else(|| format!("ended with {}", text(line, "exit")));
        json!({"type": "turn.failed", "error": {"message": message}})
    }

    /// An item that is told only when it is whole.
    fn whole(&mut self, body: Value) -> Value {
        let id = self.next();
        json!({"type": "item.completed", "item": item(&id, body)})
    }

    fn next(&mut self) -> String {
        let id = format!("item_{}", self.items);
        self.items += 1;
        id
    }
}

fn item(id: &str, body: Value) -> Value {
    let mut item = Map::new();
    item.insert("id".to_owned(), id.into());
    if let Value::Object(body) = body {
        item.extend(body);
    }
    Value::Object(item)
}
