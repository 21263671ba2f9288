//! How long a failing model is waited for while somebody else could answer: a minute from its first failure, unless it
//! speaks or answers what is not wanted. By itself it would be tried for as long as its retries last, and a silent one for ten minutes.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::model::{Delta, Fault, Model, ModelError, Reply, Request};

/// From the first failure on.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is known of a model that is being asked.
#[derive(Clone, Default)]
struct State {
    /// When it is given up; `None` until it fails for the first time.
    given_up: Option<Instant>,
    /// Its last failure.
    why: String,
    /// It has said something since.
    speaks: bool,
}

impl State {
    /// Takes in a piece; answers whether that changed anything.
    fn hear(&mut self, delta: &Delta) -> bool {
        match delta {
            // Asked at once in other words: it did answer.
            Delta::Retrying { wait, .. } if wait.is_zero() => std::mem::take(self).given_up.is_some(),
            Delta::Retrying { wait, why, .. } => {
                let now = Instant::now();
                let given_up = self.given_up.unwrap_or(now + PATIENCE);
                // There is no use in waiting for what will not come in time.
                let too_late = now.checked_add(*wait).is_none_or(|next| next >= given_up);
                *self =
                    State { given_up: Some(if too_late { now } else { given_up }), why: why.clone(), speaks: false };
                true
            }
            Delta::Discarded { .. } => false,
            Delta::Text(_) | Delta::Thinking(_) | Delta::CallOpened { .. } => {
                self.given_up.is_some() && !std::mem::replace(&mut self.speaks, true)
            }
        }
    }
}

/// Asks a model behind which others stand.
///
/// # Errors
/// The model's own, or that it failed and was not waited for any longer.
pub(super) async fn ask(
    model: &dyn Model,
    request: Request<'_>,
    on_delta: &mut (dyn FnMut(Delta) + Send),
) -> Result<Reply, ModelError> {
    let (state, mut seen) = watch::channel(State::default());
    let mut hear = |delta| {
        state.send_if_modified(|state| state.hear(&delta));
        on_delta(delta);
    };
    let why = tokio::select! {
        biased;
        told = model.reply(request, &mut hear) => return told,
        why = out_of_patience(&mut seen) => why,
    };
    let provider = model.id().provider.clone();
    let why = why.strip_prefix(&format!("{provider}: ")).unwrap_or(&why);
    let message = format!("{why} (not waited for any longer)");
    Err(ModelError { fault: Fault::Unavailable, provider, message, retry_after: None })
}

/// Ends when the patience does; answers the last failure.
async fn out_of_patience(seen: &mut watch::Receiver<State>) -> String {
    loop {
        let State { given_up, why, speaks } = seen.borrow_and_update().clone();
        let over = async {
            match given_up.filter(|_| !speaks) {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Ok(()) = seen.changed() => {}
            () = over => return why,
        }
    }
}
