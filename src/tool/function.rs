//! A tool made of an async function: for library users and for tools too small for a type of their own.

use std::future::Future;
use std::marker::PhantomData;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::args::Signature;
use super::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::message::RawArgs;

/// A [`Tool`] that is an async function from typed arguments to a text.
///
/// ```
/// use tillerman::tool::{FnTool, ToolError};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Args {
///     /// Whom to greet.
///     name: String,
/// }
///
/// let greet = FnTool::new("greet", "Greets somebody.", true, |args: Args, _cx| async move {
///     match args.name.is_empty() {
///         true => Err(ToolError::new("name is empty; say whom to greet")),
///         false => Ok(format!("Hello, {}!", args.name)),
///     }
/// });
/// # use tillerman::tool::Tool;
/// assert_eq!(greet.spec().name, "greet");
/// ```
pub struct FnTool<A, F> {
    signature: Signature,
    function: F,
    args: PhantomData<fn(A)>,
}

impl<A: JsonSchema, F> FnTool<A, F> {
    /// A tool with the name, the text for the model, and whether it leaves everything as it is.
    ///
    /// The function gets checked arguments and a context of its own; it answers a text, or a [`ToolOutput`] with
    /// details, or a sentence that the model can act on.
    pub fn new<Fut, Out>(name: &str, description: &str, read_only: bool, function: F) -> FnTool<A, F>
    where
        F: Fn(A, ToolContext) -> Fut,
        Fut: Future<Output = Result<Out, ToolError>>,
        Out: Into<ToolOutput>,
    {
        FnTool { signature: Signature::of::<A>(name, description, read_only), function, args: PhantomData }
    }
}

impl<A, F, Fut, Out> Tool for FnTool<A, F>
where
    A: DeserializeOwned + Send,
    F: Fn(A, ToolContext) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Out, ToolError>> + Send,
    Out: Into<ToolOutput>,
{
    fn spec(&self) -> &ToolSpec {
        self.signature.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = self.signature.read::<A>(&args)?;
            let output = (self.function)(read.args, cx.clone()).await?;
            Ok(output.into().noting(&read.repairs))
        }
        .boxed()
    }
}
