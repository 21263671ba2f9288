//! The frame of tools that only look at files: arguments in, work on a thread of its own, what was mended told.

use std::sync::{Arc, LazyLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::{ToolSettings, files};
use crate::message::RawArgs;
use crate::tool::{OutputPolicy, Signature, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::workspace::policy::PathPolicy;

/// What a call has beside its arguments.
pub(super) struct Sight<'a> {
    pub(super) policy: &'a PathPolicy,
    pub(super) output: OutputPolicy,
    pub(super) cx: &'a ToolContext,
    /// Fires when nobody waits for the answer any more.
    pub(super) stop: &'a CancellationToken,
}

/// The work of a call; it may block.
type Look<A> = fn(&A, &Sight<'_>) -> Result<ToolOutput, ToolError>;

struct Looking<A> {
    signature: &'static LazyLock<Signature>,
    policy: Arc<PathPolicy>,
    output: OutputPolicy,
    look: Look<A>,
}

/// A tool of this signature, whose calls do this.
pub(super) fn looking<A: DeserializeOwned + Send + 'static>(
    signature: &'static LazyLock<Signature>,
    settings: &ToolSettings,
    look: Look<A>,
) -> Arc<dyn Tool> {
    Arc::new(Looking { signature, policy: Arc::clone(&settings.policy), output: settings.output, look })
}

impl<A: DeserializeOwned + Send + 'static> Tool for Looking<A> {
    fn spec(&self) -> &ToolSpec {
        self.signature.spec()
    }

    fn call<'a>(&'a self, args: RawArgs, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let read = self.signature.read::<A>(&args)?;
            let (policy, output, look, own) = (Arc::clone(&self.policy), self.output, self.look, cx.clone());
            let seen = files::aside(cx, move |stop| {
                look(&read.args, &Sight { policy: &policy, output, cx: &own, stop })
                    .map(|seen| seen.noting(&read.repairs))
            });
            seen.await
        }
        .boxed()
    }
}
