//! Our lines as those of Claude Code's `stream-json`: a first line of what there is, messages with their blocks, and a
//! result.

use std::collections::HashMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{number, tasks, text};

/// What has to be remembered between the lines.
#[derive(Default)]
pub struct Claude {
    session: String,
    lines: u64,
    began: Option<Timestamp>,
    /// Model calls of the main agent.
    turns: u64,
    /// Milliseconds in which models were asked.
    asked: u64,
    /// Reasoning that streams, by agent.
    thoughts: HashMap<String, String>,
    /// A reply that waits for what it took, by agent.
    replied: HashMap<String, Value>,
    /// Dispatches that go on.
    dispatches: Vec<String>,
    /// The call that each task comes from.
    parents: HashMap<String, String>,
    /// What each model took.
    models: Map<String, Value>,
    fault: Option<String>,
}

impl Claude {
    pub(super) fn say(&mut self, line: &Value) -> Vec<Value> {
        let agent = text(line, "agent");
        self.began = self.began.or_else(|| at(line));
        match text(line, "type") {
            "session.start" => vec![self.start(line)],
            "turn.start" => {
                self.turns += u64::from(agent == "main");
                vec![]
            }
            "reasoning.delta" => {
                self.thoughts.entry(agent.to_owned()).or_default().push_str(text(line, "text"));
                vec![]
            }
            "retry" => {
                self.thoughts.remove(agent);
                vec![]
            }
            "message" => {
                self.replied.insert(agent.to_owned(), line.clone());
                vec![]
            }
            "usage" => self.reply(agent, line),
            "tool.start" if line["name"] == "dispatch" => {
                self.dispatches.push(text(line, "call").to_owned());
                vec![]
            }
            "tool.end" => vec![self.result(agent, line)],
            "worker.start" => {
                let told = json!({"task_id": agent, "tool_use_id": self.parent(agent), "description": line["title"]});
                vec![self.system("task_started", told)]
            }
            "worker.end" => vec![self.returned(agent, line)],
            "compaction" if agent == "main" => {
                let told = json!({"compact_metadata": {"trigger": "auto", "pre_tokens": line["before"]}});
                vec![self.system("compact_boundary", told)]
            }
            "error" if agent == "main" => {
                self.fault = Some(text(line, "message").to_owned());
                vec![]
            }
            "session.end" => vec![self.end(line)],
            _ => vec![],
        }
    }

    fn start(&mut self, line: &Value) -> Value {
        self.session = text(line, "session").to_owned();
        self.system(
            "init",
            json!({
                "cwd": line["workspace"], "tools": [], "mcp_servers": [], "model": line["model"],
                "permissionMode": "default", "slash_commands": [], "agents": [], "skills": [],
                "tillerman": line["tillerman"],
            }),
        )
    }

    /// A line for each block of the reply, as there.
    fn reply(&mut self, agent: &str, line: &Value) -> Vec<Value> {
        self.asked += number(line, "duration_ms");
        self.count(line);
        let Some(message) = self.replied.remove(agent) else { return vec![] };
        let mut blocks = Vec::new();
        if let Some(thinking) = self.thoughts.remove(agent).filter(|thinking| !thinking.is_empty()) {
            blocks.push(json!({"type": "thinking", "thinking": thinking, "signature": ""}));
        }
        if !text(&message, "text").is_empty() {
            blocks.push(json!({"type": "text", "text": message["text"]}));
        }
        for call in message["calls"].as_array().into_iter().flatten() {
            blocks.push(json!({"type": "tool_use", "id": call["call"], "name": call["name"], "input": call["args"]}));
        }
        let id = format!("msg_{}", &self.digest("message")[..24]);
        let used = usage(line);
        let said = |block| {
            json!({
                "id": id, "type": "message", "role": "assistant", "model": line["model"], "content": [block],
                "stop_reason": null, "stop_sequence": null, "usage": used,
            })
        };
        let messages: Vec<Value> = blocks.into_iter().map(said).collect();
        messages.into_iter().map(|message| self.told("assistant", agent, message)).collect()
    }

    fn result(&mut self, agent: &str, line: &Value) -> Value {
        let call = text(line, "call");
        if let Some(at) = self.dispatches.iter().position(|open| open == call) {
            self.dispatches.remove(at);
            for task in tasks(text(line, "output")) {
                self.parents.insert(task.to_owned(), call.to_owned());
            }
        }
        let block = json!({
            "type": "tool_result", "tool_use_id": call, "content": line["output"], "is_error": line["is_error"],
        });
        let mut told = self.told("user", agent, json!({"role": "user", "content": [block]}));
        let details = &line["details"];
        told["tool_use_result"] = if details.is_null() { line["output"].clone() } else { details.clone() };
        told
    }

