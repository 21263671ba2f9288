//! The tool `escalate`: one call with wider rights, if a person says so. What the call does is the business of its tool; who is
//! the person, of the keeper.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::gate::{self, Answer, Asker, Keeper, SHOWN, Verdict};
use super::read_log::ReadLog;
use super::{ToolSettings, edit_file, files, read_file, shell, write_file};
use crate::message::RawArgs;
use crate::sandbox::Walls;
use crate::tool::{Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, our_name};
use crate::workspace::policy::Profile;

/// Most characters of the model's reason that a person is shown.
const WHY: usize = 300;
/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] = &[("justification", "why"), ("reason", "why"), ("name", "tool"), ("arguments", "args")];

/// The same for all agents: compiled once, whoever uses it.
static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("escalate", include_str!("escalate.md"), false).understanding(NAMES));

#[derive(Deserialize, JsonSchema)]
struct Args {
    why: String,
    tool: String,
    #[schemars(schema_with = "object")]
    args: Map<String, Value>,
}

fn object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}

/// Asks a person, and does what was asked for.
pub(super) struct Escalate {
    settings: ToolSettings,
    keeper: Keeper,
    asker: Asker,
    log: Arc<ReadLog>,
    /// Tools of the agent that can be called so.
    tools: Vec<&'static str>,
}

/// A call as it will be done.
struct Wider {
    settings: ToolSettings,
    args: Map<String, Value>,
}

impl Escalate {
    /// `None` where nobody is to be asked, or the agent has none of the tools.
    pub(super) fn new(settings: &ToolSettings, log: &Arc<ReadLog>, wanted: &[&'static str]) -> Option<Escalate> {
        let keeper = settings.escalation.clone().filter(|_| wanted.contains(&"escalate"))?;
        let asker = keeper.asker.clone()?;
        let tools: Vec<_> = wanted.iter().copied().filter(|name| signature(name).is_some()).collect();
        let log = Arc::clone(log);
        (!tools.is_empty()).then(|| Escalate { settings: settings.clone(), keeper, asker, log, tools })
    }

    async fn escalate(&self, args: Args, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Args { why, tool, args } = args;
        let why = why.trim();
        if why.is_empty() {
            return Err(ToolError::new("why is empty; tell the person what for"));
        }
        let name = our_name(&tool).into_owned();
        let known = signature(&name).filter(|_| self.tools.contains(&name.as_str()));
        let Some(signature) = known else {
            let which = self.tools.join(", ");
            return Err(ToolError::new(format!("escalate cannot ask for {tool}; it can for {which}")));
        };
        // Arguments as the tool itself would understand them: what is shown is what is done.
        let args = signature.read::<Map<String, Value>>(&RawArgs(Value::Object(args).to_string()))?.args;
        self.judge(&name, &args)?;
        let Wider { settings, args } = self.wider(&name, args)?;
        // Once more by the name that counts.
        self.judge(&name, &args)?;
        let args = RawArgs(Value::Object(args).to_string());
        if name == "shell" && args.0.chars().count() > SHOWN {
            let what = format!("the command is longer than the {SHOWN} characters that a person is shown");
            return Err(ToolError::new(format!("{what}; put it into a script in the workspace and ask to run that")));
        }
        let request = self.keeper.request(&name, &args, gate::cut(why, WHY), true);
        match gate::asked(&self.asker, request, cx).await {
            Answer::Yes => {}
            Answer::No(why) => {
                let what = format!("{name} was not done: wider rights were denied ({why})");
                return Err(ToolError::refused(format!("{what}; go on without, or say what is missing")));
            }
            Answer::Later { sentence, details } => return Err(ToolError::new(sentence).parking(details)),
        }
        let tool = super::make(&name, &settings, &self.log).ok_or_else(|| ToolError::new("there is no such tool"))?;
        tool.call(args, cx).await
    }

    /// What is denied is not asked: nobody opens it with a yes.
    fn judge(&self, name: &str, args: &Map<String, Value>) -> Result<(), ToolError> {
        let Keeper { rules, base, .. } = &self.keeper;
        let call = Value::Object(args.clone());
        for judged in [rules.judge("escalate", &Value::Null, base), rules.judge(name, &call, base)] {
            if judged.verdict == Verdict::Deny {
                return Err(gate::denied(name, &judged.why));
            }
        }
        Ok(())
    }

    /// The rights of a call that is allowed, and its arguments with the file where it really lies.
    fn wider(&self, name: &str, mut args: Map<String, Value>) -> Result<Wider, ToolError> {
        let mut settings = self.settings.clone();
        let policy = &self.settings.policy;
        if name == "shell" {
            settings.policy = Arc::new(policy.with_profile(Profile::Full));
            settings.shell.walls = Walls::owned();
            // A command without walls is not left alone.
            settings.shell.leave = false;
            return Ok(Wider { settings, args });
        }
        let path = args.shift_remove("path").and_then(|path| Some(path.as_str()?.to_owned())).unwrap_or_default();
        let may = if name == "read_file" { policy.resolve(&path).is_ok() } else { policy.may_write(&path).is_ok() };
        if may {
            return Err(ToolError::new(format!("{name} may do that without being asked; call it itself")));
        }
        let (real, lent) = policy.lent(&path).map_err(files::told)?;
        settings.policy = Arc::new(lent);
        // First, so that no text before it can push it out of sight.
        args.shift_insert(0, "path".to_owned(), Value::from(real.to_string_lossy()));
        Ok(Wider { settings, args })
    }
}

/// How the arguments of a tool that can be called so are read.
fn signature(name: &str) -> Option<&'static Signature> {
    Some(match name {
        "edit_file" => &*edit_file::SIGNATURE,
        "read_file" => &*read_file::SIGNATURE,
        "shell" => &*shell::SIGNATURE,
        "write_file" => &*write_file::SIGNATURE,
        _ => return None,
    })
}

impl Tool for Escalate {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn writes(&self, args: &RawArgs) -> Option<PathBuf> {
        let args = SIGNATURE.read::<Args>(args).ok()?.args;
        let name = our_name(&args.tool);
        let tool = super::make(&name, &self.settings, &self.log).filter(|_| signature(&name).is_some())?;
        tool.writes(&RawArgs(Value::Object(args.args).to_string()))
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            Ok(self.escalate(read.args, cx).await?.noting(&read.repairs))
        }
        .boxed()
    }
}
