//! Budgets of tasks, of a day and of a run by their effect: how much is paid for before a task ends, and what is said.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tillerman::event::Ending;
use tillerman::message::{Budget, Message, Usage, Usd};
use tillerman::model::Model;
use tillerman::runtime::{ControlError, Open, Runtime};
use tillerman::task::{Brief, TaskId, TaskReport, TaskStatus};

use super::{Ask, Boat, Ground, boat_with, calls, played_as, read, says};

/// Five thousand tokens in, a hundred out: at two and ten dollars a million, 1.1 cents a call.
const USAGE: Usage = Usage { input: 5_000, output: 100, cache_read: 0, cache_write: 0, reasoning: 0 };
const CALL: u64 = 11_000_000;

/// A model whose price is known, if it is one that there is, and how often it was asked. Its workers never come to an end by
/// themselves, unless their task says so.
fn eager(id: &str) -> (Arc<dyn Model>, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    let model = played_as(id, USAGE, move |ask| {
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::task::yield_now().await;
            answer(&ask)
        }
    });
    (model, asked)
}

fn sonnet() -> Arc<dyn Model> {
    eager("anthropic/claude-sonnet-5-5").0
}

fn answer(ask: &Ask) -> Message {
    if !ask.is_worker() {
        let dispatch = ask.last().strip_prefix("dispatch ").map(|args| serde_json::from_str::<Value>(args).unwrap());
        return match dispatch {
            Some(args) => calls([("dispatch", args)]),
            None => says(ask.outputs().into_iter().next().unwrap_or_else(|| "noted".to_owned())),
        };
    }
    if ask.first().contains("Lead three.") && ask.messages.len() == 1 {
        return calls([(); 3].map(|()| ("dispatch", json!({"task": "Go on for ever."}))));
    }
    match !ask.tools.is_empty() && !ask.first().contains("at once") {
        // Each step brings something new, or it would count as stuck.
        true => calls([("shell", json!({"command": format!("echo step {}", ask.messages.len())}))]),
        false => says("as far as it came"),
    }
}

fn brief(budget: &str) -> Brief {
    let budget = if budget.is_empty() { Budget::default() } else { budget.parse().unwrap() };
    Brief { body: "Go on for ever.".to_owned(), budget, ..Brief::default() }
}

async fn launch(boat: &Boat, budget: &str) -> Result<TaskId, ControlError> {
    boat.runtime.dispatch(&boat.session, brief(budget)).await
}