    fn returned(&mut self, agent: &str, line: &Value) -> Value {
        let status = match text(line, "status") {
            "done" => "completed",
            "aborted" | "interrupted" => "stopped",
            _ => "failed",
        };
        let file = format!("{}/result.md", text(line, "dir"));
        let told = json!({
            "task_id": agent, "tool_use_id": self.parent(agent), "status": status, "output_file": file,
            "summary": line["title"],
        });
        self.system("task_notification", told)
    }

    fn end(&mut self, line: &Value) -> Value {
        let done = line["exit_code"] == 0;
        let reason = text(line, "reason");
        let subtype = match (done, reason) {
            (true, _) => "success",
            (_, "turn_limit") => "error_max_turns",
            (_, "budget_spent") => "error_max_budget_usd",
            _ => "error_during_execution",
        };
        let took = self.began.zip(at(line)).map_or(0, |(began, ended)| ended.duration_since(began).as_millis());
        let mut told = json!({
            "type": "result", "subtype": subtype, "is_error": !done,
            "duration_ms": u64::try_from(took).unwrap_or_default(), "duration_api_ms": self.asked,
            "num_turns": self.turns,
        });
        if done {
            told["result"] = text(line, "result").into();
        } else {
            let why = self.fault.take().unwrap_or_else(|| format!("ended with {}", text(line, "exit")));
            told["errors"] = json!([why]);
        }
        if let Some(structured) = line.get("structured") {
            told["structured_output"] = structured.clone();
        }
        told["session_id"] = line["session"].clone();
        told["total_cost_usd"] = line["cost_usd"].clone();
        told["usage"] = usage(&line["usage"]);
        told["modelUsage"] = Value::Object(std::mem::take(&mut self.models));
        told["permission_denials"] = json!([]);
        told["terminal_reason"] = if line["exit"] == "no-room" { "prompt_too_long" } else { reason }.into();
        told["uuid"] = self.uuid().into();
        told
    }

    /// Adds up what the models took.
    fn count(&mut self, line: &Value) {
        let Some(model) = line["model"].as_str() else { return };
        let sum = self.models.entry(model).or_insert_with(|| {
            json!({
                "inputTokens": 0, "outputTokens": 0, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0,
                "webSearchRequests": 0, "costUSD": 0.0,
            })
        });
        let pairs = [
            ("inputTokens", "input"),
            ("outputTokens", "output"),
            ("cacheReadInputTokens", "cache_read"),
            ("cacheCreationInputTokens", "cache_write"),
        ];
        for (theirs, ours) in pairs {
            sum[theirs] = (number(sum, theirs) + number(line, ours)).into();
        }
        // What nobody knows the price of makes the sum unknown.
        sum["costUSD"] = match (sum["costUSD"].as_f64(), line["cost_usd"].as_f64()) {
            (Some(sum), Some(cost)) => (sum + cost).into(),
            _ => Value::Null,
        };
    }

    fn system(&mut self, subtype: &str, fields: Value) -> Value {
        let mut told = Map::new();
        told.insert("type".to_owned(), "system".into());
        told.insert("subtype".to_owned(), subtype.into());
        if let Value::Object(fields) = fields {
            told.extend(fields);
        }
        told.insert("session_id".to_owned(), self.session.as_str().into());
        told.insert("uuid".to_owned(), self.uuid().into());
        Value::Object(told)
    }

    fn told(&mut self, kind: &str, agent: &str, message: Value) -> Value {
        json!({
            "type": kind, "message": message, "parent_tool_use_id": self.parent(agent), "session_id": self.session,
            "uuid": self.uuid(),
        })
    }

    /// The call that an agent works for; a task that a person dispatched is its own.
    fn parent(&self, agent: &str) -> Value {
        match agent {
            "main" => Value::Null,
            task => self.parents.get(task).map_or(task, String::as_str).into(),
        }
    }

    /// A name for the next line, the same whenever the same session is told.
    fn uuid(&mut self) -> String {
        self.lines += 1;
        let hex = self.digest("line");
        format!("{}-{}-8{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
    }

    fn digest(&self, what: &str) -> String {
        let bytes = Sha256::digest(format!("{} {what} {}", self.session, self.lines));
        bytes.iter().fold(String::new(), |mut hex, byte| {
            // A string takes everything.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

fn at(line: &Value) -> Option<Timestamp> {
    text(line, "ts").parse().ok()
}

fn usage(used: &Value) -> Value {
    json!({
        "input_tokens": used["input"], "cache_creation_input_tokens": used["cache_write"],
        "cache_read_input_tokens": used["cache_read"], "output_tokens": used["output"],
    })
}
