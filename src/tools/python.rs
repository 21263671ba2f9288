//! The tool `python`: code for an interpreter that keeps its variables from call to call. The process is in
//! `interpreter`; here is what a call says of it.

mod interpreter;

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;

use self::interpreter::{Interpreter, Stop};
use super::ShellSettings;
use crate::message::RawArgs;
use crate::tool::truncate::size;
use crate::tool::{Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::policy::PathPolicy;

/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] =
    &[("script", "code"), ("command", "code"), ("source", "code"), ("query", "code"), ("timeout_seconds", "timeout")];

/// The same for all agents: compiled once, whoever uses it.
static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("python", include_str!("python.md"), false).understanding(NAMES));

#[derive(Deserialize, JsonSchema)]
struct Args {
    code: String,
    /// Seconds.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
}

/// Holds one interpreter, from the first call on. It ends with this.
pub(super) struct Python {
    policy: Arc<PathPolicy>,
    settings: ShellSettings,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Taken out while it works: a call that is dropped takes it along.
    ready: Option<Interpreter>,
    /// There was one before, whose variables are gone.
    had: bool,
}

impl Python {
    pub(super) fn new(policy: Arc<PathPolicy>, settings: ShellSettings) -> Python {
        Python { policy, settings, state: Mutex::default() }
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if args.code.trim().is_empty() {
            return Err(ToolError::new("code is empty; say what to run"));
        }
        // One call after the other; who waits is as free to go as who works.
        let mut state = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(ToolError::new("aborted")),
            state = self.state.lock() => state,
        };
        let time = args
            .timeout
            .map_or(self.settings.limits.time, |seconds| Duration::from_secs(seconds).min(self.settings.longest));
        let (began, until) = (Instant::now(), tokio::time::Instant::now() + time);
        let (known, had) = (state.ready.take(), std::mem::replace(&mut state.had, true));
        let is_new = known.is_none();
        let mut interpreter = match known {
            Some(interpreter) => interpreter,
            None => Interpreter::start(&self.policy, &self.settings, cx)?,
        };
        let said = interpreter.call(&args.code, until, cx).await;
        let mut text = said.text();
        let fitted = self.settings.output.fit(&text, cx);
        text = fitted.text;
        if is_new && had {
            text = format!("[a new interpreter: earlier variables are gone]\n{text}");
        }
        let ending = match &said.stop {
            Stop::Done { .. } => None,
            Stop::TimedOut => Some(format!("timed out after {} s; {GONE}", time.as_secs())),
            Stop::Aborted => Some(format!("aborted; {GONE}")),
            Stop::Ended(why) => Some(format!("the interpreter ended ({why}); {GONE}")),
            Stop::Absent(why) => return Err(ToolError::new(format!("there is no python3 to run: {why}; use shell"))),
        };
        match &ending {
            None => state.ready = Some(interpreter),
            Some(_) => interpreter.end().await,
        }
        let silent = (text.is_empty() && ending.is_none()).then(|| "(no output)".to_owned());
        for line in [silent, ending].into_iter().flatten() {
            let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            text = format!("{text}{gap}{line}");
        }
        let failed = !matches!(said.stop, Stop::Done { well: true });
        let details = json!({
            "exit_code": i32::from(failed),
            "timed_out": said.stop == Stop::TimedOut,
            "aborted": said.stop == Stop::Aborted,
            "bytes": said.bytes(),
            "took_ms": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "file": fitted.file,
        });
        Ok(ToolOutput::new(text, details))
    }
}

const GONE: &str = "its variables are gone, the next call starts a new one";

impl Tool for Python {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            Ok(self.run(read.args, cx).await?.noting(&read.repairs))
        }
        .boxed()
    }
}

/// What an interpreter wrote during a call: beginning and end, and how much lies between.
#[derive(Default)]
struct Gathered {
    head: Vec<u8>,
    tail: Vec<u8>,
    lost: u64,
}

/// Bytes kept of each.
const KEPT: usize = 4 << 20;

impl Gathered {
    fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(KEPT - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * KEPT {
            let more = self.tail.len() - KEPT;
            self.tail.drain(..more);
            self.lost += more as u64;
        }
    }

    fn bytes(&self) -> u64 {
        (self.head.len() + self.tail.len()) as u64 + self.lost
    }

    fn text(&self) -> String {
        let [head, tail] = [&self.head, &self.tail].map(|bytes| String::from_utf8_lossy(bytes));
        match self.lost {
            0 => String::from_utf8_lossy(&[self.head.as_slice(), &self.tail].concat()).into_owned(),
            lost => format!("{head}\n[here {} were not kept]\n{tail}", size(lost)),
        }
    }
}
