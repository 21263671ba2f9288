//! The pilot as main agent: lines become calls, results become sentences.

use serde_json::{Value, json};

use super::{MAIN, Talk, calls, says};

/// The single call that a line leads to.
async fn leads_to(line: &str) -> (String, Value) {
    let mut talk = Talk::with(MAIN);
    talk.hears(line);
    let found = calls(&talk.reply().await);
    assert_eq!(found.len(), 1, "{line}: {found:?}");
    found.into_iter().next().unwrap()
}

#[tokio::test]
async fn a_line_becomes_the_call_that_it_means() {
    let table = [
        ("run ls -l", "shell", json!({"command": "ls -l"})),
        ("Run ls", "shell", json!({"command": "ls"})),
        ("!git status", "shell", json!({"command": "git status"})),
        ("run `cargo check`", "shell", json!({"command": "cargo check"})),
        ("run for i in 1 2\ndo echo $i\ndone", "shell", json!({"command": "for i in 1 2\ndo echo $i\ndone"})),
        ("read src/main.rs", "read_file", json!({"path": "src/main.rs"})),
        ("read \"a b.md\"", "read_file", json!({"path": "a b.md"})),
        ("grep fn main", "grep", json!({"pattern": "fn main"})),
        ("grep x in y in src", "grep", json!({"pattern": "x in y", "path": "src"})),
        ("list", "list", json!({})),
        ("list the files in src", "list", json!({"path": "src"})),
        ("ls ..", "list", json!({"path": ".."})),
        ("list filesystem", "list", json!({"path": "filesystem"})),
        ("write notes/a.md: buy milk", "write_file", json!({"path": "notes/a.md", "content": "buy milk\n"})),
        ("write a.md:\n# A\ntext", "write_file", json!({"path": "a.md", "content": "\n# A\ntext\n"})),
        ("steer t_001 also run ls", "steer", json!({"id": "t_001", "message": "also run ls"})),
        ("@t_12 stop", "steer", json!({"id": "t_12", "message": "stop"})),
        ("abort t_001", "abort", json!({"id": "t_001"})),
        ("answer t_001 2", "answer", json!({"id": "t_001", "answer": "2"})),
        ("continue t_001 also run ls", "resume", json!({"id": "t_001", "message": "also run ls"})),
        ("resume t_001", "resume", json!({"id": "t_001"})),
        ("status", "tasks", json!({})),
        ("tasks t_002", "tasks", json!({"id": "t_002"})),
        ("time", "shell", json!({"command": "date"})),
        ("what time is it?", "shell", json!({"command": "date"})),
        ("count lines in src/*.rs", "shell", json!({"command": "wc -l -- src/*.rs"})),
        ("count it's", "shell", json!({"command": "wc -l -- 'it'\\''s'"})),
        ("outline README.md", "shell", json!({"command": "grep -n '^#' -- 'README.md'"})),
        ("find *.rs", "shell", json!({"command": "find . -name '*.rs' -not -path './.git/*'"})),
        (
            "todo add buy 'milk'",
            "shell",
            json!({"command": "# todo.md\nprintf '%s\\n' '- [ ] buy '\\''milk'\\''' | tee -a todo.md"}),
        ),
    ];
    for (line, name, args) in table {
        assert_eq!(leads_to(line).await, (name.to_owned(), args), "{line}");
    }
    for line in ["test", "run tests", "todo", "todo done 2"] {
        assert_eq!(leads_to(line).await.0, "shell", "{line}");
    }
}

#[tokio::test]
async fn the_list_is_kept_by_the_tool_where_there_is_one() {
    let table = [
        ("todo add buy 'milk'", json!({"action": "add", "items": ["buy 'milk'"]})),
        ("todo done 2", json!({"action": "complete", "number": 2})),
        ("todo", json!({"action": "view"})),
    ];
    for (line, args) in table {
        let mut talk = Talk::with(&["shell", "todo"]);
        talk.hears(line);
        assert_eq!(calls(&talk.reply().await), [("todo".to_owned(), args)], "{line}");
        talk.results(&[("1 of 2 done\n1. [ ] milk\n2. [x] eggs", Value::Null, false)]);
        assert_eq!(talk.reply().await.text(), "1 of 2 done\n1. [ ] milk\n2. [x] eggs");
    }
}

