//! Who stands in for a model that is down, for which faults, for how long, and what is told of it; in virtual time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::json;
use tillerman::message::{Block, CallId, Message, Opaque, RawArgs, Role, Thinking, ToolCall, ToolResult, Usage};
use tillerman::model::fallback::Fallbacks;
use tillerman::model::{Delta, Fault, Model, ModelError, ModelId, Reply, Request, Stop};

use tokio::time::Instant;

use super::talk::{ALL, Ask, id_of, model, told};
use crate::server::{Server, says};

/// Answers, or fails after the first word, as it is set.
struct Switch {
    id: ModelId,
    fault: Mutex<Option<(Fault, Option<Duration>)>>,
    asked: AtomicUsize,
    takes: Duration,
}

impl Switch {
    fn up(id: &str) -> Arc<Switch> {
        let (fault, asked, takes) = (Mutex::default(), AtomicUsize::new(0), Duration::from_secs(1));
        Arc::new(Switch { id: id_of(id), fault, asked, takes })
    }

    fn down(id: &str, fault: Fault) -> Arc<Switch> {
        let switch = Switch::up(id);
        switch.set(Some(fault));
        switch
    }

    fn set(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault.map(|fault| (fault, None));
    }

    /// How often it was asked since this was asked last.
    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::SeqCst)
    }
}

impl Model for Switch {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn reply<'a>(
        &'a self,
        _: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            on_delta(Delta::Text("I ".to_owned()));
            tokio::time::sleep(self.takes).await;
            if let Some((fault, retry_after)) = *self.fault.lock().unwrap() {
                let message = format!("{fault:?}").to_lowercase();
                return Err(ModelError { fault, provider: self.id.provider.clone(), message, retry_after });
            }
            on_delta(Delta::Text("am".to_owned()));
            let (message, model) = (Message::assistant("I am"), self.id.clone());
            Ok(Reply { message, usage: Usage::default(), stop: Stop::EndTurn, model, cost: None })
        })
    }
}

fn chain(switches: &[&Arc<Switch>]) -> Arc<dyn Model> {
    let models: Vec<Arc<dyn Model>> = switches.iter().map(|switch| Arc::clone(switch) as Arc<dyn Model>).collect();
    Fallbacks::new(models[1..].to_vec()).behind(models[0].clone())
}

/// Who answered, or with which fault and words nobody did; and what was told of it on the way.
async fn ask(model: &Arc<dyn Model>) -> (Result<String, (Fault, String)>, Vec<String>) {
    let (reply, deltas) = Ask::new([Message::user("hi")]).send(model).await;
    let retries = deltas.iter().filter_map(|delta| match delta {
        Delta::Retrying { attempt, wait, why } => Some(format!("{attempt} {wait:?} {why}")),
        _ => None,
    });
    let retries = retries.collect();
    if reply.is_ok() {
        assert_eq!(told(&deltas), "I am", "what was streamed before the outage is void");
    }
    (reply.map(|reply| reply.model.to_string()).map_err(|error| (error.fault, error.to_string())), retries)
}

const OUTAGES: [Fault; 5] = [Fault::Network, Fault::Unavailable, Fault::RateLimited, Fault::Garbled, Fault::Billing];
const OTHERS: [Fault; 5] = [Fault::Auth, Fault::NoSuchModel, Fault::BadRequest, Fault::NoTools, Fault::Overflow];

