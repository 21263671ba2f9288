//! The tool `python`: one interpreter from the first call of a run to its end.

use std::fs;
use std::time::Duration;

use serde_json::json;
use tillerman::sandbox::Environment;
use tillerman::tool::{Keep, OutputPolicy};

use super::Bench;
use crate::patience::PATIENCE;

#[tokio::test]
async fn s2_37_an_interpreter_keeps_its_variables_and_shows_the_last_value() {
    let bench = Bench::new();
    let code = |code: &str| json!({ "code": code });
    assert_eq!(bench.text("python", code("import math\nx = 20\ndef f(n): return n + 1")).await, "(no output)");
    assert_eq!(bench.text("python_repl", json!({ "script": "print('é', x)\nf(x) + 1" })).await, "é 20\n22\n");
    let output = bench.call("python", code("y = 1\n1 / (y - 1)")).await.unwrap();
    let expected = "Traceback (most recent call last):\n  File \"<call 3>\", line 2, in <module>\n";
    assert!(output.text.starts_with(expected), "{}", output.text);
    assert!(output.text.ends_with("ZeroDivisionError: division by zero\n"), "{}", output.text);
    assert_eq!(output.details["exit_code"], json!(1));
    assert!(bench.text("python", code("x +")).await.contains("SyntaxError"));
    assert!(bench.text("python", code("exit(3)")).await.ends_with("SystemExit: 3\n"));
    // Whoever it starts writes into the same stream, and has no input either.
    let child = "import subprocess, sys\nsubprocess.run(['sh', '-c', 'echo out; echo err >&2; cat'])\nsys.stdin.read()";
    assert_eq!(bench.text("python", code(child)).await, "out\nerr\n''\n");
    assert_eq!(bench.text("python", code("_, x, y, math.floor(2.5)")).await, "('', 20, 1, 2)\n");
    assert!(bench.shown.lock().unwrap().contains("é 20"));
}

#[tokio::test]
async fn p13_what_code_writes_is_cut_like_the_output_of_commands_and_kept_whole() {
    let bench = Bench::with(|mut settings| {
        settings.shell.output = OutputPolicy { keep: Keep::Tail, lines: 2, bytes: 100 };
        settings
    });
    let code = "import os\nos.write(1, b'a\\0\\xff\\n')\nfor n in range(3): print(n)";
    let text = bench.text("python", json!({ "code": code })).await;
    let file = bench.cx.artifacts.join("call_1.txt");
    assert_eq!(
        text,
        format!("[the first 2 lines, 8 bytes are cut; the whole output is in {}]\n1\n2\n", file.display())
    );
    assert_eq!(fs::read_to_string(file).unwrap(), "a\0\u{fffd}\n0\n1\n2\n");
    let much = bench.call("python", json!({ "code": "print('x' * 20_000_000)" })).await.unwrap();
    assert_eq!(much.details["bytes"], json!(20_000_001));
    assert!(much.text.len() < 400, "{} bytes", much.text.len());
}

/// The processes of an interpreter, by the environment that it was given.
fn alive(name: &str) -> bool {
    let is = |entry: fs::DirEntry| {
        let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
        let is_dead =
            String::from_utf8_lossy(&read("stat")).rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z"));
        !is_dead && read("environ").windows(name.len()).any(|part| part == name.as_bytes())
    };
    fs::read_dir("/proc").unwrap().flatten().any(is)
}

async fn until_gone(name: &str) {
    let gone = async {
        while alive(name) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
}

fn named(name: &str) -> Bench {
    Bench::with(|mut settings| {
        settings.shell.environment = Environment::inherited().with("KEEPS_TEST", name);
        settings
    })
}

#[tokio::test]
async fn an_interpreter_ends_with_its_run() {
    let bench = named("ends-with-its-run-8f1c");
    bench.text("python", json!({ "code": "import subprocess\nsubprocess.Popen(['sleep', '300'])\nNone" })).await;
    assert!(alive("ends-with-its-run-8f1c"));
    drop(bench);
    until_gone("ends-with-its-run-8f1c").await;
}

#[tokio::test]
async fn p17_a_deadline_ends_the_interpreter_and_the_next_call_says_so() {
    let bench = named("deadline-b27d");
    bench.text("python", json!({ "code": "x = 1" })).await;
    let slow = json!({ "code": "print('begun')\nimport time\ntime.sleep(300)", "timeout": 1 });
    let output = bench.call("python", slow).await.unwrap();
    let gone = "its variables are gone, the next call starts a new one";
    assert_eq!(output.text, format!("begun\ntimed out after 1 s; {gone}"));
    assert_eq!(output.details["timed_out"], json!(true));
    until_gone("deadline-b27d").await;
    let text = bench.text("python", json!({ "code": "'x' in dir()" })).await;
    assert_eq!(text, "[a new interpreter: earlier variables are gone]\nFalse\n");
    let text = bench.text("python", json!({ "code": "import os\nprint(1)\nos._exit(3)" })).await;
    assert_eq!(text, "1\nthe interpreter ended (exit code 3); its variables are gone, the next call starts a new one");
}

#[tokio::test]
async fn an_abort_or_a_dropped_call_ends_the_interpreter() {
    let bench = named("abort-41aa");
    let code = json!({ "code": "print('begun')\nimport time\ntime.sleep(300)" });
    let (output, ()) = tokio::join!(bench.call("python", code.clone()), async {
        bench.until_shown().await;
        bench.cx.cancel.cancel();
    });
    assert_eq!(output.unwrap().text, "begun\naborted; its variables are gone, the next call starts a new one");
    until_gone("abort-41aa").await;
    let bench = named("dropped-77e2");
    tokio::select! {
        _ = bench.call("python", code) => panic!("it sleeps"),
        () = bench.until_shown() => {}
    }
    until_gone("dropped-77e2").await;
}

#[tokio::test]
async fn where_there_is_no_python_it_says_so() {
    let bench = Bench::with(|mut settings| {
        settings.shell.environment = Environment::inherited().with("PATH", "/nowhere");
        settings
    });
    let error = bench.error("python", json!({ "code": "1" })).await;
    assert!(error.starts_with("there is no python3 to run: exit code 127"), "{error}");
    assert_eq!(bench.error("python", json!({ "code": " " })).await, "code is empty; say what to run");
}
