//! The pilot at the tiller: each new line becomes a real tool call or an answer, each result a sentence.
//! A line is acted on in the one reply after it, so that every run ends.

use std::fmt::Write;

use serde_json::{Value, json};

use super::intent::{Intent, LINES, Order};
use super::talk::Talk;
use super::{Speech, answer, arithmetic};
use crate::message::ToolSpec;

/// Most lines that one reply acts on; they were all said while a single tool ran.
const AT_ONCE: usize = 16;
/// A person wrote the steps, so they may change what that person works on.
const WHOLE: [&str; 1] = ["."];

const HONEST: &str = "I am the built-in pilot, no language model: I only understand the lines that `help` shows.\n\
    To add a model: `export ANTHROPIC_API_KEY=…`, or start with `tillerman -m PROVIDER/MODEL`.";

/// What to say and call next.
pub(super) fn reply(talk: &Talk<'_>, tools: &[ToolSpec]) -> Speech {
    let mut speech = Speech::default();
    for (call, result) in &talk.answered {
        speech.say(&answer::answer(call, result));
    }
    for line in talk.lines.iter().take(AT_ONCE) {
        react(line, tools, &mut speech);
    }
    if talk.lines.len() > AT_ONCE {
        speech.say(&format!("I took the first {AT_ONCE} lines; please say the others again."));
    }
    if speech.is_empty() {
        speech.say("Nothing to do.");
    }
    speech
}

fn react(line: &str, tools: &[ToolSpec], speech: &mut Speech) {
    match Intent::of(line) {
        Intent::Help => speech.say(&help()),
        Intent::Greeting => speech.say("At the tiller. `help` shows the lines I understand; I am no language model."),
        Intent::Unknown => speech.say(HONEST),
        Intent::Incomplete(usage) => speech.say(&format!("Please write it like this: `{usage}`")),
        Intent::Sum(expression) => speech.say(&match arithmetic::evaluate(expression) {
            Ok(value) => format!("{} = {value}", expression.trim()),
            Err(why) => format!("`{}` has no value: {why}.", expression.trim()),
        }),
        Intent::Question { id } => {
            speech.say(&format!("{id} asks something. I am no language model: `answer {id} 1` is yours to say."))
        }
        Intent::Report { id, how } => report(id, how, line, tools, speech),
        intent => match list(&intent).filter(|_| offers(tools, "todo")).or_else(|| call(&intent)) {
            Some((name, args)) if offers(tools, name) => speech.call(name, args),
            Some(_) if tools.is_empty() => speech.say("The turns of this run are used up; please say that line again."),
            Some((name, _)) => speech.say(&format!("The tool {name} is not available to me here.")),
            None => speech.say(HONEST),
        },
    }
}

/// News of a worker: its result is loaded first and relayed when it is there.
fn report(id: &str, how: &str, line: &str, tools: &[ToolSpec], speech: &mut Speech) {
    let fact = |name: &str| line.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
    let title = fact("title:");
    let titled = if title.is_empty() { String::new() } else { format!(" “{title}”") };
    let word = match how {
        "completed" => "has ended",
        "failed" => "failed",
        "aborted" => "was aborted",
        "limited" => "used up its turns",
        "interrupted" => "was interrupted",
        _ => "ended",
    };
    let path = format!(".tasks/{id}/result.md");
    speech.say(&format!("{id}{titled} {word}."));
    match offers(tools, "load") {
        true => speech.call("load", json!({ "path": path })),
        false => speech.say(&format!("Its result is in {path}.")),
    }
}

/// What a line about the list asks of the tool that keeps one; without it the list is a file.
fn list(intent: &Intent<'_>) -> Option<(&'static str, Value)> {
    let args = match intent {
        Intent::TodoAdd(text) => json!({ "action": "add", "items": [text] }),
        Intent::TodoDone(number) => json!({ "action": "complete", "number": number }),
        Intent::TodoList => json!({ "action": "view" }),
        _ => return None,
    };
    Some(("todo", args))
}

