//! Calls with the same key: refused together, waiting together, let through in order; in virtual time (A44).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use tillerman::message::{Message, Usage};
use tillerman::model::governor::Governor;
use tillerman::model::retry::{PATIENCE, Retry};
use tillerman::model::{Delta, Fault, Model, ModelError, ModelId, Reply, Request, Stop};
use tokio::time::{Instant, sleep};

use super::talk::{Ask, id_of};

const SECOND: Duration = Duration::from_secs(1);

/// A provider that lets so many calls begin in each window of time and so many run at once.
struct Provider {
    id: ModelId,
    window: Duration,
    per_window: usize,
    at_once: usize,
    /// It names the moment when the window ends.
    names_it: bool,
    begun: Instant,
    /// The windows with the calls that it let begin in them.
    served: Mutex<(u128, usize)>,
    running: AtomicUsize,
    /// When calls came.
    asked: Mutex<Vec<Duration>>,
    refused: AtomicUsize,
}

impl Provider {
    fn new(window: u64, per_window: usize, at_once: usize, names_it: bool) -> Arc<Provider> {
        Arc::new(Provider {
            id: id_of("p/m"),
            window: Duration::from_secs(window),
            per_window,
            at_once,
            names_it,
            begun: Instant::now(),
            served: Mutex::default(),
            running: AtomicUsize::new(0),
            asked: Mutex::default(),
            refused: AtomicUsize::new(0),
        })
    }

    /// The end of the window when it is full.
    fn admit(&self) -> Result<(), Duration> {
        let now = self.begun.elapsed();
        self.asked.lock().unwrap().push(now);
        let window = now.as_nanos() / self.window.as_nanos();
        let mut served = self.served.lock().unwrap();
        if served.0 != window {
            *served = (window, 0);
        }
        if served.1 >= self.per_window || self.running.load(Ordering::SeqCst) >= self.at_once {
            return Err(Duration::from_nanos_u128((window + 1) * self.window.as_nanos()) - now);
        }
        served.1 += 1;
        Ok(())
    }

    fn asked(&self) -> Vec<Duration> {
        self.asked.lock().unwrap().clone()
    }
}

impl Model for Provider {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn reply<'a>(
        &'a self,
        _: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            sleep(SECOND / 20).await;
            if let Err(left) = self.admit() {
                self.refused.fetch_add(1, Ordering::SeqCst);
                let (provider, message) = ("p".to_owned(), "slow down".to_owned());
                let retry_after = self.names_it.then_some(left);
                return Err(ModelError { fault: Fault::RateLimited, provider, message, retry_after });
            }
            self.running.fetch_add(1, Ordering::SeqCst);
            sleep(SECOND / 5).await;
            on_delta(Delta::Text("ok".to_owned()));
            sleep(4 * SECOND).await;
            self.running.fetch_sub(1, Ordering::SeqCst);
            let message = Message::assistant("ok");
            Ok(Reply { message, usage: Usage::default(), stop: Stop::EndTurn, model: self.id.clone(), cost: None })
        })
    }
}

/// What the callers saw, in their order.
struct Played {
    replies: Vec<Result<Reply, ModelError>>,
    deltas: Vec<Vec<Delta>>,
    took: Duration,
}

/// So many callers with the same key, all at once.
async fn crowd(provider: &Arc<Provider>, callers: usize, patience: Duration) -> Played {
    let governor = Arc::new(Governor::new(patience));
    let begun = Instant::now();
    let calls = (0..callers).map(|_| {
        let model: Arc<dyn Model> = Arc::new(Retry::new(provider.clone()).with_governor(governor.clone()));
        async move { Ask::new([Message::user("hi")]).send(&model).await }
    });
    let (replies, deltas) = join_all(calls).await.into_iter().unzip();
    Played { replies, deltas, took: begun.elapsed() }
}

impl Played {
    fn assert_all_answered(&self) {
        for (caller, reply) in self.replies.iter().enumerate() {
            assert!(reply.is_ok(), "caller {caller}: {reply:?} {:?}", self.deltas[caller]);
        }
    }

    /// The last attempt of each caller, in order.
    fn attempts(&self) -> Vec<u32> {
        let attempt = |delta: &Delta| if let Delta::Retrying { attempt, .. } = delta { *attempt } else { 1 };
        let mut last: Vec<u32> =
            self.deltas.iter().map(|deltas| deltas.iter().map(attempt).max().unwrap_or(1)).collect();
        last.sort_unstable();
        last
    }
}

/// A44: thirty calls in ten seconds are allowed, a hundred come at once. With no word between them it would take 33 s.
#[tokio::test(start_paused = true)]
async fn a_hundred_workers_back_off_together() {
    let provider = Provider::new(10, 30, usize::MAX, true);
    let played = crowd(&provider, 100, PATIENCE).await;
    played.assert_all_answered();
    let asked = provider.asked();
    assert_eq!(asked.iter().filter(|at| **at < SECOND).count(), 100, "nobody waits before there is a reason");
    assert_eq!(asked.iter().filter(|at| (SECOND..10 * SECOND).contains(*at)).count(), 0, "the pause is kept by all");
    // 70 are refused before anybody knows, and then some at the end of each of three windows.
    let refused = provider.refused.load(Ordering::SeqCst);
    assert!((70..130).contains(&refused), "{refused} refused");
    assert!(played.attempts().iter().sum::<u32>() < 260, "{:?}", played.attempts());
    assert!(played.took < 45 * SECOND, "{:?}", played.took);
}

