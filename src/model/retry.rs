//! A model that tries again when another model fails in a way that may pass. What may pass is told by the fault; how
//! long the provider wants to be left alone is told by the provider.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::{Delta, Fault, Model, ModelError, ModelId, Reply, Request};

/// Most attempts of one call, the first included.
const ATTEMPTS: u32 = 5;
/// Most attempts when the answer could not be understood: the same request mostly gets the same answer.
const GARBLED_ATTEMPTS: u32 = 2;
/// Longest time spent waiting in one call, and so the longest wait a provider may ask for.
const PATIENCE: Duration = Duration::from_secs(120);
/// No attempt begins later than this after the first one.
const SPAN: Duration = Duration::from_secs(30 * 60);

/// Decorates a model with retries.
pub struct Retry {
    inner: Arc<dyn Model>,
}

impl Retry {
    /// Retries what `inner` fails to answer.
    pub fn new(inner: Arc<dyn Model>) -> Retry {
        Retry { inner }
    }
}

impl Model for Retry {
    fn id(&self) -> &ModelId {
        self.inner.id()
    }

    fn reply<'a>(
        &'a self,
        request: Request<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let begun = Instant::now();
            let mut waits = Waits::new();
            let mut attempt = 1;
            loop {
                let error = match self.inner.reply(request, on_delta).await {
                    Ok(reply) => return Ok(reply),
                    Err(error) => error,
                };
                let most = if error.fault == Fault::Garbled { GARBLED_ATTEMPTS } else { ATTEMPTS };
                if !error.fault.is_transient() || attempt >= most || begun.elapsed() >= SPAN {
                    return Err(given_up(error, attempt));
                }
                let Some(wait) = waits.next(error.retry_after) else { return Err(asked_for_too_much(error, attempt)) };
                attempt += 1;
                on_delta(Delta::Retrying { attempt, wait, why: error.to_string() });
                tokio::time::sleep(wait).await;
            }
        })
    }
}

/// Waits that double from half a second, each anywhere between nothing and its full length.
struct Waits {
    full: <ExponentialBuilder as BackoffBuilder>::Backoff,
    stretched: <ExponentialBuilder as BackoffBuilder>::Backoff,
    spent: Duration,
}

impl Waits {
    fn new() -> Waits {
        let full = ExponentialBuilder::new()
            .with_min_delay(Duration::from_millis(500))
            .with_max_delay(Duration::from_secs(30))
            .without_max_times();
        Waits { full: full.build(), stretched: full.with_jitter().build(), spent: Duration::ZERO }
    }

    /// The next wait, at least what was asked for; `None` when that would be longer than the patience.
    fn next(&mut self, asked: Option<Duration>) -> Option<Duration> {
        // The jitter of the crate is added to the full wait; without the wait it is what we want.
        let full = self.full.next().unwrap_or_default();
        let jitter = self.stretched.next().unwrap_or_default().saturating_sub(full);
        let wait = asked.map_or(jitter, |asked| asked.saturating_add(jitter.min(Duration::from_millis(500))));
        let spent = self.spent.saturating_add(wait);
        (spent <= PATIENCE).then(|| {
            self.spent = spent;
            wait
        })
    }
}

fn given_up(error: ModelError, attempts: u32) -> ModelError {
    if attempts == 1 {
        return error;
    }
    ModelError { message: format!("{} (after {attempts} attempts)", error.message), ..error }
}

fn asked_for_too_much(error: ModelError, attempts: u32) -> ModelError {
    match error.retry_after {
        Some(asked) => {
            let asks = format!("it wants to be asked again in {} s, longer than we wait", asked.as_secs());
            ModelError { message: format!("{}; {asks}", error.message), ..error }
        }
        None => given_up(error, attempts),
    }
}
