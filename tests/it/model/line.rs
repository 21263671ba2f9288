//! What all wire formats share: settings, money, and whole replies where streams do not work.

use serde_json::json;
use tillerman::message::{Message, Usage, Usd};
use tillerman::model::catalog::Settings;
use tillerman::model::http::Timeouts;
use tillerman::model::provider::Effort;
use tillerman::model::{Delta, Stop};

use super::talk::{ALL, ANTHROPIC, Ask, CHAT, RESPONSES, event, id_of, model, models, opened};
use crate::server::{Captured, Response, Server, says};

const REFUSAL: &str = r#"{"error": {"type": "invalid_request_error", "message": "Your organization may not stream"}}"#;

/// Whether each request asked for a stream.
fn streamed(server: &Server) -> Vec<bool> {
    server.requests().iter().map(Captured::streams).collect()
}

#[tokio::test]
async fn settings_reach_the_request_in_the_words_of_the_provider() {
    let server = Server::list([says().text("ok"), says().text("ok"), says().text("ok")]);
    let settings = Settings { temperature: Some(0.7), effort: Some(Effort::Low), ..Settings::default() };
    let models = models(&server, Timeouts::default()).with_settings(settings);
    for id in ["anthropic/claude-sonnet-4-6", "anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-5-5"] {
        Ask::new([Message::user("hi")]).send(&models.get(&id_of(id)).unwrap()).await.0.unwrap();
    }
    let asked = server.requests().iter().map(|request| request.body.clone()).collect::<Vec<_>>();
    let seen = |at: usize| [&asked[at]["temperature"], &asked[at]["output_config"], &asked[at]["thinking"]["type"]];
    assert_eq!(seen(0), [&json!(0.7), &json!({"effort": "low"}), &json!("adaptive")]);
    assert_eq!(seen(1), [&json!(0.7), &json!(null), &json!(null)]);
    // One that refuses a temperature does not get it.
    assert_eq!(seen(2), [&json!(null), &json!({"effort": "low"}), &json!("adaptive")]);
}

#[tokio::test]
async fn a_reply_says_what_it_cost_or_that_nobody_knows() {
    let usage = Usage { input: 1_000_000, output: 100_000, ..Usage::default() };
    let server = Server::answer(move |_| says().text("ok").usage(usage.input, 0, usage.output).into());
    let mut costs = Vec::new();
    for id in ["anthropic/claude-sonnet-5-5", "anthropic/claude-nobody-knows"] {
        costs.push(Ask::new([Message::user("hi")]).send(&model(&server, id)).await.0.unwrap().cost);
    }
    assert_eq!(costs, [Usd::from_dollars(3.0), None]);
}

/// S0-27: a provider that refuses to stream is asked for whole replies from then on.
#[tokio::test]
async fn a_server_that_refuses_to_stream_is_asked_for_whole_replies() {
    for id in ALL {
        let server = Server::answer(|request| match request.streams() {
            true => Response::status(400, REFUSAL),
            false => says().text("whole").into(),
        });
        let model = model(&server, id);
        for _ in 0..2 {
            let (reply, deltas) = Ask::new([Message::user("hi")]).send(&model).await;
            assert_eq!(reply.unwrap().message, Message::assistant("whole"), "{id}");
            assert!(!deltas.iter().any(|delta| matches!(delta, Delta::Retrying { .. })), "{id}");
        }
        assert_eq!(streamed(&server), [true, false, false], "{id}");
    }
}

/// S0-27: what is no fault of the API, a stream that nobody can read, falls back too; and streams are tried again later.
#[tokio::test]
async fn a_stream_that_cannot_be_read_is_asked_for_whole() {
    for id in ALL {
        let broken = opened(id).send(event(id, "{not json"));
        let server = Server::list([broken, says().text("whole").into(), says().text("more").into()]);
        let model = model(&server, id);
        for expected in ["whole", "more"] {
            let reply = Ask::new([Message::user("hi")]).send(&model).await.0.unwrap();
            assert_eq!(reply.message, Message::assistant(expected), "{id}");
        }
        assert_eq!(streamed(&server), [true, false, true], "{id}");
    }
}

/// A39.
#[tokio::test]
async fn a_pause_is_told_as_one() {
    let server = Server::list([says().text("one moment").stop("pause_turn")]);
    let reply = Ask::new([Message::user("hi")]).send(&model(&server, ANTHROPIC)).await.0.unwrap();
    assert_eq!((reply.message, reply.stop), (Message::assistant("one moment"), Stop::Paused));
}

/// An account that may not see summaries of reasoning is answered without them.
#[tokio::test]
async fn a_call_that_is_refused_for_two_reasons_heeds_both() {
    let refusal = |what: &str| {
        let message = format!("Your organization must be verified to {what}.");
        Response::status(400, &json!({"error": {"type": "invalid_request_error", "message": message}}).to_string())
    };
    let whole = json!({"object": "response", "status": "completed", "output": [{"type": "message", "id": "m",
        "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}]});
    let server = Server::answer(move |request| match &request.body {
        body if !body["reasoning"]["summary"].is_null() => refusal("generate reasoning summaries"),
        body if body["stream"] == true => refusal("stream this model"),
        _ => Response::status(200, &whole.to_string()),
    });
    let model = model(&server, RESPONSES);
    for requests in [3, 4] {
        let reply = Ask::new([Message::user("hi")]).send(&model).await.0.unwrap();
        assert_eq!((reply.message, server.requests().len()), (Message::assistant("ok"), requests));
    }
}

#[tokio::test]
async fn a_summary_that_is_refused_is_not_asked_for_again() {
    let server = Server::answer(|request| match request.body["reasoning"]["summary"].is_null() {
        true => says().text("ok").into(),
        false => Response::status(
            400,
            r#"{"error": {"type": "invalid_request_error", "message": "Your organization must be verified to generate reasoning summaries."}}"#,
        ),
    });
    let settings = Settings { effort: Some(Effort::Low), ..Settings::default() };
    let models = models(&server, Timeouts::default()).with_settings(settings);
    let model = models.get(&id_of(RESPONSES)).unwrap();
    for _ in 0..2 {
        let reply = Ask::new([Message::user("hi")]).send(&model).await.0.unwrap();
        assert_eq!(reply.message, Message::assistant("ok"));
    }
    let asked: Vec<serde_json::Value> =
        server.requests().iter().map(|request| request.body["reasoning"].clone()).collect();
    let [with, without] = [json!({"summary": "auto", "effort": "low"}), json!({"effort": "low"})];
    assert_eq!(asked, [with, without.clone(), without]);
    // Agents may share a model, and be refused side by side before one of them has heard of it.
    let (model, ask) = (models.get(&id_of(RESPONSES)).unwrap(), Ask::new([Message::user("hi")]));
    for (reply, _) in futures_util::future::join_all((0..3).map(|_| ask.send(&model))).await {
        assert_eq!(reply.unwrap().message, Message::assistant("ok"));
    }
}

/// An old llama.cpp streams, but not where tools are on offer, and calls that its own fault.
#[tokio::test]
async fn a_server_that_cannot_stream_calls_is_asked_for_whole_replies() {
    let server = Server::answer(|request| match request.streams() {
        true => Response::status(500, r#"{"error": {"code": 500, "message": "Cannot use tools with stream"}}"#),
        false => says().text("whole").into(),
    });
    let reply = Ask::new([Message::user("hi")]).send(&model(&server, CHAT)).await.0.unwrap();
    assert_eq!((reply.message, streamed(&server)), (Message::assistant("whole"), vec![true, false]));
}
