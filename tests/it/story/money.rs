//! What a person sees of tokens and money: after a run, at the prompt, in JSON, in result.md, and after a restart.

use std::fs;

use serde_json::{Value, json};
use tillerman::model::tokens::Size;

use super::{Stage, Wire, is_main, turns};
use crate::cli::Done;
use crate::server::says;

/// Sonnet costs 2, 0.1 and 10 dollars a million: of this reply each kind is a thousandth of a dollar.
const ARGS: [&str; 3] = ["-m", "anthropic/claude-sonnet-5-5", "--base-url"];

fn with_price(stage: &Stage, before: &[&str], after: &[&str], stdin: &str) -> Done {
    let url = stage.server.base_url();
    let args: Vec<&str> =
        before.iter().chain(&ARGS).copied().chain([url.as_str()]).chain(after.iter().copied()).collect();
    stage.place.tillerman_with(&args, &[], stdin)
}

fn answering() -> Stage {
    Stage::new(Wire::Anthropic, |_| says().text("yes").usage(500, 10_000, 100).into())
}

#[test]
fn a_run_ends_with_what_it_took() {
    let stage = answering();
    let done = with_price(&stage, &["run", "--trust"], &["hi"], "");
    let last = done.stderr.lines().last().unwrap();
    assert_eq!(last, "Σ 1 model call · 10.5k tokens in (95% cached), 100 out · $0.0030");
    let unknown = stage.run(&["hi"]);
    let last = unknown.stderr.lines().last().unwrap();
    assert_eq!(last, "Σ 1 model call · 10.5k tokens in (95% cached), 100 out · unknown price");
    let pilot = stage.place.tillerman(&["run", "-m", "pilot", "hi"]);
    assert!(!pilot.stderr.contains('Σ'), "nobody was asked for anything: {}", pilot.stderr);
}

#[test]
fn json_lines_say_what_each_call_and_the_whole_cost() {
    let stage = answering();
    let costs = |done: &Done| -> Vec<Value> {
        let lines = done.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let told = lines.filter(|line| line["type"] == "usage" || line["type"] == "session.end");
        told.map(|line| json!([line["cost_usd"], line["cost_unknown_calls"]])).collect()
    };
    let known = with_price(&stage, &["run", "--trust"], &["--json", "hi"], "");
    assert_eq!(costs(&known), [json!([0.003, 0]), json!([0.003, 0])]);
    assert_eq!(costs(&stage.run(&["--json", "hi"])), [json!([null, 1]), json!([null, 1])]);
}

#[test]
fn the_prompt_sums_up_by_model_over_restarts_and_the_tasks_apart() {
    let stage = Stage::new(Wire::Anthropic, |request| {
        let said = match (is_main(request), turns(request)) {
            (true, 0) => says().call("c1", "dispatch", json!({"title": "count", "task": "Count to one."})),
            _ => says().text("yes"),
        };
        said.usage(500, 10_000, 100).into()
    });
    let done = with_price(&stage, &["run", "--trust", "--wait"], &["go"], "");
    assert!(done.stderr.lines().last().unwrap().ends_with("· $0.0120"), "{}", done.stderr);
    let result = fs::read_to_string(stage.place.path().join(".tasks/t_001/result.md")).unwrap();
    assert!(result.contains("\ncost: 0.003\ncost_unknown_calls: 0\n"), "{result}");
    // Another program, and a model of which nobody knows the price.
    let url = stage.server.base_url();
    let args = ["--trust", "-c", "-m", "anthropic/claude-test", "--base-url", &url];
    let asked = stage.place.tillerman_with(&args, &[], "hello\n/cost\n/status\n/task t_001\n");
    let table: Vec<&str> = asked.stdout.lines().skip_while(|line| !line.contains("reasoning")).take(5).collect();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let expected = [
        "calls in cached written out reasoning cost",
        "anthropic/claude-sonnet-5-5 3 31.5k 95% 0 300 0 $0.0090",
        "anthropic/claude-test 1 10.5k 95% 0 100 0 unknown price",
        "session 4 42.0k 95% 0 400 0 $0.0090 + 1 call of unknown price",
        "1 task 1 10.5k 95% 0 100 0 $0.0030",
    ];
    assert_eq!(table.iter().map(|line| words(line)).collect::<Vec<_>>(), expected, "{}", asked.stdout);
    assert!(asked.stdout.contains("cost     $0.0090 + 1 call of unknown price; /cost says more"), "{}", asked.stdout);
    assert!(asked.stdout.contains(".tasks/t_001/ · 10.6k tokens · $0.0030"), "{}", asked.stdout);
}

/// Every request begins with it, so it is paid with every turn. Counted by the vocabulary, not guessed.
#[test]
fn prompt_and_tools_of_a_main_agent_take_less_than_2000_tokens() {
    let stage = answering();
    assert_eq!(stage.run(&["hi"]).code, Some(0));
    let asked = stage.requests(true);
    let body = &asked[0].body;
    let fixed = format!("{}{}", body["system"].as_str().unwrap(), body["tools"]);
    let (tokens, tools) = (Size::count(&fixed).text, body["tools"].as_array().unwrap().len());
    assert!(tools >= 18 && (1_000..2_000).contains(&tokens), "{tools} tools, {tokens} tokens: {fixed}");
}

/// With a person at the prompt, who can be asked for wider rights, there is one tool more.
#[test]
fn the_same_holds_at_the_prompt() {
    let stage = answering();
    let terminal = stage.prompt();
    terminal.say("hi");
    terminal.wait_for("● yes");
    super::leave(terminal);
    let body = &stage.requests(true)[0].body;
    let fixed = format!("{}{}", body["system"].as_str().unwrap(), body["tools"]);
    let tokens = Size::count(&fixed).text;
    assert!(fixed.contains(r#""name":"escalate""#) && tokens < 2_000, "{tokens} tokens: {fixed}");
}
