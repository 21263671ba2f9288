//! What is said and what it costs: sums that hide nothing.

use tillerman::message::{Bill, Spent, Tally, Usage, Usd};

fn usage(input: u64, output: u64) -> Usage {
    Usage { input, output, cache_read: input, cache_write: 1, reasoning: output / 2 }
}

#[test]
fn a_sum_says_what_is_missing_in_it() {
    type Case = (&'static [Option<Usd>], &'static str, Option<f64>);
    let cases: [Case; 6] = [
        (&[], "$0", Some(0.0)),
        (&[Some(Usd(0))], "$0", Some(0.0)),
        (&[Some(Usd(12_300_000)), Some(Usd(100_000))], "$0.0124", Some(0.0124)),
        (&[None], "unknown price", None),
        (&[None, Some(Usd(2_500_000_000))], "$2.50 + 1 call of unknown price", Some(2.5)),
        (&[None, Some(Usd(1)), None], "<$0.0001 + 2 calls of unknown price", Some(1e-9)),
    ];
    for (calls, shown, dollars) in cases {
        let mut spent = Spent::default();
        calls.iter().for_each(|cost| spent.call(*cost));
        assert_eq!((spent.to_string().as_str(), spent.dollars()), (shown, dollars), "{calls:?}");
    }
}

#[test]
fn a_bill_has_a_line_for_each_model_in_the_order_of_their_first_call() {
    let mut bill = Bill::default();
    bill.call("a/big", usage(10, 4), Some(Usd(7)));
    bill.call("b/small", usage(1, 2), None);
    bill.call("a/big", usage(100, 40), Some(Usd(70)));
    let lines: Vec<(&str, Tally)> = bill.models().map(|(model, tally)| (model, *tally)).collect();
    let big = Usage { input: 110, output: 44, cache_read: 110, cache_write: 2, reasoning: 22 };
    let expected = [
        ("a/big", Tally { calls: 2, usage: big, spent: Spent { known: Usd(77), unknown: 0 } }),
        ("b/small", Tally { calls: 1, usage: usage(1, 2), spent: Spent { known: Usd(0), unknown: 1 } }),
    ];
    assert_eq!(lines, expected);
    let mut twice = bill.clone();
    twice.add(&bill);
    assert_eq!(twice.total().calls, 6);
    assert_eq!(twice.total().since(bill.total()), bill.total(), "what came after");
}
