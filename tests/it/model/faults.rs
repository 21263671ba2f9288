//! What providers and networks do wrong, by effect: kind of fault, number of requests, what a person reads.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tillerman::message::Message;
use tillerman::model::catalog::Models;
use tillerman::model::http::Timeouts;
use tillerman::model::{Delta, Fault, Model, ModelError, Reply, Stop};

use super::talk::{ALL, ANTHROPIC, Ask, CHAT, KEY, OLLAMA, end, event, id_of, model, models, opened, stream, told};
use crate::server::{Response, Server, says};

/// Asks once, in real time.
async fn ask(server: &Server, id: &str) -> (Result<Reply, ModelError>, Vec<Delta>) {
    Ask::new([Message::user("hi")]).send(&model(server, id)).await
}

/// The fault of a model whose server answers the same to every request, and how many requests there were.
async fn fault(id: &str, response: Response) -> (ModelError, usize) {
    let server = Server::answer(move |_| response.clone());
    let error = ask(&server, id).await.0.expect_err("a fault");
    (error, server.requests().len())
}

fn error_body(kind: &str, message: &str) -> String {
    json!({"type": "error", "error": {"type": kind, "message": message}}).to_string()
}

/// A01, A02, A03, A04, A05, A07.
#[tokio::test]
async fn faults_that_a_person_must_solve_end_at_once() {
    let cases = [
        (401, error_body("authentication_error", "invalid x-api-key"), Fault::Auth),
        (403, error_body("permission_error", "no"), Fault::Auth),
        (400, error_body("invalid_request_error", "API key not valid"), Fault::Auth),
        (402, String::new(), Fault::Billing),
        (429, json!({"error": {"code": "insufficient_quota", "message": "You exceeded"}}).to_string(), Fault::Billing),
        (400, error_body("invalid_request_error", "Your credit balance is too low"), Fault::Billing),
        (404, error_body("not_found_error", "model: x"), Fault::NoSuchModel),
        (400, error_body("invalid_request_error", "temperature: no"), Fault::BadRequest),
        (422, "[{\"error\": {\"message\": \"listed\"}}]".to_owned(), Fault::BadRequest),
        (413, error_body("request_too_large", "too big"), Fault::Overflow),
        (501, String::new(), Fault::BadRequest),
        (302, String::new(), Fault::BadRequest),
    ];
    for (status, body, expected) in cases {
        for id in ALL {
            let (error, requests) = fault(id, Response::status(status, &body)).await;
            assert_eq!((error.fault, requests), (expected, 1), "{id} {status} {body}: {error}");
        }
    }
}

/// A01, A02, A03.
#[tokio::test]
async fn a_fault_names_what_to_do_and_never_the_key() {
    let echo = format!("bad key {KEY} in {}", "x".repeat(5000) + KEY);
    let variables = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "it wants a key"];
    for (id, variable) in ALL.into_iter().zip(variables) {
        let (error, _) = fault(id, Response::status(401, &error_body("authentication_error", &echo))).await;
        assert!(error.message.contains(variable) && error.message.contains("127.0.0.1"), "{error}");
        // Ollama got no key that it could tell.
        assert!(id == OLLAMA || !format!("{error:?}").contains(KEY), "{error}");
        assert!(error.message.len() < 2300, "{}", error.message.len());
        let (error, _) = fault(id, Response::status(404, "{}")).await;
        assert!(error.message.contains(&id_of(id).model), "{error}");
    }
    let (error, _) = fault(ANTHROPIC, Response::with(307, &[("location", "https://evil.example/v1")], "")).await;
    assert!(error.message.contains("redirects to https://evil.example/v1"), "{error}");
    let (error, _) =
        fault(ANTHROPIC, Response::with(200, &[("content-type", "text/html")], "<html>Sign in</html>")).await;
    assert_eq!(error.fault, Fault::BadRequest);
    assert!(error.message.contains("a web page; is the base URL right?"), "{error}");
}

#[tokio::test]
async fn a_placeholder_instead_of_a_key_leaves_words_alone() {
    let server = Server::answer(|_| {
        Response::status(401, &error_body("authentication_error", "no token; ask the token office"))
    });
    let url = server.base_url();
    let env = |name: &str| match name {
        "ANTHROPIC_API_KEY" => Some("k".to_owned()),
        "ANTHROPIC_BASE_URL" => Some(url.clone()),
        _ => None,
    };
    let model = Models::from_env(&env).unwrap().get(&id_of(ANTHROPIC)).unwrap();
    let error = Ask::new([Message::user("hi")]).send(&model).await.0.expect_err("a fault");
    let expected = "401 from 127.0.0.1: no token; ask the token office; check the key in ANTHROPIC_API_KEY";
    assert_eq!(error.message, expected);
}

