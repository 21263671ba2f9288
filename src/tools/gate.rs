//! Permission as a decorator around a tool: what the rules say is asked before each call. It advises; what a call can
//! reach is decided by the walls. Who is asked, and how, is not known here.

mod carrier;
mod command;
mod hazard;
mod rule;
mod rules;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use sha2::{Digest, Sha256};

pub use self::rule::{Ground, NoRule, Rule, Verdict};
pub use self::rules::{Dead, Judged, Rules};
use crate::message::RawArgs;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};

/// Most characters of the arguments that a person is shown.
pub(super) const SHOWN: usize = 2_000;

/// A call that a person is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The tool.
    pub tool: String,
    /// Its arguments, on one line, with everything escaped that hides, turns around or moves.
    pub shown: String,
    /// The rule and where it is written, or why there is none.
    pub why: String,
    /// Wider rights are asked for: `why` is the model's reason, and what is shown is done outside of the walls.
    pub escalated: bool,
    /// Names this very call: tool, arguments, folder, environment and mode.
    pub key: [u8; 32],
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It may be done.
    Yes,
    /// It may not, and why.
    No(String),
    /// Not now: the run rests until somebody has answered.
    Later {
        /// For the model.
        sentence: String,
        /// For people and programs.
        details: Value,
    },
}

/// The way to a person. It answers in its own time: the call waits, and is ended like any other.
pub type Asker = Arc<dyn Fn(Request) -> BoxFuture<'static, Answer> + Send + Sync>;

/// What the gates of one agent share.
#[derive(Clone)]
pub struct Keeper {
    /// What is allowed.
    pub rules: Arc<Rules>,
    /// Where paths of calls begin.
    pub base: PathBuf,
    /// What calls run with, beside their arguments: variables and mode. An approval holds for nothing else.
    pub around: String,
    /// The way to a person; `None` where nobody is to be asked.
    pub asker: Option<Asker>,
}

struct Gate {
    inner: Arc<dyn Tool>,
    keeper: Keeper,
}

impl Keeper {
    /// The tool behind a gate, or as it is when no rule is about it.
    pub fn before(&self, tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
        if !self.rules.concern(&tool.spec().name) {
            return tool;
        }
        Arc::new(Gate { inner: tool, keeper: self.clone() })
    }

    /// What a person is asked about a call. A word on a call within the walls is none on the same call outside of them.
    pub(super) fn request(&self, tool: &str, args: &RawArgs, why: String, escalated: bool) -> Request {
        let mode = if escalated { "outside" } else { "inside" };
        let mut key = Sha256::new();
        for part in [tool, &args.0, &self.base.to_string_lossy(), &self.around, mode] {
            key.update((part.len() as u64).to_le_bytes());
            key.update(part.as_bytes());
        }
        Request { tool: tool.to_owned(), shown: shown(&args.0), why, escalated, key: key.finalize().into() }
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").field("base", &self.base).field("asks", &self.asker.is_some()).finish_non_exhaustive()
    }
}

impl Tool for Gate {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }

    fn writes(&self, args: &RawArgs) -> Option<PathBuf> {
        self.inner.writes(args)
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let name = &self.spec().name;
            let (verdict, why) = {
                let judged = self.keeper.rules.judge_raw(name, &args.0, &self.keeper.base);
                (judged.verdict, judged.why)
            };
            match (verdict, &self.keeper.asker) {
                (Verdict::Allow, _) => {}
                (Verdict::Deny, _) => return Err(denied(name, &why)),
                (Verdict::Ask, None) => {
                    let sentence =
                        format!("{name} was not done: a person must allow it ({why}), and nobody can be asked");
                    return Err(ToolError::refused(format!("{sentence}; do without it, or say what is missing")));
                }
                (Verdict::Ask, Some(ask)) => {
                    let request = self.keeper.request(name, &args, why, false);
                    match asked(ask, request, cx).await {
                        Answer::Yes => {}
                        Answer::No(why) => return Err(denied(name, &why)),
                        Answer::Later { sentence, details } => return Err(ToolError::new(sentence).parking(details)),
                    }
                }
            }
            self.inner.call(args, cx).await
        }
        .boxed()
    }
}

/// What a person answers; the end of the run is a no.
pub(super) async fn asked(ask: &Asker, request: Request, cx: &ToolContext) -> Answer {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Answer::No("the run was stopped".to_owned()),
        answer = ask(request) => answer,
    }
}

/// What is said of a call that the rules or a person deny.
pub(super) fn denied(tool: &str, why: &str) -> ToolError {
    ToolError::refused(format!("{tool} was not done: denied ({why}); do not try it in another way"))
}

impl Rules {
    /// What they say about arguments as a model wrote them. What can be read in more than one way is asked.
    pub fn judge_raw(&self, tool: &str, args: &str, base: &std::path::Path) -> Judged<'_> {
        let parsed = serde_json::from_str::<Value>(args).ok();
        let readable = |args: &Value| {
            let object = args.as_object()?;
            let wrapped =
                ["arguments", "args", "input", "parameters", "params"].iter().any(|name| object.contains_key(*name));
            let has_command =
                ["command", "cmd", "script"].iter().filter(|name| object.contains_key(**name)).count() == 1;
            (!wrapped && (tool != "shell" || has_command)).then_some(())
        };
        let mut judged = self.judge(tool, parsed.as_ref().unwrap_or(&Value::Null), base);
        let is_unclear = parsed.as_ref().and_then(readable).is_none() && self.hold_back(tool);
        if is_unclear && judged.verdict == Verdict::Allow {
            judged = Judged {
                verdict: Verdict::Ask,
                rule: None,
                why: "its arguments can be read in several ways".to_owned(),
            };
        }
        judged
    }
}

/// A text that shows what it is: nothing in it hides, turns the line around or moves the cursor.
pub fn shown(text: &str) -> String {
    cut(text, SHOWN)
}

/// The same of so many characters at most.
pub(super) fn cut(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for c in text.chars().take(most) {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            // An accent by itself makes another name that looks like the one with the accented letter.
            '\u{300}'..='\u{36f}' => shown.extend(c.escape_unicode()),
            c if command::is_hidden(c) || c.is_control() => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    let left = text.chars().count().saturating_sub(most);
    if left > 0 {
        shown.push_str(&format!("… and {left} more characters"));
    }
    shown
}
