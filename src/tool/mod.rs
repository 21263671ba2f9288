//! What a tool is, and what it is given. The tools themselves live in `tools/` and beside what they control.

pub mod args;
pub mod function;
mod names;
mod repair;
mod schema;
pub mod toolbox;
pub mod truncate;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use self::args::{Read, Signature};
pub use self::function::FnTool;
pub use self::names::{aliases, our_name};
pub use self::toolbox::{DuplicateTool, Toolbox};
pub use self::truncate::{Keep, OutputPolicy};
pub use crate::message::ToolSpec;
use crate::message::{CallId, Image, RawArgs};
use crate::secret::Secrets;

/// Something that a model can call.
///
/// Contract: `call` checks its own arguments (see `args`), ends soon after `cx.cancel` fires, and leaves no process
/// behind when its future is dropped. It may panic: the caller turns that into an error result.
pub trait Tool: Send + Sync {
    /// Name, description and schema; the same for the tool's whole life.
    fn spec(&self) -> &ToolSpec;

    /// What the call would change, if anything: two calls of one answer with the same key run one after the other.
    ///
    /// Called with unchecked arguments; answers `None` when they cannot be read.
    fn writes(&self, _args: &RawArgs) -> Option<PathBuf> {
        None
    }

    /// Runs it.
    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// What a call may use of its run.
#[derive(Clone)]
pub struct ToolContext {
    /// The call's id.
    pub call: CallId,
    /// Fires when the run is aborted.
    pub cancel: CancellationToken,
    /// Shows output while the tool runs; returns at once.
    pub progress: Arc<dyn Fn(String) + Send + Sync>,
    /// Where full outputs go when they are cut for the model; made on first use.
    pub artifacts: PathBuf,
    /// What must not be in a file that the call keeps.
    pub secrets: Secrets,
}

/// What a tool answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    /// For the model.
    pub text: String,
    /// For people and programs; never part of a request.
    pub details: Value,
    /// For a model that sees; at most so many and so large as [`Image`] says.
    pub images: Vec<Image>,
    /// The run rests after this turn: its next words come from outside.
    pub parks: bool,
}

/// A failure that the model can act on: a sentence that names the thing and says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    sentence: String,
    /// For people and programs; never part of a request.
    pub details: Value,
    /// The run rests after this turn: whether it can be done is said from outside.
    pub parks: bool,
    refused: bool,
}

impl ToolOutput {
    /// Text without details.
    pub fn text(text: impl Into<String>) -> ToolOutput {
        ToolOutput { text: text.into(), ..ToolOutput::default() }
    }

    /// Text and details.
    pub fn new(text: impl Into<String>, details: Value) -> ToolOutput {
        ToolOutput { text: text.into(), details, ..ToolOutput::default() }
    }

    /// With a picture.
    #[must_use]
    pub fn showing(mut self, image: Image) -> ToolOutput {
        self.images.push(image);
        self
    }

    /// The run rests after this turn.
    #[must_use]
    pub fn parking(self) -> ToolOutput {
        ToolOutput { parks: true, ..self }
    }

    /// Adds to the details what had to be mended in the arguments; without repairs nothing changes.
    pub fn noting(mut self, repairs: &[String]) -> ToolOutput {
        if !repairs.is_empty() {
            if !self.details.is_object() {
                let told = std::mem::replace(&mut self.details, Value::Object(serde_json::Map::new()));
                if !told.is_null() {
                    self.details["details"] = told;
                }
            }
            self.details["repairs"] = Value::from(repairs);
        }
        self
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> ToolOutput {
        ToolOutput::text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> ToolOutput {
        ToolOutput::text(text)
    }
}

impl ToolError {
    /// A sentence for the model.
    pub fn new(sentence: impl Into<String>) -> ToolError {
        ToolError { sentence: sentence.into(), details: Value::Null, parks: false, refused: false }
    }

    /// The same for what rules, rights or a person forbid, so that a program can tell it from a failure.
    pub fn refused(sentence: impl Into<String>) -> ToolError {
        ToolError { refused: true, ..ToolError::new(sentence) }
    }

    /// It is forbidden, and did not only fail.
    pub fn is_refusal(&self) -> bool {
        self.refused
    }

    /// The run rests after this turn.
    #[must_use]
    pub fn parking(self, details: Value) -> ToolError {
        ToolError { details, parks: true, ..self }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for ToolError {}
