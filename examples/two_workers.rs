//! Two workers in the background, one of them steered, on the built-in pilot: no key, no network.
//! `cargo run --example two_workers`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::process::ExitCode;

use tillerman::config::{self, Flags};
use tillerman::runtime::{News, Open, Runtime};
#[cfg(target_os = "linux")]
use tillerman::sandbox::warden;
use tillerman::task::Brief;
use tillerman::workspace::Workspace;

fn main() -> anyhow::Result<ExitCode> {
    // Walls around commands are built by this same program, which is started for that before there is a second thread.
    #[cfg(target_os = "linux")]
    if warden::is_wanted(std::env::args_os()) {
        return Ok(warden::serve());
    }
    work().map(|()| ExitCode::SUCCESS)
}

#[tokio::main]
async fn work() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let workspace = Workspace::open(folder.path(), &folder.path().join(".home"))?;
    let flags = Flags { model: Some("pilot/pilot".into()), trust: true, ..Flags::default() };
    let runtime = Runtime::start(config::load(workspace, &flags, &|_| None)?).await?;
    let session = runtime.open(Open::Ephemeral).await?;
    let mut feed = runtime.feed();

    let brief = |title: &str, body: &str| Brief { title: title.into(), body: body.into(), ..Brief::default() };
    let first = runtime.dispatch(&session, brief("greet", "```sh\nsleep 0.3\n```\n```sh\necho hello\n```")).await?;
    let second = runtime.dispatch(&session, brief("count", "```sh\nseq 3 | wc -l\n```")).await?;
    println!("dispatched {first} and {second}, and went on at once");
    let note = runtime.steer(first, "also run echo goodbye".into()).await?;
    println!("{first} was sent note {note}");

    let mut running = 2;
    while running > 0 {
        if let News::TaskEnded(report) = feed.recv().await?.news {
            running -= 1;
            println!("\n{} {}: {}\n{}", report.id, report.title, report.status, report.answer);
        }
    }
    runtime.shutdown().await;
    Ok(())
}