#[tokio::test]
async fn a_dispatch_becomes_a_runbook() {
    let head = "Run these commands in order and report what each one did.\n\n";
    let table = [
        ("dispatch count lines: wc -l src/*.rs; sleep 2", "count lines", "- [ ] wc -l src/*.rs\n- [ ] sleep 2\n"),
        (
            "dispatch sh: sh -c 'a; b'; echo \"c;d\"; e\\;f",
            "sh",
            "- [ ] sh -c 'a; b'\n- [ ] echo \"c;d\"\n- [ ] e\\;f\n",
        ),
        (
            "dispatch build:\n- [ ] make a; make b\n- make c\nmake d",
            "build",
            "- [ ] make a; make b\n- [ ] make c\n- [ ] make d\n",
        ),
        ("dispatch : sleep 1;;", "sleep 1", "- [ ] sleep 1\n"),
        ("dispatch two: run `a; b`; c", "two", "- [ ] run `a; b`\n- [ ] c\n"),
        ("dispatch sleep 300", "sleep 300", "- [ ] sleep 300\n"),
    ];
    for (line, title, steps) in table {
        let args = json!({"title": title, "task": format!("{head}{steps}"), "touches": ["."]});
        assert_eq!(leads_to(line).await, ("dispatch".to_owned(), args), "{line}");
    }
}

#[tokio::test]
async fn a_dispatch_says_what_it_comes_after_and_what_it_may_use() {
    let task = "Run these commands in order and report what each one did.\n\n- [ ] ls\n";
    let table = [
        ("dispatch look after t_001: ls", json!({"title": "look", "after": ["t_001"]})),
        ("dispatch after t_001, t_2: ls", json!({"title": "ls", "after": ["t_001", "t_2"]})),
        ("dispatch look budget 5m: ls", json!({"title": "look", "budget": "5m"})),
        ("dispatch a b after t_1 budget 3 turns: ls", json!({"title": "a b", "after": ["t_1"], "budget": "3 turns"})),
        ("dispatch a budget $0.50 20m after t_1: ls", json!({"title": "a", "after": ["t_1"], "budget": "$0.50 20m"})),
        ("dispatch tidy up after lunch: ls", json!({"title": "tidy up after lunch"})),
        ("dispatch plan the budget: ls", json!({"title": "plan the budget"})),
        ("dispatch the budget for cake: ls", json!({"title": "the budget for cake"})),
    ];
    for (line, mut args) in table {
        args["task"] = json!(task);
        args["touches"] = json!(["."]);
        assert_eq!(leads_to(line).await, ("dispatch".to_owned(), args), "{line}");
    }
}

#[tokio::test]
async fn a_batch_is_a_table_and_a_call_waits_for_an_agent() {
    let head = "Run these commands in order and report what each one did.\n\n";
    let args = json!({
        "title": "wc -l {{item}}", "task": format!("{head}- [ ] wc -l {{{{item}}}}\n- [ ] ls\n"),
        "rows": "{\"item\":\"a b.md\"}\n{\"item\":\"c.md\"}\n", "touches": ["."],
    });
    let mut talk = Talk::with(MAIN);
    talk.hears("batch a b.md, c.md: wc -l {{item}}; ls");
    assert_eq!(calls(&talk.reply().await), [("dispatch".to_owned(), args)]);
    talk.results(&[("2 tasks are dispatched: t_001 to t_002. You will be told when each ends.", Value::Null, false)]);
    let answer = talk.reply().await.text();
    assert_eq!(answer, "2 tasks are dispatched: t_001 to t_002. You will be told when each ends.");
    let args = json!({"agent_name": "tester", "task": format!("{head}- [ ] cargo test\n"), "touches": ["."]});
    assert_eq!(leads_to("call tester: cargo test").await, ("call_agent".to_owned(), args));
}

