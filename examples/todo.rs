//! A list of what is to do, kept in a file that people may edit, on the built-in pilot: no key, no network.
//! `cargo run --example todo`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use tillerman::config::{self, Flags};
use tillerman::runtime::{Open, Runtime};
use tillerman::workspace::Workspace;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("config.md"), "---\ntools: [default, todo]\n---\n")?;
    let workspace = Workspace::open(folder.path(), &folder.path().join(".home"))?;
    let flags = Flags { model: Some("pilot/pilot".into()), trust: true, ..Flags::default() };
    let runtime = Runtime::start(config::load(workspace, &flags, &|_| None)?).await?;
    let session = runtime.open(Open::Ephemeral).await?;

    for line in ["todo add mend the sail", "todo add buy rope", "todo done 1", "todo"] {
        let answered = runtime.prompt(&session, line).await?;
        println!("> {line}\n{}\n", answered.text());
    }
    runtime.shutdown().await;
    Ok(())
}
