//! The file tools within their folder: written, changed, read, and a way out refused. A scripted model calls them through
//! the real runtime, so that it runs offline. `cargo run --example files`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use serde_json::json;
use tillerman::config::{self, Flags};
use tillerman::model::scripted::{Scripted, Step};
use tillerman::runtime::{Open, Runtime};
use tillerman::workspace::Workspace;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("boat");
    std::fs::create_dir(&root)?;
    let model = Scripted::replies([
        Step::calls("write_file", json!({"path": "log/monday.md", "content": "Wind: east\nSail: torn\n"})),
        Step::calls(
            "edit_file",
            json!({"path": "log/monday.md", "edits": [{"old_text": "torn", "new_text": "mended"}]}),
        ),
        Step::calls("read_file", json!({"path": "log/monday.md"}))
            .and_calls("write_file", json!({"path": "../elsewhere.md", "content": "?"})),
        Step::says("The log is kept; what lies outside of the folder is not mine to write."),
    ]);
    let workspace = Workspace::open(&root, &folder.path().join("home"))?;
    let config = config::load(workspace, &Flags::default(), &|_| None)?.with_model(Arc::new(model));
    let runtime = Runtime::start(config).await?;
    let session = runtime.open(Open::Ephemeral).await?;

    let answered = runtime.prompt(&session, "Keep the log.").await?;
    for message in runtime.transcript(&session).await? {
        message.calls().for_each(|call| println!("{} {}", call.name, call.args.0));
        message.results().for_each(|result| println!("  {}", result.output.trim_end().replace('\n', "\n  ")));
    }
    println!("\n{}", answered.text());
    println!("\nlog/monday.md:\n{}", std::fs::read_to_string(root.join("log/monday.md"))?);
    runtime.shutdown().await;
    Ok(())
}