fn ledger(ground: &Ground) -> Vec<Value> {
    let text = fs::read_to_string(ground.workspace().state().join("ledger.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn paid(ground: &Ground, task: &str) -> u64 {
    let lines = ledger(ground);
    let of_task = lines.iter().filter(|line| line["task"] == task);
    of_task.map(|line| Usd::from_dollars(line["usd"].as_f64().unwrap()).unwrap().0).sum()
}

#[tokio::test]
async fn r04_a_task_never_costs_more_than_its_budget() {
    for (budget, calls) in [("$0.06", 4..=5), ("30k", 4..=5), ("5 turns", 5..=5), ("$0.06 3 turns", 3..=3)] {
        let (model, asked) = eager("anthropic/claude-sonnet-5-5");
        let mut boat = boat_with(model, |_| {}).await;
        launch(&boat, budget).await.unwrap();
        let TaskReport { status, answer, turns, .. } = boat.task_ended(1).await;
        assert_eq!(status, TaskStatus::Partial, "{budget}");
        assert!(calls.contains(&turns), "{budget}: {turns}");
        assert!(answer.starts_with("Budget used up: "), "{answer}");
        assert!(answer.ends_with("as far as it came"), "{answer}");
        boat.idle().await;
        let lines = ledger(&boat.ground);
        let mine: Vec<&Value> = lines.iter().filter(|line| line["task"] == "t_001").collect();
        assert_eq!(mine.len(), usize::try_from(turns).unwrap(), "one line for each call");
        assert_eq!(mine.last().unwrap()["purpose"], "sum_up");
        assert_eq!(lines.len(), asked.load(Ordering::SeqCst) as usize, "the main agent's calls are in it too");
        let result = read(&boat.task(1).result_path());
        assert!(result.contains("\nstatus: partial\n"), "{result}");
        let told = boat.runtime.transcript(&boat.session).await.unwrap();
        assert!(told.iter().any(|message| message.text().contains("status: partial")), "{told:?}");
        boat.runtime.shutdown().await;
    }
}

#[tokio::test]
async fn a_budget_that_nobody_can_hold_is_refused_with_a_word() {
    let boat = boat_with(eager("anthropic/claude-unheard-of").0, |_| {}).await;
    let refused = launch(&boat, "$0.50").await.unwrap_err().to_string();
    assert_eq!(
        refused,
        "nobody knows the price of anthropic/claude-unheard-of, so a budget of $0.5000 cannot be held: limit tokens, \
         minutes or turns instead, or write its price into models.yaml"
    );
    assert_eq!(boat.runtime.tasks().await, [], "nothing is left of it");
    launch(&boat, "20k 9 turns").await.unwrap();
    boat.idle().await;
    boat.runtime.shutdown().await;
}

#[tokio::test]
async fn the_tool_takes_a_budget_and_says_what_is_none() {
    let mut boat = boat_with(sonnet(), |_| {}).await;
    for wrong in ["-1", "lots", "$0"] {
        let args = json!({"task": "Do it at once.", "budget": wrong});
        let said = boat.answer(&format!("dispatch {args}")).await;
        let expected = format!("`{wrong}` is no budget; write it like $0.50, 400k tokens, 20m or 40 turns");
        assert_eq!(said, expected);
    }
    let args = json!({"task": "Do it at once.", "budget": "$0.50 20m"});
    let said = boat.answer(&format!("dispatch {args}")).await;
    assert!(said.ends_with("You will be told when it ends. Budget: may use $0.5000 20m."), "{said}");
    boat.task_ended(1).await;
    boat.idle().await;
    assert_eq!(boat.task(1).task().unwrap().brief.budget, "$0.50 20m".parse().unwrap());
    // The next one knows what such a task took.
    let said = boat.answer(&format!("dispatch {}", json!({"task": "Do it at once."}))).await;
    assert!(said.ends_with("Budget: est. $0.0110 (1 similar task)."), "{said}");
    boat.idle().await;
    boat.runtime.shutdown().await;
}

#[tokio::test]
async fn a_day_has_one_purse_for_all_tasks() {
    let mut boat = boat_with(sonnet(), |config| config.fleet = "$0.10".parse().unwrap()).await;
    launch(&boat, "$0.07").await.unwrap();
    let refused = launch(&boat, "$0.07").await.unwrap_err().to_string();
    assert!(refused.starts_with("only $0.03 is left of $0.10 for all tasks of a day"), "{refused}");
    let report = boat.task_ended(1).await;
    assert!(report.spent.known <= Usd(70_000_000));
    boat.idle().await;
    let fleet = boat.runtime.fleet().await;
    assert_eq!(fleet.spent.usd.0, paid(&boat.ground, "t_001"));
    assert_eq!(fleet.engaged.usd, fleet.spent.usd, "what was not used is free again");
    let Boat { ground, runtime, .. } = boat;
    runtime.shutdown().await;
    // Another program of the same day knows it.
    let mut config = ground.config(sonnet());
    config.fleet = "$0.10".parse().unwrap();
    let runtime = Runtime::start(config).await.unwrap();
    assert_eq!(runtime.fleet().await.spent.usd, fleet.spent.usd);
    runtime.shutdown().await;
}

#[tokio::test]
async fn tasks_without_a_budget_do_not_overdraw_the_day_together() {
    let boat = boat_with(sonnet(), |config| config.fleet = "$0.50".parse().unwrap()).await;
    let launched = futures_util::future::join_all((0..8).map(|_| launch(&boat, ""))).await;
    assert!(launched.iter().all(Result::is_ok), "{launched:?}");
    boat.idle().await;
    let spent = boat.runtime.fleet().await.spent.usd;
    assert!(spent <= Usd(500_000_000), "{spent}");
    assert!(spent >= Usd(300_000_000), "most of it was used: {spent}");
    for number in 1..=8 {
        assert_eq!(boat.status(number).await, TaskStatus::Partial);
    }
    boat.runtime.shutdown().await;
}

#[tokio::test]
async fn a_partial_task_goes_on_with_more_money_and_counts_on() {
    let mut boat = boat_with(sonnet(), |_| {}).await;
    launch(&boat, "5 turns").await.unwrap();
    assert_eq!(boat.task_ended(1).await.turns, 5);
    boat.idle().await;
    let Boat { ground, runtime, .. } = boat;
    runtime.shutdown().await;

    let runtime = Runtime::start(ground.config(sonnet())).await.unwrap();
    let (feed, session) = (runtime.feed(), runtime.open(Open::New).await.unwrap());
    let mut boat = Boat { ground, runtime, session, feed };
    let refused = boat.runtime.resume(TaskId(1), &boat.session).await.unwrap_err().to_string();
    let expected = "task t_001 has used 5 of 5 turns; give it more first, for example /budget t_001 +0.25";
    assert_eq!(refused, expected);
    let told = boat.runtime.budget(TaskId(1), "+4 turns".parse().unwrap()).await.unwrap();
    assert_eq!(told.balance.words().last().unwrap(), "5 of 9 turns");
    boat.runtime.resume(TaskId(1), &boat.session).await.unwrap();
    let report = boat.task_ended(1).await;
    assert_eq!((report.attempt, report.status, report.turns), (2, TaskStatus::Partial, 4));
    assert_eq!(paid(&boat.ground, "t_001"), 9 * CALL);
    boat.idle().await;
    boat.runtime.shutdown().await;
}

#[tokio::test]
async fn a_budget_is_changed_while_the_task_waits_and_its_file_says_so() {
    let mut boat = boat_with(sonnet(), |config| config.crew.running = 1).await;
    launch(&boat, "40 turns").await.unwrap();
    launch(&boat, "2 turns").await.unwrap();
    boat.runtime.budget(TaskId(2), "+1 turn".parse().unwrap()).await.unwrap();
    assert_eq!(boat.task(2).task().unwrap().brief.budget, "3 turns".parse().unwrap());
    let refused = boat.runtime.budget(TaskId(2), "+5m".parse().unwrap()).await.unwrap_err().to_string();
    assert_eq!(refused, "t_002: it has no limit that could be raised by 5m; set one, without the +");
    let gone = boat.runtime.budget(TaskId(9), "+5m".parse().unwrap()).await.unwrap_err();
    assert_eq!(gone, ControlError::NoSuchTask(TaskId(9)));
    assert_eq!(boat.task_ended(2).await.turns, 3);
    boat.idle().await;
    boat.runtime.shutdown().await;
}

#[tokio::test]
async fn a_task_costs_no_more_than_its_budget_with_three_of_its_own() {
    let boat = boat_with(sonnet(), |config| config.crew.depth = 2).await;
    let lead = Brief { body: "Lead three.".to_owned(), ..brief("$0.50") };
    boat.runtime.dispatch(&boat.session, lead).await.unwrap();
    boat.idle().await;
    let costs = ["t_001", "t_002", "t_003", "t_004"].map(|task| paid(&boat.ground, task));
    assert!(costs.iter().all(|cost| *cost > 0), "{costs:?}");
    let all: u64 = costs.iter().sum();
    assert!((400_000_000..=500_000_000).contains(&all), "{costs:?}");
    for number in 1..=4 {
        assert_eq!(boat.status(number).await, TaskStatus::Partial);
    }
    assert_eq!(boat.task(3).task().unwrap().brief.parent, Some(TaskId(1)));
    boat.runtime.shutdown().await;
}

#[tokio::test]
async fn raises_while_a_task_begins_and_works_are_all_there_in_its_file_and_in_its_account() {
    let mut boat = boat_with(sonnet(), |config| config.crew.running = 1).await;
    launch(&boat, "2 turns").await.unwrap();
    launch(&boat, "3 turns").await.unwrap();
    let raises = (0..20).map(|_| boat.runtime.budget(TaskId(2), "+1 turn".parse().unwrap()));
    let raised = futures_util::future::join_all(raises).await;
    assert!(raised.iter().all(Result::is_ok), "{raised:?}");
    assert!(boat.task_ended(2).await.turns <= 23);
    assert_eq!(boat.task(2).task().unwrap().brief.budget, "23 turns".parse().unwrap());
    boat.idle().await;
    boat.runtime.shutdown().await;
}

#[tokio::test]
async fn a_run_as_a_whole_sums_up_when_its_money_is_spent() {
    let mut boat = boat_with(sonnet(), |config| config.whole = "$0.03".parse().unwrap()).await;
    assert_eq!(boat.answer("hello").await, "noted");
    let run = boat.say("and now").await;
    let ending = boat.run_ended(run).await;
    let Ending::BudgetSpent { what, answer } = ending else { panic!("{ending:?}") };
    assert_eq!((what.as_str(), answer.as_str()), ("$0.0110 of $0.03 for this run", "noted"));
    let run = boat.say("more").await;
    assert!(matches!(boat.run_ended(run).await, Ending::BudgetSpent { .. }));
    assert!(boat.runtime.status(&boat.session).await.unwrap().bill.total().spent.known <= Usd(30_000_000));
    boat.runtime.shutdown().await;
}
