//! A whole program: a tool of its own, a conversation on the disk that goes on in a second run, two prompts at a time, and
//! what all of it took. A scripted model answers, so that it runs offline. `cargo run --example advanced`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tillerman::config::{self, Flags};
use tillerman::message::Usage;
use tillerman::model::scripted::{Scripted, Step};
use tillerman::runtime::{Open, Runtime};
use tillerman::tool::{FnTool, Tool, ToolError};
use tillerman::workspace::Workspace;

#[derive(Deserialize, JsonSchema)]
struct Port {
    /// Its name.
    name: String,
}

fn tide() -> Arc<dyn Tool> {
    Arc::new(FnTool::new("tide", "Tells when the tide is high in a port.", true, |port: Port, _cx| async move {
        Ok::<_, ToolError>(format!("{}: 06:14 and 18:40", port.name))
    }))
}

/// Starts in the folder, with a model that says this.
async fn start(root: &Path, steps: Vec<Step>) -> anyhow::Result<Runtime> {
    let used = Usage { input: 900, output: 20, ..Usage::default() };
    let model = Scripted::replies(steps.into_iter().map(|step| step.with_usage(used)));
    let workspace = Workspace::open(root, &root.join(".home"))?;
    let config = config::load(workspace, &Flags::default(), &|_| None)?.with_model(Arc::new(model));
    Ok(Runtime::start_with(config, vec![tide()]).await?)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let steps = vec![Step::calls("tide", json!({"name": "Husum"})), Step::says("At 18:40."), Step::says("Gladly.")];
    let runtime = start(folder.path(), steps).await?;
    let session = runtime.open(Open::New).await?;
    let (tide, thanks) =
        tokio::join!(runtime.prompt(&session, "When can we leave Husum tonight?"), runtime.prompt(&session, "Thanks."));
    println!("{}\n{}", tide?.text(), thanks?.text());
    runtime.shutdown().await;

    let runtime = start(folder.path(), vec![Step::says("Husum, at 18:40.")]).await?;
    let session = runtime.open(Open::Latest).await?;
    println!("{}", runtime.prompt(&session, "Where were we?").await?.text());
    let total = runtime.status(&session).await?.bill.total();
    println!("{} calls of the model and {} tokens, in both runs", total.calls, total.usage.total_tokens());
    runtime.shutdown().await;
    Ok(())
}