#[tokio::test]
async fn a_gateways_page_is_named_by_its_title() {
    let page = "<!doctype html><html><head><title>404\n Not Here</title></head><body>long story</body></html>";
    let (error, _) = fault(ANTHROPIC, Response::with(400, &[("content-type", "text/html")], page)).await;
    assert_eq!(error.message, "400 from 127.0.0.1: a web page, 404 Not Here");
}

#[tokio::test]
async fn a_server_that_takes_no_tools_is_known_by_its_text_and_asked_once() {
    let texts = [
        (400, "registry.ollama.ai/library/gemma3:270m does not support tools"),
        (500, "tools param requires --jinja flag"),
        (500, "Unsupported param: tools"),
        (400, "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"),
        (404, "No endpoints found that support tool use. To learn more about provider routing, visit: https://x.y/z"),
        (405, "deepinfra error: Tool calling is not supported for model: mistralai/Mistral-Small"),
        (400, "deepseek-reasoner does not support Function Calling"),
        (400, "Function calling is not enabled for models/gemma-3-12b-it"),
    ];
    for (status, text) in texts {
        for id in ALL {
            let (error, requests) = fault(id, Response::status(status, &error_body("server_error", text))).await;
            assert_eq!((error.fault, requests), (Fault::NoTools, 1), "{id} {text}");
            assert!(error.message.contains("`protocol: react`"), "{error}");
        }
    }
}

fn half(id: &str) -> String {
    let said = says().text("half of it").call("c", "shell", json!({"command": "ls"}));
    let whole = stream(id, &said);
    let end = whole.find("comman").unwrap();
    whole[..end].to_owned()
}

/// A13, A14, A18, A19, A20, A29, A31: the fault passes and the reply comes whole, told once.
#[tokio::test]
async fn what_may_pass_is_tried_again() {
    let cases = ALL.into_iter().flat_map(|id| {
        let error_event = |kind: &str| match id {
            ANTHROPIC => format!("event: error\ndata: {}\n\n", error_body(kind, "busy")),
            OLLAMA => "\n{\"error\": \"an error was encountered while running the model\"}\n".to_owned(),
            _ => format!("data: {}\n\n", json!({"error": {"code": 529, "message": "busy"}})),
        };
        let faults = [
            Response::status(500, ""),
            Response::status(503, "<html>"),
            Response::status(529, &error_body("overloaded_error", "Overloaded")),
            Response::status(408, ""),
            Response::raw().rst(),
            Response::raw().fin(),
            opened(id).rst(),
            opened(id).fin(),
            opened(id).send(half(id)).rst(),
            opened(id).send(half(id)).fin(),
            opened(id).send(half(id)).send(error_event("overloaded_error")).fin(),
            opened(id).send(half(id)).send(event(id, "{nonsense")).fin(),
        ];
        faults.map(|first| (id, first))
    });
    let plays = cases.map(|(id, first)| async move {
        let server = Server::list([first.clone(), says().text("whole").into()]);
        // Many at once on a busy machine: an answer that is late must not count as one more fault.
        let model = models(&server, Timeouts::default()).get(&id_of(id)).unwrap();
        let (reply, deltas) = Ask::new([Message::user("hi")]).send(&model).await;
        let reply = reply.unwrap_or_else(|e| panic!("{id} {first:?}: {e}"));
        assert_eq!((reply.message, reply.stop), (Message::assistant("whole"), Stop::EndTurn), "{id} {first:?}");
        assert_eq!(told(&deltas), "whole", "{id} {first:?}");
        let retries = deltas.iter().filter(|delta| matches!(delta, Delta::Retrying { attempt: 2, .. })).count();
        assert_eq!((retries, server.requests().len()), (1, 2), "{id} {first:?}");
    });
    futures_util::future::join_all(plays).await;
}

/// A29: once, then it is told.
#[tokio::test]
async fn nonsense_is_not_asked_for_over_and_over() {
    for id in ALL {
        let (error, requests) = fault(id, opened(id).send(event(id, "{nonsense")).fin()).await;
        assert_eq!((error.fault, requests), (Fault::Garbled, 2), "{error}");
    }
}

/// Says nothing, but that somebody is there.
fn sign(id: &str) -> &'static str {
    match id {
        ANTHROPIC => "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        OLLAMA => "\n",
        _ => ": still here\n\n",
    }
}

