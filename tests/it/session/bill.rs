//! What the model calls of a session took, after a restart too.

use std::sync::Arc;

use tillerman::message::{Message, Spent, Tally, Usage, Usd};
use tillerman::session::{Carried, Compaction, Record, Session};

use super::damage::crc;
use super::recorded;

fn usage(input: u64) -> Usage {
    Usage { input, output: 1, ..Usage::default() }
}

fn shortened(model: Option<&str>, usage: Usage, cost: Option<Usd>) -> Record {
    let (head, carried) = (vec![Arc::new(Message::user("so far"))], Carried::default());
    let model = model.map(str::to_owned);
    Record::Compaction(Box::new(Compaction {
        head,
        carried,
        before: 9,
        after: 1,
        usage,
        cost,
        model,
        ..Compaction::default()
    }))
}

fn bill(session: &Session) -> Vec<(String, Tally)> {
    session.bill().models().map(|(model, tally)| (model.to_owned(), *tally)).collect()
}

#[test]
fn the_bill_of_a_session_is_the_same_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::create(dir.path()).unwrap();
    let says = |cost| Record::Assistant {
        message: Arc::new(Message::assistant("yes")),
        usage: usage(10),
        model: "a/big".into(),
        cost,
    };
    let why = "it said nothing".to_owned();
    let discarded = Record::Discarded { usage: usage(3), model: "b/small".into(), cost: Some(Usd(5)), why };
    let records = [
        says(Some(Usd(100))),
        says(None),
        discarded,
        shortened(Some("b/small"), usage(20), Some(Usd(7))),
        // Nobody was asked for this one.
        shortened(None, Usage::default(), Some(Usd(0))),
    ];
    for record in records {
        session.append(record).unwrap();
    }
    let of = |calls, usage, known, unknown| Tally { calls, usage, spent: Spent { known: Usd(known), unknown } };
    let big = Usage { input: 20, output: 2, ..Usage::default() };
    let small = Usage { input: 23, output: 2, ..Usage::default() };
    let expected = [("a/big".to_owned(), of(2, big, 100, 1)), ("b/small".to_owned(), of(2, small, 12, 0))];
    assert_eq!(bill(&session), expected);
    let path = session.path().unwrap().to_owned();
    drop(session);
    assert_eq!(bill(&Session::open(&path).unwrap()), expected);
}

#[test]
fn calls_that_an_early_version_wrote_down_without_a_cost_have_an_unknown_price() {
    let dir = tempfile::tempdir().unwrap();
    let path = recorded(dir.path());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(r#","cost":null"#));
    let body = |line: &str| line[..line.len() - r#","crc":"00000000"}"#.len()].replace(r#","cost":null"#, "");
    let old: String = text.lines().map(|line| crc(&body(line))).collect();
    std::fs::write(&path, old).unwrap();
    let session = Session::open(&path).unwrap();
    assert!(session.damage().is_empty(), "{:?}", session.damage());
    let total = session.bill().total();
    assert_eq!((total.calls, total.spent), (4, Spent { known: Usd(0), unknown: 4 }));
}
