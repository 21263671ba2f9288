//! Time that others are given to end by themselves. It counts while the program runs; what follows is decided elsewhere.

use std::time::Duration;

use ractor::{ActorRef, Message};
use tokio::time::sleep;

/// Waited one after the other.
const STEPS: u32 = 20;

/// Waits so long.
///
/// In steps, so that a program that stood still in between, stopped or without a processor, loses one of them and not
/// the whole: those who were to end stood still as well.
pub(super) async fn pass(grace: Duration) {
    for _ in 0..STEPS {
        sleep(grace / STEPS).await;
    }
}

/// Tells an actor when the grace is over.
pub(super) fn tell_after<M: Message>(grace: Duration, to: &ActorRef<M>, message: impl FnOnce() -> M + Send + 'static) {
    let to = to.clone();
    tokio::spawn(async move {
        pass(grace).await;
        // An actor that is gone has nobody left to wait for.
        let _ = to.cast(message());
    });
}
