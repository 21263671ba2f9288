//! Budgets as pure sums: what is admitted, what is set aside, what outlives the program.

mod family;
mod file;
mod fold;
mod midnight;
mod time;

use jiff::Timestamp;
use tillerman::ledger::{Account, Balance, Call, Leave, Ledger, Opening, Purpose, Short, Sums};
use tillerman::message::{Budget, Change, Usage, Usd};

const CENT: u64 = 10_000_000;

fn cents(cents: u64) -> Usd {
    Usd(cents * CENT)
}

fn budget(text: &str) -> Budget {
    text.parse().unwrap()
}

fn change(text: &str) -> Change {
    text.parse().unwrap()
}

/// An estimate of a call.
fn about(cents: u64, tokens: u64) -> Sums {
    Sums { usd: Usd(cents * CENT), tokens, turns: 1, ..Sums::default() }
}

fn opening(task: &str, limits: Budget) -> Opening {
    let created = Timestamp::from_second(1_700_000_000).unwrap();
    Opening { task: task.to_owned(), created, agent: None, budget: limits, parent: None }
}

fn unlimited() -> Ledger {
    Ledger::in_memory(Budget::default(), Budget::default())
}

fn fleet(limits: &str) -> Ledger {
    Ledger::in_memory(budget(limits), Budget::default())
}

fn task(ledger: &Ledger, name: &str, limits: &str) -> Account {
    ledger.dispatch(&opening(name, budget(limits))).unwrap()
}

/// A call that took so much.
fn pay(account: &Account, price: u64, tokens: u64) {
    let usage = Usage { input: tokens, ..Usage::default() };
    let call =
        Call { purpose: Purpose::Turn, model: "anthropic/test", usage, cost: Some(cents(price)), estimated: false };
    account.charge(call, Sums::default());
}

fn sum_up(what: &str) -> Leave {
    Leave::SumUp { what: what.to_owned() }
}

fn nothing(what: &str) -> Leave {
    Leave::Nothing { what: what.to_owned() }
}

#[test]
fn a_call_is_admitted_only_if_one_that_sums_up_fits_behind_it() {
    let ledger = unlimited();
    for (limits, paid, leave) in [
        ("$0.50", (0, 0), Leave::Call),
        ("$0.50", (30, 0), Leave::Call),
        ("$0.50", (31, 0), sum_up("$0.31 of $0.50")),
        ("$0.50", (40, 0), sum_up("$0.40 of $0.50")),
        ("$0.50", (41, 0), nothing("$0.41 of $0.50")),
        ("$0.50", (50, 0), nothing("$0.50 of $0.50")),
        ("400k", (90, 200_000), Leave::Call),
        ("400k", (90, 250_000), sum_up("250k of 400k tokens")),
        ("400k", (90, 390_500), nothing("390k of 400k tokens")),
        ("1 turn", (0, 0), sum_up("0 of 1 turns")),
        ("2 turns", (1, 1), sum_up("1 of 2 turns")),
        ("$9.00 400k", (1, 399_999), nothing("399k of 400k tokens")),
    ] {
        let account = task(&ledger, "t_001", limits);
        if paid != (0, 0) {
            pay(&account, paid.0, paid.1);
        }
        assert_eq!(account.admit(about(10, 100_000), about(10, 100_000)), leave, "{limits} {paid:?}");
        ledger.close("t_001");
    }
}

#[test]
fn what_is_not_limited_is_always_admitted() {
    let ledger = unlimited();
    let account = ledger.dispatch(&opening("t_001", Budget::default())).unwrap();
    pay(&account, 1_000_000, u64::MAX);
    assert_eq!(account.admit(about(u64::MAX / CENT, u64::MAX), about(1, 1)), Leave::Call);
}

#[test]
fn a_dispatch_sets_its_budget_aside_and_its_end_gives_back_what_is_left() {
    let ledger = fleet("$1.00");
    let first = task(&ledger, "t_001", "$0.60");
    let refused = ledger.dispatch(&opening("t_002", budget("$0.50"))).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "only $0.40 is left of $1.00 for all tasks of a day, and $0.50 was to be set aside; ask for less, wait until other \
         tasks end, or raise the limit"
    );
    assert!(ledger.balance("t_002").is_none());
    let second = task(&ledger, "t_003", "$0.40");
    // Somebody without a budget of his own finds nothing.
    assert!(matches!(ledger.dispatch(&opening("t_004", Budget::default())), Err(Short::Pot { .. })));
    pay(&first, 20, 0);
    assert_eq!(ledger.fleet().spent.usd, cents(20));
    assert_eq!(ledger.fleet().engaged.usd, cents(100));
    ledger.close("t_001");
    assert_eq!(ledger.fleet().engaged.usd, cents(60), "20 used, 40 set aside");
    let third = task(&ledger, "t_005", "$0.40");
    assert_eq!(second.admit(about(10, 0), about(10, 0)), Leave::Call);
    assert_eq!(third.admit(about(10, 0), about(10, 0)), Leave::Call);
}

