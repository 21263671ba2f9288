//! Limits of time: counted while a task is at work, and told the moment they are reached.

use std::time::Duration;

use tillerman::ledger::{Leave, Sums};
use tillerman::message::Budget;
use tokio::time::{Instant, advance, timeout};

use super::{change, fleet, opening, task, unlimited};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const NONE: Sums = Sums { usd: tillerman::message::Usd(0), tokens: 0, time: Duration::ZERO, turns: 0 };

#[tokio::test(start_paused = true)]
async fn only_time_at_work_counts() {
    let ledger = unlimited();
    let account = task(&ledger, "t_001", "20m");
    advance(secs(3_600)).await;
    let work = account.at_work();
    advance(secs(300)).await;
    drop(work);
    advance(secs(3_600)).await;
    assert_eq!(account.time_left(), Some(secs(900)));
    assert_eq!(ledger.balance("t_001").unwrap().spent.time, secs(300));
    assert_eq!(ledger.fleet().spent.time, secs(300));
    let last = Sums { time: secs(30), ..NONE };
    assert_eq!(account.admit(Sums { time: secs(870), ..NONE }, last), Leave::Call);
    let leave = account.admit(Sums { time: secs(871), ..NONE }, last);
    assert_eq!(leave, Leave::SumUp { what: "5m of 20m".to_owned() });
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_time_is_told_when_it_comes_and_a_raise_puts_it_off() {
    let ledger = unlimited();
    let account = task(&ledger, "t_001", "10m");
    let _work = account.at_work();
    let since = Instant::now();
    let (watched, raised) = (account.clone(), ledger.clone());
    let raise = async move {
        tokio::time::sleep(secs(500)).await;
        raised.change("t_001", change("+5m")).unwrap();
    };
    let (what, ()) = tokio::join!(watched.time_up(secs(30), Duration::ZERO), raise);
    assert_eq!((what.as_str(), since.elapsed()), ("15m of 15m", secs(870)));
    assert_eq!(account.time_up(Duration::ZERO, secs(10)).await, "15m of 15m");
    assert_eq!(since.elapsed(), secs(910));
}

#[tokio::test(start_paused = true)]
async fn tasks_of_a_fleet_use_its_time_up_together() {
    let ledger = fleet("10m");
    let open = |name: &str| ledger.dispatch(&opening(name, Budget::default())).unwrap();
    let (first, second) = (open("t_001"), open("t_002"));
    let since = Instant::now();
    let _first = first.at_work();
    let later = async {
        tokio::time::sleep(secs(200)).await;
        let _second = second.at_work();
        second.time_up(Duration::ZERO, Duration::ZERO).await
    };
    let (one, two) = tokio::join!(first.time_up(Duration::ZERO, Duration::ZERO), later);
    assert_eq!(one, two);
    assert_eq!(one, "10m of 10m for all tasks of a day");
    // 200 s alone, then 400 s of work for two.
    assert_eq!(since.elapsed(), secs(400));
}

#[tokio::test(start_paused = true)]
async fn who_has_no_limit_of_time_is_never_told() {
    let ledger = unlimited();
    let account = task(&ledger, "t_001", "$1.00");
    let _work = account.at_work();
    assert_eq!(account.time_left(), None);
    assert!(timeout(secs(1_000_000), account.time_up(Duration::ZERO, Duration::ZERO)).await.is_err());
    let limited = async {
        tokio::time::sleep(secs(1)).await;
        ledger.change("t_001", change("2000000s")).unwrap();
    };
    let (what, ()) = tokio::join!(account.time_up(Duration::ZERO, Duration::ZERO), limited);
    assert_eq!(what, "555h 33m of 555h 33m");
}
