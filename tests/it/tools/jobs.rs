//! The tool `jobs`, and commands that go to the background at their deadline.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::Bench;
use crate::patience::{PATIENCE, StoppedClock};

/// Waits until the file has a process number in it, and answers that.
pub async fn pid(file: &Path) -> i32 {
    let read = async {
        loop {
            match fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok()) {
                Some(pid) => return pid,
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, read).await.unwrap()
}

pub async fn until_dead(pid: i32) {
    let dead = async {
        while fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, dead).await.unwrap();
}

/// Without the seconds that it took.
fn timeless(text: &str) -> String {
    regex::Regex::new(r"\b\d+ s\b").unwrap().replace_all(text, "N s").into_owned()
}

#[tokio::test]
async fn s1_23_p07_a_job_is_started_listed_read_and_killed() {
    let bench = Bench::new();
    let call = |args| bench.text("jobs", args);
    assert_eq!(call(json!({})).await, "no jobs");
    let command = "echo $$ > pid; echo begun; sleep 300; echo never";
    assert_eq!(call(json!({ "action": "start", "command": command })).await, "started as job 1");
    let process = pid(&bench.path("pid")).await;
    assert_eq!(timeless(&call(json!({ "id": 1 })).await), format!("begun\n[job 1 runs since N s: {command}]"));
    // It outlives the turn: another call, another context, other tools of the run.
    assert_eq!(bench.text("shell", json!({ "command": "echo between" })).await, "between\n");
    assert_eq!(timeless(&call(json!({ "action": "list" })).await), format!("job 1 runs since N s: {command}"));
    let killed = call(json!({ "action": "kill", "id": 1 })).await;
    assert_eq!(timeless(&killed), format!("job 1 has ended after N s, stopped: {command}"));
    until_dead(process).await;
    assert_eq!(bench.error("jobs", json!({ "action": "kill", "id": 7 })).await, "there is no job 7; there are 1");
    assert_eq!(
        bench.error("jobs", json!({ "action": "output" })).await,
        "id is missing; say which job, list shows them"
    );
    assert_eq!(bench.error("jobs", json!({ "action": "start" })).await, "command is empty; say what to start");
}

#[tokio::test]
async fn the_end_of_a_job_is_waited_for_and_told_once() {
    let bench = Bench::new();
    let go = "until [ -e go ]; do sleep 0.01; done; seq 3; exit 4";
    bench.text("jobs", json!({ "command": go })).await;
    bench.text("jobs", json!({ "command": go })).await;
    bench.put("go", "");
    let text = bench.text("bash_output", json!({ "bash_id": 1, "wait": 60 })).await;
    assert_eq!(timeless(&text), format!("1\n2\n3\n[job 1 has ended after N s, exit code 4: {go}]"));
    bench.text("jobs", json!({ "id": 2, "wait": 60 })).await;
    bench.text("jobs", json!({ "command": "sleep 0.3; exit 5" })).await;
    let told = async {
        loop {
            let text = bench.text("shell", json!({ "command": "true" })).await;
            if text != "(no output)" {
                return text;
            }
        }
    };
    assert_eq!(tokio::time::timeout(PATIENCE, told).await.unwrap(), "(no output)\n[job 3 has ended: exit code 5]");
    assert_eq!(bench.text("shell", json!({ "command": "true" })).await, "(no output)");
}

#[tokio::test]
async fn there_are_eight_jobs_at_once_and_they_end_with_their_owner() {
    let bench = Bench::new();
    for n in 0..8 {
        bench.text("jobs", json!({ "command": format!("echo $$ > pid{n}; sleep 300") })).await;
    }
    let error = bench.error("jobs", json!({ "command": "echo $$ > one; sleep 300" })).await;
    assert_eq!(error, "8 jobs run already; kill one or wait for its end");
    let mut pids = vec![];
    for n in 0..8 {
        pids.push(pid(&bench.path(&format!("pid{n}"))).await);
    }
    // The folder outlives the tools, which own the jobs.
    let Bench { tools, dir, .. } = bench;
    drop(tools);
    for pid in pids {
        until_dead(pid).await;
    }
    drop(dir);
}

#[tokio::test(start_paused = true)]
async fn p17_at_its_deadline_a_command_goes_on_as_a_job() {
    let (bench, clock) = (leaving(), StoppedClock::new());
    let command = "echo begun; until [ -e go ]; do sleep 0.01; done; echo done";
    let call = bench.call("shell", json!({ "command": command, "timeout": 1 }));
    let (output, ()) = tokio::join!(call, async {
        bench.until_shown().await;
        clock.pass(Duration::from_secs(1)).await;
    });
    let output = output.unwrap();
    assert_eq!(output.text, "begun\nstill running after 1 s; it goes on in the background as job 1");
    assert_eq!((&output.details["job"], &output.details["timed_out"]), (&json!(1), &json!(false)));
    bench.put("go", "");
    let text = bench.text("jobs", json!({ "id": 1, "wait": 600 })).await;
    assert_eq!(timeless(&text), format!("begun\ndone\n[job 1 has ended after N s, exit code 0: {command}]"));
}

#[tokio::test]
async fn a_command_that_could_go_on_and_ends_is_told_as_always() {
    let (usual, leaving) = (Bench::new(), leaving());
    let commands = [
        "true",
        "printf hi",
        "echo a; exit 3",
        "seq 1 5000",
        "seq 1 60000",
        "kill -9 $$",
        "sleep 300 >/dev/null & echo x",
    ];
    for command in commands {
        let args = || json!({ "command": command });
        let [one, other] = [usual.text("shell", args()).await, leaving.text("shell", args()).await];
        let plain = |text: String, bench: &Bench| text.replace(&bench.cx.artifacts.display().to_string(), "…");
        assert_eq!(plain(one, &usual), plain(other, &leaving), "{command}");
    }
    let leaving = self::leaving();
    let (output, ()) = tokio::join!(leaving.call("shell", json!({ "command": "echo a; sleep 300" })), async {
        leaving.until_shown().await;
        leaving.cx.cancel.cancel();
    });
    assert_eq!(output.unwrap().text, "a\naborted; the command was stopped");
    assert_eq!(leaving.text("jobs", json!({})).await, "no jobs");
}

fn leaving() -> Bench {
    Bench::with(|mut settings| {
        settings.shell.leave = true;
        settings
    })
}