#[tokio::test]
async fn what_it_cannot_do_it_says_in_two_lines_with_the_way_out() {
    let honest = "I am the built-in pilot, no language model: I only understand the lines that `help` shows.\n\
        To add a model: `export ANTHROPIC_API_KEY=…`, or start with `tillerman -m PROVIDER/MODEL`.";
    for line in [
        "refactor main.rs",
        "tell me a joke",
        "show me the code",
        "find the bug",
        "list all bugs here today",
        "write a poem",
        "write a poem: roses",
        "cancel my subscription",
        "call me later",
        "continue the story",
        "what is love",
        "time flies",
        "…",
        "2001",
        "-",
    ] {
        assert_eq!(says(line).await, honest, "{line}");
    }
}

#[tokio::test]
async fn half_a_line_is_answered_with_how_to_write_it() {
    let table = [
        ("run", "run CMD"),
        ("dispatch", "dispatch TITLE: CMD; CMD"),
        ("dispatch x:", "dispatch TITLE: CMD; CMD"),
        ("batch", "batch a, b: CMD {{item}}"),
        ("batch a: ls", "batch a, b: CMD {{item}}"),
        ("call", "call tester: CMD"),
        ("call tester:", "call tester: CMD"),
        ("continue", "continue t_001 run CMD"),
        ("steer", "steer t_001 TEXT"),
        ("steer t_001", "steer t_001 TEXT"),
        ("abort", "abort t_001"),
        ("abort 1", "abort t_001"),
        ("read", "read PATH"),
        ("grep", "grep PATTERN [in PATH]"),
        ("write", "write PATH: TEXT"),
        ("write a.md hello", "write PATH: TEXT"),
        ("todo done x", "todo done N"),
        ("todo done 0", "todo done N"),
        ("todo buy milk", "todo [add TEXT | done N]"),
    ];
    for (line, usage) in table {
        assert_eq!(says(line).await, format!("Please write it like this: `{usage}`"), "{line}");
    }
}

#[tokio::test]
async fn every_line_that_help_shows_is_understood() {
    let help = says("help").await;
    assert!(help.starts_with("I am the built-in pilot, no language model."), "{help}");
    let shown = help.split("```").nth(1).unwrap();
    for line in shown.lines().filter(|line| !line.is_empty()) {
        let line = line.split("  ").next().unwrap().replace(['[', ']'], "").replace(" | done N", "");
        let mut talk = Talk::with(MAIN);
        talk.hears(&line);
        let reply = talk.reply().await;
        let understood = reply.calls().next().is_some() || reply.text().contains(" = ");
        assert!(understood, "{line}: {}", reply.text());
    }
}

#[tokio::test]
async fn results_become_a_sentence_and_the_result() {
    let table = [
        ("run ls", "a\nb", "`ls`:\n```\na\nb\n```"),
        ("run true", "(no output)", "`true` wrote nothing."),
        ("time", "Sat Nov 21", "`date`: Sat Nov 21"),
        ("todo", "1:- [ ] milk\n2:- [ ] eggs", "todo.md:\n```\n1:- [ ] milk\n2:- [ ] eggs\n```"),
        ("run cat x", "```\ncode\n```", "`cat x`:\n````\n```\ncode\n```\n````"),
        ("read a.md", "File: a.md (1 lines)\n1: hello\n", "```\nFile: a.md (1 lines)\n1: hello\n```"),
        ("grep x in src", "src/a:1:x", "`x` in src:\n```\nsrc/a:1:x\n```"),
        ("list", "./\n  a/\n  b\n", "```\n./\n  a/\n  b\n```"),
        ("write a.md: x", "wrote a.md (2 bytes)", "wrote a.md (2 bytes)"),
        ("steer t_001 stop", "queued #1 for t_001", "queued #1 for t_001"),
        (
            "dispatch nap: sleep 2",
            "t_007 is dispatched; its files are in .tasks/t_007/.",
            "On it: t_007 “nap” runs in the background. Ask me anything meanwhile; \
          `steer t_007 also run CMD` changes its course, `abort t_007` ends it, `tasks` shows how it goes.",
        ),
    ];
    for (line, output, answer) in table {
        let mut talk = Talk::with(MAIN);
        talk.hears(line);
        talk.reply().await;
        talk.results(&[(output, Value::Null, false)]);
        let reply = talk.reply().await;
        assert_eq!((reply.text(), calls(&reply)), (answer.to_owned(), vec![]), "{line}");
    }
}

