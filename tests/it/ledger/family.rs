//! Tasks of a task: what they use or have set aside of money and tokens, the one that asked for them has not.

use tillerman::ledger::{Account, Clock, Leave, Ledger, Opening};
use tillerman::message::Budget;

use super::{about, budget, cents, change, fleet, opening, pay, sum_up, unlimited};

fn of(task: &str, limits: &str, parent: &Opening) -> Opening {
    let limits = if limits.is_empty() { Budget::default() } else { budget(limits) };
    Opening { parent: Some(Box::new(parent.clone())), ..opening(task, limits) }
}

/// Pays for calls of ten cents until none is admitted; answers how many cents that were.
fn work(account: &Account) -> u64 {
    let mut spent = 0;
    loop {
        let leave = account.admit(about(10, 0), about(5, 0));
        let price = match leave {
            Leave::Call => 10,
            Leave::SumUp { .. } => 5,
            Leave::Nothing { .. } => return spent,
        };
        pay(account, price, 0);
        spent += price;
        if price == 5 {
            account.release();
            return spent;
        }
    }
}

#[test]
fn a_task_spends_no_more_than_its_budget_through_three_of_its_own() {
    let ledger = unlimited();
    let parent = opening("t_001", budget("$0.50"));
    let account = ledger.dispatch(&parent).unwrap();
    pay(&account, 10, 0);
    let children = ["t_002", "t_003", "t_004"].map(|task| ledger.dispatch(&of(task, "", &parent)).unwrap());
    let spent: Vec<u64> = children.iter().map(work).collect();
    assert_eq!(spent.iter().sum::<u64>(), 40, "{spent:?}");
    assert_eq!(ledger.balance("t_001").unwrap().spent.usd, cents(50));
    assert!(matches!(account.admit(about(1, 0), about(1, 0)), Leave::Nothing { .. }));
}

#[test]
fn a_child_sets_its_budget_aside_and_gives_back_what_is_left() {
    // A day that has all its money set aside for one task.
    let ledger = fleet("$0.50");
    let parent = opening("t_001", budget("$0.50"));
    let account = ledger.dispatch(&parent).unwrap();
    let first = ledger.dispatch(&of("t_002", "$0.20", &parent)).unwrap();
    let second = ledger.dispatch(&of("t_003", "$0.20", &parent)).unwrap();
    assert_eq!(ledger.fleet().engaged.usd, cents(50), "set aside once");
    let refused = ledger.dispatch(&of("t_004", "$0.20", &parent)).err().unwrap().to_string();
    assert!(refused.starts_with("only $0.10 is left of $0.50 of t_001, and $0.20 was to be set aside"), "{refused}");
    let refused = ledger.change("t_003", change("+0.11")).unwrap_err().to_string();
    assert!(refused.starts_with("only $0.10 is left of $0.50 of t_001"), "{refused}");
    assert_eq!(account.admit(about(10, 0), about(5, 0)), sum_up("$0.40 of $0.50"));
    account.release();
    pay(&first, 5, 0);
    ledger.close("t_002");
    assert_eq!(account.admit(about(10, 0), about(5, 0)), Leave::Call, "15 cents came back");
    account.release();
    pay(&second, 20, 0);
    ledger.close("t_003");
    assert_eq!(ledger.balance("t_001").unwrap().spent.usd, cents(25));
    assert_eq!((ledger.fleet().spent.usd, ledger.fleet().engaged.usd), (cents(25), cents(50)));
    ledger.close("t_001");
    assert_eq!((ledger.fleet().spent.usd, ledger.fleet().engaged.usd), (cents(25), cents(25)));
}

#[test]
fn the_limit_holds_for_children_when_the_parent_is_over_and_for_theirs() {
    let ledger = unlimited();
    let parent = opening("t_001", budget("$0.50"));
    pay(&ledger.dispatch(&parent).unwrap(), 10, 0);
    let child = of("t_002", "", &parent);
    let account = ledger.dispatch(&child).unwrap();
    ledger.close("t_001");
    assert!(ledger.balance("t_001").is_none());
    let below = ledger.dispatch(&of("t_003", "", &child)).unwrap();
    assert_eq!(account.admit(about(10, 0), about(30, 0)), Leave::Call);
    assert_eq!(below.admit(about(1, 0), about(1, 0)), Leave::Nothing { what: "$0.50 of $0.50 of t_001".to_owned() });
    account.release();
    pay(&account, 10, 0);
    assert_eq!(work(&below), 25);
    assert_eq!(work(&account), 5);
    ledger.close("t_003");
    ledger.close("t_002");
    assert_eq!(ledger.fleet().engaged, ledger.fleet().spent, "nothing is set aside any more");
}

#[test]
fn another_program_knows_what_the_children_used() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.jsonl");
    let open = || Ledger::open(&path, Budget::default(), Budget::default(), Clock::system());
    let parent = opening("t_001", budget("$0.50"));
    let child = of("t_002", "$0.20", &parent);
    let first = open();
    pay(&first.dispatch(&parent).unwrap(), 10, 0);
    pay(&first.dispatch(&child).unwrap(), 15, 0);
    // It was killed; only the child goes on at first, and another one is asked for.
    let second = open();
    let account = second.resume(&child).unwrap();
    assert_eq!(account.balance().unwrap().spent.usd, cents(15));
    assert!(second.dispatch(&of("t_003", "$0.25", &parent)).is_err(), "25 are used, 5 set aside");
    let other = second.dispatch(&of("t_003", "$0.20", &parent)).unwrap();
    assert_eq!(work(&other), 15);
    let parent = second.resume(&parent).unwrap();
    assert_eq!(parent.balance().unwrap().spent.usd, cents(50), "10 of its own, 20 each lent");
    second.close("t_002");
    assert_eq!(parent.balance().unwrap().spent.usd, cents(45));
    assert_eq!(open().past(&opening("t_001", budget("$0.50"))).spent.usd, cents(40));
}
