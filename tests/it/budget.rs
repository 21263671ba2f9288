//! Budgets as people write them, and as they stand in frontmatter.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tillerman::message::{Budget, Change, Usd};

fn usd(dollars: f64) -> Option<Usd> {
    Usd::from_dollars(dollars)
}

#[test]
fn a_budget_is_read_as_people_write_it() {
    let read = |text: &str| text.parse::<Budget>().map_err(|error| error.to_string());
    let all = Budget { usd: usd(0.5), tokens: Some(400_000), time: Some(Duration::from_secs(1_200)), turns: Some(40) };
    for text in ["$0.50 400k 20m 40 turns", "0.50, 400000 tokens, 20 minutes, 40t", "40 turns 1200s 0.4M $.5"] {
        assert_eq!(read(text), Ok(all), "{text}");
    }
    assert_eq!(read("2"), Ok(Budget { usd: usd(2.0), ..Budget::default() }));
    assert_eq!(read("1h"), Ok(Budget { time: Some(Duration::from_secs(3_600)), ..Budget::default() }));
    for (text, named) in [
        ("lots", "lots"),
        ("-1", "-1"),
        ("$0", "$0"),
        ("0 turns", "0"),
        ("", ""),
        ("20m lots", "lots"),
        ("1e9", "1e9"),
        ("NaN", "NaN"),
        ("99999999999999999999k", "99999999999999999999k"),
    ] {
        let expected = format!("`{named}` is no budget; write it like $0.50, 400k tokens, 20m or 40 turns");
        assert_eq!(read(text), Err(expected), "{text}");
    }
}

#[test]
fn frontmatter_holds_a_budget_and_gives_it_back() {
    let value = json!({"usd": 0.5, "tokens": "400k", "minutes": 20, "turns": 40});
    let budget = Budget::read(&value).unwrap();
    assert_eq!(budget.value(), json!({"usd": 0.5, "tokens": 400_000, "minutes": 20, "turns": 40}));
    assert_eq!(budget.to_string(), "$0.5000 400k tokens 20m 40 turns");
    assert_eq!(Budget::read(&json!(0.25)), "$0.25".parse());
    assert_eq!((Budget::read(&Value::Null), Budget::default().value()), (Ok(Budget::default()), Value::Null));
    for (value, named) in
        [(json!({"usd": -1}), "usd: -1"), (json!({"tokens": "lots"}), "tokens: lots"), (json!({"gold": 1}), "gold: 1")]
    {
        assert!(
            Budget::read(&value).unwrap_err().to_string().starts_with(&format!("`{named}` is no budget")),
            "{value}"
        );
    }
}

#[test]
fn an_order_raises_or_sets_what_it_names() {
    let half: Budget = "$0.50 40 turns".parse().unwrap();
    let changed = |order: &str| half.changed(order.parse::<Change>().unwrap()).to_string();
    assert_eq!(changed("+0.25"), "$0.7500 40 turns");
    assert_eq!(changed("+5m 10k"), "$0.5000 40 turns", "what is not limited stays so");
    assert_eq!(changed("20m"), "$0.5000 20m 40 turns");
    assert_eq!(changed("+ 10 turns"), "$0.5000 50 turns");
}

proptest! {
    #[test]
    fn no_text_breaks_it(text in "[ $+.,0-9a-zA-Zµ€-]{0,40}") {
        let _ = text.parse::<Change>();
        if let Ok(budget) = text.parse::<Budget>() {
            prop_assert_eq!(Budget::read(&budget.value()), Ok(budget));
        }
    }
}