/// A21, A22, A23: each with a deadline of its own, and the others far away, for the machine may be busy.
#[tokio::test]
async fn silence_has_a_deadline() {
    let (soon, far) = (Duration::from_millis(250), Duration::from_secs(60));
    let times = Timeouts { connect: far, header: far, idle: far, total: far };
    let cases = ALL.into_iter().flat_map(|id| {
        let endless = opened(id).drip(sign(id).repeat(9999), sign(id).len(), Duration::from_millis(40));
        let half = opened(id).send(half(id)).stall();
        [
            (id, Timeouts { header: soon, ..times }, Response::raw().stall(), "did not answer for 0.25 s"),
            (id, Timeouts { idle: soon, ..times }, half, "fell silent in the middle of its answer for 0.25 s"),
            (id, Timeouts { total: soon, ..times }, endless, "was not done with its answer for 0.25 s"),
        ]
    });
    let plays = cases.map(|(id, times, response, expected)| async move {
        let server = Server::list([response, Response::status(400, "{}")]);
        let model = models(&server, times).get(&id_of(id)).unwrap();
        let (_, deltas) = Ask::new([Message::user("hi")]).send(&model).await;
        let why = deltas.iter().find_map(|d| if let Delta::Retrying { why, .. } = d { Some(why) } else { None });
        assert!(why.is_some_and(|why| why.contains(expected)), "{id}: {why:?}");
    });
    futures_util::future::join_all(plays).await;
}

/// A22: the answer takes longer than any silence may. A machine that stands still is silent, too, so there is more than
/// one attempt; none of them succeeds where a ping counts for nothing.
#[tokio::test]
async fn a_ping_is_a_sign_of_life() {
    let far = Duration::from_secs(60);
    let times = Timeouts { connect: far, header: far, idle: Duration::from_secs(1), total: far };
    let late = says().text("late");
    let plays = ALL.map(|id| (id, stream(id, &late))).map(|(id, late)| async move {
        let pings = opened(id).drip(sign(id).repeat(12), sign(id).len(), Duration::from_millis(100));
        let slow = pings.send(late).fin();
        let server = Server::answer(move |_| slow.clone());
        let model = models(&server, times).get(&id_of(id)).unwrap();
        let (reply, _) = Ask::new([Message::user("hi")]).send(&model).await;
        assert_eq!(reply.map(|reply| reply.message).map_err(|e| e.to_string()), Ok(Message::assistant("late")), "{id}");
    });
    futures_util::future::join_all(plays).await;
}

/// A27.
#[tokio::test]
async fn a_reply_without_an_end_is_cut_off() {
    let piece = json!({"choices": [{"delta": {"content": "x".repeat(15 << 20)}}]});
    let piece = format!("data: {piece}\n\n");
    let (error, requests) = fault(CHAT, (0..5).fold(Response::stream(), |stream, _| stream.send(&piece)).stall()).await;
    assert_eq!((error.message.as_str(), requests), ("127.0.0.1 answered without an end and was cut off", 1));
}

/// A28.
#[tokio::test]
async fn many_small_pieces_are_one_text() {
    for id in ALL {
        let said = says().text("ab");
        let whole = stream(id, &said);
        let end = end(id);
        let (head, rest) = whole.split_once("\"a\"").unwrap();
        let start = head.rfind(end).map_or(0, |at| at + end.len());
        let piece = format!("{}\"a\"{}{end}", &head[start..], rest.split_once(end).unwrap().0);
        let body = format!("{}{}{}", &head[..start], piece.repeat(20_000), rest.split_once(end).unwrap().1);
        let server = Server::list([opened(id).send(body).fin()]);
        let (reply, deltas) = ask(&server, id).await;
        assert_eq!(reply.unwrap().message, Message::assistant("a".repeat(20_000) + "b"), "{id}");
        assert_eq!(deltas.len(), 20_001, "{id}");
    }
}

/// A15.
#[tokio::test(start_paused = true)]
async fn a_closed_port_is_tried_and_then_told() {
    let server = Server::list([says()]);
    let url = server.base_url();
    let model = model(&server, ANTHROPIC);
    drop(server);
    let (reply, deltas) = Ask::new([Message::user("hi")]).send(&model).await;
    let error = reply.expect_err("nobody listens");
    assert_eq!(error.fault, Fault::Network);
    assert!(
        error.message.contains("cannot connect to 127.0.0.1") && error.message.ends_with("(after 5 attempts)"),
        "{error} {url}"
    );
    assert_eq!(deltas.len(), 4);
}

/// Far sooner than its deadlines would.
#[tokio::test]
async fn dropping_the_reply_closes_its_connection() {
    for id in ALL {
        let server = Server::list([opened(id).send(half(id)).stall()]);
        let model: Arc<dyn Model> = models(&server, Timeouts::default()).get(&id_of(id)).unwrap();
        let asking = tokio::spawn(async move { Ask::new([Message::user("hi")]).send(&model).await.0 });
        let waiting = tokio::task::spawn_blocking(move || {
            server.wait_until("the request came", |server| server.requests().len() == 1);
            server
        });
        let server = waiting.await.unwrap();
        asking.abort();
        tokio::task::spawn_blocking(move || server.wait_until("the connection closed", |server| server.open() == 0))
            .await
            .unwrap();
    }
}
