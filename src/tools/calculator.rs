//! The tool `calculator`: an expression and its value. No program is run for it.

use std::sync::LazyLock;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::message::RawArgs;
use crate::tool::{Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};

mod function;
mod number;
mod parse;

/// What other runtimes call our fields.
const NAMES: &[(&str, &str)] = &[("expr", "expression"), ("input", "expression"), ("formula", "expression")];

/// The same for all agents: compiled once, whoever uses it.
static SIGNATURE: LazyLock<Signature> =
    LazyLock::new(|| Signature::of::<Args>("calculator", include_str!("calculator.md"), true).understanding(NAMES));

#[derive(Deserialize, JsonSchema)]
struct Args {
    expression: String,
}

/// Calculates.
pub(super) struct Calculator;

impl Tool for Calculator {
    fn spec(&self) -> &ToolSpec {
        SIGNATURE.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, _cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = SIGNATURE.read::<Args>(&args)?;
            let value = parse::evaluate(&read.args.expression).map_err(ToolError::new)?;
            let rounded = if value.exact { "" } else { " (rounded: beyond 38 digits)" };
            let details = json!({ "value": value.number.to_string(), "exact": value.exact });
            Ok(ToolOutput::new(format!("{}{rounded}", value.number), details).noting(&read.repairs))
        }
        .boxed()
    }
}
