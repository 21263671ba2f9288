//! A step of a runbook that asks a person: text in, the arguments of the tool `ask` out; what an answer says; and a step that
//! waits for one because a rule wants it allowed.

use serde_json::{Value, json};

use crate::message::ToolResult;

/// What is taken when a question names nothing.
const GO_ON: &str = "go on";

/// `ask: JWT or session cookie? [jwt*, cookie] 9m`: options in brackets, a star at the default, else the first is it; and
/// how long it waits. Without options: `ask: Which port? default 8080`.
pub(super) fn args(step: &str) -> Option<Value> {
    let asked = step.strip_prefix("ask:")?.trim();
    let Some((text, rest)) = asked.rsplit_once('[').and_then(|(text, rest)| Some((text, rest.rsplit_once(']')?)))
    else {
        let (text, default) = asked.rsplit_once(" default ").unwrap_or((asked, GO_ON));
        return Some(json!({ "question": text.trim(), "default": default.trim() }));
    };
    let (options, deadline) = (rest.0.split(',').map(str::trim).filter(|option| !option.is_empty()), rest.1.trim());
    let starred = options.clone().find_map(|option| option.strip_suffix('*'));
    let options: Vec<&str> = options.map(|option| option.trim_end_matches('*')).collect();
    let default = starred.or(options.first().copied()).unwrap_or(GO_ON);
    let mut args = json!({ "question": text.trim(), "options": options, "default": default });
    if !deadline.is_empty() {
        args["deadline"] = deadline.into();
    }
    Some(args)
}

/// The answer in a note of the program, and whether it is the default because nobody answered.
pub(super) fn answer(note: &str) -> Option<(&str, bool)> {
    let (name, answer) = note.lines().next()?.split_once(": ")?;
    let digits = name.strip_prefix("q_")?;
    let is_name = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_name.then(|| (answer, note.contains("\n\nNobody answered in time")))
}

/// A command with the answer in the place of `{answer}`, as one word of the shell.
pub(super) fn filled(step: &str, answer: Option<&str>) -> String {
    step.replace("{answer}", &format!("'{}'", answer.unwrap_or_default().replace('\'', r"'\''")))
}

/// The call waits for a person, and is to be made again when there is an answer.
pub(super) fn is_held(result: &ToolResult) -> bool {
    result.is_error && result.output.contains(" was not done yet: a person must allow it")
}
