//! Our JSON lines as those of other programs: whole lines, and a real run.

use serde_json::{Value, json};
use tillerman::args::Dialect;
use tillerman::cli::dialect::Tongue;

use super::Place;

/// Our line, with what all have.
fn ours(second: u32, agent: &str, kind: &str, fields: Value) -> Value {
    let mut line = json!({
        "v": 1, "seq": 1, "ts": format!("2026-01-01T00:00:{second:02}.000Z"), "type": kind, "session": "s", "agent": agent,
    });
    line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    line
}

/// A run with a command, a file, a worker and an answer.
fn story() -> Vec<Value> {
    let used = |model: &str, cost: Option<f64>| {
        json!({
            "input": 100, "output": 20, "cache_read": 3, "cache_write": 4, "reasoning": 5, "total": 127,
            "duration_ms": 1500, "model": model, "cost_usd": cost, "cost_unknown_calls": 0,
        })
    };
    let shell = json!({"call": "c1", "name": "shell", "args": {"command": "ls"}});
    let write = json!({"call": "c2", "name": "write_file", "args": {"path": "a.txt", "content": "x"}});
    let send = json!({"call": "c3", "name": "dispatch", "args": {"task": "count"}});
    let list = json!({"call": "c4", "name": "list", "args": {}});
    let calls = json!({"text": "On it.", "calls": [shell, write, send, list]});
    let ended = |call: &str, output: &str, is_error: bool, details: Value| json!({"call": call, "is_error": is_error, "output": output, "details": details, "duration_ms": 1});
    let start = json!({"model": "a/b", "model_why": "asked", "workspace": "/w", "tillerman": "0.1.0"});
    vec![
        ours(0, "main", "session.start", start),
        ours(0, "main", "turn.start", json!({"turn": 1})),
        ours(0, "main", "reasoning.delta", json!({"text": "void"})),
        ours(0, "main", "retry", json!({"attempt": 2, "wait_ms": 1500, "message": "busy"})),
        ours(1, "main", "reasoning.delta", json!({"text": "First "})),
        ours(1, "main", "reasoning.delta", json!({"text": "look."})),
        ours(1, "main", "text.delta", json!({"text": "On it."})),
        ours(1, "main", "message", calls),
        ours(1, "main", "usage", used("a/b", Some(0.5))),
        ours(1, "main", "tool.start", shell),
        ours(1, "main", "tool.output", json!({"call": "c1", "text": "a\n"})),
        ours(1, "main", "tool.end", ended("c1", "a\nexit code 1", true, json!({"exit_code": 1}))),
        ours(1, "main", "tool.start", write),
        ours(1, "main", "tool.end", ended("c2", "Created a.txt", false, json!({"created": true}))),
        ours(1, "main", "tool.start", send),
        ours(1, "main", "tool.end", ended("c3", "t_001 is dispatched; files: .tasks/t_001/.", false, Value::Null)),
        ours(1, "main", "tool.start", list),
        ours(1, "main", "tool.end", ended("c4", "no such folder", true, Value::Null)),
        ours(1, "t_001", "worker.start", json!({"title": "count"})),
        ours(2, "t_001", "message", json!({"text": "4", "calls": []})),
        ours(2, "t_001", "usage", used("a/small", None)),
        ours(
            2,
            "t_001",
            "worker.end",
            json!({"title": "count", "status": "done", "answer": "4", "dir": "/w/.tasks/t_001"}),
        ),
        ours(2, "main", "turn.start", json!({"turn": 2})),
        ours(2, "main", "message", json!({"text": "It is 4.", "calls": []})),
        ours(2, "main", "usage", used("a/b", Some(0.25))),
        ours(3, "main", "session.end", end("done", 0, "completed", Some("It is 4."))),
    ]
}

fn end(exit: &str, code: u8, reason: &str, result: Option<&str>) -> Value {
    json!({
        "exit_code": code, "exit": exit, "reason": reason, "result": result, "interrupted": [], "cost_usd": 0.75,
        "usage": {"input": 300, "output": 60, "cache_read": 9, "cache_write": 12, "reasoning": 15, "total": 381},
    })
}

fn said(dialect: Dialect, lines: &[Value]) -> Vec<Value> {
    let mut tongue = Tongue::of(dialect).unwrap();
    lines.iter().flat_map(|line| tongue.say(line)).collect()
}

