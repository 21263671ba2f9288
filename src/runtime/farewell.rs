//! The end of main agents: when what they held is free again. What is ended, and in which order, is told in `handle`.

use std::time::Duration;

use ractor::{ActorRef, ActorStatus};

use super::grace;
use super::main_agent::MainMsg;

/// How long main agents may take to end after the crew.
const GONE: Duration = Duration::from_millis(500);
/// How often it is looked.
const LOOK: Duration = Duration::from_millis(1);

/// Waits until each has dropped what it held; a conversation can be opened again only then.
pub(super) async fn gone(mains: &[ActorRef<MainMsg>]) {
    let all = async {
        for main in mains {
            while main.get_status() != ActorStatus::Stopped {
                tokio::time::sleep(LOOK).await;
            }
        }
    };
    tokio::select! {
        () = all => {}
        () = grace::pass(GONE) => tracing::warn!("a main agent does not end; its conversation stays locked"),
    }
}
