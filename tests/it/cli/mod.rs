//! The commands: what they print, what they end with.

mod args;
mod compaction;
mod dialect;
mod doctor;
mod ends;
mod ephemeral;
mod help;
mod image;
mod json;
mod man;
mod memory;
mod models;
mod notes;
mod orders;
mod plain;
mod replay;
mod rpc;
mod run;
mod schema;
mod sessions;
mod settings;
mod tail;
mod tasks;
mod tools;

use std::path::Path;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use crate::patience::PATIENCE;

/// A workspace and a home that nobody else uses.
pub struct Place {
    pub workspace: TempDir,
    pub home: TempDir,
}

/// What a command left.
#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Place {
        Place { workspace: tempfile::tempdir().unwrap(), home: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.workspace.path()
    }

    /// The program in the workspace, without keys and with a home of its own.
    pub fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tillerman"));
        command.args(args).current_dir(self.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home.path()).env("TILLERMAN_HOME", self.home.path()).env("TERM", "dumb");
        command.env("TILLERMAN_OFFLINE", "1");
        command
    }

    pub fn tillerman(&self, args: &[&str]) -> Done {
        self.tillerman_with(args, &[], "")
    }

    pub fn tillerman_with(&self, args: &[&str], env: &[(&str, &str)], stdin: &str) -> Done {
        let mut command = self.command(args);
        command.envs(env.iter().copied());
        let output = Command::from_std(command).write_stdin(stdin).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Done { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Done {
    /// Stdout as JSON lines: numbered, versioned, the last one the end.
    pub fn lines(&self) -> Vec<Value> {
        let lines: Vec<Value> = self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (at, line) in lines.iter().enumerate() {
            assert_eq!((&line["v"], &line["seq"]), (&1.into(), &(at + 1).into()), "{line}");
        }
        let end = lines.last().expect("no line at all");
        assert_eq!(end["type"], "session.end", "{end}");
        assert_eq!(end["exit_code"].as_i64(), self.code.map(i64::from));
        lines
    }
}

/// The types of the lines of one agent, in order.
pub fn types(lines: &[Value], agent: &str) -> Vec<String> {
    let of = |line: &&Value| line["agent"] == agent;
    lines.iter().filter(of).map(|line| line["type"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Polls until something is true, or fails.
pub fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_true() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Whether the process has not ended.
pub fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}