#[tokio::test]
async fn a_refused_call_is_told_with_its_reason() {
    let mut talk = Talk::with(MAIN);
    talk.hears("read none.txt");
    talk.reply().await;
    talk.results(&[("none.txt does not exist", Value::Null, true)]);
    assert_eq!(talk.reply().await.text(), "read_file `none.txt` did not work: none.txt does not exist");
}

#[tokio::test]
async fn a_command_that_fails_is_told_with_how_it_ended() {
    let table = [
        ("exit code 1", json!({"exit_code": 1, "took_ms": 3}), "`x` failed: exit 1"),
        ("oh\nno\nexit code 2", json!({"exit_code": 2, "took_ms": 3}), "`x` failed: exit 2\n```\noh\nno\n```"),
        (
            "half\ntimed out after 5 s; the command was stopped",
            json!({"exit_code": null, "took_ms": 5000}),
            "`x` failed: timed out after 5 s; the command was stopped\n```\nhalf\n```",
        ),
    ];
    for (output, details, answer) in table {
        let mut talk = Talk::with(MAIN);
        talk.hears("run x");
        talk.reply().await;
        talk.results(&[(output, details, false)]);
        assert_eq!(talk.reply().await.text(), answer);
    }
}

#[tokio::test]
async fn a_long_output_is_cut_and_says_by_how_much() {
    let mut talk = Talk::with(MAIN);
    talk.hears("run seq 100");
    talk.reply().await;
    let output: String = (1..=100).map(|n| format!("{n}\n")).collect();
    talk.results(&[(&output, Value::Null, false)]);
    let text = talk.reply().await.text();
    assert!(text.ends_with("\n39\n40\n… 60 more lines\n```"), "{text}");
}

#[tokio::test]
async fn s3_35_a_report_makes_it_load_the_result_and_relay_it() {
    for (how, word) in [
        ("completed", "has ended"),
        ("failed", "failed"),
        ("aborted", "was aborted"),
        ("limited", "used up its turns"),
        ("interrupted", "was interrupted"),
    ] {
        let mut talk = Talk::with(MAIN);
        talk.hears(&format!(
            "[Worker {how} t_001]\ntitle: count lines\nstatus: done, 3 turns\nThe worker's last words:\n> x"
        ));
        let reply = talk.reply().await;
        assert_eq!(reply.text(), format!("t_001 “count lines” {word}."));
        assert_eq!(calls(&reply), [("load".to_owned(), json!({"path": ".tasks/t_001/result.md"}))]);
        talk.results(&[(
            "{\"id\":\"t_001\",\"status\":\"done\"}\n\nDone: all 2 steps succeeded.\n",
            Value::Null,
            false,
        )]);
        let reply = talk.reply().await;
        assert_eq!((reply.text(), calls(&reply)), ("Done: all 2 steps succeeded.".to_owned(), vec![]));
    }
}

#[tokio::test]
async fn lines_said_while_a_tool_ran_are_all_taken_up() {
    let mut talk = Talk::with(MAIN);
    talk.hears("run sleep 1");
    talk.reply().await;
    talk.results(&[("slept", Value::Null, false)]);
    talk.hears("1+1");
    talk.hears("read a.md");
    let reply = talk.reply().await;
    assert_eq!(reply.text(), "`sleep 1`: slept\n\n1+1 = 2");
    assert_eq!(calls(&reply), [("read_file".to_owned(), json!({"path": "a.md"}))]);
}

#[tokio::test]
async fn a_tool_that_is_not_on_offer_is_not_called() {
    let mut talk = Talk::with(&["shell"]);
    talk.hears("read a.md");
    assert_eq!(talk.reply().await.text(), "The tool read_file is not available to me here.");
    talk.hears("[Worker completed t_001]");
    assert_eq!(talk.reply().await.text(), "t_001 has ended.\n\nIts result is in .tasks/t_001/result.md.");
}
