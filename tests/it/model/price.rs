//! Money: what tokens cost at a price, what a provider says itself, and what stays unknown.

use serde_json::{Value, json};
use tillerman::message::{Message, Usage, Usd};
use tillerman::model::price::{Above, Price};
use tillerman::model::provider::Wire;

use super::talk::{Ask, model};
use crate::server::{Response, Server, says};

fn plain(input: f64, output: f64) -> Price {
    Price { input, output, cache_read: None, cache_write: None, above: None }
}

/// A million of each kind, so that the dollars of a price are the dollars of the sum.
fn usage(input: u64, cache_read: u64, cache_write: u64, output: u64) -> Usage {
    let million = |tokens: u64| tokens * 1_000_000;
    let (input, output, reasoning) = (million(input), million(output), million(output) / 2);
    Usage { input, output, cache_read: million(cache_read), cache_write: million(cache_write), reasoning }
}

fn dollars(dollars: f64) -> Option<Usd> {
    Usd::from_dollars(dollars)
}

#[test]
fn each_kind_of_token_has_its_price_and_reasoning_is_output() {
    let full = Price { cache_read: Some(0.3), cache_write: Some(4.0), ..plain(3.0, 15.0) };
    let whole = [usage(1, 0, 0, 0), usage(0, 1, 0, 0), usage(0, 0, 1, 0), usage(0, 0, 0, 1), usage(1, 2, 3, 4)];
    assert_eq!(whole.map(|u| full.of(&u)), [3.0, 0.3, 4.0, 15.0, 3.0 + 0.6 + 12.0 + 60.0].map(dollars));
    let three = Usage { input: 3, output: 1, ..Usage::default() };
    assert_eq!(full.of(&three), Some(Usd(9_000 + 15_000)), "24 millionths of a dollar");
}

#[test]
fn what_a_price_does_not_say_costs_as_other_input_and_at_anthropic_a_quarter_more_to_keep() {
    let bare = plain(4.0, 20.0);
    let cached = usage(0, 1, 1, 0);
    assert_eq!(bare.of(&cached), dollars(8.0));
    assert_eq!(bare.clone().at(Wire::Chat).of(&cached), dollars(8.0));
    assert_eq!(bare.clone().at(Wire::Anthropic).of(&cached), dollars(4.0 + 5.0));
    let known = Price { cache_write: Some(6.0), ..bare };
    assert_eq!(known.at(Wire::Anthropic).of(&cached), dollars(4.0 + 6.0), "what is written down goes before it");
}

#[test]
fn a_long_input_may_have_a_price_of_its_own() {
    let above = Above { tokens: 200_000, input: 2.0, output: 10.0, cache_read: Some(1.0), cache_write: None };
    let price = Price { above: Some(above), ..plain(1.0, 5.0) }.at(Wire::Anthropic);
    let long = Usage { input: 1, cache_read: 100_000, cache_write: 100_000, output: 10, reasoning: 0 };
    assert_eq!(price.of(&long), dollars((2.0 + 100_000.0 + 250_000.0 + 100.0) / 1e6), "all of it costs that");
    let chatty = Usage { input: 200_000, output: 1_000_000, ..Usage::default() };
    assert_eq!(price.of(&chatty), dollars(0.2 + 5.0), "output makes no input long");
}

#[test]
fn what_was_not_counted_has_no_cost_unless_it_is_free() {
    assert_eq!(plain(1.0, 2.0).of(&Usage::default()), None);
    assert_eq!(plain(0.0, 0.0).of(&Usage::default()), Some(Usd(0)));
    assert_eq!(plain(0.0, 0.0).of(&usage(9, 9, 9, 9)), Some(Usd(0)));
    let absurd = Usage { input: u64::MAX, ..Usage::default() };
    assert_eq!(plain(10_000.0, 0.0).of(&absurd), None, "a sum that no account holds");
}

async fn cost(id: &str, response: impl Into<Response>) -> Option<Usd> {
    let server = Server::list([response.into()]);
    Ask::new([Message::user("hi")]).send(&model(&server, id)).await.0.unwrap().cost
}

#[tokio::test]
async fn a_call_costs_what_the_catalogue_says_local_servers_nothing_and_others_nobody_knows_what() {
    let said = || says().text("hi").usage(1_000, 10_000, 100);
    assert_eq!(cost("anthropic/claude-sonnet-5-5", said()).await, dollars(0.002 + 0.001 + 0.001));
    assert_eq!(cost("lmstudio/anything", said()).await, Some(Usd(0)));
    assert_eq!(cost("anthropic/claude-of-tomorrow", said()).await, None);
    assert_eq!(
        cost("anthropic/claude-sonnet-5-5", says().text("hi").usage(0, 0, 0)).await,
        None,
        "nothing was counted"
    );
}

/// What a router says that its call cost.
async fn told(usage: Value) -> Option<Usd> {
    let chunk = json!({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}], "usage": usage});
    cost("openrouter/any/model", Response::stream().send(format!("data: {chunk}\n\ndata: [DONE]\n\n"))).await
}

#[tokio::test]
async fn a_provider_that_sends_its_bill_has_the_last_word() {
    let bills = [
        (json!({"cost": 0.95}), dollars(0.95)),
        (json!({"cost": 0}), Some(Usd(0))),
        (
            json!({"cost": 0.0033, "is_byok": false, "cost_details": {"upstream_inference_cost": 0.0033}}),
            dollars(0.0033),
        ),
        (json!({"cost": 0.05, "is_byok": true, "cost_details": {"upstream_inference_cost": 1}}), dollars(1.05)),
        (json!({"cost": 0, "is_byok": true, "cost_details": null}), None),
        (json!({"cost_in_usd_ticks": 37_756_000}), Some(Usd(3_775_600))),
        (json!({"cost": {"total": 1}}), None),
        (json!({"cost": "0.1"}), None),
        (json!({"cost": -1}), None),
        (json!({}), None),
    ];
    for (bill, expected) in bills {
        let mut usage = json!({"prompt_tokens": 10, "completion_tokens": 5});
        usage.as_object_mut().unwrap().extend(bill.as_object().unwrap().clone());
        assert_eq!(told(usage).await, expected, "{bill}");
    }
}
