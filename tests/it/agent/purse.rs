//! Budgets by their effect: how many calls a run makes, and what it says when it may make no more. RELIABILITY R04, R05.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tillerman::agent::{Compacting, Keep, Outcome, Trigger};
use tillerman::ledger::{Account, Clock, Ledger, Opening};
use tillerman::message::{Budget, Usage, Usd};
use tillerman::session::End as Ended;

use super::stage::{End, Played, Scenario, Stub, answered, millis, usage};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A thousand tokens of any kind cost a cent.
fn priced(usage: &Usage) -> Option<Usd> {
    Some(Usd(usage.total_tokens() * 10_000))
}

fn account_of(ledger: &Ledger, budget: &str) -> Account {
    let budget = budget.parse().unwrap();
    let opening =
        Opening { task: "t_001".to_owned(), created: Timestamp::UNIX_EPOCH, agent: None, budget, parent: None };
    ledger.dispatch(&opening).unwrap().quoting(Arc::new(priced))
}

fn account(budget: &str) -> Account {
    account_of(&Ledger::in_memory(Budget::default(), Budget::default()), budget)
}

/// A model that would go on for ever; each call takes 10k tokens, which is ten cents.
fn eager(account: &Account) -> Scenario {
    eager_of(account, usage(9_900, 100))
}