/// A44: and when nobody says for how long.
#[tokio::test(start_paused = true)]
async fn a_hundred_workers_find_the_rate_themselves() {
    let provider = Provider::new(10, 30, usize::MAX, false);
    let played = crowd(&provider, 100, PATIENCE).await;
    played.assert_all_answered();
    let refused = provider.refused.load(Ordering::SeqCst);
    assert!((70..130).contains(&refused), "{refused} refused");
    assert!(played.took < 120 * SECOND, "{:?}", played.took);
}

/// A44: sixty come, five may run at once, each for four seconds.
#[tokio::test(start_paused = true)]
async fn how_many_may_run_at_once_is_learned() {
    let provider = Provider::new(1, usize::MAX, 5, false);
    let played = crowd(&provider, 60, PATIENCE).await;
    played.assert_all_answered();
    let refused = provider.refused.load(Ordering::SeqCst);
    assert!((55..90).contains(&refused), "{refused} refused");
    assert!(played.took < 100 * SECOND, "{:?}", played.took);
}

/// Starts a caller and lets it come as far as it can for now.
async fn caller(model: &Arc<dyn Model>) -> tokio::task::JoinHandle<(Result<Reply, ModelError>, Vec<Delta>)> {
    let model = model.clone();
    let calling = tokio::spawn(async move { Ask::new([Message::user("hi")]).send(&model).await });
    sleep(Duration::from_millis(100)).await;
    calling
}

fn waits(deltas: &[Delta]) -> Vec<(u32, u64)> {
    let wait = |delta: &Delta| match delta {
        Delta::Retrying { attempt, wait, .. } => Some((*attempt, wait.as_secs())),
        _ => None,
    };
    deltas.iter().filter_map(wait).collect()
}

/// A44: the limit of one is the limit of all, they are told of it and served in the order in which they came.
#[tokio::test(start_paused = true)]
async fn who_comes_later_waits_with_the_others_and_is_told_so() {
    let provider = Provider::new(20, 1, usize::MAX, true);
    let model: Arc<dyn Model> = Arc::new(Retry::new(provider.clone()));
    let first = caller(&model).await;
    let refused = caller(&model).await;
    let (late, later) = (caller(&model).await, caller(&model).await);
    assert_eq!(provider.asked().len(), 2, "the late ones ask nobody");
    assert!(first.await.unwrap().0.is_ok());
    let ends = join_all([refused, late, later]).await.into_iter().map(Result::unwrap);
    let (replies, deltas): (Vec<_>, Vec<_>) = ends.unzip();
    assert!(replies.iter().all(Result::is_ok), "{replies:?}");
    let is_pause = |told: (u32, u64), attempt| told.0 == attempt && (19..=20).contains(&told.1);
    assert!(is_pause(waits(&deltas[0])[0], 2));
    // One call in 20 s: they see each pause coming, also the ones that another one's attempt brought.
    for deltas in &deltas[1..] {
        let told = waits(deltas);
        assert!(is_pause(told[0], 1) && told.len() >= 2, "{told:?}");
    }
    assert_eq!(waits(&deltas[2]).last().map(|told| told.0), Some(1), "it did not spend an attempt");
    let asked = provider.asked();
    assert!(asked.windows(2).all(|pair| pair[0] <= pair[1]) && asked.len() <= 7, "{asked:?}");
}

/// A44: a caller that goes away while everybody waits is gone at once, and its place with it.
#[tokio::test(start_paused = true)]
async fn an_abort_in_the_queue_holds_nobody_up() {
    let provider = Provider::new(20, 1, usize::MAX, true);
    let model: Arc<dyn Model> = Arc::new(Retry::new(provider.clone()));
    let mut callers = Vec::new();
    for _ in 0..4 {
        callers.push(caller(&model).await);
    }
    for at in [1, 2] {
        let begun = Instant::now();
        callers[at].abort();
        assert!((&mut callers[at]).await.is_err_and(|e| e.is_cancelled()));
        assert!(begun.elapsed() < Duration::from_millis(100));
    }
    let last = callers.remove(3).await.unwrap();
    assert!(last.0.is_ok());
    assert!(provider.begun.elapsed() < 30 * SECOND, "{:?}", provider.begun.elapsed());
    assert_eq!(provider.asked().len(), 3);
}

/// A11, A44: whoever comes after that is told at once and asks nobody; once a minute somebody finds out.
#[tokio::test(start_paused = true)]
async fn a_long_pause_is_told_to_all_at_once() {
    let provider = Provider::new(86_400, 1, usize::MAX, true);
    let played = crowd(&provider, 50, PATIENCE).await;
    let errors: Vec<&ModelError> = played.replies.iter().filter_map(|reply| reply.as_ref().err()).collect();
    assert_eq!((errors.len(), played.took < 5 * SECOND), (49, true));
    let model: Arc<dyn Model> = Arc::new(Retry::new(provider.clone()));
    for (wait, asked) in [(0, 51), (1, 51), (30, 51), (61, 52), (1, 52)] {
        sleep(wait * SECOND).await;
        let error = Ask::new([Message::user("hi")]).send(&model).await.0.expect_err("limited");
        assert_eq!((error.fault, provider.asked().len()), (Fault::RateLimited, asked), "{error}");
        assert!(error.message.contains("; rate limited until ") && error.message.ends_with("retry_patience is 120 s"));
    }
}

/// A11: the cap is configurable.
#[tokio::test(start_paused = true)]
async fn the_patient_wait_longer() {
    let provider = Provider::new(3600, 1, usize::MAX, true);
    let played = crowd(&provider, 2, Duration::from_secs(86_400)).await;
    played.assert_all_answered();
    assert!((3600..3700).contains(&played.took.as_secs()), "{:?}", played.took);
    let hasty = crowd(&Provider::new(10, 1, usize::MAX, true), 2, Duration::ZERO).await;
    assert!(hasty.took < 5 * SECOND && hasty.replies[1].is_err(), "{:?}", hasty.took);
}