#[test]
fn codex_reads_a_thread_with_one_turn_and_its_items() {
    let item = |kind: &str, item: Value| json!({"type": kind, "item": item});
    let (started, completed) = ("item.started", "item.completed");
    let command = |output: &str, code: Value, status: &str| {
        json!({
            "id": "item_3", "type": "command_execution", "command": "ls", "aggregated_output": output, "exit_code": code,
            "status": status,
        })
    };
    let collab = |id: &str, tool: &str, of: &[&str], prompt: Value, states: Value, status: &str| {
        json!({
            "id": id, "type": "collab_tool_call", "tool": tool, "sender_thread_id": "s", "receiver_thread_ids": of,
            "prompt": prompt, "agents_states": states, "status": status,
        })
    };
    let call = |error: Value, status: &str| {
        json!({
            "id": "item_6", "type": "mcp_tool_call", "server": "tillerman", "tool": "list", "arguments": {},
            "result": null, "error": error, "status": status,
        })
    };
    let added = json!({
        "id": "item_4", "type": "file_change", "changes": [{"path": "a.txt", "kind": "add"}], "status": "completed",
    });
    let running = json!({"t_001": {"status": "running", "message": null}});
    let over = json!({"t_001": {"status": "completed", "message": "4"}});
    let expected = [
        json!({"type": "thread.started", "thread_id": "s"}),
        json!({"type": "turn.started"}),
        item(completed, json!({"id": "item_0", "type": "error", "message": "busy"})),
        item(completed, json!({"id": "item_1", "type": "reasoning", "text": "First look."})),
        item(completed, json!({"id": "item_2", "type": "agent_message", "text": "On it."})),
        item(started, command("", Value::Null, "in_progress")),
        item(completed, command("a\nexit code 1", json!(1), "failed")),
        item(completed, added),
        item(started, collab("item_5", "spawn_agent", &[], json!("count"), json!({}), "in_progress")),
        item(completed, collab("item_5", "spawn_agent", &["t_001"], json!("count"), running, "completed")),
        item(started, call(Value::Null, "in_progress")),
        item(completed, call(json!({"message": "no such folder"}), "failed")),
        item(completed, collab("item_7", "wait", &["t_001"], Value::Null, over, "completed")),
        item(completed, json!({"id": "item_8", "type": "agent_message", "text": "It is 4."})),
        json!({"type": "turn.completed", "usage": {
            "input_tokens": 321, "cached_input_tokens": 9, "cache_write_input_tokens": 12, "output_tokens": 60,
            "reasoning_output_tokens": 15,
        }}),
    ];
    assert_eq!(said(Dialect::Codex, &story()), expected);
}

#[test]
fn codex_is_told_of_a_turn_that_failed() {
    let lines = [
        ours(0, "t_001", "error", json!({"message": "a worker's own"})),
        ours(0, "main", "error", json!({"message": "no key"})),
        ours(0, "main", "session.end", end("no-provider", 3, "failed", None)),
    ];
    let expected =
        [json!({"type": "error", "message": "no key"}), json!({"type": "turn.failed", "error": {"message": "no key"}})];
    assert_eq!(said(Dialect::Codex, &lines), expected);
    let limit = [ours(0, "main", "session.end", end("limit", 6, "turn_limit", Some("half")))];
    let expected = [json!({"type": "turn.failed", "error": {"message": "ended with limit"}})];
    assert_eq!(said(Dialect::Codex, &limit), expected);
}

/// A line without its uuid, which is only looked at.
fn bare(mut line: Value) -> Value {
    let uuid = line.as_object_mut().unwrap().shift_remove("uuid").unwrap();
    let uuid = uuid.as_str().unwrap();
    assert_eq!(uuid.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{uuid}");
    if let Some(id) =
        line.get_mut("message").and_then(Value::as_object_mut).and_then(|message| message.shift_remove("id"))
    {
        assert!(id.as_str().unwrap().starts_with("msg_"), "{id}");
    }
    line
}

fn result(id: &str, output: &str, is_error: bool, told: Value) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error});
    json!({
        "type": "user", "message": {"role": "user", "content": [block]}, "parent_tool_use_id": null,
        "session_id": "s", "tool_use_result": told,
    })
}

fn model(input: u64, output: u64, read: u64, write: u64, cost: Value) -> Value {
    json!({
        "inputTokens": input, "outputTokens": output, "cacheReadInputTokens": read,
        "cacheCreationInputTokens": write, "webSearchRequests": 0, "costUSD": cost,
    })
}

