//! `tillerman rpc`: another program gives orders to the real binary over pipes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Place, wait_until};
use crate::patience::PATIENCE;
use crate::server::{Response, Server, says};

/// The program, and all that it has said.
struct Rpc {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    seen: Vec<Value>,
    orders: u64,
    _place: Place,
}

impl Rpc {
    fn start(args: &[&str]) -> Rpc {
        Rpc::at(Place::new(), args, &[])
    }

    fn at(place: Place, args: &[&str], env: &[(&str, &str)]) -> Rpc {
        let mut command = place.command(&[&["rpc"], args].concat());
        command.envs(env.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines() {
                let line = serde_json::from_str(&line.unwrap()).expect("a line that is not JSON");
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Rpc { stdin: child.stdin.take(), child, lines, seen: vec![], orders: 0, _place: place }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn send(&mut self, order: &Value) {
        self.write(format!("{order}\n").as_bytes());
    }

    /// The first line of all for which this is true.
    fn until(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        if let Some(line) = self.seen.iter().find(|line| is(line)) {
            return line.clone();
        }
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no {what} in {:#?}", self.seen));
            self.seen.push(line.clone());
            if is(&line) {
                return line;
            }
        }
    }

    fn event(&mut self, agent: &str, kind: &str) -> Value {
        self.until(&format!("{kind} of {agent}"), |line| line["agent"] == agent && line["type"] == kind)
    }

    /// Gives an order and waits for what came of it.
    fn order(&mut self, mut order: Value) -> Value {
        self.orders += 1;
        let id = format!("o{}", self.orders);
        order["id"] = id.as_str().into();
        self.send(&order);
        let answer = self.until("answer", |line| line["type"] == "response" && line["id"] == id.as_str());
        assert_eq!(answer["command"], order["type"]);
        answer
    }

    fn data(&mut self, order: Value) -> Value {
        let answer = self.order(order);
        assert_eq!(answer["success"], true, "{answer}");
        answer["data"].clone()
    }

    /// Ends stdin; everything that was said, and the exit code.
    fn end(mut self) -> (Vec<Value>, Option<i32>) {
        drop(self.stdin.take());
        self.rest()
    }

    fn rest(mut self) -> (Vec<Value>, Option<i32>) {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.seen.push(line);
        }
        let code = self.child.wait().unwrap().code();
        for (at, line) in self.seen.iter().enumerate() {
            assert_eq!((&line["v"], &line["seq"]), (&1.into(), &(at + 1).into()), "{line}");
        }
        let end = self.seen.last().unwrap();
        assert_eq!((&end["type"], end["exit_code"].as_i64()), (&json!("session.end"), code.map(i64::from)), "{end}");
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(!said.contains("panicked") && !said.contains('\u{1b}'), "{said}");
        (self.seen, code)
    }
}

/// The orders that were answered, in order.
fn answered(lines: &[Value]) -> Vec<&Value> {
    lines.iter().filter(|line| line["type"] == "response").collect()
}

#[test]
fn two_workers_are_dispatched_steered_answered_and_aborted() {
    let mut rpc = Rpc::start(&["--wait"]);
    let brief = "Do:\n- [ ] ask: JWT or cookie? [jwt*, cookie] 9m\n- [ ] echo chose {answer}";
    let first = rpc.data(json!({"type": "dispatch", "message": brief, "title": "auth", "budget": "$1 40 turns"}));
    let second = rpc.data(json!({"type": "dispatch", "message": "```sh\nsleep 307\n```", "title": "nap"}));
    assert_eq!((&first, &second), (&json!({"task": "t_001"}), &json!({"task": "t_002"})));
    rpc.event("t_001", "question");
    rpc.event("t_002", "tool.start");
    let note = rpc.data(json!({"type": "follow_up", "task": "t_002", "message": "then rest"}));
    assert!(note["note"].is_u64(), "{note}");
    let note = rpc.data(json!({"type": "steer", "target": "t_001", "message": "also run `echo goodbye`"}));
    assert!(note["note"].is_u64(), "{note}");
    let answer = rpc.data(json!({"type": "answer", "task": "t_001", "message": "cookie"}));
    assert_eq!((&answer["answer"], &answer["question"]), (&json!("cookie"), &json!(1)));
    let end = rpc.event("t_001", "worker.end");
    assert_eq!(end["status"], "done");
    assert!(end["answer"].as_str().unwrap().contains("chose cookie"), "{end}");
    let tasks = rpc.data(json!({"type": "tasks"}));
    let rows = tasks["tasks"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["task"].clone()).collect::<Vec<_>>(), ["t_001", "t_002"]);
    assert_eq!((&rows[1]["title"], &rows[1]["status"]), (&json!("nap"), &json!("running")));
    assert_eq!(rpc.data(json!({"type": "abort", "task": "t_002"})), json!({}));
    assert_eq!(rpc.event("t_002", "worker.end")["status"], "aborted");
    let late = rpc.order(json!({"type": "steer", "task": "t_002", "message": "more"}));
    assert!(late["success"] == false && late["error"].as_str().unwrap().contains("already ended"), "{late}");
    let (lines, code) = rpc.end();
    assert_eq!(code, Some(0));
    assert_eq!(lines[0]["type"], "session.start");
}

#[test]
fn a_prompt_is_answered_steered_and_stopped() {
    let mut rpc = Rpc::start(&[]);
    let run = rpc.data(json!({"type": "prompt", "message": "2 * (3 + 4)"}));
    assert!(run["run"].is_u64(), "{run}");
    let reply = rpc.event("main", "message");
    assert!(reply["text"].as_str().unwrap().contains("14"), "{reply}");
    rpc.data(json!({"type": "prompt", "message": "run `sleep 308`"}));
    rpc.event("main", "tool.start");
    let state = rpc.data(json!({"type": "state"}));
    assert_eq!(
        (&state["busy"], &state["model"], &state["asking"]),
        (&json!(true), &json!("pilot/pilot"), &json!(false))
    );
    let note = rpc.data(json!({"type": "prompt", "message": "faster", "streamingBehavior": "steer"}));
    assert!(note["note"].is_u64(), "{note}");
    assert_eq!(rpc.data(json!({"type": "abort"})), json!({"ran": true}));
    // Whether the shell or the loop says so depends on who is quicker.
    rpc.until("an aborted call", |line| line["type"] == "tool.end" && line["output"].to_string().contains("aborted"));
    let chosen = rpc.data(json!({"type": "set_model", "model": "pilot/pilot"}));
    assert_eq!(chosen["model"], "pilot/pilot");
    let refused = rpc.order(json!({"type": "set_model", "model": "antropic/x"}));
    assert!(refused["error"].as_str().unwrap().contains("anthropic"), "{refused}");
    let refused = rpc.order(json!({"type": "set_effort", "effort": "heroic"}));
    assert!(refused["error"].as_str().unwrap().contains("heroic"), "{refused}");
    let refused = rpc.order(json!({"type": "prompt", "message": " \n"}));
    assert_eq!(refused["error"], "message is empty; say what to do");
    assert_eq!(rpc.data(json!({"type": "quit"})), json!({}));
    let (lines, code) = rpc.rest();
    assert_eq!(code, Some(0));
    assert_eq!(answered(&lines).last().unwrap()["command"], "quit");
}

#[test]
fn lines_that_make_no_sense_are_answered_and_the_session_lives() {
    let mut rpc = Rpc::start(&[]);
    let long = [b"{\"type\":\"prompt\",\"message\":\"".as_slice(), &vec![b'x'; 11 << 20], b"\"}\n"].concat();
    let wrong: [(&[u8], &str, &str); 9] = [
        (b"nonsense\n", "parse", "the line is not JSON: expected ident at line 1 column 2"),
        (b"[1]\n", "parse", "the line is no JSON object"),
        (b"{}\n", "parse", "type is missing; there are prompt, steer"),
        (b"{\"type\":\"promt\"}\n", "promt", "there is no promt; did you mean prompt?"),
        (b"{\"type\":\"prompt\"}\n", "prompt", "prompt: missing field `message`"),
        (b"{\"type\":\"prompt\",\"message\":7}\n", "prompt", "prompt: message: invalid type: integer `7`"),
        (b"{\"type\":\"steer\",\"message\":\"x\",\"to\":\"y\"}\n", "steer", "unknown field `to`"),
        (b"{\"type\":\"abort\",\"task\":\"nine\"}\n", "abort", "abort: task: "),
        (b"{\"type\":\"prompt\xff\"}\n", "parse", "the line is not UTF-8: byte 16 is wrong"),
    ];
    for (line, _, _) in wrong {
        rpc.write(line);
    }
    rpc.write(b"\n  \r\n");
    rpc.write(&long);
    assert_eq!(rpc.data(json!({"type": "get_state"}))["busy"], false);
    let answers: Vec<Value> = answered(&rpc.seen).into_iter().cloned().collect();
    for (answer, (line, command, why)) in answers.iter().zip(wrong) {
        let line = String::from_utf8_lossy(line);
        assert_eq!((&answer["success"], &answer["command"]), (&json!(false), &json!(command)), "{line}");
        assert!(answer["error"].as_str().unwrap().contains(why), "{line}: {answer}");
    }
    assert_eq!(answers.len(), wrong.len() + 2);
    assert!(
        answers[wrong.len()]["error"].as_str().unwrap().contains("over 10485760 bytes"),
        "{}",
        answers[wrong.len()]
    );
    assert_eq!(rpc.end().1, Some(0));
}

#[test]
fn orders_are_answered_in_order_and_the_last_needs_no_line_break() {
    let mut rpc = Rpc::start(&[]);
    let orders: String = (0..50).map(|id| format!("{}\n", json!({"id": id, "type": "state"}))).collect();
    rpc.write(orders.as_bytes());
    rpc.write(b"{\"id\":50,\"type\":\"prompt\",\"message\":\"3 * 5\"}");
    let (lines, code) = rpc.end();
    assert_eq!(code, Some(0));
    let ids: Vec<Value> = answered(&lines).iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, (0..=50).map(Value::from).collect::<Vec<_>>());
    // What runs when stdin ends is finished.
    assert!(lines.last().unwrap()["result"].as_str().unwrap().contains("15"));
}

