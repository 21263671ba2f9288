//! What is ended while a command of many processes runs: how soon nothing of it is left.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tillerman::config::Flags;
use tillerman::task::Brief;

use crate::crew::runtime;
use crate::server::{Answer, Asked, Server, call, text};
use crate::table::{at, median, ms, row};

const BINARY: &str = env!("CARGO_BIN_EXE_tillerman");

/// Processes that a command starts: one stays, one leaves the session, one ignores what asks it to end.
const PROCESSES: usize = 3;

/// After so long nobody is waited for any more; they sleep for longer.
const SURVIVED: Duration = Duration::from_secs(10);

pub(crate) fn measure() {
    tokio::runtime::Runtime::new().expect("a runtime starts").block_on(aborts());
    signals();
}

/// Sleepers of this round, known by a number that nobody else sleeps for.
struct Sleepers(String);

impl Sleepers {
    fn new(round: usize) -> Sleepers {
        Sleepers(format!("300.{round:03}{}", std::process::id()))
    }

    fn command(&self) -> String {
        let nap = &self.0;
        format!("sleep {nap} & setsid sleep {nap} & sh -c 'trap \"\" TERM INT; sleep {nap}; true'")
    }

    fn alive(&self) -> usize {
        let line = format!("sleep\0{}\0", self.0);
        let entries = std::fs::read_dir("/proc").expect("/proc can be listed").flatten();
        entries
            .filter(|entry| std::fs::read(entry.path().join("cmdline")).is_ok_and(|it| it == line.as_bytes()))
            .count()
    }

    fn all_up(&self) {
        wait(|| self.alive() == PROCESSES);
    }

    /// Until none is left; answers how many survived.
    fn all_gone(&self) -> usize {
        wait(|| self.alive() == 0);
        self.alive()
    }
}

fn wait(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() && began.elapsed() < SURVIVED {
        std::thread::park_timeout(Duration::from_micros(200));
    }
}

/// The abort of a worker: until nothing of its command is left.
async fn aborts() {
    let folder = TempDir::new().expect("the temporary folder is writable");
    let server = Server::start(answer);
    let flags = Flags {
        model: Some("anthropic/bench".into()),
        base_url: Some(server.url.clone()),
        trust: true,
        ..Flags::default()
    };
    let (runtime, session) = runtime(flags, None, folder.path()).await;
    let (mut took, mut survivors) = (Vec::new(), 0);
    for round in 0..100 {
        let sleepers = Sleepers::new(round);
        let brief = Brief { title: "sleep".into(), body: sleepers.command(), ..Brief::default() };
        let task = runtime.dispatch(&session, brief).await.expect("the crew has room");
        tokio::task::block_in_place(|| sleepers.all_up());
        let started = Instant::now();
        runtime.abort(task).await.expect("a running worker can be aborted");
        survivors += tokio::task::block_in_place(|| sleepers.all_gone());
        took.push(started.elapsed());
        runtime.idle().await;
    }
    runtime.shutdown().await;
    row("abort → process tree gone, p50", "", ms(median(took.iter().copied())));
    let words = format!("{}, {survivors} survivors", ms(at(took.into_iter(), 0.99)));
    row("abort → process tree gone, p99", "< 250 ms, 0 survivors", words);
}

/// The brief of a worker is the command that it runs; the main agent only listens.
fn answer(asked: &Asked) -> Answer {
    let body: Value = serde_json::from_str(&asked.body).expect("a request is JSON");
    let content = &body["messages"][0]["content"];
    let first = content.as_str().or(content[0]["text"].as_str()).unwrap_or_default();
    match first.split_once("\n\n").filter(|(head, _)| head.starts_with("Task t_")) {
        Some((_, command)) => Answer::Says(vec![call("toolu_1", "shell", json!({"command": command}))]),
        None => Answer::Says(vec![text("noted")]),
    }
}

/// A signal to `tillerman run`: until it has exited and nothing of its command is left.
fn signals() {
    let (mut took, mut survivors) = (Vec::new(), 0);
    for round in 100..120 {
        let (sleepers, folder) = (Sleepers::new(round), TempDir::new().expect("the temporary folder is writable"));
        let command = sleepers.command();
        let server =
            Server::start(move |_| Answer::Says(vec![call("toolu_1", "shell", json!({"command": command.clone()}))]));
        let mut child = run(&server, folder.path()).spawn().expect("the binary starts");
        sleepers.all_up();
        let signal = if round % 2 == 0 { Signal::INT } else { Signal::TERM };
        let started = Instant::now();
        kill_process(Pid::from_child(&child), signal).expect("a child that is not waited for can be signalled");
        child.wait().expect("a child can be waited for");
        survivors += sleepers.all_gone();
        took.push(started.elapsed());
    }
    let words = format!("{}, {survivors} survivors", ms(at(took.into_iter(), 0.99)));
    row("INT or TERM while a command runs → all gone, worst of 20", "< 1 s, 0 survivors", words);
}

fn run(server: &Server, folder: &Path) -> Command {
    let mut command = Command::new(BINARY);
    command.args(["run", "--trust", "-m", "anthropic/bench", "--base-url", &server.url, "go"]).current_dir(folder);
    command.env_clear().envs(std::env::var("PATH").map(|path| ("PATH", path)));
    command.env("HOME", folder).env("TILLERMAN_HOME", folder.join(".state")).env("ANTHROPIC_API_KEY", "bench");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
