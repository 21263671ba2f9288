//! Puts each turn before the judge and does what it says: an event, a word to the model, an end.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::{Judgement, Kind, Step, Verdict};
use crate::agent::run::{Halt, Run};
use crate::event::AgentEvent;
use crate::message::{CallId, Role, ToolCall, ToolResult};
use crate::tool::Toolbox;

/// Judges the turn whose calls are just answered; they took so long. Answers why the run ends, if it gets nowhere.
pub(in crate::agent) fn look(run: &mut Run<'_>, took: Duration) -> Result<Option<String>, Halt> {
    let turn = run.turn;
    let Judgement { score, flat, verdict } = judge(run, took);
    run.events.emit(&AgentEvent::Progressed { turn, score, flat });
    match verdict {
        Verdict::Fine => Ok(None),
        Verdict::Remind(evidence) => {
            let words = format!(
                "You are not getting anywhere: {evidence}. Do something else. If nothing else is left, stop calling \
                 tools and say what you know and what stands in the way."
            );
            run.remind(&words).map(|()| None)
        }
        Verdict::Stuck(evidence) => Ok(Some(evidence)),
    }
}

fn judge(run: &mut Run<'_>, took: Duration) -> Judgement {
    let messages = run.session.context();
    let replied = messages.iter().rposition(|message| message.role == Role::Assistant);
    let (reply, after) = messages.split_at(replied.map_or(0, |at| at + 1));
    let results: HashMap<&CallId, &ToolResult> =
        after.iter().flat_map(|message| message.results()).map(|result| (&result.call, result)).collect();
    let calls = reply.last().into_iter().flat_map(|message| message.calls());
    let steps: Vec<Step<'_>> =
        calls.filter_map(|call| Some(step(&run.agent.tools, call, results.get(&call.id)?))).collect();
    match steps.as_slice() {
        [] => run.judge.spoke(),
        steps => run.judge.turn(steps, took),
    }
}

fn step<'a>(tools: &Toolbox, call: &'a ToolCall, result: &'a ToolResult) -> Step<'a> {
    let kind = tools.find(&call.name).map_or(Kind::Reads, |tool| {
        // A tool that panics here has done so before it was called, and that was dealt with there.
        let writes = catch_unwind(AssertUnwindSafe(|| tool.writes(&call.args))).ok().flatten();
        match writes {
            Some(_) => Kind::Writes,
            None if tool.spec().read_only => Kind::Reads,
            None => Kind::Acts,
        }
    });
    let (id, args) = (call.id.0.as_str(), call.args.0.as_str());
    Step { tool: &call.name, id, args, kind, output: &result.output, failed: failed(result) }
}

/// Refused, or a command that did not end well.
fn failed(result: &ToolResult) -> bool {
    let ended_badly = |name: &str| match &result.details[name] {
        serde_json::Value::Number(code) => code.as_i64() != Some(0),
        other => *other == true,
    };
    result.is_error || ["exit_code", "signal", "timed_out"].into_iter().any(ended_badly)
}