fn eager_of(account: &Account, each: Usage) -> Scenario {
    let names: Vec<String> = (1..=30).map(|number| format!("c{number}")).collect();
    names.iter().fold(Scenario::new().account(account.clone()), |scenario, name| {
        // Each step brings something new, or it would count as stuck.
        let args = format!(r#"{{"step":"{name}"}}"#);
        scenario.calls(&format!("step {name}"), &[(name.as_str(), "echo", &args)]).costs(each)
    })
}

fn spent(what: &str, answer: &str) -> Outcome {
    Outcome::BudgetSpent { what: what.to_owned(), answer: answer.to_owned() }
}

fn told(played: &Played, words: &str) -> usize {
    played.context().iter().filter(|line| line.contains(words)).count()
}

#[tokio::test(start_paused = true)]
async fn no_currency_is_overdrawn_and_the_last_turn_sums_up() {
    for (budget, what, offered) in [
        ("$0.50", "$0.30 of $0.50", vec![1, 1, 1, 0]),
        ("50k", "30k of 50k tokens", vec![1, 1, 1, 0]),
        ("3 turns", "2 of 3 turns", vec![1, 1, 0]),
        ("1 turn", "0 of 1 turns", vec![0]),
        ("$9.00 21k 9 turns", "0 of 21k tokens", vec![0]),
    ] {
        let account = account(budget);
        let played = eager(&account).play().await;
        let answer = format!("step c{}", offered.len());
        if budget.contains("21k") {
            // Nothing was known of the size of its replies at first.
            assert_eq!(played.offered, [1, 0], "{budget}");
            continue;
        }
        assert_eq!(played.outcome(), spent(what, &answer), "{budget}");
        assert_eq!(played.offered, offered, "{budget}");
        assert_eq!(told(&played, "The budget is nearly used up"), 1, "{budget}");
        let balance = account.balance().unwrap();
        assert!(balance.spent.usd <= Usd(500_000_000), "{budget}: {balance:?}");
        assert_eq!(played.session.end(), Some(&Ended::BudgetSpent { what: what.to_owned() }));
    }
}

#[tokio::test(start_paused = true)]
async fn one_call_may_take_more_than_was_thought_and_none_follows_it() {
    let account = account("$0.50 100k");
    let dear = Scenario::new().account(account.clone());
    let dear = dear.calls("found it in a.rs", &[("c1", "echo", "{}")]).costs(usage(1_000, 100));
    let dear = dear.calls("", &[("c2", "echo", "{}")]).costs(usage(90_000, 100));
    let played = dear.play().await;
    assert_eq!(played.outcome(), spent("$0.91 of $0.50", "found it in a.rs"));
    assert_eq!(played.offered, [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_reaches_for_no_call_makes_none() {
    let played = Scenario::new().account(account("10 tokens")).play().await;
    assert_eq!(played.outcome(), spent("0 of 10 tokens", ""));
    assert!(played.requests.is_empty());
    assert_eq!(played.story(), ["run", "spent 0 of 10 tokens: "]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_is_an_answer() {
    let account = account("$1.00 100k 1m 9 turns");
    let played = Scenario::new().account(account.clone()).says("done").costs(usage(9_000, 1_000)).play().await;
    assert_eq!(played.outcome(), answered("done"));
    let spent = account.balance().unwrap().spent;
    assert_eq!((spent.usd, spent.tokens, spent.turns, spent.time), (Usd(100_000_000), 10_000, 1, millis(100)));
}

#[tokio::test(start_paused = true)]
async fn most_of_a_budget_is_said_once() {
    let played = eager_of(&account("$0.20"), usage(900, 100)).play().await;
    assert!(matches!(played.outcome(), Outcome::BudgetSpent { .. }));
    assert_eq!(told(&played, "Most of the budget is used"), 1);
}

#[tokio::test(start_paused = true)]
async fn r05_a_tool_is_stopped_when_there_is_just_time_to_sum_up() {
    let account = account("10s");
    let played = Scenario::new()
        .account(account.clone())
        .tool(Stub::with("wait", Duration::ZERO, End::Heed, None))
        .calls("this may take a while", &[("c1", "wait", "{}")])
        .says("it was not finished")
        .play()
        .await;
    assert_eq!(played.outcome(), spent("9s of 10s", "it was not finished"));
    assert_eq!(played.offered, [2, 0]);
    assert!((secs(9)..=secs(10)).contains(&played.took), "{:?}", played.took);
    assert!(account.balance().unwrap().spent.time <= secs(10));
}

#[tokio::test(start_paused = true)]
async fn r05_a_tool_that_heeds_nothing_is_dropped() {
    let played = Scenario::new()
        .account(account("10s"))
        .tool(Stub::with("wait", secs(3_600), End::Echo, None))
        .calls("", &[("c1", "wait", "{}")])
        .says("it hangs")
        .play()
        .await;
    assert_eq!(played.outcome(), spent("9s of 10s", "it hangs"));
    assert_eq!(told(&played, "c1 ! stopped: the time is used up (10s of 10s)"), 1);
    assert!(played.took < secs(11), "{:?}", played.took);
}

#[tokio::test(start_paused = true)]
async fn r05_a_call_that_never_ends_is_given_up_soon_after_the_time() {
    let account = account("10s");
    let played = Scenario::new()
        .account(account.clone())
        .calls("I begin", &[("c1", "echo", "{}")])
        .says("never")
        .after(secs(3_600))
        .play()
        .await;
    assert_eq!(played.outcome(), spent("10s of 10s", "I begin"));
    assert_eq!(played.took, secs(40));
    assert_eq!(account.balance().unwrap().spent.turns, 2, "it is paid for all the same");
}

#[tokio::test(start_paused = true)]
async fn r04_what_a_server_does_not_count_is_guessed() {
    let account = account("2k");
    let text = "word ".repeat(300);
    let played = Scenario::new()
        .account(account.clone())
        .calls(&text, &[("c1", "echo", "{}")])
        .costs(Usage::default())
        .calls(&text, &[("c2", "echo", "{}")])
        .costs(Usage::default())
        .play()
        .await;
    let tokens = account.balance().unwrap().spent.tokens;
    assert!((300..=2_000).contains(&tokens), "{tokens}");
    assert!(matches!(played.outcome(), Outcome::BudgetSpent { .. }), "{:?}", played.outcome());
}

#[tokio::test(start_paused = true)]
async fn a_raise_lets_a_run_go_on_that_was_about_to_end() {
    let ledger = Ledger::in_memory(Budget::default(), Budget::default());
    let account = account_of(&ledger, "2 turns");
    let raise = async {
        tokio::time::sleep(millis(50)).await;
        ledger.change("t_001", "+1 turn".parse().unwrap()).unwrap();
    };
    let (played, ()) = tokio::join!(eager(&account).play(), raise);
    assert_eq!((played.outcome(), played.offered), (spent("2 of 3 turns", "step c3"), vec![1, 1, 0]));
}

fn purposes(path: &Path) -> Vec<(String, bool)> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| (line["purpose"].as_str().unwrap().to_owned(), line["estimated"] == true)).collect()
}

#[tokio::test(start_paused = true)]
async fn every_call_is_in_the_ledger_summaries_and_stopped_ones_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.jsonl");
    let ledger = Ledger::open(&path, Budget::default(), Budget::default(), Clock::system());
    let account = account_of(&ledger, "$9.00");
    let compacting = Compacting { trigger: Trigger::Messages(3), keep: Keep::Last(1), ..Compacting::DEFAULT };
    Scenario::new()
        .account(account)
        .limits(|limits| limits.compacting = compacting)
        .calls(&"long ".repeat(400), &[("c1", "echo", "{}")])
        .calls("more", &[("c2", "echo", "{}")])
        .says("a summary")
        .says("never heard")
        .after(secs(60))
        .abort_at(secs(10))
        .play()
        .await;
    let kinds = |name: &str, guess| (name.to_owned(), guess);
    let expected = [kinds("turn", false), kinds("turn", false), kinds("summary", false), kinds("stopped", true)];
    assert_eq!(purposes(&path), expected);
}