/// The tool call that does what a line asks for.
fn call(intent: &Intent<'_>) -> Option<(&'static str, Value)> {
    let shell = |command: String| Some(("shell", json!({ "command": command })));
    match intent {
        Intent::Run(command) => shell((*command).to_owned()),
        Intent::Tests => shell(TESTS.to_owned()),
        Intent::Time => shell("date".to_owned()),
        Intent::Count(path) => shell(format!("wc -l -- {}", words(path))),
        Intent::Find(name) => shell(format!("find . -name {} -not -path './.git/*'", word(name))),
        Intent::Outline(path) => shell(format!("grep -n '^#' -- {}", word(path))),
        Intent::TodoAdd(text) => {
            shell(format!("# todo.md\nprintf '%s\\n' {} | tee -a todo.md", word(&format!("- [ ] {text}"))))
        }
        Intent::TodoDone(number) => shell(TODO_DONE.replace("NUMBER", &number.to_string())),
        Intent::TodoList => shell(TODO_LIST.to_owned()),
        Intent::Read(path) => Some(("read_file", json!({ "path": path }))),
        Intent::Grep { pattern, path: None } => Some(("grep", json!({ "pattern": pattern }))),
        Intent::Grep { pattern, path: Some(path) } => Some(("grep", json!({ "pattern": pattern, "path": path }))),
        Intent::List(None) => Some(("list", json!({}))),
        Intent::List(Some(path)) => Some(("list", json!({ "path": path }))),
        Intent::Write { path, text } => Some(("write_file", json!({ "path": path, "content": format!("{text}\n") }))),
        Intent::Dispatch(Order { title, steps, after, budget }) => {
            let mut args = json!({ "title": title, "task": runbook(steps), "touches": WHOLE });
            if !after.is_empty() {
                args["after"] = json!(after);
            }
            if let Some(budget) = budget {
                args["budget"] = json!(budget);
            }
            Some(("dispatch", args))
        }
        Intent::Batch { words, steps } => {
            let rows: String = words.iter().map(|word| format!("{}\n", json!({ "item": word }))).collect();
            let title = steps.first().cloned().unwrap_or_default();
            Some(("dispatch", json!({ "title": title, "task": runbook(steps), "rows": rows, "touches": WHOLE })))
        }
        Intent::Call { agent, steps } => {
            Some(("call_agent", json!({ "agent_name": agent, "task": runbook(steps), "touches": WHOLE })))
        }
        Intent::GoOn { id, text: "" } => Some(("resume", json!({ "id": id }))),
        Intent::GoOn { id, text } => Some(("resume", json!({ "id": id, "message": text }))),
        Intent::Steer { id, text } => Some(("steer", json!({ "id": id, "message": text }))),
        Intent::Answer { id, text } => Some(("answer", json!({ "id": id, "answer": text }))),
        Intent::Abort(id) => Some(("abort", json!({ "id": id }))),
        Intent::Tasks(None) => Some(("tasks", json!({}))),
        Intent::Tasks(Some(id)) => Some(("tasks", json!({ "id": id }))),
        Intent::Question { .. } | Intent::Report { .. } | Intent::Sum(_) | Intent::Help | Intent::Greeting => None,
        Intent::Incomplete(_) | Intent::Unknown => None,
    }
}

/// A first line `# …` is the heading under which the result is told.
const TESTS: &str = "# The tests\n\
    if [ -f Cargo.toml ]; then cargo test; elif [ -f package.json ]; then npm test; \
    elif [ -f Makefile ]; then make test; elif [ -f test.sh ]; then sh test.sh; \
    else echo 'no Cargo.toml, package.json, Makefile or test.sh here'; exit 1; fi";

const TODO_LIST: &str = "# todo.md\nif [ -s todo.md ]; then grep -n '' todo.md; else echo 'the list is empty'; fi";

/// Ticks a line by its number, and says it.
const TODO_DONE: &str = "# todo.md\n\
    awk -v n=NUMBER 'NR == n { sub(/\\[ \\]/, \"[x]\"); print > \"/dev/stderr\" } { print } END { exit NR < n }' todo.md \
    > todo.md.new && mv todo.md.new todo.md || { rm -f todo.md.new; echo 'no line NUMBER there'; exit 1; }";

/// A brief that a worker's pilot executes and any other worker understands.
fn runbook(steps: &[String]) -> String {
    let mut text = "Run these commands in order and report what each one did.\n\n".to_owned();
    for step in steps {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- [ ] {step}");
    }
    text
}

fn offers(tools: &[ToolSpec], name: &str) -> bool {
    tools.iter().any(|tool| tool.name == name)
}

/// One word for the shell.
fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A path for the shell whose wildcards stay alive.
fn words(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "./_-*?".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { word(path) }
}

fn help() -> String {
    let width = LINES.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    let mut text = "I am the built-in pilot, no language model. I understand:\n```\n".to_owned();
    for (line, meaning) in LINES {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line:width$}  {meaning}");
    }
    text.push_str("```\nTo add a model: `export ANTHROPIC_API_KEY=…`, or start with `tillerman -m PROVIDER/MODEL`.");
    text
}
