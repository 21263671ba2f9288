//! Days: when one ends for whom, and what goes over into the next. The clock is ours and nobody waits for it.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tillerman::ledger::{Clock, Leave, Ledger, Sums};
use tillerman::message::Budget;
use tokio::time::advance;

use super::{about, budget, cents, opening, pay, task};

/// Central Europe, whether the machine has a list of zones or not.
const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

/// A clock that shows what it is set to.
#[derive(Clone)]
struct Wall(Arc<Mutex<Timestamp>>);

impl Wall {
    fn at(time: &str) -> Wall {
        Wall(Arc::new(Mutex::new(time.parse().unwrap())))
    }

    fn set(&self, time: &str) {
        *self.0.lock().unwrap() = time.parse().unwrap();
    }

    fn clock(&self) -> Clock {
        let shown = self.0.clone();
        Clock::of(TimeZone::posix(BERLIN).unwrap(), move || *shown.lock().unwrap())
    }

    fn ledger(&self, folder: &Path, fleet: &str) -> Ledger {
        Ledger::open(&folder.join("ledger.jsonl"), budget(fleet), Budget::default(), self.clock())
    }
}

#[test]
fn a_program_that_runs_over_midnight_has_a_new_days_money() {
    let dir = tempfile::tempdir().unwrap();
    // Half an hour before midnight in Berlin.
    let wall = Wall::at("2026-11-20T22:30:00Z");
    let ledger = wall.ledger(dir.path(), "$1.00");
    let (goes_on, ends) = (task(&ledger, "t_001", "$0.60"), task(&ledger, "t_002", "$0.40"));
    pay(&goes_on, 20, 0);
    pay(&ends, 30, 0);
    ledger.close("t_002");
    assert!(ledger.dispatch(&opening("t_003", budget("$0.20"))).is_err(), "30 are used and 60 set aside");
    wall.set("2026-11-20T22:59:59Z");
    assert_eq!((ledger.fleet().spent.usd, ledger.fleet().engaged.usd), (cents(50), cents(90)));
    wall.set("2026-11-20T23:00:00Z");
    assert_eq!((ledger.fleet().spent.usd, ledger.fleet().engaged.usd), (cents(0), cents(40)), "what it may still use");
    let third = task(&ledger, "t_003", "$0.60");
    pay(&goes_on, 10, 0);
    pay(&third, 5, 0);
    assert_eq!((ledger.fleet().spent.usd, ledger.fleet().engaged.usd), (cents(15), cents(100)));
    assert_eq!(goes_on.balance().unwrap().spent.usd, cents(30), "a task's own sum knows no days");
    // Another program of the new day knows the same.
    assert_eq!(wall.ledger(dir.path(), "$1.00").fleet().spent.usd, cents(15));
    // Who sets the clock back gets no second day of it.
    wall.set("2026-11-20T22:00:00Z");
    assert_eq!(ledger.fleet().spent.usd, cents(15));
}

#[test]
fn a_call_under_way_at_midnight_counts_on_the_day_of_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let wall = Wall::at("2026-11-20T22:59:00Z");
    let ledger = wall.ledger(dir.path(), "$1.00");
    let account = ledger.dispatch(&opening("t_001", Budget::default())).unwrap();
    assert_eq!(account.admit(about(20, 0), about(15, 0)), Leave::Call);
    wall.set("2026-11-20T23:01:00Z");
    assert_eq!(ledger.fleet().engaged.usd, cents(35), "it is set aside still");
    pay(&account, 25, 0);
    assert_eq!(ledger.fleet().spent.usd, cents(25));
    assert_eq!(wall.ledger(dir.path(), "$1.00").fleet().spent.usd, cents(25));
}

#[test]
fn days_of_23_and_of_25_hours_end_at_midnight() {
    // The first second of a day in Berlin, its last one, and the first one behind it.
    for (first, last, next) in [
        ("2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z"),
        ("2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z", "2026-10-25T23:00:00Z"),
        ("2026-07-01T22:00:00Z", "2026-07-02T21:59:59Z", "2026-07-02T22:00:00Z"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let wall = Wall::at(first);
        let ledger = wall.ledger(dir.path(), "$1.00");
        let account = task(&ledger, "t_001", "$0.60");
        pay(&account, 20, 0);
        for (time, spent) in [(last, 20), (next, 0)] {
            wall.set(time);
            assert_eq!(ledger.fleet().spent.usd, cents(spent), "{time}");
            assert_eq!(wall.ledger(dir.path(), "$1.00").fleet().spent.usd, cents(spent), "{time}, read anew");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn time_before_midnight_is_yesterdays() {
    let dir = tempfile::tempdir().unwrap();
    let wall = Wall::at("2026-11-20T22:59:00Z");
    let ledger = wall.ledger(dir.path(), "10m");
    let account = ledger.dispatch(&opening("t_001", Budget::default())).unwrap();
    let _work = account.at_work();
    advance(Duration::from_secs(500)).await;
    assert_eq!(account.time_left(), Some(Duration::from_secs(100)));
    wall.set("2026-11-20T23:00:00Z");
    assert_eq!(account.time_left(), Some(Duration::from_secs(600)));
    advance(Duration::from_secs(60)).await;
    assert_eq!(account.time_left(), Some(Duration::from_secs(540)));
    assert_eq!(ledger.fleet().spent, Sums { time: Duration::from_secs(60), ..Sums::default() });
    assert_eq!(account.balance().unwrap().spent.time, Duration::from_secs(560));
}