#[test]
fn stdin_that_ends_waits_for_tasks_when_it_is_told_to() {
    for (args, status) in [(&["--wait"][..], "done"), (&[], "interrupted")] {
        let mut rpc = Rpc::start(args);
        let nap = if args.is_empty() { "sleep 309" } else { "sleep 0.3" };
        rpc.data(json!({"type": "dispatch", "message": format!("```sh\n{nap}\n```")}));
        rpc.event("t_001", "tool.start");
        let (lines, code) = rpc.end();
        assert_eq!(code, Some(0));
        let ended = lines.iter().find(|line| line["type"] == "worker.end").map(|line| line["status"].clone());
        let interrupted = lines.last().unwrap()["interrupted"].clone();
        match status {
            "done" => assert_eq!((ended, interrupted), (Some(json!("done")), json!([]))),
            _ => assert_eq!(interrupted, json!(["t_001"])),
        }
    }
}

#[test]
fn a_call_that_must_be_allowed_is_allowed_or_denied_by_an_order() {
    let echo = |id: &str, word: &str| says().call(id, "shell", json!({"command": format!("echo {word} >> said")}));
    let server = Server::answer(move |request| {
        let replies = [echo("c1", "one"), echo("c2", "two"), echo("c3", "three"), says().text("Done.")];
        Response::Says(replies[request.turns()].clone())
    });
    let url = server.base_url();
    let args = ["--ask", "Bash", "-m", "anthropic/x", "--base-url", &url];
    let mut rpc = Rpc::at(Place::new(), &args, &[("ANTHROPIC_API_KEY", "sk-test-1")]);
    rpc.data(json!({"type": "prompt", "message": "go"}));
    let asked = rpc.until("one", |line| line["type"] == "permission.ask" && line["id"] == 1);
    assert_eq!(asked["tool"], "shell");
    assert_eq!(rpc.data(json!({"type": "state"}))["asking"], true);
    let wrong = rpc.order(json!({"type": "approve", "permission": 9}));
    assert_eq!(wrong["error"], "no call 9 waits for your word");
    assert_eq!(rpc.data(json!({"type": "approve", "permission": 1})), json!({"permission": 1}));
    rpc.until("two", |line| line["type"] == "permission.ask" && line["id"] == 2);
    rpc.data(json!({"type": "deny", "message": "not two"}));
    rpc.until("three", |line| line["type"] == "permission.ask" && line["id"] == 3);
    let said = rpc._place.path().join("said");
    // Nobody is there any more to say a word about the third.
    drop(rpc.stdin.take());
    wait_until("it is over", || rpc.child.try_wait().unwrap().is_some());
    assert_eq!(std::fs::read_to_string(said).unwrap(), "one\n");
    let (lines, code) = rpc.rest();
    assert_eq!((code, &lines.last().unwrap()["result"]), (Some(0), &json!("Done.")));
    let settled: Vec<&Value> = lines.iter().filter(|line| line["type"] == "permission.settled").collect();
    assert_eq!(settled[1]["settled"], "denied: not two");
    assert_eq!(settled[2]["settled"], "denied: nobody is there to ask any more");
}

