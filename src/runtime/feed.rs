//! The live stream of everything that happens: events of main agents and workers, and the comings and goings of tasks.
//! Texts pass through here and never through an actor's mailbox. Who is slow misses texts and is told how many.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use super::RunId;
use super::permit::Permission;
use super::purse::Grant;
use crate::event::{AgentEvent, Observer};
use crate::session::SessionId;
use crate::task::{Question, TaskId, TaskReport};

/// Envelopes that a viewer may be behind before it misses some.
const BEHIND: usize = 4096;

/// One piece of news: stamped, numbered, addressed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Envelope {
    /// Rising by one, across all sources; a jump means that this viewer missed something.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// Who it is about.
    pub source: Source,
    /// What happened.
    pub news: News,
}

/// Who a piece of news is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A run of a main agent.
    Main {
        /// Its conversation.
        session: SessionId,
        /// Which run of it.
        run: RunId,
    },
    /// A task.
    Task(TaskId),
}

/// What happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// A fact of the run.
    Agent(AgentEvent),
    /// The conversation got a title.
    Titled {
        /// One line, at most 60 characters.
        title: String,
    },
    /// A task waits for a place.
    TaskQueued {
        /// Its title.
        title: String,
        /// How many are before it.
        ahead: usize,
    },
    /// A task waits for others to be over.
    TaskHeld {
        /// Its title.
        title: String,
        /// Those, by number.
        after: Vec<TaskId>,
    },
    /// A task was dispatched with a budget, or there are others like it.
    Granted(Grant),
    /// A worker has begun.
    TaskStarted {
        /// The task's title.
        title: String,
    },
    /// A task rests until this is answered.
    Asked(Question),
    /// A question is answered, or nobody needs an answer any more.
    Settled(Question),
    /// A call waits for a person's word, or has it.
    Permission(Permission),
    /// Commands run within less than the full walls; told once.
    Walls {
        /// What they run within, and why not within more.
        why: String,
    },
    /// A task is over; result.md is written.
    TaskEnded(TaskReport),
}

/// Where news goes in. Cheap to clone; costs next to nothing while nobody watches.
#[derive(Clone)]
pub(super) struct Feed {
    sender: broadcast::Sender<Envelope>,
    seq: Arc<Mutex<u64>>,
}

/// Shows the events of one run to the feed.
struct Reporter {
    feed: Feed,
    source: Source,
}

impl Feed {
    pub(super) fn new() -> Feed {
        Feed { sender: broadcast::channel(BEHIND).0, seq: Arc::new(Mutex::new(0)) }
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Envelope> {
        self.sender.subscribe()
    }

    /// Numbers are given and sent under one lock, so that they rise in the order in which viewers get them.
    pub(super) fn tell(&self, source: Source, news: News) {
        let mut seq = self.seq.lock().unwrap_or_else(PoisonError::into_inner);
        *seq += 1;
        if self.sender.receiver_count() > 0 {
            // It fails only when the last viewer has just left.
            let _ = self.sender.send(Envelope { seq: *seq, at: Timestamp::now(), source, news });
        }
    }

    pub(super) fn watch(&self, source: Source) -> Arc<dyn Observer> {
        Arc::new(Reporter { feed: self.clone(), source })
    }
}

impl Observer for Reporter {
    fn observe(&self, event: &AgentEvent) {
        if self.feed.sender.receiver_count() > 0 {
            self.feed.tell(self.source.clone(), News::Agent(event.clone()));
        }
    }
}
