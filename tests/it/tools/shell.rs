//! The tool `shell`.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::Bench;
use crate::patience::StoppedClock;

#[tokio::test]
async fn s0_36_a_failed_command_is_a_result_that_ends_with_its_code() {
    let bench = Bench::new();
    let output = bench.call("shell", json!({ "command": "echo out; echo err >&2; exit 3" })).await.unwrap();
    assert_eq!(output.text, "out\nerr\nexit code 3");
    assert_eq!((&output.details["exit_code"], &output.details["timed_out"]), (&json!(3), &json!(false)));
}

#[tokio::test]
async fn s2_34_a_command_runs_in_the_workspace_and_a_silent_one_says_so() {
    let bench = Bench::new();
    bench.put("here.txt", "");
    assert_eq!(bench.text("shell", json!({ "command": "ls" })).await, "here.txt\n");
    assert_eq!(bench.text("shell", json!({ "command": "true" })).await, "(no output)");
    assert_eq!(bench.text("bash", json!({ "cmd": "printf hi" })).await, "hi");
    assert_eq!(*bench.shown.lock().unwrap(), "here.txt\nhi");
}

#[tokio::test]
async fn s0_37_only_the_end_of_long_output_is_shown_and_all_of_it_kept() {
    let bench = Bench::new();
    let output = bench.call("shell", json!({ "command": "seq 1 5000" })).await.unwrap();
    let file = bench.cx.artifacts.join("call_1.txt");
    let (note, rest) = output.text.split_once('\n').unwrap();
    let all: Vec<String> = (1..=5000).map(|n| n.to_string()).collect();
    assert_eq!(note, format!("[the first 3000 lines, 13.6 KB are cut; the whole output is in {}]", file.display()));
    assert_eq!(rest, all[3000..].join("\n") + "\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), all.join("\n") + "\n");
    assert_eq!(output.details["file"], json!(file));
}

#[tokio::test]
async fn p14_a_line_of_a_hundred_megabytes_is_cut_inside_and_its_beginning_is_kept() {
    let bench = Bench::new();
    let output = bench.call("shell", json!({ "command": "head -c 100000000 /dev/zero | tr '\\0' x" })).await.unwrap();
    let [limit, note, rest] = output.text.splitn(3, '\n').collect::<Vec<_>>().try_into().unwrap();
    let file = bench.cx.artifacts.join("call_1.txt");
    let kept = fs::read(&file).unwrap();
    assert_eq!(limit, "[the file has only the first 16.0 MB]");
    assert_eq!(note, format!("[the first 95.3 MB are cut; the whole output is in {}]", file.display()));
    assert_eq!((rest.len(), kept.len()), (50 * 1024, 16 * 1024 * 1024));
    assert!(rest.bytes().chain(kept).all(|byte| byte == b'x'));
}

#[tokio::test(start_paused = true)]
async fn s0_35_a_time_limit_stops_a_command_and_is_told_as_a_result() {
    let (bench, clock) = (Bench::new(), StoppedClock::new());
    let call = bench.call("shell", json!({ "command": "echo begun; sleep 300", "timeout": "1" }));
    let (output, ()) = tokio::join!(call, async {
        bench.until_shown().await;
        clock.pass(Duration::from_secs(1)).await;
    });
    let output = output.unwrap();
    assert_eq!(output.text, "begun\ntimed out after 1 s; the command was stopped");
    assert_eq!(output.details["repairs"], json!(["timeout: a number inside a string was read as a number"]));
}

#[tokio::test]
async fn an_abort_ends_the_command_at_once() {
    let bench = Bench::new();
    let (output, ()) = tokio::join!(bench.call("shell", json!({ "command": "echo a; sleep 300" })), async {
        bench.until_shown().await;
        bench.cx.cancel.cancel();
    });
    assert_eq!(output.unwrap().text, "a\naborted; the command was stopped");
}

#[tokio::test]
async fn what_ran_on_in_the_background_is_told() {
    let bench = Bench::new();
    let text = bench.text("shell", json!({ "command": "sleep 300 >/dev/null & echo started" })).await;
    assert_eq!(text, "started\n1 background process was left and stopped");
}

#[tokio::test]
async fn an_empty_command_is_refused() {
    let error = Bench::new().error("shell", json!({ "command": " " })).await;
    assert_eq!(error, "command is empty; say what to run");
}
