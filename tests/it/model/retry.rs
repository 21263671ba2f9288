//! When a model call is tried again, how often and after what wait; in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tillerman::message::{Message, Usage};
use tillerman::model::retry::Retry;
use tillerman::model::{Delta, Fault, Model, ModelError, ModelId, Reply, Request, Stop};
use tokio::time::Instant;

use super::talk::{Ask, id_of};

/// Fails so many times, each after a while, then answers.
struct Flaky {
    id: ModelId,
    fails: usize,
    fault: Fault,
    asks: Option<Duration>,
    takes: Duration,
    asked: Arc<AtomicUsize>,
}

impl Model for Flaky {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn reply<'a>(
        &'a self,
        _: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            on_delta(Delta::Text("so".to_owned()));
            tokio::time::sleep(self.takes).await;
            if self.asked.fetch_add(1, Ordering::SeqCst) < self.fails {
                let (provider, message) = ("p".to_owned(), "busy".to_owned());
                return Err(ModelError { fault: self.fault, provider, message, retry_after: self.asks });
            }
            let (message, model) = (Message::assistant("so"), self.id.clone());
            Ok(Reply { message, usage: Usage::default(), stop: Stop::EndTurn, model, cost: None })
        })
    }
}

struct Played {
    reply: Result<Reply, ModelError>,
    waits: Vec<Duration>,
    asked: usize,
    took: Duration,
}

async fn play(fails: usize, fault: Fault, asks: Option<Duration>, takes: Duration) -> Played {
    let asked = Arc::new(AtomicUsize::new(0));
    let flaky = Flaky { id: id_of("p/m"), fails, fault, asks, takes, asked: asked.clone() };
    let model: Arc<dyn Model> = Arc::new(Retry::new(Arc::new(flaky)));
    let begun = Instant::now();
    let (reply, deltas) = Ask::new([Message::user("hi")]).send(&model).await;
    let waits = deltas.iter().filter_map(|d| if let Delta::Retrying { wait, .. } = d { Some(*wait) } else { None });
    Played { reply, waits: waits.collect(), asked: asked.load(Ordering::SeqCst), took: begun.elapsed() }
}

const NO_HELP: &str = "busy; it says that asking again does not help";
const NO_TIME: Duration = Duration::ZERO;

#[tokio::test(start_paused = true)]
async fn every_kind_of_fault_has_its_attempts() {
    let transient = [(Fault::RateLimited, 5), (Fault::Unavailable, 5), (Fault::Network, 5), (Fault::Garbled, 2)];
    let lasting = [Fault::Auth, Fault::Billing, Fault::NoSuchModel, Fault::BadRequest, Fault::NoTools, Fault::Overflow];
    for (fault, attempts) in transient.into_iter().chain(lasting.map(|fault| (fault, 1))) {
        let played = play(99, fault, None, NO_TIME).await;
        assert_eq!(played.asked, attempts, "{fault:?}");
        let message = if attempts == 1 { "busy".to_owned() } else { format!("busy (after {attempts} attempts)") };
        assert_eq!(played.reply.expect_err("a fault").message, message);
    }
    let played = play(4, Fault::Network, None, NO_TIME).await;
    assert_eq!(played.reply.expect("the fifth answers").message, Message::assistant("so"));
}

/// A13: anywhere between nothing and half a second, then twice as much, and so on.
#[tokio::test(start_paused = true)]
async fn waits_double_and_are_spread() {
    let mut spread = Vec::new();
    for _ in 0..40 {
        let played = play(99, Fault::Unavailable, None, NO_TIME).await;
        for (at, wait) in (0..).zip(&played.waits) {
            assert!(*wait <= Duration::from_millis(500 << at), "{:?}", played.waits);
        }
        assert!(played.took >= played.waits.iter().sum(), "it really waits");
        spread.push(played.waits[0]);
    }
    spread.sort();
    assert!(spread[0] < Duration::from_millis(125) && spread[39] > Duration::from_millis(375), "{spread:?}");
}

/// A08, A10.
#[tokio::test(start_paused = true)]
async fn the_wait_that_is_asked_for_is_the_least() {
    let two = Duration::from_secs(2);
    let played = play(1, Fault::RateLimited, Some(two), NO_TIME).await;
    assert!(played.waits.len() == 1 && played.waits[0] >= two && played.waits[0] < Duration::from_secs(3));
}

/// A11, A12.
#[tokio::test(start_paused = true)]
async fn a_wait_of_a_day_is_not_waited() {
    for asks in [Duration::from_secs(86_400), Duration::MAX] {
        let played = play(99, Fault::RateLimited, Some(asks), NO_TIME).await;
        assert_eq!((played.asked, played.took), (1, NO_TIME));
        let message = played.reply.expect_err("too long").message;
        assert!(message.starts_with("busy; rate limited until ") || message.contains(NO_HELP), "{message}");
    }
    let played = play(99, Fault::RateLimited, Some(Duration::from_secs(50)), NO_TIME).await;
    assert_eq!(played.asked, 3, "two waits of 50 s fit into 120 s, a third does not");
}

/// A23: a call that drips until its deadline is not begun anew for hours.
#[tokio::test(start_paused = true)]
async fn no_attempt_begins_after_half_an_hour() {
    let played = play(99, Fault::Network, None, Duration::from_secs(29 * 60)).await;
    assert_eq!(played.asked, 2);
}

/// A44.
#[tokio::test(start_paused = true)]
async fn an_abort_ends_the_wait() {
    let asking = tokio::spawn(play(99, Fault::RateLimited, Some(Duration::from_secs(100)), NO_TIME));
    tokio::time::sleep(Duration::from_secs(1)).await;
    asking.abort();
    assert!(asking.await.is_err_and(|e| e.is_cancelled()));
}