#[test]
fn tasks_without_a_budget_do_not_overdraw_the_fleet_together() {
    let ledger = fleet("$1.00");
    let open = |name: &str| ledger.dispatch(&opening(name, Budget::default())).unwrap();
    let accounts = ["t_001", "t_002", "t_003", "t_004"].map(open);
    let admitted: Vec<Leave> = accounts.iter().map(|account| account.admit(about(20, 0), about(15, 0))).collect();
    // Each keeps what its last call will take: 2 × 35, then 15, then the next finds 15.
    let what = "$0.70 of $1.00 for all tasks of a day";
    let then = "$0.85 of $1.00 for all tasks of a day";
    assert_eq!(admitted, [Leave::Call, Leave::Call, sum_up(what), sum_up(then)]);
    for account in &accounts[..2] {
        let usage = Usage::default();
        let call = Call { purpose: Purpose::Turn, model: "m", usage, cost: Some(cents(20)), estimated: false };
        account.charge(call, about(15, 0));
    }
    assert_eq!(accounts[0].admit(about(20, 0), about(15, 0)), sum_up("$0.85 of $1.00 for all tasks of a day"));
    assert_eq!(ledger.fleet().spent.usd, cents(40));
    assert_eq!(ledger.fleet().engaged.usd, cents(100));
}

#[test]
fn a_run_as_a_whole_limits_the_main_agent_and_its_tasks() {
    let ledger = Ledger::in_memory(Budget::default(), budget("$1.00"));
    let main = ledger.main("s1");
    pay(&main, 30, 0);
    let refused = ledger.dispatch(&opening("t_001", budget("$0.80"))).err().unwrap();
    assert!(refused.to_string().starts_with("only $0.70 is left of $1.00 for this run"), "{refused}");
    let worker = task(&ledger, "t_001", "$0.60");
    assert_eq!(main.admit(about(5, 0), about(5, 0)), Leave::Call);
    assert_eq!(main.admit(about(6, 0), about(5, 0)), sum_up("$0.90 of $1.00 for this run"));
    pay(&worker, 10, 0);
    ledger.close("t_001");
    assert_eq!(ledger.main("s1").admit(about(30, 0), about(30, 0)), Leave::Call);
    assert_eq!(ledger.fleet().spent.usd, cents(10), "a main agent is no part of the fleet");
    assert_eq!(ledger.whole().spent.usd, cents(40));
}

#[test]
fn a_budget_is_raised_and_set_while_the_task_goes_on() {
    let ledger = fleet("$1.00");
    let account = task(&ledger, "t_001", "$0.50");
    pay(&account, 45, 0);
    assert_eq!(account.admit(about(10, 0), about(10, 0)), nothing("$0.45 of $0.50"));
    assert_eq!(ledger.change("t_001", change("+0.25")).unwrap(), budget("$0.75"));
    assert_eq!(account.admit(about(10, 0), about(10, 0)), Leave::Call);
    let refused = ledger.change("t_001", change("+0.30")).unwrap_err();
    assert!(refused.to_string().starts_with("only $0.25 is left of $1.00"), "{refused}");
    assert_eq!(ledger.balance("t_001").unwrap().budget, budget("$0.75"), "nothing has changed");
    let refused = ledger.change("t_001", change("+5m")).unwrap_err();
    assert_eq!(refused.to_string(), "it has no limit that could be raised by 5m; set one, without the +");
    assert_eq!(ledger.change("t_001", change("$0.20 9 turns")).unwrap(), budget("$0.20 9 turns"));
    assert_eq!(account.admit(about(1, 0), about(1, 0)), nothing("$0.45 of $0.20"));
    assert_eq!(ledger.change("t_009", change("+1")).unwrap_err(), Short::Closed);
}

#[test]
fn what_is_left_is_too_little_when_two_calls_like_those_before_do_not_fit() {
    for (limits, spent, turns, short) in [
        ("$0.60", 30, 3, None),
        ("$0.60", 44, 4, Some("$0.44 of $0.60")),
        ("$0.60", 48, 40, Some("$0.48 of $0.60")),
        ("$0.60 9 turns", 30, 8, Some("8 of 9 turns")),
        ("$0.60", 0, 0, None),
    ] {
        let spent = Sums { usd: cents(spent), turns, ..Sums::default() };
        let balance = Balance { budget: budget(limits), spent, engaged: spent };
        assert_eq!(balance.short().as_deref(), short, "{limits} {spent:?}");
    }
}

#[test]
fn most_of_a_budget_is_told_once_and_again_after_a_raise() {
    let ledger = unlimited();
    let account = task(&ledger, "t_001", "$0.50 100k");
    pay(&account, 39, 0);
    assert_eq!(account.low(), None);
    pay(&account, 1, 0);
    assert_eq!(account.low().as_deref(), Some("$0.40 of $0.50"));
    pay(&account, 1, 90_000);
    assert_eq!(account.low(), None, "it is told once");
    ledger.change("t_001", change("+0.50")).unwrap();
    assert_eq!(account.low().as_deref(), Some("90k of 100k tokens"));
}