#[test]
fn claude_reads_messages_block_by_block_and_a_result() {
    let used = json!({
        "input_tokens": 100, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 3, "output_tokens": 20,
    });
    let said_by = |model: &str, parent: Value, block: Value| {
        json!({"type": "assistant", "message": {
            "type": "message", "role": "assistant", "model": model, "content": [block], "stop_reason": null,
            "stop_sequence": null, "usage": used,
        }, "parent_tool_use_id": parent, "session_id": "s"})
    };
    let main = |block: Value| said_by("a/b", Value::Null, block);
    let call =
        |id: &str, name: &str, input: Value| main(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    let sent = "t_001 is dispatched; files: .tasks/t_001/.";
    let expected = [
        json!({
            "type": "system", "subtype": "init", "cwd": "/w", "tools": [], "mcp_servers": [], "model": "a/b",
            "permissionMode": "default", "slash_commands": [], "agents": [], "skills": [], "tillerman": "0.1.0",
            "session_id": "s",
        }),
        main(json!({"type": "thinking", "thinking": "First look.", "signature": ""})),
        main(json!({"type": "text", "text": "On it."})),
        call("c1", "shell", json!({"command": "ls"})),
        call("c2", "write_file", json!({"path": "a.txt", "content": "x"})),
        call("c3", "dispatch", json!({"task": "count"})),
        call("c4", "list", json!({})),
        result("c1", "a\nexit code 1", true, json!({"exit_code": 1})),
        result("c2", "Created a.txt", false, json!({"created": true})),
        result("c3", sent, false, json!(sent)),
        result("c4", "no such folder", true, json!("no such folder")),
        json!({
            "type": "system", "subtype": "task_started", "task_id": "t_001", "tool_use_id": "c3",
            "description": "count", "session_id": "s",
        }),
        said_by("a/small", json!("c3"), json!({"type": "text", "text": "4"})),
        json!({
            "type": "system", "subtype": "task_notification", "task_id": "t_001", "tool_use_id": "c3",
            "status": "completed", "output_file": "/w/.tasks/t_001/result.md", "summary": "count", "session_id": "s",
        }),
        main(json!({"type": "text", "text": "It is 4."})),
        json!({
            "type": "result", "subtype": "success", "is_error": false, "duration_ms": 3000, "duration_api_ms": 4500,
            "num_turns": 2, "result": "It is 4.", "session_id": "s", "total_cost_usd": 0.75,
            "usage": {
                "input_tokens": 300, "cache_creation_input_tokens": 12, "cache_read_input_tokens": 9, "output_tokens": 60,
            },
            "modelUsage": {
                "a/b": model(200, 40, 6, 8, json!(0.75)), "a/small": model(100, 20, 3, 4, Value::Null),
            },
            "permission_denials": [], "terminal_reason": "completed",
        }),
    ];
    assert_eq!(said(Dialect::Claude, &story()).into_iter().map(bare).collect::<Vec<_>>(), expected);
}

#[test]
fn claude_is_told_why_it_did_not_end_well() {
    let ends = [
        ("limit", 6, "turn_limit", "error_max_turns", "turn_limit"),
        ("limit", 6, "budget_spent", "error_max_budget_usd", "budget_spent"),
        ("no-room", 5, "failed", "error_during_execution", "prompt_too_long"),
    ];
    for (exit, code, reason, subtype, terminal) in ends {
        let lines = [
            ours(0, "main", "error", json!({"message": "why"})),
            ours(0, "main", "session.end", end(exit, code, reason, Some("half"))),
        ];
        let said = said(Dialect::Claude, &lines);
        let [result] = said.as_slice() else { panic!("{said:?}") };
        let seen = ["subtype", "is_error", "result", "errors", "terminal_reason"].map(|field| result[field].clone());
        assert_eq!(seen, [json!(subtype), json!(true), Value::Null, json!(["why"]), json!(terminal)]);
    }
}

#[test]
fn a_real_run_speaks_both() {
    let run = |flag: &str| {
        let done = Place::new().tillerman(&["run", flag, "run `echo to the tiller`"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let lines = run("--json=codex");
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!((types[0], types[1], *types.last().unwrap()), ("thread.started", "turn.started", "turn.completed"));
    let command = lines.iter().find(|line| line["item"]["exit_code"] == 0).unwrap();
    assert_eq!(command["item"]["type"], "command_execution");
    let lines = run("--json=claude");
    let (first, last) = (&lines[0], lines.last().unwrap());
    assert_eq!((&first["type"], &first["subtype"]), (&json!("system"), &json!("init")));
    assert_eq!((&last["type"], &last["subtype"]), (&json!("result"), &json!("success")));
    assert!(last["result"].as_str().is_some_and(|result| !result.is_empty()), "{last}");
}
