//! The lines of `run --json` in the shapes of other programs, for what reads those already. Pure: a line goes in, lines
//! come out, and what the other program has no word for is left out.

mod claude;
mod codex;

use serde_json::Value;

use self::claude::Claude;
use self::codex::Codex;
use crate::args::Dialect;

/// Says the lines of one session as another program would.
pub enum Tongue {
    /// As `codex exec --json`.
    Codex(Codex),
    /// As `claude --print --output-format stream-json --verbose`.
    Claude(Box<Claude>),
}

impl Tongue {
    /// The tongue of a dialect; `None` for our own.
    pub fn of(dialect: Dialect) -> Option<Tongue> {
        match dialect {
            Dialect::Own => None,
            Dialect::Codex => Some(Tongue::Codex(Codex::default())),
            Dialect::Claude => Some(Tongue::Claude(Box::default())),
        }
    }

    /// What one of our lines is there; to be given every line, in order.
    pub fn say(&mut self, line: &Value) -> Vec<Value> {
        match self {
            Tongue::Codex(codex) => codex.say(line),
            Tongue::Claude(claude) => claude.say(line),
        }
    }
}

/// A field's text; empty where there is none.
fn text<'l>(line: &'l Value, field: &str) -> &'l str {
    line[field].as_str().unwrap_or_default()
}

/// A field's number; 0 where there is none.
fn number(line: &Value, field: &str) -> u64 {
    line[field].as_u64().unwrap_or_default()
}

/// The tasks that a text names, each once.
fn tasks(text: &str) -> Vec<&str> {
    let words = text.split(|one: char| !one.is_ascii_alphanumeric() && one != '_');
    let is_task = |word: &&str| {
        word.strip_prefix("t_").is_some_and(|rest| rest.len() > 2 && rest.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let mut found: Vec<&str> = Vec::new();
    for task in words.filter(is_task) {
        if !found.contains(&task) {
            found.push(task);
        }
    }
    found
}
