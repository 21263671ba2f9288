//! What happens as lines of JSON: flat, versioned, texts only as they come. Pure: it writes nothing.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::dialect::Tongue;
use crate::args::Dialect;
use crate::event::AgentEvent;
use crate::ledger::Sums;
use crate::message::{Budget, Message, Note, NoteKind, Spent, Tally, ToolCall, Usage};
use crate::runtime::{Envelope, Grant, News, Source};
use crate::task::{Question, TaskReport};
use crate::terminal::exit::Exit;

/// The version that every line carries; it changes when a field changes its meaning or goes away.
pub const VERSION: u32 = 1;

/// Makes the lines of one session, numbered from 1.
pub struct Lines {
    session: String,
    seq: u64,
    /// Says them as another program would.
    tongue: Option<Tongue>,
}

/// How a session went, for its last line.
pub struct End<'a> {
    /// The code that the program ends with.
    pub exit: Exit,
    /// Model calls of the main agent and, where known, of its workers.
    pub tally: Tally,
    /// How the last run ended; `None` when there was none.
    pub reason: Option<&'static str>,
    /// The last answer; `None` when there was none.
    pub result: Option<&'a str>,
    /// The same as JSON, where it was held to a schema.
    pub structured: Option<&'a Value>,
    /// Tasks that were still at work and are interrupted now.
    pub interrupted: Vec<String>,
}

impl Lines {
    /// Lines for this session.
    pub fn new(session: impl Into<String>) -> Lines {
        Lines::speaking(session, Dialect::Own)
    }

    /// The same as another program would say it: one of our lines may be none there, or several.
    pub fn speaking(session: impl Into<String>, dialect: Dialect) -> Lines {
        Lines { session: session.into(), seq: 0, tongue: Tongue::of(dialect) }
    }

    /// The first line.
    pub fn start(&mut self, model: &str, why: &str, workspace: &str) -> Vec<String> {
        let fields = json!({
            "model": model, "model_why": why, "workspace": workspace, "tillerman": env!("CARGO_PKG_VERSION"),
        });
        self.line(Timestamp::now(), "main", "session.start", fields)
    }

    /// The lines that a piece of news is worth, in order; most are worth one, some none.
    pub fn news(&mut self, envelope: &Envelope) -> Vec<String> {
        let agent = match &envelope.source {
            Source::Main { .. } => "main".to_owned(),
            Source::Task(task) => task.to_string(),
        };
        let facts = match &envelope.news {
            News::Agent(event) => facts(event, agent != "main"),
            News::Titled { title } => vec![("session.title", json!({"title": title}))],
            News::TaskQueued { title, ahead } => {
                vec![("worker.progress", json!({"state": "queued", "title": title, "ahead": ahead}))]
            }
            News::TaskHeld { title, after } => {
                vec![("worker.progress", json!({"state": "held", "title": title, "after": after}))]
            }
            News::Granted(grant) => vec![("worker.budget", granted(grant))],
            News::TaskStarted { title } => vec![("worker.start", json!({"title": title}))],
            News::TaskEnded(report) => vec![("worker.end", ended(report))],
            News::Asked(question) => vec![("question", asked(question))],
            News::Settled(question) => vec![("question.settled", asked(question))],
            News::Permission(permission) => {
                let kind = if permission.settled.is_none() { "permission.ask" } else { "permission.settled" };
                vec![(kind, json!(permission))]
            }
            News::Walls { why } => vec![("warning", json!({"message": why}))],
        };
        facts.into_iter().flat_map(|(kind, fields)| self.line(envelope.at, &agent, kind, fields)).collect()
    }

    /// News that this reader was too slow for.
    pub fn missed(&mut self, count: u64) -> Vec<String> {
        let message = format!("{count} events were missed; read faster, or see the session's file");
        self.line(Timestamp::now(), "main", "error", json!({"message": message, "missed": count}))
    }

    /// A fault outside any run.
    pub fn error(&mut self, message: &str) -> Vec<String> {
        self.line(Timestamp::now(), "main", "error", json!({"message": message}))
    }

    /// What came of an order that was given by a line, with the id of that.
    pub fn response(&mut self, id: &Value, command: &str, outcome: &Result<Value, String>) -> Vec<String> {
        let mut fields = json!({"id": id, "command": command, "success": outcome.is_ok()});
        match outcome {
            Ok(data) => fields["data"] = data.clone(),
            Err(why) => fields["error"] = why.as_str().into(),
        }
        self.line(Timestamp::now(), "main", "response", fields)
    }

    /// The last line.
    pub fn end(&mut self, end: &End) -> Vec<String> {
        let mut fields = json!({
            "exit_code": end.exit.code(), "exit": end.exit.name(), "usage": usage(&end.tally.usage),
            "reason": end.reason, "result": end.result, "interrupted": end.interrupted,
        });
        if let Some(structured) = end.structured {
            fields["structured"] = structured.clone();
        }
        add_cost(&mut fields, end.tally.spent);
        self.line(Timestamp::now(), "main", "session.end", fields)
    }

    fn line(&mut self, at: Timestamp, agent: &str, kind: &str, fields: Value) -> Vec<String> {
        self.seq += 1;
        let mut line = Map::new();
        line.insert("v".into(), VERSION.into());
        line.insert("seq".into(), self.seq.into());
        line.insert("ts".into(), format!("{at:.3}").into());
        line.insert("type".into(), kind.into());
        line.insert("session".into(), self.session.as_str().into());
        line.insert("agent".into(), agent.into());
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        let line = Value::Object(line);
        match &mut self.tongue {
            None => vec![line.to_string()],
            Some(tongue) => tongue.say(&line).iter().map(Value::to_string).collect(),
        }
    }
}

