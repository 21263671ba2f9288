//! A model that tries again when another model fails in a way that may pass. What may pass is told by the fault; how
//! long the provider wants to be left alone is told by the provider, and shared with everybody by the governor.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Zoned};
use tokio::time::Instant;

use super::governor::{Governor, Held};
use super::{Delta, Fault, Model, ModelError, ModelId, Reply, Request};

/// Longest time spent waiting in one call, and so the longest wait a provider may ask for, unless somebody sets another.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// Most attempts of one call, the first included.
const ATTEMPTS: u32 = 5;
/// Most attempts when the answer could not be understood: the same request mostly gets the same answer.
const GARBLED_ATTEMPTS: u32 = 2;
/// No attempt begins later than this and the patience after the call.
const SPAN: Duration = Duration::from_secs(30 * 60);

/// Decorates a model with retries.
pub struct Retry {
    inner: Arc<dyn Model>,
    governor: Arc<Governor>,
}

impl Retry {
    /// Retries what `inner` fails to answer.
    pub fn new(inner: Arc<dyn Model>) -> Retry {
        Retry { inner, governor: Arc::new(Governor::new(PATIENCE)) }
    }

    /// Waits together with all others of the governor, and no longer than it has patience.
    #[must_use]
    pub fn with_governor(self, governor: Arc<Governor>) -> Retry {
        Retry { governor, ..self }
    }

    /// What becomes of a failed attempt: the wait before the next one, or the error of the call.
    fn judge(&self, error: ModelError, failed: Failed<'_>) -> Result<Duration, ModelError> {
        let most = if error.fault == Fault::Garbled { GARBLED_ATTEMPTS } else { ATTEMPTS };
        let (patience, asked) = (self.governor.patience(), error.retry_after);
        *failed.spent = failed.spent.saturating_add(asked.unwrap_or(failed.wait));
        if !error.fault.is_transient() {
            Err(error)
        } else if asked == Some(Duration::MAX) {
            let message = format!("{}; it says that asking again does not help", error.message);
            Err(ModelError { message, ..error })
        } else if asked.is_some() && *failed.spent > patience {
            Err(too_long(error, patience))
        } else if failed.attempt >= most || *failed.spent > patience || Instant::now() >= failed.deadline {
            Err(given_up(error, failed.attempt))
        } else {
            Ok(failed.wait)
        }
    }

    /// The error of a call that was not let through.
    fn held(&self, held: Held) -> ModelError {
        let provider = self.id().provider.clone();
        let (message, retry_after) = match held {
            Held::Paused(wait) => ("no call with this key was sent".to_owned(), Some(wait)),
            Held::TooLate => ("the calls with this key are limited, and its turn did not come".to_owned(), None),
        };
        let error = ModelError { fault: Fault::RateLimited, provider, message, retry_after };
        if retry_after.is_some() { too_long(error, self.governor.patience()) } else { error }
    }
}

/// An attempt that failed.
struct Failed<'a> {
    attempt: u32,
    /// How long until the next one.
    wait: Duration,
    /// Time that this call has waited for its own failures.
    spent: &'a mut Duration,
    deadline: Instant,
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
            let deadline = begun.checked_add(SPAN.saturating_add(self.governor.patience())).unwrap_or(begun + SPAN);
            let (mut waits, mut spent, mut told) = (Waits::new(), Duration::ZERO, None);
            let mut attempt = 1;
            loop {
                let mut tell = |wait| {
                    let why = format!("{}: rate limited, and all calls with this key wait", self.id().provider);
                    on_delta(Delta::Retrying { attempt, wait, why });
                };
                let turn = self.governor.turn(deadline, told, &mut tell).await;
                let mut turn = turn.map_err(|held| self.held(held))?;
                let mut hear = |delta| {
                    turn.answered();
                    on_delta(delta);
                };
                let error = match self.inner.reply(request, &mut hear).await {
                    Ok(reply) => {
                        turn.answered();
                        return Ok(reply);
                    }
                    Err(error) => error,
                };
                let shared = concerns_all(&error);
                let wait = if shared { turn.refused(error.retry_after) } else { waits.next() };
                let why = error.to_string();
                let wait = self.judge(error, Failed { attempt, wait, spent: &mut spent, deadline })?;
                told = Some(Instant::now() + wait);
                attempt += 1;
                on_delta(Delta::Retrying { attempt, wait, why });
                if !shared {
                    tokio::time::sleep(wait).await;
                }
            }
        })
    }
}

/// The provider has too much to do, with us or with everybody, and said so.
fn concerns_all(error: &ModelError) -> bool {
    let asks = error.retry_after.is_some_and(|asked| asked < Duration::MAX);
    match error.fault {
        Fault::RateLimited => asks || error.retry_after.is_none(),
        Fault::Unavailable => asks,
        Fault::Network | Fault::Garbled | Fault::Auth | Fault::Billing | Fault::NoSuchModel => false,
        Fault::BadRequest | Fault::NoTools | Fault::Overflow => false,
    }
}

/// Waits that double from half a second to half a minute, each anywhere between nothing and its full length.
pub(super) struct Waits {
    full: <ExponentialBuilder as BackoffBuilder>::Backoff,
    stretched: <ExponentialBuilder as BackoffBuilder>::Backoff,
}

impl Waits {
    pub(super) fn new() -> Waits {
        let full = ExponentialBuilder::new()
            .with_min_delay(Duration::from_millis(500))
            .with_max_delay(Duration::from_secs(30))
            .without_max_times();
        Waits { full: full.build(), stretched: full.with_jitter().build() }
    }

    pub(super) fn next(&mut self) -> Duration {
        // The jitter of the crate is added to the full wait; without the wait it is what we want.
        let full = self.full.next().unwrap_or_default();
        self.stretched.next().unwrap_or_default().saturating_sub(full)
    }
}

fn given_up(error: ModelError, attempts: u32) -> ModelError {
    if attempts == 1 {
        return error;
    }
    ModelError { message: format!("{} (after {attempts} attempts)", error.message), ..error }
}

/// Says when the provider wants to be asked again, and that nobody waits for so long.
fn too_long(error: ModelError, patience: Duration) -> ModelError {
    let Some(wait) = error.retry_after else { return error };
    let what = if error.fault == Fault::RateLimited { "rate limited until" } else { "it wants to be left alone until" };
    let message = format!("{}; {what} {}, and retry_patience is {} s", error.message, clock(wait), patience.as_secs());
    ModelError { message, ..error }
}

/// The time of day after a wait, with the date when that is another day.
fn clock(wait: Duration) -> String {
    let now = Zoned::now();
    let at = SignedDuration::try_from(wait).ok().and_then(|wait| now.checked_add(wait).ok());
    match at {
        Some(at) if at.date() == now.date() => at.strftime("%H:%M").to_string(),
        Some(at) => at.strftime("%Y-%m-%d %H:%M").to_string(),
        None => "further notice".to_owned(),
    }
}