#[test]
fn signals_end_it_also_when_nobody_reads() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut rpc = Rpc::start(&[]);
        rpc.data(json!({"type": "prompt", "message": "run `sleep 310`"}));
        rpc.event("main", "tool.start");
        kill_process(Pid::from_child(&rpc.child), signal).unwrap();
        assert_eq!(rpc.rest().1, Some(code));
    }
    let place = Place::new();
    let mut child = place.command(&["rpc"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let flood = "run `head -c 9000000 /dev/zero | tr '\\0' 'x' | fold -w 90; touch flooded; sleep 311`";
    let order = format!("{}\n", json!({"type": "prompt", "message": flood}));
    child.stdin.as_mut().unwrap().write_all(order.as_bytes()).unwrap();
    // The pipe is full long before.
    wait_until("all is written", || place.path().join("flooded").exists());
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    wait_until("it ends", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let place = Place::new();
    let mut child = place.command(&["rpc"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("session.start"), "{first}");
    // The pipe breaks with the first line that nobody reads.
    let mut stdin = child.stdin.take().unwrap();
    wait_until("it ends", || {
        let _ = stdin.write_all(b"{\"type\":\"state\"}\n");
        child.try_wait().unwrap().is_some()
    });
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.contains("panicked")), (Some(0), false), "{said}");
}