type Facts = Vec<(&'static str, Value)>;

fn facts(event: &AgentEvent, worker: bool) -> Facts {
    match event {
        AgentEvent::TurnStarted { turn } => vec![("turn.start", json!({"turn": turn}))],
        AgentEvent::Text { text } => vec![("text.delta", json!({"text": text}))],
        AgentEvent::Thinking { text } => vec![("reasoning.delta", json!({"text": text}))],
        AgentEvent::Replied { message, usage: used, took, model, cost } => {
            let mut fields = usage(used);
            fields["duration_ms"] = millis(*took);
            fields["model"] = model.as_str().into();
            add_cost(&mut fields, Spent::of(*cost));
            vec![("message", replied(message)), ("usage", fields)]
        }
        AgentEvent::ToolStarted { call } => vec![("tool.start", started(call))],
        AgentEvent::ToolProgress { call, chunk } => vec![("tool.output", json!({"call": call, "text": chunk}))],
        AgentEvent::ToolFinished { result, took } => {
            let fields = json!({
                "call": result.call, "is_error": result.is_error, "output": result.output, "details": result.details,
                "duration_ms": millis(*took),
            });
            vec![("tool.end", fields)]
        }
        AgentEvent::Noted { note, turn } => vec![(if worker { "worker.steer" } else { "steer" }, noted(note, *turn))],
        AgentEvent::Compacted { before, after, model, usage: used, cost } => {
            let mut fields = json!({"before": before, "after": after, "usage": usage(used), "model": model});
            add_cost(&mut fields, model.as_ref().map_or(Spent::default(), |_| Spent::of(*cost)));
            vec![("compaction", fields)]
        }
        AgentEvent::Retrying { attempt, wait, why } => {
            vec![("retry", json!({"attempt": attempt, "wait_ms": millis(*wait), "message": why}))]
        }
        AgentEvent::Progressed { turn, score, flat } => {
            vec![("progress", json!({"turn": turn, "score": score, "flat": flat}))]
        }
        AgentEvent::Failed { why } => vec![("error", json!({"message": why}))],
        AgentEvent::TurnEnded { turn } => vec![("turn.end", json!({"turn": turn}))],
        // The session's first and last line and the worker's say these; a call is told when its arguments are known.
        AgentEvent::RunStarted | AgentEvent::CallOpened { .. } | AgentEvent::RunEnded { .. } => vec![],
    }
}

fn granted(grant: &Grant) -> Value {
    let sums = |sums: Sums| json!({"usd": sums.usd.dollars(), "tokens": sums.tokens, "turns": sums.turns});
    let estimate = grant.estimate.map(|of| json!({"low": sums(of.low), "high": sums(of.high), "tasks": of.tasks}));
    json!({"budget": grant.budget.value(), "left": grant.left.map(Budget::value), "estimate": estimate})
}

fn replied(message: &Message) -> Value {
    let calls: Vec<Value> = message.calls().map(started).collect();
    json!({"text": message.text(), "calls": calls})
}

/// A call; arguments that are JSON are given as such, others as the text that the model wrote.
fn started(call: &ToolCall) -> Value {
    let args = serde_json::from_str(&call.args.0).unwrap_or_else(|_| Value::String(call.args.0.clone()));
    json!({"call": call.id, "name": call.name, "args": args})
}

fn noted(note: &Note, turn: u32) -> Value {
    let kind = match note.kind {
        NoteKind::Steer => "steer",
        NoteKind::FollowUp => "follow_up",
        NoteKind::Line => "line",
        NoteKind::Answer => "answer",
    };
    json!({"note": note.id, "kind": kind, "text": note.text, "turn": turn})
}

/// The fields of a question; its state is `open`, `answered`, `defaulted` or `moot`.
fn asked(question: &Question) -> Value {
    let mut fields = json!({
        "question": question.name(), "text": question.text, "options": question.options, "default": question.default,
        "deadline": question.deadline, "asker": question.asker,
    });
    if let (Value::Object(fields), Ok(Value::Object(state))) = (&mut fields, serde_json::to_value(&question.state)) {
        // A question's own words stay; those of an answer have a name of their own.
        fields.extend(
            state.into_iter().map(|(name, value)| (if name == "text" { "answer".into() } else { name }, value)),
        );
    }
    fields
}

/// The fields of `worker.end`, and of a task that has ended elsewhere.
pub(super) fn ended(report: &TaskReport) -> Value {
    let mut fields = json!({
        "title": report.title, "status": report.status, "answer": report.answer, "turns": report.turns,
        "usage": usage(&report.usage), "duration_ms": millis(report.took), "dir": report.dir,
    });
    add_cost(&mut fields, report.spent);
    fields
}

/// Dollars as far as they are known, null when nothing of them is; and how many calls are missing in them.
pub(super) fn add_cost(fields: &mut Value, spent: Spent) {
    fields["cost_usd"] = json!(spent.dollars());
    fields["cost_unknown_calls"] = spent.unknown.into();
}

/// Tokens, with their sum.
pub(super) fn usage(usage: &Usage) -> Value {
    json!({
        "input": usage.input, "output": usage.output, "cache_read": usage.cache_read,
        "cache_write": usage.cache_write, "reasoning": usage.reasoning, "total": usage.total_tokens(),
    })
}

fn millis(span: std::time::Duration) -> Value {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX).into()
}