#[tokio::test(start_paused = true)]
async fn an_outage_is_answered_by_the_next_that_is_up_and_told() {
    for fault in OUTAGES {
        let (first, second, third) =
            (Switch::down("a/1", fault), Switch::down("b/2", Fault::Network), Switch::up("c/3"));
        let model = chain(&[&first, &second, &third]);
        assert_eq!(*model.id(), id_of("a/1"), "it is known by the one that was chosen");
        let words = format!("{fault:?}").to_lowercase();
        let told = [format!("2 0ns a: {words}; asking b/2"), "3 0ns b: network; asking c/3".to_owned()];
        assert_eq!(ask(&model).await, (Ok("c/3".to_owned()), told.to_vec()));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_person_or_the_loop_must_act_on_is_told_as_it_is() {
    for fault in OTHERS {
        let (first, second) = (Switch::down("a/1", fault), Switch::up("b/2"));
        let words = format!("a: {}", format!("{fault:?}").to_lowercase());
        assert_eq!(ask(&chain(&[&first, &second])).await, (Err((fault, words)), vec![]));
        assert_eq!(second.asked(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_stands_in_is_kept_for_five_minutes_and_then_the_first_is_asked_again() {
    let (first, second) = (Switch::down("a/1", Fault::Unavailable), Switch::up("b/2"));
    let model = chain(&[&first, &second]);
    assert_eq!(ask(&model).await.0, Ok("b/2".to_owned()));
    first.set(None);
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_secs(70)).await;
        assert_eq!(ask(&model).await, (Ok("b/2".to_owned()), vec![]), "no going to and fro, no word each time");
    }
    assert_eq!(first.asked(), 1);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(ask(&model).await, (Ok("a/1".to_owned()), vec![]));
    assert_eq!(ask(&model).await, (Ok("a/1".to_owned()), vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_longer_is_left_alone_for_longer_up_to_an_hour() {
    for (asks, waits) in [(10, 300), (1_200, 1_200), (86_400, 3_600)] {
        let (first, second) = (Switch::up("a/1"), Switch::up("b/2"));
        *first.fault.lock().unwrap() = Some((Fault::RateLimited, Some(Duration::from_secs(asks))));
        let model = chain(&[&first, &second]);
        assert_eq!(ask(&model).await.0, Ok("b/2".to_owned()));
        first.set(None);
        tokio::time::sleep(Duration::from_secs(waits - 10)).await;
        assert_eq!(ask(&model).await.0, Ok("b/2".to_owned()), "{asks}");
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(ask(&model).await.0, Ok("a/1".to_owned()), "{asks}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_agents_know_of_an_outage_and_one_finds_out_whether_it_is_over() {
    let (first, second) = (Switch::down("a/1", Fault::Network), Switch::up("b/2"));
    let fallbacks = Fallbacks::new(vec![second.clone()]);
    let agents: Vec<Arc<dyn Model>> = (0..50).map(|_| fallbacks.behind(first.clone())).collect();
    assert_eq!(ask(&agents[0]).await.0, Ok("b/2".to_owned()));
    let all = || futures_util::future::join_all(agents.iter().map(ask));
    assert!(all().await.iter().all(|(answer, told)| *answer == Ok("b/2".to_owned()) && told.is_empty()));
    assert_eq!((first.asked(), second.asked()), (1, 51));
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_secs(301)).await;
        assert!(all().await.iter().all(|(answer, _)| *answer == Ok("b/2".to_owned())));
        assert_eq!((first.asked(), second.asked()), (1, 50), "one asks the first, the others do not wait for it");
    }
    first.set(None);
    tokio::time::sleep(Duration::from_secs(301)).await;
    let answers = all().await;
    assert_eq!(answers.iter().filter(|(answer, _)| *answer == Ok("a/1".to_owned())).count(), 1);
    assert!(all().await.iter().all(|(answer, _)| *answer == Ok("a/1".to_owned())), "it is back for all");
}

/// What cannot be reached or has no credit left is so for all its models; what is overloaded may be so for one.
#[tokio::test(start_paused = true)]
async fn a_provider_that_is_down_is_down_with_all_its_models() {
    let cases = [(Fault::Network, true), (Fault::Billing, true), (Fault::Unavailable, false), (Fault::Garbled, false)];
    for (fault, whole) in cases {
        let (large, small, other) = (Switch::down("a/1", fault), Switch::up("a/2"), Switch::up("b/3"));
        let fallbacks = Fallbacks::new(vec![small.clone(), other.clone()]);
        let (main, worker) = (fallbacks.behind(large.clone()), fallbacks.behind(small.clone()));
        let next = if whole { "b/3" } else { "a/2" };
        assert_eq!(ask(&main).await.0, Ok(next.to_owned()), "{fault:?}");
        assert_eq!(ask(&worker).await, (Ok(next.to_owned()), vec![]), "{fault:?}");
        assert_eq!((large.asked(), small.asked() == 0), (1, whole), "{fault:?}");
        // Whoever speaks to it first tells all that it is back.
        tokio::time::sleep(Duration::from_secs(301)).await;
        large.set(None);
        assert_eq!(ask(&worker).await.0, Ok("a/2".to_owned()), "{fault:?}");
        assert_eq!(ask(&main).await.0, Ok("a/1".to_owned()), "{fault:?}");
    }
    let all = ["a/1", "a/2", "b/3"].map(|id| Switch::down(id, Fault::Network));
    let named = "a: network; b/3: network; a/2: network".to_owned();
    assert_eq!(ask(&chain(&all.each_ref())).await.0, Err((Fault::Network, named)), "when nobody is up each is asked");
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_is_aborted_is_made_by_another() {
    let (first, second) = (Switch::down("a/1", Fault::Network), Switch::up("b/2"));
    let model = chain(&[&first, &second]);
    ask(&model).await.0.unwrap();
    first.set(None);
    tokio::time::sleep(Duration::from_secs(301)).await;
    let aborted = tokio::time::timeout(Duration::from_millis(500), ask(&model)).await;
    assert!(aborted.is_err());
    assert_eq!(ask(&model).await.0, Ok("b/2".to_owned()));
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(ask(&model).await.0, Ok("a/1".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_one_error_names_each_and_has_the_fault_of_the_first() {
    let (first, second, third) = (
        Switch::down("a/1", Fault::Unavailable),
        Switch::down("b/2", Fault::Auth),
        Switch::down("c/3", Fault::Network),
    );
    let model = chain(&[&first, &second, &third]);
    let expected = (Fault::Unavailable, "a: unavailable; b/2: auth; c/3: network".to_owned());
    assert_eq!(ask(&model).await.0, Err(expected.clone()));
    let (again, told) = ask(&model).await;
    assert_eq!((again, told.len()), (Err(expected), 2), "when all are down all are asked all the same");
}

#[tokio::test(start_paused = true)]
async fn a_stand_in_that_refuses_is_passed_over_but_not_when_the_conversation_is_too_long_for_it() {
    for fault in [Fault::Auth, Fault::NoSuchModel, Fault::BadRequest, Fault::NoTools] {
        let (first, second, third) =
            (Switch::down("a/1", Fault::Network), Switch::down("b/2", fault), Switch::up("c/3"));
        assert_eq!(ask(&chain(&[&first, &second, &third])).await.0, Ok("c/3".to_owned()));
    }
    let (first, second) = (Switch::down("a/1", Fault::Network), Switch::down("b/2", Fault::Overflow));
    let model = chain(&[&first, &second]);
    assert_eq!(ask(&model).await.0, Err((Fault::Overflow, "b: overflow".to_owned())), "the loop makes room");
    second.set(None);
    assert_eq!(ask(&model).await, (Ok("b/2".to_owned()), vec![]), "and asks the same one again");
}

#[tokio::test(start_paused = true)]
async fn a_model_does_not_stand_in_for_itself() {
    let first = Switch::down("a/1", Fault::Network);
    let alone = Fallbacks::new(vec![first.clone()]).behind(first.clone());
    assert_eq!(ask(&alone).await, (Err((Fault::Network, "a: network".to_owned())), vec![]));
    assert_eq!(first.asked(), 1);
}

/// Fails at once, waits so long, and then says its words with such pauses before each, and no more.
struct Stubborn {
    id: ModelId,
    wait: Duration,
    words: Vec<Duration>,
}

impl Model for Stubborn {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn reply<'a>(
        &'a self,
        _: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(120)).await;
            on_delta(Delta::Retrying { attempt: 2, wait: self.wait, why: "a: silent".to_owned() });
            tokio::time::sleep(self.wait).await;
            for pause in &self.words {
                tokio::time::sleep(*pause).await;
                on_delta(Delta::Text("I am".to_owned()));
            }
            if self.words.is_empty() {
                std::future::pending::<()>().await;
            }
            let (message, model) = (Message::assistant("I am"), self.id.clone());
            Ok(Reply { message, usage: Usage::default(), stop: Stop::EndTurn, model, cost: None })
        })
    }
}

/// Who answers instead of a stubborn model, if anybody, and after how many seconds; the other takes one.
async fn instead_of(wait: u64, words: &[u64]) -> (String, u64) {
    let words = words.iter().copied().map(Duration::from_secs).collect();
    let first = Stubborn { id: id_of("a/1"), wait: Duration::from_secs(wait), words };
    let model = Fallbacks::new(vec![Switch::up("b/2")]).behind(Arc::new(first));
    let begun = Instant::now();
    let (reply, deltas) = Ask::new([Message::user("hi")]).send(&model).await;
    let why =
        deltas.iter().rev().find_map(|d| if let Delta::Retrying { why, .. } = d { Some(why.clone()) } else { None });
    let reply = reply.unwrap();
    if reply.model == id_of("b/2") {
        assert_eq!(why.unwrap(), "a: silent (not waited for any longer); asking b/2");
    }
    (reply.model.to_string(), begun.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn one_that_fails_and_stays_silent_is_waited_for_a_minute_and_one_that_speaks_is_heard_out() {
    assert_eq!(instead_of(1, &[]).await, ("b/2".to_owned(), 120 + 60 + 1));
    assert_eq!(instead_of(1, &[90]).await, ("b/2".to_owned(), 120 + 60 + 1), "it would have spoken too late");
    assert_eq!(instead_of(1, &[30, 600]).await, ("a/1".to_owned(), 120 + 1 + 30 + 600));
    assert_eq!(instead_of(90, &[1]).await, ("b/2".to_owned(), 120 + 1), "what is too late is not waited for at all");
    assert_eq!(instead_of(0, &[600]).await, ("a/1".to_owned(), 120 + 600), "asked in other words it did not fail");
}

/// The proof of one provider's reasoning is for itself alone; the words and calls go to whoever stands in.
#[tokio::test]
async fn the_proofs_of_one_provider_are_not_sent_to_the_next() {
    let pairs = ALL.into_iter().flat_map(|first| ALL.map(|second| (first, second)));
    let others = pairs.filter(|(first, second)| first != second);
    // Side by side, for each of the first takes its second to fail.
    futures_util::future::join_all(others.map(|(first, second)| stood_in(first, second))).await;
}

async fn stood_in(first: &str, second: &str) {
    let server = Server::list([says().text("Two files.")]);
    let id = id_of(first);
    let opaque = Opaque { provider: id.provider, model: id.model, data: json!({"signature": "sealed"}) };
    let thought = Block::Thinking(Thinking { text: "hm".to_owned(), opaque: Some(opaque) });
    let call = CallId("c1".to_owned());
    let calls = ToolCall { id: call.clone(), name: "shell".to_owned(), args: RawArgs("{}".to_owned()) };
    let blocks = vec![thought, Block::text("I look."), Block::Call(calls)];
    let result = ToolResult { call, output: "a b".to_owned(), details: json!(null), is_error: false };
    let asked = Ask::new([Message::user("hi"), Message { role: Role::Assistant, blocks }, Message::result(result)]);
    let fallback = Fallbacks::new(vec![model(&server, second)]).behind(Switch::down(first, Fault::Unavailable));
    let reply = asked.send(&fallback).await.0.unwrap();
    assert_eq!((reply.model, reply.message.text()), (id_of(second), "Two files.".to_owned()));
    let request = &server.requests()[0];
    assert!(request.contains("I look.") && request.contains("a b") && !request.contains("sealed"));
}
