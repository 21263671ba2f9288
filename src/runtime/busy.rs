//! How much is still to be done: a count of tokens held by lines, runs, tasks and reports on their way. Zero is idle.

use std::time::Duration;

use tokio::sync::watch;

use super::grace;

/// Counts the tokens that are out.
#[derive(Clone)]
pub(super) struct Busy {
    count: watch::Sender<usize>,
}

/// Held by a piece of work from its acceptance until nothing of it is left to do; handed on with it.
pub(super) struct Token {
    count: watch::Sender<usize>,
}

impl Busy {
    pub(super) fn new() -> Busy {
        Busy { count: watch::Sender::new(0) }
    }

    pub(super) fn token(&self) -> Token {
        self.count.send_modify(|count| *count += 1);
        Token { count: self.count.clone() }
    }

    /// Waits until no token is out.
    pub(super) async fn idle(&self) {
        // It fails only when all senders are gone, and this is one.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Waits likewise, but not longer than this; answers whether it became idle.
    pub(super) async fn idle_within(&self, limit: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.idle() => true,
            () = grace::pass(limit) => false,
        }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.count.send_modify(|count| *count -= 1);
    }
}
