//! Gives what a fixture answers, as it was: with faults that were tried again, replies that nobody waited for, and in
//! the order of a recording.

use std::time::Duration;

use tokio::time::sleep;

use super::fault;
use super::fixture::{Cue, Fixtures};
use super::recorded::Recorded;
use super::tape::Turn;
use crate::message::Role;
use crate::model::{Delta, Fault, ModelError, ModelId, Reply, Request};

/// Longest time for which a reply without an end waits to be dropped.
const HOLD: Duration = Duration::from_secs(600);

impl Fixtures {
    /// Answers one request.
    pub(super) async fn reply(
        &self,
        id: &ModelId,
        request: Request<'_>,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Reply, ModelError> {
        if let Some(tape) = self.tape() {
            tape.asked();
        }
        let turn = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
        let mut attempt = 1;
        loop {
            let Cue { step, at, recorded } = match self.next(id, request) {
                Ok(cue) => cue,
                Err(error) => return Err(self.nothing_left(error).await),
            };
            let mut place = self.tape().map(|tape| tape.begin(at));
            let model = recorded.and_then(Recorded::model_id);
            let played = step.play(model.unwrap_or_else(|| id.clone()), turn, on_delta).await;
            let Some(recorded) = recorded else { return played };
            if recorded.aborted {
                return Err(stopped(place.as_mut()).await);
            }
            if let Some(place) = &place {
                place.comes(recorded.after).await;
            }
            drop(place);
            match played {
                Err(error) if recorded.retried => {
                    attempt += 1;
                    let wait = error.retry_after.unwrap_or_default();
                    on_delta(Delta::Retrying { attempt, wait, why: error.message });
                    sleep(wait).await;
                }
                played => return played,
            }
        }
    }

    /// A recording that is over is not left for another way; whoever plays it ends here.
    async fn nothing_left(&self, error: ModelError) -> ModelError {
        if let Some(tape) = self.tape().filter(|tape| tape.is_given()) {
            tape.asked_too_much();
            sleep(HOLD).await;
        }
        error
    }
}

/// Nobody waited for the end of this reply; whoever plays it in order drops it where it was stopped then.
async fn stopped(place: Option<&mut Turn<'_>>) -> ModelError {
    if let Some(place) = place {
        place.hold();
        sleep(HOLD).await;
    }
    fault(Fault::Network, "the recorded run was stopped here".to_owned())
}
